"""How chronicle's entries are told: a line each, a story by day and project, how long ago.

Pure: never asks a journal or a clock.
"""

from __future__ import annotations

import os
from itertools import groupby
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import day_of, to_local
from commonplace.core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date, datetime, tzinfo

    from commonplace.journals.chronicle.journal import Event
    from commonplace.services.chronicle.finding import Sames

_NOWHERE = {"", "unknown", os.sep}
_UNITS = (("year", 365 * 86_400), ("month", 30 * 86_400), ("week", 7 * 86_400), ("day", 86_400))
_SMALL_UNITS = (("hour", 3_600), ("minute", 60))

LONGEST_TOLD = 4000
"""Characters of a message that a text tells; the facts hold it whole."""


def event_facts(event: Event) -> dict[str, Any]:
    """An entry as plain data."""
    return {
        "id": event.id,
        "ref": event.ref,
        "at": event.at.isoformat(),
        "message": event.message,
        "tags": list(event.tags),
        "directory": event.directory,
        "hostname": event.hostname,
        "username": event.username,
    }


def event_line(event: Event, zone: tzinfo, *, now: datetime | None = None) -> str:
    """An entry in one line: time, message, tags, folder, id; with `now`, how long ago it was."""
    when = when_of(event.at, zone)
    if now is not None:
        when += f" ({ago(event.at, now)})"
    where = "" if event.directory in _NOWHERE else f" in {_flat(event.directory)}"
    message = message_of(event, indent=4)
    return f"- {when} {message}{_tags_of(event)}{where} (ID: {_flat(event.id)})"


def when_of(at: datetime, zone: tzinfo) -> str:
    """The instant on the zone's clock, to the minute; on UTC's where the zone's calendar ends."""
    return _local(at, zone).replace(tzinfo=None).isoformat(sep=" ", timespec="minutes")


def _local(at: datetime, zone: tzinfo) -> datetime:
    try:
        return to_local(at, zone)
    except Invalid:
        return at


def message_of(event: Event, *, indent: int) -> str:
    """The message as a text tells it: further lines indented, and cut where it is very long."""
    text = event.message
    if len(text) > LONGEST_TOLD:
        text = f"{text[:LONGEST_TOLD]}… (cut: {len(text):,} characters)"
    return text.replace("\n", "\n" + " " * indent)


def _tags_of(event: Event) -> str:
    return f" [{_flat(', '.join(event.tags))}]" if event.tags else ""


def _flat(text: str) -> str:
    # What another program wrote there must not begin a line of the answer.
    return " ".join(text.split())


def ago(at: datetime, now: datetime) -> str:
    """How long ago in words, in whole units, rounded down."""
    seconds = int((now - at).total_seconds())
    if seconds < 0:
        return "ahead"
    for name, length in (*_UNITS, *_SMALL_UNITS):
        if count := seconds // length:
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"


def counted(same: Sames) -> str:
    """How many entries tell of the same thing, and how many of them by their meaning alone."""
    least = "At least " if same.near and not same.whole else ""
    verb = "entry matches" if same.count == 1 else "entries match"
    alone = ""
    if same.near:
        alone = (
            ", by meaning alone" if not same.worded else f", {same.near:,} of them by meaning alone"
        )
    return f"{least}{same.count:,} {verb}{alone}."


def same_notes(same: Sames, wants: str, zone: tzinfo) -> Iterator[str]:
    """What is to be known of a count, or of the last or the first, where it is not sure."""
    if wants != "count" and same.surest is not None:
        when = when_of(same.surest.at, zone)
        yield (
            f"The {wants} that bears every word is of {when}; what stands above it is near in"
            " meaning."
        )
    if not same.whole:
        yield "There may be more that is near in meaning than could be ranked: narrow the time."


def story(events: Sequence[Event], zone: tzinfo) -> list[str]:
    """Entries told by day, then by project folder or tag, with time ranges and counts.

    events: newest first. The newest day comes first, and inside a day the earliest entry does.
    """
    lines: list[str] = []
    for day, of_day in groupby(events, key=lambda event: _day(event.at, zone)):
        told = sorted(of_day, key=lambda event: event.instant)
        if lines:
            lines.append("")
        lines.append(f"{day:%A} {day} ({_extent(told, zone)})")
        lines += _topics(told, zone)
    return lines


def _topics(events: Sequence[Event], zone: tzinfo) -> Iterator[str]:
    topics: dict[str, list[Event]] = {}
    for event in events:
        topics.setdefault(topic_of(event), []).append(event)
    for topic, told in topics.items():
        yield f"  {_flat(topic)} ({_extent(told, zone)})"
        for event in told:
            message = message_of(event, indent=10)
            yield f"    {time_of(event.at, zone)} {message}{_tags_of(event)}"


def _day(at: datetime, zone: tzinfo) -> date:
    try:
        return day_of(at, zone)
    except Invalid:
        return at.date()


def time_of(at: datetime, zone: tzinfo) -> str:
    """The time of day as `when_of` tells it."""
    return f"{_local(at, zone):%H:%M}"


def topic_of(event: Event) -> str:
    """The project's folder an entry was logged in, else its first tag, else `other`."""
    if event.directory not in _NOWHERE:
        return os.path.basename(event.directory.rstrip("/\\")) or event.directory
    return event.tags[0] if event.tags else "other"


def _extent(events: Sequence[Event], zone: tzinfo) -> str:
    first, last = (time_of(event.at, zone) for event in (events[0], events[-1]))
    count = f"{len(events)} {'entry' if len(events) == 1 else 'entries'}"
    return f"{count}, {first}" if first == last else f"{count}, {first} to {last}"
