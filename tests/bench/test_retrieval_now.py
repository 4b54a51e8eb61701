"""The cases of what holds now: parts that share no entry, and figures in a line."""

from __future__ import annotations

from bench.retrieval_now import CASE_PARTS, NowFigures, read_cases


def test_the_parts_are_never_mixed():
    """At least 60 cases each; no sentence stands in two of them."""
    parts = [read_cases(part) for part in CASE_PARTS]
    assert min(len(cases) for cases in parts) >= 60
    texts = [{text for case in cases for text in (case.former, case.later)} for cases in parts]
    assert sum(len(each) for each in texts) == len(set.union(*texts))


def test_each_part_has_cases_that_replace_nothing():
    """Additions, other aspects, repeats, other senses, imports, other projects, plans."""
    for part in CASE_PARTS:
        kinds = {case.kind for case in read_cases(part) if not case.replaces}
        assert kinds == {"addition", "aspect", "repeat", "sense", "imported", "project", "plan"}


def test_a_newer_one_is_of_a_later_time():
    """And one that was imported is of an earlier time than the former."""
    for number, case in enumerate(read_cases("tune")):
        former, later = case.docs(number)
        assert (later.at > former.at) is (case.kind != "imported")


def test_figures_are_shares_with_their_counts():
    """Of writes that take no place all are counted, of both kinds."""
    made = NowFigures(
        part="tune", asked=4, first=3, before=4, said=2, others=5, wrong=1, replacing=4, named=2,
        keeping=6, misled=1,
    )  # fmt: skip
    assert "the newer first 0.750 (3 of 4)" in made.line
    assert "wrongly 0.100 (1 of 10)" in made.line
