"""What language models may cost: caps for a run and for a day, kept by all processes together."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from commonplace.core.errors import CommonplaceError, Denied, Unavailable
from commonplace.core.values import Completion, Passage, Question
from commonplace.inference.language.budget import Metered, Run, TokenBudget, estimate
from commonplace_testing import FrozenClock
from commonplace_testing.language import ScriptedLanguage

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
# 3 + 1 + 8 bytes are 4 tokens, and 6 for the answer: 10.
ASKED = Question(instructions="Say", passages=(Passage(origin="a", text="eight by"),), max_tokens=6)


@pytest.fixture
def clock():
    return FrozenClock(NOON)


@pytest.fixture
def budget(tmp_path, clock):
    return TokenBudget(tmp_path / "llm", per_day=30, clock=clock, zone=UTC)


def cost(tokens_in, tokens_out):
    return Completion(text="x", model="m", tokens_in=tokens_in, tokens_out=tokens_out, whole=True)


def test_the_estimate():
    """A third of the bytes, rounded up, and the longest answer."""
    assert estimate(ASKED) == 10


def test_what_was_spent_counts_and_not_what_was_set_aside(budget):
    """Set aside 10, spent 4 + 2; the rest is there again."""
    metered = Metered(ScriptedLanguage(cost(4, 2)), Run(budget, per_run=100))
    assert metered.complete(ASKED).tokens_in == 4
    assert budget.spent() == 6
    assert metered.name == "scripted-1 in memory"
    assert metered.sees_private


def test_the_run_is_capped(budget):
    """16 tokens: one answer of 8 leaves 8, and 10 are needed."""
    language = ScriptedLanguage(cost(6, 2))
    metered = Metered(language, Run(budget, per_run=16))
    metered.complete(ASKED)
    with pytest.raises(Denied, match="The tokens of this run are spent: 8 of 16, and 10"):
        metered.complete(ASKED)
    assert len(language.questions) == 1
    Metered(language, Run(budget, per_run=16)).complete(ASKED)


def test_two_models_of_a_run_share_its_cap(budget):
    """16 tokens: 8 by the one leave 8 for the other."""
    run = Run(budget, per_run=16)
    Metered(ScriptedLanguage(cost(6, 2)), run).complete(ASKED)
    with pytest.raises(Denied):
        Metered(ScriptedLanguage(cost(1, 1)), run).complete(ASKED)


def test_the_day_is_capped_over_runs_and_begins_anew(budget, clock):
    """30 tokens a day: 12 and 12 are spent, and 10 more are needed; tomorrow there are 30 again."""
    language = ScriptedLanguage(cost(10, 2))
    for _ in range(2):
        Metered(language, Run(budget, per_run=100)).complete(ASKED)
    with pytest.raises(Denied, match="Today's tokens are spent: 24 of 30, and 10 are needed"):
        Metered(language, Run(budget, per_run=100)).complete(ASKED)
    assert (len(language.questions), budget.spent()) == (2, 24)
    clock.advance(86_400)
    Metered(language, Run(budget, per_run=100)).complete(ASKED)
    assert budget.spent() == 12


def test_the_day_is_the_owners(tmp_path, clock):
    """At noon in UTC it is tomorrow in Kiritimati."""
    budget = TokenBudget(
        tmp_path / "llm", per_day=30, clock=clock, zone=ZoneInfo("Pacific/Kiritimati")
    )
    budget.set_aside(5, "m")
    assert [x.name for x in (tmp_path / "llm").iterdir()] == ["2026-11-23.jsonl"]


def test_an_error_costs_nothing(budget):
    """What was set aside for it is there again."""
    metered = Metered(ScriptedLanguage(Unavailable("No.")), Run(budget, per_run=100))
    with pytest.raises(Unavailable, match=r"No\."):
        metered.complete(ASKED)
    assert budget.spent() == 0


def test_a_process_that_is_killed_counts_what_it_set_aside(budget, tmp_path, clock):
    """Nobody settled it; a line cut in the middle counts for nothing."""
    budget.set_aside(10, "m")
    (file,) = (tmp_path / "llm").iterdir()
    file.write_bytes(file.read_bytes() + b'{"id": "x", "set_as')
    again = TokenBudget(tmp_path / "llm", per_day=30, clock=clock, zone=UTC)
    assert again.spent() == 10
    again.settle(again.set_aside(7, "m"), 1, 2, "m")
    assert again.spent() == 13


def test_two_who_reach_for_the_last_tokens(budget):
    """Ten at once for 10 each out of 30: never more than three get them."""
    got = []

    def reach():
        try:
            got.append(budget.set_aside(10, "m"))
        except Denied:
            got.append("")

    threads = [threading.Thread(target=reach) for _ in range(10)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len([x for x in got if x]) <= 3
    assert budget.spent() <= 30


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
