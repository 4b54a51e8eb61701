"""Reads what lines of the outbox stand for, of whichever journal: as its entries are now.

Never files anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from commonplace.core.values import Drop, Put
from commonplace.journals.memory.entry import change_now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from commonplace.core.values import Change, Doc
    from commonplace.journals.memory.records import Record
    from commonplace_server.records.outbox import OutboxLine


class ReadsRecords(Protocol):
    """The records of memory that lines of the outbox stand for, of any user, read as that user."""

    def ask_records(self, noted: Sequence[OutboxLine]) -> Callable[[], list[Record | None]]:
        """Ask for these as they are now; the function returned reads them, in this order.

        In a pipeline others are asked for before it is called. Raises: Unavailable.
        """
        ...


class ReadsDocs(Protocol):
    """Entries of one user and of a journal beside memory, as the index is to hold them."""

    def __call__(self, identities: Sequence[str], /) -> Mapping[str, Doc]:
        """Those with just these ids that there are, by their ids. Raises: Unavailable."""
        ...


class ReadsChanges(Protocol):
    """What reads the changes of one user's lines."""

    def ask(self, noted: Sequence[OutboxLine]) -> Callable[[], list[Change]]:
        """Ask what the index is to hold of each; the function returned reads it, in this order.

        Raises: Unavailable.
        """
        ...


class JournalChanges:
    """What the index is to hold of one user's lines; see `ReadsChanges`.

    Args:
        records: Those of memory.
        others: What reads the entries of the other journals, by their names.
    """

    def __init__(self, *, records: ReadsRecords, others: Mapping[str, ReadsDocs]) -> None:
        self._records = records
        self._others = others

    def __call__(self, noted: Sequence[OutboxLine]) -> list[Change]:
        """What the index is to hold of each, in this order. Raises: Unavailable."""
        return self.ask(noted)()

    def ask(self, noted: Sequence[OutboxLine]) -> Callable[[], list[Change]]:
        """Ask for records at once, and read the other journals after; see `ReadsChanges`."""
        records = [each for each in noted if each.kind not in self._others]
        changes_of = _ask_changes_now(self._records, records) if records else list
        return lambda: self._read(noted, iter(changes_of()))

    def _read(self, noted: Sequence[OutboxLine], records: Iterator[Change]) -> list[Change]:
        docs: dict[str, Mapping[str, Doc]] = {}
        for journal, read in self._others.items():
            if ids := [each.ref_id for each in noted if each.kind == journal]:
                docs[journal] = read(ids)
        return [
            _change_of(each, docs[each.kind]) if each.kind in docs else next(records)
            for each in noted
        ]


def _change_of(line: OutboxLine, docs: Mapping[str, Doc]) -> Change:
    doc = docs.get(line.ref_id)
    return Drop(f"{line.kind}:{line.ref_id}") if doc is None else Put(doc)


def _ask_changes_now(
    records: ReadsRecords, noted: Sequence[OutboxLine]
) -> Callable[[], list[Change]]:
    """Ask for memory's lines; the function returned says what the index is to hold of each."""
    read = records.ask_records(noted)
    return lambda: [
        change_now(each.kind, each.ref_id, record)
        for each, record in zip(noted, read(), strict=True)
    ]
