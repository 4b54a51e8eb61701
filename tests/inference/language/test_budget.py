"""What language models may cost: caps for a run and for a day, kept by all processes together."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from tests.inference.language.budget_laws import ASKED, BudgetLaws, cost

from commonplace.core.errors import CommonplaceError, Denied
from commonplace.inference.language.budget import Metered, Run, TokenBudget, estimate
from commonplace_testing import FrozenClock
from commonplace_testing.language import ScriptedLanguage

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


@pytest.fixture
def clock():
    return FrozenClock(NOON)


@pytest.fixture
def budget(tmp_path, clock):
    return TokenBudget(tmp_path / "llm", per_day=30, clock=clock, zone=UTC)


class TestTokenBudget(BudgetLaws):
    """In files."""


def test_the_estimate():
    """A third of the bytes, rounded up, and the longest answer."""
    assert estimate(ASKED) == 10


def test_the_day_is_the_owners(tmp_path, clock):
    """At noon in UTC it is tomorrow in Kiritimati."""
    budget = TokenBudget(
        tmp_path / "llm", per_day=30, clock=clock, zone=ZoneInfo("Pacific/Kiritimati")
    )
    budget.set_aside(5, "m")
    assert [x.name for x in (tmp_path / "llm").iterdir()] == ["2026-11-23.jsonl"]


def test_a_process_that_is_killed_counts_what_it_set_aside(budget, tmp_path, clock):
    """Nobody settled it; a line cut in the middle counts for nothing."""
    budget.set_aside(10, "m")
    (file,) = (tmp_path / "llm").iterdir()
    file.write_bytes(file.read_bytes() + b'{"id": "x", "set_as')
    again = TokenBudget(tmp_path / "llm", per_day=30, clock=clock, zone=UTC)
    assert again.spent() == 10
    again.settle(again.set_aside(7, "m"), 1, 2, "m")
    assert again.spent() == 13


def test_no_word_is_written_down(budget, tmp_path):
    """Times, models and numbers; readable by its owner alone."""
    Metered(ScriptedLanguage(cost(4, 2)), Run(budget, per_run=100)).complete(ASKED)
    (file,) = (tmp_path / "llm").iterdir()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [sorted(x) for x in lines] == [
        ["at", "id", "model", "set_aside"],
        ["at", "id", "model", "tokens_in", "tokens_out"],
    ]
    assert file.stat().st_mode & 0o077 == 0


def test_a_run_counts_what_could_not_be_written_down(budget, tmp_path):
    """16 tokens: 8 were spent as the disk failed, and 8 are left for what needs 10."""

    class FailingDisk(ScriptedLanguage):
        def complete(self, question):
            (file,) = (tmp_path / "llm").iterdir()
            file.unlink()
            file.mkdir()
            return super().complete(question)

    run = Run(budget, per_run=16)
    with pytest.raises(CommonplaceError):
        Metered(FailingDisk(cost(6, 2)), run).complete(ASKED)
    with pytest.raises(Denied, match="The tokens of this run are spent: 8 of 16"):
        Metered(ScriptedLanguage(cost(1, 1)), run).complete(ASKED)
