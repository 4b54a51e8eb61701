"""Chronicle in words for a model: log what was done, list it, search it, say when it was.

Decides nothing about files or ranking: it asks the service and renders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Self

from msgspec.structs import replace

from commonplace.core.errors import Invalid
from commonplace.core.values import Answer
from commonplace.core.when.phrases import parse_when
from commonplace.verbs.answers import (
    ago,
    answer_of,
    as_of_facts,
    as_of_lines,
    chain_facts,
    chain_lines,
    cursor_lines,
    explanation_facts,
    explanation_of,
    interval_facts,
    one_line,
    rounded,
    time_lines,
    when_of,
)
from commonplace.verbs.chronicle.pages import prompts, resources
from commonplace.verbs.chronicle.story import (
    count_line,
    event_facts,
    event_line,
    same_notes,
    story,
)
from commonplace.verbs.times import naming, read_as_of, read_span
from commonplace.verbs.toolset import Arg, Effects, Tool, Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from commonplace.core.values import Hit, Interval
    from commonplace.journals.chronicle.journal import Event
    from commonplace.verbs.answers import Chained
    from commonplace.verbs.chronicle.finding import SameEvent
    from commonplace.verbs.chronicle.service import ChronicleService, EventLogged, WhenFound

NOTHING = "No entries found matching criteria."

_GUIDE = """\
There is a log of what the user does. Use what_was_i_doing for 'where did I leave off', and \
find_when_i for 'when did I …'."""

_WRITING_GUIDE = """\
You keep the log of what the user does. When they finish, fix, deploy, decide or learn something, \
log it unasked with remember_this; when they ask you to note something, use add_entry."""

_STORY_ENTRIES = 500
_NOT_SURE = "No entry has every word or is near in meaning: these are the best there are."
_LOG_ALONE = "Only the log was searched; recall searches all that was said and written."
_TAGS_ARG = Arg("Tags: plain ones any of, '+tag' required, '-tag' excluded.")
_SINCE_ARG = Arg("Only from the start of this time on: 'monday', '2026-11-03'.")


class ChronicleTools:
    """Chronicle's verbs with text answers; `toolset` is what doors offer."""

    def __init__(self, service: ChronicleService) -> None:
        self.service = service

    @classmethod
    def toolset(cls, opens: Callable[[], Self]) -> Toolset:
        """The tools, methods of what `opens` gives at each call; listing them opens nothing."""
        writing = Effects(writes=True, repeatable=False)
        return Toolset(
            name="chronicle",
            guide=_GUIDE,
            writing_guide=_WRITING_GUIDE,
            tools=(
                Tool(
                    run=cls.add_entry,
                    title="Remember what was done",
                    effects=writing,
                    may_expire=True,
                ),
                Tool(
                    run=cls.list_entries, title="List the log", twin_of="list_by_time", quotes=True
                ),
                Tool(run=cls.search_entries, title="Search the log", quotes=True),
                Tool(
                    run=cls.remember_this,
                    title="Remember an accomplishment",
                    effects=Effects(writes=True),
                    twin_of="add_entry",
                    may_expire=True,
                ),
                Tool(
                    run=cls.what_was_i_doing,
                    title="What was I doing",
                    twin_of="list_by_time",
                    quotes=True,
                ),
                Tool(run=cls.find_when_i, title="Remember when", quotes=True),
            ),
            resources=resources(lambda: opens().service),
            prompts=prompts(),
        ).of(opens)

    def add_entry(
        self,
        *,
        message: Annotated[str, Arg("What was done, in a line.")],
        tags: Annotated[list[str], Arg("Subjects: 'decision', 'api'.")] = [],
        at: Annotated[str, Arg("If not now: 'yesterday 9am'.")] = "",
        asked: Annotated[bool, Arg("False: adds tags, skips a repeat.")] = True,
        idempotency_key: Annotated[str, Arg("Same key, same entry.")] = "",
        supersedes: Annotated[str, Arg("Ref of what it replaces.")] = "",
    ) -> Answer:
        """Chronicle: remember what was done, or decided and why.

        Use it when the user asks to log, track or note something; and unasked, with asked false,
        when they finish, fix, deploy or decide something.
        """
        service = self.service
        is_named = idempotency_key or supersedes.strip()
        if asked or tags or at.strip() or is_named or not message.strip():
            key = idempotency_key or None
            done = service.add(
                message, tags=tags, at=at, idempotency_key=key, supersedes=supersedes
            )
            return self._logged(done)
        return self._logged(service.remember(message, ""))

    def list_entries(
        self,
        *,
        limit: Annotated[int, Arg("How many at most.", 1, 100)] = 10,
        cursor: Annotated[str, Arg("From an earlier answer, for the next page.")] = "",
    ) -> Answer:
        """Chronicle: list what was done lately, newest first.

        Use it for 'show my recent work'. Returns entries with time, tags, folder and id.
        """
        service = self.service
        page = service.chronicle.list_events(limit=limit, cursor=cursor)
        chains = service.searches.chains_of(page.events)
        return self._listed(page.events, cursor=page.cursor, hits=chains)

    def search_entries(
        self,
        *,
        text: Annotated[str, Arg("What it was about; leave out to filter alone.")] = "",
        tags: Annotated[list[str], _TAGS_ARG] = [],
        since: Annotated[str, _SINCE_ARG] = "",
        until: Annotated[str, Arg("Only to the end of this time.")] = "",
        as_of: Annotated[str, Arg("As known then: '3 May'.")] = "",
        limit: Annotated[int, Arg("How many at most.", 1, 100)] = 20,
        cursor: Annotated[str, Arg("From an earlier answer, for the next page.")] = "",
        explain: Annotated[bool, Arg("Explain each score.")] = False,
    ) -> Answer:
        """Chronicle: search what was done by words and meaning, tags and time.

        Use it to find past activities. With text the best come first, without it the newest.
        """
        service = self.service
        interval, before = read_span(service, since, until), read_as_of(service, as_of)
        if before is not None and not text.strip():
            raise Invalid(
                "Invalid as_of: it goes with a text that is looked for.",
                hint="Give a text, or list with list_by_time (in a terminal: `commonplace list`).",
            )
        if not text.strip():
            page = service.chronicle.list_events(
                limit=limit, within=interval, tags=tags, cursor=cursor
            )
            chains = service.searches.chains_of(page.events)
            return self._listed(page.events, cursor=page.cursor, interval=interval, hits=chains)
        found = service.search(
            text, tags=tags, interval=interval, limit=limit, cursor=cursor, before=before
        )
        return self._listed(
            [event for event, _ in found.entries],
            cursor=found.cursor,
            interval=interval,
            notes=found.notes,
            explained=[_explained(hit) for _, hit in found.entries] if explain else [],
            hits=[hit for _, hit in found.entries],
            before=before,
        )

    def remember_this(
        self,
        *,
        activity: Annotated[str, Arg("What the user accomplished, decided or learned.")],
        context: Annotated[str, Arg("Why it matters.")] = "",
        supersedes: Annotated[str, Arg("Ref of what it replaces.")] = "",
    ) -> Answer:
        """Chronicle: log, unasked, what the user just accomplished, decided or learned.

        Use it whenever you notice something worth tracking. Tags are suggested from the words, the
        user's own tags and the project. Sent twice within ten minutes, it is logged once.
        """
        service = self.service
        if supersedes.strip() and activity.strip():
            why = f" ({context.strip()})" if context.strip() else ""
            message = f"{activity.strip()}{why}"
            done = service.add(message, tags=(), at="", idempotency_key=None, supersedes=supersedes)
            return self._logged(done)
        return self._logged(service.remember(activity, context))

    def what_was_i_doing(
        self,
        *,
        timeframe: Annotated[
            str, Arg("'today', 'yesterday', 'this week', 'last 3 hours', any phrase of time.")
        ] = "today",
    ) -> Answer:
        """Chronicle: tell what the user did in a time, by day and project.

        Use it for 'where did I leave off' and 'what did I do today'.
        """
        service = self.service
        with naming("timeframe"):
            interval = parse_when(timeframe, now=service.clock(), zone=service.zone)
            lines = time_lines(interval, service.zone)
        page = service.chronicle.list_events(limit=_STORY_ENTRIES, within=interval)
        if not page.events:
            return self._listed([], interval=interval, notes=[self._last_entry()])
        notes = [f"Only the newest {_STORY_ENTRIES} entries are shown."] if page.cursor else []
        return answer_of(
            [*lines, "", *story(page.events, service.zone)],
            lambda: {**_facts(page.events, interval), "cursor": ""},
            notes,
        )

    def find_when_i(
        self,
        *,
        what: Annotated[str, Arg("What the user did, or their question.")],
        explain: Annotated[bool, Arg("Explain each score.")] = False,
    ) -> Answer:
        """Chronicle: find when the user did something.

        Use it for 'when did I deploy X', 'when did I last', 'how many times did I'; for what
        and why, use recall. Returns the best matches and when each was.
        """
        service = self.service
        found = service.find_when(what)
        wants, same = found.question.wants, found.same
        counted = count_line(same) if same and wants == "count" else ""
        notes = list(found.notes)
        if same and same.count:
            notes += same_notes(same, wants, service.zone)
            events = [each.event for each in same.shown]
            explained = [_explained_same(each) for each in same.shown]
        else:
            events = [event for event, _ in found.best]
            explained = [_explained(hit) for _, hit in found.best]
            if found.outside_time:
                others = "; the best matches of other times are shown" if events else ""
                notes.append(f"Nothing in that time{others}.")
            elif events and wants != "best":
                notes.append(_NOT_SURE)
            elif not events:
                notes.append(_LOG_ALONE)
        return self._listed(
            events,
            head=counted,
            interval=found.question.within,
            notes=notes,
            extra={**_matching(found), "counted": counted},
            explained=explained if explain else [],
            hits=service.searches.chains_of(events),
            shows_age=True,
        )

    def _logged(self, logged: EventLogged) -> Answer:
        event = logged.event
        done = "This was already logged" if logged.repeated else "Entry created"
        lines = [f"{done}: {event.ref} at {when_of(event.at, self.service.zone)}"]
        if event.own_tags:
            lines.append(f"Tags: {one_line(', '.join(event.own_tags))}")
        facts = {**event_facts(event), "repeated": logged.repeated}
        return answer_of(lines, facts, logged.notes)

    def _last_entry(self) -> str:
        service = self.service
        newest = service.chronicle.list_events(limit=1).events
        if not newest:
            return "Nothing was ever logged here."
        when = when_of(newest[0].at, service.zone)
        return f"The last entry is of {when}, {ago(newest[0].at, service.clock())}."

    def _listed(
        self,
        events: Sequence[Event],
        *,
        head: str = "",
        cursor: str = "",
        interval: Interval | None = None,
        notes: Sequence[str] = (),
        explained: Sequence[tuple[str, dict[str, Any]]] = (),
        hits: Sequence[Chained] = (),
        extra: dict[str, Any] | None = None,
        shows_age: bool = False,
        before: datetime | None = None,
    ) -> Answer:
        service = self.service
        lines = [
            *([head] if head else []),
            *as_of_lines(before, service.zone),
            *time_lines(interval, service.zone),
        ]
        if not events:
            lines.append(NOTHING)
        now = service.clock() if shows_age else None
        for place, event in enumerate(events):
            lines.append(event_line(event, service.zone, now=now))
            lines += [f"  {why}" for why, _ in explained[place : place + 1]]
            for hit in hits[place : place + 1]:
                lines += [f"  {line}" for line in chain_lines(hit, service.zone)]
        lines += cursor_lines(cursor)

        def facts() -> dict[str, Any]:
            made = {
                **_facts(events, interval),
                "cursor": cursor,
                **as_of_facts(before),
                **(extra or {}),
            }
            for entry, (_, why) in zip(made["entries"], explained, strict=False):
                entry.update(why)
            for entry, hit in zip(made["entries"], hits, strict=False):
                entry.update(chain_facts(hit))
            if now is not None:
                for entry, event in zip(made["entries"], events, strict=True):
                    entry["age"] = ago(event.at, now)
            return made

        return answer_of(lines, facts, notes)


def _facts(events: Sequence[Event], interval: Interval | None) -> dict[str, Any]:
    return {
        "count": len(events),
        "interval": interval_facts(interval),
        "entries": [event_facts(event) for event in events],
    }


def _explained(hit: Hit) -> tuple[str, dict[str, Any]]:
    """How a score came about, in a line and as plain data."""
    return explanation_of(hit), {"score": rounded(hit.score), **explanation_facts(hit)}


def _explained_same(same: SameEvent) -> tuple[str, dict[str, Any]]:
    """How an entry came to be counted; its score, where it was ranked."""
    if same.hit is None:
        return "By words.", {"by": "words"}
    return _explained(replace(same.hit, by="both" if same.worded else "meaning"))


def _matching(found: WhenFound) -> dict[str, Any]:
    same = found.same if found.same and found.same.count else None
    return {
        "about": found.question.about,
        "matching": same.count if same else 0,
        "by_meaning_alone": same.near if same else 0,
        "at_least": bool(same and not same.whole),
    }
