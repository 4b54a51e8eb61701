"""jrnl's diaries: its text files, one or one a day, and the JSON that it exports.

An entry has no id there: its minute and its title stand for one, in both forms alike.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import Invalid
from commonplace.core.importer import (
    A_LINK,
    ForeignEntry,
    NotTaken,
    instant_of,
    text_in,
    texts_in,
)
from commonplace.core.json_reader import JsonReader
from commonplace.core.text import opening
from commonplace.importers.formats.decoding import from_utf8, opened_as_utf8

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import tzinfo
    from typing import IO

    from commonplace.core.importer import Into, Read

title = "jrnl"
takes = "its journal file or folder, or what `jrnl --format json` wrote"
into: Into = "private"

_HEAD = re.compile(r"\[([^\]]{6,40})\] ?(.*)", re.DOTALL)
_TIME_FORMATS = (
    "%Y-%m-%d %I:%M:%S %p",
    "%Y-%m-%d %I:%M %p",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d",
)
_ENCRYPTED = (b"gAAAA", b"pbkdf2")
_DAY_FILE = re.compile(r"\d{4}[/\\]\d\d[/\\]\d\d\.txt")
_LONGEST_TITLE = 200
_LONGEST_LINE = 1024 * 1024
_LONGEST_TEXT = 12 * 1024 * 1024


def find(home: str, environ: Mapping[str, str]) -> list[str]:
    """The journal that jrnl makes where none is set."""
    shared = environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    path = os.path.join(shared, "jrnl", "journal.txt")
    return [path] if os.path.exists(path) else []


def read(path: str, *, zone: tzinfo) -> Iterator[Read]:
    """The entries of a journal; see the port."""
    names = _Names(zone)
    if os.path.isdir(path):
        found = 0
        for each in _day_files(path):
            found += 1
            if os.path.islink(each):
                yield NotTaken(why=A_LINK, where=os.path.relpath(each, path))
                continue
            with opened_as_utf8(each) as file:
                yield from _texts(file, each, zone, names)
        if not found:
            raise Invalid(
                "The folder {place} holds no journal of jrnl's: no file such as 2026/11/23.txt.",
                hint="Name the journal's file or folder; `jrnl --list` shows them.",
                place=path,
            )
        return
    with opened_as_utf8(path) as file:
        head = file.peek(64)[:64]
        if head.startswith(_ENCRYPTED):
            raise Invalid(
                "The journal {place} is encrypted.",
                hint="Export it with `jrnl --format json --file diary.json`, then name that file.",
                place=path,
            )
        is_json = head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
        yield from (_exported if is_json else _texts)(file, path, zone, names)


class _Names:
    """Ids of entries: the minute and the title, numbered where two have the same."""

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._seen: Counter[str] = Counter()
        self._minute = ""

    def of(self, at: datetime, text: str) -> str:
        minute = at.astimezone(self._zone).strftime("%Y-%m-%d %H:%M")
        if minute != self._minute:
            # Entries lie in the order of time: only those of one minute can be alike.
            self._minute = minute
            self._seen.clear()
        title = " ".join(text.partition("\n")[0].split())[:_LONGEST_TITLE].rstrip(" *")
        self._seen[title] += 1
        number = self._seen[title]
        return f"{minute} {title}{f' ({number})' if number > 1 else ''}"


def _day_files(folder: str) -> Iterator[str]:
    for base, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            whole = os.path.join(base, name)
            if _DAY_FILE.fullmatch(os.path.relpath(whole, folder)):
                yield whole


def _texts(file: IO[bytes], path: str, zone: tzinfo, names: _Names) -> Iterator[Read]:
    at: datetime | None = None
    begins, size, lines, guessed = 0, 0, list[str](), ""
    number, short = 0, os.path.basename(path)
    while raw := file.readline(_LONGEST_LINE):
        number += 1
        line, read_as = from_utf8(raw)
        head = _HEAD.fullmatch(line)
        when = _parsed(head[1], zone) if head else None
        if head is not None and when is not None:
            if at is not None:
                yield _entry(at, "".join(lines), f"{short} line {begins}", names, guessed)
            at, begins, lines, size, guessed = when, number, [head[2]], 0, read_as
        elif at is not None:
            size, guessed = size + len(line), guessed or read_as
            if size <= _LONGEST_TEXT:  # a longer one is left out whole, and need not be held
                lines.append(line)
        elif line.strip():
            raise Invalid(
                f"The journal {{place}}, line {number}, does not begin with a time such as"
                f" [2026-11-23 09:30 AM]: {opening(line.strip(), 60)!r}.",
                hint="Export it with `jrnl --format json --file diary.json`, then name that file.",
                place=path,
            )
    if at is not None:
        yield _entry(at, "".join(lines), f"{short} line {begins}", names, guessed)


def _entry(at: datetime, text: str, where: str, names: _Names, read_as: str) -> ForeignEntry:
    title, feed, body = text.partition("\n")
    # As jrnl itself takes them away: it writes a star behind one that the user put before.
    is_starred = title.rstrip().endswith("*")
    text = f"{title.strip(' *') if is_starred else title.rstrip()}{feed}{body}".strip()
    return ForeignEntry(
        id=names.of(at, text),
        text=text,
        at=at,
        where=where,
        tags=("starred",) if is_starred else (),
        read_as=read_as,
    )


def _parsed(text: str, zone: tzinfo) -> datetime | None:
    for form in _TIME_FORMATS:
        try:
            return datetime.strptime(text.strip(), form).replace(tzinfo=zone).astimezone(UTC)
        except (ValueError, OverflowError):
            continue
    return None


def _exported(file: IO[bytes], path: str, zone: tzinfo, names: _Names) -> Iterator[Read]:
    document = JsonReader(file.read, path)
    has_entries = False
    for name in document.members():
        if name != "entries":
            continue
        has_entries = True
        for line in document.elements():
            yield _of_json(document.value(), f"line {line}", zone, names)
    if not has_entries:
        raise Invalid(
            "The file {place} holds no `entries`: it is not an export of jrnl's.",
            hint="Export with `jrnl --format json --file diary.json`.",
            place=path,
        )


def _of_json(fields: Any, where: str, zone: tzinfo, names: _Names) -> Read:
    if not isinstance(fields, dict):
        return NotTaken(why="an entry is not an object", where=where)
    try:
        at = instant_of(f"{fields.get('date')} {fields.get('time') or '00:00'}", zone)
    except ValueError:
        said = opening(f"{fields.get('date')} {fields.get('time')}", 40)
        return NotTaken(why="its date and time are not a time", where=f"{where}: {said!r}")
    parts = (text_in(fields.get("title")).strip(), text_in(fields.get("body")).strip())
    text = "\n".join(part for part in parts if part)
    starred = ("starred",) if fields.get("starred") is True else ()
    # Tags stand in the text with their sign, except where another program's have none.
    tags = tuple(x for x in texts_in(fields.get("tags")) if x not in text)
    return ForeignEntry(
        id=text_in(fields.get("uuid")) or names.of(at, text),
        text=text,
        at=at,
        where=where,
        tags=(*tags, *starred),
    )
