"""How long a search waits for what is being filed, and what it says of what is not."""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading

import pytest
from tests.patience import PATIENCE_S, until
from tests.search.filing.world import words_of

from commonplace.search import policy
from commonplace_testing import HashingEncoder, OneSource, a_doc


def test_refreshing_waits_no_longer_than_it_may(opened, index):
    """A journal that takes its time is not waited for; the answer says so, and it goes on."""
    going = threading.Event()

    class SlowSource(OneSource):
        def scan(self, since):
            assert going.wait(PATIENCE_S)
            yield from super().scan(since)

    source = SlowSource(docs=[a_doc("n:1", "harbour")])
    filing = opened(source)
    notes = filing.refresh(0.05)
    assert notes == ("test does not answer, it may be locked; a later search may find more.",)
    going.set()
    until(lambda: words_of(index, "harbour") == {"n:1"}, "the entry to be filed")


def test_a_journal_that_is_only_busy_is_not_taken_for_locked(opened, monkeypatch):
    """It computes all the while, and hands nothing over yet: the answer says that it is filed."""
    if sys.platform != "linux":
        pytest.skip("What a thread computes is known on Linux alone.")
    monkeypatch.setattr(policy, "LONG_FILING_S", 0.1)
    going = threading.Event()

    class BusySource(OneSource):
        def scan(self, since):
            while not going.is_set():
                sum(range(1000))
            yield from super().scan(since)

    docs = [a_doc("n:1", "harbour")]
    busy = ("1 of 1 entries of test is not filed yet; a later search may find more.",)
    try:
        # Asked anew where a full machine gave the thread no time to compute within that half second.
        until(
            lambda: opened(BusySource(docs=docs)).refresh(0.5) == busy, "the answer of a busy one"
        )
    finally:
        going.set()
    filing = opened(OneSource(docs=docs))
    until(lambda: filing.refresh(PATIENCE_S) == (), "all to be filed")


def test_a_long_filing_is_not_waited_for(opened, index, clock, monkeypatch):
    """Of a thousand entries 500 are filed after half a second: a search goes on with these.

    They are the newest, and the answer says how many wait.
    """
    monkeypatch.setattr(policy, "APPLY_BATCH", 500)
    going = threading.Event()

    class LargeSource(OneSource):
        def scan(self, since):
            for number, change in enumerate(super().scan(since)):
                if number == policy.APPLY_BATCH - 1:
                    clock.advance(policy.LONG_FILING_S)
                if number == policy.APPLY_BATCH:
                    assert going.wait(PATIENCE_S)
                yield change

    source = LargeSource(docs=[a_doc(f"n:{i}", f"harbour w{i}", minutes=i) for i in range(1000)])
    encoder = HashingEncoder()
    filing = opened(source, encoder=encoder)
    still = ("500 of 1,000 entries of test are not filed yet; a later search may find more.",)
    try:
        assert filing.refresh(PATIENCE_S) == still
        assert [each.waiting for each in filing.behind()] == [500]
        assert words_of(index, "w500") == {"n:500"}
        assert words_of(index, "w499") == set()
        assert index.counts("").docs == policy.APPLY_BATCH
        assert filing.refresh(PATIENCE_S) == still
        (missing,) = filing.settle(encoder.identity, PATIENCE_S)
        assert missing.startswith("500 entries wait for their vector; words find them")
    finally:
        going.set()
    until(lambda: filing.refresh(PATIENCE_S) == (), "all to be filed")
    assert index.counts("").docs == 1000


def test_a_part_is_enough_when_the_rest_takes_its_time(opened, index, monkeypatch):
    """The first 100 came quickly and the next do not come: the wait ends when its time is up."""
    monkeypatch.setattr(policy, "LONG_FILING_S", 0.01)
    going = threading.Event()

    class HesitatingSource(OneSource):
        def scan(self, since):
            for number, change in enumerate(super().scan(since)):
                assert number < policy.APPLY_BATCH or going.wait(PATIENCE_S)
                yield change

    source = HesitatingSource(docs=[a_doc(f"n:{i}", "harbour") for i in range(101)])
    filing = opened(source)
    try:
        still = ("1 of 101 entries of test is not filed yet; a later search may find more.",)
        assert filing.refresh(PATIENCE_S) == still
        assert index.counts("").docs == policy.APPLY_BATCH
    finally:
        going.set()
    until(lambda: filing.refresh(PATIENCE_S) == (), "all to be filed")


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "later"])
def test_a_filing_that_is_killed_leaves_nothing_out(opened, index, monkeypatch, is_first):
    """After each of its transactions in turn: the newest are there, and the next search has all."""
    monkeypatch.setattr(policy, "APPLY_BATCH", 2)
    apply = index.apply
    for killed_after in range(5):
        lived = itertools.count()

        def dies(changes, lived=lived, killed_after=killed_after, **given):
            if next(lived) == killed_after:
                raise KeyboardInterrupt
            apply(changes, **given)

        name = f"n{killed_after}{is_first}"
        source = OneSource(f"{name}:", prefix=f"{name}:")
        if not is_first:
            source.put(a_doc(f"{name}:old", f"harbour{name}", minutes=-1))
            opened(source).catch_up()
        for number in range(6):
            source.put(a_doc(f"{name}:{number}", f"harbour{name}", minutes=number))
        monkeypatch.setattr(index, "apply", dies)
        with contextlib.suppress(KeyboardInterrupt):
            opened(source).catch_up()
        monkeypatch.setattr(index, "apply", apply)
        there = {f"{name}:{number}" for number in range(max(6 - 2 * killed_after, 0), 6)}
        there |= set() if is_first else {f"{name}:old"}
        assert words_of(index, f"harbour{name}") == there
        assert opened(source).refresh(PATIENCE_S) == ()
        assert words_of(index, f"harbour{name}") == set(source.docs)
