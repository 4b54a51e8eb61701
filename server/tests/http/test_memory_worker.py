"""The worker of memory beside a server's answers."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from types import SimpleNamespace

from tests.patience import PATIENCE_S

from commonplace.core.clock import utc_now
from commonplace.core.errors import Unavailable
from commonplace_server.http import memory_worker as memory_work
from commonplace_server.http.memory_worker import MemoryWork


def test_it_works_until_it_is_stopped_and_begins_again_after_a_failure(monkeypatch, caplog):
    """A database that is away at first, then a fault of ours, then work to the end."""
    monkeypatch.setattr(memory_work, "AGAIN_S", 0.01)
    begun, ended = threading.Event(), threading.Event()
    faults = [Unavailable("The database is away."), ValueError("secret")]

    class Worker:
        def run(self, stop):
            if faults:
                raise faults.pop(0)
            begun.set()
            stop.wait()
            ended.set()

    @contextmanager
    def working(shared, _clock, *, apps):
        assert shared == apps.shared
        yield Worker()

    monkeypatch.setattr("commonplace_server.wiring.memories.open_worker", working)
    work = MemoryWork(SimpleNamespace(shared="shared"), utc_now)
    work.start()
    assert begun.wait(PATIENCE_S)
    work.stop(20)
    assert ended.is_set()
    assert "The database is away." in caplog.text
    assert "The worker of memory failed" in caplog.text
