"""Where only our own programs write, a pause begins no look at every entry."""

from __future__ import annotations

from tests.patience import PATIENCE_S, until
from tests.search.filing.world import pending, words_of

from commonplace.core.values import Put
from commonplace.search import policy
from commonplace_testing import HashingEncoder, OneSource, a_doc


class _CountedSource(OneSource):
    """A source that counts how often it is read."""

    scans = 0

    def scan(self, since):
        self.scans += 1
        yield from super().scan(since)


class _SettlingSource(_CountedSource):
    settles_mark = True


def test_where_only_we_write_every_entry_is_looked_at_once_a_day(opened, index, clock):
    """A pause begins no look: what is written changes the mark, and by that alone is found."""
    source = _SettlingSource(docs=[a_doc("n:1", "harbour")])
    filing = opened(source, encoder=HashingEncoder(), look_holds_s=policy.LOOK_HOLDS_S)
    assert filing.sweep() == ()
    for word in ("mountain", "meadow"):
        source.put(a_doc(f"n:{word}", word))
        clock.advance(policy.SWEEP_EVERY_S)
        assert filing.refresh(PATIENCE_S) == ()
        assert words_of(index, word) == {f"n:{word}"}
    source.docs["n:1"] = a_doc("n:1", "lagoon")
    clock.advance(policy.SWEEP_EVERY_S)
    filing.refresh(PATIENCE_S)
    filing.close(PATIENCE_S)
    assert source.scans == 3
    assert words_of(index, "lagoon") == set()
    later = opened(source, encoder=HashingEncoder(), look_holds_s=policy.LOOK_HOLDS_S)
    later.sweep()
    assert words_of(index, "lagoon") == {"n:1"}
    source.docs["n:1"] = a_doc("n:1", "island")
    clock.advance(policy.LOOK_HOLDS_S)
    until(
        lambda: later.refresh(PATIENCE_S) == () and words_of(index, "island") == {"n:1"},
        "the edit to be found a day later",
    )


def test_a_second_write_within_one_tick_is_looked_for_once(opened, index, clock):
    """The mark of a moment ago may hide it; that of the look which came after the tick does not."""
    source = _CountedSource(docs=[a_doc("n:1", "harbour")])
    filing = opened(source, encoder=HashingEncoder(), look_holds_s=policy.LOOK_HOLDS_S)
    filing.refresh(PATIENCE_S)
    filing.sweep()
    source.docs["n:1"] = a_doc("n:1", "mountain")  # within the tick of the mark
    clock.advance(policy.SWEEP_EVERY_S)
    until(
        lambda: filing.refresh(PATIENCE_S) == () and words_of(index, "mountain") == {"n:1"},
        "the second write to be found",
    )
    scans = source.scans
    for _ in range(3):
        clock.advance(policy.SWEEP_EVERY_S)
        filing.refresh(PATIENCE_S)
    filing.close(PATIENCE_S)
    assert source.scans == scans


def test_where_only_we_write_a_vector_that_a_killed_process_owed_is_made(opened, index, clock):
    """It had filed the entry, and no source has moved since: the search after a pause sees it."""
    encoder, source = HashingEncoder(), _SettlingSource(docs=[a_doc("n:1", "harbour")])
    filing = opened(source, encoder=encoder, look_holds_s=policy.LOOK_HOLDS_S)
    filing.catch_up()
    filing.refresh(PATIENCE_S)
    index.apply([Put(a_doc("n:2", "mountain"))])
    clock.advance(policy.SWEEP_EVERY_S)
    filing.refresh(PATIENCE_S)
    until(lambda: pending(index, encoder) == 0, "the vector")
