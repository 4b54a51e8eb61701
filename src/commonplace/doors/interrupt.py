"""Ctrl-C on a server: the first press ends it, within two seconds, with the status shells expect.

Imports nothing but small builtins: it works before anything else is imported.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

INTERRUPTED = 130
"""The exit status that shells give to what Ctrl-C ended."""

MOST_S = 1.5
"""How long closing may take; what was acknowledged is on the disk in any case."""


def end_at_ctrl_c() -> None:
    """Have Ctrl-C end the process at once, without a traceback: nothing is open yet."""
    signal.signal(signal.SIGINT, _end)


def close_at_ctrl_c(close: Callable[[], object]) -> None:
    """Have Ctrl-C begin an orderly end; a second press, or a slow end, ends the process at once.

    Args:
        close: Called in the main thread between any two steps of it, so it must not wait.
    """

    def begin(*_: object) -> None:
        import threading

        end_at_ctrl_c()
        guard = threading.Timer(MOST_S, _end)
        guard.daemon = True
        guard.start()
        close()

    signal.signal(signal.SIGINT, begin)


def _end(*_: object) -> NoReturn:
    os._exit(INTERRUPTED)
