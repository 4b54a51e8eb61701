"""The laws of what language models may cost, wherever it is counted."""

from __future__ import annotations

import threading

import pytest

from commonplace.core.errors import Denied, Unavailable
from commonplace.core.values import Completion, Passage, Question
from commonplace.inference.language.budget import Metered, Run
from commonplace_testing.language import ScriptedLanguage

# 3 + 1 + 8 bytes are 4 tokens, and 6 for the answer: 10.
ASKED = Question(instructions="Say", passages=(Passage(origin="a", text="eight by"),), max_tokens=6)


def cost(tokens_in, tokens_out):
    """What a model says that its answer took."""
    return Completion(text="x", model="m", tokens_in=tokens_in, tokens_out=tokens_out, whole=True)


class BudgetLaws:
    """What files and a database owe; a test class has the fixtures `budget`, of 30 tokens a day, and `clock`."""

    def test_what_was_spent_counts_and_not_what_was_set_aside(self, budget):
        """Set aside 10, spent 4 + 2; the rest is there again."""
        metered = Metered(ScriptedLanguage(cost(4, 2)), Run(budget, per_run=100))
        assert metered.complete(ASKED).tokens_in == 4
        assert budget.spent() == 6
        assert metered.name == "scripted-1 in memory"
        assert metered.sees_private

    def test_the_run_is_capped(self, budget):
        """16 tokens: one answer of 8 leaves 8, and 10 are needed."""
        language = ScriptedLanguage(cost(6, 2))
        metered = Metered(language, Run(budget, per_run=16))
        metered.complete(ASKED)
        with pytest.raises(Denied, match="The tokens of this run are spent: 8 of 16, and 10"):
            metered.complete(ASKED)
        assert len(language.questions) == 1
        Metered(language, Run(budget, per_run=16)).complete(ASKED)

    def test_two_models_of_a_run_share_its_cap(self, budget):
        """16 tokens: 8 by the one leave 8 for the other."""
        run = Run(budget, per_run=16)
        Metered(ScriptedLanguage(cost(6, 2)), run).complete(ASKED)
        with pytest.raises(Denied):
            Metered(ScriptedLanguage(cost(1, 1)), run).complete(ASKED)

    def test_the_day_is_capped_over_runs_and_begins_anew(self, budget, clock):
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

    def test_an_error_costs_nothing(self, budget):
        """What was set aside for it is there again."""
        metered = Metered(ScriptedLanguage(Unavailable("No.")), Run(budget, per_run=100))
        with pytest.raises(Unavailable, match=r"No\."):
            metered.complete(ASKED)
        assert budget.spent() == 0

    def test_two_who_reach_for_the_last_tokens(self, budget):
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

    def test_what_is_more_than_a_day_is_refused(self, budget):
        """Also as the first of it."""
        with pytest.raises(Denied, match="0 of 30, and 31 are needed"):
            budget.set_aside(31, "m")
        assert budget.spent() == 0
