"""Vectors are made once, by one process at a time, and beside what searches and writes do."""

from __future__ import annotations

import threading

import pytest
from tests.patience import PATIENCE_S, until
from tests.search.filing.world import (
    BrokenIndex,
    CountingEncoder,
    KeepingSource,
    pending,
    words_of,
)

from commonplace.core.errors import Unavailable
from commonplace.core.values import Put
from commonplace.search import policy
from commonplace_testing import HashingEncoder, OneSource, a_doc, look


def test_another_encoder_encodes_anew_and_nothing_is_mixed(opened, index):
    """A new identity makes its own vectors; a search by it never sees the old ones."""
    source = OneSource(docs=[a_doc(f"n:{i}", f"harbour {i}") for i in range(40)])
    old, new = CountingEncoder(), CountingEncoder("hashing:64:bag:l2:11111111")
    opened(source, encoder=old).catch_up()
    assert pending(index, new) == 40
    near = {"vector": new.encode_query("harbour"), "identity": new.identity, "limit": 99}
    assert look(index, "", **near) == {}
    opened(source, encoder=new).catch_up()
    assert sorted(new.texts) == sorted(old.texts)
    assert len(look(index, "", **near)) == 40


def test_only_one_process_encodes(opened, index):
    """While one works, another makes no vector of a backlog."""
    source = OneSource(docs=[a_doc(f"n:{i}", f"harbour {i}") for i in range(5)])
    first, second = CountingEncoder(), CountingEncoder()
    first.gate.clear()
    opened(source, encoder=first).start()
    assert first.busy.wait(PATIENCE_S)
    assert opened(source, encoder=second).catch_up() == 0
    first.gate.set()
    until(lambda: pending(index, first) == 0, "every entry to have its vector")
    assert second.texts == []


def test_a_dead_processs_work_is_taken_over_when_its_lease_is_out(opened, index, clock):
    """Killed while encoding, it gave nothing back; after the lease another goes on."""
    encoder = HashingEncoder()
    source = OneSource(docs=[a_doc("n:1", "harbour")])
    assert index.take_lease("encoding", "dead", policy.LEASE_S)
    filing = opened(source, encoder=encoder)
    assert filing.catch_up() == 0
    clock.advance(policy.LEASE_S - 1)
    assert filing.catch_up() == 0
    clock.advance(1)
    assert filing.catch_up() == 1
    assert index.take_lease("encoding", "next", policy.LEASE_S)


def test_a_process_that_ends_over_a_long_text_holds_up_nobody(opened, index):
    """A command ends while a text of many chunks is encoded: the short ones are done, and free."""

    class Slow(CountingEncoder):
        def split(self, text, *, most=None):
            return tuple((at, at + 240) for at in range(0, len(text), 240))

        def encode_passages(self, texts):
            if len(texts) > 8:
                self.gate.clear()
            return super().encode_passages(texts)

    docs = [a_doc("n:long", "harbour " * 6000), *(a_doc(f"n:{i}", f"wood {i}") for i in range(8))]
    source = OneSource(docs=docs)
    slow = Slow()
    filing = opened(source, encoder=slow)
    filing.start()
    until(lambda: not slow.gate.is_set(), "the long text to be encoded")
    assert pending(index, slow) == 1
    filing.close(wait_s=0.0)
    assert opened(source, encoder=HashingEncoder()).catch_up() == 1
    slow.gate.set()


def test_what_closing_cuts_off_is_no_failure(opened, index, caplog):
    """The vector in hand finds the index closed: nothing is logged, and the next process goes on."""
    slow, closed = CountingEncoder(), Unavailable("The index is closed.")
    slow.gate.clear()
    filing = opened(OneSource(docs=[a_doc("n:1", "harbour")]), encoder=slow)
    filing.start()
    assert slow.busy.wait(PATIENCE_S)
    filing.close(wait_s=0.0)
    filing._index = BrokenIndex(closed)
    slow.gate.set()
    filing._worker.join(PATIENCE_S)
    assert not filing._worker.is_alive()
    assert caplog.messages == []


def test_who_finds_another_at_work_comes_back(opened, index, clock, monkeypatch):
    """The other dies over a doc it filed itself: nobody asks, and its vector is made all the same."""
    monkeypatch.setattr(policy, "RETRY_S", (0.02, 0.1))
    encoder = HashingEncoder()
    filing = opened(OneSource(docs=[a_doc("n:1", "harbour")]), encoder=encoder)
    filing.start()
    until(
        lambda: filing.settle(encoder.identity, 0.0) == () and not pending(index, encoder),
        "the first entry to have its vector",
    )
    assert index.take_lease("encoding", "dead", policy.LEASE_S)
    index.apply([Put(a_doc("n:2", "wood"))])
    filing.refresh(PATIENCE_S)
    filing.wake()
    note = ("1 entry waits for its vector; words find it.",)
    until(lambda: filing.settle(encoder.identity, 0.0) == note, "the missing vector to be named")
    clock.advance(policy.LEASE_S)
    until(lambda: pending(index, encoder) == 0, "every entry to have its vector")


def test_what_is_filed_while_places_are_filled_is_encoded(opened, index):
    """Another process files an entry without a vector meanwhile: it is not left behind."""
    encoder = CountingEncoder()
    source = KeepingSource(docs=[a_doc("n:1", "harbour")])
    filing = opened(source, encoder=encoder)
    filing.catch_up()
    source.places.clear()
    encoder.busy.clear()
    encoder.gate.clear()
    filing.start()
    assert encoder.busy.wait(PATIENCE_S)
    index.apply([Put(a_doc("n:2", "wood"))])
    encoder.gate.set()
    until(lambda: pending(index, encoder) == 0, "every entry to have its vector")
    assert set(source.places) == {"n:1"}


def test_words_are_served_while_places_are_filled(opened, index):
    """A search waits for no place that is being filled."""

    class OneByOne(CountingEncoder):
        permits = threading.Semaphore(0)

        def encode_passages(self, texts):
            self.busy.set()
            assert self.permits.acquire(timeout=PATIENCE_S)
            return super().encode_passages(texts)

    source = KeepingSource(docs=[a_doc(f"n:{i}", f"harbour {i}") for i in range(9)])
    opened(source, encoder=HashingEncoder()).catch_up()
    source.places.clear()
    encoder = OneByOne()
    filing = opened(source, encoder=encoder)
    filing.start()
    assert encoder.busy.wait(PATIENCE_S)
    source.put(a_doc("n:new", "mountain"))
    assert filing.refresh(PATIENCE_S) == ()
    assert words_of(index, "mountain") == {"n:new"}
    assert source.places == {}
    encoder.permits.release(99)
    until(lambda: len(source.places) == 10, "every place to be filled")


def test_a_place_that_cannot_be_filled_is_tried_once_a_turn(opened):
    """A disk that takes no file beside an entry costs one encoding, not a loop."""

    class FullSource(KeepingSource):
        def keep(self, ref, vector, identity):
            """Nothing is kept."""

    encoder = CountingEncoder()
    filing = opened(FullSource(docs=[a_doc("n:1", "harbour")]), encoder=encoder)
    filing.catch_up()
    assert encoder.texts == ["harbour", "harbour"]


def test_the_place_beside_an_entry_is_filled_once_from_the_same_vector(opened):
    """The journal's copy costs no second encoding, and is never made again."""
    encoder = CountingEncoder()
    source = KeepingSource(docs=[a_doc("n:1", "harbour")])
    filing = opened(source, encoder=encoder)
    filing.file([Put(source.docs["n:1"])])
    filing.catch_up()
    assert encoder.texts == ["harbour"]
    vector, identity = source.places["n:1"]
    assert vector.tolist() == encoder.encode_query("harbour").tolist()
    assert identity == encoder.identity


@pytest.mark.design("000-70")
def test_an_empty_place_of_a_filed_entry_is_filled_again(opened):
    """Somebody removed the file beside an entry: a catch-up puts it back."""
    encoder = CountingEncoder()
    source = KeepingSource(docs=[a_doc("n:1", "harbour")])
    filing = opened(source, encoder=encoder)
    filing.catch_up()
    source.places.clear()
    filing.catch_up()
    assert set(source.places) == {"n:1"}


def test_closing_returns_at_once_while_it_encodes(opened):
    """The batch in hand is not waited for longer than asked, and nothing is begun after it."""
    encoder = CountingEncoder()
    encoder.gate.clear()
    source = OneSource(docs=[a_doc(f"n:{i}", f"harbour {i}") for i in range(100)])
    filing = opened(source, encoder=encoder)
    filing.start()
    assert encoder.busy.wait(PATIENCE_S)
    filing.close(wait_s=0.05)
    encoder.gate.set()
    filing.close(wait_s=PATIENCE_S)
    assert len(encoder.texts) == policy.ENCODE_BATCH


def test_what_a_process_made_before_it_ended_is_kept(opened, index):
    """Long notes are encoded two at a time: of 300 a command that ends keeps all but two."""

    class Ending(CountingEncoder):
        def encode_in_background(self, texts):
            if len(self.texts) >= 8:
                self.busy.set()
                assert self.gate.wait(PATIENCE_S)
            self.texts += texts
            return HashingEncoder().encode_passages(texts)

    encoder = Ending()
    encoder.gate.clear()
    docs = [a_doc(f"n:{i}", "x" * (policy.CHARACTERS_AT_ONCE // 2)) for i in range(300)]
    filing = opened(OneSource(docs=docs), encoder=encoder)
    filing.start()
    assert encoder.busy.wait(PATIENCE_S)
    assert pending(index, encoder) == 300 - 8
    (missing,) = filing.settle(encoder.identity, PATIENCE_S)
    assert missing.startswith("292 entries wait for their vector; words find them")
    assert "`commonplace reindex`" in missing
    encoder.gate.set()


def test_words_are_served_while_a_backlog_is_encoded(opened, index):
    """A write and a search in the middle of 200 docs are done before the 200 are."""
    encoder = CountingEncoder()
    source = OneSource(docs=[a_doc(f"n:{i}", f"harbour {i}") for i in range(200)])
    filing = opened(source, encoder=encoder)
    encoder.gate.clear()
    filing.start()
    assert encoder.busy.wait(PATIENCE_S)
    source.put(a_doc("n:new", "mountain", minutes=1))
    encoder.gate.set()
    assert filing.refresh(PATIENCE_S) == ()
    assert words_of(index, "mountain") == {"n:new"}
    until(lambda: pending(index, encoder) == 0, "every entry to have its vector")


def test_a_backlog_is_waited_for_once_and_then_named(opened, index):
    """Settle tells how many are missing; the second search does not wait again."""
    encoder = CountingEncoder()
    encoder.gate.clear()
    source = OneSource(docs=[a_doc(f"n:{i}", f"harbour {i}") for i in range(3)])
    filing = opened(source, encoder=encoder)
    filing.start()
    assert encoder.busy.wait(PATIENCE_S)
    note = ("3 entries wait for their vector; words find them.",)
    assert filing.settle(encoder.identity, 0.05) == note
    assert filing.settle(encoder.identity, PATIENCE_S) == note
    encoder.gate.set()
    until(lambda: filing.settle(encoder.identity, 0.0) == (), "nothing to be missing any more")


def test_a_write_is_filed_while_a_backlog_is_encoded(opened, index):
    """The background has the encoder and goes on for long: the write has its vector at once."""

    class Aside(CountingEncoder):
        def __init__(self):
            super().__init__()
            self.aside = threading.Event()

        def encode_in_background(self, texts):
            self.busy.set()
            assert self.aside.wait(PATIENCE_S)
            return HashingEncoder().encode_passages(texts)

    encoder = Aside()
    filing = opened(
        OneSource(docs=[a_doc(f"n:{i}", f"harbour {i}") for i in range(50)]), encoder=encoder
    )
    filing.start()
    assert encoder.busy.wait(PATIENCE_S)
    assert filing.file([Put(a_doc("n:mine", "wood"))]).notes == ()
    assert encoder.texts == ["wood"]
    assert pending(index, encoder) == 50
    encoder.aside.set()
    until(lambda: pending(index, encoder) == 0, "every entry to have its vector")
