"""Owns what is made of a private journal in a database: pages, exports, a move.

Never removes a file that was not read back.
"""

from __future__ import annotations

import contextlib
import json
import os
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import NotFound, Unavailable
from commonplace.core.expiring import revealed
from commonplace.core.files import locked, remove_file, remove_leftovers, translated
from commonplace.core.import_notes import NOT_NOTED
from commonplace.journals.private.copied import key_of_copy
from commonplace.journals.private.format import EPOCH, from_millis, parse_day, version_of
from commonplace.journals.private.note import entry_of, note_of, parse_ref
from commonplace.journals.private.pages import page_of
from commonplace.journals.private.places import (
    SCHEME,
    list_day,
    list_days,
    places_of,
    read_bytes,
)
from commonplace.journals.private.portable import (
    JOURNAL,
    PortableThoughts,
    content_of,
    not_in_a_day,
)
from commonplace.journals.private.source import KIND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from commonplace.core.import_notes import NotesImport
    from commonplace.core.values import Page
    from commonplace.journals.private.journal import PrivateJournal
    from commonplace.journals.private.note import PrivateNote
    from commonplace.journals.private.places import EntryPlace
    from commonplace.journals.private.ports import SharedThoughts
    from commonplace.journals.private.roots import Root

_AT_ONCE = 200
_LONGEST_NAME = 200


def list_notes(store: SharedThoughts) -> Iterator[PrivateNote]:
    """All notes, oldest first; few are held in memory."""
    after = None
    while notes := store.list_oldest(_AT_ONCE, after):
        yield from notes
        after = notes[-1].at, notes[-1].ref


class SharedPrivatePages:
    """What opens refs of the private journal in a database; see `core.ports.OpensRefs`."""

    journal = JOURNAL
    kinds = (KIND,)
    ref_form = "private:user/2026-11-21/23-19-45-015109"

    def __init__(self, store: SharedThoughts) -> None:
        self._store = store

    def place_of(self, scope: str) -> str:
        """The scope itself: nobody knows its folder; empty for the user's."""
        return "" if scope == "user" else scope

    def is_away(self, ref: str) -> bool:
        """No: there is no folder that could be."""
        return False

    def read_ref(self, ref: str) -> Page:
        """The entry under a ref, whole, and its neighbours of the same scope; see the port."""
        entry = self._store.read_entry(ref)
        around = self._store.find_around(entry)
        return page_of(entry, around, successor=self._store.find_successor(entry))


class PortableSharedPrivate:
    """Exports the notes of a database, and imports them; see `core.ports.Portable`."""

    journal = JOURNAL
    item_type: Any = PortableThoughts

    def __init__(self, store: SharedThoughts) -> None:
        self._store = store

    def is_empty(self) -> bool:
        """See the port."""
        return not self._store.list_oldest(1, None)

    def export_items(self, since: datetime | None) -> Iterator[PortableThoughts]:
        """See the port; the same as an export of the files would hold."""
        for note in list_notes(self._store):
            if since is None or note.at >= since:
                entry = entry_of(note, self._store.zone)
                yield PortableThoughts(
                    ref=note.ref,
                    at=note.at,
                    supersedes=entry.supersedes,
                    superseded_by=self._store.find_successor(entry),
                    text=entry.raw,
                    changed=note.changed,
                    project=note.project,
                )

    def check_item(self, item: PortableThoughts) -> None:
        """See the port."""
        self._note_of(item)

    def import_items(
        self, items: Iterator[PortableThoughts], noting: NotesImport = NOT_NOTED
    ) -> int:
        """See the port."""
        added = 0
        while batch := [self._note_of(item) for item in islice(items, _AT_ONCE)]:
            known = self._store.find_known([note.ref for note in batch])
            planned = {_key_of(x): version_of(x.content) for x in batch if x.ref not in known}
            noting.put_planned(planned)
            added += len(self._store.add_notes(batch))
            noting.put_added(planned)
        return added

    def _note_of(self, item: PortableThoughts) -> PrivateNote:
        """What is kept of an item. Raises: Invalid, Denied."""
        content, ref = content_of(item), parse_ref(item.ref)
        _, day, name, *below = (*ref.removeprefix(SCHEME).split("/"), "")
        is_plain = name and not name.startswith(".") and len(name) <= _LONGEST_NAME
        if parse_day(day) is None or not is_plain or below != [""]:
            raise not_in_a_day(item.ref)
        changed = item.changed or item.at
        return note_of(ref, content, changed=changed, zone=self._store.zone, project=item.project)


def _key_of(note: PrivateNote) -> str:
    return key_of_copy(note.content.decode("utf-8", "replace")) or note.ref


def move_notes(
    files: PrivateJournal,
    there: SharedThoughts,
    *,
    unfile: Callable[[Sequence[str]], object],
) -> None:
    """Move all entries of a journal in files into the storage that takes its place.

    Also the copies of the notes of projects, and what the keys of calls stand for. May be called
    again, by several processes too: an entry that is there stays as it is there, and one that was
    deleted there does not come back.

    unfile: takes refs out of what followed the files, before they leave.
    Raises: Unavailable, Denied where not all can be moved; then what is left stays.
    """
    with revealed():
        for root, project in _roots_in(files):
            with contextlib.suppress(FileNotFoundError):
                for day in list_days(root):
                    _move_day(root, day, project, there, unfile)
                remove_leftovers(root.path)
                _remove_empty(root.path)
        _move_keys(files.keys.folder, there)


def _roots_in(files: PrivateJournal) -> Iterator[tuple[Root, str]]:
    """The user's root, then the copies of projects with the folder that each is of."""
    user = files.roots[0]
    if user.link() is None:
        yield user, ""
    for root, copy in files.copies.each():
        yield copy, str(root.path)


def _move_day(
    root: Root,
    day: str,
    project: str,
    there: SharedThoughts,
    unfile: Callable[[Sequence[str]], object],
) -> None:
    """Move the entries of a day, whose folder is locked meanwhile."""
    folder = root.path / day
    with translated(folder), locked(folder):
        places = [*places_of(root, day, list_day(root, day))]
        for begin in range(0, len(places), _AT_ONCE):
            some = places[begin : begin + _AT_ONCE]
            refs = [place.ref for place in some]
            if not _arrive([_read_note(x, project, there) for x in some], there):
                raise Unavailable(
                    "Not every entry of {place} could be moved into the database.",
                    hint="Try again; what was moved is not moved twice.",
                    place=folder,
                )
            unfile(refs)
            for place in some:
                remove_file(place.sidecar)
                remove_file(place.path)
        remove_leftovers(folder)
    _remove_empty(folder)


def _arrive(notes: Sequence[PrivateNote], there: SharedThoughts) -> bool:
    """Add the notes that are not known there; whether all are read back, or were known."""
    known = there.find_known([note.ref for note in notes])
    new = [note for note in notes if note.ref not in known]
    added = {*there.add_notes(new)} if new else set()
    found = {note.ref: note.content for note in there.find_notes(sorted(added))}
    if any(found.get(note.ref) != note.content for note in new if note.ref in added):
        return False
    return there.find_known([note.ref for note in notes]) == {note.ref for note in notes}


def _read_note(place: EntryPlace, project: str, there: SharedThoughts) -> PrivateNote:
    content, status = read_bytes(place)
    changed = EPOCH
    with contextlib.suppress(OverflowError):
        changed += timedelta(microseconds=status.st_mtime_ns // 1000)
    return note_of(place.ref, content, changed=changed, zone=there.zone, project=project)


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):  # others lie in it
        os.rmdir(folder)


def _move_keys(folder: Path, there: SharedThoughts) -> None:
    """Move what keys stand for; one whose call was killed stands for nothing."""
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".json")]
    except OSError:
        return
    with locked(folder):
        for begin in range(0, len(names), _AT_ONCE):
            some = names[begin : begin + _AT_ONCE]
            digests = {}
            for name in some:
                with contextlib.suppress(OSError, ValueError, TypeError, KeyError, NotFound):
                    found = json.loads((folder / name).read_bytes())
                    if found["done"] is True:
                        at = from_millis(int(found["millis"]))
                        digests[name.removesuffix(".json")] = ([*map(str, found["refs"])], at)
            there.note_keys(digests)
            for name in some:
                remove_file(folder / name)
        remove_leftovers(folder)
    _remove_empty(folder)
