"""After a switch of the model, the old vectors answer until the new ones are whole; never mixed."""

import time

import pytest

from commonplace.core.values import Filter, Put
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.search import policy
from commonplace.search.filing.filing import Filing
from commonplace.search.finder import Finder, SearchQuestion
from commonplace.search.previous_encoder import FallbackEncoder
from commonplace_server.index.index import PostgresIndex
from commonplace_server.postgres.database import Postgres
from commonplace_testing import HashingEncoder, ReadySlot, a_doc, encode_all
from commonplace_testing.in_memory import MemoryIndex


class OtherEncoder(HashingEncoder):
    """The same texts in other directions: by it, nothing is near what the first one encoded."""

    identity = "other:64:bag:l2:00000001"

    def encode_query(self, text):
        return -super().encode_query(text)[::-1]


OLD, NEW = HashingEncoder(), OtherEncoder()


@pytest.fixture(params=["memory", "disk", "postgres"])
def mine(request, tmp_path):
    if request.param == "memory":
        index = MemoryIndex()
    elif request.param == "disk":
        index = SqliteIndex(lambda owner: tmp_path / owner)
    else:
        index = request.getfixturevalue("postgres_index")
    yield index.of_owner("me")
    index.close()


def asked(index, question, previous=OLD, slot=None):
    slots = {} if previous is None else {previous.identity: slot or ReadySlot(previous)}
    slot = FallbackEncoder(index, ReadySlot(NEW), previous=lambda: slots)
    # Of a process that makes no vectors: what is missing stays missing.
    filing = Filing(index=index, sources=[], encoder=ReadySlot(), holder="test")
    try:
        return Finder(index=index, encoder=slot, filing=filing).find(
            SearchQuestion(text=question, where=Filter(), limit=4, floor=0.5, policy=policy.PRIVATE)
        )
    finally:
        filing.close()


def test_the_old_vectors_answer_until_the_new_are_whole(mine):
    """Half of the docs encoded anew changes nothing; the last one changes the encoder."""
    mine.apply([Put(a_doc("n:1", "harbour gate")), Put(a_doc("n:2", "quiet road", minutes=1))])
    encode_all(mine, OLD)
    before = asked(mine, "harbour gate")
    assert (before.identity, before.hits[0].similarity) == (OLD.identity, pytest.approx(1.0))
    assert mine.previous_encoder(NEW.identity) == OLD.identity
    waiting = mine.unencoded(NEW.identity, 1)
    assert [each.ref for each in waiting] == ["n:2"]
    _encode(mine, waiting)
    half = asked(mine, "harbour gate")
    assert (half.identity, half.hits[0].doc.ref) == (OLD.identity, "n:1")
    encode_all(mine, NEW)
    assert mine.previous_encoder(NEW.identity) == ""
    after = asked(mine, "harbour gate")
    assert (after.identity, after.hits[0].similarity) == (NEW.identity, pytest.approx(1.0))


def _encode(index, waiting):
    from commonplace.core.values import Encoded

    index.put_vectors(
        NEW.identity,
        [
            Encoded(
                ref=each.ref,
                text_hash=each.text_hash,
                spans=((0, len(each.text)),),
                vectors=NEW.encode_passages([each.text]),
            )
            for each in waiting
        ],
    )


def test_what_is_new_does_not_bring_the_old_model_back(mine):
    """An entry that waits for its first vector is of no model."""
    mine.apply([Put(a_doc("n:1", "harbour"))])
    encode_all(mine, OLD)
    encode_all(mine, NEW)
    mine.apply([Put(a_doc("n:2", "harbour wall", minutes=1))])
    found = asked(mine, "harbour")
    assert found.identity == NEW.identity
    assert {hit.doc.ref for hit in found.hits} == {"n:1", "n:2"}


def test_without_the_old_weights_the_new_model_and_words_answer(mine):
    """What has no vector of the new model is found by its words."""
    mine.apply([Put(a_doc("n:1", "harbour gate")), Put(a_doc("n:2", "harbour road", minutes=1))])
    encode_all(mine, OLD)
    _encode(mine, mine.unencoded(NEW.identity, 1))
    found = asked(mine, "harbour", previous=None)
    assert found.identity == NEW.identity
    similarities = {hit.doc.ref: hit.similarity is None for hit in found.hits}
    assert similarities == {"n:1": True, "n:2": False}


def test_a_first_model_has_none_before_it(mine):
    """Nothing is asked for where no vector is of another model."""
    mine.apply([Put(a_doc("n:1", "harbour"))])
    encode_all(mine, NEW)

    def never():
        raise AssertionError("Former models were looked for.")

    slot = FallbackEncoder(mine, ReadySlot(NEW), previous=never)
    assert slot.get() is NEW
    assert slot.get() is NEW
    assert slot.reason() == ""
    assert not slot.is_loading()


def test_no_model_is_no_model(mine):
    """Where the one in use cannot be had, words alone answer, and it is told why."""
    slot = FallbackEncoder(mine, ReadySlot(reason="It is broken."), previous=dict)
    slot.start()
    assert slot.get() is None
    assert slot.reason() == "It is broken."
    slot.close()


def test_who_runs_on_with_the_previous_model_follows_in_the_end(mine):
    """Not while more docs have its own vectors; and not by words alone once those are gone."""
    now = [0.0]
    slots = {NEW.identity: ReadySlot(NEW)}
    slot = FallbackEncoder(mine, ReadySlot(OLD), previous=lambda: slots, monotonic=lambda: now[0])
    mine.apply([Put(a_doc(f"n:{n}", f"harbour {n}", minutes=n)) for n in range(3)])
    encode_all(mine, OLD)
    mine.apply([Put(a_doc("n:4", "harbour gate", minutes=4))])
    _encode(mine, mine.unencoded(NEW.identity, 1))
    assert slot.get() is OLD
    encode_all(mine, NEW)
    assert slot.get() is OLD
    now[0] = 60.0
    assert slot.get() is NEW


def test_while_the_previous_one_is_loaded_the_index_is_not_asked(database):
    """Whoever asks has the only connection in hand, and waits for the encoder."""

    class Loading(ReadySlot):
        def get(self, timeout_s=0.0):
            return self.encoder if timeout_s else None

    database = Postgres(database.app_url, check=lambda _conn, _name: None, most=1)
    index = PostgresIndex(database)
    mine = index.of_owner("me")
    mine.apply([Put(a_doc("n:1", "harbour gate"))])
    encode_all(mine, OLD)
    begun = time.monotonic()
    with database.together("me"):
        found = asked(mine, "harbour gate", slot=Loading(OLD))
    assert found.identity == OLD.identity
    assert time.monotonic() - begun < 5  # after six, no connection is waited for any more
    index.close()
    database.close()
