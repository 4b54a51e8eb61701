"""What language models may cost, counted by several servers together."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import psycopg
import pytest
from tests.inference.language.budget_laws import BudgetLaws

from commonplace.core.errors import Denied
from commonplace_server.state.spending import SpentDatabase
from commonplace_testing import FrozenClock


@pytest.fixture
def clock():
    return FrozenClock(datetime(2026, 11, 22, 12, 0, tzinfo=UTC))


@pytest.fixture
def budget(pool, clock):
    return spent_by(pool, clock)


def spent_by(pool, clock, owner="ann", zone=UTC):
    return SpentDatabase(pool, owner=owner, per_day=30, clock=clock, zone=zone)


class TestSpentDatabase(BudgetLaws):
    """In a database."""


def test_two_servers_have_one_cap_and_each_user_their_own(pool, budget, clock):
    """What one has set aside the other has not; another user's is whole."""
    other = spent_by(pool, clock)
    key = budget.set_aside(20, "m")
    with pytest.raises(Denied, match="20 of 30, and 11 are needed"):
        other.set_aside(11, "m")
    budget.settle(key, 1, 2, "m")
    assert other.spent() == 3
    other.set_aside(27, "m")
    spent_by(pool, clock, "bob").set_aside(30, "m")


def test_the_day_is_the_owners_and_what_ends_later_counts_on_it(pool, clock, database):
    """At noon in UTC it is tomorrow in Kiritimati; what is set aside before midnight stays there."""
    budget = spent_by(pool, clock, zone=ZoneInfo("Pacific/Kiritimati"))
    key = budget.set_aside(5, "m")
    clock.advance(86_400)
    budget.settle(key, 1, 1, "m")
    assert budget.spent() == 0
    clock.advance(40 * 86_400)
    last = budget.set_aside(5, "m")
    with psycopg.connect(database.admin_url) as conn:
        kept = "SELECT day::text, tokens FROM cp_spent ORDER BY day"
        assert conn.execute(kept).fetchall() == [("2026-11-23", 2), ("2027-01-03", 5)]
    budget.settle(last, 5, 0, "m")
    with psycopg.connect(database.admin_url) as conn:
        assert conn.execute(kept).fetchall() == [("2027-01-03", 5)]
