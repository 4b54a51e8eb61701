"""Owns letting go of detail: only what a rollup covers that exists, is fresh and was read back.

Off unless it is asked for. Archived first, and in no search; deleted later, with a tombstone, so
that links say what it was. Pinned entries and profiles stay.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import parse_time, render_time
from commonplace.core.errors import CommonplaceError
from commonplace.core.retention import ARCHIVED, NAMES
from commonplace.core.rollups import LEVELS, Figures, merged, parse_figures
from commonplace.core.values import Interval
from commonplace.journals.timeline_database import entry_of, sql
from commonplace.journals.timeline_entry import (
    content_hash,
    figures_of,
    pack_id,
    parse_level,
    ref_of,
)
from commonplace.journals.timeline_marks import Span, made_into, span_at, span_of_row
from commonplace.journals.timeline_material import (
    Base,
    gather,
    parse_base,
    parse_points,
    render_base,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from commonplace.core.retention import Retention
    from commonplace.journals.timeline_entry import Entry
    from commonplace.journals.timeline_rollups import Rollups

_AT_ONCE = 500
_LOOSE_SHARE = 4


@dataclass(slots=True, kw_only=True)
class LetGo:
    """What was let go of, by level. kept: past its time, and not covered yet."""

    archived: dict[str, int] = field(default_factory=dict)
    deleted: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Past:
    """An entry whose time is past."""

    seq: int
    id: str
    kind: str
    at: datetime
    span: Interval
    metadata: dict[str, Any]
    content: str
    hash: bytes


def let_go(rollups: Rollups, retention: Retention, *, dry_run: bool = False) -> LetGo:
    """Archive and delete what retention no longer keeps; smaller periods first.

    Whatever is due is rolled up before. dry_run: only tell. May be called any number of times.
    Raises: Unavailable.
    """
    done = LetGo()
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
            told = done.archived if status == "active" else done.deleted
            told[name] = told.get(name, 0) + gone
            done.kept[name] = done.kept.get(name, 0) + kept
    if not dry_run and any(done.deleted.values()):
        _tidy(rollups)
    return done


class _Run:
    """One pass over the entries of a level and a status whose time is past."""

    def __init__(self, rollups: Rollups, level: int, status: str, *, dry_run: bool) -> None:
        self._journal = rollups.journal
        self._level = level
        self._status = status
        self._dry_run = dry_run
        self._read_back: dict[int, bool] = {}

    def pass_over(self, before: datetime) -> tuple[int, int]:
        """How many were let go of, and how many must stay since nothing covers them."""
        gone = kept = 0
        after, after_seq = "", 0
        while True:
            with self._journal.database.writing() as conn:
                asked = {"level": self._level, "status": self._status, "limit": _AT_ONCE}
                place = {"after": after, "after_seq": after_seq, "before": render_time(before)}
                # What was read back in one transaction is as it was until its end.
                self._read_back.clear()
                rows = conn.execute(sql()["past"], {**asked, **place}).fetchall()
                past = [_past(row) for row in rows]
                free = [x for x in past if x.metadata.get("pinned") is not True]
                covered = [x for x in free if self._is_covered(conn, x)]
                if not self._dry_run:
                    self._let_go(conn, covered)
            gone += sum(bool(x.content) for x in covered)
            kept += len(free) - len(covered)
            if len(rows) < _AT_ONCE:
                return gone, kept
            after, after_seq = rows[-1][3], rows[-1][0]

    def _is_covered(self, conn: sqlite3.Connection, past: _Past) -> bool:
        """Whether each rollup that must cover an entry is there, fresh, and reads as kept."""
        level = parse_level(self._level)
        if level is not None and not past.content:
            return True  # nothing happened in it
        if level == "week":
            return self._months_cover(conn, past)
        rows = conn.execute(sql()["covering"], {"source": past.seq}).fetchall()
        fresh = {
            number
            for rollup, told, number in rows
            if told == past.hash and self._reads_back(conn, rollup)
        }
        return all(LEVELS.index(each) + 1 in fresh for each in made_into(level))

    def _months_cover(self, conn: sqlite3.Connection, past: _Past) -> bool:
        """A week is in no larger period: the months in which its days lie cover it."""
        zone = self._journal.marks.zone(conn)
        start, end = past.span.start, past.span.end
        assert start is not None
        assert end is not None
        for at in {span_at(start, "month", zone), span_at(past.at, "month", zone)}:
            asked = {"thread_id": self._journal.owner, "tz": at.zone_name, "level": at.number}
            found = conn.execute(
                sql()["by_period"], {**asked, "period_start": render_time(at.start)}
            ).fetchone()
            if found is None or not self._reads_back(conn, found[0]):
                return False
        return True

    def _reads_back(self, conn: sqlite3.Connection, seq: int) -> bool:
        """Whether a rollup is whole as it lies in the file, and nothing of it changed since."""
        if seq not in self._read_back:
            self._read_back[seq] = self._is_whole(conn, seq)
        return self._read_back[seq]

    def _is_whole(self, conn: sqlite3.Connection, seq: int) -> bool:
        row = conn.execute(sql()["by_seq"], {"seq": seq}).fetchone()
        facts = conn.execute(sql()["rollup_facts"], {"seq": seq}).fetchone()
        if row is None or facts is None:
            return False
        rollup = entry_of(row)
        asked = {"tz": rollup.zone_name, "level": rollup.level}
        dirty = conn.execute(
            sql()["find_dirty"], {**asked, "period_start": render_time(rollup.start)}
        ).fetchone()
        kept = content_hash(rollup.content, row[8], rollup.entry_type, row[5])
        is_whole = kept == rollup.hash and bool(rollup.content)
        return dirty is None and is_whole and parse_figures(json.loads(facts[3])).entries > 0

    def _let_go(self, conn: sqlite3.Connection, covered: Sequence[_Past]) -> None:
        now = render_time(self._journal.clock())
        if self._status == "active":
            for each in covered:
                values = {"seq": each.seq, "status": "archived", "now": now}
                conn.execute(sql()["set_status"], values)
                self._journal.note_change(conn, each.seq)
            return
        above = self._by_rollup(conn, covered)
        for seq, parts in above.items():
            self._keep_base(conn, seq, parts)
        for each in covered:
            conn.execute(sql()["drop"], {"seq": each.seq})
            if each.content:
                facts = {"seq": each.seq, "id": pack_id(each.id), "expired": True}
                conn.execute(sql()["bury"], facts)
            self._journal.note_change(conn, each.seq)
        for seq in above:
            self._note_inputs(conn, seq)

    def _by_rollup(
        self, conn: sqlite3.Connection, covered: Sequence[_Past]
    ) -> dict[int, list[_Past]]:
        found: dict[int, list[_Past]] = {}
        for each in covered:
            for rollup, *_ in conn.execute(sql()["covering"], {"source": each.seq}).fetchall():
                found.setdefault(rollup, []).append(each)
        return found

    def _keep_base(self, conn: sqlite3.Connection, seq: int, parts: Sequence[_Past]) -> None:
        """Have a rollup keep what it knows of sources that leave, for when it is made again."""
        facts = conn.execute(sql()["rollup_facts"], {"seq": seq}).fetchone()
        rollup = entry_of(conn.execute(sql()["by_seq"], {"seq": seq}).fetchone())
        old = parse_base(facts[5]) or Base(figures=Figures(), points=(), text="")
        refs = {ref_of(x.id) for x in parts}
        told = [
            x
            for x in parse_points(facts[4])
            if x.ref in refs or any(self._level and p.span.holds(x.at) for p in parts)
        ]
        base = replace(
            old,
            figures=merged([old.figures, *self._figures(conn, parts)]),
            points=tuple(dict.fromkeys([*old.points, *told])),
            text=rollup.content,
            is_private=old.is_private or bool(facts[6]),
        )
        conn.execute(sql()["set_base"], {"seq": seq, "base": render_base(base)})

    def _figures(self, conn: sqlite3.Connection, parts: Sequence[_Past]) -> Iterator[Figures]:
        if not self._level:
            yield figures_of([(x.at, x.metadata) for x in parts])
            return
        for each in parts:
            facts = conn.execute(sql()["rollup_facts"], {"seq": each.seq}).fetchone()
            yield parse_figures(json.loads(facts[3]))

    def _note_inputs(self, conn: sqlite3.Connection, seq: int) -> None:
        """What a rollup is made from since its sources left, so that nothing is made for that."""
        row = conn.execute(sql()["by_seq"], {"seq": seq}).fetchone()
        facts = conn.execute(sql()["rollup_facts"], {"seq": seq}).fetchone()
        if row is None or facts is None:
            return
        found = gather(conn, _span(entry_of(row)), self._journal.owner)
        values = {"seq": seq, "base": facts[5], "input_hash": found.input_hash}
        conn.execute(sql()["expire_into"], values)


def _past(row: tuple[Any, ...]) -> _Past:
    seq, entry_id, kind, timestamp, start, end, metadata, content, digest = row
    span = Interval(start=parse_time(start), end=parse_time(end))
    told = json.loads(metadata)
    return _Past(seq, entry_id, kind, parse_time(timestamp), span, told, content, digest)


def _span(entry: Entry) -> Span:
    start, end = render_time(entry.start), render_time(entry.end)
    return span_of_row(entry.zone_name, entry.level, start, end)


def _tidy(rollups: Rollups) -> None:
    """Give back to the disk what is no longer used, and forget changes of what is gone."""
    database = rollups.journal.database
    with database.writing() as conn:
        seq = conn.execute(sql()["prune_to"]).fetchone()[0]
        conn.execute(sql()["prune_changes"], {"seq": seq})
        conn.execute(sql()["note_pruned"], {"seq": seq})
        conn.execute(sql()["merge_words"])
    # Another process that reads keeps the file as it is: the next time does.
    with suppress(CommonplaceError), database.bare() as conn:
        pages, loose = conn.execute(sql()["pages"]).fetchone()
        if loose * _LOOSE_SHARE > pages:
            conn.execute("VACUUM")
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
