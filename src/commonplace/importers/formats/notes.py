"""Markdown notes in a folder: which files there are, their text, their frontmatter.

Never follows a link out of the folder, and never loads YAML: what has another shape stays a line.
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
from commonplace.core.importer import A_LINK, NotTaken
from commonplace.importers.formats.dates import instants_of, two_days
from commonplace.importers.formats.decoding import decoded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import tzinfo

LARGEST_NOTE = 10 * 1024 * 1024
_HEAD = 200
_MOST_FRONTS = 3
_FRONT = re.compile(
    r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_KEY = re.compile(r"([A-Za-z_][\w .-]{0,63}?)[ \t]*:(?:[ \t]+(.*))?", re.DOTALL)
_NULL = frozenset({"null", "Null", "NULL", "~"})
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
        properties: All of it that has a value, in its order and as it is named there; a line that
            is neither a key nor an item has no name.
        changed: When the file was last written.
        read_as: The encoding that was guessed, see `ForeignEntry`.
    """

    name: str
    body: str
    changed: datetime
    keys: Mapping[str, str] = field(default_factory=dict)
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    properties: tuple[tuple[str, str], ...] = ()
    read_as: str = ""

    def properties_but(self, *names: str) -> dict[str, str]:
        """The properties but for those of these names, in lower case; nameless lines as one."""
        kept: dict[str, str] = {}
        for name, value in self.properties:
            if name.lower() not in names:
                kept[name] = f"{kept[name]}\n{value}" if name in kept else value
        return kept

    def titled(self, title: str) -> str:
        """Its text, below its title where it does not begin with that."""
        begins = self.body[: len(title) + _HEAD].casefold()
        return self.body if title.casefold() in begins else f"# {title}\n\n{self.body}"


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
        text, read_as = decoded(content)
    except ValueError:
        return NotTaken(why="a file is not text", where=name)
    front, body = _parted(text)
    keys, lists, properties = _parsed(front)
    return Note(
        name=name,
        body=body.strip(),
        changed=changed,
        keys=keys,
        lists=lists,
        properties=tuple(properties),
        read_as=read_as,
    )


def read_at(note: Note, name: str, zone: tzinfo) -> tuple[datetime, datetime | None, str]:
    """The time that a key of a note names: see `ForeignEntry` of `at`, `month_first` and `said`.

    Raises:
        ValueError: It names none; the message is for people.
    """
    value = note.keys[name]
    at, month_first = instants_of(value, zone)
    if at == month_first:
        return at, None, ""
    return at, month_first, two_days(value, at, month_first, zone)


def _parted(text: str) -> tuple[str, str]:
    """The frontmatter and what stands below it.

    A program that does not know a note's frontmatter puts its own above it: a second one that
    follows at once, and has nothing but keys and items, counts as part of the first.
    """
    parts: list[str] = []
    while len(parts) < _MOST_FRONTS and (front := _FRONT.match(text)):
        if parts and not _has_only_keys(front[1]):
            break
        parts.append(front[1])
        text = text[front.end() :]
        text = text.lstrip() if _FRONT.match(text.lstrip()) else text
    return "".join(parts), text


def _has_only_keys(front: str) -> bool:
    lines = [line for line in _unfolded(front) if line and not line.lstrip().startswith("#")]
    return bool(lines) and all(_ITEM.fullmatch(x) or _KEY.fullmatch(x.strip()) for x in lines)


def _parsed(
    front: str,
) -> tuple[dict[str, str], dict[str, tuple[str, ...]], list[tuple[str, str]]]:
    keys: dict[str, str] = {}
    lists: dict[str, list[str]] = {}
    properties: list[tuple[str, str]] = []
    named: str | None = None  # a key whose value may be the list in the next lines
    for line in _unfolded(front):
        item, found = _ITEM.fullmatch(line), _KEY.fullmatch(line.strip())
        if item and named is not None:
            value = _plain(item[1])
            lists.setdefault(named.lower(), []).append(value)
            if properties and properties[-1][0] == named:
                properties[-1] = named, f"{properties[-1][1]}, {value}"
            else:
                properties.append((named, value))
        elif found is None:
            if line.strip() and not line.lstrip().startswith("#"):
                properties.append(("", line.strip()))
        else:
            name, value = found[1].strip(), (found[2] or "").strip()
            named = None if value else name
            if value.startswith("[") and value.endswith("]") and not value.startswith("[["):
                parts = [_plain(x) for x in value[1:-1].split(",") if x.strip()]
                lists.setdefault(name.lower(), parts)
                properties += [(name, ", ".join(parts))] if parts else []
            elif value and value not in _NULL:
                keys.setdefault(name.lower(), _plain(value))
                properties += [(name, _plain(value))] if _plain(value) else []
    return keys, {name: tuple(values) for name, values in lists.items()}, properties


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
