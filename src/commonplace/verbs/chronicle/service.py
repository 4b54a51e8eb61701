"""Chronicle's verbs with search joined, values in and values out.

Never makes a text for a model, decides nothing about files or ranking, and keeps the index true
after each change.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.import_notes import NOT_NOTED
from commonplace.core.text import opening
from commonplace.core.values import Interval, Put
from commonplace.verbs.amend import look_up_former
from commonplace.verbs.chronicle.finding import ChronicleFinder
from commonplace.verbs.times import naming, read_at, read_span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime, tzinfo
    from pathlib import Path

    from commonplace.core.clock import Clock
    from commonplace.core.former_texts import FormerTexts
    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.chronicle.journal import Chronicle, Event, EventAdded
    from commonplace.journals.chronicle.log_config import LogConfig
    from commonplace.journals.chronicle.log_lines import ProjectLogs
    from commonplace.journals.chronicle.trust import TrustedLogs
    from commonplace.search.filing.filing import Filing
    from commonplace.search.filing.port import Filed, Pending
    from commonplace.search.finder import Finder
    from commonplace.verbs.chronicle.finding import EventHit, SameEvents
    from commonplace.verbs.chronicle.question import AskedWhen

SAME_ACTIVITY = timedelta(minutes=10)
"""An activity that is logged again within this time is the entry that exists."""

SHOWN_MATCHES = 10
"""How many entries answer a question for when something was."""

_QUERY = "The query "
"""How the finder begins what it says of a text."""
_CURSOR = re.compile(r"r([1-9][0-9]?|100)\.([1-9][0-9]{0,4})", re.ASCII)
_EXPORT_PAGE = 10_000
_READ_AT_ONCE = 500


class EventLogged(Struct, frozen=True, kw_only=True):
    """An entry that is there now. repeated: it was before; notes: what its author must know."""

    event: Event
    repeated: bool
    notes: tuple[str, ...]


class EventsFound(Struct, frozen=True, kw_only=True):
    """A page of a search, best first; cursor: asks for the next one, empty after the last."""

    entries: Sequence[EventHit]
    interval: Interval | None
    cursor: str
    notes: tuple[str, ...]


class WhenFound(Struct, frozen=True, kw_only=True):
    """What answers a question for when something was.

    Attributes:
        question: As it was understood.
        same: The entries about the same thing, where the last, the first or all were asked for.
        best: The best matches, where there are none about the same thing, or none was asked for.
        outside_time: Whether nothing lies in the time of the question, so that best is of others.
    """

    question: AskedWhen
    same: SameEvents | None
    best: Sequence[EventHit]
    notes: tuple[str, ...]
    outside_time: bool = False


class EventsImported(Struct, frozen=True, kw_only=True):
    """What an import came to: how many entries it added, and how many were there already."""

    added: int
    there: int
    notes: tuple[str, ...] = ()


class ChronicleService(Struct, frozen=True, kw_only=True):
    """Chronicle of one owner and one folder, with its index.

    Attributes:
        zone: The owner's, in which phrases of time are read.
        project: The project's folder, if any.
        folder: Where in the project the work is done: there a `.chronicle` is looked for.
        home: The user's, at which that search ends.
        former: Keeps the texts that edits replace.
        trusted: Which of the project logs the user has allowed.
        replaced: When those of some entries were replaced that were by one that is gone, by ref.
    """

    chronicle: Chronicle
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

    def add(
        self,
        message: str,
        *,
        tags: Sequence[str],
        at: str,
        idempotency_key: str | None,
        supersedes: str = "",
    ) -> EventLogged:
        """Log what was done, and file it.

        Args:
            message: What was done.
            tags: Empty for those of the entry that is superseded, if any.
            at: A phrase, blank for now.
            idempotency_key: The same key twice is one entry.
            supersedes: The ref of the entry whose place it takes; blank for none. Done twice it is
                one entry, whatever the key.

        Raises:
            Invalid, NotFound, Conflict, Denied, Unavailable.
        """
        if supersedes.strip():
            when = read_at(self, at) or self.clock()
            return look_up_former(
                supersedes,
                "chronicle",
                lambda ref: self._logged(
                    self.chronicle.supersede_event(ref, message, tags=tags, at=when)
                ),
            )
        added = self.chronicle.add_event(
            message, tags=tags, at=read_at(self, at), idempotency_key=idempotency_key
        )
        return self._logged(added)

    def remember(self, activity: str, context: str) -> EventLogged:
        """Log what was just done with tags of our choice, once within ten minutes.

        Args:
            activity: What was done.
            context: Why it matters; may be empty.

        Raises:
            Invalid, Conflict, Denied, Unavailable.
        """
        from commonplace.journals.chronicle.event import storable

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
        return self._logged(added)

    def _logged(self, added: EventAdded) -> EventLogged:
        from commonplace.journals.chronicle.event import doc_of
        from commonplace.journals.chronicle.logs import write_log

        event = added.event
        notes: tuple[str, ...] = ()
        if not added.repeated:
            notes = self.filing.file([Put(doc_of(event, self.zone))]).notes
            warning = write_log(self.log_config(), event, self.zone, self.trusted)
            notes += (warning,) if warning else ()
        return EventLogged(event=event, repeated=added.repeated, notes=notes)

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

    def log_config(self) -> LogConfig | None:
        """The `.chronicle` that rules the folder, if any."""
        from commonplace.journals.chronicle.log_config import find_log_config

        return find_log_config(self.folder, self.home) if self.folder else None

    @property
    def searches(self) -> ChronicleFinder:
        """Searches over the entries."""
        return ChronicleFinder(chronicle=self.chronicle, finder=self.finder, replaced=self.replaced)

    def search(
        self,
        text: str,
        *,
        tags: Sequence[str],
        interval: Interval | None,
        limit: int,
        cursor: str,
        before: datetime | None = None,
    ) -> EventsFound:
        """A page of the entries that a text finds, best first. Raises: Invalid.

        Args:
            text: What is looked for.
            tags: As `parse_tag_filter` takes them.
            interval: The time of the entries; None for any.
            limit: How many at the most.
            cursor: Of the page before; empty for the first.
            before: Only of what was written down before; None for all.
        """
        first, start = _parse_cursor(cursor) if cursor else (limit, 0)
        with naming("text", about=_QUERY):
            page, more = self.searches.find_page(
                text,
                tags=tags,
                within=interval,
                first=first,
                start=start,
                length=limit,
                before=before,
            )
        return EventsFound(
            entries=self.searches.read_hits(page),
            interval=interval,
            cursor=f"r{first}.{start + limit}" if more else "",
            notes=page.notes,
        )

    def find_when(self, what: str) -> WhenFound:
        """The entries that say when something was, in the words of a question or none.

        Raises: Invalid, Unavailable.
        """
        from commonplace.verbs.chronicle.question import read_question

        question = read_question(what, now=self.clock(), zone=self.zone)
        with naming("what", about=_QUERY):
            same = None
            if question.wants != "best":
                same = self.searches.find_same(question, limit=SHOWN_MATCHES)
                if same.count:
                    return WhenFound(question=question, same=same, best=(), notes=same.notes)
            found = self.searches.find(question.about, within=question.within, limit=SHOWN_MATCHES)
            best = self.searches.read_hits(found)
            outside_time = bool(question.within) and not best
            if outside_time:
                anywhere = self.searches.find(question.about, limit=SHOWN_MATCHES)
                best = self.searches.read_hits(anywhere)
        return WhenFound(
            question=question,
            same=same,
            best=best[:SHOWN_MATCHES],
            notes=found.notes,
            outside_time=outside_time,
        )

    def edit(
        self,
        ref: str,
        *,
        message: str | None,
        tags: Sequence[str] | None,
        at: str,
        expected: str | None,
    ) -> tuple[Event, Filed | Pending, tuple[str, ...]]:
        """Change an entry's message, tags or time, and file it again; what is None stays.

        Args:
            ref: Of the entry, or its id, or the beginning of one.
            message: The new one.
            tags: `+tag` adds and `-tag` takes away; plain ones replace all there are, and an empty
                one leaves none.
            at: A phrase; blank leaves the time.
            expected: The stamp that was read.

        Returns:
            The entry, how it was filed, and a note on each project log or copy that still has it.

        Raises:
            Invalid, NotFound, Conflict, Denied, Unavailable.
        """
        before = self.chronicle.read_event(ref)
        return self.change(
            before,
            message=message,
            tags=None if tags is None else changed_tags(before.tags, tags),
            at=read_at(self, at),
            # Tags that are added or taken away stand on what was read just now.
            expected=before.stamp if expected is None else expected,
        )

    def change(
        self,
        before: Event,
        *,
        message: str | None,
        tags: Sequence[str] | None,
        at: datetime | None,
        expected: str,
        directory: str | None = None,
    ) -> tuple[Event, Filed | Pending, tuple[str, ...]]:
        """Change an entry that was read, keep what it was, and file it. Otherwise as `edit`."""
        from commonplace.journals.chronicle.event import doc_of

        more = {"tags": [*before.tags], "at": before.at.isoformat()}
        notes = self._leave_originals([before]) if expected == before.stamp else ()
        with self.former.edited(before.ref, before.stamp, before.message, more) as note:
            event = self.chronicle.edit_event(
                before.id,
                message=message,
                tags=tags,
                at=at,
                directory=directory,
                expected=expected,
            )
            note(event.stamp)
        notes += self.logs.correct(before, event)
        return event, self.filing.refile([Put(doc_of(event, self.zone))]), notes

    def supersede(self, ref: str, message: str) -> EventLogged:
        """Log an entry in the place of another, and file it; see `Chronicle.supersede_event`.

        Raises: Invalid, NotFound, Conflict, Denied, Unavailable.
        """
        return self._logged(self.chronicle.supersede_event(ref, message))

    def delete(
        self, ref: str, *, expected: str | None
    ) -> tuple[Event, Filed | Pending, tuple[str, ...]]:
        """Remove an entry and every trace of its text in the index; answers what it was.

        Its line leaves the project logs first, and its row what an upgrade left: of a process that
        is killed in between the entry is left, which can be deleted again. Returns: as `edit`.
        Raises: as `edit`.
        """
        before = self.chronicle.read_event(ref)
        notes: tuple[str, ...] = ()
        if expected in {None, before.stamp}:
            notes = (*self.logs.correct(before), *self._leave_originals([before]))
            self.former.drop([before.ref])
        event = self.chronicle.delete_event(before.id, expected=expected)
        return event, self.filing.forget([event.ref]), notes

    def delete_many(self, stamps: Mapping[str, str]) -> tuple[list[str], tuple[str, ...]]:
        """Delete the entries, by refs, that have these stamps; the refs of those, and notes.

        The index is the caller's; project logs have no line of what was imported.
        Raises: Unavailable.
        """
        self.former.drop([*stamps])
        gone = self.chronicle.delete_many(stamps)
        return [event.ref for event in gone], self._leave_originals(gone)

    def _leave_originals(self, events: Sequence[Event]) -> tuple[str, ...]:
        """Take entries out of what an upgrade left, before they change; notes on what stays."""
        from commonplace.journals.chronicle.originals import take_out_of_originals

        return take_out_of_originals(self.chronicle.path, events)

    @property
    def logs(self) -> ProjectLogs:
        """The project logs that entries may have lines in."""
        from commonplace.journals.chronicle.log_lines import ProjectLogs

        return ProjectLogs(trusted=self.trusted, zone=self.zone)

    def list_all(self, *, since: str, until: str, tags: Sequence[str]) -> list[Event]:
        """Every entry of a time with these tags, newest first. Raises: Invalid, Unavailable."""
        return list(self._all(read_span(self, since, until), tags))

    def _all(self, within: Interval | None, tags: Sequence[str]) -> Iterator[Event]:
        cursor = ""
        while True:
            page = self.chronicle.list_events(
                limit=_EXPORT_PAGE, within=within, tags=tags, cursor=cursor
            )
            yield from page.events
            cursor = page.cursor
            if not cursor:
                return

    def import_export(
        self,
        text: str,
        *,
        name: str = "",
        noting: NotesImport = NOT_NOTED,
        progress: Callable[[int, int], None] | None = None,
    ) -> EventsImported:
        """Add the entries of an export, each once however often it is read.

        Args:
            text: Of the export.
            name: Of the file it was read from.
            noting: Takes what is added.
            progress: Called with (done, still to do).

        Raises:
            Invalid: It is not an export; the message names the file.
            Conflict, Denied, Unavailable.
        """
        from commonplace.journals.chronicle.imports import parse_export

        try:
            entries = parse_export(text, zone=self.zone)
        except Invalid as exc:
            where = f"{name}: " if name else ""
            raise exc.as_kind(Invalid, prefix=where) from exc
        return self._imported(entries, (), noting, progress)

    def import_tree(
        self,
        folder: Path,
        *,
        noting: NotesImport = NOT_NOTED,
        progress: Callable[[int, int], None] | None = None,
    ) -> EventsImported:
        """Add the entries of a Markdown tree, each once; notes name the files that hold none.

        Otherwise as `import_export`.

        Raises: Invalid for a folder without any, Conflict, Denied, Unavailable.
        """
        from commonplace.journals.chronicle.markdown_tree import ChronicleTree

        tree = ChronicleTree(folder, zone=self.zone)
        survey = tree.survey()
        if not survey.seen and not survey.unreadable:
            raise Invalid(f"{folder} holds no entries.", hint="Name the folder of a Markdown tree.")
        keys = [seen.key for seen in survey.seen.values()]
        groups = (keys[at : at + _READ_AT_ONCE] for at in range(0, len(keys), _READ_AT_ONCE))
        events = [event for group in groups for event in tree.read_many(group)]
        notes = [f"{name} was left out: {why}" for name, why in survey.unreadable]
        return self._imported(events, notes, noting, progress)

    def _imported(
        self,
        entries: Sequence[Event],
        notes: Sequence[str],
        noting: NotesImport,
        progress: Callable[[int, int], None] | None,
    ) -> EventsImported:
        added = self.chronicle.import_events(entries, noting=noting, progress=progress)
        return EventsImported(added=added, there=len(entries) - added, notes=tuple(notes))


def changed_tags(tags: Sequence[str], asked: Sequence[str]) -> tuple[str, ...]:
    """The tags after `+tag` is added and `-tag` taken away; plain ones replace what was there.

    The tag that names a superseded entry is only taken away by its name.
    """
    from commonplace.journals.chronicle.event import fold_tag, own_tags

    plain = [tag for tag in asked if tag.strip()[:1] not in {"+", "-"}]
    added = [tag.strip()[1:] for tag in asked if tag.strip()[:1] == "+"]
    gone = {fold_tag(tag.strip()[1:]) for tag in asked if tag.strip()[:1] == "-"}
    links = set(tags).difference(own_tags(tags))
    kept = (tag for tag in ([*plain, *links] if plain else tags) if fold_tag(tag) not in gone)
    return (*kept, *added)


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
