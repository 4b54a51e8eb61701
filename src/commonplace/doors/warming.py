"""What a server of many owners does for an app that is used for the first time, behind the call.

Never holds up an answer, and readies one app after the other.
"""

from __future__ import annotations

import logging
import queue
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakSet

from commonplace.core.errors import CommonplaceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.app import App
    from commonplace.doors.per_owner import OwnersApps

_log = logging.getLogger(__name__)

MOST_WAITING = 16


class WarmedApps:
    """Apps of owners, each warmed up in the background when it is used first. Thread-safe.

    A wrapper with the same face: edits in place are found, and missing vectors made, as in a
    server of one owner.
    """

    def __init__(self, apps: OwnersApps) -> None:
        self._apps = apps
        self._lock = threading.Lock()
        self._known: WeakSet[App] = WeakSet()
        self._waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="warm-up", daemon=True).start()

    @contextmanager
    def using(self, owner: str) -> Iterator[App]:
        """The app of an owner, kept open meanwhile."""
        with self._apps.using(owner) as app:
            if self._is_new(app):
                self._waiting.put(owner)
            yield app

    def _is_new(self, app: App) -> bool:
        """Whether it is to be warmed up now; where many wait for that, at a later use."""
        with self._lock:
            is_new = app not in self._known and self._waiting.qsize() < MOST_WAITING
            if is_new:
                self._known.add(app)
            return is_new

    def _run(self) -> None:
        while True:
            owner = self._waiting.get()
            try:
                with self._apps.using(owner) as app:
                    app.warm_up()
            except CommonplaceError as exc:  # each call tells its client the same
                _log.warning("An app was not warmed up: %s", exc)
            except Exception:  # noqa: BLE001  a thread's last line: the next has its turn
                _log.exception("An app was not warmed up")
