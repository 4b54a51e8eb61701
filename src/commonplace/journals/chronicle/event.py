"""Owns what an entry of chronicle is: its value, its limits, its tags and how they are asked for.

Never reads a disk; the same words hold for every generation of chronicle's storage.
"""

from __future__ import annotations

import json
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from commonplace.core.clock import local_date, render_date
from commonplace.core.digest import blake2b_hex
from commonplace.core.errors import Invalid
from commonplace.core.fence import visible_line
from commonplace.core.spaces import is_space
from commonplace.core.text import opening, storable, well_formed
from commonplace.core.values import Doc, superseding_tags
from commonplace.journals.chronicle.go_format import render_go_json
from commonplace.journals.chronicle.times import from_instant, to_instant

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.project_folders import ProjectFolders

JOURNAL = "chronicle"
KIND = "event"
UNKNOWN = "unknown"
SUPERSEDES = "supersedes:"
"""How the tag begins that names the id of the entry whose place another has taken.

A tag is what every form of chronicle's storage and every export keeps beside the message.
"""

LONGEST_MESSAGE = 10 * 1024 * 1024
MOST_TAGS = 100
LONGEST_TAG = 100
_LONGEST_ID = 200
_SAME_TIME_NS = 2_000_000_000


class Event(Struct, frozen=True, kw_only=True):
    """One entry of chronicle.

    Attributes:
        at: Aware UTC.
        nanos: 0..999, what of its instant is finer than that.
        directory: Where it was logged, `unknown` or empty where nobody knows.
        stamp: A token that changes whenever the entry does.
        place: Orders entries of one instant, the later written one higher.
        written: When it was written down, as its storage says it; None where it does not, and
            where that is its own time.
    """

    id: str
    at: datetime
    message: str
    tags: tuple[str, ...] = ()
    hostname: str = ""
    username: str = ""
    directory: str = ""
    stamp: str = ""
    nanos: int = 0
    place: int = 0
    written: datetime | None = None

    @property
    def ref(self) -> str:
        """The entry's address: `chronicle:<id>`."""
        return f"{JOURNAL}:{self.id}"

    @property
    def kind(self) -> str:
        """What it is, as the index has it."""
        return KIND

    @property
    def text(self) -> str:
        """The message."""
        return self.message

    @property
    def folded(self) -> frozenset[str]:
        """Its tags as they are compared."""
        return frozenset(fold_tag(x) for x in self.tags)

    @property
    def own_tags(self) -> list[str]:
        """The tags less the one that names the entry which it superseded."""
        return own_tags(self.tags)

    @property
    def supersedes(self) -> str:
        """The ref of the entry whose place it took; empty for none."""
        return next(
            (f"{JOURNAL}:{x.removeprefix(SUPERSEDES)}" for x in self.tags if _is_link(x)), ""
        )

    @property
    def instant(self) -> int:
        """Its instant in nanoseconds since 1970, exact."""
        return to_instant(self.at) + self.nanos


class EventDraft(Struct, frozen=True, kw_only=True):
    """An entry that is to be written; its parts are checked.

    written: When it is written down, in nanoseconds as `instant`.
    """

    id: str
    instant: int
    message: str
    tags: tuple[str, ...]
    hostname: str
    username: str
    directory: str
    written: int


class Changes(Struct, frozen=True, kw_only=True):
    """What is to become of an entry; None leaves a part as it is."""

    message: str | None = None
    tags: tuple[str, ...] | None = None
    instant: int | None = None
    directory: str | None = None


def changed(event: Event, changes: Changes) -> EventDraft:
    """What an entry is to become."""
    return EventDraft(
        id=event.id,
        instant=event.instant if changes.instant is None else changes.instant,
        message=event.message if changes.message is None else changes.message,
        tags=event.tags if changes.tags is None else changes.tags,
        hostname=event.hostname,
        username=event.username,
        directory=event.directory if changes.directory is None else changes.directory,
        written=event.instant if event.written is None else to_instant(event.written),
    )


class TagCount(Struct, frozen=True, kw_only=True):
    """A tag in its most frequent spelling, how many entries bear it, and all its spellings."""

    tag: str
    count: int
    spellings: tuple[str, ...]


class Mention(NamedTuple):
    """That an entry bears the words that were asked for, and its instant in nanoseconds."""

    ref: str
    instant: int


class TagFilter(Struct, frozen=True, kw_only=True):
    """Which entries by their tags: any of some, all of some, none of some; empty asks nothing."""

    any_of: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Whether it asks anything."""
        return bool(self.any_of or self.required or self.excluded)

    def admits(self, folded: frozenset[str]) -> bool:
        """Whether an entry with these folded tags is asked for."""
        return (
            (not self.any_of or not self.any_of.isdisjoint(folded))
            and self.required <= folded
            and self.excluded.isdisjoint(folded)
        )


class EventQuery(Struct, frozen=True, kw_only=True):
    """Which entries a listing asks for.

    Attributes:
        start: Their earliest instant.
        below: (instant, place) that all come before.
        directory: The one folder they were logged in, None for any.
    """

    start: int
    below: tuple[int, int]
    tags: TagFilter = TagFilter()
    directory: str | None = None


NEVER = 10**21
"""Past the calendar's end, in nanoseconds; its negative is before the beginning."""

EVERYTHING = EventQuery(start=-NEVER, below=(NEVER, 0))
"""All entries."""


class UnlessSaid(Struct, frozen=True, kw_only=True):
    """What makes a new entry needless: one of those asked for that says the same."""

    question: EventQuery
    is_same: Callable[[Event], bool]


def parse_tag_filter(asked: Iterable[str]) -> TagFilter:
    """The filter that plain tags (any of), `+tag` (required) and `-tag` (excluded) ask for.

    Raises Invalid for a sign without a tag.
    """
    parts: dict[str, set[str]] = {"": set(), "+": set(), "-": set()}
    for each in asked:
        tag = storable(each).strip()
        sign = tag[:1] if tag[:1] in {"+", "-"} else ""
        folded = fold_tag(tag.removeprefix(sign))
        if folded:
            parts[sign].add(folded)
        elif sign:
            raise Invalid(f"Invalid tags: {sign!r} names no tag.", hint="Write it as +work.")
    return TagFilter(
        any_of=frozenset(parts[""]),
        required=frozenset(parts["+"]),
        excluded=frozenset(parts["-"]),
    )


def fold_tag(tag: str) -> str:
    """A tag as it is compared: composed, without case, its runs of space one space."""
    return " ".join(unicodedata.normalize("NFC", tag).casefold().split())


def own_tags(tags: Iterable[str]) -> list[str]:
    """The tags less the one that names the entry which was superseded."""
    return [tag for tag in tags if not _is_link(tag)]


def links_to(gone: Sequence[Event]) -> dict[str, Event]:
    """The tags that name entries which are deleted, each with the first of its chain that is.

    What that one had replaced is what is left: one that replaced a deleted entry replaces it now.
    """
    replacing = {event.ref: event for event in gone if event.supersedes}
    links = {}
    for event in replacing.values():
        first, seen = event, {event.ref}
        while first.supersedes in replacing.keys() - seen:
            first = replacing[first.supersedes]
            seen.add(first.ref)
        links[f"{SUPERSEDES}{event.id}"] = first
    return links


def relinked(later: Event, link: str, gone: Event) -> tuple[str, ...]:
    """The tags of an entry that replaced a deleted one, linked to what is left of its chain.

    link: its tag that names the deleted entry; gone: as `links_to` has it.
    """
    own = next((x for x in gone.tags if _is_link(x)), "")
    if own == f"{SUPERSEDES}{later.id}":
        return later.tags
    return tuple(own if tag == link else tag for tag in later.tags)


def _is_link(tag: str) -> bool:
    return tag.startswith(SUPERSEDES) and len(tag) > len(SUPERSEDES)


def checked_message(message: str) -> str:
    """The message as it is written: `storable`, without the blanks around it.

    Raises Invalid for an empty one and for more than 10 MB.
    """
    text = storable(message).strip()
    if not text:
        raise Invalid("Invalid message: it is empty.", hint="Say what was done.")
    size = len(text.encode())
    if size > LONGEST_MESSAGE:
        raise Invalid(
            f"Invalid message: {size:,} bytes are more than {LONGEST_MESSAGE:,}.",
            hint="Log a short line, and keep the rest in a file.",
        )
    return text


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """The tags as they are written: trimmed, without empty ones, the first of equal ones.

    Raises Invalid for more than 100 tags, or one of more than 100 characters.
    """
    kept: dict[str, str] = {}
    for each in tags:
        tag = " ".join(storable(each).split())
        if len(tag) > LONGEST_TAG:
            raise Invalid(
                f"Invalid tags: {opening(tag, 30)!r} has {len(tag)} characters.",
                hint=f"Use at most {LONGEST_TAG} characters a tag.",
            )
        if tag:
            kept.setdefault(fold_tag(tag), tag)
    if len(kept) > MOST_TAGS:
        raise Invalid(
            f"Invalid tags: {len(kept)} are too many.", hint=f"Use at most {MOST_TAGS} tags."
        )
    return tuple(kept.values())


def render_tags(tags: Sequence[str]) -> str:
    """The tags as chronicle's column holds them: `["a","b"]`, and `null` for none."""
    if not tags:
        return "null"
    return render_go_json(list(tags))


def parse_tags(text: str) -> tuple[str, ...]:
    """The tags in a column; what is not a list of texts holds none."""
    if text in {"", "null", "[]"}:
        return ()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(found, list):
        return ()
    return tuple(well_formed(x) for x in found if isinstance(x, str) and x.strip())


def said_with_tags(message: str, column: bytes | None) -> str:
    """A message and its own tags, as what may bear the words of a question.

    column: The tags as a database has them.
    """
    tags = parse_tags(column.decode("utf-8", "replace")) if column else ()
    return " ".join([message, *own_tags(tags)])


@lru_cache(maxsize=4096)
def folded_tags(text: str) -> frozenset[str]:
    """The folded tags in a column; kept, since most entries share theirs with others."""
    return frozenset(fold_tag(x) for x in parse_tags(text))


def successors_among(events: Iterable[Event], ids: Sequence[str]) -> dict[str, Event]:
    """Of some entries the newest that took the place of each id, by the id."""
    links = {f"{SUPERSEDES}{each}": each for each in ids}
    newest: dict[str, Event] = {}
    for event in events:
        for former in (links[tag] for tag in event.tags if tag in links):
            known = newest.get(former)
            if known is None or (event.instant, event.place) > (known.instant, known.place):
                newest[former] = event
    return newest


def held_of(
    events: Iterable[Event], project: ProjectFolders, links: Container[str]
) -> Iterator[Event]:
    """Those of a project that say something and hold.

    links: tags of entries that took the place of others.
    """
    for event in events:
        holds = f"{SUPERSEDES}{event.id}" not in links
        if holds and event.message and project.holds(event.directory):
            yield event


def count_tags(groups: Iterable[tuple[tuple[str, ...], int]]) -> list[TagCount]:
    """The tags of groups of entries, most frequent first, then by name.

    Spellings that differ in case are one tag.

    groups: tags, and how many entries bear just these.
    """
    spelled: dict[str, dict[str, int]] = {}
    totals: dict[str, int] = {}
    for tags, entries in groups:
        for tag in tags:
            spellings = spelled.setdefault(fold_tag(tag), {})
            spellings[tag] = spellings.get(tag, 0) + entries
        for folded in {fold_tag(x) for x in tags}:
            totals[folded] = totals.get(folded, 0) + entries
    counted = [
        TagCount(
            tag=min((-entries, spelling) for spelling, entries in spellings.items())[1],
            count=totals[folded],
            spellings=tuple(sorted(spellings)),
        )
        for folded, spellings in spelled.items()
    ]
    return sorted(counted, key=lambda x: (-x.count, x.tag))


def parse_event_id(ref: str) -> str:
    """The id, or the beginning of one, in a ref or a bare id. Raises Invalid."""
    wanted = ref.strip().removeprefix(f"{JOURNAL}:")
    if not wanted or len(wanted) > _LONGEST_ID or not wanted.isprintable():
        raise Invalid(
            f"Invalid id: {opening(ref, 80)!a}.", hint="Use an id as lists and searches show it."
        )
    return wanted


def ambiguous_id(wanted: str, ids: Sequence[str]) -> Invalid:
    """The error for the beginning of several ids; it names two of the entries."""
    first, second = (f"{JOURNAL}:{visible_line(opening(each, 80))}" for each in ids[:2])
    return Invalid(
        f"Several entries have an id that begins with {wanted!r}.",
        hint=f"Give more of it, as in {first} or {second}.",
    )


def written_apart(instant: int, written: int) -> datetime | None:
    """When an entry was written down, where that is not its own time; both in nanoseconds.

    The column that says so has whole seconds.
    """
    return from_instant(written) if abs(written - instant) >= _SAME_TIME_NS else None


def stamp_of(instant: int, parts: Sequence[bytes]) -> str:
    """A token of an entry's instant and its other parts: 16 hex digits."""
    return blake2b_hex(b"\0".join((b"%d" % instant, *parts)))


def author_of(event: Event) -> str:
    """The user who logged an entry; empty where nobody knows, or it is a space's by no member."""
    return "" if event.username == UNKNOWN or is_space(event.username) else event.username


def doc_of(event: Event, zone: tzinfo, owner: str) -> Doc:
    """What the index holds of an entry; its tags folded, since an index compares them exactly."""
    return Doc(
        ref=event.ref,
        journal=JOURNAL,
        scope=event.directory,
        kind=KIND,
        at=event.at,
        text=event.message,
        stamp=event.stamp,
        tags=(
            *dict.fromkeys(fold_tag(x) for x in event.own_tags),
            *superseding_tags(event.supersedes),
        ),
        # In a log of one person a login stands at every entry, and what it says is part of none.
        author=author_of(event) if is_space(owner) else "",
        dated=render_date(local_date(event.at, zone)),
        written=event.written,
        turn=event.place,
    )
