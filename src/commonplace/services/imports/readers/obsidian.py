"""Obsidian's daily notes: the Markdown files of a vault whose names are days.

Where the vault says in which folder and under which names they lie, that counts.
"""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.files import regular_file
from commonplace.services.imports.entry import ForeignEntry, NotTaken, texts_in
from commonplace.services.imports.notes import note_paths, read_note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import tzinfo

    from commonplace.services.imports.entry import Read
    from commonplace.services.imports.notes import Note

__all__ = ["find", "read"]

_NOON = time(12)
_MONTHS = (
    "january february march april may june july august september october november december".split()
)
_FIGURES = {
    "YYYY": r"(?P<year>\d{4})",
    "YY": r"(?P<short>\d\d)",
    "MMMM": r"(?P<name>[A-Za-z]+)",
    "MMM": r"(?P<name>[A-Za-z]{3})",
    "MM": r"(?P<month>\d\d)",
    "M": r"(?P<month>\d\d?)",
    "DD": r"(?P<day>\d\d)",
    "Do": r"(?P<day>\d\d?)(?:st|nd|rd|th)",
    "D": r"(?P<day>\d\d?)",
    "dddd": r"[^/]+?",
    "ddd": r"[^/]+?",
    "dd": r"[^/]{2}",
    "ww": r"\d\d",
    "WW": r"\d\d",
    "gggg": r"\d{4}",
    "GGGG": r"\d{4}",
    "Q": r"[1-4]",
}
_TOKEN = re.compile(
    r"\[([^\]]*)\]|(" + "|".join(sorted(_FIGURES, key=len, reverse=True)) + r")|(.)"
)
_DAY = re.compile(r"(?:.*/)?(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)")
_LARGEST_SETTINGS = 1024 * 1024


def find(_home: str, _environ: Mapping[str, str]) -> list[str]:
    """Nowhere: a vault may lie anywhere."""
    return []


def read(path: str, *, zone: tzinfo) -> Iterator[Read]:
    """The daily notes of a vault or of a folder in one, each at noon of its day; see the port."""
    if not os.path.isdir(path):
        raise Invalid("{place} is not a folder.", hint="Name the vault's folder.", place=path)
    form = _form_of(path)
    others = found = 0
    for each in note_paths(path):
        name = os.path.relpath(each, path).replace(os.sep, "/").removesuffix(".md")
        day = _day_of(name, form) or _day_of(name, _DAY)
        if day is None:
            others += 1
            continue
        found += 1
        note = read_note(each, path)
        if isinstance(note, NotTaken):
            yield note
        elif not note.body:
            yield NotTaken(why="there is no text in it", where=note.name)
        else:
            yield _entry(note, datetime.combine(day, _NOON, zone).astimezone(UTC))
    if others:
        yield NotTaken(why="notes that are not of a day", count=others)
    if not found:
        raise Invalid(
            "The folder {place} holds no note whose name is a day, such as 2026-11-23.md.",
            hint="Name the vault: its settings say how daily notes are named.",
            place=path,
        )


def _entry(note: Note, at: datetime) -> ForeignEntry:
    tags = note.lists.get("tags") or texts_in(note.keys.get("tags", ""))
    return ForeignEntry(
        id=note.name,
        text=note.body,
        at=at,
        where=note.name,
        tags=tuple(tag.removeprefix("#") for tag in tags),
        metadata={"file": note.name},
    )


def _form_of(vault: str) -> re.Pattern[str]:
    """How the vault names its daily notes; years, months and days with hyphens by default."""
    settings = _settings(os.path.join(vault, ".obsidian", "daily-notes.json"))
    form, folder = settings.get("format"), settings.get("folder")
    if not (isinstance(form, str) and form.strip()):
        return _DAY
    below = folder.strip("/") + "/" if isinstance(folder, str) and folder.strip("/") else ""
    seen: set[str] = set()
    parts = [re.escape(below)]
    for literal, token, sign in _TOKEN.findall(form):
        if not token:
            parts.append(re.escape(literal or sign))
            continue
        figure = _FIGURES[token]
        group = re.match(r"\(\?P<(\w+)>", figure)
        # A year may stand in the folder and in the name.
        parts.append(f"(?P={group[1]})" if group and group[1] in seen else figure)
        seen |= {group[1]} if group else set()
    return re.compile("".join(parts))


def _settings(path: str) -> dict[str, Any]:
    try:
        with regular_file(path) as file:
            found = json.loads(file.read(_LARGEST_SETTINGS))
    except (CommonplaceError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _day_of(name: str, form: re.Pattern[str]) -> date | None:
    found = form.fullmatch(name)
    if found is None:
        return None
    parts = found.groupdict()
    year = int(parts.get("year") or 0) or (2000 + int(parts["short"]) if parts.get("short") else 0)
    month = int(parts.get("month") or 0) or _month(parts.get("name") or "")
    try:
        day = date(year, month, int(parts.get("day") or 0))
    except ValueError:
        return None
    return day if day.year > 1 else None


def _month(name: str) -> int:
    given = name.lower()
    short = len("jan")
    fits = [n for n, each in enumerate(_MONTHS, 1) if given in (each, each[:short])]
    return fits[0] if fits else 0
