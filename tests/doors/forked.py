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
import select
import signal
import socket
import subprocess
import sys
import tempfile
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


class ForkedCommand:
    """One of them, which runs: as much of `subprocess.Popen` as tests use."""

    def __init__(self, status: int) -> None:
        self._status = open(status, "rb", buffering=0)  # noqa: SIM115  until its end
        self.pid = int(self._status.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The code that it ended with; None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """The code that it ended with; negative where a signal ended it."""
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("commonplace", timeout or 0)
            with self._status:
                self.returncode = int(self._status.readline())
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it ends just now
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Have it end at once."""
        self.send_signal(signal.SIGKILL)


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
    ) -> ForkedCommand:
        """Begin a command in this folder.

        Args:
            words: What stands behind `commonplace`.
            streams: Its stdin, stdout and stderr.
            env: All that it sees of the environment.
            leads: Whether it begins a session of its own.
        """
        asked = {"words": [*map(str, words)], "env": {**env}, "cwd": os.getcwd(), "leads": leads}
        reading, writing = os.pipe()
        socket.send_fds(self._ours, [json.dumps(asked).encode()], (*streams, writing))
        os.close(writing)
        return ForkedCommand(reading)

    def run(self, *words: object, env: Mapping[str, str] | None = None) -> tuple[int, str]:
        """Run a command without a terminal; its code, and what it printed on either stream."""
        reading, writing = os.pipe()
        with open(os.devnull, "rb") as nothing:
            streams = (nothing.fileno(), writing, writing)
            command = self.start(*words, streams=streams, env=env or {**os.environ})
        os.close(writing)
        with open(reading, "rb") as output:
            printed = output.read()
        return command.wait(), printed.decode()

    def close(self) -> None:
        """End the process that the others come from, and those that run still."""
        self._ours.close()
        self._process.wait()


@functools.cache
def forked_commands() -> ForkedCommands:
    """Those of this process of the tests."""
    made = ForkedCommands()
    atexit.register(made.close)
    return made


def import_all(*packages: str) -> None:
    """Import what commands import when they are called; children copy none of it to look at it."""
    for name in HEAVY.split():
        importlib.import_module(name)
    for package in ("commonplace", *packages):
        path = importlib.import_module(package).__path__
        for found in pkgutil.walk_packages(path, f"{package}."):
            with suppress(ImportError):  # of another system
                importlib.import_module(found.name)
    gc.freeze()


def serve(number: int) -> None:
    """Fork commands off until nobody asks any more; those that run then are killed."""
    import_all("commonplace_server")
    ends: dict[int, int] = {}
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    with socket.socket(fileno=number) as asked:
        while True:
            ready, _, _ = select.select([asked, reading], [], [])
            if reading in ready:
                os.read(reading, 4096)
                _tell_ends(ends)
            if asked not in ready:
                continue
            said, passed, _, _ = socket.recv_fds(asked, _MOST, 4)
            if not said:
                break
            *streams, status = passed
            child = os.fork()
            if not child:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for each in (number, reading, writing, status, *ends.values()):
                    os.close(each)
                _become(json.loads(said), streams)
            for each in streams:
                os.close(each)
            ends[child] = status
            _tell(status, child)
    for child in ends:
        os.kill(child, signal.SIGKILL)
    for child in ends:
        os.waitpid(child, 0)


def _tell(status: int, number: int) -> None:
    with suppress(BrokenPipeError):  # nobody waits for it
        os.write(status, f"{number}\n".encode())


def _tell_ends(ends: dict[int, int]) -> None:
    """Tell of each child that has ended what it ended with."""
    while ends:
        child, how = os.waitpid(-1, os.WNOHANG)
        if not child:
            return
        status = ends.pop(child)
        _tell(status, os.waitstatus_to_exitcode(how))
        os.close(status)


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
        tempfile.tempdir = None
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
