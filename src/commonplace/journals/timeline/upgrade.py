"""Owns taking over what a file of schema 3 knew of expired entries: a sum for each rollup.

Never changes a sum: what was counted of several entries together is counted of as many of them.
"""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from msgspec import Struct, field

from commonplace.core.clock import parse_time, render_time
from commonplace.db.sqlite import transaction
from commonplace.journals.timeline.entry import (
    find_rollup_key,
    ref_of,
    render_metadata,
    unpack_id,
)
from commonplace.journals.timeline.figures import COUNTED, parse_figures
from commonplace.journals.timeline.queries import sql

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping, Sequence

    from commonplace.core.rollups import Figures, Measure

# Months hold what days knew; a week knew the same once more.
_LEVELS = (1, 2, 4, 5)
_UUID7 = 7
_HOUR = timedelta(hours=1)


class _ExpiredEntry(Struct):
    """What is to be known of one expired entry."""

    seq: int
    at: datetime
    hash: bytes
    facts: dict[str, Any] = field(default_factory=dict)
    points: list[Any] = field(default_factory=list)
    is_counted: bool = False


def upgrade(conn: sqlite3.Connection) -> None:
    """Make a row of each expired entry, if this file comes from schema 3; once."""
    if conn.execute(sql()["has_old_bases"]).fetchone() is None:
        return
    with transaction(conn):
        if conn.execute(sql()["has_old_bases"]).fetchone() is None:
            return  # another process was faster
        bases = [(*row[:3], json.loads(row[3])) for row in conn.execute(sql()["old_bases"])]
        quoted = [point for *_, base in bases for point in json.loads(base["points"])]
        left = dict(_expired(conn, {ref: parse_time(at) for ref, at, *_ in quoted}))
        ordered = sorted(left.values(), key=lambda x: (x.at, x.seq))
        for wanted in _LEVELS:
            for level, start, end, base in bases:
                if level == wanted:
                    _count(ordered, start, end, parse_figures(base["figures"]))
        for point in quoted:
            if point[0] in left and point not in left[point[0]].points:
                left[point[0]].points.append(point)
        for each in ordered:
            row = {
                "timestamp": render_time(each.at),
                "seq": each.seq,
                "hash": each.hash,
                "facts": render_metadata(each.facts),
                "points": json.dumps(each.points, ensure_ascii=False, separators=(",", ":")),
            }
            conn.execute(sql()["expire"], row)
        conn.execute(sql()["drop_old_bases"])
        _mark_wrong(conn)


def _mark_wrong(conn: sqlite3.Connection) -> None:
    """Have every rollup made again that quotes or counts what was deleted: schema 3 left some."""
    gone = {ref_of(unpack_id(x)) for (x,) in conn.execute(sql()["old_deleted"]).fetchall()}
    change = conn.execute(sql()["last_change"]).fetchone()[0]
    for seq, tz, level, start, end, points, counted, there in conn.execute(
        sql()["old_rollups"]
    ).fetchall():
        if counted == there and gone.isdisjoint(point[0] for point in json.loads(points)):
            continue
        span = {"tz": tz, "level": level, "period_start": start, "period_end": end}
        conn.execute(sql()["mark_dirty"], {**span, "mark": change})
        conn.execute(sql()["blank"], {"seq": seq})


def _expired(
    conn: sqlite3.Connection, times: Mapping[str, datetime]
) -> Iterator[tuple[str, _ExpiredEntry]]:
    """Each expired entry by its ref. times: of those that are quoted."""
    zones = [tz for tz, _ in conn.execute(sql()["list_series"]).fetchall()]
    for seq, packed, digest, start, end, hour in conn.execute(sql()["old_expired"]).fetchall():
        entry_id = unpack_id(packed)
        began = parse_time(start) if start else _start_of(unpack_id(hour or b""), zones)
        if began is None or find_rollup_key(entry_id):
            continue
        ended = parse_time(end) if end else began + _HOUR
        at = times.get(ref_of(entry_id)) or _time_in(entry_id)
        # One that was moved has the time in its id that it had first.
        is_in = at is not None and began <= at < ended
        yield (
            ref_of(entry_id),
            _ExpiredEntry(seq, at if at is not None and is_in else began, digest),
        )


def _time_in(entry_id: str) -> datetime | None:
    """The time in an id of ours, to a thousandth of a second."""
    try:
        made = uuid.UUID(entry_id)
        is_timed = made.version == _UUID7
        return datetime.fromtimestamp((made.int >> 80) / 1000, UTC) if is_timed else None
    except ValueError:  # no id of ours, or a time beyond the calendar
        return None


def _start_of(hour_id: str, zones: Sequence[str]) -> datetime | None:
    """When an hour began, by the id of its rollup."""
    key, zone = find_rollup_key(hour_id), hour_id.partition("@")[2] or next(iter(zones), "UTC")
    if "T" not in key:
        return None
    local = datetime.fromisoformat(key.rstrip("b")).replace(fold=int(key.endswith("b")))
    return local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


def _count(ordered: Sequence[_ExpiredEntry], start: str, end: str, figures: Figures) -> None:
    """Count a sum of a period of the entries of it that no smaller period has counted."""
    inside = [x for x in ordered if not x.is_counted and start <= render_time(x.at) < end]
    for part, key in COUNTED:
        for name, count in getattr(figures, part).items():
            for each in inside[:count]:
                each.facts.setdefault(key, []).append(name)
    for name, measure in figures.measures.items():
        for each, value in zip(inside, _values(measure), strict=False):
            each.facts[name] = value
    for each in inside:
        each.is_counted = True


def _values(measure: Measure) -> list[float]:
    """As many numbers as were merged, with the same sum, the same least and the same most."""
    if measure.count == 1:
        return [measure.total]
    rest = measure.count - 2
    between = (measure.total - measure.least - measure.most) / rest if rest else 0.0
    return [measure.least, measure.most, *[between] * rest]
