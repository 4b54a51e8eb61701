"""How a search finds out which sources moved on."""

from __future__ import annotations

import threading

from tests.patience import PATIENCE_S
from tests.search.filing.world import words_of

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
