"""How a server ends: after its last answers, at a signal, or when its parent dies.

Never speaks the protocol, and never lets a process outlive the one that started it. Imports nothing
but small builtins: stdio reads it before it answers.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from commonplace.doors.interrupt import INTERRUPTED, close_at_ctrl_c

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

PARENT_CHECK_S = 0.5
LAST_CALLS_S = 1.2
"""How long an answer may take once the process is to end: with the filing's last batch this
stays under 2 s from the end to the exit."""

LAST_ANSWERS_S = 10.0
"""How long each further answer may take where only stdin has ended: the client may still read."""


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

    def expect_answers(self, answers: int) -> None:
        """Add requests that were read, or subtract those that are done."""
        with self._changed:
            self._awaited += answers
            self._changed.notify_all()

    def _wait_for_answers(self, each_s: float) -> None:
        """Wait until all requests are answered, or none was for `each_s`."""
        with self._changed:
            while (awaited := self._awaited) > 0:
                if not self._changed.wait_for(lambda: self._awaited != awaited, each_s):
                    return

    def end_after_answers(self) -> NoReturn:
        """End the process once all is answered, which a client that ended stdin may still read."""
        self._wait_for_answers(LAST_ANSWERS_S)
        self.leave()

    def leave(self, status: int = 0) -> NoReturn:
        """End the process: let open calls finish, then close everything; never returns.

        By `os._exit`: threads blocked in a read of stdin or in the encoder cannot be joined.
        """
        self._status = self._status or status
        if not self._leaving.acquire(blocking=False):
            while True:
                time.sleep(PARENT_CHECK_S)
        self._wait_for_answers(LAST_CALLS_S)
        try:
            self._close()
        except Exception:
            import logging

            logging.getLogger(__name__).exception("Closing failed")
        # Another thread may be in the midst of importing it.
        if (shut_down_logs := getattr(sys.modules.get("logging"), "shutdown", None)) is not None:
            shut_down_logs()
        os._exit(self._status)

    def begin_to_leave(self, status: int = 0) -> None:
        """Leave in a thread of its own: the caller may hold what an open call waits for."""
        threading.Thread(target=self.leave, args=(status,), name="leave", daemon=True).start()

    def watch(self, parent: int) -> None:
        """Leave at SIGTERM, at Ctrl-C, and when the parent dies.

        Args:
            parent: Its process id, read at the start, so that a death before this is noticed too.
        """
        signal.signal(signal.SIGTERM, lambda *_: self.begin_to_leave())
        close_at_ctrl_c(lambda: self.begin_to_leave(INTERRUPTED))
        if sys.platform != "win32":
            threading.Thread(
                target=self._watch_parent, args=(parent,), name="parent", daemon=True
            ).start()

    def _watch_parent(self, parent: int) -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK_S)
        self.leave()
