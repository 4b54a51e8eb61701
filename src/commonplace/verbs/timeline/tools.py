"""The timeline in words for a model: record what happens, find it, read how a period went.

Decides nothing about periods or ranking: it reads arguments, asks the service, renders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

from commonplace.core.clock import render_instant, render_time
from commonplace.core.fence import fenced
from commonplace.core.text import TOKEN_BYTES, opening
from commonplace.core.values import Answer, Interval
from commonplace.journals.timeline.entry import LEVELS, LONGEST, PERIODS, PeriodName, version_of
from commonplace.verbs.answers import (
    CAUTION,
    answer_of,
    interval_facts,
    time_lines,
    tokens_of,
)
from commonplace.verbs.timeline.lines import (
    NOTHING,
    entry_facts,
    found_answer,
    list_answer,
    rollup_answer,
)
from commonplace.verbs.timeline.reading import find_id, parse_interval, read_named
from commonplace.verbs.timeline.service import parse_period
from commonplace.verbs.timeline.trend_lines import compared_level, comparison_lines, trend_lines
from commonplace.verbs.times import naming, read_as_of, read_at
from commonplace.verbs.toolset import Arg, Effects, Tool, Toolset

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.verbs.timeline.service import RecordedEntry, TimelineService

RangeLevel: TypeAlias = Literal["all", "raw", "hourly", "daily", "weekly", "monthly", "yearly"]

TrendPeriod: TypeAlias = Literal["auto", "hourly", "daily", "weekly", "monthly", "yearly"]

NO_PROFILE = "No profile is kept yet."

_GUIDE = """\
There is a timeline of what happens, summed up by hour, day, week, month and year. Gather what to \
know with timeline_context, ask timeline_rollup how a day, a month or a year went, and \
timeline_trends how this week compares with the last."""

_WRITING_GUIDE = "Record in the timeline with timeline_add what was done or said."

_LEVELS = ("raw", *PERIODS)
_FEWEST_TOKENS = 200
_AROUND_TOKENS = 60


class TimelineTools:
    """The timeline's verbs with text answers; `toolset` is what doors offer."""

    def __init__(self, service: TimelineService) -> None:
        self._service = service

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
        service = self._service
        written = service.add(
            content,
            entry_type=entry_type,
            at=read_at(service, at),
            metadata=metadata,
            idempotency_key=idempotency_key,
            supersedes=supersedes,
        )
        return _written(written, service)

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
        service = self._service
        interval = parse_interval(service, when=when, since=since, until=until)
        before = read_as_of(service, as_of)
        with naming("query", about="The query "):
            found = service.find(
                query, interval=interval, types=entry_types, limit=limit, before=before
            )
        return found_answer(found, query, before, service.zone, explain=explain)

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
        service = self._service
        entry_id = find_id(when)
        if entry_id:
            entry = service.journal.read(entry_id)
            return list_answer([entry], None, cursor="", zone=service.zone, share=LONGEST)
        interval = parse_interval(
            service, when=when, since=start, until=end, names=("start", "end")
        )
        number = None if level == "all" else _LEVELS.index(level)
        listed = service.list_entries(
            interval or Interval(),
            level=number,
            types=("raw",) if level == "raw" else (),
            limit=limit,
            cursor=cursor.strip(),
            going_on=(LEVELS[number - 1],) if number else (),
        )
        return list_answer(listed.entries, interval, cursor=listed.cursor, zone=service.zone)

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
        service = self._service
        named = read_named(service, at) if at.strip() else None
        found = service.rollup(period, None if named is None else named.start, partial=True)
        assert found is not None  # a period that goes on is computed
        notes = []
        if named is not None and named.end is not None and named.end > found.end:
            shown = opening(at.strip(), 60)
            notes = [f"{shown!r} goes on after this period: it is the first one of it."]
        return rollup_answer(found, service.zone, notes)

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
        service = self._service
        interval = parse_interval(service, when=when, since=since, until=until)
        level = None if period == "auto" else parse_period(period)
        trends = service.trends(interval, level=level)
        compared = service.compare(compared_level(trends, is_auto=level is None), interval)
        lines = time_lines(interval, service.zone)
        if any(x.figures.entries or x.expired for x in trends.periods):
            lines += [*comparison_lines(compared), ""] if compared else []
            lines += [*trend_lines(trends, service.zone)]
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

    def timeline_profile(
        self, *, text: Annotated[str, Arg("Who the user is now, whole; none to read.")] = ""
    ) -> Answer:
        """Timeline: read who the user is, or store a new profile.

        Use it when a role, name or lasting preference changed. Earlier profiles stay in the
        timeline.
        """
        service = self._service
        known = service.journal.profile()
        if text.strip() and (known is None or known.content != text):
            return _written(service.add(text, entry_type="profile_snapshot"), service)
        if known is None:
            return answer_of([NO_PROFILE], {"profile": None})
        since = f"Profile since {render_instant(known.at, service.zone)}"
        facts = {"profile": entry_facts(known, service.zone, known.content)}
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
        service = self._service
        asked = budget_tokens - _AROUND_TOKENS
        answer = _context(service, query, asked)
        while (over := tokens_of(answer) - budget_tokens) > 0 and asked > _FEWEST_TOKENS // 2:
            asked = max(asked - max(over, 10), _FEWEST_TOKENS // 2)
            answer = _context(service, query, asked)
        return answer


def _context(service: TimelineService, query: str, budget: int) -> Answer:
    with naming("query", about="The query "):
        found = service.context(query, budget_tokens=budget)
    lines = time_lines(found.interval, service.zone)
    lines += [CAUTION, "", found.text] if found.text else [NOTHING]
    most = budget * TOKEN_BYTES // 2
    facts = {
        "interval": interval_facts(found.interval),
        "context": found.text,
        "refs": list(found.refs) if len("".join(found.refs)) < most else [],
    }
    return answer_of(lines, facts, found.notes)


def _written(written: RecordedEntry, service: TimelineService) -> Answer:
    entry = written.entry
    when = render_instant(entry.at, service.zone)
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
