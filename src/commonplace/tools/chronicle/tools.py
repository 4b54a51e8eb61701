"""Chronicle in words for a model: log what was done, list it, search it, say when it was.

Decides nothing about files or ranking: it parses time, asks the journal and the finder, renders.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

from commonplace.core.clock import render_interval
from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.text import opening
from commonplace.core.values import Answer, Found, Interval, Put
from commonplace.core.when.phrases import parse_when
from commonplace.services.chronicle.finding import each_hit, find, find_same, living
from commonplace.services.chronicle.question import read_question
from commonplace.services.times import naming, read_at, read_span
from commonplace.tools.chronicle.pages import prompts, resources
from commonplace.tools.chronicle.story import (
    ago,
    counted,
    event_facts,
    event_line,
    same_notes,
    story,
    when_of,
)
from commonplace.tools.toolset import Arg, Effects, Tool, Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.core.values import Hit
    from commonplace.journals.chronicle.journal import Added, Event
    from commonplace.services.chronicle.finding import Same, Sames
    from commonplace.services.chronicle.question import AskedWhen
    from commonplace.services.chronicle.service import ChronicleDesk

NOTHING = "No entries found matching criteria."
SAME_ACTIVITY = timedelta(minutes=10)
"""An activity told again within this time is the entry that exists."""

_GUIDE = """\
You keep a log of what the user does. When they finish, fix, deploy, decide or learn something, \
log it unasked with remember_this; when they ask you to note something, use add_entry. Use \
what_was_i_doing at the start of a session, and find_when_i for 'when did I …'."""

_STORY_ENTRIES = 500
_SEARCH_ENTRIES = 1000
_SHOWN = 10
_QUERY = "The query "
"""How the finder begins what it says of a text."""
_PLACE = re.compile(r"r([1-9][0-9]?|100)\.([1-9][0-9]{0,4})", re.ASCII)
_NOT_SURE = "None bears every word or comes near in meaning: these are the best there are."
_TAGS_ARG = Arg("Tags: plain ones any of, '+tag' required, '-tag' excluded.")
_SINCE_ARG = Arg("Only from the start of this time on: 'monday', '2026-11-03'.")


class ChronicleTools:
    """Chronicle's verbs with text answers; `toolset` is what doors offer.

    desk: opened at the first call of a tool, so that listing the tools opens nothing.
    """

    def __init__(self, desk: Callable[[], ChronicleDesk]) -> None:
        self._desk = desk

    @property
    def toolset(self) -> Toolset:
        """The six tools, four resources and three prompts."""
        writing = Effects(writes=True, repeatable=False)
        return Toolset(
            name="chronicle",
            guide=_GUIDE,
            tools=(
                Tool(run=self.add_entry, title="Log what was done", effects=writing),
                Tool(run=self.list_entries, title="List the log"),
                Tool(run=self.search_entries, title="Search the log"),
                Tool(
                    run=self.remember_this,
                    title="Remember an accomplishment",
                    effects=Effects(writes=True),
                ),
                Tool(run=self.what_was_i_doing, title="What was I doing"),
                Tool(run=self.find_when_i, title="Find when I did something"),
            ),
            resources=resources(self._desk),
            prompts=prompts(),
        )

    def add_entry(
        self,
        *,
        message: Annotated[str, Arg("What was done, in a line.")],
        tags: Annotated[list[str], Arg("Tags of your choice.")] = [],  # noqa: B006  never changed; the schema shows it
        at: Annotated[str, Arg("When, if not now: an ISO time or 'yesterday 9am'.")] = "",
        idempotency_key: Annotated[str, Arg("The same key twice is one entry.")] = "",
    ) -> Answer:
        """Chronicle: log something that was done, with a time and tags.

        Use it when the user asks to log, track or note something. Returns its id, time and tags.
        """
        added = self._desk().chronicle.add_event(
            message,
            tags=tags,
            at=read_at(self._desk(), at),
            idempotency_key=idempotency_key or None,
        )
        return self._added(added)

    def list_entries(
        self,
        *,
        limit: Annotated[int, Arg("How many at the most.", 1, 100)] = 10,
        cursor: Annotated[str, Arg("From an earlier answer, for the next page.")] = "",
    ) -> Answer:
        """Chronicle: list what was done lately, newest first.

        Use it for 'show my recent work'. Returns entries with time, tags, folder and id.
        """
        page = self._desk().chronicle.list_events(limit=limit, cursor=cursor)
        return self._listed(page.events, cursor=page.cursor)

    def search_entries(
        self,
        *,
        text: Annotated[str, Arg("What it was about; leave out to filter alone.")] = "",
        tags: Annotated[list[str], _TAGS_ARG] = [],  # noqa: B006  never changed; the schema shows it
        since: Annotated[str, _SINCE_ARG] = "",
        until: Annotated[str, Arg("Only to the end of this time.")] = "",
        limit: Annotated[int, Arg("How many at the most.", 1, 100)] = 20,
        cursor: Annotated[str, Arg("From an earlier answer, for the next page.")] = "",
    ) -> Answer:
        """Chronicle: search what was done by words and meaning, tags and time.

        Use it to find past activities. With text the best come first, without it the newest.
        """
        interval = read_span(self._desk(), since, until)
        if not text.strip():
            page = self._desk().chronicle.list_events(
                limit=limit, within=interval, tags=tags, cursor=cursor
            )
            return self._listed(page.events, cursor=page.cursor, interval=interval)
        with naming("text", about=_QUERY):
            found, more = self._found_page(text, tags, interval, limit=limit, cursor=cursor)
        alive = living(self._desk(), each_hit(found))
        return self._listed(
            [event for event, _ in alive],
            cursor=more,
            interval=interval,
            notes=found.notes,
            ranks=[_rank(hit) for _, hit in alive],
        )

    def remember_this(
        self,
        *,
        activity: Annotated[str, Arg("What the user accomplished, decided or learned.")],
        context: Annotated[str, Arg("Why it matters.")] = "",
    ) -> Answer:
        """Chronicle: log, unasked, what the user just accomplished, decided or learned.

        Use it whenever you notice something worth tracking. Tags are suggested from the words, the
        user's own tags and the project. Told twice within ten minutes, it is logged once.
        """
        if not activity.strip():
            raise Invalid("Invalid activity: it is empty.", hint="Say what was done.")
        from commonplace.journals.chronicle.event import plain

        desk = self._desk()
        # As it is going to be read back.
        told, why = plain(activity).strip(), plain(context).strip()
        now = desk.clock()
        lately = Interval(start=now - SAME_ACTIVITY, end=now + SAME_ACTIVITY)
        with naming("activity", about="Invalid message: "):
            added = desk.chronicle.remember_event(
                f"{told} ({why})" if why else told,
                tags=self._suggested(activity, context),
                within=lately,
                is_same=lambda event: _is_told_by(event.message, told, why),
            )
        return self._added(added)

    def what_was_i_doing(
        self,
        *,
        timeframe: Annotated[
            str, Arg("'today', 'yesterday', 'this week', 'last 3 hours', any phrase of time.")
        ] = "today",
    ) -> Answer:
        """Chronicle: tell what the user did in a time, by day and project.

        Use it at the start of a conversation, or for 'where did I leave off'.
        """
        desk = self._desk()
        with naming("timeframe"):
            interval = parse_when(timeframe, now=desk.clock(), zone=desk.zone)
            head = f"Time: {render_interval(interval, desk.zone)}"
        page = desk.chronicle.list_events(limit=_STORY_ENTRIES, within=interval)
        if not page.events:
            return self._listed([], interval=interval, notes=[self._last_entry()])
        notes = [f"Only the newest {_STORY_ENTRIES} entries are told."] if page.cursor else []
        facts = {**self._facts(page.events, interval=interval), "cursor": ""}
        return _answer([head, "", *story(page.events, desk.zone)], facts, notes)

    def find_when_i(
        self, *, what: Annotated[str, Arg("What the user did, or the question they asked.")]
    ) -> Answer:
        """Chronicle: find when the user did something.

        Use it for 'when did I deploy X', 'when did I last …', 'how many times did I …'. Returns
        the best matches with the exact time and how long ago it was.
        """
        desk = self._desk()
        question = read_question(what, now=desk.clock(), zone=desk.zone)
        with naming("what", about=_QUERY):
            if question.wants == "best":
                found = find(desk, question.about, within=question.within, limit=_SHOWN)
                return self._best(question, found, head="")
            same = find_same(desk, question, limit=_SHOWN)
            head = counted(same) if question.wants == "count" else ""
            if not same.count:
                found = find(desk, question.about, within=question.within, limit=_SHOWN)
                return self._best(question, found, head=head)
        return self._listed(
            [each.event for each in same.shown],
            head=head,
            interval=question.within,
            notes=[*same.notes, *same_notes(same, question.wants, desk.zone)],
            extra=_matching(question, same),
            ranks=[_rank_same(each) for each in same.shown],
            told="ago",
        )

    def _best(self, question: AskedWhen, found: Found, *, head: str) -> Answer:
        """The best matches there are, also where they are of another time or not surely it."""
        desk = self._desk()
        notes = list(found.notes)
        alive = living(desk, each_hit(found))
        if alive and question.wants != "best":
            notes.append(_NOT_SURE)
        if not alive and question.within:
            alive = living(desk, each_hit(find(desk, question.about, limit=_SHOWN)))
            others = "; the best matches of other times are shown" if alive else ""
            notes.append(f"Nothing in that time{others}.")
        return self._listed(
            [event for event, _ in alive[:_SHOWN]],
            head=head,
            interval=question.within,
            notes=notes,
            extra=_matching(question, None),
            ranks=[_rank(hit) for _, hit in alive[:_SHOWN]],
            told="ago",
        )

    def _added(self, added: Added) -> Answer:
        from commonplace.journals.chronicle.journal import doc_of
        from commonplace.journals.chronicle.logs import (
            find_log_config,
            write_log,
        )

        desk = self._desk()
        event = added.event
        notes: list[str] = []
        if not added.repeated:
            filed = desk.filing.file([Put(doc_of(event, desk.zone))])
            notes += filed.notes
            config = find_log_config(desk.folder, desk.home) if desk.folder else None
            if warning := write_log(config, event, desk.zone, desk.trusted):
                notes.append(warning)
        done = "This was already logged" if added.repeated else "Entry created"
        lines = [f"{done} (ID: {event.id}) at {when_of(event.at, desk.zone)}"]
        if event.tags:
            lines.append(f"Tags: {', '.join(event.tags)}")
        facts = {**event_facts(event), "repeated": added.repeated}
        return _answer(lines, facts, notes)

    def _found_page(
        self, text: str, tags: Sequence[str], interval: Interval | None, *, limit: int, cursor: str
    ) -> tuple[Found, str]:
        """One page of a search and the cursor of the next.

        A deeper search may order differently. So the first page is as deep as it is long, and all
        later ones are cut from one search of full depth, less what the first has shown.
        """
        first, start = _parse_place(cursor) if cursor else (limit, 0)
        desk = self._desk()
        found = find(desk, text, tags=tags, within=interval, limit=first + 1)
        hits = each_hit(found)
        if start:
            shown = {hit.doc.ref for hit in hits[:first]}
            found = find(desk, text, tags=tags, within=interval, limit=_SEARCH_ENTRIES)
            hits = [*hits[:first], *(hit for hit in each_hit(found) if hit.doc.ref not in shown)]
        end = start + limit
        cut = start and end >= len(hits) >= _SEARCH_ENTRIES
        notes = [f"Only the best {len(hits)} entries are ranked: narrow by time or tags."]
        page = Found(hits=tuple(hits[start:end]), notes=(*found.notes, *(notes if cut else [])))
        return page, f"r{first}.{end}" if len(hits) > end else ""

    def _suggested(self, activity: str, context: str) -> tuple[str, ...]:
        from commonplace.journals.chronicle.tags import (
            NEIGHBOURS,
            suggest_tags,
        )

        desk = self._desk()
        neighbours = []
        # A suggestion is never worth a lost entry.
        with suppress(CommonplaceError):
            found = find(desk, activity, limit=NEIGHBOURS)
            near = living(desk, each_hit(found))
            neighbours = [(hit.similarity or 0.0, event.tags) for event, hit in near]
        return suggest_tags(
            activity,
            context,
            neighbours=neighbours,
            folder=desk.folder.name if desk.folder else None,
            used=[count.tag for count in desk.chronicle.list_tags()],
        )

    def _last_entry(self) -> str:
        desk = self._desk()
        newest = desk.chronicle.list_events(limit=1).events
        if not newest:
            return "Nothing was ever logged here."
        when = when_of(newest[0].at, desk.zone)
        return f"The last entry is of {when}, {ago(newest[0].at, desk.clock())}."

    def _facts(self, events: Sequence[Event], *, interval: Interval | None) -> dict[str, Any]:
        return {
            "count": len(events),
            "interval": None
            if interval is None
            else {
                "since": interval.start.isoformat() if interval.start else None,
                "until": interval.end.isoformat() if interval.end else None,
            },
            "entries": [event_facts(event) for event in events],
        }

    def _listed(
        self,
        events: Sequence[Event],
        *,
        head: str = "",
        cursor: str = "",
        interval: Interval | None = None,
        notes: Sequence[str] = (),
        ranks: Sequence[dict[str, Any]] = (),
        extra: dict[str, Any] | None = None,
        told: str = "",
    ) -> Answer:
        desk = self._desk()
        lines = [head] if head else []
        if interval is not None:
            lines.append(f"Time: {render_interval(interval, desk.zone)}")
        if not events:
            lines.append(NOTHING)
        now = desk.clock() if told == "ago" else None
        lines += [event_line(event, desk.zone, now=now) for event in events]
        if cursor:
            lines.append(f"More with cursor {cursor}")
        facts = {**self._facts(events, interval=interval), "cursor": cursor, **(extra or {})}
        for entry, rank in zip(facts["entries"], ranks, strict=False):
            entry.update(rank)
        return _answer(lines, facts, notes)


def _answer(lines: Sequence[str], facts: dict[str, Any], notes: Sequence[str]) -> Answer:
    text = "\n".join(lines)
    if notes:
        text += "\n\n" + "\n".join(f"Note: {note}" for note in notes)
    return Answer(text=text, facts={**facts, "notes": list(notes)})


def _is_told_by(message: str, activity: str, context: str) -> bool:
    """Whether an entry tells this activity: with the same context, or one of the two without."""
    there, told = message.casefold(), activity.casefold()
    if context:
        return there in {told, f"{told} ({context.casefold()})"}
    return there == told or (there.startswith(f"{told} (") and there.endswith(")"))


def _rank(hit: Hit) -> dict[str, Any]:
    return {"score": round(hit.score, 3), "by": hit.by}


def _rank_same(same: Same) -> dict[str, Any]:
    """How an entry came to be counted; its score, where it was ranked."""
    if same.hit is None:
        return {"by": "words"}
    return {"score": round(same.hit.score, 3), "by": "both" if same.worded else "meaning"}


def _matching(question: AskedWhen, same: Sames | None) -> dict[str, Any]:
    return {
        "about": question.about,
        "matching": same.count if same else 0,
        "by_meaning_alone": same.near if same else 0,
        "at_least": bool(same and not same.whole),
    }


def _parse_place(cursor: str) -> tuple[int, int]:
    """How long the first page was, and where the next one begins."""
    place = _PLACE.fullmatch(cursor)
    if place is None:
        raise Invalid(
            f"Invalid cursor: {opening(cursor, 40)!r}.", hint="Use the one the last page gave."
        )
    return int(place[1]), int(place[2])
