"""How a search finds out which sources moved on."""

from __future__ import annotations

import threading

import pytest
from tests.patience import PATIENCE_S, until
from tests.search.filing.world import PausedSource, words_of

from commonplace.core.errors import Unavailable
from commonplace.core.values import Put
from commonplace.search import policy
from commonplace_testing import OneSource, a_doc


def test_a_search_asks_the_index_once_how_far_all_sources_are(opened, index):
    """However many there are, and whether or not one of them moved on."""
    asked = []

    class Asked:
        def __getattr__(self, name):
            return getattr(index, name)

        def known(self):
            asked.append(threading.current_thread().name)
            return index.known()

    sources = [OneSource(f"test:{n}", [a_doc(f"{n}:1", "harbour")], prefix=f"{n}:") for n in "abc"]
    filing = opened(*sources, index=Asked())
    assert filing.refresh(PATIENCE_S) == ()
    assert words_of(index, "harbour") == {"a:1", "b:1", "c:1"}
    asked.clear()
    assert filing.refresh(PATIENCE_S) == ()
    assert len(asked) == 1


@pytest.mark.parametrize("left", ["", "pier"])
def test_what_another_process_changed_in_the_midst_of_a_scan_is_looked_at_at_once(
    opened, index, left
):
    """It took out what was not filed yet: the text that the scan had read waits for no search to go."""
    source = PausedSource(docs=[a_doc("n:1", "harbour")])
    filing = threading.Thread(target=opened(source).catch_up)
    filing.start()
    assert source.has_read.wait(PATIENCE_S)
    other = opened()
    if left:
        source.put(a_doc("n:1", left))
        other.refile([Put(source.docs["n:1"])])
    else:
        source.drop("n:1")
        other.forget(["n:1"])
    source.gate.set()
    filing.join(PATIENCE_S)
    assert words_of(index, "harbour") == set()
    assert words_of(index, "pier") == ({"n:1"} if left else set())


def test_a_sweep_that_failed_is_soon_tried_again(opened, index, clock):
    """A journal was locked for as long as its lock is waited for: that is no measure of a sweep."""

    class LockedSource(OneSource):
        is_locked = True

        def scan(self, since):
            if self.is_locked:
                clock.advance(30.0)
                raise Unavailable("test is locked.", hint="Try again.")
            yield from super().scan(since)

    source = LockedSource()
    index.apply([], source=source.name, mark=source.mark())
    filing = opened(source)
    assert filing.sweep() != ()
    source.is_locked = False
    source.docs["n:1"] = a_doc("n:1", "mountain")
    clock.advance(policy.SWEEP_EVERY_S)
    filing.refresh(PATIENCE_S)
    until(lambda: words_of(index, "mountain") == {"n:1"}, "the edit to be found")
