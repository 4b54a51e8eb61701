"""How a record of memory is corrected by its ref, and the index after it.

Never makes a text for a model. A message is never altered, so a new one takes its place; the
preferences are one record of names and values, and no text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commonplace.core.clock import render_instant
from commonplace.core.former_texts import FormerRecord
from commonplace.core.inherited import Inheritance
from commonplace.core.values import Amendment, EditableText
from commonplace.journals.memory.entry import (
    inherited,
    parse_ref,
    refuse_other_version,
    version_of,
)
from commonplace.journals.memory.records import (
    ChatMessage,
    JournalEntry,
    Preferences,
    Record,
    RecordDraft,
    Todo,
    former_ref_of,
    ref_of,
)
from commonplace.verbs.times import read_at

if TYPE_CHECKING:
    from commonplace.core.former_texts import FormerText
    from commonplace.core.inherited import InheritedValues
    from commonplace.core.values import AmendVerb
    from commonplace.verbs.amend import EntryFields
    from commonplace.verbs.memory.service import MemoryService

_IS_KEPT = "A message is never altered: the new text is a message of its own."


class MemoryAmender(Struct, frozen=True):
    """Corrects records of a user's memory; see `core.ports.AmendsRefs`."""

    service: MemoryService

    def read_text(self, ref: str) -> EditableText:
        """What `edit` replaces of a record: a title, a body or a text. See the port."""
        record = self._read(ref)
        text = record.body if isinstance(record, JournalEntry) else record.text
        return EditableText(
            ref=record.ref,
            text=text,
            version=version_of(record),
            verbs=_verbs(record),
            supersedes=former_ref_of(record),
            written=record.written or record.at,
        )

    def edit(self, ref: str, text: str, *, expected: str = "") -> Amendment:
        """Change a title, a body or a text; supersede a message. See the port."""
        record = self._read(ref, expected)
        if isinstance(record, ChatMessage):
            made = self.supersede(ref, text)
            return Amendment(
                act="superseded",
                ref=made.ref,
                text=made.text,
                at=made.at,
                former=made.former,
                notes=(_IS_KEPT, *made.notes),
            )
        given = _fields(record, text)
        draft = RecordDraft(kind=record.kind, fields=given, ref_id=record.id, expected=expected)
        return self._save_over(record, draft)

    def read_fields(self, ref: str) -> EntryFields:
        """Its time, whether a to-do is done, a title; see `verbs.amend.EditsFields`."""
        record = self._read(ref)
        at = render_instant(record.at, self.service.zone)
        match record:
            case ChatMessage() | Preferences():
                return {}
            case JournalEntry():
                return {"title": record.title, "at": at}
            case Todo():
                return {"done": "yes" if record.done else "", "at": at}
        return {"at": at}

    def edit_fields(
        self, ref: str, text: str, fields: EntryFields, *, expected: str = ""
    ) -> Amendment:
        """Change the text and these of them; see `verbs.amend.EditsFields`."""
        record = self._read(ref, expected)
        draft = RecordDraft(
            kind=record.kind,
            fields=_given(record, text, fields),
            ref_id=record.id,
            at=read_at(self.service, fields.get("at", "")),
            expected=expected,
        )
        return self._save_over(record, draft)

    def restore(self, former: FormerText, *, expected: str) -> Amendment:
        """Give a record its former fields; see `verbs.amend.RestoresTexts`."""
        record = self._read(former.ref, expected)
        assert isinstance(former.more, FormerRecord)
        fields = dict(former.more.fields)
        if isinstance(record, Preferences):  # a save adds flags; None removes one
            fields["flags"] = {**dict.fromkeys(record.flags), **fields["flags"]}
        draft = RecordDraft(
            kind=record.kind,
            fields=fields,
            ref_id=record.id,
            at=former.more.at,
            expected=expected,
        )
        return self._save_over(record, draft)

    def delete(self, ref: str, *, expected: str = "") -> Amendment:
        """Delete a record for good, every byte of it; see the port."""
        kind, ref_id = parse_ref(ref)
        notes = self.service.delete(kind, ref_id, expected=expected)
        return Amendment(act="deleted", ref=ref_of(kind, ref_id), notes=notes)

    def supersede(self, ref: str, text: str) -> Amendment:
        """Keep a record of the same kind and time in the place of another; see the port."""
        return self.supersede_fields(ref, text, {})

    def supersede_fields(self, ref: str, text: str, fields: EntryFields) -> Amendment:
        """Supersede an entry, with time, title or tick given; see `SupersedesFields`."""
        old = self._read(ref)
        at = read_at(self.service, fields.get("at", "")) or old.at
        given = _given(old, text, fields)
        draft = RecordDraft(kind=old.kind, fields=given, at=at, supersedes=old.id)
        done = self.service.save(draft)
        new = done.saved.record
        assert new is not None  # else it raised
        return Amendment(
            act="superseded",
            ref=new.ref,
            text=new.text,
            at=new.at,
            former=old.ref,
            notes=done.notes,
        )

    def read_inheritance(self, ref: str) -> Inheritance:
        """The title of an entry of the journal; see `core.inherited.HandsOnValues`."""
        record = self._read(ref)
        later = self.service.store.find_successor(record.kind, record.id)
        title = record.title if isinstance(record, JournalEntry) and record.body.strip() else ""
        return Inheritance(
            ref=record.ref,
            successor=later.ref if later else "",
            values={"title": (title,)} if title.strip() else {},
        )

    def drop_inherited(self, ref: str, values: InheritedValues) -> Amendment:
        """Take the title off an entry of the journal; see `core.inherited.HandsOnValues`."""
        record = self._read(ref)
        if not (isinstance(record, JournalEntry) and record.title in values.get("title", ())):
            return Amendment(act="edited", ref=record.ref, text=record.text, at=record.at)
        draft = RecordDraft(
            kind=record.kind, fields={"title": ""}, ref_id=record.id, expected=version_of(record)
        )
        return self._save_over(record, draft)

    def _save_over(self, record: Record, draft: RecordDraft) -> Amendment:
        done = self.service.save(draft)
        after = done.saved.record
        assert after is not None  # what was altered is there
        return Amendment(
            act="edited",
            ref=after.ref,
            text=after.text,
            at=after.at,
            before=record.text,
            notes=done.notes,
        )

    def _read(self, ref: str, expected: str = "") -> Record:
        kind, ref_id = parse_ref(ref)
        record = self.service.find(kind, ref_id)
        if expected:
            refuse_other_version(record, expected)
        return record


def _verbs(record: Record) -> tuple[AmendVerb, ...]:
    match record:
        case ChatMessage():
            return "supersede", "delete"
        case Preferences():
            return ("delete",)
    return "edit", "supersede", "delete"


def _given(record: Record, text: str, fields: EntryFields) -> dict[str, Any]:
    """The new text, and those of the fields that a form has."""
    given: dict[str, Any] = _fields(record, text)
    if "title" in fields:
        given["title"] = fields["title"]
    if "done" in fields:
        given["done"] = fields["done"] == "yes"
    return given


def _fields(record: Record, text: str) -> dict[str, str]:
    """The new text, under the field in which a kind has it. Raises: Invalid for preferences."""
    match record:
        case JournalEntry():
            # A title is shown above its body, so a text that was read may come back with it.
            above = f"{record.title}\n\n"
            was_there = not record.title or record.body.startswith(above)
            return {"body": text if was_there else text.removeprefix(above)}
        case Todo():
            return {"title": text}
        case Preferences():
            inherited(record)
    return {"text": text}
