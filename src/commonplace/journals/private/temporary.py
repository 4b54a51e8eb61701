"""Moves entries that were written while the home could not be used into the user's own root.

Never removes one before it is whole and durable there, and never writes over another.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, NotFound, Unavailable
from commonplace.core.files import (
    locked,
    make_folder,
    remove_file,
    remove_leftovers,
    sync_folder,
    translated,
    write_new,
)
from commonplace.journals.private.places import (
    SUFFIX,
    EntryPlace,
    list_days,
    list_places,
    read_bytes,
)
from commonplace.journals.private.roots import Root

if TYPE_CHECKING:
    from pathlib import Path

_MICROS = re.compile(r"(.*-)(\d{6})")


def move_entries(source: Path, target: Root) -> None:
    """Move every entry of a temporary folder into the user's root.

    It keeps its ref, unless another text has that there: then it gets the next that is free.
    May be killed at any step and called again, by any number of processes: an entry that is there
    already is only removed here. What is no entry stays, and the folder with it.

    Nothing is done where the folder is not this user's own. Raises: Denied, Unavailable where some
    could not be moved; they are still in it.
    """
    if not is_own_folder(source):
        return
    root = replace(target, path=source, base=None)
    failed: CommonplaceError | None = None
    with contextlib.suppress(NotFound), locked(source):
        for place in list(list_places(root)):
            try:
                with contextlib.suppress(NotFound), locked(place.path.parent):
                    _move(place, target)
            except CommonplaceError as exc:  # the others are moved all the same
                failed = exc
        with translated(source):
            days = list_days(root)
        for folder in (*(source / day for day in days), source):
            remove_leftovers(folder)
            with contextlib.suppress(OSError):  # something else lies in it, or was written since
                os.rmdir(folder)
                sync_folder(folder.parent)
    if failed is not None:
        raise failed


def count_entries(source: Path) -> int:
    """How many entries lie in a temporary folder of this user's own."""
    if not is_own_folder(source):
        return 0
    root = Root(path=source, scope="user", kinds=frozenset())
    try:
        return sum(1 for _ in list_places(root))
    except CommonplaceError:
        return 0


def is_own_folder(path: Path) -> bool:
    """Whether it is a folder, no link, that this user made: anybody may write beside it."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    is_mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return stat.S_ISDIR(found.st_mode) and is_mine


def _move(place: EntryPlace, target: Root) -> None:
    """Copy one entry durably, its time of change too, then remove it where it was."""
    content, status = read_bytes(place)
    if len(content) != status.st_size:
        raise Unavailable("The file {place} is too large to be moved.", place=place.path)
    there = _put(content, EntryPlace(root=target, relative=place.relative))
    with translated(there.path):
        os.utime(there.path, ns=(status.st_mtime_ns, status.st_mtime_ns))
    remove_file(place.sidecar)  # first: by itself it would stay; it is made again
    remove_file(place.path)


def _put(content: bytes, wanted: EntryPlace) -> EntryPlace:
    """Write an entry under its own name, or under the next that is free or has this very text."""
    make_folder(wanted.path.parent)
    remove_leftovers(wanted.path.parent)
    place = wanted
    while True:
        try:
            write_new(place.path, content)
        except FileExistsError:
            if read_bytes(place)[0] == content:
                return place
            place = _next(place)
        else:
            return place


def _next(place: EntryPlace) -> EntryPlace:
    stem = place.relative.removesuffix(SUFFIX)
    found = _MICROS.fullmatch(stem)
    stem = f"{found[1]}{(int(found[2]) + 1) % 1_000_000:06}" if found else f"{stem}-2"
    return replace(place, relative=stem + SUFFIX)
