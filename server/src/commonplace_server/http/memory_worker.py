"""Memory's worker as a task of the server, where a database keeps the memories of all users.

Decides nothing: it runs what `commonplace memory worker` runs.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace_server.background import Background

if TYPE_CHECKING:
    from commonplace.app import Apps
    from commonplace.core.clock import Clock

_log = logging.getLogger(f"commonplace.{__name__}")

AGAIN_S = 30.0


class MemoryWork(Background):
    """Files what users save until it is stopped; stopping waits for one batch at most."""

    def __init__(self, apps: Apps, clock: Clock) -> None:
        super().__init__("memory work")
        self._apps = apps
        self._clock = clock

    def _run(self) -> None:
        self._repeat(self._work, every_s=AGAIN_S)

    def _work(self) -> None:
        from commonplace_server.wiring.memories import open_worker

        try:
            with open_worker(self._apps.shared, self._clock, apps=self._apps) as working:
                working.run(self._stopping)
        except CommonplaceError as exc:
            _log.warning("The worker of memory waits: %s", exc)
        except Exception:  # noqa: BLE001  a thread's last line: answers go on without it
            _log.exception("The worker of memory failed")
