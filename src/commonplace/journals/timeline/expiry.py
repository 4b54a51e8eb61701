"""Owns applying retention: deletes only what a rollup covers that exists, is fresh, was read back.

Off unless it is asked for. Archived first, and in no search; deleted later, with a tombstone, so
that links say what it was. Pinned entries and profiles stay.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from commonplace.core.clock import micros, parse_time, render_time
from commonplace.core.values import Interval
from commonplace.journals.timeline.due_periods import larger_levels, note_change, span_at
from commonplace.journals.timeline.entry import (
    EARLIEST,
    LEVELS,
    SUPERSEDES,
    content_hash,
    pack_id,
    parse_level,
    ref_of,
    render_metadata,
    rollup_id,
    unpack_id,
)
from commonplace.journals.timeline.figures import counted_of, parse_figures
from commonplace.journals.timeline.journal import LONGEST
from commonplace.journals.timeline.queries import entry_of
from commonplace.journals.timeline.retention import ARCHIVED, NAMES
from commonplace.journals.timeline.rollup_input import parse_points, render_points

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from commonplace.core.rollups import Figures, Point
    from commonplace.journals.timeline.ports import TimelineRows
    from commonplace.journals.timeline.retention import Retention
    from commonplace.journals.timeline.rollups import Rollups

_AT_ONCE = 500


class RetentionResult(Struct, kw_only=True):
    """What was archived and deleted, by level.

    Attributes:
        kept: Past its time, and not covered yet.
        doubt: Why nothing was done, since the clock may be wrong; empty where it was done.
    """

    archived: dict[str, int] = field(default_factory=dict)
    deleted: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    doubt: str = ""


class _Past(Struct, frozen=True):
    """An entry whose time is past."""

    seq: int
    id: str
    kind: str
    at: datetime
    span: Interval
    metadata: dict[str, Any]
    content: str
    hash: bytes


def apply_retention(
    rollups: Rollups, retention: Retention, *, dry_run: bool = False
) -> RetentionResult:
    """Archive and delete what retention no longer keeps; smaller periods first.

    Whatever is due is rolled up before. dry_run: only count. May be called any number of times.
    Raises: Unavailable.
    """
    done = RetentionResult()
    if not retention.is_on or not rollups.journal.exists:
        return done
    if not dry_run:
        rollups.catch_up()
    now = rollups.journal.clock()
    for level, name in enumerate(NAMES):
        keep = retention.of(level)
        if keep is None:
            continue
        for status, before in (("archived", now - keep - ARCHIVED), ("active", now - keep)):
            run = _Run(rollups, level, status, dry_run=dry_run)
            gone, kept = run.pass_over(before)
            counts = done.archived if status == "active" else done.deleted
            counts[name] = counts.get(name, 0) + gone
            done.kept[name] = done.kept.get(name, 0) + kept
    if not dry_run and any(done.deleted.values()):
        rollups.journal.database.compact()
    return done


class _Run:
    """One pass over the entries of a level and a status whose time is past."""

    def __init__(self, rollups: Rollups, level: int, status: str, *, dry_run: bool) -> None:
        self._journal = rollups.journal
        self._rows = rollups.rows
        self._level = level
        self._status = status
        self._dry_run = dry_run
        self._read_back: dict[int, bool] = {}

    def pass_over(self, before: datetime) -> tuple[int, int]:
        """How many were archived or deleted, and how many must stay since nothing covers them."""
        gone = kept = 0
        after, after_seq = "", 0
        noted: dict[str, float] = {}
        while True:
            with self._journal.database.writing() as conn:
                asked = {"level": self._level, "status": self._status, "limit": _AT_ONCE}
                place = {"after": after, "after_seq": after_seq, "before": render_time(before)}
                # What was read back in one transaction is as it was until its end.
                self._read_back.clear()
                rows = conn.run("past", {**asked, **place}).fetchall()
                past = [_past(row) for row in rows]
                free = [x for x in past if x.metadata.get("pinned") is not True]
                covered = [x for x in free if self._is_covered(conn, x)]
                former = self._replaced_by(covered)
                is_noted = former.items() <= noted.items()
                if is_noted and not self._dry_run:
                    self._expire_covered(conn, covered)
            if not is_noted and (book := self._journal.replaced) is not None:
                # Noted before they go: what they replaced does not hold again because they grew
                # old. In another store, so outside of the transaction; see `without_replaced`.
                book.keep_all(former)
                noted |= former
                continue
            gone += sum(bool(x.content) for x in covered)
            kept += len(free) - len(covered)
            if len(rows) < _AT_ONCE:
                return gone, kept
            after, after_seq = rows[-1][3], rows[-1][0]

    def _is_covered(self, conn: TimelineRows, past: _Past) -> bool:
        """Whether each rollup that must cover an entry is there, fresh, and reads as kept.

        One that expired was covered itself, and what it counted is left of the entries.
        """
        level = parse_level(self._level)
        if level is not None and not past.content:
            return True  # nothing happened in it
        if level == "week":
            return self._months_cover(conn, past)
        asked = {"source": past.seq, "hash": past.hash}
        covering: set[str] = set()
        for rollup, number, packed in conn.run("covering", asked).fetchall():
            if packed is not None:
                covering |= {x for x in LEVELS if unpack_id(packed).startswith(rollup_id(x, ""))}
            elif number is not None and self._reads_back(conn, rollup):
                covering.add(LEVELS[number - 1])
        return covering.issuperset(larger_levels(level))

    def _months_cover(self, conn: TimelineRows, past: _Past) -> bool:
        """A week is in no larger period: the months in which its entries lie cover it."""
        zone = self._journal.due_periods.zone(conn)
        figures = _figures_of(conn, past.seq)
        if figures is None or figures.first is None or figures.last is None:
            return False
        for span in {span_at(figures.first, "month", zone), span_at(figures.last, "month", zone)}:
            found = self._rows.find(conn, span)
            if found is None and not self._rows.is_expired(conn, span):
                return False
            if found is not None and not self._reads_back(conn, found.seq):
                return False
        return True

    def _reads_back(self, conn: TimelineRows, seq: int) -> bool:
        """Whether a rollup is whole as it lies in the file, and nothing of it changed since."""
        if seq not in self._read_back:
            self._read_back[seq] = self._is_whole(conn, seq)
        return self._read_back[seq]

    def _is_whole(self, conn: TimelineRows, seq: int) -> bool:
        row = conn.run("by_seq", {"seq": seq}).fetchone()
        figures = _figures_of(conn, seq)
        if row is None or figures is None:
            return False
        rollup = entry_of(row)
        asked = {"tz": rollup.zone_name, "level": rollup.level}
        dirty = conn.run(
            "find_dirty", {**asked, "period_start": render_time(rollup.start)}
        ).fetchone()
        kept = content_hash(rollup.content, row[8], rollup.entry_type, row[5])
        is_whole = kept == rollup.hash and bool(rollup.content)
        return dirty is None and is_whole and figures.entries > 0

    def _replaced_by(self, covered: Sequence[_Past]) -> dict[str, float]:
        """When each entry that these replaced was replaced, by its ref, if these are to go."""
        if self._dry_run or self._status == "active" or self._journal.replaced is None:
            return {}
        links = ((x.metadata.get(SUPERSEDES), x) for x in covered)
        return {ref: micros(x.at) / 1e6 for ref, x in links if isinstance(ref, str) and ref}

    def _expire_covered(self, conn: TimelineRows, covered: Sequence[_Past]) -> None:
        if self._status == "active":
            now = render_time(self._journal.clock())
            for each in covered:
                values = {"seq": each.seq, "status": "archived", "now": now}
                conn.run("set_status", values)
                note_change(conn, each.seq)
            return
        for each in covered:
            conn.run("drop", {"seq": each.seq})
            if each.content:
                facts = {"seq": each.seq, "id": pack_id(each.id), "expired": True}
                conn.run("bury", facts)
            note_change(conn, each.seq)
        if covered and self._level:
            self._trim_quotes(conn, covered)
        elif covered:
            self._expire(conn, covered)

    def _expire(self, conn: TimelineRows, gone: Sequence[_Past]) -> None:
        """Keep of raw entries what figures count of them, and what rollups quote of them."""
        quoted = self._quoted_around(conn, gone)
        for each in gone:
            left = {
                "timestamp": render_time(each.at),
                "seq": each.seq,
                "hash": each.hash,
                "facts": render_metadata(counted_of(each.metadata)),
                "points": render_points(quoted.get(ref_of(each.id), ())),
            }
            conn.run("expire", left)

    def _trim_quotes(self, conn: TimelineRows, gone: Sequence[_Past]) -> None:
        """Keep no sentence of an expired entry that only rollups quoted which are gone now."""
        around = _around(gone)
        asked = {**around, "thread_id": self._journal.owner}
        if conn.run("is_dirty_around", asked).fetchone()[0]:
            return  # one that is to be made again may quote it
        quoted = self._quoted_around(conn, gone)
        for seq, packed, timestamp, points in conn.run("quoted_within", around).fetchall():
            still = quoted.get(ref_of(unpack_id(packed)), ())
            left = render_points([x for x in parse_points(points) if x in still])
            if left != points:
                values = {"timestamp": timestamp, "seq": seq, "points": left}
                conn.run("keep_points", values)

    def _quoted_around(self, conn: TimelineRows, gone: Sequence[_Past]) -> dict[str, list[Point]]:
        """What rollups that are there quote of the time of these, by the ref of the entry.

        In the order of the entry, for an hour quotes all that what is made of it does.
        """
        around = _around(gone)
        start = parse_time(around["start"])
        quoted: dict[str, list[Point]] = {}
        for level, longest in enumerate(LONGEST):
            low = render_time(max(start - longest, EARLIEST))
            asked = {**around, "thread_id": self._journal.owner, "level": level, "low": low}
            for (points,) in conn.run("points_around", asked):
                for point in parse_points(points):
                    known = quoted.setdefault(point.ref, [])
                    if point not in known:
                        known.append(point)
        return quoted


def _figures_of(conn: TimelineRows, seq: int) -> Figures | None:
    """What a rollup counted; None where it is not there."""
    facts = conn.run("rollup_facts", {"seq": seq}).fetchone()
    return None if facts is None else parse_figures(json.loads(facts[3]))


def _past(row: tuple[Any, ...]) -> _Past:
    seq, entry_id, kind, timestamp, start, end, metadata, content, digest = row
    span = Interval(start=parse_time(start), end=parse_time(end))
    parsed = json.loads(metadata)
    return _Past(seq, entry_id, kind, parse_time(timestamp), span, parsed, content, digest)


def _around(gone: Sequence[_Past]) -> dict[str, str]:
    """The time of these: of the periods of rollups, and of raw entries the instants."""
    starts = [x.span.start or x.at for x in gone]
    ends = [x.span.end or x.at for x in gone]
    return {"start": render_time(min(starts)), "end": render_time(max(ends))}
