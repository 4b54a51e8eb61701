"""Owns what the index needs to know of a storage: its entries' stamps, and which writes were ours.

Never holds a word of an entry.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

TICK_NS = 2_000_000_000
"""The longest tick of a disk's clock, that of FAT: two changes within it leave one mtime."""


class SeenEvent(NamedTuple):
    """What a pass over all entries learns of one.

    Attributes:
        key: Where its store reads it again.
    """

    instant: int
    stamp: str
    key: object


class EntryStamps(NamedTuple):
    """All entries by their ref, and what could not be read: (its name, why)."""

    seen: dict[str, SeenEvent]
    unreadable: list[tuple[str, str]]


class LocalWrites:
    """The writes by which this process alone moved a store from one state to the next. Thread-safe.

    A search after an entry of ours then needs no pass over all of them: 0.3 ms in place of 98 ms at
    10,000 entries.
    """

    _KEPT = 1000

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._of_several = ""

    def add(self, before: str, after: str, *refs: str) -> None:
        """Note that a write of ours to these entries alone led from one state to the other.

        Writes within one tick of the disk's clock may leave one state: no step leads to or from it.
        """
        with self._lock:
            if before == after:
                self._of_several = before
                self._steps.pop(before, None)
            if before == self._of_several:
                return
            self._steps[before] = (after, refs)
            while len(self._steps) > self._KEPT:
                del self._steps[next(iter(self._steps))]

    def refs_between(self, before: str, after: str) -> list[str] | None:
        """What our writes touched from one state to another; None where others wrote as well."""
        refs: list[str] = []
        with self._lock:
            if after == self._of_several:
                return None
            while before != after:
                step = self._steps.get(before)
                if step is None or len(refs) > self._KEPT:
                    return None
                before = step[0]
                refs += step[1]
        return refs
