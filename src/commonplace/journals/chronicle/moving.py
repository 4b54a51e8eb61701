"""Owns how entries move from files into the storage that takes their place, whole or not at all.

Never removes a file of which not every entry was read back.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from commonplace.core.errors import Unavailable
from commonplace.core.expiring import revealed
from commonplace.core.files import locked, may_exist, remove_file
from commonplace.journals.chronicle.event import parse_event_id
from commonplace.journals.chronicle.portable import PortableChronicle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.journals.chronicle.journal import ChronicleJournal
    from commonplace.journals.chronicle.portable import PortableEvent
    from commonplace.journals.chronicle.ports import SharedChronicle

_AT_ONCE = 500
# The file itself goes last: a move that was killed is done again.
_BESIDE = ("-wal", "-shm", "")


def move_entries(
    files: ChronicleJournal, into: ChronicleJournal, there: SharedChronicle
) -> list[str]:
    """Move all entries of a database's file; the refs of those that were in it.

    May be called twice, by several processes too: an entry that is there stays, and one that was
    deleted there does not come back.

    Raises:
        Unavailable: An entry cannot be read, or was not read back; the file is then as it was.
        Conflict: The file is of an older generation; Denied.
    """
    if not may_exist(files.path):
        return []
    with locked(files.path.parent), revealed():
        if not may_exist(files.path):
            return []
        with closing(files):
            items = [*PortableChronicle(files).export_items(None)]
            is_whole = len(items) == files.files.count()
        if is_whole:
            PortableChronicle(into).import_items(iter(_missing(items, there)))
        if not is_whole or _missing(items, there):
            raise Unavailable(
                "Not every entry of {place} could be moved into the database.",
                hint="Run `commonplace doctor`.",
                place=files.path,
            )
        for end in _BESIDE:
            remove_file(files.path.with_name(f"{files.path.name}{end}"))
    return [item.ref for item in items]


def _missing(items: Sequence[PortableEvent], there: SharedChronicle) -> list[PortableEvent]:
    """Those that are not there, and were not deleted there."""
    missing: list[PortableEvent] = []
    for begin in range(0, len(items), _AT_ONCE):
        some = {parse_event_id(item.ref): item for item in items[begin : begin + _AT_ONCE]}
        ids = [*some]
        known = {event.id for event in there.get_many(ids)} | there.find_deleted(ids)
        missing += [item for identity, item in some.items() if identity not in known]
    return missing
