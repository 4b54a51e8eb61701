"""What language models may cost a user of several servers."""

from __future__ import annotations


def test_what_a_model_takes_on_one_server_counts_on_the_other(one, two, servers, tmp_path):
    """For its user alone; nothing of it lies on a disk."""
    one.languages.token_budget.set_aside(700, "m")
    assert two.languages.token_budget.spent() == 700
    assert servers("two", owner="bob").languages.token_budget.spent() == 0
    assert not [*tmp_path.rglob("llm")]
    assert servers("alone", url="").languages.token_budget.spent() == 0
