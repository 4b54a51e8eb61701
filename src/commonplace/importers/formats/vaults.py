"""Notes of a vault as entries: their day, their title, their tags, their other properties.

Never drops a property: what is neither a tag nor empty stands below the text, a line for each.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING

from commonplace.core.importer import ForeignEntry, NotTaken
from commonplace.core.when.days import MONTHS
from commonplace.importers.formats.dates import day_of
from commonplace.importers.formats.notes import read_at

if TYPE_CHECKING:
    from datetime import tzinfo

    from commonplace.core.importer import Read
    from commonplace.importers.formats.notes import Note

DAY_NAME = re.compile(r"(?:.*/)?(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)")
"""A note named by its day, such as `2026-11-23`, in any folder."""

_BEGINS_WITH_DAY = re.compile(r"(?:.*/)?(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?!\d)[^/]*")
_NOON = time(12)
_DATES = ("date", "created", "created at", "date created", "creation date", "datetime")
_TAGS = ("tags", "tag")
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


def day_form(form: str, folder: str = "") -> re.Pattern[str]:
    """The names of the notes of days in a folder, of a form in the letters of Moment.js."""
    below = folder.strip("/") + "/" if folder.strip("/") else ""
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


def day_in(name: str, form: re.Pattern[str]) -> date | None:
    """The day whose note a name is; None for any other note."""
    return _day(form.fullmatch(name)) or _day(DAY_NAME.fullmatch(name))


def entry_of(note: Note, zone: tzinfo, *, day: date | None, title: str = "") -> Read:
    """A note as an entry, at noon of its day, or below its title at its date property.

    Where it has neither, at noon of the day that its name begins with, or when its file changed.
    Its title stands in place of the name of its file.
    """
    tags = tuple(dict.fromkeys(_tags(note)))
    others = [
        (f"{name}: " if name else "", value.replace("\n", "\n  "))
        for name, value in note.properties
        if name.lower() not in _TAGS
    ]
    lines = [f"- {name}{value}" for name, value in others]
    if not note.body and not lines:
        return NotTaken(why="there is no text in it", where=note.name)
    title = title or note.name.rpartition("/")[2].removesuffix(".md")
    text = note.titled(title) if day is None else note.body
    at, month_first, said = _time(note, zone, day)
    return ForeignEntry(
        id=note.name,
        text="\n\n".join(part.strip() for part in (text, "\n".join(lines)) if part),
        at=at or note.changed,
        where=note.name,
        tags=tags,
        metadata={"file": note.name},
        is_dated=at is not None,
        month_first=month_first,
        said=said,
        read_as=note.read_as,
    )


def _time(
    note: Note, zone: tzinfo, day: date | None
) -> tuple[datetime | None, datetime | None, str]:
    """The time of a note, and what `ForeignEntry` says of it; none where it has none of its own."""
    if day is None:
        named = {re.sub("[-_ ]+", " ", key): key for key in note.keys}
        for key in (named[name] for name in _DATES if name in named):
            try:
                return read_at(note, key, zone)
            except ValueError:  # a template's, or a word for a time: it stays a line
                continue
        day = _day(_BEGINS_WITH_DAY.fullmatch(note.name))
    if day is None:
        return None, None, ""
    return datetime.combine(day, _NOON, zone).astimezone(UTC), None, ""


def _tags(note: Note) -> list[str]:
    """Its tags: of a list, or between commas or spaces, which no tag of a vault holds."""
    found: list[str] = []
    for key in _TAGS:
        found += note.lists.get(key, ())
        found += re.split(r"[,\s]+", note.keys.get(key, ""))
    return [tag.removeprefix("#") for tag in found if tag.strip("# ")]


def _day(found: re.Match[str] | None) -> date | None:
    if found is None:
        return None
    parts = found.groupdict()
    year = int(parts.get("year") or 0) or (2000 + int(parts["short"]) if parts.get("short") else 0)
    month = int(parts.get("month") or 0) or MONTHS.get((parts.get("name") or "").lower(), 0)
    day = day_of(year, month, int(parts.get("day") or 0))
    return day if day is not None and day.year > 1 else None
