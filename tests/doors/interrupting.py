"""A server on a terminal of its own, and a person who presses Ctrl-C there."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Self

from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable

# Makes the terminal this session's own, so that Ctrl-C is its signal, then becomes the command.
_TAKEN = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
_IMPORTED = re.compile(rb"import time: +-?\d+ \| +-?\d+ \| *(\S+)")


class OnTerminal:
    """A command in a session of its own, whose stdin is the terminal; stdout and stderr are pipes.

    Python names on stderr each module that it has imported: moments of a start, on any machine.
    """

    def __init__(self, *words: str, **env: str) -> None:
        self._primary, terminal = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", _TAKEN, "-X", "importtime", "-m", "commonplace", *words],
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, **env},
        )
        os.close(terminal)
        self.modules: list[str] = []
        self.said: list[str] = []
        self.out: list[str] = []
        self._changed = threading.Condition()
        self._readers = [threading.Thread(target=x, daemon=True) for x in (self._hear, self._read)]
        for each in self._readers:
            each.start()

    def _hear(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            found = _IMPORTED.match(line)
            with self._changed:
                if found:
                    self.modules.append(found[1].decode())
                else:
                    self.said.append(line.decode("utf-8", "replace"))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.out.append(line.decode())
                self._changed.notify_all()

    def wait_for(self, is_so: Callable[[], object]) -> None:
        """Wait for something that stderr or stdout says, or that is looked for now and then."""
        ends = time.monotonic() + PATIENCE_S
        with self._changed:
            while not is_so():
                assert time.monotonic() < ends, (self.modules[-3:], self.said, self.out)
                assert self.process.poll() is None, self.said
                self._changed.wait(0.05)

    def type(self, text: str) -> None:
        """What a person types."""
        os.write(self._primary, text.encode())

    def interrupt(self) -> tuple[int, float]:
        """Press Ctrl-C once; the exit status, and how many seconds the end took."""
        began = time.monotonic()
        self.type("\x03")
        status = self.process.wait(PATIENCE_S)
        took = time.monotonic() - began
        for each in self._readers:
            each.join(PATIENCE_S)
        return status, took

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        os.close(self._primary)
