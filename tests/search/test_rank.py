"""Ranking: each leg divided by its maximum, floors for meaning alone, near-duplicates folded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.values import Candidate, Doc
from commonplace.search.policy import Policy, floor
from commonplace.search.rank import collapsed, rank

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
EVEN = Policy(meaning=0.5, words=0.5, clear=0.0)


def candidate(ref, *, words=None, similarity=None, text="", minutes=0):
    doc = Doc(
        ref=ref,
        journal="private",
        scope="user",
        at=NOON + timedelta(minutes=minutes),
        text=text or ref,
        stamp="",
    )
    return Candidate(doc=doc, words=words, similarity=similarity)


def refs(ranked):
    return [one.candidate.doc.ref for one in ranked]


def test_each_leg_is_divided_by_its_maximum_and_added():
    """a: .8/.8 and 2/4 → .5 + .25; b: .4/.8 and 4/4 → .25 + .5; c: .6/.8 → .375."""
    ranked = rank(
        [
            candidate("a", words=2.0, similarity=0.8),
            candidate("b", words=4.0, similarity=0.4, minutes=-1),
            candidate("c", similarity=0.6),
        ],
        floor=0.1,
        policy=EVEN,
    )
    assert [(one.candidate.doc.ref, one.score) for one in ranked] == [
        ("a", pytest.approx(0.75)),
        ("b", pytest.approx(0.75)),
        ("c", pytest.approx(0.375)),
    ]
    assert (ranked[0].meaning, ranked[0].words) == pytest.approx((0.5, 0.25))


def test_a_floor_cuts_only_hits_by_meaning_alone():
    """A similarity below the floor drops a hit unless a word of the query matches it."""
    ranked = rank(
        [candidate("far", similarity=0.05), candidate("far but named", similarity=0.05, words=1.0)],
        floor=0.1,
        policy=EVEN,
    )
    assert refs(ranked) == ["far but named"]
    assert ranked[0].by == "words"


def test_without_vectors_words_make_the_whole_score():
    """When no candidate has a similarity, the best by words scores 1."""
    ranked = rank([candidate("a", words=3.0), candidate("b", words=1.5)], floor=0.1, policy=EVEN)
    assert [one.score for one in ranked] == pytest.approx([1.0, 0.5])


def test_an_entry_without_a_vector_yet_is_judged_by_words_alone():
    """The only exact match is not ranked below noise because its vector is still being made."""
    ranked = rank(
        [candidate("noise", similarity=0.3), candidate("pending", words=2.0)],
        floor=0.1,
        policy=EVEN,
    )
    assert [(one.candidate.doc.ref, one.score) for one in ranked] == [
        ("pending", pytest.approx(1.0)),
        ("noise", pytest.approx(0.5)),
    ]


def test_noise_is_not_blown_up_to_a_full_score():
    """With .4 as clear, a best cosine of .2 is half a match: .5 * .2 / .4; the exact word wins."""
    ranked = rank(
        [candidate("noise", similarity=0.2), candidate("exact", words=1.0, similarity=0.1)],
        floor=0.1,
        policy=Policy(meaning=0.5, words=0.5, clear=0.4),
    )
    assert [(one.candidate.doc.ref, one.score) for one in ranked] == [
        ("exact", pytest.approx(0.625)),
        ("noise", pytest.approx(0.25)),
    ]


def test_equal_scores_show_the_newer_first_then_the_ref():
    """The order of equals does not depend on the order they came in."""
    same = [
        candidate("b", words=1.0),
        candidate("new", words=1.0, minutes=1),
        candidate("a", words=1.0),
    ]
    assert refs(rank(same, floor=0, policy=EVEN)) == ["new", "a", "b"]


def test_near_duplicates_fold_into_the_best_which_names_them():
    """Nine of ten words in common is one hit; the other's ref is not lost."""
    text = "one two three four five six seven eight nine ten"
    ranked = rank(
        [
            candidate("a", words=2.0, text=text),
            candidate("b", words=1.0, text=text.upper() + "!"),
            candidate("c", words=0.5, text="something else"),
        ],
        floor=0.1,
        policy=EVEN,
    )
    kept = collapsed(ranked, limit=10, policy=EVEN)
    assert refs(kept) == ["a", "c"]
    assert kept[0].also == ("b",)


def test_entries_without_words_are_not_taken_for_each_other():
    """Two entries of emoji alone stay two."""
    ranked = rank(
        [candidate("a", words=2.0, text="🎉"), candidate("b", words=1.0, text="☕")],
        floor=0.1,
        policy=EVEN,
    )
    assert refs(collapsed(ranked, limit=10, policy=EVEN)) == ["a", "b"]


def test_the_floor_of_an_e5_encoder_is_its_own():
    """E5 cosines cluster high: 0.1 would cut nothing."""
    assert floor(0.1, "minilm-l6-v2:384:mean:l2:53aa5117") == 0.1
    assert floor(0.1, "e5-small-v2:384:mean:l2:00000000") == 0.75
    assert floor(0.9, "e5-small-v2:384:mean:l2:00000000") == 0.9


figures = st.one_of(st.none(), st.floats(0, 50, exclude_min=True))
similarities = st.one_of(st.none(), st.floats(-1, 1))


@given(st.lists(st.tuples(figures, similarities), max_size=30), st.randoms())
def test_scores_lie_in_0_1_and_the_order_of_candidates_does_not_matter(raw, random):
    """For any figures: 0 <= score <= 1, falling, and the same result for any order of input."""
    candidates = [candidate(f"{i:02}", words=w, similarity=s) for i, (w, s) in enumerate(raw)]
    ranked = rank(candidates, floor=0.1, policy=EVEN)
    scores = [one.score for one in ranked]
    assert all(0 <= score <= 1 + 1e-9 for score in scores)
    assert scores == sorted(scores, reverse=True)
    shuffled = candidates.copy()
    random.shuffle(shuffled)
    assert refs(rank(shuffled, floor=0.1, policy=EVEN)) == refs(ranked)
