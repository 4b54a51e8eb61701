"""Markdown notes in a folder: which files there are, their text, their frontmatter.

Never follows a link out of the folder, and never loads YAML: keys with a text or a list count.
"""

from __future__ import annotations

import os
import re
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct, field

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.files import regular_file
from commonplace.services.imports.entry import A_LINK, NotTaken

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LARGEST_NOTE = 10 * 1024 * 1024
_FRONT = re.compile(
    r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_KEY = re.compile(r"([A-Za-z_][\w .-]{0,63}?)[ \t]*:(?:[ \t]+(.*))?", re.DOTALL)
_ITEM = re.compile(r"[ \t]*-[ \t]+(.+)", re.DOTALL)
_BEGINS = re.compile(
    r"(?P<name>(?:-|[^:\n]{1,64}:)[ \t]+)(?:(?P<block>[|>])[-+0-9]{0,2}|(?P<quote>[\"']?).+)"
)
"""A line that may go on in the next: a key or the dash of an item, then its value."""
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED = dict(zip("0abtnvfreN_LP", "\0\a\b\t\n\v\f\r\x1b\x85\xa0\u2028\u2029", strict=True))
"""The characters that letters after a backslash stand for, as YAML 1.2 lists them (section 5.7)."""


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
        return NotTaken(why=A_LINK, where=name)
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
    lists: dict[str, list[str]] = {}
    last = ""
    for line in _unfolded(front):
        item = _ITEM.fullmatch(line)
        if item and last:
            lists.setdefault(last, []).append(_plain(item[1]))
            continue
        found = _KEY.fullmatch(line.strip())
        if found is None:
            continue
        name, value = found[1].strip().lower(), (found[2] or "").strip()
        last = name if not value else ""
        if value.startswith("[") and value.endswith("]"):
            lists.setdefault(name, [_plain(x) for x in value[1:-1].split(",") if x.strip()])
        elif value:
            keys.setdefault(name, _plain(value))
    return keys, {name: tuple(values) for name, values in lists.items()}


def _unfolded(front: str) -> Iterator[str]:
    """The lines with a key or an item, each with those it goes on in: they are indented more."""
    parts: list[str] = []
    begins: re.Match[str] | None = None
    indent, blanks = 0, 0
    for line in front.splitlines():
        text = line.strip()
        depth = len(line) - len(line.lstrip())
        if not text:
            blanks += 1
            continue
        if begins is not None and depth > indent:
            if blanks:
                parts.append("\n" * blanks)
            elif begins["block"] and len(parts) > 1:
                parts.append("\n" if begins["block"] == "|" else " ")
            elif begins["quote"] == '"' and _backslashes(parts[-1]) % 2:
                parts[-1] = parts[-1][:-1]
            elif not begins["block"]:
                parts.append(" ")
            parts.append(text)
        else:
            yield "".join(parts)
            begins, indent = _BEGINS.fullmatch(text), depth
            parts = [begins["name"] if begins is not None and begins["block"] else text]
        blanks = 0
    yield "".join(parts)


def _backslashes(text: str) -> int:
    """How many backslashes a text ends with."""
    return len(text) - len(text.rstrip("\\"))


def _plain(value: str) -> str:
    """The text of a value, which may be quoted."""
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    if len(value) > 1 and value[0] == value[-1] == '"':
        return _ESCAPE.sub(_unescaped, value[1:-1])
    return value


def _unescaped(found: re.Match[str]) -> str:
    code, sign = found[1] or found[2] or found[3], found[4]
    if code:
        number = int(code, 16)
        return chr(number) if number <= sys.maxunicode else "\ufffd"
    return _ESCAPED.get(sign, sign)
