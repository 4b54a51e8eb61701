"""How an entry of the private journal is corrected by its ref or path, and the index after it.

Each verb once: for the port of any journal, and for the commands of people.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.clock import render_instant
from commonplace.core.errors import (
    CommonplaceError,
    Conflict,
    Invalid,
    NotFound,
    already_superseded,
    has_changed,
)
from commonplace.core.inherited import Inheritance
from commonplace.core.values import Amendment, Answer, EditableText
from commonplace.journals.private.format import (
    is_category,
    mark_superseding,
    parse_day,
    parse_entry,
    with_time,
    without_headings,
)
from commonplace.journals.private.markdown import split_frontmatter
from commonplace.verbs.amend import left_notes
from commonplace.verbs.amend_answers import changed_lines
from commonplace.verbs.times import read_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.former_texts import FormerText
    from commonplace.core.inherited import InheritedValues
    from commonplace.journals.private.journal import PrivateEntry
    from commonplace.search.filing.port import Filed, Pending
    from commonplace.verbs.amend import EntryFields
    from commonplace.verbs.private.service import PrivateService


class PrivateAmender(Struct, frozen=True):
    """Corrects private entries, in other projects of the owner too; see `core.ports.AmendsRefs`."""

    verbs: PrivateService

    def read_text(self, ref: str) -> EditableText:
        """The whole file of an entry; see the port."""
        return _editable(self.verbs.open_entry(ref))

    def read_kept_text(self, ref: str) -> EditableText:
        """The same, also of a note that only its copy has; see `verbs.amend.KeepsGone`."""
        try:
            return self.read_text(ref)
        except NotFound:
            if (gone := self.verbs.journal.find_gone(ref)) is None:
                raise
            return _editable(gone)

    def delete_kept(self, ref: str, *, expected: str = "") -> Amendment:
        """Remove every trace of a note that only its copy has; see `verbs.amend.KeepsGone`."""
        gone = self.verbs.journal.find_gone(ref)
        if gone is None:
            raise NotFound(f"There is no copy of {ref}.")
        if expected not in {"", gone.version}:
            raise has_changed(ref)
        return Amendment(act="deleted", ref=ref, notes=self.forget_copies([gone.ref]))

    def forget_copies(self, refs: Sequence[str]) -> tuple[str, ...]:
        """Remove every trace of notes that only their copies have; notes on what is left.

        The copies go last: what a process that is killed leaves of them, the next call finds.
        Raises: Denied, Unavailable.
        """
        self.verbs.former.drop(refs)
        filed = self.verbs.filing.forget(refs)
        self.verbs.journal.forget_copies(refs)
        return left_notes(filed)

    def edit(self, ref: str, text: str, *, expected: str = "") -> Amendment:
        """Replace all but the frontmatter, which stays where the text has none; see the port.

        Raises: Invalid too where a text without headings would take the place of several.
        """
        before = self.verbs.open_entry(ref)
        return _edited(*self._edit(before, _with_headings(text, before), expected))

    def read_fields(self, ref: str) -> EntryFields:
        """Its time; see `verbs.amend.EditsFields`."""
        return {"at": render_instant(self.verbs.open_entry(ref).at, self.verbs.zone)}

    def edit_fields(
        self, ref: str, text: str, fields: EntryFields, *, expected: str = ""
    ) -> Amendment:
        """Change the text and the time that its file says; see `verbs.amend.EditsFields`.

        Its file stays where it is, so that its ref does.
        """
        before = self.verbs.open_entry(ref)
        new, at = _with_headings(text, before), read_at(self.verbs, fields.get("at", ""))
        if at is not None and new.strip():
            _refuse_other_day(before, at, self.verbs.zone)
            head = "" if split_frontmatter(new)[0] else split_frontmatter(before.raw)[0]
            written = before.written or before.at
            new = with_time(head + new, at, self.verbs.zone, written=written)
        return _edited(*self._edit(before, new, expected))

    def restore(self, former: FormerText, *, expected: str) -> Amendment:
        """Give an entry its former file; see `verbs.amend.RestoresTexts`.

        What it had taken the place of since holds again.
        """
        before = self.verbs.open_entry(former.ref)
        entry, filed = self._edit(before, former.text, expected)
        if before.supersedes and not entry.supersedes:
            with suppress(NotFound):
                replaced = self.verbs.journal.mark_replaced(before.supersedes, "")
                self.verbs.filing.file_edited(self.verbs.docs([replaced]))
        return _edited(entry, filed)

    def take_place(self, ref: str, former: str) -> Amendment:
        """Name each other in the files of both; see `verbs.amend.TakesPlaces`."""
        verbs = self.verbs
        before, old = verbs.open_entry(ref), verbs.open_entry(former)
        if later := verbs.journal.find_successor(old):
            raise already_superseded(old.ref, later)
        entry, filed = self._edit(before, mark_superseding(before.raw, old.ref))
        verbs.filing.file_edited(verbs.docs([verbs.journal.mark_replaced(old.ref, entry.ref)]))
        return _edited(entry, filed)

    def edit_read(self, read: PrivateEntry, text: str) -> Answer:
        """Replace the text of an entry that was read; shows what changed.

        Raises: Invalid, Denied, NotFound, Unavailable; Conflict where it was changed since.
        """
        entry, filed = self._edit(read, text)
        return self.verbs.answer(
            [f"Edited {entry.ref}.", *changed_lines(entry.ref, read.raw, entry.raw)],
            lambda: {**self.verbs.entry_facts(entry), "text": entry.raw, "before": read.raw},
            filed.notes,
        )

    def _edit(
        self, before: PrivateEntry, text: str, expected: str = ""
    ) -> tuple[PrivateEntry, Filed | Pending]:
        """Replace the text of an entry, keep what it was, and file it again."""
        with self.verbs.former.edited(before.ref, before.version, before.raw) as note:
            entry = self.verbs.journal.edit(before.ref, text, expected=expected or before.version)
            note(entry.version)
        return entry, self.verbs.filing.refile(self.verbs.docs([entry]))

    def delete(self, ref: str, *, expected: str = "") -> Amendment:
        """Remove an entry and every trace of its text; see the port."""
        verbs, entry = self.verbs, self.verbs.open_entry(ref)
        if expected in {"", entry.version}:
            verbs.former.drop([entry.ref])
        verbs.journal.delete(entry.ref, expected=expected or None)
        notes = left_notes(verbs.filing.forget([entry.ref]))
        return Amendment(act="deleted", ref=entry.ref, notes=notes)

    def delete_read(self, path: str, *, expected: str = "") -> Answer:
        """The same, as an answer."""
        done = self.delete(path, expected=expected)
        return self.verbs.answer([f"Deleted {done.ref}."], {"ref": done.ref}, done.notes)

    def delete_many(self, versions: Mapping[str, str]) -> list[str]:
        """Delete the entries, by refs, that have these versions; the refs of those.

        Also those of which only our copy is kept, their project not being there. The index is the
        caller's. Raises: Denied, Unavailable; those before are gone.
        """
        journal = self.verbs.journal
        self.verbs.former.drop([*versions])
        gone: list[str] = []
        for ref, version in versions.items():
            try:
                journal.delete(ref, expected=version)
            except Conflict:  # changed at this moment
                continue
            except NotFound:
                kept = journal.find_kept(ref)
                if kept is None or kept.version != version:
                    continue
                journal.forget_copies([ref])
            gone.append(ref)
        return gone

    def supersede(self, ref: str, text: str) -> Amendment:
        """Write an entry of now in the place of another; see the port."""
        verbs, before = self.verbs, self.verbs.open_entry(ref)
        former, written = verbs.journal.supersede(before.ref, _headed(text, before))
        (entry,) = written.entries
        filed = verbs.filing.file(verbs.docs([entry, former]))
        return Amendment(
            act="superseded",
            ref=entry.ref,
            text=entry.raw,
            at=entry.at,
            former=former.ref,
            notes=(*written.notes, *filed.notes),
        )

    def read_inheritance(self, ref: str) -> Inheritance:
        """Its headings; see `core.inherited.HandsOnValues`."""
        entry, successor = self.verbs.open_entry(ref), ""
        if entry.superseded_by:
            with suppress(CommonplaceError):  # its file may name anything
                later = self.verbs.open_entry(entry.superseded_by)
                successor = later.ref if later.supersedes == entry.ref else ""
        return Inheritance(
            ref=entry.ref, successor=successor, values={"headings": _own_headings(entry)}
        )

    def drop_inherited(self, ref: str, values: InheritedValues) -> Amendment:
        """Take headings out of an entry; see `core.inherited.HandsOnValues`."""
        entry = self.verbs.open_entry(ref)
        gone = {*values.get("headings", ())} & {*_own_headings(entry)}
        if not gone:
            return _edited(entry)
        return _edited(*self._edit(entry, without_headings(entry.raw, gone)))


def _edited(entry: PrivateEntry, filed: Filed | Pending | None = None) -> Amendment:
    notes = tuple(filed.notes) if filed else ()
    return Amendment(act="edited", ref=entry.ref, text=entry.raw, at=entry.at, notes=notes)


def _editable(entry: PrivateEntry) -> EditableText:
    return EditableText(
        ref=entry.ref,
        text=entry.raw,
        version=entry.version,
        supersedes=entry.supersedes,
        written=entry.written or entry.at,
        words=entry.text,
    )


def _refuse_other_day(entry: PrivateEntry, at: datetime, zone: tzinfo) -> None:
    """Raises: Invalid where the folder of an entry's day would say too much of another time."""
    day = parse_day(entry.path.parent.name)
    if day is not None and abs((at.astimezone(zone).date() - day).days) > 1:
        raise Invalid(
            f"Invalid at: the file of {entry.ref} lies in the folder of {day}, so it is of that"
            " day, the one before or the one after.",
            hint="Write a new entry at that time, then forget this one.",
        )


def _own_headings(entry: PrivateEntry) -> tuple[str, ...]:
    """The headings that a person wrote; one of a category says nothing of the entry."""
    return tuple(each for each in entry.headings if not is_category(each))


def _headed(text: str, entry: PrivateEntry) -> str:
    """A new text below the one heading that an entry has, unless it brings its own."""
    if not text.strip() or _has_form(text):
        return text
    heading = f"## {entry.headings[0]}\n\n" if len(entry.headings) == 1 else ""
    return heading + text.rstrip("\n") + "\n"


def _with_headings(text: str, entry: PrivateEntry) -> str:
    """A new text below the headings of an entry; several must be in it. Raises: Invalid."""
    new = _headed(text, entry)
    if len(entry.headings) > 1 and new.strip() and not _has_form(new):
        # A search shows a text without its headings: nobody meant to lose them.
        raise Invalid(
            f"{entry.ref} has {len(entry.headings)} headings, and the new text has none.",
            hint="Open it, and give all of it again: each part below its heading, as in"
            " '## Project Notes'.",
        )
    return new


def _has_form(text: str) -> bool:
    """Whether a new text brings headings, or the frontmatter of a whole file."""
    return bool(split_frontmatter(text)[0]) or bool(parse_entry(text).headings)
