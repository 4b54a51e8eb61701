"""Owns the text of a private entry: how it is rendered, and how all ever written is parsed.

Never reads a file, never refuses a text, and never loads YAML: only `key: value` lines count.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.brief_item import OWN, REPOSITORY
from commonplace.core.clock import micros
from commonplace.core.digest import sha256_hex
from commonplace.core.text import fold_name, well_formed
from commonplace.journals.private.markdown import (
    SUPERSEDED_BY,
    SUPERSEDES,
    WRITTEN,
    fenced_lines,
    parse_keys,
    split_frontmatter,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from datetime import tzinfo
    from pathlib import Path

# Field of a write and heading in the file, in the order of the file.
HEADINGS: dict[str, str] = {
    "feelings": "Feelings",
    "reflections": "Reflections",
    "observations": "Observations",
    "project_notes": "Project Notes",
    "user_context": "User Context",
    "technical_insights": "Technical Insights",
    "world_knowledge": "World Knowledge",
}

_CATEGORIES = frozenset(fold_name(heading) for heading in HEADINGS.values())

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Earlier stamps are seconds taken for milliseconds, later ones microseconds.
EARLIEST = datetime(1971, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_TIME_TITLE = re.compile(r"\d{1,2}:\d\d:\d\d [AaPp]\.?[Mm]\.? - \w+ \d{1,2}, \d{4}")
_OLD_TITLE = re.compile(rf"\A\s*# {_TIME_TITLE.pattern}[ \t]*(?:\r?\n|\Z)")
_BLANK_LINES = re.compile(r"(?:\r?\n){3,}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_STEM = re.compile(r"(\d{2})-(\d{2})-(\d{2})(?:-(\d{3}|\d{6}))?")

# The whitespace of ECMAScript's `trim`, and its line ends: the reference's regexes speak these.
_JS_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
# Ours also takes what Python counts as space, so that a text is blank everywhere or nowhere.
_SPACE = _JS_SPACE + "\x1c\x1d\x1e\x1f\x85"
_JS_FRONTMATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_JS_HEADING = re.compile("(?:\\A|(?<=[\n\r\u2028\u2029]))## ([^\n\r\u2028\u2029]+)")


class PrivateEntry(Struct, frozen=True, kw_only=True):
    """One private entry, as read from its file.

    Attributes:
        scope: `user`, or `project@` and eight hex digits.
        at: Aware UTC.
        headings: `##` lines outside code fences, as written.
        text: What is searched.
        raw: The whole file.
        stamp: Size and mtime.
        version: The file's sha256, for `expected` in an edit or a deletion.
        supersedes: The ref that its frontmatter names as replaced; empty for none.
        superseded_by: The ref that it names in its place; empty for none.
        written: When it was written down, where it says so: `at` is another time then.
        whose: As `NoteWords.asked` says of its file.
    """

    ref: str
    scope: str
    path: Path
    at: datetime
    headings: tuple[str, ...]
    text: str
    raw: str
    stamp: str
    version: str
    supersedes: str = ""
    superseded_by: str = ""
    written: datetime | None = None
    whose: str = ""

    @property
    def word(self) -> str:
        """The owner's, or a repository's: of one that changed since the user trusted it too."""
        return OWN if self.whose in ("", f":{self.version}") else REPOSITORY

    @property
    def kind(self) -> str:
        """`project` or `user`, as answers name the root it lies in."""
        return self.scope.partition("@")[0]


class Parsed(Struct, frozen=True, kw_only=True):
    """The text of an entry taken apart.

    Attributes:
        frontmatter: Its keys, in lower case.
    """

    frontmatter: Mapping[str, str]
    headings: tuple[str, ...]
    text: str


def to_millis(at: datetime) -> int:
    """Whole milliseconds since 1970, rounded down, as the frontmatter counts."""
    return (at - EPOCH) // timedelta(milliseconds=1)


def from_millis(millis: int) -> datetime:
    """The instant of a count of milliseconds since 1970."""
    return EPOCH + timedelta(milliseconds=millis)


def render_day(at: datetime, zone: tzinfo) -> str:
    """The day folder of an instant: its local date."""
    return at.astimezone(zone).date().isoformat()


def render_stem(at: datetime, zone: tzinfo, micros: int) -> str:
    """The file name of an instant without `.md`: local time, then micros (0..999999)."""
    return f"{at.astimezone(zone):%H-%M-%S}-{micros:06d}"


def first_micros(at: datetime, random_micros: int) -> int:
    """The six digits of a file name: the instant's milliseconds, then a random number of 0..999."""
    return at.microsecond // 1000 * 1000 + random_micros


def render_thoughts(thoughts: Mapping[str, str]) -> str:
    """What stands below the frontmatter: each field's text under its heading."""
    sections = [f"## {h}\n\n{thoughts[f]}" for f, h in HEADINGS.items() if f in thoughts]
    return "\n\n".join(sections)


def written_line(written: datetime | None) -> str:
    """The line of a frontmatter that says when an entry was written down; empty for None."""
    return "" if written is None else f"{WRITTEN}: {_stamp(written)}\n"


def _stamp(at: datetime) -> str:
    utc = at.astimezone(UTC).replace(tzinfo=None)
    return f"{utc.isoformat(timespec='milliseconds')}Z"


def render_file(body: str, at: datetime, zone: tzinfo, more: str = "") -> str:
    """A file, byte for byte as private-journal-mcp writes it.

    more: further lines of the frontmatter, which that tool passes over.
    """
    lines = "".join(f"{line}\n" for line in _lines_of_time(at, zone).values())
    return well_formed(f"---\n{lines}{more}---\n\n{body}\n")


def _lines_of_time(at: datetime, zone: tzinfo) -> dict[str, str]:
    """The lines of a frontmatter that say when an entry was, by their keys."""
    local = at.astimezone(zone)
    half = "AM" if local.hour < 12 else "PM"  # noqa: PLR2004  noon
    clock = f"{local.hour % 12 or 12}:{local.minute:02d}:{local.second:02d} {half}"
    title = f"{clock} - {_MONTHS[local.month - 1]} {local.day}, {local.year}"
    return {
        "title": f'title: "{title}"',
        "date": f"date: {_stamp(at)}",
        "timestamp": f"timestamp: {to_millis(at)}",
    }


def with_time(raw: str, at: datetime, zone: tzinfo, *, written: datetime) -> str:
    """A file that says another time in its frontmatter, in each line that says one.

    A title that names no time stays. written: when it was written down, for one that does not say.
    """
    head, body = split_frontmatter(raw)
    keys = parse_keys(head)
    if not keys.keys() - {SUPERSEDED_BY}:  # the time of the oldest stands in a title of its text
        body = _OLD_TITLE.sub("", body, count=1)
    lines = _lines_of_time(at, zone)
    new = []
    for line in head.split("\n"):
        key = next(iter(parse_keys(line)), "")
        is_time = key != "title" or _TIME_TITLE.fullmatch(keys["title"])
        new.append(lines.pop(key) if key in lines and is_time else line)
    made = "\n".join(new) + body
    for key in ("date", "timestamp"):
        if key in lines:
            made = _with_key(made, key, lines[key].partition(": ")[2])
    return made if WRITTEN in keys else _with_key(made, WRITTEN, _stamp(written))


def mark_superseded(raw: str, successor: str) -> str:
    """A file whose frontmatter says which entry took its place; one without gets a frontmatter."""
    return _with_key(raw, SUPERSEDED_BY, successor)


def mark_superseding(raw: str, former: str) -> str:
    """The file with the ref of the entry that it replaced in its frontmatter, once."""
    return _with_key(raw, SUPERSEDES, former)


def without_superseded(raw: str) -> str:
    """The file as it was before `mark_superseded`, byte for byte."""
    return _without_key(raw, SUPERSEDED_BY)


def rewritten(content: bytes, change: Callable[[str], str]) -> bytes:
    """The bytes of a file whose text is changed; what is not UTF-8 in it stays."""
    text = content.decode("utf-8", "surrogateescape")
    return change(text).encode("utf-8", "surrogateescape")


def _with_key(raw: str, key: str, value: str) -> str:
    kept = _without_key(raw, key)
    frontmatter, _ = split_frontmatter(kept)
    line = f"{key}: {value}\n"
    # The last line of a frontmatter is its closing `---`.
    end = len(frontmatter.rstrip()) - 3
    if end > 0:
        return f"{kept[:end]}{line}{kept[end:]}"
    mark, text = _split_byte_order_mark(kept)
    return f"{mark}---\n{line}---\n{text}"


def _without_key(raw: str, key: str) -> str:
    frontmatter, _ = split_frontmatter(raw)
    lines = frontmatter.split("\n")
    kept = "\n".join(line for line in lines if key not in parse_keys(line))
    if kept == frontmatter:
        return raw
    # A frontmatter of this key alone was made for it.
    mark, left = _split_byte_order_mark(kept)
    return (mark if left == "---\n---\n" else kept) + raw[len(frontmatter) :]


def _split_byte_order_mark(text: str) -> tuple[str, str]:
    rest = text.removeprefix("\ufeff")
    return text[: len(text) - len(rest)], rest


def decode(content: bytes) -> str:
    """The bytes of a file as text; what is not UTF-8 becomes U+FFFD."""
    return content.decode("utf-8", "replace")


def version_of(content: bytes) -> str:
    """The sha256 of a file's bytes, in hex."""
    return sha256_hex(content)


def parse_entry(raw: str) -> Parsed:
    """Take a file's text apart; any text is an entry."""
    frontmatter, body = split_frontmatter(raw)
    keys = parse_keys(frontmatter)
    # The oldest entries have a title in place of a frontmatter; `mark_superseded` gives them one.
    is_titled = not keys.keys() - {SUPERSEDED_BY}
    headings, text = _split_headings(_OLD_TITLE.sub("", body, count=1) if is_titled else body)
    return Parsed(
        frontmatter=keys,
        headings=tuple(dict.fromkeys(headings)),
        text=_BLANK_LINES.sub("\n\n", text).strip(_SPACE),
    )


def is_category(heading: str) -> bool:
    """Whether a heading is that of a category: the same for every entry of it."""
    return fold_name(heading) in _CATEGORIES


def with_frontmatter(text: str, former: str) -> str:
    """A text with the frontmatter of the file whose place it takes, unless it has one."""
    frontmatter = split_frontmatter(former)[0]
    if not frontmatter or split_frontmatter(text)[0]:
        return text
    return frontmatter.rstrip("\r\n") + "\n" + ("" if text[0] == "\n" else "\n") + text


def without_headings(raw: str, names: Collection[str]) -> str:
    """A file without the lines of some headings; what stands below them stays."""
    frontmatter, body = split_frontmatter(raw)
    lines = body.split("\n")
    fenced = fenced_lines(lines)
    kept = [
        line
        for number, line in enumerate(lines)
        if number in fenced or not line.startswith("## ") or line[3:].strip() not in names
    ]
    return frontmatter + "\n".join(kept)


def _split_headings(body: str) -> tuple[list[str], str]:
    """The headings of a body, and the body without them but with the titles that are text.

    A heading that only names a category says nothing of the entry; one that a person wrote does.
    """
    lines = body.split("\n")
    fenced = fenced_lines(lines)
    headings: list[str] = []
    kept: list[str] = []
    for number, line in enumerate(lines):
        name = line[3:].strip() if line.startswith("## ") and number not in fenced else ""
        kept.append(("" if is_category(name) else name) if name else line)
        if name:
            headings.append(name)
    return headings, "\n".join(kept)


def entry_at(
    frontmatter: Mapping[str, str], day: str, stem: str, mtime: datetime, zone: tzinfo
) -> datetime:
    """When an entry was written: its own timestamp, else its date, else its path, else its mtime.

    A value that does not parse, or lies outside 1971..2199, hands over to the next.

    A date without a zone, and the path, are read in the owner's zone.
    """
    return (
        _parse_timestamp(frontmatter.get("timestamp", ""))
        or _parse_date(frontmatter.get("date", ""), zone)
        or _parse_path(day, stem, mtime, zone)
        or mtime
    )


def written_of(frontmatter: Mapping[str, str], zone: tzinfo) -> datetime | None:
    """When an entry was written down, where its frontmatter says so; None for no plain time."""
    return _parse_date(frontmatter.get(WRITTEN, ""), zone)


def turn_of(written: datetime | None) -> int:
    """Where an entry stands among those of its instant: behind those that were written before it.

    written: As in `written_of`; who writes at once stands before all that was written down later.
    """
    return 0 if written is None else micros(written)


def _parse_timestamp(value: str) -> datetime | None:
    try:
        return _plausible(from_millis(int(float(value)) if "." in value else int(value[:20])))
    except (ValueError, OverflowError):
        return None


def _parse_date(value: str, zone: tzinfo) -> datetime | None:
    try:
        at = datetime.fromisoformat(value)
        return _plausible((at if at.tzinfo else at.replace(tzinfo=zone)).astimezone(UTC))
    except (ValueError, OverflowError):
        return None


def _plausible(at: datetime) -> datetime | None:
    return at if EARLIEST <= at < LATEST else None


def parse_day(name: str) -> date | None:
    """The date a folder is named for, or None."""
    if _DAY.fullmatch(name) is None:
        return None
    try:
        return date.fromisoformat(name)
    except ValueError:
        return None


def _parse_path(folder: str, stem: str, mtime: datetime, zone: tzinfo) -> datetime | None:
    day = parse_day(folder)
    if day is None:
        return None
    try:
        midnight = datetime(day.year, day.month, day.day, tzinfo=zone)
        match = _STEM.fullmatch(stem)
        if match:
            micros = int((match[4] or "0").ljust(6, "0"))
            hour, minute, second = int(match[1]), int(match[2]), int(match[3])
            local = midnight.replace(hour=hour, minute=minute, second=second, microsecond=micros)
            return local.astimezone(UTC)
        # A name that holds no time: the mtime if it lies in the day, else the day's first moment.
        return mtime if mtime.astimezone(zone).date() == day else midnight.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def reference_text(raw: str) -> tuple[str, tuple[str, ...]]:
    """The text and the sections that private-journal-mcp takes from a file, exactly as it does.

    For `.embedding` alone: it knows no code fences, no CRLF frontmatter and no byte order mark.
    """
    body = _JS_FRONTMATTER.sub("", raw, count=1)
    sections = tuple(_JS_HEADING.findall(body))
    text = re.sub(r"\n{3,}", "\n\n", _JS_HEADING.sub("", body))
    return text.strip(_JS_SPACE), sections
