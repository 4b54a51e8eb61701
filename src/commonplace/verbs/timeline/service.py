"""The timeline's verbs: record what happens, find it, read how a period went.

Each takes plain values and answers in words and facts. Decides nothing about periods or ranking.
"""

# Listing tools opens nothing: what keeps and sums up is imported where a verb uses it.
from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.clock import render_instant, render_time
from commonplace.core.errors import CommonplaceError
from commonplace.core.fence import fenced
from commonplace.core.spaces import by_member
from commonplace.core.text import TOKEN_BYTES, opening
from commonplace.core.values import Answer, Interval
from commonplace.journals.timeline.entry import (
    JOURNAL,
    LEVELS,
    LONGEST,
    NAMES,
    PERIODS,
    RAW,
    PeriodName,
    id_of,
    member_of,
    version_of,
)
from commonplace.journals.timeline.retention import KEEP_ALL
from commonplace.search.policy import fitting_level
from commonplace.verbs.amend import look_up_former
from commonplace.verbs.answers import CAUTION, answer_of, interval_facts, time_lines, tokens_of
from commonplace.verbs.context import check_budget
from commonplace.verbs.timeline.lines import (
    NOTHING,
    entry_facts,
    found_answer,
    list_answer,
    rollup_answer,
)
from commonplace.verbs.timeline.reading import find_id, parse_interval, parse_period, read_named
from commonplace.verbs.timeline.trend_lines import compared_level, comparison_lines, trend_lines
from commonplace.verbs.times import read_as_of, read_at
from commonplace.verbs.toolset import Arg, Effects, Tool, Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Clock, Level
    from commonplace.core.former_texts import FormerTexts
    from commonplace.core.present import Present
    from commonplace.journals.timeline.add import AddedEntry
    from commonplace.journals.timeline.comparison import Comparison
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.expiry import RetentionResult
    from commonplace.journals.timeline.feed import Feeding
    from commonplace.journals.timeline.journal import Listed
    from commonplace.journals.timeline.retention import Retention
    from commonplace.journals.timeline.rollups import Computed, Rollups
    from commonplace.journals.timeline.trends import Trends
    from commonplace.search.filing.port import FilingPort
    from commonplace.search.finder import Finder
    from commonplace.verbs.context import Context
    from commonplace.verbs.timeline.finding import TimelineFound

RangeLevel: TypeAlias = Literal["all", "raw", "hourly", "daily", "weekly", "monthly", "yearly"]

TrendPeriod: TypeAlias = Literal["auto", "hourly", "daily", "weekly", "monthly", "yearly"]

_GUIDE = """\
There is a timeline of what happens, summed up by hour, day, week, month and year. Gather what to \
know with timeline_context, ask timeline_rollup how a day, a month or a year went, and \
timeline_trends how this week compares with the last."""

_WRITING_GUIDE = "Record in the timeline with timeline_add what was done or said."

_LEVELS = ("raw", *PERIODS)
_FEWEST_TOKENS = 200
_AROUND_TOKENS = 60
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
    """The verbs of one owner's timeline, for tools, commands and library; `toolset` is for doors.

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
        filing: Callable[[], FilingPort],
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

    @classmethod
    def toolset(cls, opens: Callable[[], Self]) -> Toolset:
        """The tools, methods of what `opens` gives at each call; listing them opens nothing."""
        return Toolset(
            name="timeline",
            guide=_GUIDE,
            writing_guide=_WRITING_GUIDE,
            tools=(
                Tool(
                    run=cls.timeline_add,
                    may_expire=True,
                    title="Record in the timeline",
                    effects=Effects(writes=True, repeatable=False),
                ),
                Tool(run=cls.timeline_search, title="Search the timeline"),
                Tool(run=cls.timeline_range, title="List a time of the timeline"),
                Tool(run=cls.timeline_rollup, title="Read how a period went"),
                Tool(run=cls.timeline_trends, title="Compare periods", quotes=True),
                Tool(
                    run=cls.timeline_profile,
                    title="Read or store the profile",
                    effects=Effects(writes=True),
                ),
                Tool(run=cls.timeline_context, title="Gather context from the timeline"),
            ),
        ).of(opens)

    def timeline_add(
        self,
        *,
        content: Annotated[str, Arg("What happened.")],
        entry_type: Annotated[
            Literal["raw", "profile_snapshot"], Arg("raw: something that happened.")
        ] = "raw",
        at: Annotated[str, Arg("When, if not now: 'yesterday 9am'.")] = "",
        metadata: Annotated[
            dict[str, Any], Arg("projects and tags (lists), action, tools_used, anything else.")
        ] = {},
        idempotency_key: Annotated[str, Arg("Same key, same entry.")] = "",
        supersedes: Annotated[str, Arg("Ref of what it replaces.")] = "",
    ) -> Answer:
        """Timeline: record something that happened, as it happens.

        Use it for each step worth counting; summaries of its hour and day follow by themselves.
        Returns its ref.
        """
        written = self.add(
            content,
            entry_type=entry_type,
            at=read_at(self, at),
            metadata=metadata,
            idempotency_key=idempotency_key,
            supersedes=supersedes,
        )
        return self._written(written)

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
            when, more = at or self.clock(), metadata or None
            return look_up_former(
                supersedes,
                JOURNAL,
                lambda ref: self.supersede(id_of(ref), content, at=when, metadata=more),
            )
        added = self.journal.add(
            content,
            entry_type=entry_type,
            at=at,
            metadata=metadata,
            idempotency_key=idempotency_key,
        )
        return self._recorded(added)

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
        return self._recorded(added)

    def _recorded(self, added: AddedEntry) -> RecordedEntry:
        notes = self.filing().file(self.journal.docs([added.entry])).notes if added.is_new else ()
        return RecordedEntry(entry=added.entry, is_new=added.is_new, notes=notes)

    def _written(self, written: RecordedEntry) -> Answer:
        entry = written.entry
        when = render_instant(entry.at, self.zone)
        if written.is_new:
            line = f"Recorded {entry.ref} at {when}."
        elif entry.status == "deleted":
            line = f"{entry.ref} was recorded before and is deleted: nothing was added."
        else:
            line = f"This was recorded before: {entry.ref} at {when}."
        facts = {
            "id": entry.id,
            "ref": entry.ref,
            "entry_type": entry.entry_type,
            "timestamp": render_time(entry.at),
            "content": entry.content,
            "repeated": not written.is_new,
        }
        version = {} if entry.status == "deleted" else {entry.ref: version_of(entry)}
        return answer_of([line], facts, written.notes, written=version)

    def timeline_search(
        self,
        *,
        query: Annotated[str, Arg("What you look for; a time in it is read. None: list.")] = "",
        when: Annotated[str, Arg("Only this time: 'last week', '2026-10'.")] = "",
        since: Annotated[str, Arg("Only from its start on.")] = "",
        until: Annotated[str, Arg("Only to its end.")] = "",
        as_of: Annotated[str, Arg("As known then: '3 May'.")] = "",
        entry_types: Annotated[
            list[str],
            Arg("Only these: raw, hourly_rollup … yearly_rollup, profile_snapshot, fact."),
        ] = [],
        limit: Annotated[int, Arg("How many at most.", 1, 100)] = 10,
        explain: Annotated[bool, Arg("Explain each score.")] = False,
    ) -> Answer:
        """Timeline: find entries and summaries by words and meaning.

        Use it for 'what was I working on last week'. A summary that fits the time asked for comes
        first; what it was made from is named beside it.
        """
        interval = parse_interval(self, when=when, since=since, until=until)
        before = read_as_of(self, as_of)
        found = self.find(query, interval=interval, types=entry_types, limit=limit, before=before)
        return found_answer(found, query, before, self.zone, explain=explain)

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
        from commonplace.verbs.timeline.finding import TimelineSearch

        self.keep_up()
        search = TimelineSearch(rollups=self.rollups, finder=self.finder, stores=self.rolls_up)
        return search.find(query, interval=interval, types=types, limit=limit, before=before)

    def timeline_range(
        self,
        *,
        when: Annotated[str, Arg("The time: 'yesterday', '2026-W41'; or a ref.")] = "",
        start: Annotated[str, Arg("Or from the start of this.")] = "",
        end: Annotated[str, Arg("To the end of this.")] = "",
        level: Annotated[RangeLevel, Arg("Entries as written, or one kind of summary.")] = "all",
        limit: Annotated[int, Arg("How many at most.", 1, 100)] = 20,
        cursor: Annotated[str, Arg("From the answer before.")] = "",
    ) -> Answer:
        """Timeline: list entries and summaries of a time, newest first.

        Use it to go from a summary down to its entries. The period that still goes on is computed
        and marked partial; a ref alone is opened whole.
        """
        entry_id = find_id(when)
        if entry_id:
            entry = self.journal.read(entry_id)
            return list_answer([entry], None, cursor="", zone=self.zone, share=LONGEST)
        interval = parse_interval(self, when=when, since=start, until=end, names=("start", "end"))
        number = None if level == "all" else _LEVELS.index(level)
        listed = self.list_entries(
            interval or Interval(),
            level=number,
            types=("raw",) if level == "raw" else (),
            limit=limit,
            cursor=cursor.strip(),
            going_on=(LEVELS[number - 1],) if number else (),
        )
        return list_answer(listed.entries, interval, cursor=listed.cursor, zone=self.zone)

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
        from commonplace.journals.timeline.journal import Listed

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

    def _find_open(self, interval: Interval, level: Level) -> TimelineEntry | None:
        """The period of a level that goes on, computed now and stored nowhere.

        None where it lies outside the time, or nothing is recorded in it.
        """
        from commonplace.journals.timeline.due_periods import span_at

        now = self.clock()
        span = span_at(now, level, self.zone)
        if interval.start is not None and span.end <= interval.start:
            return None
        if interval.end is not None and span.start >= interval.end:
            return None
        found = self.rollup(NAMES[level], now, partial=True)
        return found if found is not None and found.partial and found.content else None

    def timeline_rollup(
        self,
        *,
        period: Annotated[PeriodName, Arg("Which kind.")],
        at: Annotated[str, Arg("Which one: 'last week', '2026-10'; else the present one.")] = "",
    ) -> Answer:
        """Timeline: read how an hour, day, week, month or year went.

        Use it before single entries. Returns the summary, how fresh it is and the refs it was made
        from; a period that still goes on is summed up now and marked partial.
        """
        named = read_named(self, at) if at.strip() else None
        found = self.rollup(period, None if named is None else named.start, partial=True)
        assert found is not None  # a period that goes on is computed
        notes = []
        if named is not None and named.end is not None and named.end > found.end:
            shown = opening(at.strip(), 60)
            notes = [f"{shown!r} goes on after this period: it is the first one of it."]
        return rollup_answer(found, self.zone, notes)

    def rollup(
        self, period: str, at: datetime | None = None, *, partial: bool = False
    ) -> TimelineEntry | None:
        """The rollup of a period (`hourly` … `yearly`) that holds an instant, else now.

        None for an open one, unless it is asked for as partial. Raises: Invalid, Unavailable.
        """
        self.keep_up()
        level, when = parse_period(period), at or self.clock()
        return self.rollups.read(level, when, partial=partial, stores=self.rolls_up)

    def timeline_trends(
        self,
        *,
        when: Annotated[str, Arg("Only this time: 'this year', '2026-10'.")] = "",
        since: Annotated[str, Arg("Only from its start on.")] = "",
        until: Annotated[str, Arg("Only to its end.")] = "",
        period: Annotated[TrendPeriod, Arg("Length of the periods; auto: what fits.")] = "auto",
    ) -> Answer:
        """Timeline: compare a period with the last one and the mean, and see trends.

        Use it for 'how does this week compare' and 'which project has stalled'. Returns numbers
        with arrows, which projects accelerate or have stalled, and what each period counts.
        """
        interval = parse_interval(self, when=when, since=since, until=until)
        level = None if period == "auto" else parse_period(period)
        trends = self.trends(interval, level=level)
        compared = self.compare(compared_level(trends, is_auto=level is None), interval)
        lines = time_lines(interval, self.zone)
        if any(x.figures.entries or x.expired for x in trends.periods):
            lines += [*comparison_lines(compared), ""] if compared else []
            lines += [*trend_lines(trends, self.zone)]
        else:
            lines += [NOTHING]
        return answer_of(
            lines,
            lambda: {
                "interval": interval_facts(interval),
                **trends.as_dict(),
                "comparison": compared.as_dict() if compared else None,
            },
        )

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
        from commonplace.journals.timeline.period_reader import PeriodReader
        from commonplace.journals.timeline.trends import counted_span

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
        from commonplace.journals.timeline.period_reader import PeriodReader

        end, now = interval.end if interval else None, self.clock()
        at = min(now, end - _TICK) if end else now
        return PeriodReader(self.rollups).compare(level, at, computes=computes)

    def timeline_profile(
        self, *, text: Annotated[str, Arg("Who the user is now, whole; none to read.")] = ""
    ) -> Answer:
        """Timeline: read who the user is, or store a new profile.

        Use it when a role, name or lasting preference changed. Earlier profiles stay in the
        timeline.
        """
        known = self.journal.profile()
        if text.strip() and (known is None or known.content != text):
            return self._written(self.add(text, entry_type="profile_snapshot"))
        if known is None:
            return answer_of(["No profile is kept yet."], {"profile": None})
        by = by_member(member_of(known.metadata))
        since = f"Profile since {render_instant(known.at, self.zone)}{by}"
        facts = {"profile": entry_facts(known, self.zone, known.content)}
        return answer_of([since, CAUTION, fenced(known.content, known.ref)], facts)

    def timeline_context(
        self,
        *,
        query: Annotated[str, Arg("What it is about; a time in it is read. None: lately.")] = "",
        budget_tokens: Annotated[
            int, Arg("Most tokens in the answer.", _FEWEST_TOKENS, 100_000)
        ] = 1200,
    ) -> Answer:
        """Timeline: gather what to know before you answer, within a budget.

        Use it before a task. Returns the profile, the summaries that fit and
        the nearest entries.
        """
        asked = budget_tokens - _AROUND_TOKENS
        answer = self._context_answer(query, asked)
        while (over := tokens_of(answer) - budget_tokens) > 0 and asked > _FEWEST_TOKENS // 2:
            asked = max(asked - max(over, 10), _FEWEST_TOKENS // 2)
            answer = self._context_answer(query, asked)
        return answer

    def _context_answer(self, query: str, budget: int) -> Answer:
        found = self.context(query, budget_tokens=budget)
        lines = time_lines(found.interval, self.zone)
        lines += [CAUTION, "", found.text] if found.text else [NOTHING]
        most = budget * TOKEN_BYTES // 2
        facts = {
            "interval": interval_facts(found.interval),
            "context": found.text,
            "refs": list(found.refs) if len("".join(found.refs)) < most else [],
        }
        return answer_of(lines, facts, found.notes)

    def context(self, query: str, *, budget_tokens: int = 1200) -> Context:
        """What a prompt should hold: the profile, fitting rollups, the nearest entries."""
        from commonplace.verbs.timeline.context import assemble, recent_rollups

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
        from commonplace.journals.timeline.expiry import RetentionResult, apply_retention

        if not dry_run:
            self._is_erased = False
            self._erase()
            self.feed()
        made = 0 if dry_run else self.rollups.catch_up()
        if self.retention.is_on and not dry_run and not self.present.is_borne_out():
            return made, RetentionResult(doubt=f"Retention waits: {self.present.doubt()}")
        return made, apply_retention(self.rollups, self.retention, dry_run=dry_run)

    def _erase(self) -> None:
        """Erase once what was deleted before and is left, as where that process was killed."""
        if not self._is_erased:
            self._is_erased = True
            with suppress(CommonplaceError):
                if self.journal.database.is_erasing():
                    self.journal.database.erase()
