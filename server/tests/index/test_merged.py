"""Two indexes in one search: the candidates of both, in one order."""

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.sampled import sampled

from commonplace.core.errors import Unavailable
from commonplace.core.values import Asked, Filter, Put
from commonplace.index.sqlite.index import SqliteIndex
from commonplace_server.index.merged import MergedIndex
from commonplace_testing import TOGETHER, HashingEncoder, a_doc, encode_all, look
from commonplace_testing.in_memory import MemoryIndex

ENCODER = HashingEncoder()
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
    yield [each.of_owner("me") for each in made]
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


@sampled(
    12,
    40,
    entries=ENTRIES,
    question=TEXTS,
    where=st.sampled_from([Filter(), Filter(kinds=("todo",)), Filter(journals=("memory",))]),
    limit=st.integers(1, 20),
)
def test_the_candidates_of_both_come_in_the_order_of_time(two, entries, question, where, limit):
    """Whichever docs lie in which: each has the figures that its own index gave it."""
    docs = docs_of(entries)
    for index, journal in zip(two, ("log", "memory"), strict=True):
        index.clear()
        index.apply([Put(doc) for doc in docs if doc.journal == journal])
        encode_all(index, ENCODER)
    asked = {"encoder": ENCODER, "where": where, "weighing": TOGETHER, "limit": limit}
    wanted = look(two[0], question, **asked) | look(two[1], question, **asked)
    found = look(MergedIndex(*two), question, **asked)
    assert found == wanted
    assert list(found) == [doc.ref for doc in docs if doc.ref in wanted]


def test_names_keep_their_meaning(two):
    """A place in the authors or kinds of one index is another place in those of both."""
    index, other = two
    index.apply([Put(replace(a_doc("n:1", "harbour"), author="bob", kind="todo"))])
    other.apply([Put(replace(a_doc("n:2", "harbour", minutes=1), author="ann", kind="entry"))])
    other.apply([Put(replace(a_doc("n:3", "harbour", minutes=2), kind="todo"))])
    found = MergedIndex(*two).candidates(a_question("harbour"))
    names = [found.authors[place] if place >= 0 else "" for place in found.author]
    assert names == ["bob", "ann", ""]
    assert [found.kinds[place] for place in found.kind] == ["todo", "entry", "todo"]


def test_the_newest_are_those_of_both(two):
    """Of five docs in two indexes the newest three, and no more."""
    for number in range(5):
        two[number % 2].apply([Put(a_doc(f"n:{number}", "harbour", minutes=number))])
    asked = replace(a_question(""), newest=True, limit=3)
    found = MergedIndex(*two).candidates(asked)
    read = found.read(found.keys.tolist())
    assert [read[key].ref for key in found.keys.tolist()] == ["n:2", "n:3", "n:4"]
    assert len(found.words) == 3


def a_question(words):
    return Asked(
        words=words,
        vector=lambda: None,
        identity="",
        where=Filter(),
        limit=5,
        weighing=TOGETHER,
    )


class Broken:
    """An index whose database is away."""

    def _fail(self, asked):
        raise Unavailable("The database does not answer.")

    candidates = counts = count_by_kind = previous_encoder = _fail


def test_an_index_that_fails_is_left_out():
    """The first one answers, and counts what it has."""
    mine = MemoryIndex().of_owner("me")
    mine.apply([Put(a_doc("n:1", "harbour"))])
    merged = MergedIndex(mine, Broken())
    assert set(look(merged, "harbour")) == {"n:1"}
    named = MergedIndex(mine, Broken(), journals=("memory", "notebook"))
    (said,) = named.candidates(a_question("harbour")).missed
    assert said == "Not searched, since its index gives no answer now: memory, notebook."
    assert merged.counts("").docs == 1
    assert [each.journal for each in merged.count_by_kind("")] == ["notes"]


class Breaking:
    """An index whose database goes away after it was searched; calls: what was read of it then."""

    def __init__(self, whole):
        self._whole = whole
        self.calls = []

    def candidates(self, asked):
        return replace(self._whole.candidates(asked), read=self._fail)

    def _fail(self, keys):
        self.calls.append(keys)
        raise Unavailable("The database does not answer.")


def test_an_index_that_fails_in_the_middle_is_left_out():
    """The first one's docs are read all the same; the broken one is asked once."""
    mine, other = MemoryIndex().of_owner("me"), MemoryIndex().of_owner("me")
    mine.apply([Put(a_doc("n:1", "harbour"))])
    other.apply([Put(a_doc("n:2", "harbour", minutes=1))])
    breaking = Breaking(other)
    found = MergedIndex(mine, breaking).candidates(a_question("harbour"))
    assert list(found.missed) == []
    for _ in range(2):
        assert [doc.ref for doc in found.read(found.keys.tolist()).values()] == ["n:1"]
    assert len(breaking.calls) == 1
    assert list(found.missed) == [
        "Not searched, since its index gives no answer now: a part of what there is."
    ]


def test_a_search_fails_with_its_first_index():
    """What most of the docs lie in is not left out unseen."""
    mine = MemoryIndex().of_owner("me")
    mine.apply([Put(a_doc("n:1", "harbour"))])
    found = MergedIndex(Breaking(mine), MemoryIndex().of_owner("me"))
    candidates = found.candidates(a_question("harbour"))
    with pytest.raises(Unavailable):
        candidates.read(candidates.keys.tolist())


def test_what_all_hold_is_counted(two):
    """Docs and what waits for a vector, of all and of each journal."""
    for index, journal in zip(two, ("log", "memory"), strict=True):
        index.apply([Put(a_doc(f"{journal}:1", "harbour", journal=journal))])
    encode_all(two[0], ENCODER)
    merged = MergedIndex(*two)
    counts = merged.counts(ENCODER.identity)
    assert (counts.docs, counts.pending) == (2, 1)
    kinds = [
        (each.journal, each.docs, each.pending) for each in merged.count_by_kind(ENCODER.identity)
    ]
    assert kinds == [("log", 1, 0), ("memory", 1, 1)]
    assert merged.count_by_journal() == {"log": 1, "memory": 1}


def test_where_docs_were_written_is_listed_of_both(two):
    """Each place once, in order; an index that fails is left out."""
    for index, journal in zip(two, ("log", "memory"), strict=True):
        index.apply([Put(a_doc(f"{journal}:1", "harbour", journal=journal, scope="/srv"))])
    expected = [("log", "/srv"), ("memory", "/srv")]
    assert MergedIndex(*two, Broken()).scopes() == expected


def test_the_first_encoder_that_still_answers_is_named():
    """Each is asked whose vectors it has."""
    one, other = MemoryIndex().of_owner("me"), MemoryIndex().of_owner("me")
    merged = MergedIndex(one, other, Broken())
    assert merged.previous_encoder("new") == ""
    other.apply([Put(replace(a_doc("n:1", "harbour"), journal="memory"))])
    encode_all(other, ENCODER)
    assert merged.previous_encoder("new") == ENCODER.identity
    assert merged.previous_encoder(ENCODER.identity) == ""
