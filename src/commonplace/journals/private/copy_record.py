"""Owns what is known of a project's root beside the copy of its notes, in a file of that copy.

Never holds a word of a note, and takes a damaged file for one that says nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from commonplace.core.files import replace_file
from commonplace.journals.private.folder_identity import FolderIdentity, identity_of

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.journals.private.roots import Root

RECORD = "copy.json"
_LARGEST = 1 << 24


class KnownDay(NamedTuple):
    """A day folder of a project as it was when it was last looked at.

    Attributes:
        number: Its inode.
        born_ns: When it was made; 0 where the disk does not say.
        mtime_ns: When a name in it last came or went; 0 where that was too young to be trusted.
    """

    number: int
    born_ns: int
    mtime_ns: int


class CopyRecord(Struct, kw_only=True):
    """What is known of a root.

    Attributes:
        path: The root, all links followed; empty where the file says nothing.
        mount: The point that the disk with it is mounted at.
        folder: The identity of the folder above the root.
        days: Its day folders.
        gone: The notes that are gone, each with the time at which that was noticed.
        restored: Whether a restore or an import put the copy here and the root may lack all of it.
    """

    path: str = ""
    mount: str = ""
    folder: FolderIdentity = FolderIdentity()
    days: dict[str, KnownDay] = field(default_factory=dict)
    gone: dict[str, str] = field(default_factory=dict)
    restored: bool = False


def new_record(root: Root) -> CopyRecord:
    """The record of a root of which nothing is known yet."""
    record = CopyRecord(path=root.real())
    note_place(record)
    return record


def note_place(record: CopyRecord) -> None:
    """Note on which disk a root that is there lies, and in which folder."""
    at = record.path
    while not os.path.ismount(at) and at != os.path.dirname(at):
        at = os.path.dirname(at)
    record.mount = at
    with contextlib.suppress(OSError):
        record.folder = identity_of(os.path.dirname(record.path))


def is_away(record: CopyRecord, root: Root) -> bool:
    """Whether a root that is not there may be elsewhere: moved, or on a disk that is not mounted.

    Else its project is there and the root is gone.
    """
    above = root.path.parent
    if record.mount and not os.path.ismount(record.mount):
        return True
    try:
        if not os.listdir(above):  # the point of a disk that is taken out is an empty folder
            return identity_of(above) != record.folder
    except OSError:
        return True
    return False


def read_record(copy: Path) -> CopyRecord:
    """The record in a copy's folder; an empty one where there is none."""
    try:
        with open(copy / RECORD, "rb") as file:
            return parse_record(file.read(_LARGEST))
    except OSError:
        return CopyRecord()


def parse_record(content: bytes) -> CopyRecord:
    """What the content of a record says; nothing where it was damaged or made by hand."""
    try:
        said = json.loads(content)
        path, mount, gone = said["path"], said["mount"], said["gone"]
        record = CopyRecord(
            path=str(path) if "\0" not in str(path) else "",
            mount=str(mount),
            folder=FolderIdentity(*(int(x) for x in said["folder"])),
            days={str(x): KnownDay(*map(int, y)) for x, y in said["days"].items()},
            gone={str(x): str(y) for x, y in gone.items() if _is_instant(str(y))},
            restored=said["restored"] is True,
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return CopyRecord()
    return record


def render_record(record: CopyRecord) -> bytes:
    """A record as the content of its file."""
    said = {name: getattr(record, name) for name in record.__struct_fields__}
    return json.dumps(said, indent=0).encode("ascii")


def write_record(copy: Path, record: CopyRecord) -> None:
    """Write a record, unless it says what is there already. Raises: Denied, Unavailable."""
    if record != read_record(copy):
        replace_file(copy / RECORD, render_record(record), mode=0o600)


def path_in_copy(content: bytes) -> str:
    """The root that a record names; empty for none."""
    return parse_record(content).path


def copy_of_path(content: bytes, path: str) -> tuple[str, bytes]:
    """The name and the content of a record whose root lies at this path."""
    record = parse_record(content)
    record.path = os.path.realpath(path)
    return RECORD, render_record(record)


def _is_instant(text: str) -> bool:
    from datetime import datetime

    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
