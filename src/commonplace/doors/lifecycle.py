"""How a stdio server ends: after its last answers, at a signal, or when its parent dies.

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
"""How long each further answer may take where only stdin has ended: the client may still read."""

_HEAD = 40  # an answer of the SDK's has its id there, a request or a notification its method


class Lifecycle:
    """Counts the requests that are not answered yet, and ends the process once.

    Args:
        close: Closes indexes and threads, in about half a second at most; called once.
    """

    def __init__(self, close: Callable[[], None]) -> None:
        self._close = close
        self._awaited = 0
        self._changed = threading.Condition()
        self._leaving = threading.Lock()
        self._status = 0
        self._wire: TextIO | None = None

    def expect_answers(self, answers: int) -> None:
        """Add requests that were read, or subtract answers that were written."""
        with self._changed:
            self._awaited += answers
            self._changed.notify_all()

    def wait_for_answers(self, each_s: float) -> None:
        """Wait until all requests are answered, or no answer was written for `each_s`.

        Counted on the wire: a machine under load begins a request long after it was read.
        """
        with self._changed:
            while (awaited := self._awaited) > 0:
                if not self._changed.wait_for(lambda: self._awaited != awaited, each_s):
                    return

    def leave(self, status: int = 0) -> None:
        """End the process: let open calls finish, then close everything; never returns.

        By `os._exit`: threads blocked in a read of stdin or in the encoder cannot be joined.
        """
        self._status = self._status or status
        if not self._leaving.acquire(blocking=False):
            threading.Event().wait()
        self.wait_for_answers(LAST_CALLS_S)
        try:
            self._close()
        except Exception:  # noqa: BLE001  a door's last line
            _log.exception("Closing failed")
        logging.shutdown()
        os._exit(self._status)

    def watch(self, parent: int) -> None:
        """Leave at SIGTERM, at Ctrl-C, and when the parent dies.

        Args:
            parent: Its process id, read at the start, so that a death before this is noticed too.
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

    def stdin(self, replayed: Iterator[bytes]) -> TextIO:
        """Stdin, whose end is seen only after the requests before it have been answered.

        Args:
            replayed: What is read first: the lines that the front has read already.
        """
        return io.TextIOWrapper(io.BufferedReader(_SettledStdin(self, replayed)), encoding="utf-8")

    def stdout(self, output_filter: Callable[[bytes], bytes] | None = None) -> TextIO:
        """Stdout for the protocol alone; whatever else is written to descriptor 1 goes to stderr.

        Up to the very end: the SDK gives the descriptor back when it is done, and a late print
        would follow the last answer.

        Args:
            output_filter: Takes what is to be written, and returns what of it is written.
        """
        wire = os.dup(1)
        try:
            os.dup2(2, 1)
        except OSError:  # started without a stderr
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.close(null)
        # Kept: an unreferenced wrapper would close the wire that the SDK writes to.
        raw = _Wire(wire, self, output_filter or bytes)
        self._wire = io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8")
        return self._wire


class _Wire(io.FileIO):
    """The descriptor of the protocol: filters what is written to it, and counts the answers."""

    def __init__(
        self, descriptor: int, lifecycle: Lifecycle, output_filter: Callable[[bytes], bytes]
    ) -> None:
        super().__init__(descriptor, "wb")
        self._lifecycle = lifecycle
        self._output_filter = output_filter
        self._head = b""

    def write(self, content: Any) -> int:
        """Write what the filter leaves of the content; returns the length of all of it."""
        written = bytes(content)
        rest = memoryview(self._output_filter(written))
        while rest:
            rest = rest[super().write(rest) :]
        self._lifecycle.expect_answers(-self._answers(written))
        return len(written)

    def _answers(self, written: bytes) -> int:
        """How many answers end in what was written."""
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
    """Reads whole lines of descriptor 0; at its end waits until all requests are answered.

    (The SDK would cancel those, and would drop a message with a lone surrogate in it, unanswered.)
    """

    def __init__(self, lifecycle: Lifecycle, replayed: Iterator[bytes]) -> None:
        self._lifecycle = lifecycle
        self._replayed = replayed
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
            lines = _without_lone_surrogates(self._read_lines())
            self._lifecycle.expect_answers(_requests(lines))
            self._ready = memoryview(lines)
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _read_lines(self) -> bytes:
        """Read one or more whole lines; at the end what is left, then nothing."""
        while chunk := next(self._replayed, b"") or os.read(self._descriptor, _CHUNK):
            end = chunk.rfind(b"\n") + 1
            if end:
                lines = bytes(self._line) + chunk[:end]
                self._line = bytearray(chunk[end:])
                return lines
            self._line += chunk
        rest, self._line = bytes(self._line), bytearray()
        if not rest:
            self._lifecycle.wait_for_answers(LAST_ANSWERS_S)
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


def _without_lone_surrogates(lines: bytes) -> bytes:
    """JSON with U+FFFD in place of each surrogate that is escaped alone."""
    if b"\\ud" not in lines and b"\\uD" not in lines:
        return lines
    return _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], lines)
