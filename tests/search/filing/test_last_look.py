"""Where only our own programs write, a pause begins no look at every entry."""

from __future__ import annotations

from tests.patience import PATIENCE_S, until
from tests.search.filing.world import pending, words_of

from commonplace.core.values import Put
from commonplace.search import policy
from commonplace_testing import HashingEncoder, OneSource, a_doc


class _SettlingSource(OneSource):
    """A source whose mark tells of each write; it counts how often it is read."""

    settles_mark = True
    scans = 0

    def scan(self, since):
        self.scans += 1
        yield from super().scan(since)


def test_where_only_we_write_every_entry_is_looked_at_while_no_look_holds(opened, index, clock):
    """Neither a pause nor opening begins a look: what is written is found by the mark alone."""
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
    later = opened(source, encoder=HashingEncoder(), look_holds_s=policy.LOOK_HOLDS_S)
    later.start()
    clock.advance(policy.SWEEP_EVERY_S)
    later.refresh(PATIENCE_S)
    later.finish(PATIENCE_S)
    assert source.scans == 3
    assert words_of(index, "lagoon") == set()
    clock.advance(policy.LOOK_HOLDS_S)
    until(
        lambda: later.refresh(PATIENCE_S) == () and words_of(index, "lagoon") == {"n:1"},
        "the edit to be found when the look holds no more",
    )
    source.docs["n:1"] = a_doc("n:1", "island")
    later.sweep()
    assert words_of(index, "island") == {"n:1"}


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
