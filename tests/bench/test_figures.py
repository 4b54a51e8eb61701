"""The bench's own arithmetic: what a figure says must be true before anybody believes it."""

from __future__ import annotations

from itertools import islice

from bench.corpus import LONGEST, SHORTEST, make_questions, make_texts, make_thoughts
from bench.figures import Figure, Spread, render_table


def _figure(measured, limit, *, at_least=False):
    return Figure(
        name="a search",
        unit="ms",
        measured=Spread.of(measured),
        floor=Spread.of([2.0, 4.0, 3.0]),
        limit=limit,
        rule="floor + 6",
        at_least=at_least,
    )


def test_a_figure_is_judged_by_its_median():
    """One slow repetition of three does not put it over; 9 of a floor of 3 is a ratio of 3."""
    figure = _figure([8.0, 9.0, 50.0], 9.0)
    assert figure.ok
    assert figure.ratio == 3.0


def test_a_rate_must_not_fall_below_its_limit():
    """At least 9 a second: 8 is under, 9 is not."""
    assert not _figure([8.0], 9.0, at_least=True).ok
    assert _figure([9.0], 9.0, at_least=True).ok


def test_the_table_shows_median_spread_limit_and_verdict():
    """A row holds what was measured beside its floor, and says when it is over."""
    row = render_table([_figure([12.0, 10.0, 11.0], 9.0)]).splitlines()[2]
    assert "11.0 (10.0..12.0)" in row
    assert "3.00 (2.00..4.00)" in row
    assert "<= 9.00" in row
    assert row.endswith("OVER")


def test_the_corpus_is_the_same_each_time():
    """Two runs measure the same entries and ask the same questions."""
    assert make_thoughts(50) == make_thoughts(50)
    assert make_questions(10) == make_questions(10)


def test_texts_keep_their_bounds():
    """From 20 to 250 words, as the table says."""
    lengths = [len(text.split()) for text in islice(make_texts(seed=4), 300)]
    assert min(lengths) >= SHORTEST
    assert max(lengths) <= LONGEST
    assert max(lengths) > 200
