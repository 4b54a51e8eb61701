"""How often an owner has asked, counted by several servers together."""

from __future__ import annotations

import anyio
import psycopg
import pytest
from tests.patience import PATIENCE_S

from commonplace.doors.protocol import RateLimitExceeded
from commonplace_server.http.limits import Limits, RateLimiter
from commonplace_server.postgres.database import Postgres
from commonplace_server.state import rates
from commonplace_server.state.rates import RateDatabase
from commonplace_server.wiring.schema import check_database

SLOW = 1e-6
"""Requests a second: none comes back while a test lasts."""


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A server counts alone where the database is late; on a busy machine it may be."""
    monkeypatch.setattr(rates, "_DEADLINE_S", PATIENCE_S)


def admitted(limiters, owner, rounds):
    """How many requests of an owner servers admit that are asked in turns."""

    async def ask():
        found = 0
        for _ in range(rounds):
            for each in limiters:
                await each.agree(owner)
                try:
                    with each.call(owner):
                        found += 1
                except RateLimitExceeded:
                    continue
        return found

    return anyio.run(ask)


def limiter(pool, *, burst, now=lambda: 0.0):
    """One of a server."""
    shared = RateDatabase(pool, per_second=SLOW, burst=burst)
    return RateLimiter(Limits(per_second=SLOW, burst=burst), now, shared)


def test_a_bucket_is_one_for_all_and_each_owner_has_one(pool):
    """What is taken is counted, below nothing too; what is left is said."""
    one, two = (RateDatabase(pool, per_second=SLOW, burst=10) for _ in range(2))
    assert one.spend("ann", 0) == 10
    assert [round(x.spend("ann", 6), 3) for x in (one, two)] == [4, -2]
    assert one.spend("bob", 1) == 9


def test_a_bucket_fills_up_to_its_burst(pool, database):
    """At its rate, from when it was last asked; a clock that went back takes nothing."""
    bucket = RateDatabase(pool, per_second=2.0, burst=10)
    bucket.spend("ann", 10)
    with psycopg.connect(database.admin_url, autocommit=True) as conn:
        moved = "UPDATE cp_rates SET tokens = 0, at = now() - %s::interval"
        conn.execute(moved, ["3 seconds"])
        assert 6 <= bucket.spend("ann", 0) < 10
        conn.execute(moved, ["1 day"])
        assert bucket.spend("ann", 0) == 10
        conn.execute(moved, ["-1 day"])
        assert bucket.spend("ann", 1) == -1


def test_two_servers_admit_as_many_as_one(pool):
    """And a twentieth of a burst more, at most."""
    both = [limiter(pool, burst=40) for _ in range(2)]
    assert 40 <= admitted(both, "ann", 60) <= 42
    assert 40 <= admitted(both, "bob", 60) <= 42
    assert admitted([limiter(pool, burst=40)], "ann", 60) <= 2


def test_requests_at_once_wait_for_the_one_that_asks(pool):
    """Sixty that come together are those that would have been admitted one after the other."""
    both = [limiter(pool, burst=40) for _ in range(2)]
    found = []

    async def ask(each):
        await each.agree("ann")
        try:
            with each.call("ann"):
                found.append(1)
        except RateLimitExceeded:
            pass

    async def crowd():
        async with anyio.create_task_group() as tasks:
            for _ in range(60):
                for each in both:
                    tasks.start_soon(ask, each)

    anyio.run(crowd)
    assert 40 <= len(found) <= 42


def test_a_server_that_hears_of_no_other_counts_alone(database, caplog):
    """Nobody is refused for that, and it is logged, not at each request."""
    away = Postgres("postgresql://nobody@127.0.0.1:1/x", check=check_database)
    alone = limiter(away, burst=40)
    assert admitted([alone], "ann", 60) == 40
    assert len([x for x in caplog.records if "this server alone" in x.message]) == 1
    away.close()
