"""The worker of memory beside a server's answers, where a database keeps the memories of all users.

Decides nothing: it runs what `commonplace memory worker` runs.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from commonplace.app.backends import POSTGRES
from commonplace.core.errors import CommonplaceError

if TYPE_CHECKING:
    from commonplace.app.shared import Shared
    from commonplace.core.clock import Clock

_log = logging.getLogger(__name__)

AGAIN_S = 30.0


class MemoryWork:
    """Files what users save, in a thread of its own, until it is stopped."""

    def __init__(self, shared: Shared, clock: Clock) -> None:
        self._shared = shared
        self._clock = clock
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="memory work", daemon=True)

    def start(self) -> None:
        """Begin with what waits."""
        self._thread.start()

    def stop(self, wait_s: float) -> None:
        """Begin no other batch, and wait at most so long for the one in hand."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(wait_s)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with POSTGRES["working"].load()(self._shared, self._clock) as working:
                    working.run(self._stopping)
            except CommonplaceError as exc:
                _log.warning("The worker of memory waits: %s", exc)
            except Exception:  # noqa: BLE001  a thread's last line: answers go on without it
                _log.exception("The worker of memory failed")
            self._stopping.wait(AGAIN_S)
