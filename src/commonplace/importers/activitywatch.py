"""ActivityWatch's export: the time at each program and window, summed up by day and machine.

A window counts while a person was at the machine, where that was recorded as well. An export has
millions of events: it is read twice, first for that, and only sums are held.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from commonplace.core.errors import Invalid
from commonplace.core.importer import ForeignEntry, NotTaken, instant_of, text_in
from commonplace.core.json_reader import JsonReader
from commonplace.importers.formats.decoding import opened_as_utf8

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import tzinfo

    from commonplace.core.importer import Into, Read

title = "ActivityWatch"
takes = "the JSON file of its export"
into: Into = "timeline"

_WINDOW, _AFK = "currentwindow", "afkstatus"
_LONGEST_EVENT_S = 7 * 24 * 3600.0
_LEAST_S = 60.0
_MOST_TITLES = 200
_APPS_SHOWN, _TITLES_SHOWN = 12, 3
_TITLE_SHOWN = 80


class _Day(Struct):
    """The seconds at each program, and at each window of it, on a day."""

    first: float
    apps: Counter[str] = field(default_factory=Counter)
    titles: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, start: float, seconds: float, app: str, title: str) -> None:
        self.first = min(self.first, start)
        self.apps[app] += seconds  # type: ignore[assignment]  # counts seconds
        if (app, title) in self.titles or len(self.titles) < _MOST_TITLES:
            self.titles[app, title] += seconds  # type: ignore[assignment]  # as above


class _Presence:
    """When a person was at a machine: spans in order, without overlaps."""

    def __init__(self) -> None:
        self._starts = array("d")
        self._ends = array("d")

    def add(self, start: float, end: float) -> None:
        self._starts.append(start)
        self._ends.append(end)

    def join(self) -> None:
        """Sort and unite them."""
        order = sorted(range(len(self._starts)), key=self._starts.__getitem__)
        starts, ends = array("d"), array("d")
        for number in order:
            start, end = self._starts[number], self._ends[number]
            if ends and start <= ends[-1]:
                ends[-1] = max(ends[-1], end)
            else:
                starts.append(start)
                ends.append(end)
        self._starts, self._ends = starts, ends

    def within(self, start: float, end: float) -> Iterator[tuple[float, float]]:
        """What of a span they cover."""
        number = max(bisect_right(self._starts, start) - 1, 0)
        while number < len(self._starts) and self._starts[number] < end:
            since, until = max(start, self._starts[number]), min(end, self._ends[number])
            if since < until:
                yield since, until
            number += 1


def find(_home: str, _environ: Mapping[str, str]) -> list[str]:
    """Nowhere: an export lies where its user put it."""
    return []


def read(path: str, *, zone: tzinfo) -> Iterator[Read]:
    """The days of an export, oldest first; see the port."""
    left: Counter[str] = Counter()
    presence = _presence(path)
    days: dict[tuple[str, date], _Day] = {}
    for kind, host, event in _events(path, left):
        span = _span(event)
        if span is None:
            left["events without a time, or of a length that cannot be"] += 1
        elif kind == _WINDOW:
            app = _said(event, "app") or "unknown"
            spans = presence[host].within(*span) if host in presence else iter((span,))
            for start, end in spans:
                for day, since, until in _by_day(start, end, zone):
                    summed = days.setdefault((host, day), _Day(since))
                    summed.add(since, until - since, app, _said(event, "title"))
    for (host, day), summed in sorted(days.items(), key=lambda pair: (pair[0][1], pair[0][0])):
        if summed.apps.total() >= _LEAST_S:
            yield _entry(host, day, summed)
        else:
            left["days with less than a minute"] += 1
    for why, count in left.items():
        yield NotTaken(why=why, count=count)


def _presence(path: str) -> dict[str, _Presence]:
    """When a person was at each machine, of those where that was recorded."""
    found: dict[str, _Presence] = {}
    for kind, host, event in _events(path, Counter()):
        if kind == _AFK and (span := _span(event)):
            there = found.setdefault(host, _Presence())
            if _said(event, "status") == "not-afk":
                there.add(*span)
    for each in found.values():
        each.join()
    return found


def _events(path: str, left: Counter[str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The type of the bucket, the machine and the event, of each event that is summed up."""
    with opened_as_utf8(path) as file:
        document = JsonReader(file.read, path)
        has_buckets = False
        for name in document.members():
            if name == "buckets":
                has_buckets = True
                for bucket in document.members():
                    yield from _bucket(document, bucket, left)
        if not has_buckets:
            raise Invalid(
                "The file {place} holds no `buckets`: it is not an export of ActivityWatch's.",
                hint="Export all buckets in its web page under Raw Data, then name that file.",
                place=path,
            )


def _bucket(
    document: JsonReader, bucket: str, left: Counter[str]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    # Its name says both, where its fields come after its events.
    watcher, _, host = bucket.partition("_")
    kind = {"aw-watcher-window": _WINDOW, "aw-watcher-afk": _AFK}.get(watcher, "")
    for name in document.members():
        if name == "type":
            kind = text_in(document.value()) or kind
        elif name == "hostname":
            host = text_in(document.value()) or host
        elif name == "events":
            for _line in document.elements():
                event = document.value()
                if kind not in (_WINDOW, _AFK):
                    left[f"events of the kind {kind[:60] or 'unknown'}"] += 1
                elif isinstance(event, dict):
                    yield kind, host or "unknown", event
                else:
                    left["events that are not objects"] += 1


def _span(event: dict[str, Any]) -> tuple[float, float] | None:
    seconds = event.get("duration")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        return None
    try:
        start = instant_of(event.get("timestamp"), UTC).timestamp()
    except ValueError:
        return None
    return (start, start + seconds) if 0 <= seconds <= _LONGEST_EVENT_S else None


def _said(event: dict[str, Any], name: str) -> str:
    said = event.get("data")
    return " ".join(text_in(said.get(name)).split()) if isinstance(said, dict) else ""


def _by_day(start: float, end: float, zone: tzinfo) -> Iterator[tuple[date, float, float]]:
    """A span cut at local midnight."""
    while start < end:
        day = datetime.fromtimestamp(start, zone).date()
        midnight = datetime.combine(day + timedelta(days=1), time(), zone).timestamp()
        until = min(end, max(midnight, start + 1))
        yield day, start, until
        start = until


def _entry(host: str, day: date, summed: _Day) -> ForeignEntry:
    lines = [f"At {host}: {_length(summed.apps.total())}."]
    longest = summed.apps.most_common(_APPS_SHOWN)
    for app, seconds in longest:
        titles = Counter({t: s for (a, t), s in summed.titles.items() if a == app and t})
        named = [
            f"{title[:_TITLE_SHOWN]} {_length(s)}" for title, s in titles.most_common(_TITLES_SHOWN)
        ]
        lines.append(f"- {app} {_length(seconds)}{': ' + '; '.join(named) if named else ''}")
    more = summed.apps.total() - sum(seconds for _, seconds in longest)
    if more >= _LEAST_S:
        lines.append(f"- others {_length(more)}")
    return ForeignEntry(
        id=f"{host} {day.isoformat()}",
        text="\n".join(lines),
        at=datetime.fromtimestamp(summed.first, UTC),
        where=f"{day.isoformat()} at {host}",
        kind="activity",
        metadata={"seconds": {app: round(seconds) for app, seconds in longest}},
    )


def _length(seconds: float) -> str:
    minutes = round(seconds / 60)
    hours, minutes = divmod(minutes, 60)
    if not hours:
        return f"{minutes} min" if minutes else "under a minute"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
