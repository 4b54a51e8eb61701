"""Two indexes in one search: the answers of one index that holds all."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commonplace.core.errors import Unavailable
from commonplace.core.values import Asked, Filter, Put
from commonplace.index.in_memory import MemoryIndex
from commonplace.index.scoring.joint import JointIndex
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.testing import TOGETHER, HashingEncoder, a_doc, encode_all, look

ENCODER = HashingEncoder()
QUIET = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
WORDS = ["harbour", "wood", "sea", "storm", "天气", "café", "气"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
ENTRIES = st.lists(st.tuples(TEXTS, st.booleans(), st.sampled_from(["", "s"])), max_size=12)


@pytest.fixture(params=["memory", "disk and postgres"])
def two(request, tmp_path):
    """Two indexes of one owner that are to answer as one."""
    if request.param == "memory":
        made = [MemoryIndex(), MemoryIndex()]
    else:
        made = [
            SqliteIndex(lambda owner: tmp_path / owner),
            request.getfixturevalue("postgres_index"),
        ]
    yield [each.within("me") for each in made]
    for each in made:
        each.close()


def docs_of(entries):
    return [
        a_doc(
            f"{'memory' if is_memory else 'log'}:{number:02}",
            text,
            minutes=number,
            journal="memory" if is_memory else "log",
            kind="todo" if number % 2 else "entry",
            author="ann" if number % 3 else "",
            session=f"{is_memory}/{session}" if session else "",
            dated="sea" if number % 3 else "",
        )
        for number, (text, is_memory, session) in enumerate(entries)
    ]


@QUIET
@given(
    entries=ENTRIES,
    question=TEXTS,
    within=st.sampled_from([Filter(), Filter(kinds=("todo",)), Filter(journals=("memory",))]),
    limit=st.integers(1, 20),
)
def test_two_indexes_answer_as_one_that_holds_all(two, entries, question, within, limit):
    """Whichever docs lie in which: the same candidates with the same figures."""
    docs = docs_of(entries)
    alone = MemoryIndex().within("me")
    for index, kept in (
        (two[0], [doc for doc in docs if doc.journal == "log"]),
        (two[1], [doc for doc in docs if doc.journal == "memory"]),
        (alone, docs),
    ):
        if index is not alone:
            index.clear()
        index.apply([Put(doc) for doc in kept])
        encode_all(index, ENCODER)
    weighing = replace(TOGETHER, missing=2.0, missing_spread=2)
    asked = {"encoder": ENCODER, "within": within, "weighing": weighing}
    found = look(JointIndex(*two), question, limit=limit, **asked)
    wanted = look(alone, question, limit=limit, **asked)
    assert list(found) == list(wanted)
    for ref, each in found.items():
        other = wanted[ref]
        assert each.doc == other.doc
        assert (each.words is None) == (other.words is None)
        assert np.isclose(each.lent, other.lent, rtol=1e-5)
        assert np.isclose(each.covered, other.covered, rtol=1e-5)
        assert np.isclose(each.similarity or 0.0, other.similarity or 0.0, atol=1e-6)
        assert np.isclose(each.nearness or 0.0, other.nearness or 0.0, atol=1e-6)


class Broken:
    """An index whose database is away."""

    def _fail(self, asked):
        raise Unavailable("The database does not answer.")

    measured = counts = tally = former = _fail


def test_an_index_that_fails_is_left_out():
    """The first one answers, and counts what it has."""
    mine = MemoryIndex().within("me")
    mine.apply([Put(a_doc("n:1", "harbour"))])
    joint = JointIndex(mine, Broken())
    assert set(look(joint, "harbour")) == {"n:1"}
    assert joint.counts("").docs == 1
    assert [each.journal for each in joint.tally("")] == ["notes"]


class Breaking:
    """An index whose database goes away once it has measured; calls: what was asked of it then."""

    def __init__(self, whole):
        self._whole = whole
        self.calls = []

    def measured(self, asked):
        return replace(self._whole.measured(asked), near=self, read=self._fail)

    def _fail(self, asked):
        self.calls.append(asked)
        raise Unavailable("The database does not answer.")

    of = nearest = _fail


def test_an_index_that_fails_in_the_middle_is_left_out():
    """The first one's doc comes with all its figures; the broken one is asked once more at most."""
    mine, other = MemoryIndex().within("me"), MemoryIndex().within("me")
    mine.apply([Put(a_doc("n:1", "harbour"))])
    other.apply([Put(a_doc("n:2", "harbour", minutes=1))])
    for index in (mine, other):
        encode_all(index, ENCODER)
    breaking = Breaking(other)
    found = JointIndex(mine, breaking).candidates(
        Asked(
            words="harbour",
            vector=lambda: ENCODER.encode_query("harbour"),
            identity=ENCODER.identity,
            within=Filter(),
            limit=5,
            weighing=TOGETHER,
        )
    )
    read = found.read(found.keys.tolist())
    assert [doc.ref for doc in read.values()] == ["n:1"]
    row = found.keys.tolist().index(next(iter(read)))
    assert np.isclose(found.similarity[row], 1.0)
    assert len(breaking.calls) == 1


def test_what_all_hold_is_counted(two):
    """Docs and what waits for a vector, of all and of each journal."""
    for index, journal in zip(two, ("log", "memory"), strict=True):
        index.apply([Put(a_doc(f"{journal}:1", "harbour", journal=journal))])
    encode_all(two[0], ENCODER)
    joint = JointIndex(*two)
    counts = joint.counts(ENCODER.identity)
    assert (counts.docs, counts.pending) == (2, 1)
    tallies = [(each.journal, each.docs, each.pending) for each in joint.tally(ENCODER.identity)]
    assert tallies == [("log", 1, 0), ("memory", 1, 1)]


def test_the_first_model_that_still_answers_is_told():
    """Each is asked whose vectors it has."""
    one, other = MemoryIndex().within("me"), MemoryIndex().within("me")
    joint = JointIndex(one, other, Broken())
    assert joint.former("new") == ""
    other.apply([Put(replace(a_doc("n:1", "harbour"), journal="memory"))])
    encode_all(other, ENCODER)
    assert joint.former("new") == ENCODER.identity
    assert joint.former(ENCODER.identity) == ""
