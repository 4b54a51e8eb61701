"""How an entry of chronicle is corrected by its ref, and the index kept true after it.

Each verb once: for the port of any journal, and for the commands of people.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.clock import render_instant
from commonplace.core.errors import Invalid, NotFound, already_superseded
from commonplace.core.former_texts import FormerEvent
from commonplace.core.inherited import Inheritance
from commonplace.core.text import opening
from commonplace.core.values import Amendment, Answer, EditableText
from commonplace.journals.chronicle.event import SUPERSEDES, UNKNOWN, fold_tag, own_tags
from commonplace.verbs.amend import left_notes, names_in
from commonplace.verbs.amend_answers import changed_lines
from commonplace.verbs.answers import answer_of
from commonplace.verbs.chronicle.story import event_facts, event_line
from commonplace.verbs.times import read_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from commonplace.core.former_texts import FormerText
    from commonplace.core.inherited import InheritedValues
    from commonplace.journals.chronicle.event import Event
    from commonplace.verbs.amend import EntryFields
    from commonplace.verbs.chronicle.service import ChronicleService


class ChronicleAmender(Struct, frozen=True):
    """Corrects entries of the log; see `core.ports.AmendsRefs`."""

    verbs: ChronicleService

    def read_text(self, ref: str) -> EditableText:
        """The message of an entry; see the port."""
        event = self.verbs.chronicle.read_event(ref)
        return EditableText(
            ref=event.ref,
            text=event.message,
            version=event.stamp,
            supersedes=event.supersedes,
            written=event.written or event.at,
            author=event.username,
        )

    def edit(self, ref: str, text: str, *, expected: str = "") -> Amendment:
        """Change the message; see the port."""
        before = self.verbs.chronicle.read_event(ref)
        return _edited(*self._change(before, message=text, expected=expected))

    def read_fields(self, ref: str) -> EntryFields:
        """Its time, tags and folder; see `verbs.amend.EditsFields`."""
        event = self.verbs.chronicle.read_event(ref)
        return {
            "at": render_instant(event.at, self.verbs.zone),
            "tags": ", ".join(event.own_tags),
            "project": "" if event.directory == UNKNOWN else event.directory,
        }

    def edit_fields(
        self, ref: str, text: str, fields: EntryFields, *, expected: str = ""
    ) -> Amendment:
        """Change the message and these of them; see `verbs.amend.EditsFields`."""
        before = self.verbs.chronicle.read_event(ref)
        tags = None
        if "tags" in fields:
            links = (x for x in before.tags if x not in before.own_tags)
            tags = (*names_in(fields["tags"]), *links)
        changed = self._change(
            before,
            message=text,
            tags=tags,
            at=read_at(self.verbs, fields.get("at", "")),
            directory=_folder_in(fields["project"]) if "project" in fields else None,
            expected=expected,
        )
        return _edited(*changed)

    def restore(self, former: FormerText, *, expected: str) -> Amendment:
        """Give an entry its former message, tags and time; see `verbs.amend.RestoresTexts`."""
        assert isinstance(former.more, FormerEvent)
        changed = self._change(
            self.verbs.chronicle.read_event(former.ref),
            message=former.text,
            tags=former.more.tags,
            at=former.more.at,
            directory=former.more.directory,
            expected=expected,
        )
        return _edited(*changed)

    def edit_entry(
        self,
        *,
        ref: str,
        message: str | None = None,
        tags: Sequence[str] | None = None,
        at: str | None = None,
        expected: str | None = None,
        before: str = "",
    ) -> Answer:
        """Change an entry's message, tags or time, and file it again; what is None stays.

        Args:
            ref: Of the entry, or its id, or the beginning of one.
            message: The new one.
            tags: `+tag` adds and `-tag` takes away; plain ones replace all there are, and an empty
                one leaves none.
            at: A phrase; blank leaves the time.
            expected: The stamp that was read.
            before: The message that was read, of which the answer shows what changed.

        Raises:
            Invalid, NotFound, Conflict, Denied, Unavailable.
        """
        read = self.verbs.chronicle.read_event(ref)
        event, notes = self._change(
            read,
            message=message,
            tags=None if tags is None else changed_tags(read.tags, tags),
            at=read_at(self.verbs, at or ""),
            expected=expected or "",
        )
        lines = changed_lines(event.ref, before, event.message) if before else []
        facts = {**event_facts(event), **({"before": before} if before else {})}
        return answer_of(["Edited:", event_line(event, self.verbs.zone), *lines], facts, notes)

    def _change(
        self,
        before: Event,
        *,
        message: str | None = None,
        tags: Sequence[str] | None = None,
        at: datetime | None = None,
        directory: str | None = None,
        expected: str = "",
    ) -> tuple[Event, tuple[str, ...]]:
        """Change an entry that was read, keep what it was, and file it; notes on what is left."""
        verbs, expected = self.verbs, expected or before.stamp
        place = None if directory is None else before.directory
        more = FormerEvent(tags=tuple(before.tags), at=before.at, directory=place)
        notes = self._leave_originals([before]) if expected == before.stamp else ()
        with verbs.former.edited(before.ref, before.stamp, before.message, more) as note:
            event = verbs.chronicle.edit_event(
                before.id,
                message=message,
                tags=tags,
                at=at,
                directory=directory,
                expected=expected,
            )
            note(event.stamp)
        notes += verbs.logs.correct(before, event)
        return event, (*verbs.filing.refile(verbs.docs(event)).notes, *notes)

    def delete(self, ref: str, *, expected: str = "") -> Amendment:
        """Remove an entry and every trace of its text in the index; see the port."""
        event, notes = self._delete(ref, expected)
        return Amendment(act="deleted", ref=event.ref, notes=notes)

    def delete_entry(self, *, ref: str, expected: str | None = None) -> Answer:
        """The same, as an answer that says what it was."""
        event, notes = self._delete(ref, expected or "")
        return answer_of(
            ["Deleted:", event_line(event, self.verbs.zone)], event_facts(event), notes
        )

    def _delete(self, ref: str, expected: str) -> tuple[Event, tuple[str, ...]]:
        """Remove an entry; what it was, and notes on what is left of it.

        Its line leaves the project logs first, and its row what an upgrade left: of a process that
        is killed in between the entry is left, which can be deleted again.
        """
        verbs, before = self.verbs, self.verbs.chronicle.read_event(ref)
        notes: tuple[str, ...] = ()
        if expected in {"", before.stamp}:
            notes = (*verbs.logs.correct(before), *self._leave_originals([before]))
            verbs.former.drop([before.ref])
        event = verbs.chronicle.delete_event(before.id, expected=expected or None)
        return event, (*left_notes(verbs.filing.forget([event.ref])), *notes)

    def delete_many(self, stamps: Mapping[str, str]) -> tuple[list[str], tuple[str, ...]]:
        """Delete the entries, by refs, that have these stamps; the refs of those, and notes.

        The index is the caller's; project logs have no line of what was imported.
        Raises: Unavailable.
        """
        self.verbs.former.drop([*stamps])
        gone = self.verbs.chronicle.delete_many(stamps)
        return [event.ref for event in gone], self._leave_originals(gone)

    def _leave_originals(self, events: Sequence[Event]) -> tuple[str, ...]:
        """Take entries out of what an upgrade left, before they change; notes on what stays."""
        from commonplace.journals.chronicle.originals import take_out_of_originals

        return take_out_of_originals(self.verbs.chronicle.path, events)

    def supersede(self, ref: str, text: str) -> Amendment:
        """Log an entry of the same time in the place of another; see the port."""
        return self.supersede_fields(ref, text, {})

    def supersede_fields(self, ref: str, text: str, fields: EntryFields) -> Amendment:
        """Supersede an entry, with time, tags and folder given; see `SupersedesFields`."""
        former = self.verbs.chronicle.read_event(ref)
        added = self.verbs.chronicle.supersede_event(
            former.ref,
            text,
            tags=names_in(fields["tags"]) if "tags" in fields else None,
            at=read_at(self.verbs, fields.get("at", "")),
            directory=_folder_in(fields["project"]) if "project" in fields else former.directory,
        )
        return Amendment(
            act="superseded",
            ref=added.event.ref,
            text=added.event.message,
            at=added.event.at,
            former=former.ref,
            notes=self.verbs.file_added(added),
        )

    def take_place(self, ref: str, former: str) -> Amendment:
        """Tag an entry with the one whose place it took; see `verbs.amend.TakesPlaces`."""
        chronicle = self.verbs.chronicle
        event, old = chronicle.read_event(ref), chronicle.read_event(former)
        if (later := chronicle.find_successor(old)) is not None:
            raise already_superseded(old.ref, later.ref)
        return _edited(*self._change(event, tags=[*event.tags, f"{SUPERSEDES}{old.id}"]))

    def read_inheritance(self, ref: str) -> Inheritance:
        """Its tags, and its folder; see `core.inherited.HandsOnValues`."""
        chronicle = self.verbs.chronicle
        event = chronicle.read_event(ref)
        later, has_own_folder = chronicle.find_successor(event), False
        if event.supersedes:
            with suppress(NotFound):
                # One that only corrects another is of its time, and of its folder.
                former = chronicle.read_event(event.supersedes)
                has_own_folder = former.instant != event.instant
        values: InheritedValues = {"tags": tuple(fold_tag(x) for x in event.own_tags)}
        if event.directory not in {"", UNKNOWN}:
            values = {**values, "folder": (event.directory,)}
        return Inheritance(
            ref=event.ref,
            successor=later.ref if later else "",
            values=values,
            given=("folder",) if has_own_folder else (),
        )

    def drop_inherited(self, ref: str, values: InheritedValues) -> Amendment:
        """Take tags and the folder out of an entry; see `core.inherited.HandsOnValues`."""
        event = self.verbs.chronicle.read_event(ref)
        gone = {fold_tag(x) for x in values.get("tags", ())}
        kept = [tag for tag in event.tags if fold_tag(tag) not in gone]
        drops_folder = event.directory in values.get("folder", ())
        if len(kept) == len(event.tags) and not drops_folder:
            return _edited(event)
        return _edited(*self._change(event, tags=kept, directory=UNKNOWN if drops_folder else None))


def _folder_in(typed: str) -> str:
    """The folder that was typed as an entry's project; unknown for none. Raises: Invalid."""
    folder = os.path.expanduser(typed)
    if folder and not os.path.isabs(folder):
        raise Invalid(
            f"Invalid project: {opening(typed, 100)!r} is not the path of a folder.",
            hint="Give the whole path, which begins with / or ~, or leave it empty.",
        )
    return os.path.normpath(folder) if folder else UNKNOWN


def changed_tags(tags: Sequence[str], asked: Sequence[str]) -> tuple[str, ...]:
    """The tags after `+tag` is added and `-tag` taken away; plain ones replace what was there.

    The tag that names a superseded entry is only taken away by its name.
    """
    plain = [tag for tag in asked if tag.strip()[:1] not in {"+", "-"}]
    added = [tag.strip()[1:] for tag in asked if tag.strip()[:1] == "+"]
    gone = {fold_tag(tag.strip()[1:]) for tag in asked if tag.strip()[:1] == "-"}
    links = set(tags).difference(own_tags(tags))
    kept = (tag for tag in ([*plain, *links] if plain else tags) if fold_tag(tag) not in gone)
    return (*kept, *added)


def _edited(event: Event, notes: tuple[str, ...] = ()) -> Amendment:
    return Amendment(act="edited", ref=event.ref, text=event.message, at=event.at, notes=notes)
