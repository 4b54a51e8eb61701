"""Owns what a look for broken entries read of a storage, for the count of what is not filed.

Never answers with what was read before the storage changed.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from commonplace.journals.chronicle.entry_stamps import TICK_NS

if TYPE_CHECKING:
    from commonplace.journals.chronicle.database import ChronicleDatabase
    from commonplace.journals.chronicle.entry_stamps import EntryStamps
    from commonplace.journals.chronicle.markdown_tree import ChronicleTree


class ExaminedStamps:
    """The stamps of a pass that looked for broken entries, for the scan that follows it.

    `doctor` asks for both, and a pass is a fifth of its time at 100,000 entries.
    """

    def __init__(self, store: ChronicleDatabase | ChronicleTree) -> None:
        self._store = store
        self._kept: tuple[str, EntryStamps] | None = None

    def read(self) -> EntryStamps:
        """One pass over all entries, kept for `take` where the files are old enough to be judged.

        Raises: as `read_stamps` of the store.
        """
        if time.time_ns() - self._store.changed_ns() <= TICK_NS:
            return self._store.read_stamps()
        mark = self._store.mark()
        found = self._store.read_stamps()
        self._kept = mark, found
        return found

    def take(self) -> EntryStamps:
        """What was read, once, where nothing has changed or expired since; else a pass now."""
        kept, self._kept = self._kept, None
        if kept is not None and kept[0] == self._store.mark():
            return kept[1]
        return self._store.read_stamps()
