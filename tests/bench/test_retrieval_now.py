"""The cases of what holds now: two halves that share no entry, and figures in a line."""

from __future__ import annotations

from bench.retrieval_now import HALVES, NowFigures, read_cases


def test_the_halves_are_never_mixed():
    """At least 120 cases, half of them to tune on; no sentence stands in both."""
    tune, measure = (read_cases(half) for half in HALVES)
    assert len(tune) == len(measure) >= 60
    texts = [
        {text for case in half for text in (case.former, case.later)} for half in (tune, measure)
    ]
    assert texts[0].isdisjoint(texts[1])


def test_each_half_has_cases_that_replace_nothing():
    """Additions, other aspects, repeats, other senses, imports, other projects, plans."""
    for half in HALVES:
        kinds = {case.kind for case in read_cases(half) if not case.replaces}
        assert kinds == {"addition", "aspect", "repeat", "sense", "imported", "project", "plan"}


def test_a_newer_one_is_of_a_later_time():
    """And one that was imported is of an earlier time than the former."""
    for number, case in enumerate(read_cases("tune")):
        former, later = case.docs(number)
        assert (later.at > former.at) is (case.kind != "imported")


def test_figures_are_shares_with_their_counts():
    """Of writes that take no place all are counted, of both kinds."""
    made = NowFigures(
        half="tune", asked=4, first=3, before=4, said=2, others=5, wrong=1, replacing=4, named=2,
        keeping=6, misled=1,
    )  # fmt: skip
    assert "the newer first 0.750 (3 of 4)" in made.line
    assert "wrongly 0.100 (1 of 10)" in made.line
