"""Which statements a session plans once, and that none is where the session may be another's."""

import pytest
from tests.db.postgres.test_database import opened
from tests.relay import Relay

from commonplace.core.errors import Invalid, Unavailable


def planned(pool):
    """How many statements a transaction finds planned in its session, having asked one so."""
    with pool.within("ann") as conn:
        conn.execute("SELECT %s::text", ["x"], prepare=True)
        found = conn.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
    return found[0]


def test_a_session_of_our_own_keeps_the_plans_it_is_told_to(database):
    """Those alone, however often others are asked; after a failure it makes them anew."""
    pool = opened(database.app_url, most=1)
    try:
        for _ in range(10):
            assert planned(pool) == 1
        with pytest.raises(Invalid), pool.within("ann") as conn:
            conn.execute("SELECT 1 / %s", [0], prepare=True)
        assert planned(pool) == 1
    finally:
        pool.close()


def test_a_plan_made_while_little_was_there_looks_rows_up(database):
    """Whoever reads a small table as a whole would go on to, however much comes."""
    database.run("CREATE TABLE plain (a integer PRIMARY KEY)")
    database.run("INSERT INTO plain VALUES (1), (2)")
    database.run("ANALYZE plain")
    database.run("GRANT SELECT ON plain TO commonplace_app")
    pool = opened(database.app_url, most=1)
    try:
        with pool.within("ann") as conn:
            conn.execute("SELECT a FROM plain WHERE a = %s::integer", ["1"], prepare=True)
            ((name,),) = conn.execute("SELECT name FROM pg_prepared_statements").fetchall()
            conn.execute("SET LOCAL plan_cache_mode = force_generic_plan")
            plan = conn.execute(f"EXPLAIN EXECUTE {name} ('1')").fetchall()
        assert "plain_pkey" in plan[0][0]
    finally:
        pool.close()


def test_none_is_kept_behind_a_proxy(database):
    """Its next transaction may have another session, where they are not."""
    relay = Relay(database.app_url)
    pool = opened(relay.url, most=1)
    try:
        assert [planned(pool) for _ in range(10)] == [0] * 10
    finally:
        pool.close()
        relay.close()


def test_a_table_that_is_altered_meanwhile_costs_one_try(database):
    """A plan for columns of another type is refused, told as such, and made anew."""
    database.run("CREATE TABLE plain (a integer)")
    database.run("GRANT SELECT ON plain TO commonplace_app")
    pool = opened(database.app_url, most=1)

    def ask():
        with pool.within("ann") as conn:
            return conn.execute("SELECT a FROM plain", prepare=True).fetchall()

    try:
        assert ask() == []
        database.run("ALTER TABLE plain ALTER a TYPE text")
        with pytest.raises(Unavailable, match=r"altered meanwhile. Try again"):
            ask()
        assert ask() == []
    finally:
        pool.close()
