"""The wiring of what a server reads of its database for its metrics: connections, and what waits.

Never asks a database while anybody waits for the answer.
"""

from __future__ import annotations

import logging
import threading
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

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


class _Waiting(NamedTuple):
    """What waits for a worker: records, for how long; what is to be packed, whose was not."""

    records: int
    oldest_s: float
    unpacked_s: float
    failed: int


class WaitingWatch(Background):
    """Looks every few seconds what waits for the worker of memory, where its role is known."""

    def __init__(self, settings: Settings) -> None:
        super().__init__("what waits")
        self._settings = settings
        self._lock = threading.Lock()
        self._found: _Waiting | None = None

    def measure(self) -> Iterator[Metric]:
        """What waited when it was looked at last; nothing while that cannot be known."""
        with self._lock:
            found = self._found
        if found is None:
            return
        name = "commonplace_worker_pending"
        yield Metric(name, "Records whose words or vectors are not made yet.", found.records)
        explanation = (
            "How long the oldest of them has waited: the lag between a write and its vector."
        )
        yield Metric(f"{name}_oldest_seconds", explanation, found.oldest_s)
        name = "commonplace_worker_unpacked"
        explanation = "How long anything has waited to be packed, which it does for a day."
        yield Metric(f"{name}_oldest_seconds", explanation, found.unpacked_s)
        explanation = "Users whose index could not be packed at the first try."
        yield Metric(f"{name}_failed", explanation, found.failed)

    def _run(self) -> None:
        with open_backlog(self._settings) as backlog:
            self._repeat(partial(self._look, backlog), every_s=_EVERY_S)

    def _look(self, backlog: MemoryBacklog) -> None:
        try:
            found = _Waiting(*backlog.waiting(), *backlog.unpacked())
        except CommonplaceError:
            found = None  # the worker's own log says why
        except Exception:  # noqa: BLE001  a thread's last line: the next look may do
            _log.exception("What waits for the worker was not counted")
            found = None
        with self._lock:
            self._found = found
