"""Moments of what a notebook does: before a git command of it, or once that command is done.

The seam is the start of a process, which any program has: nothing of the product is put aside.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

_REAL = subprocess.Popen


def verb_of(command: object) -> str:
    """The verb of a git command line as the product builds it, empty for any other."""
    if not isinstance(command, list) or "--no-pager" not in command:
        return ""
    rest = iter(command[command.index("--no-pager") + 1 :])
    for word in rest:
        if word != "-c":
            return word
        next(rest)
    return ""


def at(
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    what: Callable[[], object],
    *,
    after: bool = False,
    times: int = 1,
) -> None:
    """Have something happen before the first git commands of a verb, or right after the first.

    The git commands of what happens are left alone.
    """
    left, is_due, is_busy = times, False, False

    def start(command, *args, **more):
        nonlocal left, is_due, is_busy
        is_now = is_due if after else verb_of(command) == verb
        is_due = is_due or verb_of(command) == verb
        if is_now and left and not is_busy:
            left -= 1
            is_busy = True
            what()
            is_busy = False
        return _REAL(command, *args, **more)

    monkeypatch.setattr(subprocess, "Popen", start)


@contextlib.contextmanager
def listened(monkeypatch: pytest.MonkeyPatch, verb: str) -> Iterator[list[list[str]]]:
    """Collects the git commands of a verb that are run in the block."""
    heard: list[list[str]] = []

    def start(command, *args, **more):
        if verb_of(command) == verb:
            heard.append(command)
        return _REAL(command, *args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "Popen", start)
        yield heard


def gone_at(monkeypatch: pytest.MonkeyPatch, verb: str, exc: BaseException, *, after: bool) -> None:
    """Have each git command raise from that moment on, as in a process that is being ended."""
    seen: list[str] = []

    def start(command, *args, **more):
        if seen or (verb_of(command) == verb and not after):
            seen.append(verb)
            raise exc
        if verb_of(command) == verb:
            seen.append(verb)
        return _REAL(command, *args, **more)

    monkeypatch.setattr(subprocess, "Popen", start)


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have git wait for a lock of a ref no longer than a hundredth of a second."""

    def start(command, *args, **more):
        words = [re.sub("(filesRefLockTimeout)=.*", r"\1=10", word) for word in command]
        return _REAL(words, *args, **more)

    monkeypatch.setattr(subprocess, "Popen", start)


class Impatient(subprocess.Popen):
    """A process whose end is waited for a third of a second at most."""

    def communicate(self, input=None, timeout=None):  # noqa: A002  the name is the library's
        """What it wrote, as ever, if it ends soon enough."""
        return super().communicate(input, timeout and min(timeout, 0.3))


def git_that(folder: Path, verb: str, does: str) -> dict[str, str]:
    """An environment whose git does something of its own with a verb, as a line of the shell.

    The line finds git itself as `$git`, with the words it was called with.
    """
    script = folder / "own programs" / "git"
    script.parent.mkdir()
    script.write_text(
        f"""#!/bin/sh
git={shutil.which("git")}
case " $* " in *" {verb} "*) ;; *) exec $git "$@";; esac
{does}
"""
    )
    script.chmod(0o755)
    return {"PATH": f"{script.parent}{os.pathsep}{os.environ['PATH']}"}


# A process that works on a notebook and dies at a step of its own: a process that it starts, a file
# that gets its name or loses it.
_KILLED = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from tests.journals.notebook.moments import verb_of
folder, ledger, when, step, where = sys.argv[1:]
waits, count = [when], [0]
def hook(event, args):
    if event == "subprocess.Popen":
        name = verb_of(args[1])
    elif event in {"os.rename", "os.link"}:
        name = os.path.basename(args[1])
    elif event == "os.remove":
        name = ""
    else:
        return
    count[0] += 1
    if waits == ["now"] or (when == "before" and name == step) or (when, step) == ("step", str(count[0])):
        os.kill(os.getpid(), signal.SIGKILL)
    if name == step:
        waits[:] = ["now"]
from commonplace.journals.notebook.journal import NotebookJournal
from commonplace.journals.notebook.sync import Sync
notes = NotebookJournal(Path(folder), ledger=Path(ledger), owner="me", zone=UTC,
                 clock=lambda: datetime.now(UTC), author="A <a@x.org>")
sys.addaudithook(hook)
"""


def started(
    script: str, folder: Path, *, ledger: Path, at: str = "no step", where: str = "", **environ: str
) -> subprocess.Popen[str]:
    """A process that runs a script over a notebook, and dies at a step.

    Args:
        script: What is done with the notebook, `notes`; it finds `where` as a text, and `Sync`.
        folder: Of the notebook.
        ledger: Its ledger.
        at: `before` or `after` and the step, as `before push` or `after a.md`; or `step` and the
            number of one.
        where: For the script.
        environ: What its environment has besides.
    """
    when, _, step = at.partition(" ")
    command = [sys.executable, "-c", _KILLED + script, folder, ledger, when, step, where]
    return subprocess.Popen(
        [str(word) for word in command],
        cwd=Path(__file__).parents[3],
        env={**os.environ, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def dies(script: str, folder: Path, **given) -> bool:
    """Run a script as `started` does, to its end; whether it died before."""
    run = started(script, folder, **given)
    _, err = run.communicate(timeout=PATIENCE_S)
    assert run.returncode in {0, -signal.SIGKILL}, (given, err)
    return run.returncode != 0
