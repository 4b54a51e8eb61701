"""Rolls up what is due in a thread of its own, for pages, which wait for nothing long.

Never holds up the end of the process.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from commonplace.core.clock import find_period_key
from commonplace.core.errors import CommonplaceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.verbs.timeline.service import TimelineService

FINISH_S = 2.0

STEP_S = 0.05
REST_S = 0.1
"""How long each step takes and how long the thread then rests, so that pages are made meanwhile: a
year's takes 150 ms, without the rests 210 (medians, on a busy machine)."""

_log = logging.getLogger(__name__)


class CatchingUp:
    """Begins a thread where something may be due; it ends once nothing is.

    Args:
        service: Opens the timeline.
    """

    def __init__(self, service: Callable[[], TimelineService]) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def begin(self, key: str = "", *, wait_s: float) -> None:
        """Roll up what is due, and the period with a key; wait at most so long for the end.

        Nothing is begun where the timeline may only be read, or while the thread before goes on.
        """
        if not self._service().rolls_up:
            return
        with self._lock:
            thread = self._thread
            if thread is None or not thread.is_alive():
                if self._stopping.is_set():
                    return
                thread = self._thread = threading.Thread(
                    target=self._run, args=(key,), name="catching up", daemon=True
                )
                thread.start()
        thread.join(wait_s)

    def stop(self) -> None:
        """Begin nothing more, and wait a while for what is under way."""
        with self._lock:
            self._stopping.set()
            thread = self._thread
        if thread is not None:
            thread.join(FINISH_S)

    def _run(self, key: str) -> None:
        service = self._service()
        try:
            with suppress(CommonplaceError):
                service.feed()
                while service.rollups.catch_up(within_s=STEP_S):
                    if self._stopping.wait(REST_S if service.rollups.list_due() else 0):
                        return
                named = find_period_key(key, service.zone)
                if named is not None and named[1].start is not None:
                    # A period that another zone cut so far is due by no mark.
                    service.rollups.read(named[0], named[1].start)
        except Exception:  # noqa: BLE001  a thread's last line: the page shows what is stored
            _log.exception("The timeline was not rolled up")
