"""Workers of one database: which model they make vectors with, what they tidy, and what they leave."""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack, contextmanager

import pytest
from tests.memory_postgres_world import PostgresMemoryWorld
from tests.proof.conftest import until

from commonplace.app.memory_postgres import working
from commonplace.app.shared import Shared
from commonplace.search import policy
from commonplace.testing import HashingEncoder, ReadySlot
from commonplace.testing_memory import OtherEncoder

ENCODERS = "SELECT DISTINCT encoder FROM wb_outbox ORDER BY 1"
MODELS = "SELECT model_tag, count(*) FROM wb_embeddings GROUP BY 1 ORDER BY 1"
OLD, NEW = HashingEncoder.identity, OtherEncoder.identity


@pytest.fixture
def world(database, tmp_path, monkeypatch):
    monkeypatch.setattr(policy, "BACKLOG_POLL_S", 0.01)
    made = PostgresMemoryWorld(database, tmp_path, worker=False)
    yield made
    made.close()


@pytest.fixture
def worker_with(world):
    """Workers of the same database, each with a model of its own."""
    with ExitStack() as opened:

        def one(encoder):
            shared = Shared(world.settings, encoder=ReadySlot(encoder))
            return opened.enter_context(working(shared, world.clock))

        yield one


@contextmanager
def running(worker):
    """It runs in a thread, as a server's does."""
    stop = threading.Event()
    thread = threading.Thread(target=worker.run, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


class TestSwitches:
    def test_a_switch_ends_while_workers_of_both_models_run(self, world, worker_with, caplog):
        """The new one makes no vector before the last of the old ones has ended; then all of them."""
        caplog.set_level(logging.INFO)
        old, new = worker_with(HashingEncoder()), worker_with(OtherEncoder())
        mine = world.open("ann")
        with running(old):
            mine.save_todo("harbour gate")
            until(lambda: world.database.rows(ENCODERS) == [(OLD,)])
            assert new.work() == 0
            assert f"its model {OLD}: this one, with {NEW}, files words alone" in caplog.text
            with running(new):
                mine.save_todo("harbour wall")
                until(lambda: world.database.rows(MODELS) == [(OLD, 2)])
        assert old.work() == 0
        assert new.work() == 2
        assert world.database.rows(ENCODERS) == [(NEW,)]
        assert f"Vectors are made with {NEW}." in caplog.text
        assert old.work() == 2  # whoever goes back to the former one may

    def test_one_that_was_killed_is_succeeded(self, world, worker_with):
        """Once it has told nothing for a minute."""
        world.open("ann").save_todo("harbour gate")
        old, new = worker_with(HashingEncoder()), worker_with(OtherEncoder())
        old.work()
        world.database.run(
            "INSERT INTO wb_workers VALUES (gen_random_uuid(), %s, now() + interval '60 s')", OLD
        )
        assert new.work() == 0
        world.database.run("UPDATE wb_workers SET until = now() - interval '1 s'")
        assert new.work() == 1

    def test_former_vectors_go_a_day_after_the_switch(self, world, worker_with):
        """Not before all are made anew; those of a record that has none of the new one stay."""
        mine, bob = world.open("ann"), world.open("bob")
        for number in range(3):
            mine.save_todo(f"harbour {number}")
        bob.save_todo("harbour of bob")
        worker_with(HashingEncoder()).run_once()
        assert world.database.rows("SELECT is_cleared FROM wb_upkeep") == [(True,)]
        new = worker_with(OtherEncoder())
        new.run_once()
        assert world.database.rows(MODELS) == [(OLD, 4), (NEW, 4)]
        world.database.run(
            "DELETE FROM wb_embeddings WHERE user_id = 'bob' AND model_tag = %s", NEW
        )
        age = "UPDATE wb_upkeep SET whole_at = whole_at - interval '1 day'"
        world.database.run(age)
        leased = "UPDATE wb_outbox SET encoder = %s, leased_until = now() + interval '60 s'"
        world.database.run(f"{leased} WHERE user_id = 'ann'", OLD)
        new.run_once()
        world.database.run("UPDATE wb_outbox SET encoder = %s", NEW)
        for models in [[(OLD, 4), (NEW, 3)], [(OLD, 1), (NEW, 3)]]:
            new.run_once()
            assert world.database.rows(MODELS) == models
            world.database.run(age)
        counted = "SELECT user_id, docs, chunks FROM wb_models WHERE model_tag = %s ORDER BY 1"
        assert world.database.rows(counted, OLD) == [("ann", 0, 0), ("bob", 1, 1)]
        assert world.database.rows("SELECT is_cleared FROM wb_upkeep") == [(True,)]
