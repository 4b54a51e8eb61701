"""Converts memory's records into items of an export, and items into records.

Never reads or writes a file of an export.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Mapping  # noqa: TC003  a struct reads it at run time
from datetime import datetime  # noqa: TC003  a struct reads it at run time
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import field
from msgspec.structs import replace

from commonplace.core.import_notes import NOT_NOTED
from commonplace.core.portable import PortableItem
from commonplace.journals.memory.entry import FIELDS, apply_draft, parse_id, version_of
from commonplace.journals.memory.records import (
    JOURNAL,
    KINDS,
    ChatMessage,
    Kind,
    Preferences,
    Record,
    RecordDraft,
    former_ref_of,
)
from commonplace.journals.memory.rows import MOST_LISTED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.memory.ports import MemoryStore


class PortableRecord(PortableItem, frozen=True, kw_only=True):
    """A record of a memory.

    Attributes:
        kind: message, journal, todo, preference or gratitude.
        fields: Its values, by the names that a record of the kind is saved with.
        written: When it was written down, where that is another time.
        updated: When it was last changed; None for a message.
    """

    kind: Kind
    fields: Mapping[str, Any] = field(default_factory=dict)
    written: datetime | None = None
    updated: datetime | None = None

    def page_text(self) -> str:
        """Its fields, a line each; values other than text as JSON."""
        shown = {
            name: x if isinstance(x, str) else json.dumps(x, ensure_ascii=False, sort_keys=True)
            for name, x in self.fields.items()
            if x is not None
        }
        return "\n".join(f"{name}: {text}" for name, text in shown.items())


class PortableMemory:
    """Exports a memory, and imports into an empty one. See `core.ports.Portable`."""

    journal = JOURNAL
    item_type: Any = PortableRecord

    def __init__(self, memory: MemoryStore) -> None:
        self._memory = memory

    def is_empty(self) -> bool:
        """See `Portable.is_empty`."""
        return not any(self._memory.list_records(kind, limit=1).records for kind in KINDS)

    def export_items(self, since: datetime | None) -> Iterator[PortableRecord]:
        """See `Portable.export_items`; newest first, as every store lists them."""
        found = heapq.merge(
            *map(self._records, KINDS),
            key=lambda record: (record.at, record.kind, record.id),
            reverse=True,
        )
        for record in found:
            if since is not None and record.at < since:
                return
            yield _item_of(record)

    def check_item(self, item: PortableRecord) -> None:
        """See `Portable.check_item`."""
        _record_of(item)

    def import_items(self, items: Iterator[PortableRecord], noting: NotesImport = NOT_NOTED) -> int:
        """See `Portable.import_items`."""
        added = 0
        while batch := [_record_of(item) for item in islice(items, MOST_LISTED)]:
            absent = [x for x in batch if self._memory.find(x.kind, x.id) is None]
            noting.put_planned({x.ref: version_of(x) for x in absent})
            added += self._memory.keep_all(batch)
            there = [self._memory.find(x.kind, x.id) for x in absent]
            noting.put_added({x.ref: version_of(x) for x in there if x is not None})
        return added

    def _records(self, kind: Kind) -> Iterator[Record]:
        page = self._memory.list_records(kind, limit=MOST_LISTED)
        yield from page.records
        while page.cursor:
            page = self._memory.list_records(kind, limit=MOST_LISTED, cursor=page.cursor)
            yield from page.records


def _item_of(record: Record) -> PortableRecord:
    fields = {name: getattr(record, name) for name in FIELDS[record.kind]}
    if isinstance(record, Preferences):
        fields["flags"] = {name: record.flags[name] for name in sorted(record.flags)}
    return PortableRecord(
        ref=record.ref,
        at=record.at,
        kind=record.kind,
        supersedes=former_ref_of(record),
        fields=fields,
        written=record.written,
        updated=None if isinstance(record, ChatMessage) else record.updated,
    )


def _record_of(item: PortableRecord) -> Record:
    """The record of an item, checked like one that is saved. Raises: Invalid."""
    ref_id = parse_id(item.kind, item.ref)
    given = {name: x for name, x in item.fields.items() if x is not None}
    draft = RecordDraft(kind=item.kind, fields=given, at=item.at)
    record = apply_draft(None, draft, ref_id=ref_id, now=item.updated or item.at)
    if isinstance(record, Preferences):
        return record
    supersedes = parse_id(item.kind, item.supersedes) if item.supersedes else ""
    return replace(record, supersedes=supersedes, written=item.written)
