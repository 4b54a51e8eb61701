"""The index in Postgres: the same answers as the others, one user's rows alone, exact where it is small."""

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from server.tests.proof.memory_server import database_on

from commonplace.core.errors import Denied
from commonplace.core.values import (
    Asked,
    Drop,
    Encoded,
    Filter,
    Interval,
    Put,
    superseding_tags,
)
from commonplace.index.scoring.doc_table import doc_table_of
from commonplace.index.sqlite.words import FEW
from commonplace_server.index.doc_cache import CachedDocs, DocCache
from commonplace_server.index.index import TABLES, PostgresIndex
from commonplace_server.index.nearest import PREFIX, maintain_nearest
from commonplace_server.index.packed import Block, postings_in
from commonplace_server.index.packing import PackSizes
from commonplace_server.postgres.database import Postgres, refuse_unguarded
from commonplace_testing import ALONE, START, TOGETHER, HashingEncoder, a_doc, encode_all, look
from commonplace_testing.in_memory import MemoryIndex

QUIET = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
MORE = settings(QUIET, max_examples=25)
# Porter leaves these as they are.
WORDS = ["harbour", "wood", "sea", "storm", "天气", "café", "c3po"]
TEXTS = st.lists(st.sampled_from([*WORDS, "气"]), max_size=8).map(" ".join)
ENCODER = HashingEncoder()


@pytest.fixture
def opened(database, pooled):
    """Makes indexes over one database; each call is what another process would open."""
    made = []

    def open_index(**rest):
        made.append(PostgresIndex(pooled(database.app_url), **rest))
        return made[-1]

    yield open_index
    for index in made:
        index.close()


@pytest.fixture
def pooled():
    """Opens pools, which are closed at the end."""
    made = []

    def open_pool(url):
        made.append(Postgres(url, check=partial(refuse_unguarded, tables=TABLES)))
        return made[-1]

    yield open_pool
    for pool in made:
        pool.close()


SMALL = PackSizes(least=1, share=1_000, segment=3, at_once=3)


class Packing:
    """An index whose words are packed after some of the changes, as a worker does now and then."""

    def __init__(self, index):
        self._index = index

    def apply(self, changes):
        self._index.apply(changes)
        if len(changes) % 3:
            self._index.pack()

    def __getattr__(self, name):
        return getattr(self._index, name)


@pytest.fixture(params=["kept", "asked", "packed"])
def mine(opened, request):
    """One whose process keeps the vectors, one that has the server compute them, a packed one."""
    if request.param == "packed":
        return Packing(opened(pack_sizes=SMALL).of_owner("me"))
    return opened(**({} if request.param == "kept" else {"cached_chunks": 0})).of_owner("me")


HALVED = 5e-4
"""The most that a figure may be off where a vector is kept in half precision."""


def alike(one, other, *, off=1e-6):
    assert one.keys() == other.keys()
    for ref, each in one.items():
        its = other[ref]
        assert each.doc == its.doc
        assert (each.words is None) == (its.words is None)
        assert np.isclose(each.lent, its.lent, rtol=1e-5)
        assert np.isclose(each.covered, its.covered, rtol=1e-5)
        assert (each.similarity is None) == (its.similarity is None)
        assert np.isclose(each.similarity or 0.0, its.similarity or 0.0, atol=off)
        assert np.isclose(each.nearness or 0.0, its.nearness or 0.0, atol=off)


def some_docs(texts):
    return [
        a_doc(
            f"d:{i}",
            text,
            minutes=i // 2,
            tags=("odd" if i % 2 else "even",),
            kind="note" if i % 3 else "entry",
            session="" if i > 5 else f"s{i // 4}",
            dated="sea" if i % 3 else "",
        )
        for i, text in enumerate(texts)
    ]


ANY_USE = given(
    texts=st.lists(TEXTS, min_size=1, max_size=8),
    later=st.lists(TEXTS, max_size=8),
    question=TEXTS,
    start=st.integers(0, 8) | st.none(),
    end=st.integers(0, 8) | st.none(),
    tags=st.sampled_from([(), ("even",), ("odd", "none")]),
    kinds=st.sampled_from([(), ("note",)]),
    dropped=st.sets(st.integers(0, 8)),
)
ANY_TEXT = given(text=st.text(), ref=st.text(), name=st.text(), tag=st.text())


@QUIET
@ANY_USE
def test_it_answers_as_the_index_in_memory_does(mine, **use):
    """Whatever was put, put again with another text and dropped: the same candidates and figures."""
    check_answers(mine, **use)


@pytest.mark.long
@MORE
@ANY_USE
def test_it_answers_as_the_index_in_memory_does_however_it_is_used(mine, **use):
    """The same, of more examples."""
    check_answers(mine, **use)


def check_answers(  # noqa: PLR0917  one argument for each strategy
    mine, texts, later, question, start, end, tags, kinds, dropped
):
    span = Interval(
        start=None if start is None else START + timedelta(minutes=start, microseconds=1),
        end=None if end is None else START + timedelta(minutes=end),
    )
    answers = []
    for index in (mine, MemoryIndex().of_owner("me")):
        index.apply([Drop(ref) for ref in index.known().stamps("")])
        index.apply([Put(doc) for doc in some_docs(texts)])
        encode_all(index, ENCODER)
        # What a search remembers must follow what comes after it.
        look(index, question, encoder=ENCODER)
        index.apply([Drop(f"d:{number}") for number in dropped])
        index.apply([Put(doc) for doc in some_docs(later)])
        counts = index.counts(ENCODER.identity)
        where = Filter(interval=span, tags=tags, kinds=kinds)
        found = look(index, question, encoder=ENCODER, where=where, limit=20, weighing=TOGETHER)
        answers.append((found, counts))
    (found, counts), (others, other_counts) = answers
    alike(found, others, off=HALVED if isinstance(mine, Packing) else 1e-6)
    assert (counts.docs, counts.pending) == (other_counts.docs, other_counts.pending)


@QUIET
@ANY_TEXT
def test_any_text_can_be_filed_found_and_dropped(mine, text, ref, name, tag):
    """Also with surrogates, NUL and signs of every script in text, ref, heading and tag."""
    check_text(mine, text, ref, name, tag)


@pytest.mark.long
@MORE
@ANY_TEXT
def test_many_texts_can_be_filed_found_and_dropped(mine, text, ref, name, tag):
    """The same, of more examples."""
    check_text(mine, text, ref, name, tag)


def check_text(mine, text, ref, name, tag):
    mine.apply([Put(a_doc(ref, text, scope=name, headings=(name,), tags=(tag,), session=name))])
    where = Filter(scopes=(name,), headings=(name,), tags=(tag,))
    assert len(look(mine, text, where=where, limit=5)) == (1 if _has_words(text) else 0)
    encode_all(mine, ENCODER)
    assert mine.counts(ENCODER.identity).pending == 0
    mine.apply([Drop(ref)])
    assert mine.counts("").docs == 0


def _has_words(text):
    memory = MemoryIndex().of_owner("me")
    memory.apply([Put(a_doc("n:1", text))])
    return bool(look(memory, text, limit=5))


def test_what_another_process_files_is_seen_at_once(opened):
    """Put, moved, dropped, put again under the same second, cleared: each search is up to date."""
    mine, theirs = opened().of_owner("me"), opened().of_owner("me")
    docs = [a_doc(f"n:{i}", f"harbour {i}", minutes=i) for i in range(3)]
    mine.apply([Put(doc) for doc in docs])
    assert set(look(theirs, "harbour")) == {"n:0", "n:1", "n:2"}
    mine.apply([Drop("n:1"), Put(a_doc("n:9", "harbour again", minutes=1))])
    mine.apply([Put(a_doc("n:0", "wood", minutes=50))])
    assert set(look(theirs, "harbour")) == {"n:2", "n:9"}
    assert set(look(theirs, "wood")) == {"n:0"}
    encode_all(mine, ENCODER)
    assert look(theirs, "wood", encoder=ENCODER)["n:0"].similarity == pytest.approx(1.0)
    mine.clear()
    assert look(theirs, "harbour wood", encoder=ENCODER) == {}
    mine.apply([Put(docs[1])])
    assert set(look(theirs, "harbour")) == {"n:1"}


def test_what_is_asked_after_a_search_is_of_its_docs(database, opened, pooled):
    """Links and lists are of the docs searched; what another process files since, the next sees."""
    pool = pooled(database.app_url)
    mine, theirs = PostgresIndex(pool).of_owner("me"), opened().of_owner("me")
    first = a_doc("n:1", "harbour")
    second = a_doc("n:2", "harbour lamp", minutes=1, tags=superseding_tags("n:1"))
    nothing = {"words": "", "vector": lambda: None, "identity": ""}
    newest = Asked(**nothing, where=Filter(), limit=9, weighing=ALONE, newest=True)

    def links(*, between=()):
        with mine.together():
            searched = look(mine, "harbour")
            found = [mine.links_from(["n:1"])]
            theirs.apply(between)
            assert len(mine.candidates(newest).keys) == len(searched)
            return [*found, mine.links_from(["n:1"])]

    theirs.apply([Put(first)])
    assert links(between=[Put(second)]) == [[], []]
    assert links() == [[("n:1", "n:2")]] * 2
    assert links(between=[Drop("n:2")]) == [[("n:1", "n:2")], []]
    assert links(between=[Put(second)]) == [[], []]
    assert mine.links_from(["n:1"]) == [("n:1", "n:2")]
    with pool.one_transaction("me"):
        assert len(look(mine, "harbour")) == 2
        mine.apply([Drop("n:2")])  # what is written in between by itself is seen
        assert len(mine.candidates(newest).keys) == 1
        assert mine.links_from(["n:1"]) == []


def test_a_process_far_behind_reads_every_doc_anew(opened, database):
    """Ids that left are told of for so long; who saw less, or rows that are no more, begins anew."""
    mine, theirs = opened().of_owner("me"), opened().of_owner("me")
    mine.apply([Put(a_doc("n:1", "harbour")), Put(a_doc("n:2", "harbour", minutes=1))])
    assert len(look(theirs, "harbour")) == 2
    mine.apply([Drop("n:1")])
    database.run("DELETE FROM wb_dropped")
    database.run("UPDATE wb_index SET pruned = change")
    assert set(look(theirs, "harbour")) == {"n:2"}
    for table in TABLES:
        database.run(f"DELETE FROM {table}")
    mine.apply([Put(a_doc("n:3", "harbour"))])
    assert set(look(theirs, "harbour")) == {"n:3"}


def test_a_database_that_went_back_is_followed(opened, database):
    """After a failover: a change is gone, and another has its number; the search sees that one."""
    mine, theirs = opened().of_owner("me"), opened().of_owner("me")
    theirs.apply([Put(a_doc("n:1", "harbour"))])
    for table in TABLES:
        database.run(f"CREATE TABLE before_{table} AS TABLE {table}")
    theirs.apply([Put(a_doc("n:2", "harbour", minutes=1))])
    assert set(look(mine, "harbour")) == {"n:1", "n:2"}
    for table in TABLES:
        database.run(f"TRUNCATE {table}")
        database.run(f"INSERT INTO {table} TABLE before_{table}")
    assert set(look(mine, "harbour")) == {"n:1"}
    theirs.apply([Put(a_doc("n:3", "harbour", minutes=2))])
    assert set(look(mine, "harbour")) == {"n:1", "n:3"}


def test_a_server_that_came_back_is_not_taken_at_its_numbers(own_server, pooled):
    """After a failover: what another server knows by a change's number may be another change."""
    database = database_on(own_server)
    mine = PostgresIndex(pooled(database.app_url)).of_owner("me")
    mine.apply([Put(a_doc("n:1", "harbour"))])
    for table in TABLES:
        database.run(f"CREATE TABLE before_{table} AS TABLE {table}")
    mine.apply([Put(a_doc("n:2", "harbour", minutes=1))])
    assert set(look(mine, "harbour")) == {"n:1", "n:2"}
    for table in TABLES:
        database.run(f"TRUNCATE {table}")
        database.run(f"INSERT INTO {table} TABLE before_{table}")
    own_server.stop()
    own_server.start()
    PostgresIndex(pooled(database.app_url)).of_owner("me").apply(
        [Put(a_doc("n:3", "harbour", minutes=2))]
    )
    assert set(look(mine, "harbour")) == {"n:1", "n:3"}


def test_what_is_remembered_is_bounded():
    """Whoever was not asked about for the longest is forgotten first."""

    def of(docs):
        return CachedDocs("n", 1, doc_table_of(np.zeros((6, docs), dtype=np.int64)), {})

    held = DocCache(docs=10, owners=3)
    held.keep("a", of(4))
    held.keep("b", of(4))
    assert held.of("a").change == 1
    held.keep("c", of(4))
    assert [held.of(name).change for name in "abc"] == [1, 0, 1]
    held.keep("d", of(1))
    held.keep("e", of(1))
    assert [held.of(name).change for name in "acde"] == [0, 1, 1, 1]
    held.keep("f", of(99))
    assert held.of("f").change == 1


def test_vectors_that_are_kept_are_those_of_the_rows(opened):
    """Put, changed, moved in time, dropped and cleared by another process: each search sees it."""
    mine, theirs = opened().of_owner("me"), opened(cached_chunks=0).of_owner("me")

    def both():
        one, other = (look(each, "harbour", encoder=ENCODER) for each in (mine, theirs))
        alike(one, other)
        return {ref: round(each.similarity or -9, 4) for ref, each in one.items()}

    theirs.apply([Put(a_doc("n:1", "harbour")), Put(a_doc("n:2", "wood", minutes=1))])
    assert both() == {"n:1": -9}
    encode_all(theirs, ENCODER)
    assert both()["n:1"] == 1.0
    theirs.apply([Put(a_doc("n:1", "harbour", minutes=77))])
    assert both()["n:1"] == 1.0
    theirs.apply([Put(a_doc("n:2", "harbour", minutes=1))])
    assert both() == {"n:1": 1.0, "n:2": -9}
    encode_all(theirs, ENCODER)
    assert both() == {"n:1": 1.0, "n:2": 1.0}
    theirs.apply([Drop("n:1")])
    assert both() == {"n:2": 1.0}
    theirs.clear()
    theirs.apply([Put(a_doc("n:2", "harbour"))])
    assert both() == {"n:2": -9}
    encode_all(theirs, ENCODER)
    assert both() == {"n:2": 1.0}


def test_common_words_are_left_out_as_on_disk(opened, database):
    """Past a thousand docs: a term in more than a quarter is left out, unless in the time asked."""
    mine = opened().of_owner("me")
    docs = []
    for i in range(FEW + 200):
        words = ["every", *(["often"] if i % 3 == 0 else []), *(["rare"] if i < 3 else [])]
        docs.append(a_doc(f"n:{i}", " ".join(words), minutes=i))
    mine.apply([Put(doc) for doc in docs])

    def found(words, index=mine, **rest):
        return set(look(index, words, where=Filter(**rest), limit=2000))

    for _ in range(2):  # the second time the counts are remembered
        assert found("rare often every") == {"n:0", "n:1", "n:2"}
        assert len(found("often every absent")) == 400
        assert len(found("every")) == 1200
        hour = Interval(start=START + timedelta(minutes=30), end=START + timedelta(minutes=90))
        assert len(found("often rare", interval=hour)) == 20
    opened(pack_sizes=PackSizes(segment=500)).of_owner("me").pack()
    for index in (mine, opened().of_owner("me")):
        assert found("rare often every", index) == {"n:0", "n:1", "n:2"}
        assert len(found("often every absent", index)) == 400
        assert len(found("every", index)) == 1200
        assert len(found("often rare", index, interval=hour)) == 20
    # Another process leaves two docs: what was common is so no more, for the first search already.
    theirs = opened().of_owner("me")
    theirs.clear()
    assert database.rows("SELECT 1 FROM wb_packed") == []
    theirs.apply([Put(a_doc("n:1", "every")), Put(a_doc("n:2", "rare", minutes=1))])
    assert found("rare every") == {"n:1", "n:2"}


def test_a_user_sees_no_row_of_another_whatever_is_asked(opened, database):
    """Hostile owners and SQL in every text: each has what it filed, and nobody else's."""
    index = opened()
    owners = ["ann", "'; DROP TABLE wb_docs; --", "ann' OR '1'='1", "%s", "{user}", "\\", "天"]
    for owner in owners:
        mine = index.of_owner(owner)
        mine.apply([Put(a_doc(f"n:{owner}", f"harbour {owner}", tags=(owner,), scope=owner))])
        encode_all(mine, ENCODER)
    for owner in owners:
        mine = index.of_owner(owner)
        for asked in (*owners, "harbour"):
            assert set(look(mine, asked, encoder=ENCODER)) == {f"n:{owner}"}
        assert set(mine.known().stamps("")) == {f"n:{owner}"}
        assert mine.counts("").docs == 1
    with psycopg.connect(database.app_url, autocommit=True) as conn:
        for table in TABLES:
            assert conn.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_a_role_that_nothing_guards_is_refused(database):
    """The superuser would see every row."""
    pool = Postgres(database.admin_url, check=partial(refuse_unguarded, tables=TABLES))
    try:
        with pytest.raises(Denied):
            PostgresIndex(pool).of_owner("me").counts("")
    finally:
        pool.close()


def test_what_is_forgotten_is_in_no_row(mine, database):
    """Words, headings, sessions, tags and vectors of a forgotten doc are in no table."""
    doc = a_doc("n:1", "secretword", headings=("secretword",), tags=("secretword",))
    mine.apply([Put(a_doc("n:2", "harbour")), Put(doc)])
    encode_all(mine, ENCODER)
    mine.forget(["n:1"])
    rows = [str(row) for table in TABLES for row in database.rows(f"SELECT * FROM {table}")]
    assert rows
    assert not [row for row in rows if "secretword" in row]
    assert database.rows("SELECT count(*) FROM wb_embeddings") == [(1,)]


COUNTED = """
    SELECT i.user_id, i.docs, i.speaking,
        (SELECT count(*) FROM wb_docs AS d WHERE d.user_id = i.user_id),
        (SELECT count(*) FROM wb_docs AS d WHERE d.user_id = i.user_id AND NOT d.blank)
    FROM wb_index AS i
"""
VECTORS = """
    SELECT m.docs, m.chunks, count(DISTINCT e.doc), count(e.doc) FROM wb_models AS m
    LEFT JOIN wb_embeddings AS e ON e.user_id = m.user_id AND e.model_tag = m.model_tag
    GROUP BY m.user_id, m.model_tag
"""
STRAY = """
    SELECT (SELECT count(*) FROM wb_words AS w WHERE NOT EXISTS (
        SELECT FROM wb_docs AS d WHERE d.user_id = w.user_id AND d.id = w.doc)),
    (SELECT count(*) FROM wb_embeddings AS e WHERE NOT EXISTS (
        SELECT FROM wb_docs AS d
        WHERE d.user_id = e.user_id AND d.id = e.doc AND d.text_hash = e.text_hash))
"""


@pytest.mark.parametrize("turns", [8, pytest.param(25, marks=pytest.mark.long)])
def test_many_writers_at_once_leave_all_in_order(opened, database, turns):
    """Threads of two processes put, move, drop, encode, pack, clear and search the same docs."""
    indexes = [opened(pack_sizes=SMALL), opened(pack_sizes=SMALL)]
    question = Asked(
        words="harbour sea",
        vector=lambda: ENCODER.encode_query("harbour sea"),
        identity=ENCODER.identity,
        where=Filter(),
        limit=10,
        weighing=TOGETHER,
    )

    def work(number):
        chance = random.Random(number)
        mine = indexes[number % 2].of_owner("ann" if number % 3 else "bob")
        for turn in range(turns):
            refs = chance.sample(range(12), 4)
            text = chance.choice(["harbour", "wood sea", " ", "storm " * 40])
            mine.apply(
                [
                    Drop(f"d:{ref}")
                    if chance.random() < 0.3
                    else Put(
                        a_doc(
                            f"d:{ref}",
                            f"{text}{turn}" if text.strip() else text,
                            minutes=chance.randint(0, 3),
                            tags=("t",),
                        )
                    )
                    for ref in refs
                ]
            )
            if turn % 4 == 0:
                encode_all(mine, ENCODER, limit=5)
                mine.pack()
            if chance.random() < 0.05:
                mine.clear()
            found = mine.candidates(question)
            # One that left since is missing.
            assert found.read(found.keys.tolist()).keys() <= {*found.keys.tolist()}

    with ThreadPoolExecutor(6) as threads:
        for done in [threads.submit(work, number) for number in range(6)]:
            done.result()
    for _, docs, speaking, there, with_words in database.rows(COUNTED):
        assert (docs, speaking) == (there, with_words)
    for docs, chunks, encoded, rows in database.rows(VECTORS):
        assert (docs, chunks) == (encoded, rows)
    assert database.rows(STRAY) == [(0, 0)]
    for owner in ("ann", "bob"):
        check_packed(database, owner)
        fresh = opened().of_owner(owner)
        alike(
            look(indexes[0].of_owner(owner), "harbour sea", encoder=ENCODER, limit=50),
            look(fresh, "harbour sea", encoder=ENCODER, limit=50),
        )


def check_packed(database, owner):
    """Each doc's words lie as rows or in blocks, and in no block are words of another doc."""
    blocks = "SELECT is_alone, term, doc, data FROM wb_packed WHERE user_id = %s"
    packed = postings_in(Block(*row) for row in database.rows(blocks, owner))
    pairs = [*zip(packed.words.tolist(), packed.docs.tolist(), strict=True)]
    assert len(pairs) == len({*pairs})
    in_rows = database.rows("SELECT DISTINCT doc FROM wb_words WHERE user_id = %s", owner)
    docs = {doc for (doc,) in database.rows("SELECT id FROM wb_docs WHERE user_id = %s", owner)}
    assert {*packed.docs.tolist()} <= docs - {doc for (doc,) in in_rows}


def test_a_former_version_changes_nothing_of_a_user_whose_words_are_packed(opened, database):
    """It would leave them in the blocks: what it changes waits for a program that knows of those."""
    mine = opened(pack_sizes=SMALL).of_owner("me")
    mine.apply([Put(a_doc("n:1", "harbour"))])
    change = "UPDATE wb_index SET change = change + 1"
    database.run(change)
    mine.pack()
    with pytest.raises(psycopg.errors.CheckViolation):
        database.run(change)
    mine.apply([Put(a_doc("n:1", "storm"))])
    assert database.rows("SELECT 1 FROM wb_packed") == []


def test_what_lost_docs_left_in_blocks_goes_with_the_next_packing(opened, database):
    """And the words that a doc had before rows came for it."""
    mine = opened(pack_sizes=SMALL).of_owner("me")
    mine.apply([Put(a_doc("n:1", "harbour")), Put(a_doc("n:2", "storm", minutes=1))])
    mine.pack()
    database.run("DELETE FROM wb_docs WHERE ref = 'n:1'")
    database.run("INSERT INTO wb_words SELECT user_id, 'sea', id, 1, 0 FROM wb_docs")
    mine.pack()
    blocks = database.rows("SELECT is_alone, term, doc, data FROM wb_packed")
    assert [*postings_in(Block(*row) for row in blocks).terms] == ["sea"]
    check_packed(database, "me")


def test_words_of_lost_docs_leave_every_segment_of_their_second(opened, database):
    """Of many entries of one second some segments begin and end in it."""
    mine = opened(pack_sizes=SMALL).of_owner("me")
    mine.apply([Put(a_doc(f"n:{n}", "harbour")) for n in range(12)])
    mine.pack()
    assert len(database.rows("SELECT DISTINCT low FROM wb_packed")) > 2
    database.run("DELETE FROM wb_docs")
    lost = [Put(a_doc("n:1", "storm"))]
    mine.apply_current(lost, lambda _: lambda: [True], lost=frozenset({"n:1"}))
    assert database.rows("SELECT 1 FROM wb_packed") == []


def a_crowd(index, owner, count, *, dimensions=64):
    """A user with so many docs, and vectors of clusters."""
    mine = index.of_owner(owner)
    mine.apply([Put(a_doc(f"n:{i}", f"note {i}", minutes=i)) for i in range(count)])
    chance = np.random.default_rng(7)
    near = chance.standard_normal((20, dimensions))[chance.integers(20, size=count)]
    made = near + 0.3 * chance.standard_normal(near.shape)
    made = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
    while waiting := mine.unencoded("crowd", 500):
        mine.put_vectors(
            "crowd",
            [
                Encoded(
                    ref=each.ref,
                    text_hash=each.text_hash,
                    spans=((0, len(each.text)),),
                    vectors=made[int(each.ref[2:])][np.newaxis],
                )
                for each in waiting
            ],
        )
    return mine, made


def near_of(index, vector, **rest):
    found = index.candidates(
        Asked(
            words="",
            vector=lambda: vector,
            identity="crowd",
            where=Filter(**rest),
            limit=10,
            weighing=ALONE,
        )
    )
    docs = found.read(found.keys.tolist())
    return {docs[key].ref for key in found.keys.tolist()}, found.similarity


def test_a_user_with_many_vectors_has_an_index_of_their_own(opened, database):
    """Made for that user alone, used by that user alone, as good as exact; dropped when few are left."""
    index = opened(indexed_from=1000, cached_chunks=0)
    large, made = a_crowd(index, "large", 1500)
    small, _ = a_crowd(index, "small", 100)
    exact = [near_of(large, query)[0] for query in made[:40]]
    large.pack()
    with psycopg.connect(database.admin_url, autocommit=True) as conn:
        conn.execute("CREATE INDEX wb_nearest_of_a_former_version ON wb_embeddings (user_id)")
        bounds = {"indexed_from": 1000, "dropped_below": 800}
        assert [line.split()[0] for line in maintain_nearest(conn, **bounds)] == ["Made", "Dropped"]
        assert maintain_nearest(conn, **bounds) == []
        nearest = [near_of(large, query) for query in made[:40]]
        shared = sum(len(one & other) for one, (other, _) in zip(exact, nearest, strict=True))
        assert shared >= 0.98 * 400
        assert all(np.isclose(figures.max(), 1.0, atol=HALVED) for _, figures in nearest)
        hour = Interval(end=START + timedelta(minutes=1200))
        assert all(int(ref[2:]) < 1200 for ref in near_of(large, made[1400], interval=hour)[0])
        assert len(near_of(small, made[0])[0]) == 10
        late = Interval(start=START + timedelta(minutes=1440))
        narrow = opened(indexed_from=10, cached_chunks=0).of_owner("large")
        for query in made[:20]:
            # Of so few the nearest of all are none, or not enough: the answer is exact.
            exact = np.argsort(-(made[1440:] @ query))[:10] + 1440
            assert near_of(narrow, query, interval=late)[0] == {f"n:{i}" for i in exact}
        large.apply([Drop(f"n:{i}") for i in range(900)])
        assert [line.split()[0] for line in maintain_nearest(conn, **bounds)] == ["Dropped"]
    assert len(near_of(large, made[1000])[0]) == 10


def test_no_index_is_dropped_by_a_role_that_sees_no_sizes(opened, database):
    """Whom the policy does not name sees no rows, and not that an index is wanted."""
    a_crowd(opened(), "large", 150)
    bounds = {"indexed_from": 100, "dropped_below": 80}
    with psycopg.connect(database.admin_url, autocommit=True) as conn:
        maintain_nearest(conn, **bounds)
        conn.execute("GRANT ALL ON wb_models, wb_embeddings TO commonplace_worker")
        conn.execute("SET ROLE commonplace_worker")
        assert [line.split()[0] for line in maintain_nearest(conn, **bounds)] == ["Kept"]
        conn.execute("RESET ROLE")
        assert maintain_nearest(conn, **bounds) == []


@pytest.mark.design("002-18")
def test_a_small_user_is_never_searched_by_an_index_of_the_nearest(opened, database):
    """The plan of the same query: the large one's own index, and for the other the exact rows."""
    index = opened()
    a_crowd(index, "large", 1500)
    a_crowd(index, "small", 100)
    with psycopg.connect(database.admin_url, autocommit=True) as conn:
        maintain_nearest(conn, indexed_from=1000)
        conn.execute("ANALYZE")
    query = "[" + ",".join(["0.125"] * 64) + "]"
    assert PREFIX in plan_of(database, "large", query)
    assert PREFIX not in plan_of(database, "small", query)


def plan_of(database, owner, query):
    asked = """
        EXPLAIN SELECT doc FROM wb_embeddings WHERE user_id = %s AND model_tag = %s
        ORDER BY coalesce(half, vector::halfvec)::halfvec(64) <#> %s::halfvec(64) LIMIT 10
    """
    with psycopg.connect(database.app_url) as conn:
        conn.execute("SELECT set_config('app.user_id', %s, true)", [owner])
        return str(conn.execute(asked, [owner, "crowd", query]).fetchall())


def test_words_are_looked_up_by_their_index_though_rows_are_guarded(opened, database):
    """The plan of the role of the application goes by user, word and doc."""
    docs = [Put(a_doc(f"n:{i}", f"note {i}", minutes=i)) for i in range(3000)]
    opened().of_owner("large").apply(docs)
    database.run("ANALYZE")
    asked = """
        EXPLAIN SELECT doc, body FROM wb_words
        WHERE user_id = %s AND term = '77' AND doc >= -99 AND doc < 1::bigint << 62
    """
    with psycopg.connect(database.app_url) as conn:
        conn.execute("SELECT set_config('app.user_id', 'large', true)")
        plan = str(conn.execute(asked, ["large"]).fetchall())
    assert "wb_words_pkey" in plan
    assert "Seq Scan" not in plan
