"""The life of a stdio server: calls in flight, the end of stdin, SIGTERM, the parent's death.

Never speaks the protocol, and never lets a process outlive the one that started it.
"""

from __future__ import annotations

import io
import logging
import os
import re
import signal
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import Any, TextIO

_log = logging.getLogger(__name__)

PARENT_CHECK_S = 0.5
CALLS_MAY_FINISH_S = 1.2
"""Together with the filing's last batch this stays under 2 s from the end to the exit."""
_SETTLED_S = 0.05


class Lifecycle:
    """Counts the calls in flight and ends the process once, whoever asks first.

    close: lets go of indexes and threads; called once, in at most about half a second.
    """

    def __init__(self, close: Callable[[], None]) -> None:
        self._close = close
        self._calls = 0
        self._changed = threading.Condition()
        self._leaving = threading.Lock()
        self._wire: TextIO | None = None

    @contextmanager
    def call(self) -> Iterator[None]:
        """Marks a request in flight."""
        with self._changed:
            self._calls += 1
        try:
            yield
        finally:
            with self._changed:
                self._calls -= 1
                self._changed.notify_all()

    def settle(self) -> None:
        """Wait until no request has been in flight for a moment, or too long has passed."""
        deadline = time.monotonic() + CALLS_MAY_FINISH_S
        with self._changed:
            while time.monotonic() < deadline:
                idle = self._changed.wait_for(lambda: self._calls == 0, deadline - time.monotonic())
                # A request that was read but not begun yet shows up within this moment.
                if idle and not self._changed.wait_for(lambda: self._calls > 0, _SETTLED_S):
                    return

    def leave(self, status: int = 0) -> None:
        """End the process: open calls may finish, then everything is closed; never returns.

        `os._exit`, because threads blocked in a read of stdin or in the encoder cannot be joined.
        """
        if not self._leaving.acquire(blocking=False):
            threading.Event().wait()
        self.settle()
        try:
            self._close()
        except Exception:  # noqa: BLE001  a door's last line
            _log.exception("Closing failed")
        logging.shutdown()
        os._exit(status)

    def watch(self, parent: int) -> None:
        """Leave on SIGTERM and when the parent dies.

        parent: its process id, read as early as possible, so that a death before this is noticed.
        """
        signal.signal(signal.SIGTERM, self._on_signal)
        if sys.platform != "win32":
            threading.Thread(
                target=self._watch_parent, args=(parent,), name="parent", daemon=True
            ).start()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        # In a thread of its own: the main thread is the event loop that lets open calls finish.
        threading.Thread(target=self.leave, name="leave", daemon=True).start()

    def _watch_parent(self, parent: int) -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK_S)
        self.leave()

    def stdin(self, before: Iterator[bytes]) -> TextIO:
        """Stdin, whose end is seen only after the calls that came before it have been answered.

        before: what is read first, in place of what was read of it already.
        """
        return io.TextIOWrapper(io.BufferedReader(_SettledStdin(self, before)), encoding="utf-8")

    def stdout(self, sieve: Callable[[bytes], bytes] | None = None) -> TextIO:
        """Stdout for the protocol; what else writes to descriptor 1, up to the very end, is noise.

        sieve: what is to be written goes through it first. (The SDK gives the descriptor back when
        it is done, and late noise would follow the last answer.)
        """
        wire = os.dup(1)
        try:
            os.dup2(2, 1)
        except OSError:  # started without a stderr
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.close(null)
        # Kept: an unreferenced wrapper would close the wire that the SDK writes to.
        raw = io.FileIO(wire, "wb") if sieve is None else _Sieved(wire, sieve)
        self._wire = io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8")
        return self._wire


class _Sieved(io.FileIO):
    """A descriptor to which only that is written which a sieve lets through."""

    def __init__(self, descriptor: int, sieve: Callable[[bytes], bytes]) -> None:
        super().__init__(descriptor, "wb")
        self._sieve = sieve

    def write(self, content: Any) -> int:
        """Write what is left of the content, whole; its length before."""
        rest = memoryview(self._sieve(bytes(content)))
        while rest:
            rest = rest[super().write(rest) :]
        return len(content)


# An escaped pair of surrogates; a lone one, in the group; any other escape.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_CHUNK = 1 << 16


class _SettledStdin(io.RawIOBase):
    """Reads whole lines of descriptor 0; at its end waits for the calls in flight.

    (The SDK would cancel those, and would drop a message with a lone surrogate in it, unanswered.)
    """

    def __init__(self, lifecycle: Lifecycle, before: Iterator[bytes]) -> None:
        self._lifecycle = lifecycle
        self._before = before
        # A duplicate, so that nothing else in the process that reads stdin takes bytes away.
        self._descriptor = os.dup(0)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        self._line = bytearray()
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed: a private Buffer
        if not self._ready:
            self._ready = memoryview(_paired(self._read_lines()))
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _read_lines(self) -> bytes:
        """At least one line and what came whole with it; the rest at the end, then nothing."""
        while chunk := next(self._before, b"") or os.read(self._descriptor, _CHUNK):
            end = chunk.rfind(b"\n") + 1
            if end:
                lines = bytes(self._line) + chunk[:end]
                self._line = bytearray(chunk[end:])
                return lines
            self._line += chunk
        rest, self._line = bytes(self._line), bytearray()
        if not rest:
            self._lifecycle.settle()
        return rest


def _paired(lines: bytes) -> bytes:
    """JSON with U+FFFD in place of each surrogate that is escaped alone."""
    if b"\\ud" not in lines and b"\\uD" not in lines:
        return lines
    return _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], lines)
