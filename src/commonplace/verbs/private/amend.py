"""How an entry of the private journal is corrected by its ref or path, and the index after it.

Never makes a text for a model.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import CommonplaceError, Conflict, Invalid, NotFound
from commonplace.core.inherited import Inheritance
from commonplace.core.values import Amendment, EditableText
from commonplace.verbs.amend import left_notes

if TYPE_CHECKING:
    from commonplace.core.former_texts import FormerText
    from commonplace.core.inherited import InheritedValues
    from commonplace.journals.private.journal import PrivateEntry
    from commonplace.verbs.private.service import PrivateService


class PrivateAmender(Struct, frozen=True):
    """Corrects private entries, in other projects of the owner too; see `core.ports.AmendsRefs`."""

    service: PrivateService

    def read_text(self, ref: str) -> EditableText:
        """The whole file of an entry; see the port."""
        return _editable(self.service.open_entry(ref))

    def read_kept_text(self, ref: str) -> EditableText:
        """The same, also of a note that only its copy has; see `verbs.amend.KeepsGone`."""
        try:
            return self.read_text(ref)
        except NotFound:
            if (gone := self.service.find_gone(ref)) is None:
                raise
            return _editable(gone)

    def delete_kept(self, ref: str, *, expected: str = "") -> Amendment:
        """Remove every trace of a note that only its copy has; see `verbs.amend.KeepsGone`."""
        gone = self.service.find_gone(ref)
        if gone is None:
            raise NotFound(f"There is no copy of {ref}.")
        if expected not in {"", gone.version}:
            raise Conflict(f"{ref} has changed since it was read.", hint="Read it again.")
        return Amendment(
            act="deleted", ref=ref, notes=left_notes(self.service.forget_copies([gone.ref]))
        )

    def edit(self, ref: str, text: str, *, expected: str = "") -> Amendment:
        """Replace all but the frontmatter, which stays where the text has none; see the port.

        Raises: Invalid too where a text without headings would take the place of several.
        """
        before = self.service.open_entry(ref)
        new = _headed(text, before)
        if len(before.headings) > 1 and new.strip() and not _has_form(new):
            # A search shows a text without its headings: nobody meant to lose them.
            raise Invalid(
                f"{before.ref} has {len(before.headings)} headings, and the new text has none.",
                hint="Open it, and give all of it again: each part below its heading, as in"
                " '## Project Notes'.",
            )
        entry, filed = self.service.edit(before.ref, new, expected=expected or before.version)
        return Amendment(
            act="edited", ref=entry.ref, text=entry.raw, at=entry.at, notes=filed.notes
        )

    def restore(self, former: FormerText, *, expected: str) -> Amendment:
        """Give an entry its former file; see `verbs.undo.RestoresTexts`."""
        entry, filed = self.service.edit(former.ref, former.text, expected=expected)
        return Amendment(
            act="edited", ref=entry.ref, text=entry.raw, at=entry.at, notes=filed.notes
        )

    def delete(self, ref: str, *, expected: str = "") -> Amendment:
        """Remove an entry and every trace of its text; see the port."""
        gone, filed = self.service.delete(ref, expected=expected or None)
        return Amendment(act="deleted", ref=gone, notes=left_notes(filed))

    def supersede(self, ref: str, text: str) -> Amendment:
        """Write an entry of now in the place of another; see the port."""
        before = self.service.open_entry(ref)
        former, done = self.service.supersede(before.ref, _headed(text, before))
        (entry,) = done.entries
        notes = (*done.written.notes, *done.filed.notes)
        return Amendment(
            act="superseded", ref=entry.ref, text=entry.raw, at=entry.at, former=former, notes=notes
        )

    def read_inheritance(self, ref: str) -> Inheritance:
        """Its headings; see `core.inherited.HandsOnValues`."""
        entry = self.service.open_entry(ref)
        return Inheritance(
            ref=entry.ref,
            successor=self._successor(entry),
            values={"headings": _own_headings(entry)},
        )

    def drop_inherited(self, ref: str, values: InheritedValues) -> Amendment:
        """Take headings out of an entry; see `core.inherited.HandsOnValues`."""
        from commonplace.journals.private.format import without_headings

        entry, notes = self.service.open_entry(ref), tuple[str, ...]()
        if gone := {*values.get("headings", ())} & {*_own_headings(entry)}:
            text = without_headings(entry.raw, gone)
            entry, filed = self.service.edit(entry.ref, text, expected=entry.version)
            notes = filed.notes
        return Amendment(act="edited", ref=entry.ref, text=entry.raw, at=entry.at, notes=notes)

    def _successor(self, entry: PrivateEntry) -> str:
        """The ref of the entry that took the place of one; its file may name anything."""
        if entry.superseded_by:
            with suppress(CommonplaceError):
                later = self.service.open_entry(entry.superseded_by)
                if later.supersedes == entry.ref:
                    return later.ref
        return ""


def _editable(entry: PrivateEntry) -> EditableText:
    return EditableText(
        ref=entry.ref,
        text=entry.raw,
        version=entry.version,
        supersedes=entry.supersedes,
        written=entry.written or entry.at,
        words=entry.text,
    )


def _own_headings(entry: PrivateEntry) -> tuple[str, ...]:
    """The headings that a person wrote; one of a category says nothing of the entry."""
    from commonplace.journals.private.format import is_category

    return tuple(each for each in entry.headings if not is_category(each))


def _headed(text: str, entry: PrivateEntry) -> str:
    """A new text below the one heading that an entry has, unless it brings its own."""
    if not text.strip() or _has_form(text):
        return text
    heading = f"## {entry.headings[0]}\n\n" if len(entry.headings) == 1 else ""
    return heading + text.rstrip("\n") + "\n"


def _has_form(text: str) -> bool:
    """Whether a new text brings headings, or the frontmatter of a whole file."""
    from commonplace.journals.private.format import parse_entry
    from commonplace.journals.private.markdown import split_frontmatter

    return bool(split_frontmatter(text)[0]) or bool(parse_entry(text).headings)
