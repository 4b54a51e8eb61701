"""Chronicle's verbs: log what was done, list it, search it, say when it was.

Each takes plain values and answers in words and facts. Decides nothing about files or ranking, and
keeps the index true after each change.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Self

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.text import opening, storable
from commonplace.core.values import Answer, Interval, Put
from commonplace.core.when.phrases import parse_when
from commonplace.verbs.amend import look_up_former
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
    less_facts,
    one_line,
    rounded,
    time_lines,
    when_of,
)
from commonplace.verbs.chronicle.finding import BAD_QUERY, ChronicleFinder
from commonplace.verbs.chronicle.story import (
    count_line,
    event_facts,
    event_line,
    same_notes,
    story,
)
from commonplace.verbs.times import naming, read_as_of, read_at, read_span
from commonplace.verbs.toolset import Arg, Effects, Tool, Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime, tzinfo
    from pathlib import Path

    from commonplace.core.clock import Clock
    from commonplace.core.former_texts import FormerTexts
    from commonplace.core.values import Hit
    from commonplace.journals.chronicle.journal import ChronicleJournal, Event, EventAdded
    from commonplace.journals.chronicle.log_config import LogConfig
    from commonplace.journals.chronicle.log_lines import ProjectLogs
    from commonplace.journals.chronicle.trust import TrustedLogs
    from commonplace.search.filing.filing import Filing
    from commonplace.search.finder import Finder
    from commonplace.verbs.answers import Chained
    from commonplace.verbs.chronicle.finding import SameEvent

SAME_ACTIVITY = timedelta(minutes=10)
"""An activity that is logged again within this time is the entry that exists."""

NOTHING = "No entries found matching criteria."

_GUIDE = """\
There is a log of what the user does. Use what_was_i_doing for 'where did I leave off', and \
find_when_i for 'when did I …'."""

_WRITING_GUIDE = """\
You keep the log of what the user does. When they finish, fix, deploy, decide or learn something, \
log it unasked with remember_this; when they ask you to note something, use add_entry."""

_STORY_ENTRIES = 500
_CURSOR = re.compile(r"r([1-9][0-9]?|100)\.([1-9][0-9]{0,4})", re.ASCII)
_NOT_SURE = "No entry has every word or is near in meaning: these are the best there are."
_LOG_ALONE = "Only the log was searched; recall searches all that was said and written."
_TAGS_ARG = Arg("Tags: plain ones any of, '+tag' required, '-tag' excluded.")
_WHEN_ARG = Arg("Only this time: 'last week', '2026-11', 'since monday'.")


class ChronicleService(Struct, frozen=True, kw_only=True):
    """The verbs of one owner's chronicle, in one folder; `toolset` is what doors offer.

    Attributes:
        zone: The owner's, in which phrases of time are read.
        project: The project's folder, if any.
        folder: Where in the project the work is done: there a `.chronicle` is looked for.
        home: The user's, at which that search ends.
        former: Keeps the texts that edits replace.
        trusted: Which of the project logs the user has allowed.
        replaced: When those of some entries were replaced that were by one that is gone, by ref.
    """

    chronicle: ChronicleJournal
    filing: Filing
    finder: Finder
    clock: Clock
    zone: tzinfo
    former: FormerTexts
    project: Path | None
    folder: Path | None
    home: Path | None
    trusted: TrustedLogs
    replaced: Callable[[Sequence[str]], Mapping[str, float]]

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
        ).of(opens)

    @property
    def searches(self) -> ChronicleFinder:
        """Searches over the entries."""
        return ChronicleFinder(chronicle=self.chronicle, finder=self.finder, replaced=self.replaced)

    @property
    def logs(self) -> ProjectLogs:
        """The project logs that entries may have lines in."""
        from commonplace.journals.chronicle.log_lines import ProjectLogs

        return ProjectLogs(trusted=self.trusted, zone=self.zone)

    def log_config(self) -> LogConfig | None:
        """The `.chronicle` that rules the folder, if any."""
        from commonplace.journals.chronicle.log_config import find_log_config

        return find_log_config(self.folder, self.home) if self.folder else None

    def docs(self, event: Event) -> list[Put]:
        """What the index is to hold of an entry."""
        from commonplace.journals.chronicle.event import doc_of

        return [Put(doc_of(event, self.zone, self.chronicle.owner))]

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
        given = tags or at.strip() or idempotency_key or supersedes.strip()
        if asked or given or not message.strip():
            when, key = read_at(self, at), idempotency_key or None
            return self._logged(
                *self.add(message, tags=tags, at=when, key=key, supersedes=supersedes)
            )
        return self._remember(message, "")

    def add(
        self,
        message: str,
        *,
        tags: Sequence[str] = (),
        at: datetime | None = None,
        key: str | None = None,
        supersedes: str = "",
    ) -> tuple[EventAdded, tuple[str, ...]]:
        """Log what was done, and file it; the entry, and notes on it.

        Args:
            message: What was done.
            tags: Its subjects; of what supersedes an entry, none for that one's own.
            at: None for now.
            key: The same key twice is one entry.
            supersedes: The ref of the entry whose place it takes; empty for none.

        Raises:
            Invalid, NotFound, Conflict, Denied, Unavailable.
        """
        if supersedes.strip():
            when = at or self.clock()
            added = look_up_former(
                supersedes,
                "chronicle",
                lambda ref: self.chronicle.supersede_event(
                    ref, message, tags=tags or None, at=when
                ),
            )
        else:
            added = self.chronicle.add_event(message, tags=tags, at=at, idempotency_key=key)
        return added, self.file_added(added)

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
        if supersedes.strip() and activity.strip():
            why = f" ({context.strip()})" if context.strip() else ""
            return self._logged(*self.add(f"{activity.strip()}{why}", supersedes=supersedes))
        return self._remember(activity, context)

    def _remember(self, activity: str, context: str) -> Answer:
        """Log what was just done with tags of our choice, once within ten minutes."""
        if not activity.strip():
            raise Invalid("Invalid activity: it is empty.", hint="Say what was done.")
        # As it is going to be read back.
        done, why = storable(activity).strip(), storable(context).strip()
        now = self.clock()
        with naming("activity", about="Invalid message: "):
            added = self.chronicle.remember_event(
                f"{done} ({why})" if why else done,
                tags=self._suggested(activity, context),
                within=Interval(start=now - SAME_ACTIVITY, end=now + SAME_ACTIVITY),
                is_same=lambda event: _is_same_activity(event.message, done, why),
            )
        return self._logged(added, self.file_added(added))

    def _suggested(self, activity: str, context: str) -> tuple[str, ...]:
        from commonplace.journals.chronicle.tags import NEIGHBOURS, suggest_tags

        neighbours = []
        # A suggestion is never worth a lost entry.
        with suppress(CommonplaceError):
            near = self.searches.read_hits(self.searches.find(activity, limit=NEIGHBOURS))
            neighbours = [(hit.similarity or 0.0, event.tags) for event, hit in near]
        return suggest_tags(
            activity,
            context,
            neighbours=neighbours,
            folder=self.project.name if self.project else None,
            used=[count.tag for count in self.chronicle.list_tags()],
        )

    def file_added(self, added: EventAdded) -> tuple[str, ...]:
        """File an entry that was just logged, and add it to its project's log; notes on both."""
        from commonplace.journals.chronicle.logs import write_log

        if added.repeated:
            return ()
        filed = self.filing.file(self.docs(added.event))
        warning = write_log(self.log_config(), added.event, self.zone, self.trusted)
        return (*filed.notes, *([warning] if warning else []))

    def _logged(self, added: EventAdded, notes: Sequence[str]) -> Answer:
        event = added.event
        done = "This was already logged" if added.repeated else "Entry created"
        lines = [f"{done}: {event.ref} at {when_of(event.at, self.zone)}"]
        if event.own_tags:
            lines.append(f"Tags: {one_line(', '.join(event.own_tags))}")
        facts = {**event_facts(event), "repeated": added.repeated}
        return answer_of(lines, facts, notes, written={event.ref: event.stamp})

    def list_entries(
        self,
        *,
        limit: Annotated[int, Arg("How many at most.", 1, 100)] = 10,
        cursor: Annotated[str, Arg("From an earlier answer, for the next page.")] = "",
    ) -> Answer:
        """Chronicle: list what was done lately, newest first.

        Use it for 'show my recent work'. Returns entries with time, tags, folder and id.
        """
        page = self.chronicle.list_events(limit=limit, cursor=cursor)
        return self._listed(page.events, cursor=page.cursor)

    def search_entries(
        self,
        *,
        text: Annotated[str, Arg("What it was about; none to filter alone.")] = "",
        tags: Annotated[list[str], _TAGS_ARG] = [],
        when: Annotated[str, _WHEN_ARG] = "",
        since: Annotated[str, Arg("From this time on.")] = "",
        until: Annotated[str, Arg("To the end of this time.")] = "",
        as_of: Annotated[str, Arg("As known then: '3 May'.")] = "",
        limit: Annotated[int, Arg("How many at most.", 1, 100)] = 20,
        cursor: Annotated[str, Arg("From an earlier answer, for the next page.")] = "",
        explain: Annotated[bool, Arg("Explain each score.")] = False,
    ) -> Answer:
        """Chronicle: search what was done by words and meaning, tags and time.

        Use it to find past activities, best first; newest without text.
        """
        interval = read_span(self, since, until, when=when)
        before = read_as_of(self, as_of)
        if not text.strip():
            if before is not None:
                raise Invalid(
                    "Invalid as_of: it goes with a text that is looked for.",
                    hint="Give a text, or list with list_by_time"
                    " (in a terminal: `commonplace list`).",
                )
            page = self.chronicle.list_events(
                limit=limit, within=interval, tags=tags, cursor=cursor
            )
            return self._listed(page.events, cursor=page.cursor, interval=interval)
        from commonplace.search.folding import less_likely

        first, start = _parse_cursor(cursor) if cursor else (limit, 0)
        with naming("text", about=BAD_QUERY):
            found, more = self.searches.find_page(
                text,
                tags=tags,
                within=interval,
                first=first,
                start=start,
                length=limit,
                before=before,
            )
        hits = self.searches.read_hits(found)
        return self._listed(
            [event for event, _ in hits],
            cursor=f"r{first}.{start + limit}" if more else "",
            interval=interval,
            notes=found.notes,
            explained=[_explained(hit) for _, hit in hits] if explain else [],
            hits=[hit for _, hit in hits],
            less_likely=frozenset
            if start
            else partial(less_likely, found.hits, text, found.chance),
            before=before,
        )

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
        with naming("timeframe"):
            interval = parse_when(timeframe, now=self.clock(), zone=self.zone)
            lines = time_lines(interval, self.zone)
        page = self.chronicle.list_events(limit=_STORY_ENTRIES, within=interval)
        if not page.events:
            last = "Nothing was ever logged here."
            for event in self.chronicle.list_events(limit=1).events:
                when = when_of(event.at, self.zone)
                last = f"The last entry is of {when}, {ago(event.at, self.clock(), self.zone)}."
            return self._listed([], interval=interval, notes=[last])
        notes = [f"Only the newest {_STORY_ENTRIES} entries are shown."] if page.cursor else []
        return answer_of(
            [*lines, "", *story(page.events, self.zone)],
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
        found = self.searches.find_when(what, now=self.clock(), zone=self.zone)
        wants, same = found.question.wants, found.same
        counted = count_line(same) if same and wants == "count" else ""
        notes = list(found.notes)
        if same and same.count:
            notes += same_notes(same, wants, self.zone)
            explained = [_explained_same(each) for each in same.shown]
        else:
            explained = [_explained(hit) for _, hit in found.best]
            if found.outside_time:
                others = "; the best matches of other times are shown" if found.best else ""
                notes.append(f"Nothing in that time{others}.")
            elif found.best and wants != "best":
                notes.append(_NOT_SURE)
            elif not found.best:
                notes.append(_LOG_ALONE)
        return self._listed(
            found.events,
            head=counted,
            interval=found.question.within,
            notes=notes,
            extra={
                "about": found.question.about,
                "matching": same.count if same else 0,
                "by_meaning_alone": same.near if same else 0,
                "at_least": bool(same and same.count and not same.whole),
                "counted": counted,
            },
            explained=explained if explain else [],
            shows_age=True,
        )

    def _listed(
        self,
        events: Sequence[Event],
        *,
        head: str = "",
        cursor: str = "",
        interval: Interval | None = None,
        notes: Sequence[str] = (),
        explained: Sequence[tuple[str, dict[str, Any]]] = (),
        hits: Sequence[Chained] | None = None,
        less_likely: Callable[[], frozenset[str]] = frozenset,
        extra: Mapping[str, Any] | None = None,
        shows_age: bool = False,
        before: datetime | None = None,
    ) -> Answer:
        """Entries as lines and facts. hits: what says what each replaced; None to look it up."""
        chains: Sequence[Chained] = hits or ()
        if hits is None and events:
            chains = self.searches.chains_of(events)
        now = self.clock() if shows_age else None
        lines = [
            *([head] if head else []),
            *as_of_lines(before, self.zone),
            *time_lines(interval, self.zone),
            *([] if events else [NOTHING]),
        ]
        for place, (event, chain) in enumerate(zip(events, chains, strict=True)):
            lines.append(event_line(event, self.zone, now=now))
            lines += [f"  {why}" for why, _ in explained[place : place + 1]]
            lines += [f"  {line}" for line in chain_lines(chain, self.zone)]
        lines += cursor_lines(cursor)

        def facts() -> dict[str, Any]:
            made = {**_facts(events, interval), "cursor": cursor, **as_of_facts(before)}
            less = less_likely()
            for place, (entry, event) in enumerate(zip(made["entries"], events, strict=True)):
                for _, why in explained[place : place + 1]:
                    entry.update(why)
                entry.update(chain_facts(chains[place]))
                entry.update(less_facts(event.ref, less))
                entry.update({"age": ago(event.at, now, self.zone)} if now else {})
            return {**made, **(extra or {})}

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


def _is_same_activity(message: str, activity: str, context: str) -> bool:
    """Whether an entry is of this activity: with the same context, or one of the two without."""
    there, here = message.casefold(), activity.casefold()
    if context:
        return there in {here, f"{here} ({context.casefold()})"}
    return there == here or (there.startswith(f"{here} (") and there.endswith(")"))


def _parse_cursor(cursor: str) -> tuple[int, int]:
    """How long the first page was, and where the next one begins."""
    place = _CURSOR.fullmatch(cursor)
    if place is None:
        raise Invalid(
            f"Invalid cursor: {opening(cursor, 40)!r}.", hint="Use the one the last page gave."
        )
    return int(place[1]), int(place[2])
