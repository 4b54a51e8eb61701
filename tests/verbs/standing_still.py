"""Two processes of one home, of which one is stopped at some step of what it does: what is lost.

Run as `python -m tests.verbs.standing_still FOLDER ACT`, since only a process of one thread may be
forked; prints a line for each step at which what the other acknowledged was undone, and a count.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import traceback
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.journals.transcripts.sessions import said
from tests.verbs.recall_world import ALL, RecallWorld, ask
from tests.verbs.test_amend import write

from commonplace.core.errors import CommonplaceError
from commonplace.core.standstill import PROCESS
from commonplace_server.http.scheduler import do_due_work

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.app import App

FIRST, LATE, LAST = (f"The gate is {word} for the tide." for word in ("open", "shut", "locked"))
STEPS = 5
"""At how many steps of an act it is tried, from the first to the last."""

SYSTEM = {"execute", "flock", "replace", "rename", "link", "unlink", "fsync", "open", "write"}
"""What a step is: a call of one of these."""

ENVIRON = {"COMMONPLACE_TOOLSETS": ALL, "COMMONPLACE_TIMELINE_RETENTION": "raw=2d"}
ENVIRON |= {"COMMONPLACE_TRANSCRIPTS_RETAIN_DAYS": "30"}


def text_of(app, ref):
    return ask(app, "open_ref", ref=ref).facts["text"]


def written(journal, *, expires=False):
    def prepare(app):
        ref = write(app, journal, FIRST)
        if expires:
            app.expiring.expire(ref, app.clock() + timedelta(days=1))
        return ref

    return prepare


def edit_twice(app, ref):
    app.amend.edit(ref, f"{LATE} ")
    app.amend.edit(ref, LAST)


def add_session(app):
    app.transcripts.store.append("codex", "old", [said(1, at="2026-01-01T00:00:00.000Z")])
    return ""


def goes_on():
    return said(2, at="2026-11-20T00:00:00.000Z")


def keep_up(app, _ref):
    app.present.vouch()
    do_due_work(app, lambda _: None)


def cancel(app, ref):
    assert app.expiring.cancel(ref)


def prolong(app, ref):
    app.expiring.expire(ref, app.clock() + timedelta(days=9))


def is_prolonged(app, ref):
    return FIRST in text_of(app, ref) and ref in dict(app.expiring.list_expiring())


class Act(NamedTuple):
    """What one process does, and what the other does while it stands still.

    Attributes:
        prepare: Writes something, whose ref it returns.
        first: What is done by who is stopped, two days later.
        other: What is acknowledged then; it may be refused.
        is_so: Whether that is so in the end.
    """

    prepare: Callable[[App], str]
    first: Callable[[App, str], object]
    other: Callable[[App, str], object]
    is_so: Callable[[App, str], bool]


def edits(journal):
    return Act(
        written(journal),
        lambda app, ref: app.amend.edit(ref, LATE),
        edit_twice,
        lambda app, ref: LAST in text_of(app, ref),
    )


ACTS = {
    **{f"edit-{journal}": edits(journal) for journal in ("private", "chronicle", "memory")},
    "delete": edits("timeline")._replace(first=lambda app, ref: app.amend.delete(ref)),
    "expire": Act(
        written("private", expires=True),
        keep_up,
        cancel,
        lambda app, ref: FIRST in text_of(app, ref),
    ),
    "prolong": Act(written("chronicle", expires=True), keep_up, prolong, is_prolonged),
    "retain": Act(
        add_session,
        keep_up,
        lambda app, _: app.transcripts.store.append("codex", "old", [goes_on()]),
        lambda app, _: 2 in {x.n for x in app.transcripts.store.read("codex", "old")},
    ),
}


class Child:
    """A process that does something in the folder's home.

    Args:
        folder: Where the home and projects lie.
        do: Is given an app.
        stops_at: Before which step it stops; 0 for none.
        is_long: Whether it takes the stop for a standstill.
    """

    def __init__(self, folder, do, *, stops_at=0, is_long=False):
        self._out, out = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(out)
            return
        try:
            os.write(out, self._run(folder, do, stops_at, is_long).encode())
        except CommonplaceError as exc:
            os.write(out, f"refused: {exc}".encode())
        except BaseException:  # noqa: BLE001  a child's last line
            os.write(out, traceback.format_exc()[-900:].encode())
        os._exit(0)

    def _run(self, folder, do, stops_at, is_long):
        world, step = RecallWorld(folder), 0
        world.clock.advance(2 * 86_400)
        app = world.open(**ENVIRON)

        def count(_frame, event, called):
            nonlocal step
            if event == "c_call" and called.__name__ in SYSTEM:
                step += 1
                if step == stops_at:
                    os.kill(os.getpid(), signal.SIGSTOP)
                    if is_long:
                        PROCESS.note_standstill()

        with PROCESS.asked():
            sys.setprofile(count)
            done = do(app)
            sys.setprofile(None)
        app.close()
        return str(done) if isinstance(done, bool) else str(step)

    def ends_within(self, seconds):
        return bool(select.select([self._out], [], [], seconds)[0])

    def end(self):
        """What it says at its end."""
        with open(self._out, "rb") as file:
            said = file.read().decode()
        os.waitpid(self.pid, 0)
        return said


def say(line):
    sys.stdout.write(f"{line}\n")


def main(folder, name):
    act, kept = ACTS[name], folder / "kept"
    home = folder / "world"
    home.mkdir(parents=True)
    world = RecallWorld(home)
    ref = act.prepare(world.open(**ENVIRON))
    world.close()
    home.rename(kept)

    def again():
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(kept, home, symlinks=True)

    again()
    steps = int(Child(home, lambda app: act.first(app, ref)).end())
    tried = acknowledged = 0
    for is_long in (True, False):
        # Of a short stop an edit is like any that comes later: who asked has not given up yet.
        for place in range(STEPS) if is_long or act.first is keep_up else ():
            stops_at = 1 + (steps - 1) * place // (STEPS - 1)
            again()
            one = Child(home, lambda app: act.first(app, ref), stops_at=stops_at, is_long=is_long)
            if not os.WIFSTOPPED(os.waitpid(one.pid, os.WUNTRACED)[1]):
                continue
            two = Child(home, lambda app: act.other(app, ref))
            two.ends_within(0.4)  # else it waits for a lock of who is stopped
            os.kill(one.pid, signal.SIGCONT)
            first, other = one.end(), two.end()
            is_so = Child(home, lambda app: act.is_so(app, ref)).end()
            tried += 1
            acknowledged += other.isdigit()
            if other.isdigit() and is_so != "True":
                say(f"undone: {name} at {stops_at} of {steps}, {first}, {other}, {is_so}")
    say(f"tried: {tried}, acknowledged: {acknowledged}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
