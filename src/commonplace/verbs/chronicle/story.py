"""Chronicle's entries as lines, as facts, and as a story by day and project.

Pure but for whether a member of a space asks: never asks a journal or a clock.
"""

from __future__ import annotations

import os
from itertools import groupby
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import day_of
from commonplace.core.errors import Invalid
from commonplace.core.fence import visible
from commonplace.core.spaces import by_member
from commonplace.core.text import counted_entries, opening
from commonplace.journals.chronicle.event import author_of
from commonplace.verbs.answers import ago, one_line, time_of, when_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date, datetime, tzinfo

    from commonplace.journals.chronicle.journal import Event
    from commonplace.verbs.chronicle.finding import SameEvents

_NOWHERE = {"", "unknown", os.sep}

LONGEST_SHOWN = 4000
"""Characters of a message that a text shows; the facts hold it whole."""


def event_facts(event: Event) -> dict[str, Any]:
    """An entry as plain data."""
    return {
        "id": event.id,
        "ref": event.ref,
        "at": event.at.isoformat(),
        "message": event.message,
        "tags": event.own_tags,
        "directory": event.directory,
        "hostname": event.hostname,
        "username": event.username,
    }


def event_line(event: Event, zone: tzinfo, *, now: datetime | None = None) -> str:
    """An entry in one line: time, message, tags, folder, ref; with `now`, how long ago it was."""
    when = when_of(event.at, zone)
    if now is not None:
        when += f" ({ago(event.at, now, zone)})"
    where = "" if event.directory in _NOWHERE else f" in {one_line(event.directory)}"
    said = f"{message_of(event, indent=4)}{_tags_of(event)}{where}{by_member(author_of(event))}"
    return f"- {when} {said} ({one_line(event.ref)})"


def message_of(event: Event, *, indent: int) -> str:
    """The message as a text shows it: further lines indented, and cut where it is very long."""
    text = visible(event.message)
    if len(text) > LONGEST_SHOWN:
        text = f"{opening(text, LONGEST_SHOWN, '…')} (cut: {len(event.message):,} characters)"
    return text.replace("\n", "\n" + " " * indent)


def _tags_of(event: Event) -> str:
    return f" [{one_line(', '.join(event.own_tags))}]" if event.own_tags else ""


def count_line(same: SameEvents) -> str:
    """How many entries are about the same thing, and how many of them by their meaning alone."""
    least = "At least " if same.near and not same.whole else ""
    verb = "entry matches" if same.count == 1 else "entries match"
    alone = ""
    if same.near:
        alone = (
            ", by meaning alone" if not same.worded else f", {same.near:,} of them by meaning alone"
        )
    return f"{least}{same.count:,} {verb}{alone}."


def same_notes(same: SameEvents, wants: str, zone: tzinfo) -> Iterator[str]:
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
    """Entries by day, then by project folder or tag, with time ranges and counts.

    The newest day comes first, and inside a day the earliest entry does.

    events: newest first.
    """
    lines: list[str] = []
    for day, of_day in groupby(events, key=lambda event: _day(event.at, zone)):
        ordered = sorted(of_day, key=lambda event: (event.instant, event.place))
        if lines:
            lines.append("")
        lines.append(f"{day:%A} {day} ({_extent(ordered, zone)})")
        lines += _topics(ordered, zone)
    return lines


def _topics(events: Sequence[Event], zone: tzinfo) -> Iterator[str]:
    topics: dict[str, list[Event]] = {}
    for event in events:
        topics.setdefault(topic_of(event), []).append(event)
    for topic, about in topics.items():
        yield f"  {one_line(topic)} ({_extent(about, zone)})"
        for event in about:
            message = message_of(event, indent=10)
            said = f"{message}{_tags_of(event)}{by_member(author_of(event))}"
            yield f"    {time_of(event.at, zone)} {said}"


def _day(at: datetime, zone: tzinfo) -> date:
    try:
        return day_of(at, zone)
    except Invalid:
        return at.date()


def topic_of(event: Event) -> str:
    """The project's folder an entry was logged in, else its first tag, else `other`."""
    if event.directory not in _NOWHERE:
        return os.path.basename(event.directory.rstrip("/\\")) or event.directory
    return next(iter(event.own_tags), "other")


def _extent(events: Sequence[Event], zone: tzinfo) -> str:
    first, last = (time_of(event.at, zone) for event in (events[0], events[-1]))
    extent = first if first == last else f"{first} to {last}"
    return f"{counted_entries(len(events))}, {extent}"
