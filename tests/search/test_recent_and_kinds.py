"""A policy that prefers what is recent and some kinds: numbers worked out by hand."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.cases import cases
from tests.search.conftest import one

from commonplace.search import policy
from commonplace.search.near_duplicates import without_duplicates
from commonplace.search.policy import Policy, PreferredKind
from commonplace.search.query_features import QueryFeatures, read_intent, says_misheard
from commonplace.search.rank import rank
from commonplace_testing import START

DAY = 24 * 60
PLAIN = Policy(duplicate=2.0)


def scores(found, judged, now=START):
    ranking = rank(found, floor=-1.0, policy=judged, features=QueryFeatures(), now=now)
    return [float(x) for x in ranking.score], ranking.rows.tolist()


@pytest.mark.design("002-35")
def test_newness_is_a_share_of_the_score(made):
    """1 + 0.15 · e^(-age / 14): 1.15 today, 1 + 0.15 / e after 14 days; both of at most 1.15."""
    found = made(one("old", similarity=0.8, minutes=-14 * DAY), one("new", similarity=0.8))
    judged = replace(PLAIN, recent=0.15)
    plain, _ = scores(found, PLAIN)
    (old, new), rows = scores(found, judged)
    assert rows == [1, 0]
    assert new == pytest.approx(plain[1])
    assert old == pytest.approx(plain[0] * (1 + 0.15 / math.e) / 1.15)


def test_what_lies_ahead_is_as_new_as_now(made):
    """A record of tomorrow gets no more than one of now."""
    found = made(one("now", similarity=0.8), one("ahead", similarity=0.8, minutes=DAY))
    (now, ahead), _ = scores(found, replace(PLAIN, recent=0.15))
    assert now == pytest.approx(ahead)
    assert ahead <= 1


def test_without_now_age_does_not_count(made):
    """Whoever asks without an instant gets the score as it was; ages are never read off a clock."""
    found = made(one("a", similarity=0.8, minutes=-DAY), one("b", similarity=0.6))
    plain, rows = scores(found, PLAIN)
    same, other = scores(found, replace(PLAIN, recent=0.15), now=None)
    assert other == rows
    assert same == pytest.approx([x / 1.15 for x in plain])


def test_a_kind_that_fades_is_preferred_while_it_is_new(made):
    """A to-do × 1.25 at any age; message × 1.15 now, and next to 1 after a year."""
    preferred = (
        PreferredKind(kind="todo", factor=1.25),
        PreferredKind(kind="message", factor=1.15, fades=True),
    )
    found = made(
        one("t", similarity=0.8, kind="todo", minutes=-365 * DAY),
        one("o", similarity=0.8, kind="message", minutes=-365 * DAY),
        one("m", similarity=0.8, kind="message"),
        one("g", similarity=0.8, kind="gratitude"),
    )
    plain, _ = scores(found, PLAIN)
    judged, rows = scores(found, replace(PLAIN, preferred_kinds=preferred))
    factors = [mine / of * 1.25 for mine, of in zip(judged, plain, strict=True)]
    assert factors == pytest.approx([1.25, 1.0, 1.15, 1.0], abs=1e-6)
    assert rows == [0, 2, 3, 1]
    assert max(judged) <= 1


@pytest.mark.parametrize("after", [timedelta(), timedelta(days=3), timedelta(days=4000)])
def test_a_score_is_never_over_one(made, after):
    """With every factor at its most."""
    found = made(*(one(kind, similarity=1.0, words=1.0, kind=kind) for kind in ("todo", "journal")))
    for preferred in policy.PREFERRED_KINDS.values():
        judged = replace(policy.MEMORY, preferred_kinds=preferred)
        assert max(scores(found, judged, START + after)[0]) <= 1


def test_no_more_of_a_kind_than_the_bound(made):
    """The next kind takes the place; what is passed over is not shown later."""
    found = made(
        *(one(f"m{i}", similarity=0.9, kind="message") for i in range(4)),
        one("t", similarity=0.5, kind="todo"),
    )
    judged = replace(PLAIN, per_kind=2)
    ranking = rank(found, floor=-1.0, policy=judged, features=QueryFeatures())
    shown = without_duplicates(found, ranking, limit=10, policy=judged)
    assert [x.doc.ref for x in shown] == ["m3", "m2", "t"]
    assert len(without_duplicates(found, ranking, limit=10, policy=PLAIN)) == 5


@cases(
    ("question", "intent"),
    [
        ("what do I need to do today", "planning"),
        ("plan my week", "planning"),
        ("open to-dos", "planning"),
        ("any deadlines?", "planning"),
        ("how did I feel last week", "journaling"),
        ("what am I grateful for", "journaling"),
        ("plan something I feel good about", None),
        ("where does my sister live", None),
        ("the planet and the plane", None),
        ("", None),
    ],
)
def test_an_intent_is_read_off_the_words(question, intent):
    """Where both are named, or neither, there is none."""
    assert read_intent(question) == intent


@pytest.mark.design("002-55")
def test_what_may_be_misheard_leans_to_messages_of_the_last_day(made):
    """A quarter more for 24 hours and no longer, with what an intent prefers; nothing is cut."""
    found = made(
        one("old", similarity=0.8, kind="message", minutes=-DAY - 1),
        one("day", similarity=0.7, kind="message", minutes=-DAY),
        one("todo", similarity=0.8, kind="todo"),
    )
    preferred = (PreferredKind(kind="message", factor=1.2), policy.MISHEARD)
    plain, _ = scores(found, PLAIN)
    judged, rows = scores(found, replace(PLAIN, preferred_kinds=preferred))
    factors = [mine / of * 1.2 * 1.25 for mine, of in zip(judged, plain, strict=True)]
    assert factors == pytest.approx([1.2, 1.2 * 1.25, 1.0], abs=1e-5)
    assert rows == [1, 0, 2]
    assert max(judged) <= 1


@cases(
    ("question", "misheard"),
    [
        ("you misheard me, where does my sister live", True),
        ("I said Ipoh, not iPhone", True),
        ('No, I said "the lab"', True),
        ("not the lamp, I said the lab", True),
        ("that’s not what I said", True),
        ("I didn't say iPhone", True),
        ('you heard "buy tables" but I want cables', True),
        ("did you hear me", True),
        ("did you get that right? where is the lab", True),
        ("did you get that invoice from Ann", False),
        ("did you catch that train", False),
        ("what did I say about Ipoh", False),
        ("I meant to buy cables", False),
        ("I heard that it is not open", False),
        ("what did she say she would not do", False),
        ("", False),
    ],
)
def test_words_that_say_something_was_misheard(question, misheard):
    """Outright, or by what was said in place of what was heard."""
    assert says_misheard(question) is misheard
