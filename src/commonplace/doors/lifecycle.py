"""The life of a stdio server: answers it owes, the end of stdin, signals, the parent's death.

Never speaks the protocol, and never lets a process outlive the one that started it.
"""

from __future__ import annotations

import io
import json
import logging
import os
import re
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

from commonplace.doors.interrupt import INTERRUPTED, close_at_ctrl_c

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TextIO

_log = logging.getLogger(__name__)

PARENT_CHECK_S = 0.5
LAST_CALLS_S = 1.2
"""How long an answer may take once the process is to end: with the filing's last batch this
stays under 2 s from the end to the exit."""

LAST_ANSWERS_S = 10.0
"""How long after the one before each answer may come where only stdin has ended: a pipe's reader
still waits for it."""

_HEAD = 40  # an answer of the SDK's has its id there, a request or a notification its method


class Lifecycle:
    """Counts the answers that are owed, and ends the process once, whatever asks first.

    close: closes indexes and threads; called once, in at most about half a second.
    """

    def __init__(self, close: Callable[[], None]) -> None:
        self._close = close
        self._owed = 0
        self._changed = threading.Condition()
        self._leaving = threading.Lock()
        self._status = 0
        self._wire: TextIO | None = None

    def owe(self, answers: int) -> None:
        """Note requests that were read, or with a minus answers that were written."""
        with self._changed:
            self._owed += answers
            self._changed.notify_all()

    def settle(self, each_s: float) -> None:
        """Wait until no answer is owed, or none has come for so long.

        Counted on the wire: a machine under load begins a request long after it was read.
        """
        with self._changed:
            while (owed := self._owed) > 0:
                if not self._changed.wait_for(lambda: self._owed != owed, each_s):
                    return

    def leave(self, status: int = 0) -> None:
        """End the process: open calls may finish, then everything is closed; never returns.

        `os._exit`, because threads blocked in a read of stdin or in the encoder cannot be joined.
        """
        self._status = self._status or status
        if not self._leaving.acquire(blocking=False):
            threading.Event().wait()
        self.settle(LAST_CALLS_S)
        try:
            self._close()
        except Exception:  # noqa: BLE001  a door's last line
            _log.exception("Closing failed")
        logging.shutdown()
        os._exit(self._status)

    def watch(self, parent: int) -> None:
        """Leave on SIGTERM, at Ctrl-C, and when the parent dies.

        parent: its process id, read as early as possible, so that a death before this is noticed.
        """
        signal.signal(signal.SIGTERM, lambda *_: self._begin_to_leave(0))
        close_at_ctrl_c(lambda: self._begin_to_leave(INTERRUPTED))
        if sys.platform != "win32":
            threading.Thread(
                target=self._watch_parent, args=(parent,), name="parent", daemon=True
            ).start()

    def _begin_to_leave(self, status: int) -> None:
        # In a thread of its own: the main thread is the event loop that lets open calls finish.
        threading.Thread(target=self.leave, args=(status,), name="leave", daemon=True).start()

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
        raw = _Wire(wire, self, sieve or bytes)
        self._wire = io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8")
        return self._wire


class _Wire(io.FileIO):
    """A descriptor to which only that is written which a sieve lets through; counts the answers."""

    def __init__(
        self, descriptor: int, lifecycle: Lifecycle, sieve: Callable[[bytes], bytes]
    ) -> None:
        super().__init__(descriptor, "wb")
        self._lifecycle = lifecycle
        self._sieve = sieve
        self._head = b""

    def write(self, content: Any) -> int:
        """Write what is left of the content, whole; its length before."""
        written = bytes(content)
        rest = memoryview(self._sieve(written))
        while rest:
            rest = rest[super().write(rest) :]
        self._lifecycle.owe(-self._answers(written))
        return len(written)

    def _answers(self, written: bytes) -> int:
        """How many answers end in it."""
        *lines, last = written.split(b"\n")
        heads = [line[:_HEAD] for line in lines]
        if heads:
            heads[0] = (self._head + heads[0])[:_HEAD]
            self._head = b""
        self._head = (self._head + last[:_HEAD])[:_HEAD]
        return sum(b'"id":' in x and b'"id":null' not in x and b'"method":' not in x for x in heads)


# An escaped pair of surrogates; a lone one, in the group; any other escape.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_CHUNK = 1 << 16


class _SettledStdin(io.RawIOBase):
    """Reads whole lines of descriptor 0; at its end waits for the answers that are owed.

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
            lines = _paired(self._read_lines())
            self._lifecycle.owe(_requests(lines))
            self._ready = memoryview(lines)
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
            self._lifecycle.settle(LAST_ANSWERS_S)
        return rest


def _requests(lines: bytes) -> int:
    """How many of these lines want an answer."""
    return sum(_is_request(line) for line in lines.splitlines() if b'"method"' in line)


def _is_request(line: bytes) -> bool:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return False
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return False
    return "method" in message and type(message.get("id")) in (int, str)


def _paired(lines: bytes) -> bytes:
    """JSON with U+FFFD in place of each surrogate that is escaped alone."""
    if b"\\ud" not in lines and b"\\uD" not in lines:
        return lines
    return _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], lines)
