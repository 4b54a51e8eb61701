"""Words: no text raises, common terms are left out, and both backends give the same figures."""

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sampled import sampled

from commonplace.core.values import Drop, Filter, Interval, Put
from commonplace.index.scoring.stems import Stem
from commonplace.index.sqlite.words import FEW, select_by_frequency
from commonplace_testing import START, TOGETHER, HashingEncoder, a_doc, encode_all, look
from commonplace_testing.in_memory import MemoryIndex

QUIET = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
# Porter leaves these as they are, in SQLite's version and in the other.
WORDS = ["harbour", "wood", "sea", "storm", "天气", "café", "c3po"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


@pytest.fixture
def mine(opened, law):
    return law.filled(opened(), [a_doc("n:1", "don't use C++ in foo-bar, see a:b")])


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("user name", True),
        ("getusername", True),
        ("getUserName", True),
        ("get the user", True),
        ("setUserName", False),
        ("username", False),
    ],
)
def test_a_name_in_camel_case_is_found_by_its_parts(opened, law, question, found):
    """And by the whole; a question's own names stay whole, and are not found by a part in common."""
    mine = law.filled(opened(), [a_doc("n:1", "renamed getUserName")])
    assert list(look(mine, question)) == ["n:1"] * found


@QUIET
@given(text=st.text() | st.text(alphabet="\"'*()^:-+{}[]~AND OR NOT NEAR/\\_\0%"))
def test_no_question_raises(mine, text):
    """Whatever is asked is words or nothing."""
    look(mine, text, limit=5)


@sampled(20, 60, text=st.text(), ref=st.text(), name=st.text(), tag=st.text())
def test_any_text_can_be_filed_found_and_dropped(mine, text, ref, name, tag):
    """Also with surrogates, NUL and signs of every script in text, ref, heading and tag."""
    mine.apply([Put(a_doc(ref, text, scope=name, headings=(name,), tags=(tag,)))])
    where = Filter(scopes=(name,), headings=(name,), tags=(tag,))
    look(mine, text, where=where, limit=5)
    assert len(mine.known().stamps("")) == 2
    mine.apply([Drop(ref)])
    assert mine.counts("").docs == 1
    assert mine.problems() == []


@sampled(
    15,
    60,
    texts=st.lists(TEXTS, min_size=1, max_size=8),
    question=TEXTS,
    start=st.integers(0, 8) | st.none(),
    end=st.integers(0, 8) | st.none(),
    tags=st.sampled_from([(), ("even",), ("odd", "none")]),
    dropped=st.integers(0, 8),
)
def test_both_backends_answer_alike(  # noqa: PLR0917  one argument for each strategy
    mine, texts, question, start, end, tags, dropped
):
    """The same docs, the same filter: the same candidates with the same two figures."""
    docs = [
        a_doc(
            f"d:{i}",
            text,
            minutes=i // 2,
            tags=("odd" if i % 2 else "even",),
            session="" if i > 5 else f"s{i // 4}",
            dated="sea" if i % 3 else "",
        )
        for i, text in enumerate(texts)
    ]
    span = Interval(
        start=None if start is None else START + timedelta(minutes=start),
        end=None if end is None else START + timedelta(minutes=end),
    )
    encoder = HashingEncoder()
    answers = []
    for index in (mine, MemoryIndex().of_owner("me")):
        index.apply([Drop(ref) for ref in index.known().stamps("")])
        index.apply([Put(doc) for doc in docs])
        encode_all(index, encoder)
        index.apply([Drop(f"d:{dropped}")])
        where = Filter(interval=span, tags=tags)
        found = look(index, question, encoder=encoder, where=where, limit=20, weighing=TOGETHER)
        answers.append(found)
    disk, memory = answers
    assert disk.keys() == memory.keys()
    for ref, each in disk.items():
        other = memory[ref]
        assert each.doc == other.doc
        assert (each.words is None) == (other.words is None)
        assert np.isclose(each.lent, other.lent, rtol=1e-5)
        assert np.isclose(each.similarity or 0.0, other.similarity or 0.0, atol=1e-6)
        assert np.isclose(each.nearness or 0.0, other.nearness or 0.0, atol=1e-6)


@pytest.fixture
def large(opened):
    """1,200 docs: `often` in a third of them, `rare` in three, `every` in all."""
    mine = opened().of_owner("me")
    docs = []
    for i in range(FEW + 200):
        words = ["every", *(["often"] if i % 3 == 0 else []), *(["rare"] if i < 3 else [])]
        docs.append(a_doc(f"n:{i}", " ".join(words), minutes=i))
    mine.apply([Put(doc) for doc in docs])
    return mine


def _found(index, words, **rest):
    return set(look(index, words, where=Filter(**rest), limit=2000))


def test_a_term_in_more_than_a_quarter_is_left_out(large):
    """It would cost most and tell least; the rarer terms answer."""
    assert _found(large, "rare often every") == {"n:0", "n:1", "n:2"}


def test_the_rarest_term_is_searched_however_common(large):
    """Where nothing else is left, the least common of the common ones answers; unknown ones do not."""
    assert len(_found(large, "often every absent")) == 400
    assert len(_found(large, "every")) == 1200


def test_a_common_term_counts_inside_the_span_asked(large):
    """In a short time few docs hold it, so it is searched there."""
    hour = Interval(start=START + timedelta(minutes=30), end=START + timedelta(minutes=90))
    assert len(_found(large, "often rare", interval=hour)) == 20


def test_many_terms_touch_no_more_than_a_share():
    """Of 100,000 docs a search touches 20,000: terms join, rarest first, while they stay under."""
    asked = [Stem(token) for token in ("common", "rare", "middling", "nowhere")]
    assert select_by_frequency(asked, [19_000, 700, 14_000, 0], 100_000) == [
        asked[3],
        asked[1],
        asked[2],
    ]
    assert select_by_frequency(asked, [4_000, 700, 14_000, 0], 100_000) == [
        asked[n] for n in (3, 1, 0, 2)
    ]
