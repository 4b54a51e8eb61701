"""Owns how entries move from a file into the storage that takes its place, whole or not at all.

Never removes an entry from the file that was not read back.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from commonplace.core.errors import Invalid, Unavailable
from commonplace.core.expiring import revealed
from commonplace.core.files import may_exist
from commonplace.journals.chronicle.database import ChronicleDatabase
from commonplace.journals.chronicle.event import Changes, changed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from commonplace.journals.chronicle.event import Event
    from commonplace.journals.chronicle.journal import ChronicleJournal
    from commonplace.journals.chronicle.ports import SharedChronicle

_AT_ONCE = 500


def move_entries(
    chronicle: ChronicleJournal,
    there: SharedChronicle,
    *,
    unfile: Callable[[Sequence[str]], object],
) -> None:
    """Move all entries of the file of a chronicle, which is closed.

    May be called again, by several processes too: an entry that is there stays as it is there, and
    one that was deleted there does not come back.

    unfile: takes refs out of what followed the file, before they leave it.
    Raises: Unavailable, Denied, Conflict where not all can be moved, Invalid for a Markdown tree;
    then all stay.
    """
    if not may_exist(chronicle.path):
        return
    with closing(chronicle), revealed():
        files = chronicle.files
        if not isinstance(files, ChronicleDatabase):
            raise Invalid(
                "{place} is a Markdown tree, which does not move into a database by itself.",
                hint="Import it for its user, then take the folder away.",
                place=chronicle.path,
            )
        if files.count():
            files.hand_over(lambda events: _take(events, chronicle.path, there, unfile))


def _take(
    events: Sequence[Event],
    path: Path,
    there: SharedChronicle,
    unfile: Callable[[Sequence[str]], object],
) -> None:
    drafts = [changed(event, Changes()) for event in _missing(events, there)]
    # In the order of their numbers, which orders those of one instant.
    for begin in range(0, len(drafts), _AT_ONCE):
        there.add_all(drafts[begin : begin + _AT_ONCE], on_added=lambda _: None)
    if _missing(events, there):
        raise Unavailable(
            "Not every entry of {place} could be moved into the database.",
            hint="Try again; what was moved is not moved twice.",
            place=path,
        )
    unfile([event.ref for event in events])


def _missing(events: Sequence[Event], there: SharedChronicle) -> list[Event]:
    """Those that are not there, and were not deleted there."""
    missing: list[Event] = []
    for begin in range(0, len(events), _AT_ONCE):
        some = events[begin : begin + _AT_ONCE]
        ids = [event.id for event in some]
        known = {event.id for event in there.get_many(ids)} | there.find_deleted(ids)
        missing += [event for event in some if event.id not in known]
    return missing
