"""Markdown notes in a folder: which files there are, their text, their frontmatter.

Never follows a link out of the folder, and never loads YAML: keys with a text or a list count.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct, field

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.services.imports.entry import NotTaken
from commonplace.services.imports.json_pieces import regular_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LARGEST_NOTE = 10 * 1024 * 1024
_FRONT = re.compile(
    r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_KEY = re.compile(r"([A-Za-z_][\w .-]{0,63}?)[ \t]*:(?:[ \t]+(.*))?")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.+)")


class Note(Struct, frozen=True, kw_only=True):
    """A note.

    Attributes:
        name: Its path in the folder, with `/`.
        body: What stands below the frontmatter.
        keys: What of the frontmatter is a text, by its name in lower case; the keys of a mapping
            in it as well, where no other has that name.
        lists: What of it is a list of texts.
        changed: When the file was last written.
    """

    name: str
    body: str
    changed: datetime
    keys: Mapping[str, str] = field(default_factory=dict)
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def note_paths(folder: str) -> Iterator[str]:
    """The Markdown files below a folder, those of hidden folders aside, in the order of names.

    Raises: Invalid for what is not a folder.
    """
    if not os.path.isdir(folder):
        raise Invalid("{place} is not a folder.", hint="Name the folder.", place=folder)
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(x for x in folders if not x.startswith("."))
        for name in sorted(files):
            if name.lower().endswith(".md") and not name.startswith("."):
                yield os.path.join(base, name)


def read_note(path: str, folder: str) -> Note | NotTaken:
    """A note of a folder; what cannot be read hinders no other."""
    name = os.path.relpath(path, folder).replace(os.sep, "/")
    if os.path.islink(path):
        return NotTaken(why="a link to another place", where=name)
    try:
        with regular_file(path) as file:
            content = file.read(LARGEST_NOTE + 1)
            changed = datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
    except (CommonplaceError, OverflowError, ValueError):
        return NotTaken(why="a file cannot be read", where=name)
    if len(content) > LARGEST_NOTE:
        return NotTaken(why="it is longer than 10 MB", where=name)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return NotTaken(why="a file is not UTF-8", where=name)
    front = _FRONT.match(text)
    keys, lists = _parsed(front[1]) if front else ({}, {})
    body = text[front.end() :] if front else text
    return Note(name=name, body=body.strip(), changed=changed, keys=keys, lists=lists)


def _parsed(front: str) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    keys: dict[str, str] = {}
    lists: dict[str, tuple[str, ...]] = {}
    last = ""
    for line in front.splitlines():
        item = _ITEM.fullmatch(line)
        if item and last:
            lists[last] = (*lists.get(last, ()), _plain(item[1]))
            continue
        found = _KEY.fullmatch(line.strip())
        if found is None:
            continue
        name, value = found[1].strip().lower(), (found[2] or "").strip()
        last = name if not value else ""
        if value.startswith("[") and value.endswith("]"):
            lists.setdefault(name, tuple(_plain(x) for x in value[1:-1].split(",") if x.strip()))
        elif value:
            keys.setdefault(name, _plain(value))
    return keys, lists


def _plain(value: str) -> str:
    value = value.strip()
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value
