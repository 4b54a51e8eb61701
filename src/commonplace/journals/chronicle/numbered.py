"""Owns how entries are followed by the numbers that their database gives, where others write none.

Never writes, and never holds a word of an entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.journals.chronicle.layouts import SQL, readable_events

if TYPE_CHECKING:
    from commonplace.journals.chronicle.database import ChronicleDatabase
    from commonplace.journals.chronicle.event import Event


class NumberedEntries:
    """The entries of a database that only our programs write.

    An entry takes the next number of its table, and an edit or a deletion of ours takes one that no
    entry has: the highest that was given tells of every write, within its own transaction.
    """

    def __init__(self, store: ChronicleDatabase) -> None:
        self._store = store

    def state(self) -> str:
        """What each write changes; the state of the files while they are of an earlier layout."""
        with self._store.reading() as (conn, layout):
            if layout.generation == "D2":
                return self._store.numbered_state(conn)
        return self._store.files_state()

    def mark(self) -> str:
        """The state, and the count of entries and their highest number. Raises: as `mark`."""
        return self._store.numbered_mark()

    def added_since(self, mark: str) -> list[Event] | None:
        """The entries that were added since a mark, the last first; None where more was done.

        Where all numbers since are of entries, and these are as many as there are more, nothing was
        edited or deleted, and nothing has expired. Raises: as the store's `reading`.
        """
        state, _, counts = mark.partition(" ")
        file, _, number = state.rpartition("#")
        if not number.isdecimal():
            return None
        with self._store.reading() as (conn, layout):
            now, _, given = self._store.numbered_state(conn).rpartition("#")
            since = {"number": int(number)}
            added = conn.execute(SQL["count_since"], since).fetchone()[0]
            count = conn.execute(SQL["count_entries"]).fetchone()[0]
            more = count - int(counts.partition(":")[0])
            if now != file or not int(given) - int(number) == added == more:
                return None
            return [*readable_events(conn.execute(layout.reading("where_since"), since))]
