"""Finds how a project's notes differ from their copy.

Changes nothing but what killed writes left.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from msgspec import Struct, field

from commonplace.core.errors import CommonplaceError
from commonplace.core.expiring import revealed
from commonplace.core.files import remove_leftovers
from commonplace.journals.private.copy_record import (
    CopyRecord,
    KnownDay,
    is_away,
    note_place,
)
from commonplace.journals.private.folder_identity import identity_of
from commonplace.journals.private.format import parse_day
from commonplace.journals.private.places import EntryPlace, list_day, read_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.journals.private.roots import Root

# Two changes within one tick of a disk's clock leave one mtime: a young folder is listed again.
_RACY_NS = 2_000_000_000


class Difference(Struct, kw_only=True):
    """How a root differs from its copy.

    Attributes:
        days: The day folders that are there, by name, as they are now.
        fresh: The notes that the copy lacks or has otherwise.
        missing: The notes that only the copy has, and that are not known to be gone.
        back: Those that were gone and are there again.
    """

    record: CopyRecord
    days: dict[str, KnownDay] = field(default_factory=dict)
    fresh: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    back: list[str] = field(default_factory=list)

    def has_new_days(self) -> bool:
        """Whether the days differ from the record in more than the time of the newest one.

        That time changes with every write, and noting it takes longer than listing the day again.
        """
        known = self.record.days
        if self.days.keys() != known.keys():
            return True
        newest = max(self.days, default="")
        return any(
            here[:2] != known[day][:2] if day == newest else here != known[day]
            for day, here in self.days.items()
        )


def difference_of(
    copy: Root, root: Root, record: CopyRecord, *, thorough: bool
) -> Difference | None:
    """How a root differs from its copy; None where it is away, or was never there.

    thorough: whether days are listed in which nothing came or went. Raises: OSError.
    """
    days: dict[str, os.stat_result] = {}
    with contextlib.suppress(FileNotFoundError):
        days = days_of(root)
    if not days and (not os.path.isdir(copy.path) or is_away(record, root)):
        return None
    seen = Difference(record=record)
    now = time.time_ns()  # the disk's own time, not the journal's clock: it judges mtimes
    copied = days_of(copy) if os.path.isdir(copy.path) else {}
    for day in sorted(days.keys() | copied.keys()):
        status, known = days.get(day), record.days.get(day)
        if status is not None:
            is_young = now - status.st_mtime_ns < _RACY_NS
            born = known.born_ns if known and known.number == status.st_ino else -1
            here = KnownDay(status.st_ino, born, 0 if is_young else status.st_mtime_ns)
            seen.days[day] = here
            if here == known and here.mtime_ns and not thorough:
                continue
        there = _entries(root, day) if status is not None else {}
        had = _entries(copy, day) if day in copied else {}
        for name, stamp in there.items():
            relative = f"{day}/{name}"
            if relative in record.gone:
                seen.back.append(relative)
            if had.get(name) != stamp and (
                name not in had
                or content_of(note_in(root, relative)) != content_of(note_in(copy, relative))
            ):
                seen.fresh.append(relative)
        lost = (f"{day}/{name}" for name in had.keys() - there.keys())
        seen.missing += sorted(x for x in lost if x not in record.gone)
    return seen


def _entries(root: Root, day: str) -> dict[str, str]:
    """The notes of a day with their stamps; none where the folder went just now."""
    try:
        with revealed():  # what has expired lies on the disk until it is forgotten
            listing = list_day(root, day)
    except FileNotFoundError:
        return {}
    if listing.leftovers:
        remove_leftovers(root.path / day)
    return listing.entries


def days_of(root: Root) -> dict[str, os.stat_result]:
    """The day folders of a root by name, links left out. Raises: OSError."""
    with os.scandir(root.path) as names:
        return {
            x.name: x.stat(follow_symlinks=False)
            for x in names
            if parse_day(x.name) is not None and x.is_dir(follow_symlinks=False)
        }


def is_same_folder(folder: Path, known: KnownDay) -> bool:
    """Whether a day folder is there and is the one that was looked at."""
    try:
        found = identity_of(folder)
    except OSError:
        return False
    return (found.number, found.born_ns) == (known.number, known.born_ns)


def keep_days(root: Root, record: CopyRecord, seen: Difference, failed: set[str]) -> None:
    """Note which folders were looked at, each with its birth; of failed ones not when."""
    days: dict[str, KnownDay] = {}
    changed = {x.partition("/")[0] for x in (*seen.missing, *seen.fresh, *seen.back)}
    for day, here in seen.days.items():
        with contextlib.suppress(OSError):
            number, born_ns = here.number, here.born_ns
            if born_ns < 0 or day in changed:
                number, born_ns = identity_of(root.path / day)
            days[day] = KnownDay(number, born_ns, 0 if day in failed else here.mtime_ns)
    record.days = days
    note_place(record)


def note_in(root: Root, relative: str) -> EntryPlace:
    """The place of a note in a root, or in its copy."""
    return EntryPlace(root=root, relative=relative)


def content_of(place: EntryPlace) -> bytes | None:
    """The bytes of a note, expired or not; None where it cannot be read."""
    try:
        with revealed():
            return read_bytes(place)[0]
    except CommonplaceError:
        return None
