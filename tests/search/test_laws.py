"""The laws of recall's ranking, for any entries and any filter, on both backends."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest
from hypothesis import strategies as st
from tests.sampled import sampled

from commonplace.core.values import Filter, Interval
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.search import policy
from commonplace.search.filing.filing import Filing
from commonplace.search.finder import Finder, SearchQuestion
from commonplace_testing import START, HashingEncoder, OneSource, ReadySlot, a_doc
from commonplace_testing.in_memory import MemoryIndex

WORDS = st.sampled_from(
    ["harbour", "gate", "storm", "quiet", "we", "decided", "yesterday", "the", "ann", "road"]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)
ENTRIES = st.lists(
    st.tuples(
        TEXTS,
        st.sampled_from(["", "s:1", "s:2"]),
        st.sampled_from(["", "Ann", "user"]),
        st.sampled_from(["a", "b"]),
        st.integers(0, 6),
    ),
    max_size=14,
)
QUESTIONS = st.sampled_from(
    [
        "harbour",
        "when did we decide the gate",
        "what did Ann say of storms",
        "quiet road I",
        "zebra",
    ]
)
FILTERS = st.sampled_from(
    [
        Filter(),
        Filter(journals=("a",)),
        Filter(
            interval=Interval(start=START + timedelta(minutes=2), end=START + timedelta(minutes=5))
        ),
        Filter(tags=("odd",)),
    ]
)


def docs_of(entries):
    return [
        a_doc(
            f"{journal}:{number:02}",
            text,
            minutes=minute,
            journal=journal,
            session=session and f"{journal}/{session}",
            author=author,
            dated="2 March 2026",
            tags=("odd",) if number % 2 else ("even",),
        )
        for number, (text, session, author, journal, minute) in enumerate(entries)
    ]


@pytest.fixture(params=["memory", "disk"])
def asked(request, tmp_path):
    """Answers of an index that holds just these docs, filed in this order: (ref, score, also)."""
    numbers = itertools.count()

    def ask(docs, question, where, *, limit=4, encoder=True):
        if request.param == "memory":
            index = MemoryIndex()
        else:
            index = SqliteIndex(lambda owner: tmp_path / str(next(numbers)) / owner)
        slot = ReadySlot(HashingEncoder() if encoder else None)
        mine = index.of_owner("me")
        # Filed one by one: the order they came in is the order of this list.
        source = OneSource()
        filing = Filing(index=mine, sources=[source], encoder=slot, holder="test")
        try:
            for doc in docs:
                source.put(doc)
                filing.catch_up()
            found = Finder(index=mine, encoder=slot, filing=filing).find(
                SearchQuestion(
                    text=question,
                    where=where,
                    limit=limit,
                    floor=policy.RECALL_FLOOR,
                    policy=policy.RECALL,
                )
            )
            return [(hit.doc.ref, round(hit.score, 4), hit.also) for hit in found.hits]
        finally:
            filing.close()
            index.close()

    return ask


@sampled(12, 40, entries=ENTRIES, question=QUESTIONS, where=FILTERS, encoder=st.booleans())
def test_what_is_outside_neither_shows_nor_displaces(asked, entries, question, where, encoder):
    """The answer is the one of an index that holds nothing else."""
    docs = docs_of(entries)
    inside = [
        doc
        for doc in docs
        if where.interval.holds(doc.at)
        and (not where.journals or doc.journal in where.journals)
        and (not where.tags or set(doc.tags) & set(where.tags))
    ]
    full = asked(docs, question, where, encoder=encoder)
    assert full == asked(inside, question, Filter(), encoder=encoder)


@sampled(12, 40, entries=ENTRIES, question=QUESTIONS, where=FILTERS, random=st.randoms())
def test_the_order_of_filing_does_not_matter(asked, entries, question, where, random):
    """Whoever wrote first, and whatever was filed late: the same hits with the same scores."""
    docs = docs_of(entries)
    shuffled = docs.copy()
    random.shuffle(shuffled)
    assert asked(docs, question, where) == asked(shuffled, question, where)


@sampled(12, 40, entries=ENTRIES, question=QUESTIONS, where=FILTERS, encoder=st.booleans())
def test_scores_lie_in_0_1_and_fall_and_stay(asked, entries, question, where, encoder):
    """Highest first, each in 0..1, no more than asked for, and the same when asked again."""
    docs = docs_of(entries)
    found = asked(docs, question, where, encoder=encoder)
    scores = [score for _, score, _ in found]
    assert len(found) <= 4
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert found == asked(docs, question, where, encoder=encoder)
