"""Workers pack what users wrote a day ago: each user by one of them, and none is in the others' way."""

from __future__ import annotations

from functools import partial

import pytest
from server.tests.memory_postgres_world import PACKING_IS_DUE

from commonplace_server.index.index import PostgresIndex
from commonplace_server.postgres.database import Postgres
from commonplace_server.records.upkeep import MemoryUpkeep
from commonplace_server.wiring.schema import check_worker
from commonplace_server.worker.worker import MemoryWorker
from commonplace_testing import HashingEncoder

SLOW_FOR_ANN = """
    CREATE OR REPLACE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF current_setting('app.user_id') = 'ann' THEN PERFORM pg_sleep(4); END IF;
        RETURN NULL;
    END $$;
    CREATE TRIGGER slow AFTER INSERT ON {} EXECUTE FUNCTION slow();
    CREATE TRIGGER slow AFTER DELETE ON {} EXECUTE FUNCTION slow()
"""
"""No statement of hers takes longer than it may, both together do: the database ends all of it."""


@pytest.fixture
def impatient(database, parts):
    """A worker whose transactions take five seconds at the most."""
    pool = Postgres(database.worker_url, check=check_worker, deadline_s=5.0)
    own = {
        "upkeep": MemoryUpkeep(pool),
        "index_of": PostgresIndex(pool).of_owner,
        "of_many": pool.of_many,
    }
    yield MemoryWorker(**{**parts, **own})
    pool.close()


def test_words_are_packed_a_day_after_they_were_written(world, worker_with):
    """What is found is found as before. Of few records words stay rows, all vectors are halved."""
    mine, bob = world.open("ann"), world.open("bob")
    bob.save_todo("harbour of bob")
    for number in range(20):
        mine.save_todo(f"harbour {number} gate")
    worker = worker_with(HashingEncoder())
    worker.run_once()
    assert world.database.rows("SELECT 1 FROM wb_packed") == []
    before = mine.search("harbour 7 gate").hits
    world.database.run(PACKING_IS_DUE)
    worker.run_once()
    assert world.database.rows("SELECT DISTINCT user_id FROM wb_packed") == [("ann",)]
    assert world.database.rows("SELECT DISTINCT user_id FROM wb_words") == [("bob",)]
    halved = "SELECT count(half), count(vector) FROM wb_embeddings"
    assert world.database.rows(halved) == [(21, 0)]
    assert world.database.rows("SELECT 1 FROM wb_index WHERE unpacked_at IS NOT NULL") == []
    for number in range(20):
        mine.save_todo(f"lantern {number}")
    worker.run_once()
    assert len(world.database.rows("SELECT DISTINCT doc FROM wb_words")) == 21
    assert world.database.rows(halved) == [(21, 20)]
    world.database.run(PACKING_IS_DUE)
    worker.run_once()
    assert world.database.rows(halved) == [(41, 0)]
    assert [hit.ref for hit in mine.search("harbour 7 gate").hits[:1]] == [before[0].ref]
    assert len(mine.search("lantern", limit=50).hits) == 20


def test_a_user_who_cannot_be_packed_is_in_nobody_s_way(
    world, worker_with, parts, impatient, caplog
):
    """Nor one of whom it takes too long: both are tried again later, with less at once."""
    for user in ("ann", "amy", "bob"):
        mine = world.open(user)
        for number in range(16):
            mine.save_todo(f"harbour {number}")
    worker_with(HashingEncoder()).run_once()
    world.database.run(SLOW_FOR_ANN.format("wb_packed", "wb_words"))
    world.database.run("ALTER TABLE wb_packed ADD CONSTRAINT c CHECK (user_id <> 'amy')")
    for _ in range(2):
        world.database.run(PACKING_IS_DUE)
    world.database.run(
        "UPDATE wb_index SET unpacked_at = unpacked_at + interval '1 h' WHERE user_id = 'bob'"
    )
    impatient.run_once()
    packed = "SELECT DISTINCT user_id FROM wb_packed ORDER BY 1"
    assert world.database.rows(packed) == [("bob",)]
    assert len(world.open("ann").search("harbour", limit=50).hits) == 16
    assert caplog.text.count("The index of a user cannot be packed yet") == 2
    assert "cannot be filed" not in caplog.text
    worker_with(HashingEncoder()).run_once()
    assert world.database.rows(packed) == [("bob",)]  # they rest
    world.database.run("DROP TRIGGER slow ON wb_packed; DROP TRIGGER slow ON wb_words")
    world.database.run("UPDATE wb_index SET packing_until = now() - interval '1 s'")
    worker_with(HashingEncoder()).run_once()
    assert world.database.rows(packed) == [("ann",), ("bob",)]
    assert parts["backlog"].unpacked()[1] == 1  # amy
    resting = "SELECT packing_tries, packing_until > now() + interval '19 min' FROM wb_index"
    assert world.database.rows(f"{resting} WHERE user_id = 'amy'") == [(2, True)]


def test_a_user_whose_blocks_are_damaged_is_in_nobody_s_way(world, worker_with, caplog):
    """Of a worker that ended, all whom it had in hand would rest, and end with the next as well."""
    worker = worker_with(HashingEncoder())

    def save_and_pack(word):
        for user in ("amy", "bob"):
            mine = world.open(user)
            for number in range(16):
                mine.save_todo(f"{word} {number}")
        worker.run_once()
        world.database.run(PACKING_IS_DUE)
        worker.run_once()

    save_and_pack("harbour")
    world.database.run("UPDATE wb_packed SET data = '' WHERE user_id = 'amy'")
    save_and_pack("lantern")
    unpacked = "SELECT user_id FROM wb_index WHERE unpacked_at IS NOT NULL"
    assert world.database.rows(unpacked) == [("amy",)]
    assert "The index of a user cannot be packed yet" in caplog.text


def test_whom_a_worker_did_not_pack_is_taken_alone(world, worker_with, parts):
    """After the others: if it killed that worker, those whom it had besides are not with it again."""
    users = ["amy", "ann", "bob"]
    lease = partial(parts["upkeep"].lease_packing, 9, every_s=86_400.0, seconds=60.0)

    def save(*names):
        for name in names:
            world.open(name).save_todo("harbour")
        worker_with(HashingEncoder()).work()
        world.database.run(PACKING_IS_DUE)

    save(*users)
    assert sorted(each.owner for each in lease()) == users
    world.database.run("UPDATE wb_index SET packing_until = now() - interval '1 s'")
    save("dan")
    assert [(each.owner, each.tries) for each in lease()] == [("dan", 1)]
    alone = [lease() for _ in users]
    assert sorted((each.owner, each.tries) for [each] in alone) == [(name, 2) for name in users]
    assert lease() == []


def test_several_workers_share_the_users(world, worker_with, parts):
    """Whom one that was killed had in hand the next takes; what came meanwhile is due again."""
    for user in ("ann", "bob"):
        world.open(user).save_todo("harbour")
    worker_with(HashingEncoder()).run_once()
    world.database.run(PACKING_IS_DUE)
    lease = partial(parts["upkeep"].lease_packing, every_s=86_400.0, seconds=60.0)
    [first], [second] = lease(1), lease(1)
    assert {first.owner, second.owner} == {"ann", "bob"}
    assert lease(1) == []
    world.database.run(
        "UPDATE wb_index SET packing_until = now() - interval '1 s' WHERE user_id = %s",
        first.owner,
    )
    [again] = lease(9)
    assert (again.owner, again.tries) == (first.owner, 2)
    world.open(second.owner).save_todo("a lantern")
    worker_with(HashingEncoder()).work()
    for each in (first, again, second):
        parts["index_of"](each.owner).pack(tries=each.tries, until=each.until)
    left = "SELECT user_id, packing_tries FROM wb_index WHERE unpacked_at IS NOT NULL"
    assert world.database.rows(left) == [(second.owner, 0)]
    assert lease(9) == []
