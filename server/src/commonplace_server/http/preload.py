"""Warms up an owner's app in the background of its first call, on a server of many owners.

Never holds up an answer, and warms up one app after the other. Where owners are so many that apps
are closed to make room, an owner who comes back within ten minutes is not warmed up again.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakSet, ref

from commonplace.core.errors import CommonplaceError
from commonplace.core.standstill import PROCESS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from weakref import ReferenceType

    from commonplace.app import App
    from commonplace.doors.owner_apps import OwnerApps

_log = logging.getLogger(f"commonplace.{__name__}")

MOST_WAITING = 16

AGAIN_S = 600.0
"""How long after an app was warmed up another one of the same owner is."""


class WarmedApps:
    """Apps of owners, each warmed up in the background when it is used first. Thread-safe.

    Without it, entries that were edited in place would not be found before a sweep, and vectors
    that are missing would not be made: the warm-up begins both, as in a server of one owner.
    """

    def __init__(self, apps: OwnerApps, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._apps = apps
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._known: WeakSet[App] = WeakSet()
        self._begun: OrderedDict[str, float] = OrderedDict()
        self._waiting: queue.SimpleQueue[tuple[str, ReferenceType[App]]] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="warm-up", daemon=True).start()

    @contextmanager
    def using(self, owner: str) -> Iterator[App]:
        """The app of an owner, kept open while this is entered."""
        with self._apps.using(owner) as app:
            if self._is_due(owner, app):
                self._waiting.put((owner, ref(app)))
            yield app

    def _is_due(self, owner: str, app: App) -> bool:
        """Whether to warm it up now; where many wait for that already, a later use asks again."""
        with self._lock:
            if app in self._known or self._waiting.qsize() >= MOST_WAITING:
                return False
            self._known.add(app)
            now = self._monotonic()
            while self._begun and next(iter(self._begun.values())) <= now - AGAIN_S:
                self._begun.popitem(last=False)
            if owner in self._begun:
                return False
            self._begun[owner] = now
            return True

    def _run(self) -> None:
        while True:
            owner, wanted = self._waiting.get()
            try:
                with PROCESS.begun(), self._apps.using(owner) as app:
                    if app is wanted():  # else it was closed, and this one has opened nothing
                        app.warm_up()
            except CommonplaceError as exc:  # each call tells its client the same
                _log.warning("An app was not warmed up: %s", exc)
            except Exception:  # noqa: BLE001  a thread's last line: the next has its turn
                _log.exception("An app was not warmed up")
