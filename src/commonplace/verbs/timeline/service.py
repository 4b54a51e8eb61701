"""The timeline's verbs, shared by tools, commands and library: one owner's journal and its search.

Values in, values out: `lines` and `tools` beside it put them into words.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.clock import render_time
from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.text import nearest, opening
from commonplace.core.values import Interval
from commonplace.journals.timeline.due_periods import span_at
from commonplace.journals.timeline.entry import (
    JOURNAL,
    NAMES,
    PERIODS,
    RAW,
    id_of,
)
from commonplace.journals.timeline.expiry import RetentionResult, apply_retention
from commonplace.journals.timeline.journal import Listed
from commonplace.journals.timeline.period_reader import PeriodReader
from commonplace.journals.timeline.privacy_delete import erase, is_erasing
from commonplace.journals.timeline.retention import KEEP_ALL
from commonplace.journals.timeline.trends import counted_span
from commonplace.search.policy import fitting_level
from commonplace.verbs.amend import look_up_former
from commonplace.verbs.context import check_budget
from commonplace.verbs.timeline.context import assemble, recent_rollups
from commonplace.verbs.timeline.finding import TimelineSearch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Clock, Level
    from commonplace.core.former_texts import FormerTexts
    from commonplace.core.present import Present
    from commonplace.journals.timeline.comparison import Comparison
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.feed import Feeding
    from commonplace.journals.timeline.retention import Retention
    from commonplace.journals.timeline.rollups import Computed, Rollups
    from commonplace.journals.timeline.trends import Trends
    from commonplace.search.filing.filing import Filing
    from commonplace.search.finder import Finder
    from commonplace.verbs.context import Context
    from commonplace.verbs.timeline.finding import TimelineFound

_CONTEXT_HITS = 12
_CONTEXT_ROLLUPS = 6
_AT_ONCE = 400
_AT_ONCE_S = 0.5
_PERIODS_SHOWN = 62
_TICK = timedelta(microseconds=1)
_DAYS: Mapping[Level, int] = {"day": 1, "week": 7, "month": 30, "year": 365}


class RecordedEntry(Struct, frozen=True, kw_only=True):
    """An entry that is recorded.

    Attributes:
        is_new: False where its key had added it before.
        notes: What the caller must know, such as that it is not found by meaning yet.
    """

    entry: TimelineEntry
    is_new: bool
    notes: tuple[str, ...] = ()


class TimelineService:
    """The verbs of one owner's timeline: each writes, files what was written, or finds.

    Args:
        rollups: what sums up what is recorded.
        filing: what keeps the index behind the journal; opened at the first use.
        finder: what searches the index; opened at the first use.
        clock: the present instant.
        retention: what `run_due` archives and deletes.
        present: judges whether the clock may be believed.
        feeding: what follows other journals; None where none feeds the timeline.
        former: keeps the texts that edits replace.
        rolls_up: whether what is due is rolled up before anything is read, for half a second at
            the most.
    """

    def __init__(
        self,
        *,
        rollups: Rollups,
        filing: Callable[[], Filing],
        finder: Callable[[], Finder],
        clock: Clock,
        present: Present,
        former: FormerTexts,
        retention: Retention = KEEP_ALL,
        feeding: Feeding | None = None,
        rolls_up: bool = True,
    ) -> None:
        self.journal = rollups.journal
        self.rollups = rollups
        self.filing = filing
        self.finder = finder
        self.clock = clock
        self.present = present
        self.former = former
        self.retention = retention
        self.feeding = feeding
        self.rolls_up = rolls_up
        self._is_erased = False

    @property
    def zone(self) -> tzinfo:
        """The zone that cuts this owner's periods now."""
        return self.journal.zone

    def keep_up(self) -> int:
        """Roll up some of what is due, if anything is; how many were made. Never raises."""
        with suppress(CommonplaceError):
            if self.rolls_up:
                self._erase()
                self.feed()
                return self.rollups.catch_up(most=_AT_ONCE, within_s=_AT_ONCE_S)
        return 0

    def catch_up(self) -> int:
        """Roll up all that is due, unless this may only read; how many. Raises: Unavailable."""
        if not self.rolls_up:
            return 0
        self.feed()
        return self.rollups.catch_up()

    def feed(self) -> int:
        """Note what other journals have more, other or no more, where they count in rollups."""
        if self.feeding is None:
            return 0
        return self.feeding.sync(forget=lambda refs: self.filing().forget(refs))

    def run_due(self, *, dry_run: bool = False) -> tuple[int, RetentionResult]:
        """Roll up all that is due, then archive and delete what retention no longer keeps.

        How many rollups were made, and what retention did; dry_run: would do, and nothing is made.
        May be called at any time and as often as one likes. Where nothing bears out the clock,
        retention does nothing, and the result says so. Raises: Unavailable.
        """
        if not dry_run:
            self._is_erased = False
            self._erase()
            self.feed()
        made = 0 if dry_run else self.rollups.catch_up()
        if self.retention.is_on and not dry_run and not self.present.is_borne_out():
            return made, RetentionResult(doubt=f"Retention waits: {self.present.doubt()}")
        return made, apply_retention(self.rollups, self.retention, dry_run=dry_run)

    def add(
        self,
        content: str,
        *,
        entry_type: str = RAW,
        at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        idempotency_key: str = "",
        supersedes: str = "",
    ) -> RecordedEntry:
        """Record an entry, then file it.

        Args:
            content: What happened.
            entry_type: `raw`, or `profile_snapshot`; that of the entry that is superseded, if any.
            at: None for now.
            metadata: None for that of the entry that is superseded, if any.
            idempotency_key: The same key twice is one entry.
            supersedes: The ref of what it replaces; done twice it is one entry, whatever the key.

        Raises:
            Invalid, NotFound, Conflict, Unavailable.
        """
        if supersedes.strip():
            when = at or self.clock()
            return look_up_former(
                supersedes,
                JOURNAL,
                lambda ref: self.supersede(id_of(ref), content, at=when, metadata=metadata),
            )
        added = self.journal.add(
            content,
            entry_type=entry_type,
            at=at,
            metadata=metadata,
            idempotency_key=idempotency_key,
        )
        notes = self._file([added.entry]) if added.is_new else ()
        return RecordedEntry(entry=added.entry, is_new=added.is_new, notes=notes)

    def supersede(
        self,
        entry_id: str,
        content: str,
        *,
        at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> RecordedEntry:
        """Record an entry in the place of another, then file it; see `TimelineJournal.supersede`.

        Args:
            entry_id: Of the entry that no longer holds.
            content: Of the new one.
            at: None for the time of the former.
            metadata: None for that of the former.

        Raises:
            Invalid, NotFound, Conflict, Unavailable.
        """
        added = self.journal.supersede(entry_id, content, at=at, metadata=metadata)
        notes = self._file([added.entry]) if added.is_new else ()
        return RecordedEntry(entry=added.entry, is_new=added.is_new, notes=notes)

    def find(
        self,
        query: str,
        *,
        interval: Interval | None = None,
        types: Sequence[str] = (),
        limit: int = 10,
        before: datetime | None = None,
    ) -> TimelineFound:
        """The best entries for a question; a time in it is read where `interval` is not given.

        A blank question lists what lies in the time, newest first.

        Args:
            query: The question.
            interval: The time of the entries; None for the one in the question.
            types: Of the entries; empty for any.
            limit: How many at the most.
            before: Only what was written down before counts; None for all. A summary that was made
                again since is left out then.

        Raises:
            Invalid, Unavailable.
        """
        self.keep_up()
        search = TimelineSearch(rollups=self.rollups, finder=self.finder, stores=self.rolls_up)
        return search.find(query, interval=interval, types=types, limit=limit, before=before)

    def list_entries(
        self,
        interval: Interval,
        *,
        level: int | None = None,
        types: Sequence[str] = (),
        limit: int = 100,
        cursor: str = "",
        going_on: Sequence[Level] = (),
    ) -> Listed:
        """What overlaps a span, newest first; see `TimelineJournal.list_entries`.

        Each as `read` gives it: a rollup with what it was made from, and whether it is stale.

        going_on: of these levels the period that goes on stands first, computed now.
        """
        self.keep_up()
        levels = () if cursor else going_on
        first = [x for each in levels if (x := self._find_open(interval, each))][:limit]
        room = limit - len(first)
        listed = self.journal.list_entries(
            interval, level=level, types=types, limit=max(room, 1), cursor=cursor
        )
        listed = replace(listed, entries=self.journal.whole_of(listed.entries))
        if not first:
            return listed
        # A clock that was set back opens a period again that is rolled up already.
        again = {x.id for x in first}
        entries = (*first, *(x for x in listed.entries[:room] if x.id not in again))
        if room:
            return Listed(entries=entries, cursor=listed.cursor)
        # The open period is stored nowhere: the list goes on after its time.
        after = f"{render_time(first[-1].at)}/0" if listed.entries else ""
        return Listed(entries=entries, cursor=after)

    def rollup(
        self, period: str, at: datetime | None = None, *, partial: bool = False
    ) -> TimelineEntry | None:
        """The rollup of a period (`hourly` … `yearly`) that holds an instant, else now.

        None for an open one, unless it is asked for as partial. Raises: Invalid, Unavailable.
        """
        self.keep_up()
        level, when = parse_period(period), at or self.clock()
        return self.rollups.read(level, when, partial=partial, stores=self.rolls_up)

    def _find_open(self, interval: Interval, level: Level) -> TimelineEntry | None:
        """The period of a level that goes on, computed now and stored nowhere.

        None where it lies outside the time, or nothing is recorded in it.
        """
        now = self.clock()
        span = span_at(now, level, self.zone)
        if interval.start is not None and span.end <= interval.start:
            return None
        if interval.end is not None and span.start >= interval.end:
            return None
        found = self.rollup(NAMES[level], now, partial=True)
        return found if found is not None and found.partial and found.content else None

    def context(self, query: str, *, budget_tokens: int = 1200) -> Context:
        """What a prompt should hold: the profile, fitting rollups, the nearest entries."""
        check_budget(budget_tokens)
        # Without a question the summaries of the last while stand above: what is new follows them.
        found = self.find(query, types=() if query.strip() else (RAW,), limit=_CONTEXT_HITS)
        if found.interval is None:
            rollups = recent_rollups(self.rollups, stores=self.rolls_up)
        else:
            number = fitting_level(found.interval) or 1
            listed = self.journal.list_entries(found.interval, level=number, limit=_CONTEXT_ROLLUPS)
            rollups = iter(listed.entries)
        return assemble(self.journal, found, rollups, budget_tokens=budget_tokens)

    def trends(
        self, interval: Interval | None, *, level: Level | None = None, computes: Computed = "due"
    ) -> Trends:
        """Counts, active hours, projects and tags of each period in a span, or of all there is.

        Args:
            interval: None for all.
            level: Of the periods; None for the smallest of which no more than two months' days are
                shown.
            computes: `due`: what is not rolled up yet is, or is counted; `open` only what goes on.

        Raises:
            Invalid, Unavailable.
        """
        if computes == "due":
            self.keep_up()
        within = interval or Interval()
        if level is None:
            span = counted_span(self.journal, within) or (self.clock(), self.clock())
            days = (min(span[1], within.end or span[1]) - span[0]).days + 1
            fitting = [x for x, each in _DAYS.items() if days / each <= _PERIODS_SHOWN]
            level = fitting[0] if fitting else "year"
        return PeriodReader(self.rollups).list_trends(within, level, computes=computes)

    def compare(
        self, level: Level, interval: Interval | None, *, computes: Computed = "due"
    ) -> Comparison | None:
        """The last period of a span that has begun, beside those before it; None for no entry.

        Raises: Unavailable.
        """
        end, now = interval.end if interval else None, self.clock()
        at = min(now, end - _TICK) if end else now
        return PeriodReader(self.rollups).compare(level, at, computes=computes)

    def _erase(self) -> None:
        """Erase once what was deleted before and is left, as where that process was killed."""
        if not self._is_erased:
            self._is_erased = True
            with suppress(CommonplaceError):
                if is_erasing(self.journal.database):
                    erase(self.journal.database)

    def _file(self, entries: Sequence[TimelineEntry]) -> tuple[str, ...]:
        return self.filing().file(self.journal.docs(entries)).notes


def parse_period(text: str) -> Level:
    """The level of `hourly`, `daily`, `weekly`, `monthly` or `yearly`. Raises: Invalid."""
    for name, level in PERIODS.items():
        if text.strip().lower() in {name, f"{name}_rollup", level}:
            return level
    near = nearest(text, list(PERIODS))
    guess = f"Did you mean {near}? " if near else ""
    raise Invalid(
        f"Invalid period: {opening(text, 60)!r}.", hint=f"{guess}Use one of {', '.join(PERIODS)}."
    )
