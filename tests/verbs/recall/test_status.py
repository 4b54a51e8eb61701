"""What `status` counts while the index is behind the journals."""

from __future__ import annotations

import threading

from tests.patience import PATIENCE_S, until

from commonplace.index.sqlite.index import SqliteIndex
from commonplace.search import policy
from commonplace.search.filing.filing import Filing
from commonplace.verbs.recall.status import read_index
from commonplace_testing import OneSource, ReadySlot, a_doc


def test_what_is_not_filed_yet_counts_as_well(tmp_path, monkeypatch):
    """Of ten entries four are filed: ten are there, all wait, and it says how many are not filed."""
    monkeypatch.setattr(policy, "APPLY_BATCH", 2)
    monkeypatch.setattr(policy, "LONG_FILING_S", 0.0)
    going = threading.Event()

    class LargeSource(OneSource):
        def scan(self, since):
            for number, change in enumerate(super().scan(since)):
                assert number < 4 or going.wait(PATIENCE_S)
                yield change

    docs = [a_doc(f"notes:{i}", "harbour", minutes=i) for i in range(10)]
    source = LargeSource("notes:one", docs, prefix="notes:")
    index = SqliteIndex(lambda _owner: tmp_path).of_owner("ada")
    filing = Filing(index=index, sources=[source], encoder=ReadySlot(), holder="test")

    def status():
        (notes,), _, _ = read_index(filing, index, "", there=["notes"], lost={}, explained=str)
        return notes

    try:
        until(lambda: status().trouble.startswith("6 of 10 entries of notes"), "four to be filed")
        assert (status().entries, status().pending) == (10, 10)
    finally:
        going.set()
    until(lambda: not status().trouble, "all to be filed")
    assert (status().entries, status().pending) == (10, 10)
    filing.close()
    index.close()
