"""Blocks of packed words: what goes in comes out, and no row is larger than it may be."""

from __future__ import annotations

import struct
from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.index.sqlite.docs import prefix_end
from commonplace_server.index.packed import (
    FIRST,
    LAST,
    MOST_OF_A_WORD,
    IdSpan,
    Postings,
    Sent,
    blocks_of,
    postings_in,
    without,
)

TERMS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\n"), max_size=200)
COUNTS = st.integers(0, MOST_OF_A_WORD)
DOCS = st.integers(FIRST, LAST - 1)
WHOLE = IdSpan(FIRST, LAST)


@st.composite
def packings(draw):
    """Words of docs: (word, doc) -> (in its text, in its date); some words stand in many docs."""
    held = draw(st.dictionaries(st.tuples(TERMS, DOCS), st.tuples(COUNTS, COUNTS), max_size=40))
    for term in draw(st.lists(TERMS, max_size=3)):
        held |= {(term, doc): (doc % 256, 0) for doc in range(draw(st.integers(0, 400)))}
    return held


def as_postings(held):
    terms = sorted({term for term, _ in held}, key=hash)
    rows = [(terms.index(term), doc, *counts) for (term, doc), counts in held.items()]
    return Postings(terms, *np.array(rows, dtype=np.int64).reshape(-1, 4).T)


def as_held(postings):
    words, *columns = (column.tolist() for column in postings[1:])
    rows = zip(words, *columns, strict=True)
    held = [((postings.terms[word], doc), (body, dated)) for word, doc, body, dated in rows]
    assert len(held) == len(dict(held))
    return dict(held)


def sent_for(blocks, term, end=None):
    """What the queries send for a word, or for those that begin so."""
    together = [x for x in blocks if not x.is_alone and x.term <= term][-1:]
    if end is None:
        chosen = together + [x for x in blocks if x.is_alone and x.term == term]
    else:
        chosen = together + [x for x in blocks if term <= x.term < end and x not in together]
    return b"".join(
        struct.pack(">ii", -1 if x.is_alone else 1, len(x.data)) + x.data for x in chosen
    )


def listed(blocks, term, end=None):
    _, *columns = Sent(None, sent_for(blocks, term, end)).listed([term], WHOLE, end).tolist()
    return Counter(zip(*columns, strict=True))


@settings(max_examples=40)
@given(held=packings(), data=st.data())
def test_words_are_found_in_blocks_as_they_were_put_in(held, data):
    """All of them, each word, those that begin alike, and what is left once some docs are gone."""
    blocks = sorted(blocks_of(as_postings(held)))
    assert as_held(postings_in(blocks)) == held
    assert len({block[:3] for block in blocks}) == len(blocks)
    assert max([len(block.data) for block in blocks], default=0) < 1_900
    for term in {term for term, _ in held} | {data.draw(TERMS)}:
        of_word = [(doc, *counts) for (word, doc), counts in held.items() if word == term]
        assert listed(blocks, term) == Counter(of_word)
        if term and (end := prefix_end(term)):
            alike = [(doc, *counts) for (word, doc), counts in held.items() if term <= word < end]
            assert listed(blocks, term, end) == Counter(alike)
    docs = sorted({doc for _, doc in held})
    gone = data.draw(st.sets(st.sampled_from(docs))) if docs else set()
    changed = [without(block, lambda ids: np.isin(ids, [*gone])) for block in blocks]
    left = as_held(postings_in(block for block in changed if block is not None))
    assert left == {key: counts for key, counts in held.items() if key[1] not in gone}
