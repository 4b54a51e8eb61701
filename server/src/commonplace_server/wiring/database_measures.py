"""The wiring of what a server reads of its database for its metrics: connections, and what waits.

Never asks a database while anybody waits for the answer.
"""

from __future__ import annotations

import logging
import threading
from functools import partial
from typing import TYPE_CHECKING, cast

from commonplace.app.wiring.memory.wiring import memories_of
from commonplace.core.errors import CommonplaceError
from commonplace_server.background import Background
from commonplace_server.wiring.measures import Metric
from commonplace_server.wiring.memories import open_backlog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.app.process import ProcessContext
    from commonplace.config.table import Settings
    from commonplace_server.records.backlog import MemoryBacklog
    from commonplace_server.wiring.memories import PostgresMemories

_log = logging.getLogger(f"commonplace.{__name__}")
_EVERY_S = 5.0


def measure_pool(shared: ProcessContext) -> Iterator[Metric]:
    """How busy the connections to the database of memories are, and what a quota kept out."""
    memories = cast("PostgresMemories", memories_of(shared))
    use = memories.pool_use()
    name = "commonplace_database"
    yield Metric(f"{name}_connections", "Connections to the database that are open.", use.open)
    yield Metric(f"{name}_connections_in_use", "Those of them that are in use.", use.in_use)
    yield Metric(f"{name}_waits_total", "How often a connection was waited for.", use.waits)
    yield Metric(f"{name}_wait_seconds_total", "How long they were waited for, in all.", use.wait_s)
    explanation = "Writes that the quota of a user kept out."
    yield Metric("commonplace_quota_refusals_total", explanation, memories.count_refused())


class WaitingWatch(Background):
    """Looks every few seconds what waits for the worker of memory, where its role is known."""

    def __init__(self, settings: Settings) -> None:
        super().__init__("what waits")
        self._settings = settings
        self._lock = threading.Lock()
        self._waiting: tuple[int, float] | None = None

    def measure(self) -> Iterator[Metric]:
        """What waited when it was looked at last; nothing while that cannot be known."""
        with self._lock:
            waiting = self._waiting
        if waiting is None:
            return
        count, oldest_s = waiting
        name = "commonplace_worker_pending"
        yield Metric(name, "Records whose words or vectors are not made yet.", count)
        explanation = (
            "How long the oldest of them has waited: the lag between a write and its vector."
        )
        yield Metric(f"{name}_oldest_seconds", explanation, oldest_s)

    def _run(self) -> None:
        with open_backlog(self._settings) as backlog:
            self._repeat(partial(self._look, backlog), every_s=_EVERY_S)

    def _look(self, backlog: MemoryBacklog) -> None:
        try:
            waiting = backlog.waiting()
        except CommonplaceError:
            waiting = None  # the worker's own log says why
        except Exception:  # noqa: BLE001  a thread's last line: the next look may do
            _log.exception("What waits for the worker was not counted")
            waiting = None
        with self._lock:
            self._waiting = waiting
