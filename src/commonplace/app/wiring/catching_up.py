"""Rolls up what is due in threads of their own: at a server's start, and for pages.

Never holds up an answer for long, nor the end of the process.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from commonplace.core.clock import find_period_key
from commonplace.core.errors import CommonplaceError
from commonplace.core.leases import Lease

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.core.ports import OwnerIndex
    from commonplace.verbs.timeline.service import TimelineService

FINISH_S = 2.0

STEP_S = 0.05
REST_S = 0.1
"""How long each step takes and how long the thread then rests, so that pages are made meanwhile: a
year's takes 150 ms, without the rests 210 (medians, on a busy machine)."""

LEASE = "rolling up"
LEASE_S = 120.0
"""How long a server that died, or that waits for a model, keeps others from rolling up at their
start; readers and writers are not kept from it."""

START_REST_S = 0.45
"""The same at a server's start, where answers come first: with 0.1 a recall took twice as long."""

_log = logging.getLogger(__name__)


class CatchingUp:
    """Begins a thread where something may be due; it ends once nothing is.

    Args:
        service: Opens the timeline.
        rolls_up: Whether it may be written to; else nothing is begun, nor opened.
        index: Opens what keeps the lease of the server that rolls up at its start.
        holder: This process's name in leases.
        finish: Does what follows at a server's start once all is rolled up: retention and models,
            as the settings say; it is handed what renews the lease.
    """

    def __init__(
        self,
        service: Callable[[], TimelineService],
        *,
        rolls_up: bool,
        index: Callable[[], OwnerIndex],
        holder: str,
        finish: Callable[[Callable[[], None]], object],
    ) -> None:
        self._service = service
        self._rolls_up = rolls_up
        self._index = index
        self._holder = holder
        self._finish = finish
        self._start: threading.Thread | None = None
        self._rest_s = START_REST_S
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()

    def begin(self, key: str = "", *, wait_s: float) -> None:
        """Roll up what is due, and the period with a key; wait at most so long for the end.

        Nothing is begun where the timeline may only be read, or while the thread before goes on.
        """
        self._rest_s = REST_S
        self._begin(key, wait_s=wait_s)

    def _begin(self, key: str, *, wait_s: float) -> None:
        if not self._rolls_up:
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

    def begin_at_start(self) -> None:
        """Roll up all that is due, then what follows, once in this process; wait for nothing.

        Where another server of this home does so it is left to that one.
        """
        with self._lock:
            if self._start is None and not self._stopping.is_set():
                self._start = threading.Thread(
                    target=self._run_at_start, name="rolling up", daemon=True
                )
                self._start.start()

    def stop(self) -> None:
        """Begin nothing more, and wait a while for what is under way."""
        with self._lock:
            self._stopping.set()
            threads = [self._thread, self._start]
        ends = time.monotonic() + FINISH_S
        for each in threads:
            if each is not None:
                each.join(max(ends - time.monotonic(), 0))
        if self._start is not None and self._start.is_alive():
            self._drop_lease()

    def _run_at_start(self) -> None:
        try:
            if not self._rolls_up or not self._lease.take():
                return
            try:
                self._begin("", wait_s=0)
                while (thread := self._thread) is not None and thread.is_alive():
                    thread.join(LEASE_S / 4)
                    self._renew_lease()
                if not self._stopping.is_set():
                    self._finish(self._renew_lease)
            finally:
                self._drop_lease()
        except CommonplaceError as exc:
            _log.warning("The timeline was not rolled up at the start: %s", exc)
        except Exception:  # noqa: BLE001  a thread's last line: what is due stays so
            if not self._stopping.is_set():  # else what it works with was closed
                _log.exception("The timeline was not rolled up at the start")

    @property
    def _lease(self) -> Lease:
        return Lease(self._index(), LEASE, self._holder, LEASE_S)

    def _renew_lease(self) -> None:
        self._lease.take()

    def _drop_lease(self) -> None:
        with suppress(CommonplaceError):
            self._lease.drop()

    def _run(self, key: str) -> None:
        try:
            with suppress(CommonplaceError):
                service = self._service()
                service.feed()
                while service.rollups.catch_up(within_s=STEP_S):
                    if self._stopping.wait(self._rest_s if service.rollups.list_due() else 0):
                        return
                named = find_period_key(key, service.zone)
                if named is not None and named[1].start is not None:
                    # A period that another zone cut so far is due by no mark.
                    service.rollups.read(named[0], named[1].start)
        except Exception:  # noqa: BLE001  a thread's last line: the page shows what is stored
            _log.exception("The timeline was not rolled up")
