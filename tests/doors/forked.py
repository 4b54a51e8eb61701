"""Commands in processes of their own, forked off one that has imported all that they import.

For what a test sees of a command as a process: its terminal, its streams, its code. Never where
what it imports, or how it starts, is the subject.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
HEAVY = "numpy onnxruntime tokenizers rich.console rich.live rich.progress rich.table tomlkit"
_MOST = 1 << 20

DAYS_AHEAD = """
import os, time
from datetime import timedelta
from commonplace.core import clock

right, seconds = clock.utc_now, time.time
ahead = lambda: timedelta(days=float(os.environ.get("DAYS_AHEAD", "0")))
clock.utc_now = lambda: right() + ahead()
time.time = lambda: seconds() + ahead().total_seconds()
"""
"""Python that has the clock run as many days ahead as `DAYS_AHEAD` of the environment says."""


class ForkedCommands:
    """Where the commands come from. Close it.

    Args:
        first: Python that runs before anything of ours is imported.
    """

    def __init__(self, first: str = "") -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        code = f"{first}\nfrom tests.doors.forked import serve\nserve({theirs.fileno()})"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=ROOT,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
        theirs.close()

    def start(
        self,
        *words: object,
        streams: tuple[int, int, int],
        env: Mapping[str, str],
        leads: bool = False,
    ) -> None:
        """Begin a command in this folder; `code` waits for its end.

        Args:
            words: What stands behind `commonplace`.
            streams: Its stdin, stdout and stderr.
            env: All that it sees of the environment.
            leads: Whether it begins a session of its own.
        """
        asked = {"words": [*map(str, words)], "env": {**env}, "cwd": os.getcwd(), "leads": leads}
        socket.send_fds(self._ours, [json.dumps(asked).encode()], streams)

    def code(self) -> int:
        """The code that the command ended with."""
        return int(self._ours.recv(_MOST))

    def run(self, *words: object, env: Mapping[str, str] | None = None) -> tuple[int, str]:
        """Run a command without a terminal; its code, and what it printed on either stream."""
        reading, writing = os.pipe()
        with open(os.devnull, "rb") as nothing:
            self.start(
                *words, streams=(nothing.fileno(), writing, writing), env=env or {**os.environ}
            )
        os.close(writing)
        with open(reading, "rb") as output:
            printed = output.read()
        return self.code(), printed.decode()

    def close(self) -> None:
        """End the process that the others come from."""
        self._ours.close()
        self._process.wait()


@functools.cache
def forked_commands() -> ForkedCommands:
    """Those of this process of the tests."""
    made = ForkedCommands()
    atexit.register(made.close)
    return made


def import_all() -> None:
    """Import what commands import when they are called; children copy none of it to look at it."""
    import commonplace

    for name in HEAVY.split():
        importlib.import_module(name)
    for found in pkgutil.walk_packages(commonplace.__path__, "commonplace."):
        with suppress(ImportError):  # of another system
            importlib.import_module(found.name)
    gc.freeze()


def serve(number: int) -> None:
    """Fork commands off until nobody asks any more."""
    import_all()
    with socket.socket(fileno=number) as asked:
        while True:
            said, streams, _, _ = socket.recv_fds(asked, _MOST, 3)
            if not said:
                return
            child = os.fork()
            if not child:
                asked.close()
                _become(json.loads(said), streams)
            for each in streams:
                os.close(each)
            asked.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _become(asked: dict, streams: list[int]) -> NoReturn:
    """Do what a command does, as a process that was started for it would."""
    from commonplace.__main__ import main

    code = 1
    try:
        if asked["leads"]:
            os.setsid()
        for number, each in enumerate(streams):
            os.dup2(each, number)
            os.close(each)
        errors = ("surrogateescape", "surrogateescape", "backslashreplace")
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            buffering = 1 if number and (number == 2 or os.isatty(number)) else -1
            made = open(  # noqa: SIM115  stays open
                number, "w" if number else "r", buffering, encoding="utf-8", errors=errors[number]
            )
            setattr(sys, name, made)
            setattr(sys, f"__{name}__", made)
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["env"])
        time.tzset()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["commonplace", *asked["words"]]
        main()
        code = 0
    except SystemExit as exc:
        code = exc.code if isinstance(exc.code, int) else int(exc.code is not None)
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()
        for each in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                each.flush()
        os._exit(code)
