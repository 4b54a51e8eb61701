"""The arithmetic of retrieval: every expected number is worked out by hand."""

from __future__ import annotations

import math

import pytest
from bench.retrieval_figures import (
    BUDGETS,
    MEASURES,
    Outcome,
    ndcg,
    paired,
    render_archives,
    render_rows,
    summed,
)
from bench.retrieval_sweep import Mean, held_out, render_sweep


def _outcome(gold, *, archive="a", kind="single-hop", sessions=1.0):
    shown = [sessions] * len(BUDGETS)
    return Outcome.of(archive=archive, kind=kind, gold=gold, sessions=sessions, shown=shown)


def _figures(outcome):
    return dict(zip(MEASURES, outcome.figures, strict=True))


def test_recall_is_the_share_of_the_evidence():
    """Ranks 2 and 8 of three answers: one in five, two in ten and in twenty; the first at 2."""
    figures = _figures(_outcome([2, None, 8], sessions=0.5))
    assert figures["R@5"] == pytest.approx(1 / 3)
    assert figures["R@10"] == figures["R@20"] == pytest.approx(2 / 3)
    assert figures["MRR"] == 0.5
    assert figures["session R@10"] == 0.5


def test_a_paired_difference_is_the_mean_of_the_differences():
    """Ours finds both of two, theirs one, at rank 2: R@10 +.5, MRR 1 - .25 = +.75."""
    ours, theirs = [_outcome([1]), _outcome([1])], [_outcome([2]), _outcome([None])]
    recall, _, mrr = paired(ours, theirs).partition(" / ")
    assert recall.startswith("+0.500 (")
    assert mrr.startswith("+0.750 (")
    assert paired(ours, ours) == " / ".join(["+0.000 (+0.000 to +0.000)"] * 2)


def test_ndcg_is_one_for_the_best_order_and_falls_with_rank():
    """Answers at 1 and 2 are the best; at 1 and 3, (1 + 1/2) / (1 + 1/log2 3); at 11, nothing."""
    assert ndcg([1, 2], 2) == 1.0
    assert ndcg([1, 3], 2) == pytest.approx(1.5 / (1 + 1 / math.log2(3)))
    assert ndcg([11], 1) == 0.0


def test_ndcg_never_exceeds_one_for_folded_answers():
    """Two answers inside one hit at rank 1 are as good as it gets, not better."""
    assert ndcg([1, 1], 2) == 1.0


def test_nothing_found_is_zero_everywhere():
    """No rank, no worth."""
    assert _outcome([None], sessions=0.0).figures == (0.0,) * len(MEASURES)


def test_a_row_averages_over_questions_of_its_kinds():
    """Three of one kind and one of another: .75 of both, 1/3 less over the three alone."""
    outcomes = [_outcome([1]), _outcome([1]), _outcome([None]), _outcome([1], kind="temporal")]
    assert summed(outcomes, "all", ("single-hop", "temporal")).means["R@10"] == 0.75
    row = summed(outcomes, "one", ("single-hop",))
    assert (row.count, row.means["R@10"]) == (3, pytest.approx(2 / 3, abs=1e-6))


def test_intervals_hold_the_mean_and_are_the_same_twice():
    """The seed is fixed; half of 100 questions right lies within about ten points of .5."""
    outcomes = [_outcome([1] if n % 2 else [None], archive=f"c{n % 5}") for n in range(100)]
    row = summed(outcomes, "all", ("single-hop",))
    low, high = row.by_question["R@10"]
    assert 0.38 < low < 0.5 < high < 0.62
    assert row == summed(outcomes, "all", ("single-hop",))


def test_conversations_that_differ_widen_the_interval():
    """Two conversations, all right and all wrong: a draw may be either alone."""
    outcomes = [_outcome([1] if n < 50 else [None], archive=str(n < 50)) for n in range(100)]
    assert summed(outcomes, "all", ("single-hop",)).by_conversation["R@10"] == (0.0, 1.0)


def test_one_conversation_has_no_interval_over_conversations():
    """There is nothing to draw from, and the table is silent on it."""
    row = summed([_outcome([1]), _outcome([None])], "all", ("single-hop",))
    assert row.by_conversation == {}
    assert "over conversations" not in render_rows("t", [row])


def test_the_table_names_measures_counts_and_intervals():
    """A title, a head, a row for each kind, the intervals below."""
    outcomes = [_outcome([1], archive="a"), _outcome([None], archive="b")]
    lines = render_rows("turns", [summed(outcomes, "all", ("single-hop",))]).splitlines()
    assert lines[0] == "turns"
    assert "MRR" in lines[1]
    assert "0.500" in lines[2]
    assert "R@10 0.000..1.000" in lines[3]


def _measured():
    """X wins in the large conversation, y in the two small ones; together x is ahead."""
    found, lost = [1], [None]
    x = [_outcome(found, archive="large")] * 3 + [_outcome(lost, archive=n) for n in "ab"]
    y = [_outcome(lost, archive="large")] * 3 + [_outcome(found, archive=n) for n in "ab"]
    return {"x": x, "y": y}


def test_a_choice_is_judged_where_it_was_not_made():
    """Without the large one y is chosen, and fails there; without a small one x is, and fails."""
    held, chosen = held_out(_measured())
    assert chosen == {"large": "y", "a": "x", "b": "x"}
    assert held == Mean(0.0, 0.0)


def test_a_sweep_shows_the_best_first_and_what_it_is_worth():
    """X has 3 of 5, y 2 of 5; held out nothing is left."""
    text = render_sweep("A", _measured())
    assert text.index("0.6000 / 0.6000  x") < text.index("0.4000 / 0.4000  y")
    assert "0.0000 / 0.0000  held out" in text


def test_archives_stand_below_all_of_them_with_their_distances():
    """X finds a's answer first and y second, both b's first; adversarial questions do not count."""
    other = _outcome([None], archive="b", kind="adversarial")
    x = [_outcome([1], archive="a"), _outcome([1], archive="b"), other]
    y = [_outcome([2], archive="a"), _outcome([1], archive="b"), other]
    lines = render_archives({"Y": y, "X": x}, {"X": "Y", "Z": "Y"}, ["single-hop"]).splitlines()
    assert lines[0] == "|  | n | Y | X | X over Y |"
    assert lines[2].startswith("| all | 2 | 1.000 / 0.750 | 1.000 / 1.000 | +0.000 (")
    assert "/ +0.250 (+0.000 to +0.500) |" in lines[2]
    assert lines[3].startswith("| a | 1 | 1.000 / 0.500 | 1.000 / 1.000 |")
    assert lines[4].startswith("| b | 1 | 1.000 / 1.000 | 1.000 / 1.000 |")
