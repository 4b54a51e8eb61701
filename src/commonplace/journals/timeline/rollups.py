"""Owns rolling up: what is due, and how a period's summary is made, committed and made better.

Never calls a summariser in a transaction or under a lock, and never invents a number.
"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.clock import find_period_key, parse_time, render_time
from commonplace.core.errors import Invalid, Unavailable
from commonplace.core.rollups import Item, Summary
from commonplace.core.text import screening
from commonplace.journals.timeline.due_periods import (
    DuePeriod,
    PeriodSpan,
    bounds,
    is_open,
    smaller_of,
    span_at,
    span_of_row,
    zone_name,
)
from commonplace.journals.timeline.entry import (
    LEVELS,
    ROLLUP_TYPES,
    TimelineEntry,
    find_rollup_key,
    ref_of,
    rollup_id,
)
from commonplace.journals.timeline.figures import merged
from commonplace.journals.timeline.rollup_input import (
    Part,
    RollupInput,
    empty_input,
    facts_of,
    gather,
    has_raw,
    read_fed,
    without_replaced,
)
from commonplace.journals.timeline.rollup_rows import RollupRows, key_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from commonplace.core.clock import Level
    from commonplace.core.rollups import Summariser
    from commonplace.journals.timeline.journal import TimelineJournal
    from commonplace.journals.timeline.ports import TimelineRows
    from commonplace.journals.timeline.rollup_input import Feed

Computed: TypeAlias = Literal["due", "open"]
"""Which periods are computed: those that are due, or of them those alone that go on, where the
others are taken as they are stored."""

_AT_ONCE = 200
_TRIES = 5


class DueLevel(Struct, frozen=True, kw_only=True):
    """How many periods of a level are due, and when the oldest began."""

    level: Level
    count: int
    oldest: datetime


class Rollups:
    """The rollups of one owner's timeline. Any number of processes may do this at once.

    Args:
        journal: the timeline that is rolled up.
        extractive: the summariser without a model, whose text always stands first.
        grace: how much longer than its level says a period waits for late entries.
        feed: what opens entries of other journals.
        monotonic: measures durations.
    """

    def __init__(
        self,
        journal: TimelineJournal,
        extractive: Summariser,
        *,
        grace: timedelta = timedelta(),
        feed: Feed | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.journal = journal
        self.extractive = extractive
        self.rows = RollupRows(journal, extractive.generator)
        self.grace = grace
        self.feed = feed
        self.monotonic = monotonic

    def list_due(self) -> list[DueLevel]:
        """How many periods of each level are due now."""
        rows = self.journal.database.ask("count_due", **self._bounds())
        return [
            DueLevel(level=LEVELS[level - 1], count=count, oldest=parse_time(oldest))
            for level, count, oldest in rows
        ]

    def catch_up(self, *, most: int | None = None, within_s: float | None = None) -> int:
        """Roll up what is due, the oldest first, smaller periods before larger; how many were made.

        May be called at any time, any number of times, in any number of processes: the rollups are
        the same.

        Args:
            most: stop after so many.
            within_s: begin no more after so long, once one was made: none is taken for all done.

        Raises:
            Unavailable.
        """
        began = self.monotonic()
        made = 0
        # What cannot be made now, since a journal it is fed by does not answer, holds up no other.
        waiting: set[PeriodSpan] = set()
        while most is None or made < most:
            left = _AT_ONCE if most is None else min(_AT_ONCE, most - made)
            asked = {**self._bounds(), "limit": left + len(waiting)}
            rows = self.journal.database.ask("due", **asked)
            due = [x for row in rows if (x := span_of_row(*row)) not in waiting]
            if not due:
                break
            for each in due[:left]:
                if made and within_s is not None and self.monotonic() - began >= within_s:
                    return made
                if self.roll_up(each):
                    made += 1
                elif self._is_marked(each):
                    waiting.add(each)
        return made

    def read(
        self, level: Level, at: datetime, *, partial: bool = False, stores: bool = True
    ) -> TimelineEntry | None:
        """The rollup of the period that holds an instant, rolled up now where it is due.

        Args:
            level: of the period.
            at: an instant that it holds.
            partial: compute a period that is still open; marked so, and stored nowhere.
            stores: False where the caller may only read: what is due is computed then.

        Returns:
            None for a period that is still open, without `partial`; an entry without text for one
            in which nothing was recorded.

        Raises:
            Unavailable.
        """
        now = self.journal.clock()
        with self.journal.database.reading() as conn:
            span = span_at(at, level, self.journal.due_periods.zone(conn))
            found = self._find(conn, span)
            fresh = None if found is None or found.stale else found
            is_expired = conn is not None and self.rows.is_expired(conn, span)
            if fresh or (conn and is_expired and self.rows.mark_of(conn, span) is None):
                return fresh or self._empty_rollup(span)
        if is_open(span, now, self.grace):
            return self.compute(span) if partial else None
        if not self.journal.exists:
            return self._empty_rollup(span)
        if not stores:
            return self._compute_closed(span)
        try:
            self.roll_up_with_parts(span)
        except Unavailable:
            # What cannot be written now, on a disk that is full say, is computed all the same.
            return self._compute_closed(span)
        with self.journal.database.reading() as conn:
            return self._find(conn, span) or self._empty_rollup(span)

    def _compute_closed(self, span: PeriodSpan) -> TimelineEntry:
        """A closed period's rollup, computed and not stored."""
        found = self.compute(span)
        return replace(found, metadata={**found.metadata, "partial": False})

    def roll_up_with_parts(self, span: PeriodSpan) -> None:
        """Roll up a period and, before, what it is made from, as far as either is due.

        Of a period that goes on only what is over in it.
        """
        for each in smaller_of(span):
            if self._is_marked(each):
                self.roll_up_with_parts(each)
        if is_open(span, self.journal.clock(), self.grace):
            return
        with self.journal.database.reading() as conn:
            if conn is None:
                return
            lacking = self.rows.find(conn, span) is None and self.rows.mark_of(conn, span) is None
            lacking = lacking and has_raw(conn, span) and not self.rows.is_expired(conn, span)
        if lacking:
            # No mark and no rollup, yet something is there: another zone cut it so far.
            self._mark(span)
        self.roll_up(span)

    def rebuild(self, level: Level, at: datetime) -> int:
        """Make a period's rollup and all it is made from again, from the entries; how many.

        What still goes on of it is left open.
        """
        with self.journal.database.writing() as conn:
            span = span_at(at, level, self.journal.due_periods.zone(conn))
            self.journal.due_periods.begin(conn, span.zone_name, self.journal.clock())
            change = conn.run("last_change").fetchone()[0]
            spans = self._spans_to_rebuild(conn, span)
            self.journal.due_periods.mark_spans(conn, spans, change=change)
            whole = {**key_of(span), "level": span.number, "end": render_time(span.end)}
            conn.run("forget_inputs", {**whole, "thread_id": self.journal.owner})
        self.roll_up_with_parts(span)
        now = self.journal.clock()
        return sum(not is_open(each, now, self.grace) for each in spans)

    def roll_up(self, span: PeriodSpan) -> bool:
        """Make one rollup if it is due; whether anything was written.

        What it is made from and was never rolled up is made first. Another process that is faster
        wins, and this one's summary is thrown away.
        """
        for _ in range(_TRIES):
            due, found = self._gather(span)
            if due is None or found is None or self._is_passed_on(due):
                return False
            if found.missing:
                self._mark(*found.missing)
                for each in found.missing:
                    self.roll_up(each)
                if any(self._is_marked(x) for x in found.missing):
                    return False
                continue
            if self._is_up_to_date(found):
                with self.journal.database.writing() as conn:
                    self.rows.unmark(conn, due)
                return False
            try:
                found = read_fed(found, self.feed)
            except Unavailable:
                return False
            began = self.monotonic()
            summary = self._summary_of(found)
            done = self.rows.store(found, summary, due)
            self.log(found, summary, took_s=self.monotonic() - began, done=done)
            if done:
                return True
        return False

    def is_private(self, entry: TimelineEntry) -> bool:
        """Whether a rollup, stored or computed, quotes the private journal or may do so."""
        stored = self.journal.database.ask("rollup_facts", seq=entry.seq) if entry.seq else []
        return bool(stored[0][-1]) if stored else entry.metadata.get("private") is True

    def find_open(self, entry_id: str) -> TimelineEntry | None:
        """The rollup with an id, computed, where its period goes on; None for any other id."""
        key = find_rollup_key(entry_id)
        with suppress(Invalid):  # no such day
            if key and (named := find_period_key(key, self.journal.zone)) and named[1].start:
                span = span_at(named[1].start, named[0], self.journal.zone)
                if is_open(span, self.journal.clock(), self.grace):
                    found = self.compute(span)
                    return found if found.id == entry_id and found.content else None
        return None

    def compute(self, span: PeriodSpan, *, smaller: Computed = "due") -> TimelineEntry:
        """A period as its rollup would be now, smaller ones computed likewise; stores nothing."""
        found = self.compute_input(span, smaller=smaller)
        summary = self._summary_of(found)
        with self.journal.database.reading() as conn:
            made = "" if conn is None else self.journal.due_periods.suffix(conn, span.zone_name)
        facts = {**facts_of(found, generator=summary.generator), "partial": True}
        facts |= {"private": True} if found.is_private else {}
        return self.rows.entry(span, found, content=summary.text, facts=facts, suffix=made)

    def compute_input(
        self, span: PeriodSpan, *, whole: bool = False, smaller: Computed = "due"
    ) -> RollupInput:
        """What a period is made from, smaller ones computed where they are not made.

        What a journal adds that does not answer now is left out; whole: Unavailable is raised.
        """
        with self.journal.database.reading() as conn:
            if conn is None:
                return empty_input(span)
            with conn.snapshot():
                found = gather(conn, span, self.journal.owner)
                due = {x for x in smaller_of(span) if self.rows.mark_of(conn, x) is not None}
        found = without_replaced(found, self.journal.replaced)
        try:
            found = read_fed(found, self.feed)
        except Unavailable:
            if whole:
                raise
            found = read_fed(found, None)
        # What is stored of those that are due is behind: it gives way to what is computed.
        due |= set(found.missing)
        if smaller == "open":
            now = self.journal.clock()
            due = {x for x in due if is_open(x, now, self.grace)}
        parts = [x for x in found.parts if x.span not in due]
        if due:
            made = (self._computed_part(x, whole=whole, smaller=smaller) for x in due)
            parts += [x for x in made if x.figures.entries]
            figures = merged([x.figures for x in parts])
            found = replace(found, parts=tuple(parts), figures=figures, missing=())
        return found

    def log(
        self, found: RollupInput, summary: Summary, *, took_s: float, done: bool, failure: str = ""
    ) -> None:
        """One line on what was made from how much, by what, at which cost; no text of entries."""
        self.journal.database.log(
            at=render_time(self.journal.clock()),
            level=found.span.level,
            period=found.key,
            timezone=found.span.zone_name,
            inputs=len(found.links),
            entries=found.figures.entries,
            input_hash=found.input_hash.hex(),
            generator=summary.generator,
            model=summary.model,
            tokens_in=summary.tokens_in,
            tokens_out=summary.tokens_out,
            cost_usd=summary.cost_usd,
            duration_ms=round(took_s * 1000, 3),
            outcome=failure or ("stored" if done else "discarded"),
        )

    def _summary_of(self, found: RollupInput) -> Summary:
        if not found.items:
            return Summary(text="", generator=self.extractive.generator)
        with screening(self.journal.screen.shown):
            return self.extractive.summarise(found.material(self.journal.owner))

    def _bounds(self) -> dict[str, str]:
        return bounds(self.journal.clock(), self.grace)

    def _spans_to_rebuild(self, conn: TimelineRows, whole: PeriodSpan) -> set[PeriodSpan]:
        """A period and all smaller ones in it that have a rollup, or something to be rolled up."""
        asked = {"start": render_time(whole.start), "end": render_time(whole.end)}
        times = [row[2] for row in conn.run("raw_within", asked)]
        times += [row[2] for row in conn.run("expired_within", asked)]
        times += [row[3] for row in conn.run("fed_within", asked)]
        levels = LEVELS[: whole.number]
        found = {
            span
            for at in sorted(times)
            for span in self.journal.due_periods.spans(parse_time(at), whole.zone)
            if span.level in levels and whole.start <= span.start and span.end <= whole.end
        }
        owned = {"tz": whole.zone_name, "level": whole.number, "thread_id": self.journal.owner}
        rows = conn.run("made_within", {**asked, **owned}).fetchall()
        return {whole, *found, *(span_of_row(whole.zone_name, *row) for row in rows)}

    def _gather(self, span: PeriodSpan) -> tuple[DuePeriod | None, RollupInput | None]:
        with self.journal.database.reading() as conn:
            if conn is None:
                return None, None
            with conn.snapshot():
                mark = self.rows.mark_of(conn, span)
                if mark is None:
                    return None, None
                seen = conn.run("last_change").fetchone()[0]
                found = gather(conn, span, self.journal.owner)
        return DuePeriod(span, mark, seen), without_replaced(found, self.journal.replaced)

    def _is_passed_on(self, due: DuePeriod) -> bool:
        """Whether a period is of a zone that is the owner's no longer: those of its own are due.

        The old rollup stays until they are made.
        """
        if zone_name(self.journal.zone) == due.span.zone_name:
            return False
        span, marks = due.span, self.journal.due_periods
        with self.journal.database.writing() as conn:
            zone = marks.zone(conn)
            self.rows.unmark(conn, due)
            is_made = self.rows.find(conn, span) is not None
            at = span.start
            while at < span.end:
                own = span_at(at, span.level, zone)
                if is_made or has_raw(conn, own):
                    marks.mark_spans(conn, [own], change=due.mark)
                at = own.end
        return True

    def _mark(self, *spans: PeriodSpan) -> None:
        with self.journal.database.writing() as conn:
            change = conn.run("last_change").fetchone()[0]
            self.journal.due_periods.mark_spans(conn, spans, change=change)

    def _is_marked(self, span: PeriodSpan) -> bool:
        with self.journal.database.reading() as conn:
            return conn is not None and self.rows.mark_of(conn, span) is not None

    def _is_up_to_date(self, found: RollupInput) -> bool:
        """Whether the rollup that is there was made from the very same."""
        with self.journal.database.reading() as conn:
            old = None if conn is None else self.rows.find(conn, found.span)
            if old is None or conn is None or old.status != "active":
                return False
            facts = conn.run("rollup_facts", {"seq": old.seq}).fetchone()
            return bool(facts[1] == found.input_hash)

    def _find(self, conn: TimelineRows | None, span: PeriodSpan) -> TimelineEntry | None:
        """The rollup of a period with what it went into and was made from."""
        found = None if conn is None else self.rows.find(conn, span)
        return None if conn is None or found is None else self.journal.whole(conn, found)

    def _computed_part(self, span: PeriodSpan, *, whole: bool, smaller: Computed) -> Part:
        """A smaller period as a part of a larger one, computed and stored nowhere."""
        found = self.compute_input(span, whole=whole, smaller=smaller)
        summary = self._summary_of(found)
        item = Item(
            ref=ref_of(rollup_id(span.level, found.key, span.zone_name)),
            at=span.start,
            text=summary.text,
            kind=ROLLUP_TYPES[span.level],
            entries=found.figures.entries,
            points=summary.points,
            is_private=found.is_private,
        )
        return Part(item=item, names=found.names, figures=found.figures, span=span)

    def _empty_rollup(self, span: PeriodSpan) -> TimelineEntry:
        found = empty_input(span)
        facts = facts_of(found, generator=self.extractive.generator)
        with self.journal.database.reading() as conn:
            suffix = "" if conn is None else self.journal.due_periods.suffix(conn, span.zone_name)
        return self.rows.entry(span, found, content="", facts=facts, suffix=suffix)
