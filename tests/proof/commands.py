"""Commands in processes made to be killed: forked off one that has imported all that they import.

Run as a program it reads what to do, a line of JSON for each command, and says what came of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from msgspec import Struct
from tests.doors.forked import import_all

from commonplace.doors.cli import main


class Ran(Struct):
    """How a command ended. code: negative where a signal ended it."""

    code: int
    out: str
    err: str


class Commands:
    """Runs commands, each over a folder that holds a home and a project. Close it."""

    def __init__(self, env: dict[str, str]) -> None:
        names = {"PATH", "COMMONPLACE_ENCODER_FOLDER"} & {*os.environ}
        kept = {name: os.environ[name] for name in names}
        self._nursery = subprocess.Popen(
            [sys.executable, "-m", "tests.proof.commands"],
            cwd=Path(__file__).parents[2],
            env={**kept, "HOME": "/nonexistent", "TZ": "UTC", **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, world: Path, *words: object) -> Ran:
        """Run a command to its end."""
        (ran,) = self.run_beside((world, *words))
        return ran

    def run_beside(self, *each: tuple[object, ...]) -> list[Ran]:
        """Run commands at once, each a folder and its words."""
        assert self._nursery.stdin is not None
        assert self._nursery.stdout is not None
        self._nursery.stdin.write(json.dumps([[str(x) for x in words] for words in each]) + "\n")
        self._nursery.stdin.flush()
        return [Ran(*told) for told in json.loads(self._nursery.stdout.readline())]

    def close(self) -> None:
        """End the process that the others come from."""
        assert self._nursery.stdin is not None
        assert self._nursery.stdout is not None
        self._nursery.stdin.close()
        self._nursery.wait()
        self._nursery.stdout.close()


def _live_in(world: Path) -> None:
    for name in ("home", "project"):
        (world / name).mkdir(parents=True, exist_ok=True)
    os.environ["HOME"] = str(world / "home")
    os.chdir(world / "project")


def _child(words: list[str], outputs: list[int]) -> None:
    os.setsid()  # a death is of a whole group
    for number, descriptor in enumerate(outputs, 1):
        os.dup2(descriptor, number)
    code = 70
    try:
        _live_in(Path(words[0]))
        main(words[1:])
    except SystemExit as exc:
        code = exc.code if isinstance(exc.code, int) else int(bool(exc.code))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _run(each: list[list[str]]) -> list[Ran]:
    with tempfile.TemporaryDirectory() as folder:
        started = []
        for number, words in enumerate(each):
            files = [Path(folder, f"{number}.{name}") for name in ("out", "err")]
            outputs = [os.open(file, os.O_RDWR | os.O_CREAT) for file in files]
            child = os.fork()
            if not child:
                _child(words, outputs)
            for descriptor in outputs:
                os.close(descriptor)
            started.append((child, files))
        ran = []
        for child, files in started:
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            ran.append(Ran(status, *(file.read_text() for file in files)))
        return ran


def _main() -> None:
    os.environ["FAULT_SPARES"] = str(os.getpid())  # faults are for the commands
    answers = os.dup(1)
    os.dup2(2, 1)
    import_all()
    for line in sys.stdin:
        told = [[ran.code, ran.out, ran.err] for ran in _run(json.loads(line))]
        os.write(answers, (json.dumps(told) + "\n").encode())


if __name__ == "__main__":
    _main()
