"""Statements read as little of a user who has much as of any other."""

from __future__ import annotations

from server.tests.memory_postgres_world import PostgresMemoryWorld
from tests.patience import until

from commonplace.core.values import Put
from commonplace_testing import HashingEncoder, a_doc, encode_all

MANY, FEW = 1_500, 50
MESSAGES = """
INSERT INTO wb_message SELECT 'whale', 'old-' || n, 'user', 'x', now() - n * interval '1 s'
FROM generate_series(1, %s) AS n
"""
LINES = """
INSERT INTO wb_outbox (user_id, kind, ref_id, gone, erase, words_due, due)
SELECT 'whale', 'message', 'gone-' || n, true, false, false, false FROM generate_series(1, %s) AS n
"""
OTHERS = """
INSERT INTO wb_message SELECT 'small-' || n, 'one', 'user', 'x', now()
FROM generate_series(1, %s / 5) AS n
"""
READ = """
SELECT t.relname, t.seq_tup_read + coalesce(sum(i.idx_tup_read), 0)
FROM pg_stat_user_tables AS t LEFT JOIN pg_stat_user_indexes AS i USING (relid)
GROUP BY t.relid, t.relname, t.seq_tup_read
"""
SESSIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND usename LIKE 'commonplace%%'
"""


def use(database, folder, act):
    """Act as a process that begins and ends; how many rows of each table were looked at for it."""
    before = dict(database.rows(READ))
    world = PostgresMemoryWorld(database, folder, worker=False)
    act(world, world.open("whale"))
    world.close()
    # Each session tells what it looked at when it ends.
    until(lambda: database.rows(SESSIONS) == [(0,)], "the sessions to end")
    return {name: int(count - before[name]) for name, count in database.rows(READ)}


def begin(_, memory):
    # Words enough that a table of blocks read whole would show.
    texts = (f"tide {n} ebb{n} flood{n} moon{n}" for n in range(MANY))
    docs = (a_doc(f"memory:message/old-{n}", text, minutes=n) for n, text in enumerate(texts))
    memory.service.index().apply([Put(doc) for doc in docs])
    encode_all(memory.service.index(), HashingEncoder())
    memory.service.index().pack()


def test_who_has_much_is_read_as_little_as_anybody(database, tmp_path):
    """A save, its filing and a search look at a few rows of each table."""
    for fill in (MESSAGES, OTHERS):
        database.run(fill, MANY)
    database.run("TRUNCATE wb_outbox")
    database.run(LINES, MANY)

    def go_on(world, memory):
        saved = memory.save_message("user", "the only quokkarine")
        world.work()
        (found,) = memory.search("quokkarine").hits
        assert found.entry == memory.message(saved)

    use(database, tmp_path, begin)
    database.run("ANALYZE")
    looked_at = use(database, tmp_path, go_on)
    # Whoever knows nothing yet reads which docs there are, and each vector is compared.
    for table in ("wb_docs", "wb_embeddings"):
        assert looked_at.pop(table) <= MANY + FEW
    # What is leased, of all users, is looked through.
    del looked_at["wb_outbox"]
    # It has a row for each migration, whoever has how much.
    looked_at.pop("applied_migrations", None)
    assert {table: rows for table, rows in looked_at.items() if rows > FEW} == {}


def test_who_came_since_the_planner_looked_is_filed_by_key(database, tmp_path):
    """To it the docs of somebody new are so few that any index would do."""
    ann = PostgresMemoryWorld(database, tmp_path, worker=False)
    for n in range(20):
        ann.open("ann").save_message("user", f"tide {n}")
    ann.work()
    ann.close()
    database.run("ANALYZE")
    database.run(MESSAGES, MANY)
    looked_at = use(database, tmp_path, lambda world, _: world.work())
    assert looked_at["wb_docs"] <= 10 * MANY
