"""Today: what is new, what a session is told, what is open, what was on this day, what waits.

The page and the command line show the same of it. Never renders, and never writes an entry: keeping
what was seen is all that it changes.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.clock import add_months, day_interval, day_of, parse_time
from commonplace.core.errors import CommonplaceError
from commonplace.core.ports import DatesRefs
from commonplace.core.text import counted, tokens_in
from commonplace.core.values import Filter, Interval
from commonplace.search import policy
from commonplace.verbs.answers import shown_name
from commonplace.verbs.today.seen import is_overview

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date, datetime

    from commonplace.core.brief_item import BriefItem
    from commonplace.core.values import Hit, Page
    from commonplace.journals.transcripts.message import SessionSummary
    from commonplace.verbs.brief.service import Brief
    from commonplace.verbs.recall.service import RecallService
    from commonplace.verbs.today.seen import SeenMarks, SeenState
    from commonplace.verbs.transcripts.service import TranscriptService

MOST_NEW = 60
"""Entries that are listed as new, and as many sessions; of more there is a count."""

MOST_ASKED = 1
"""Cards of a project that ask what replaces what: an answer brings the next one."""

MANY_KEPT = 500
"""Marks of what was seen one by one, from which on an instant is looked for in their place."""

LINKING = ("chronicle", "private")
"""The journals in which an entry that is there can take the place of another."""

MOST_OPEN = 30
"""To-dos that are listed, and as many lines of each project that say what is to do."""

MOST_OF_A_DAY = 3
"""Entries of a day a month or a year ago."""

_LATEST = timedelta(minutes=1)
"""What is dated further ahead was not written since the owner looked."""

_TRANSCRIPTS, _MEMORY, _NOTEBOOK = "transcripts", "memory", "notebook"
_OVERVIEW = "overview"
"""The kind of what is as new as the newest entry of its section."""
_SAID = "message"
"""The kind of memory that is a chat's message, which nobody looks through."""

WaitingKind = Literal["journal", "filing", "encoder", "pending", "clash", "gone", "sessions"]


class NewSession(Struct, frozen=True, kw_only=True):
    """A session that went on since the owner looked. at: when its last message was."""

    session: SessionSummary
    title: str
    at: datetime


class MayReplace(Struct, frozen=True, kw_only=True):
    """A new entry that may take the place of a former one, as was proposed when it was written."""

    later: Hit
    former: Page


class NewOfProject(Struct, frozen=True, kw_only=True):
    """What is new of one project, newest first.

    Attributes:
        project: Its folder; empty for what belongs to none.
        asked: Which of them may take the place of which.
    """

    project: str
    hits: Sequence[Hit]
    sessions: Sequence[NewSession]
    asked: Sequence[MayReplace] = ()

    @property
    def name(self) -> str:
        """What people call the project; empty for none."""
        return shown_name(self.project)


class News(Struct, frozen=True, kw_only=True):
    """What was written since the owner looked.

    Attributes:
        since: When that was.
        count: How many entries and sessions are new; more than are listed, where there are many.
        projects: Those listed, the project with the newest first.
        notes: What a reader must know of the search.
    """

    since: datetime
    count: int
    projects: Sequence[NewOfProject]
    notes: Sequence[str]

    @property
    def listed(self) -> int:
        """How many of them are listed."""
        return sum(len(each.hits) + len(each.sessions) for each in self.projects)

    @property
    def sessions(self) -> int:
        """How many sessions are among those listed."""
        return sum(len(each.sessions) for each in self.projects)


class ProjectBrief(Struct, frozen=True, kw_only=True):
    """What a session of a project is told now.

    Attributes:
        project: Its folder; empty where there is none.
        tokens: How many the brief has.
        most: How many it may have.
    """

    project: str
    brief: Brief
    tokens: int
    most: int

    @property
    def name(self) -> str:
        """What people call the project."""
        return shown_name(self.project)

    @property
    def parts(self) -> Sequence[tuple[str, Sequence[BriefItem]]]:
        """What is told, by the name of its part."""
        return [
            (name, items[: self.brief.counts.get(name, 0)])
            for name, items in self.brief.parts.items()
            if self.brief.counts.get(name)
        ]

    @property
    def left_out(self) -> Sequence[tuple[str, int]]:
        """How many items of each part there was no room for."""
        left = ((x, len(y) - self.brief.counts.get(x, 0)) for x, y in self.brief.parts.items())
        return [(name, count) for name, count in left if count]


class OpenThing(Struct, frozen=True, kw_only=True):
    """Something that is to be done.

    Attributes:
        ref: The to-do of memory, or the entry that says so.
        text: What is to be done, as it was written.
        project: The project's folder that it stands in; empty for a to-do.
        is_todo: Whether it is a to-do of memory, which is ticked; else a line of an entry.
    """

    ref: str
    text: str
    at: datetime | None
    project: str = ""
    is_todo: bool = False

    @property
    def name(self) -> str:
        """What people call the project."""
        return shown_name(self.project)


class OnThisDay(Struct, frozen=True, kw_only=True):
    """What was written a month or a year ago, oldest first. ago: `a month ago`, `a year ago`."""

    ago: str
    day: date
    hits: Sequence[Hit]
    has_more: bool


class WaitingThing(Struct, frozen=True, kw_only=True):
    """Something that is wrong, or that only the owner can decide.

    Attributes:
        kind: What it is of, by which a door offers what can be done.
        text: What is the matter, in a sentence.
        name: The section of a clash; empty for all else.
    """

    kind: WaitingKind
    text: str
    name: str = ""


class TodayService(Struct, frozen=True, kw_only=True):
    """What a day begins with, of one owner.

    Attributes:
        sessions: The verbs of transcripts; None where none are kept.
        root_of: The folder of the project that a folder lies in.
        brief_of: The brief of a project, and how many tokens it may have; None where none is made.
        projects: The folders of the projects that are worked in, the present one first.
        clashes: The sections whose overview a sync could not merge.
        gone: Sentences on notes that vanished.
        unsafe: Sentences on sessions that are not kept.
    """

    recall: RecallService
    sessions: TranscriptService | None
    seen: SeenMarks
    root_of: Callable[[str], str]
    brief_of: Callable[[str], tuple[Brief, int] | None]
    projects: Callable[[], Sequence[str]]
    clashes: Callable[[], Sequence[str]]
    gone: Callable[[], Sequence[str]]
    unsafe: Callable[[], Sequence[str]]

    def news(self) -> News:
        """What was written since the owner looked, less what was kept. Raises: Unavailable."""
        state = self.seen.read(self.recall.clock())
        interval, within = self._new_within(state)
        hits: Sequence[Hit] = ()
        notes: Sequence[str] = ()
        count = 0
        if within is not None:
            found = self.recall.list_in(interval, within=within, limit=MOST_NEW)
            hits, notes = found.hits, found.notes
            if found.has_more:
                count = self.recall.listed_in(interval, within=within).counts([interval])[0]
        sessions, more = self._new_sessions(interval, state)
        return News(
            since=state.until,
            count=max(count, len(hits)) + len(sessions) + more,
            projects=[
                replace(each, asked=self._asked(state, each.hits))
                for each in self._by_project(hits, sessions)
            ],
            notes=notes,
        )

    def merge_marks(self) -> None:
        """Note one instant in place of many marks, where all before it was seen.

        What was marked within the last hour may still be taken back, so it stays new until then.
        Raises: Unavailable, Denied.
        """
        now = self.recall.clock()
        state = self.seen.read(now)
        if len(state.kept) < MANY_KEPT:
            return
        interval, within = self._new_within(state)
        if within is None:
            return
        left = self.recall.list_in(interval, within=within, limit=MANY_KEPT)
        sessions, more_sessions = self._new_sessions(interval, state)
        if left.has_more or more_sessions:
            return
        hour_ago = now - timedelta(hours=1)
        latest = [ref for ref, at in state.kept.items() if at > hour_ago.timestamp()]
        index = self.recall.index
        dates = index.dates_of(latest).values() if isinstance(index, DatesRefs) else [state.until]
        new = [*(hit.doc.at for hit in left.hits), *(each.at for each in sessions)]
        until = min([hour_ago, *dates, *new])
        if until > state.until:
            self.seen.advance(until)

    def latest(self, limit: int, *, without: Sequence[str] = ()) -> Sequence[NewOfProject]:
        """What was written last, by project, whether it was seen or not. Raises: Unavailable.

        without: Refs of what stands elsewhere.
        """
        if (within := self._within()) is None:
            return ()
        within = replace(within, excluded_refs=tuple(without))
        return self._by_project(self.recall.list_in(None, within=within, limit=limit).hits, ())

    def briefs(self) -> Sequence[ProjectBrief]:
        """What a session is told now, of each project that is worked in."""
        found = []
        for project in self.projects():
            made = self.brief_of(project)
            if made is not None and made[0].text:
                brief, most = made
                tokens = tokens_in(brief.text)
                found.append(ProjectBrief(project=project, brief=brief, tokens=tokens, most=most))
        return found

    def open_things(self, briefs: Sequence[ProjectBrief]) -> Sequence[OpenThing]:
        """What is to be done: to-dos of memory, then what lines of each project say.

        Args:
            briefs: As `briefs` gives them; what a brief may not hold is not read from it.

        Raises: Unavailable.
        """
        found: list[OpenThing] = []
        if _MEMORY in self.recall.journals:
            from commonplace.journals.memory.entry import open_todos

            hits = self.recall.list_in(None, within=open_todos(Filter()), limit=MOST_OPEN).hits
            found = [
                OpenThing(ref=x.doc.ref, text=x.doc.text, at=x.doc.at, is_todo=True) for x in hits
            ]
        for each in briefs:
            lines = [x for x in each.brief.parts.get("open", ()) if x.journal != _MEMORY]
            found += [
                OpenThing(ref=x.ref, text=x.text, at=x.instant, project=each.project)
                for x in lines[:MOST_OPEN]
            ]
        return found

    def on_this_day(self) -> Sequence[OnThisDay]:
        """What was written on this day a month and a year ago. Raises: Unavailable."""
        today = day_of(self.recall.clock(), self.recall.zone)
        within = self._within()
        if within is None:
            return []
        found = []
        for ago, months in (("a month ago", 1), ("a year ago", 12)):
            day = add_months(today, -months)
            if day.day == today.day:  # an earlier month may have no such day
                interval = day_interval(day, self.recall.zone)
                of_day = self.recall.list_in(interval, within=within, limit=MOST_OF_A_DAY)
                if of_day.hits:
                    hits = tuple(reversed(of_day.hits))
                    found.append(OnThisDay(ago=ago, day=day, hits=hits, has_more=of_day.has_more))
        return found

    def waiting(self) -> Sequence[WaitingThing]:
        """What is wrong, and what only the owner can decide; never raises for a part."""
        return [*self._of_journals(), *self._of_search()]

    def _of_journals(self) -> Iterator[WaitingThing]:
        for name, why in self.recall.lost.items():
            yield WaitingThing(kind="journal", text=f"{name} cannot be used: {why}")
        for section in self.clashes():
            text = f"The notebook has two versions of {section}: choose what holds."
            yield WaitingThing(kind="clash", text=text, name=section)
        yield from (WaitingThing(kind="gone", text=text) for text in self.gone())
        yield from (WaitingThing(kind="sessions", text=text) for text in self.unsafe())

    def _of_search(self) -> Iterator[WaitingThing]:
        for each in self.recall.filing.behind():
            text = f"What is new in {each.journal} has not been read yet, and may be missing here."
            yield WaitingThing(kind="filing", text=text)
        encoder = self.recall.encoder()
        if encoder.state == "missing":
            text = f"Searches compare words alone, not meaning: {encoder.why}"
            yield WaitingThing(kind="encoder", text=text)
            return
        if encoder.state == "loading":  # it is about to read them
            return
        try:
            pending = self.recall.index.counts(encoder.identity).pending
        except CommonplaceError:
            return
        if pending > policy.VECTORS_SOON:  # else the next search or server makes them
            what = counted(pending, "text is", "texts are")
            text = f"{what} found by words alone until the encoder has read them all."
            yield WaitingThing(kind="pending", text=text)

    def _asked(self, state: SeenState, hits: Sequence[Hit]) -> Sequence[MayReplace]:
        """What may replace what among new entries, where neither was replaced since; the newest."""
        new = {hit.doc.ref: hit for hit in hits if not (hit.doc.supersedes or hit.replaced_by)}
        found: list[MayReplace] = []
        for later, former in state.asked:
            if len(found) == MOST_ASKED:
                break
            if later in new and later.partition(":")[0] in LINKING:
                with suppress(CommonplaceError):  # it is gone, and nothing is asked
                    page = self.recall.open_ref(former)
                    if not (page.superseded_by or page.replaced):
                        found.append(MayReplace(later=new[later], former=page))
        return found

    def _within(self) -> Filter | None:
        """What was written, and was not said in a session; None where there is no journal."""
        journals = tuple(x for x in self.recall.journals if x != _TRANSCRIPTS)
        return self.recall.written(Filter(journals=journals)) if journals else None

    def _new_within(self, state: SeenState) -> tuple[Interval, Filter | None]:
        """Where and among what new entries lie; None where there is no journal."""
        interval = Interval(start=state.until, end=self.recall.clock() + _LATEST)
        if (within := self._within()) is None:
            return interval, None
        within = replace(within, kinds=tuple(x for x in within.kinds if x != _SAID))
        kept = self._kept(state, interval, within)
        return interval, replace(within, excluded_refs=tuple(kept))

    def _kept(self, state: SeenState, interval: Interval, within: Filter) -> Sequence[str]:
        """What was kept one by one, less the overviews whose section was written to since."""
        if not any(is_overview(ref) for ref in state.kept):
            return [*state.kept]
        overviews = replace(within, journals=(_NOTEBOOK,), kinds=(_OVERVIEW,))
        found = self.recall.list_in(interval, within=overviews, limit=MOST_NEW).hits
        changed = {hit.doc.ref for hit in found if not state.has(hit.doc.ref, hit.doc.at)}
        return [ref for ref in state.kept if ref not in changed]

    def _new_sessions(self, interval: Interval, state: SeenState) -> tuple[list[NewSession], int]:
        """The sessions that went on, and how many more there are."""
        if self.sessions is None:
            return [], 0
        listed = self.sessions.find_sessions(
            when="", project="", client="", limit=MOST_NEW, start=0, interval=interval
        )
        found = []
        for session in listed.sessions:
            at = parse_time(session.last_at)
            if not state.has(session.ref, at):
                title = self.sessions.title_of(session)
                found.append(NewSession(session=session, title=title, at=at))
        return found, int(listed.has_more)

    def _by_project(
        self, hits: Sequence[Hit], sessions: Sequence[NewSession]
    ) -> Sequence[NewOfProject]:
        project_of = cache(lambda folder: self.root_of(folder) if os.path.isabs(folder) else "")
        groups: dict[str, tuple[list[Hit], list[NewSession]]] = {}
        for hit in hits:
            groups.setdefault(project_of(self._folder_of(hit)), ([], []))[0].append(hit)
        for each in sessions:
            groups.setdefault(project_of(each.session.cwd), ([], []))[1].append(each)

        def newest(project: str) -> datetime:
            hits, sessions = groups[project]
            return max([*(hit.doc.at for hit in hits), *(each.at for each in sessions)])

        return [
            NewOfProject(project=x, hits=groups[x][0], sessions=groups[x][1])
            for x in sorted(groups, key=newest, reverse=True)
        ]

    def _folder_of(self, hit: Hit) -> str:
        """The folder that an entry belongs to; empty for the notebook, whose places are its own."""
        opener = self.recall.journals.get(hit.doc.journal)
        if opener is None or hit.doc.journal == _NOTEBOOK:
            return ""
        return opener.place_of(hit.doc.scope)
