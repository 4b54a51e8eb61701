"""Owns what an entry of the timeline is: its value, its types, its ids and its metadata.

Never reads a disk or a clock. A rollup is an entry too: of a period, written by us alone.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct, field

from commonplace.core.clock import local_date, period_key, render_date, render_time
from commonplace.core.digest import sha256_hex
from commonplace.core.errors import Invalid, has_changed
from commonplace.core.fence import shows_nothing
from commonplace.core.owner_folders import LONGEST_OWNER
from commonplace.core.rollups import without_labels
from commonplace.core.spaces import author_at_work, is_space
from commonplace.core.text import json_kind, nearest, opening, storable, well_formed
from commonplace.core.values import Doc, Interval, superseding_tags

if TYPE_CHECKING:
    from datetime import tzinfo

    from commonplace.core.clock import Level

PeriodName: TypeAlias = Literal["hourly", "daily", "weekly", "monthly", "yearly"]

LEVELS: tuple[Level, ...] = ("hour", "day", "week", "month", "year")
"""Lowest first; a level's number is its place here, from 1: raw entries are level 0."""

PERIODS: Mapping[PeriodName, Level] = {
    "hourly": "hour",
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "yearly": "year",
}

JOURNAL = "timeline"
RAW = "raw"
PROFILE = "profile_snapshot"
AUTHOR = "author"
"""The name in the metadata of the member of a space who recorded an entry."""
SUPERSEDES = "supersedes"
"""The name in the metadata under which the ref of the entry stands whose place another took."""
ROLLUP_TYPES: Mapping[Level, str] = {level: f"{name}_rollup" for name, level in PERIODS.items()}
TYPES = (RAW, PROFILE, *ROLLUP_TYPES.values())
FACT = "fact"
"""The design's name, in a search alone, of raw entries that a memory system kept as a `fact`."""
MEMORY_TYPE = "memory_type"
"""The name in the metadata under which the type of a memory stands."""
NAMES: Mapping[Level, PeriodName] = {level: name for name, level in PERIODS.items()}

LONGEST = 1024 * 1024
_WIDEST = 4  # bytes of a character in UTF-8
LONGEST_METADATA = 64 * 1024
_PACKED = 16
EARLIEST = datetime(10, 1, 1, tzinfo=UTC)
LATEST = datetime(9980, 1, 1, tzinfo=UTC)
_MOST_NAMES = 100
_TICK = timedelta(microseconds=1)
FORM = ".2"
"""The form in which summaries and facts are filed: with another one they are filed again, once."""

KEYS = uuid.UUID("8f0f3a5e-7c1b-5d52-9a6e-4b1d2c7e9f30")


class TimelineEntry(Struct, frozen=True, kw_only=True):
    """One entry.

    Attributes:
        at: Its time; of a rollup the last instant of its period.
        start, end: The period it is of, half-open; of a raw entry its hour.
        level: 0, or a rollup's number (1 hour … 5 year).
        zone_name: The zone that cut a rollup's period.
        hash: Of all that readers see of it.
        parent_id: Of the smallest rollup that it went into and that is there; this and what
            follows is filled by `TimelineJournal.whole_of`.
        sources: Ids it was made from.
        stale: Something of them changed since.
    """

    seq: int
    id: str
    thread_id: str
    content: str
    entry_type: str
    at: datetime
    start: datetime
    end: datetime
    metadata: Mapping[str, Any]
    level: int
    status: str
    created: datetime
    updated: datetime
    zone_name: str = ""
    hash: bytes = b""
    parent_id: str | None = None
    sources: tuple[str, ...] = ()
    stale: bool = False

    @property
    def ref(self) -> str:
        """Its address: `timeline:<id>`."""
        return ref_of(self.id)

    @property
    def kind(self) -> str:
        """Its type."""
        return self.entry_type

    @property
    def text(self) -> str:
        """Its content."""
        return self.content

    @property
    def supersedes(self) -> str:
        """The ref of the entry whose place it took; empty for none."""
        ref = self.metadata.get(SUPERSEDES)
        return ref if isinstance(ref, str) and ref.startswith(f"{JOURNAL}:") else ""

    @property
    def pinned(self) -> bool:
        """Whether retention leaves it alone."""
        return self.metadata.get("pinned") is True or self.entry_type == PROFILE

    @property
    def partial(self) -> bool:
        """Whether its period is still open: computed on demand, and stored nowhere."""
        return self.metadata.get("partial") is True

    def as_dict(self) -> dict[str, Any]:
        """The entry in the keys of the design; a rollup with the ids it was made from."""
        metadata = dict(self.metadata)
        if self.level:
            metadata["source_entries"] = list(self.sources)
        return {
            "id": self.id,
            "thread_id": self.thread_id,
            "content": self.content,
            "entry_type": self.entry_type,
            "timestamp": render_time(self.at),
            "period_start": render_time(self.start),
            "period_end": render_time(self.end),
            "metadata": metadata,
            "parent_id": self.parent_id,
            "rollup_level": self.level,
            "status": self.status,
            "created_at": render_time(self.created),
            "updated_at": render_time(self.updated),
            "stale": self.stale,
        }


class TimelineDraft(Struct, frozen=True, kw_only=True):
    """An entry to be added.

    Attributes:
        at: None for now.
        key: The same twice is one entry.
        id: Of an entry that had one before, in another database; else one is made.
    """

    content: str
    entry_type: str = RAW
    at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    id: str = ""


def ref_of(entry_id: str) -> str:
    """The address of an entry."""
    return f"{JOURNAL}:{entry_id}"


def id_of(ref: str) -> str:
    """The id of the entry under an address; an id stays as it is."""
    return ref.removeprefix(f"{JOURNAL}:")


def rollup_id(level: Level, key: str, zone_name: str = "") -> str:
    """`rollup_hourly_20250204_10`, `rollup_weekly_2025W06`; a later zone's ends `@<zone>`."""
    compact = key.replace("-", "").replace("T", "_")
    return f"rollup_{NAMES[level]}_{compact}{f'@{zone_name}' if zone_name else ''}"


def find_rollup_key(entry_id: str) -> str:
    """The name of the period that a rollup's id stands for, as `rollup_id` made it; empty for none.

    Of a period that goes on, or in which nothing happened, nothing is stored under that id.
    """
    found = _ROLLUP_ID.fullmatch(entry_id.partition("@")[0])
    if found is None:
        return ""
    year, week, month, day, hour = found.groups()
    parts = (f"-W{week}" if week else "", *(f"-{x}" if x else "" for x in (month, day)))
    return f"{year}{''.join(parts)}{f'T{hour}' if hour else ''}"


_ROLLUP_ID = re.compile(
    r"rollup_(?:hourly|daily|weekly|monthly|yearly)_([0-9]{4})"
    r"(?:W([0-9]{2})|([0-9]{2})(?:([0-9]{2})(?:_([0-9]{2}b?))?)?)?"
)


def pack_id(entry_id: str) -> bytes:
    """An id as tombstones keep it: a UUID in its 16 bytes, another one in any number but 16."""
    try:
        made = uuid.UUID(entry_id)
    except ValueError:
        made = None
    if made is not None and str(made) == entry_id:
        return made.bytes
    text = entry_id.encode("utf-8", "replace")
    # The first byte says whether a last one was added.
    return b"+" + text + b"+" if len(text) == _PACKED - 1 else b"=" + text


def unpack_id(packed: bytes | str) -> str:
    """An id from what `pack_id` gave; a plain id stays as it is."""
    if isinstance(packed, str):
        return packed
    if len(packed) == _PACKED:
        return str(uuid.UUID(bytes=packed))
    return (packed[1:-1] if packed.startswith(b"+") else packed[1:]).decode()


def is_within_calendar(at: datetime) -> bool:
    """Whether periods can be cut around an instant, and not beyond the calendar's ends."""
    return EARLIEST <= at < LATEST


def check_time(at: datetime) -> datetime:
    """An instant that periods can be cut around, at every zone and level.

    Raises: Invalid for a naive one, and for one at the calendar's ends.
    """
    if at.tzinfo is None:
        raise Invalid(f"Invalid at: {at} has no time zone.", hint="Add one, such as Z or +02:00.")
    if not is_within_calendar(at):
        raise Invalid(
            f"Invalid at: {at.isoformat()} lies at an end of the calendar.",
            hint=f"Use the years {EARLIEST.year} to {LATEST.year - 1}.",
        )
    return at


def last_instant(end: datetime) -> datetime:
    """The last instant before a period's end: the time of its rollup, which lies inside it."""
    return end - _TICK


def parse_level(number: int | None) -> Level | None:
    """The level of a number from 1; None for none and for 0."""
    return LEVELS[number - 1] if number else None


def parse_kinds(texts: Sequence[str]) -> tuple[str, ...]:
    """The types that a search is for, each once: entry types, and `fact`. Raises: Invalid."""
    return tuple(dict.fromkeys(_parse_among(text, (*TYPES, FACT)) for text in texts))


def _parse_among(text: str, names: tuple[str, ...]) -> str:
    if text in names:
        return text
    near = nearest(text, list(names))
    guess = f"Did you mean {near}? " if near else ""
    raise Invalid(
        f"Invalid entry_type: {opening(text, 60)!r}.", hint=f"{guess}Use one of {', '.join(names)}."
    )


def parse_writable_type(text: str) -> str:
    """A type that callers may write. Raises: Invalid for another, rollups included."""
    found = _parse_among(text, TYPES)
    if found not in {RAW, PROFILE}:
        raise Invalid(
            f"Invalid entry_type: {found!r} is made from what is recorded.",
            hint=f"Write {RAW} or {PROFILE}.",
        )
    return found


def version_of(entry: TimelineEntry) -> str:
    """What says whether an entry's content is still the one that was read."""
    return entry.hash.hex()


def refuse_other_version(entry: TimelineEntry, expected: str) -> None:
    """Refuse an entry that has changed since it was read. Raises: Conflict.

    Args:
        entry: As it is now.
        expected: The version that was read; empty for any.
    """
    if expected and version_of(entry) != expected:
        raise has_changed(entry.ref)


def parse_content(text: str) -> str:
    """A text that may be kept. Raises: Invalid for a blank one and for one over 1 MB."""
    # Most begin with a letter, and are looked at no further.
    if not (text[:1].isascii() and text[:1].isalnum()) and shows_nothing(text):
        raise Invalid("Invalid content: it is blank.", hint="Write what happened.")
    if len(text) * _WIDEST > LONGEST and len(text.encode("utf-8", "replace")) > LONGEST:
        raise Invalid(
            f"Invalid content: {len(text):,} characters.", hint="Use at most 1 MB an entry."
        )
    return storable(text)


_METADATA = json.JSONEncoder(ensure_ascii=False, sort_keys=True, allow_nan=False)


def render_metadata(metadata: Mapping[str, Any]) -> str:
    """Metadata as it is stored: JSON, keys in order. Raises: Invalid where JSON cannot hold it."""
    if not isinstance(metadata, Mapping):
        raise Invalid(
            f"Invalid metadata: expected a JSON object, got {json_kind(metadata)}.",
            hint="Give names with their values.",
        )
    try:
        text = well_formed(_METADATA.encode(dict(metadata)))
    except (TypeError, ValueError, RecursionError) as exc:
        raise Invalid(
            "Invalid metadata: JSON cannot hold it.",
            hint="Use texts, numbers, lists and objects.",
        ) from exc
    if len(text) > LONGEST_METADATA:
        raise Invalid(
            f"Invalid metadata: {len(text):,} characters.", hint="Put long texts into the content."
        )
    return text


def authored(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Metadata with the member of a space who writes now, whomever they name.

    What is no metadata stays as it is, to be refused where all are checked.
    """
    author = author_at_work()
    return {**metadata, AUTHOR: author} if author and isinstance(metadata, dict) else metadata


def member_of(metadata: Mapping[str, Any]) -> str:
    """The member of a space who recorded an entry; empty where nobody is named."""
    named = metadata.get(AUTHOR)
    return named if isinstance(named, str) and len(named) <= LONGEST_OWNER else ""


def author_of(metadata: Mapping[str, Any], owner: str) -> str:
    """Who recorded an entry of a space, or who said it; empty where that is not known.

    In the timeline of one person the author that metadata name is a value like others.
    """
    role = metadata.get("role")
    member = member_of(metadata) if is_space(owner) else ""
    return member or (role if isinstance(role, str) else "")


def content_hash(content: str, metadata: str, entry_type: str, at: str) -> bytes:
    """A token of all that readers see of an entry; differs whenever one of them does."""
    said = f"{entry_type}\n{at}\n{metadata}\n{content}"
    return bytes.fromhex(sha256_hex(said.encode("utf-8", "surrogatepass"))[:16])


def names_of(metadata: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The names under a key, once each: a list of texts, or one text. Any other value: none."""
    value = metadata.get(key)
    listed = (
        [value] if isinstance(value, str) else value if isinstance(value, (list, tuple)) else ()
    )
    names = (" ".join(x.split()) for x in listed if isinstance(x, str))
    return tuple(dict.fromkeys(x for x in names if x))[:_MOST_NAMES]


def label_of(level: Level, start: datetime, zone: tzinfo) -> str:
    """A period in words: `10:00, 4 February 2025`, `week 6 of 2025`, `February 2025`."""
    key = period_key(start, level, zone)
    day = local_date(start, zone)
    match level:
        case "hour":
            return f"{key.partition('T')[2][:2]}:00, {render_date(day)}"
        case "day":
            return render_date(day)
        case "week":
            year, _, week = key.partition("-W")
            return f"week {int(week)} of {year}"
        case "month":
            return render_date(day).partition(" ")[2]
        case "year":
            return key


def indexed_kinds(kinds: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds of docs that are of these types: a fact is a raw entry."""
    return (*kinds, FACT) if RAW in kinds else kinds


def doc_of(entry: TimelineEntry, zone: tzinfo, owner: str, covers: tuple[str, ...] = ()) -> Doc:
    """What the index holds of an owner's entry. covers: refs that a rollup was made from."""
    level = parse_level(entry.level)
    day = local_date(entry.at, zone)
    role = entry.metadata.get("role")
    is_turn = level is None and isinstance(role, str) and bool(role)
    return Doc(
        ref=entry.ref,
        journal=JOURNAL,
        scope="",
        kind=FACT if _is_fact(entry) else entry.entry_type,
        at=entry.at,
        text=without_labels(entry.content) if entry.level else entry.content,
        stamp=stamp_of(entry),
        tags=(
            *names_of(entry.metadata, "tags"),
            *names_of(entry.metadata, "projects"),
            *superseding_tags(entry.supersedes),
        ),
        # Turns of a conversation lend each other context; what else is written stands alone.
        session=f"{JOURNAL}:{day.isoformat()}" if is_turn else "",
        author=author_of(entry.metadata, owner),
        dated=label_of(level, entry.start, zone) if level else render_date(day),
        covers=covers,
        turn=entry.seq,
        # A summary that was made again is of that day: it may rest on what came since.
        written=entry.updated if level else entry.created,
    )


def stamp_of(entry: TimelineEntry) -> str:
    """What says whether the index holds an entry as it is, in the form that it is filed in now."""
    # Of other entries the form has not changed: they are not filed, nor encoded, again.
    is_new_form = entry.level or _is_fact(entry)
    return f"{entry.hash.hex()}{FORM if is_new_form else ''}"


def _is_fact(entry: TimelineEntry) -> bool:
    return entry.entry_type == RAW and entry.metadata.get(MEMORY_TYPE) == FACT


def span_of(entry: TimelineEntry) -> Interval:
    """The period it is of."""
    return Interval(start=entry.start, end=entry.end)
