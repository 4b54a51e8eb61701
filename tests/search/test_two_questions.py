"""Two questions at once: raw cosines, the bar that age raises, and what is never cut."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.errors import Invalid
from commonplace.core.values import Filter, Found, Hit
from commonplace.search import policy
from commonplace.search.policy import TwoQuestionWeights
from commonplace.search.two_questions import (
    ComparedTexts,
    TwoQuestionFinder,
    TwoQuestions,
    least_cosine,
    salience,
)
from commonplace_testing import ReadySlot, a_doc

NOW = datetime(2026, 11, 22, tzinfo=UTC)


class AngleEncoder:
    """An encoder of texts that name an angle in degrees: their cosines are known by hand."""

    identity = "angles:2:none:l2:00000000"
    dimensions = 2

    def __init__(self):
        self.encoded = []

    def split(self, text, *, most=None):
        ends = [n + 1 for n, sign in enumerate(text) if sign == "|"] + [len(text)]
        return tuple(zip([0, *ends], ends, strict=False))[:most]

    def encode_passages(self, texts):
        self.encoded += texts
        return np.stack([self.encode_query(text) for text in texts])

    def encode_query(self, text):
        angle = np.radians(float(text.strip(" |")))
        return np.array([np.cos(angle), np.sin(angle)], dtype=np.float32)


class GivenHits:
    """A finder that finds what it was given, whatever is asked."""

    def __init__(self, *hits):
        self.hits = hits
        self.asked = []

    def find(self, question):
        self.asked.append(question)
        return Found(hits=self.hits, notes=("A note.",))


class World:
    """Entries of known sides, each brought up by both questions."""

    def __init__(self, encoder=None):
        self.encoder = encoder or AngleEncoder()
        self.compared = {}
        self.hits = []

    def put(self, ref, context, content, *, days=0.0, by="meaning", score=0.0, similarity=None):
        at = NOW - timedelta(days=days)
        self.compared[ref] = ComparedTexts(contexts=(str(context),), content=str(content), at=at)
        self.hits.append(Hit(doc=a_doc(ref, "x"), score=score, by=by, similarity=similarity))

    def find(self, *, context="0", content="0", slot=None, **rest):
        finder = TwoQuestionFinder(
            finder=GivenHits(*self.hits), encoder=slot or ReadySlot(self.encoder)
        )
        asked = TwoQuestions(
            **{
                "work_context": context,
                "content": content,
                "where": Filter(),
                "limit": 20,
                "min_score": 0.15,
                "salience_threshold": 0.5,
                "weights": TwoQuestionWeights(),
                "now": NOW,
                **rest,
            }
        )
        return finder.find(asked, compared=lambda doc: self.compared.get(doc.ref))


def refs(found):
    return [hit.doc.ref for hit in found.hits]


@pytest.mark.design("001-12", "001-44", "001-59")
def test_the_three_scores_are_raw_cosines():
    """Cos 60 = 0.5 and cos 0 = 1; the combined one is their mean, by the weights given."""
    world = World()
    world.put("a", 60, 0)
    (hit,) = world.find().hits
    scores = (hit.work_context_score, hit.content_score, hit.combined_score)
    assert scores == pytest.approx((0.5, 1.0, 0.75), abs=1e-6)
    (hit,) = world.find(weights=TwoQuestionWeights(context_weight=0.3, content_weight=0.1)).hits
    assert hit.combined_score == pytest.approx((0.3 * 0.5 + 0.1 * 1) / 0.4, abs=1e-6)


def test_a_question_that_is_not_asked_does_not_count():
    """Its score is None, and the other one is the combined one, even with no weight."""
    world = World()
    world.put("a", 60, 90)
    (hit,) = world.find(content=" ", weights=TwoQuestionWeights(context_weight=0)).hits
    assert (hit.content_score, hit.combined_score) == (None, pytest.approx(0.5, abs=1e-6))
    with pytest.raises(Invalid, match="blank"):
        world.find(content="", context=" ")


@pytest.mark.design("001-45", "001-48", "001-55", "001-56", "001-57")
def test_age_raises_the_bar_by_a_tenth_at_most():
    """30 days: 0.5, no higher; 60 days: salience 0.25, (0.5 - 0.25) / 0.4 of 0.1; oldest: 0.1."""
    weights = TwoQuestionWeights()
    assert [salience(days, weights) for days in (-1, 0, 30, 60, 10_000)] == [1, 1, 0.5, 0.25, 0.1]
    assert least_cosine(0.15, 0.5, 0.5, weights) == 0.15
    assert least_cosine(0.15, 0.25, 0.5, weights) == pytest.approx(0.15 + 0.1 * 0.25 / 0.4)
    assert least_cosine(0.15, 0.1, 0.5, weights) == pytest.approx(0.25)
    assert least_cosine(0.15, 0.1, 0, weights) == 0.15
    assert least_cosine(0.15, 0.1, 0.1, weights) == 0.15


@given(
    score=st.floats(-1, 1), days=st.floats(0, 1e5), threshold=st.floats(0, 1), least=st.floats(0, 1)
)
def test_the_bar_never_rises_higher(score, days, threshold, least):
    """Whatever is asked or set, and however old an entry is."""
    weights = TwoQuestionWeights(minimum_salience=least)
    assert (
        score
        <= least_cosine(score, salience(days, weights), threshold, weights)
        <= score + 0.1 + 1e-12
    )


def test_an_old_entry_must_match_a_little_better():
    """Cos 78.5 = 0.2 on both compared: fresh it is a hit, of last year it is none."""
    world = World()
    world.put("fresh", 78.5, 78.5)
    world.put("old", 78.5, 78.5, days=365)
    assert refs(world.find()) == ["fresh"]
    assert set(refs(world.find(salience_threshold=0))) == {"fresh", "old"}
    assert refs(world.find(min_score=0.21)) == []


@pytest.mark.design("001-47")
def test_a_strong_match_is_not_hidden_for_its_age():
    """Ten years old at cosine 0.5, above a fresh one at 0.34, and below a fresh equal."""
    world = World()
    world.put("old", 60, 60, days=3650)
    world.put("weak", 70, 70)
    assert refs(world.find()) == ["old", "weak"]
    world.put("equal", 60, 60)
    assert refs(world.find()) == ["equal", "old", "weak"]


@pytest.mark.design("001-46")
def test_a_match_by_words_is_never_cut():
    """Whatever its cosine and age."""
    world = World()
    world.put("words", 170, 170, days=3650, by="both")
    world.put("meaning", 170, 170)
    (hit,) = world.find(min_score=1.0).hits
    assert (hit.doc.ref, hit.matched) == ("words", True)
    assert hit.combined_score < -0.9


def test_without_an_encoder_words_alone_decide():
    """No cosines; the order is the search's own."""
    world = World()
    world.put("a", 0, 0, by="words", score=0.2)
    world.put("b", 0, 0, by="words", score=0.9)
    world.put("c", 0, 0, by="meaning", score=0.9)
    found = world.find(slot=ReadySlot(None))
    assert refs(found) == ["b", "a"]
    assert [hit.combined_score for hit in found.hits] == [None, None]
    assert found.notes == ("A note.",)


def test_the_nearest_chunk_speaks_for_a_long_entry():
    """Four chunks are encoded; of what follows the index tells."""
    world = World()
    world.put("short", 90, "90|60|10")
    world.put("long", 90, "90|90|90|90|0", similarity=0.8)
    found = {hit.doc.ref: hit for hit in world.find().hits}
    assert found["short"].content_score == pytest.approx(np.cos(np.radians(10)), abs=1e-6)
    assert found["long"].content_score == pytest.approx(0.8)
    assert not any(text.strip("|") == "0" for text in world.encoder.encoded)


def test_parts_are_encoded_once():
    """A second question encodes nothing but itself."""
    world = World()
    world.put("a", 10, 20)
    world.put("b", 10, 20)
    finder = TwoQuestionFinder(finder=GivenHits(*world.hits), encoder=ReadySlot(world.encoder))
    asked = TwoQuestions(
        work_context="0",
        content="0",
        where=Filter(),
        limit=1,
        min_score=0,
        salience_threshold=0,
        weights=TwoQuestionWeights(),
        now=NOW,
    )
    for _ in range(2):
        assert len(finder.find(asked, compared=lambda doc: world.compared[doc.ref]).hits) == 1
    assert sorted(world.encoder.encoded) == ["10", "20"]


def test_few_candidates_are_taken():
    """Two for each hit asked for, twenty at the most unless more hits are asked for."""
    for limit, pool in ((3, 6), (20, 20), (50, 50)):
        hits = GivenHits()
        asked = TwoQuestions(
            work_context="0",
            content="1",
            where=Filter(),
            limit=limit,
            min_score=0,
            salience_threshold=0,
            weights=TwoQuestionWeights(),
            now=NOW,
        )
        TwoQuestionFinder(finder=hits, encoder=ReadySlot(AngleEncoder())).find(
            asked, compared=lambda _doc: None
        )
        # Both are asked at once: either may be first.
        assert sorted((q.text, q.limit) for q in hits.asked) == [("0", pool), ("1", pool)]
        assert {q.policy for q in hits.asked} == {policy.NOTEBOOK}


def test_what_is_gone_is_no_hit():
    """The index may still hold what the history has no more."""
    world = World()
    world.put("a", 0, 0)
    del world.compared["a"]
    assert refs(world.find()) == []


def test_a_question_is_encoded_once():
    """The search of it has made its vector already; another encoder's counts for nothing."""
    world = World()
    world.put("a", 60, 90)
    asked = []
    encode = world.encoder.encode_query

    def heard(text):
        asked.append(text)
        return encode(text)

    world.encoder.encode_query = heard
    world.find(context="45", content="30")
    assert asked.count("45") == asked.count("30") == 1
    found = {"vector": np.array([1.0, 0.0], dtype=np.float32)}
    for identity, times in ((world.encoder.identity, 0), ("another", 1)):
        asked.clear()
        with pytest.MonkeyPatch.context() as patch:
            answer = Found(hits=tuple(world.hits), identity=identity, **found)
            patch.setattr(GivenHits, "find", lambda _self, _question, answer=answer: answer)
            (hit,) = world.find(context="45", content="30").hits
        assert asked.count("45") == asked.count("30") == times
        if not times:
            assert hit.work_context_score == pytest.approx(0.5, abs=1e-6)  # cos 60, as 0 was given
