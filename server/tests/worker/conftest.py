"""Workers of one database, and the parts that they are made of."""

from contextlib import ExitStack

import pytest
from server.tests.memory_postgres_world import PostgresMemoryWorld

from commonplace.app.process import ProcessContext
from commonplace_server.index.index import TABLES, PostgresIndex
from commonplace_server.postgres.database import Postgres
from commonplace_server.records.backlog import MemoryBacklog
from commonplace_server.records.store import MemoryPostgres
from commonplace_server.records.upkeep import MemoryUpkeep
from commonplace_server.wiring.memories import open_worker
from commonplace_server.wiring.schema import check_worker
from commonplace_server.worker import numbers
from commonplace_server.worker.changes import JournalChanges
from commonplace_testing import HashingEncoder, ReadySlot


@pytest.fixture
def world(database, tmp_path, monkeypatch):
    monkeypatch.setattr(numbers, "BACKLOG_POLL_S", 0.01)
    made = PostgresMemoryWorld(database, tmp_path, worker=False)
    yield made
    made.close()


@pytest.fixture
def worker_with(world):
    """Workers of the same database, each with a model of its own."""
    with ExitStack() as opened:

        def one(encoder):
            shared = ProcessContext(world.settings, encoder=ReadySlot(encoder))
            return opened.enter_context(open_worker(shared, world.clock))

        yield one


@pytest.fixture
def pool(database):
    made = Postgres(database.worker_url, check=check_worker)
    yield made
    made.close()


@pytest.fixture
def parts(pool, world):
    """Of a worker: what waits, what workers agree on, and the users' records and indexes."""
    return {
        "backlog": MemoryBacklog(pool),
        "upkeep": MemoryUpkeep(pool, tables=TABLES, clock=world.clock),
        "read_of": lambda owner: JournalChanges(
            records=MemoryPostgres(pool, owner=owner), others={}
        ),
        "index_of": PostgresIndex(pool).of_owner,
        "of_many": pool.of_many,
        "encoder": ReadySlot(HashingEncoder()),
    }
