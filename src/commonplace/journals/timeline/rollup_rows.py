"""Owns the rows of rollups: how one is read, stored in one transaction, or noted as empty.

Never summarises; what is stored was made with no transaction open, and only if it is still due.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.core.clock import parse_time, period_key, render_time
from commonplace.core.rollups import Summary
from commonplace.journals.timeline.due_periods import note_change, zone_name
from commonplace.journals.timeline.entry import (
    ROLLUP_TYPES,
    TimelineEntry,
    content_hash,
    last_instant,
    pack_id,
    render_metadata,
    rollup_id,
)
from commonplace.journals.timeline.figures import render_figures
from commonplace.journals.timeline.queries import entry_of
from commonplace.journals.timeline.rollup_input import empty_input, facts_of, render_points

if TYPE_CHECKING:
    from commonplace.journals.timeline.due_periods import DuePeriod, PeriodSpan
    from commonplace.journals.timeline.journal import TimelineJournal
    from commonplace.journals.timeline.ports import TimelineRows
    from commonplace.journals.timeline.rollup_input import RollupInput

_ASTRAY = timedelta(hours=40)


class RollupRows:
    """The rollups of one owner's timeline as they lie in its file.

    Args:
        generator: What writes down that nothing happened.
    """

    def __init__(self, journal: TimelineJournal, generator: str) -> None:
        self._journal = journal
        self._generator = generator

    def find(self, conn: TimelineRows, span: PeriodSpan) -> TimelineEntry | None:
        """The rollup of a period as its row has it."""
        asked = {**key_of(span), "thread_id": self._journal.owner}
        row = conn.run("by_period", asked).fetchone()
        return None if row is None else entry_of(row)

    def is_expired(self, conn: TimelineRows, span: PeriodSpan) -> bool:
        """Whether retention deleted the rollup of a period."""
        suffix = self._journal.due_periods.suffix(conn, span.zone_name)
        key = period_key(span.start, span.level, span.zone)
        return self._expired(conn, rollup_id(span.level, key, suffix)) is not None

    def _expired(self, conn: TimelineRows, entry_id: str) -> int | None:
        """The number of an entry that expired; None for one that did not."""
        found = conn.run("find_tombstone", {"id": pack_id(entry_id)}).fetchone()
        return found[0] if found is not None and found[1] else None

    def mark_of(self, conn: TimelineRows, span: PeriodSpan) -> int | None:
        """The change since which a period is to be rolled up again; None where it is not."""
        found = conn.run("find_dirty", key_of(span)).fetchone()
        return None if found is None else int(found[0])

    def unmark(self, conn: TimelineRows, due: DuePeriod) -> bool:
        """Take a period's mark away, unless something changed in it since it was looked at."""
        values = {**key_of(due.span), "mark": due.mark, "seen": due.seen}
        return conn.run("unmark", values).rowcount > 0

    def store(self, found: RollupInput, summary: Summary, due: DuePeriod) -> bool:
        """Store a rollup that was made from `found`; False where that is no longer how it is."""
        journal, span = self._journal, found.span
        now, copied = journal.clock(), journal.screen.copied
        # An entry of another journal that it quotes may be older than the screen.
        points = tuple(replace(point, text=copied(point.text)) for point in summary.points)
        summary = replace(summary, text=copied(summary.text), points=points)
        with journal.database.writing() as conn:
            if not self.unmark(conn, due):
                return False
            old = self.find(conn, span)
            journal.due_periods.begin(conn, span.zone_name, now)
            suffix = journal.due_periods.suffix(conn, span.zone_name)
            facts = facts_of(
                found,
                generator=summary.generator,
                model=summary.model,
                tokens=summary.tokens_in + summary.tokens_out,
            )
            entry = self.entry(span, found, content=summary.text, facts=facts, suffix=suffix)
            seq = self._put(conn, entry, old)
            self._put_facts(conn, seq, found, summary)
            change = note_change(conn, seq)
            journal.due_periods.mark_spans(conn, journal.due_periods.above(span), change=change)
            for empty in found.empty if span.level != "day" else ():
                self._put_empty(conn, empty, suffix)
            if zone_name(journal.due_periods.zone(conn)) == span.zone_name:
                self._drop_replaced(conn, span)
        return True

    def entry(
        self,
        span: PeriodSpan,
        found: RollupInput,
        *,
        content: str,
        facts: dict[str, Any],
        suffix: str,
    ) -> TimelineEntry:
        """A rollup as it is stored, or would be."""
        now = self._journal.clock()
        return TimelineEntry(
            seq=0,
            id=rollup_id(span.level, found.key, suffix),
            thread_id=self._journal.owner,
            content=content,
            entry_type=ROLLUP_TYPES[span.level],
            at=last_instant(span.end),
            start=span.start,
            end=span.end,
            metadata=facts,
            level=span.number,
            status="active",
            created=now,
            updated=now,
            zone_name=span.zone_name,
            sources=found.names,
        )

    def _put(self, conn: TimelineRows, entry: TimelineEntry, old: TimelineEntry | None) -> int:
        metadata = render_metadata(entry.metadata)
        timestamp = render_time(entry.at)
        row = {
            "id": entry.id,
            "thread_id": self._journal.owner,
            "content": entry.content,
            "entry_type": entry.entry_type,
            "timestamp": timestamp,
            "period_end": render_time(entry.end),
            "metadata": metadata,
            "now": render_time(self._journal.clock()),
            "hash": content_hash(entry.content, metadata, entry.entry_type, timestamp),
            "period_start": render_time(entry.start),
            "level": entry.level,
            "tz": entry.zone_name,
        }
        if old is not None:
            conn.run("update_rollup", {**row, "seq": old.seq})
            return old.seq
        seq = self._expired(conn, entry.id)
        row |= {"seq": seq, "status": "active"}
        if seq is not None:
            # What is made from it needs it again, and no reader does: its time is past.
            conn.run("unbury", {"seq": seq})
            row["status"] = "archived"
        return conn.run("add_rollup", row).lastrowid or 0

    def _put_facts(
        self, conn: TimelineRows, seq: int, found: RollupInput, summary: Summary
    ) -> None:
        facts = {
            "seq": seq,
            "period_key": found.key,
            "input_hash": found.input_hash,
            "generator": summary.generator,
            "figures": json.dumps(
                render_figures(found.figures), ensure_ascii=False, separators=(",", ":")
            ),
            "points": render_points(summary.points),
            "is_private": int(found.is_private),
        }
        conn.run("set_rollup", facts)
        conn.run("drop_links", {"rollup": seq})
        links = (
            {"rollup": seq, "source": source, "hash": digest} for source, digest in found.links
        )
        conn.run_each("add_link", links)

    def _put_empty(self, conn: TimelineRows, span: PeriodSpan, suffix: str) -> None:
        """Record that nothing happened in a period, so that it differs from one not looked at."""
        if self.find(conn, span) is not None or self.mark_of(conn, span) is not None:
            return
        found = empty_input(span)
        facts = facts_of(found, generator=self._generator)
        entry = self.entry(span, found, content="", facts=facts, suffix=suffix)
        seq = self._put(conn, entry, None)
        self._put_facts(conn, seq, found, Summary(text="", generator=self._generator))

    def _drop_replaced(self, conn: TimelineRows, span: PeriodSpan) -> None:
        """What another zone cut is kept until this one has its own, and no longer."""
        asked = {
            "thread_id": self._journal.owner,
            "level": span.number,
            "tz": span.zone_name,
            "low": render_time(span.start - _ASTRAY),
            "high": render_time(span.end + _ASTRAY),
        }
        for seq, entry_id, start, end in conn.run("overlapped", asked).fetchall():
            began, ended = parse_time(start), parse_time(end)
            if span.interval.holds(began + (ended - began) / 2):
                conn.run("drop", {"seq": seq})
                conn.run("bury", {"seq": seq, "id": pack_id(entry_id), "expired": False})
                note_change(conn, seq)


def key_of(span: PeriodSpan) -> dict[str, Any]:
    """A period as rows name it."""
    return {
        "tz": span.zone_name,
        "level": span.number,
        "period_start": render_time(span.start),
    }
