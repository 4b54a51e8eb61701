"""How an entry of the timeline is corrected by its ref, and its rollups and the index after it.

Each verb once: for the port of any journal, and for the commands of people. A rollup is never
corrected, it follows what it is made from.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commonplace.core.clock import render_instant
from commonplace.core.errors import Unavailable
from commonplace.core.fence import visible_line
from commonplace.core.former_texts import FormerEntry, correct_latest
from commonplace.core.inherited import Inheritance
from commonplace.core.text import counted
from commonplace.core.values import Amendment, Answer, EditableText
from commonplace.journals.timeline.entry import (
    SUPERSEDES,
    author_of,
    id_of,
    names_of,
    ref_of,
    version_of,
)
from commonplace.verbs.amend import names_in
from commonplace.verbs.answers import answer_of
from commonplace.verbs.timeline.service import RecordedEntry
from commonplace.verbs.times import read_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from commonplace.core.former_texts import FormerText
    from commonplace.core.inherited import InheritedValues
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.journal import Deleted
    from commonplace.verbs.amend import EntryFields
    from commonplace.verbs.timeline.service import TimelineService

_AFTER_DELETING_S = 5.0

_OURS = frozenset({SUPERSEDES, "pinned"})
"""What metadata say of an entry's place, and of how long it is kept."""


class TimelineAmender(Struct, frozen=True):
    """Corrects entries of the timeline; see `core.ports.AmendsRefs`."""

    service: TimelineService

    def read_text(self, ref: str) -> EditableText:
        """The content of an entry; see the port."""
        entry = self.service.journal.read(id_of(ref))
        return EditableText(
            ref=entry.ref,
            text=entry.content,
            version=version_of(entry),
            verbs=() if entry.level else ("edit", "supersede", "delete"),
            supersedes=entry.supersedes,
            written=entry.created,
            author=author_of(entry.metadata, self.service.journal.owner),
        )

    def edit(self, ref: str, text: str, *, expected: str = "") -> Amendment:
        """Change the content; see the port."""
        return _edited(self.update(id_of(ref), content=text, expected=expected))

    def read_fields(self, ref: str) -> EntryFields:
        """Its time, tags and projects; see `verbs.amend.EditsFields`."""
        entry = self.service.journal.read(id_of(ref))
        return {
            "at": render_instant(entry.at, self.service.zone),
            "tags": ", ".join(names_of(entry.metadata, "tags")),
            "projects": ", ".join(names_of(entry.metadata, "projects")),
        }

    def edit_fields(
        self, ref: str, text: str, fields: EntryFields, *, expected: str = ""
    ) -> Amendment:
        """Change the content and these of them; see `verbs.amend.EditsFields`."""
        entry = self.service.journal.read(id_of(ref))
        return _edited(
            self.update(
                entry.id,
                content=text,
                at=read_at(self.service, fields.get("at", "")),
                metadata=_metadata_with(entry, fields),
                expected=expected or version_of(entry),
            )
        )

    def restore(self, former: FormerText, *, expected: str) -> Amendment:
        """Give an entry what it had, metadata and time too; see `verbs.amend.RestoresTexts`."""
        assert isinstance(former.more, FormerEntry)
        return _edited(
            self.update(
                id_of(former.ref),
                content=former.text,
                metadata=former.more.metadata,
                at=former.more.at,
                expected=expected,
            )
        )

    def update(
        self,
        entry_id: str,
        *,
        content: str | None = None,
        at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        expected: str = "",
    ) -> RecordedEntry:
        """Alter an entry, then file it, and its summaries; see `TimelineJournal.update`."""
        service = self.service

        def updated() -> TimelineEntry:
            before = service.journal.read(entry_id)
            version = version_of(before)
            more = FormerEntry(metadata=before.metadata, at=before.at)
            with service.former.edited(before.ref, version, before.content, more) as note:
                entry = service.journal.update(
                    entry_id,
                    content=content,
                    at=at,
                    metadata=metadata,
                    expected=expected or version,
                )
                note(version_of(entry))
            return entry

        entry = correct_latest(expected, updated)
        notes = service.filing().file_edited(service.journal.docs([entry])).notes
        # Its summaries quote what it said before, and a search would find that there.
        if service.keep_up():
            service.filing().refresh(1.0)
        return RecordedEntry(entry=entry, is_new=False, notes=notes)

    def delete(self, ref: str, *, expected: str = "") -> Amendment:
        """Delete an entry, and its text from the rollups that it went into; see the port."""
        _, notes = self._delete(id_of(ref), expected=expected)
        return Amendment(act="deleted", ref=ref_of(id_of(ref)), notes=notes)

    def find_deletable(self, ref: str) -> TimelineEntry | None:
        """The entry under a ref or an id; None for one that is gone, which summaries may quote.

        Raises: NotFound where there never was one; Invalid, Unavailable.
        """
        journal = self.service.journal
        entry_id = id_of(ref.strip())
        return None if journal.is_gone(entry_id) else journal.read(entry_id)

    def delete_entry(self, ref: str) -> Answer:
        """Delete an entry for good, and its text from every rollup, index and vector.

        With notes on what is not done yet. Raises: Invalid, NotFound, Unavailable.
        """
        deleted, notes = self._delete(id_of(ref.strip()))
        rollups = counted(deleted.rollups, "summary", "summaries")
        shown = visible_line(deleted.refs[0])
        facts = {"ref": shown, "refs": list(deleted.refs), "rollups": deleted.rollups}
        return answer_of([f"Deleted {shown}, and its text from {rollups}."], facts, notes)

    def _delete(self, entry_id: str, *, expected: str = "") -> tuple[Deleted, tuple[str, ...]]:
        """The rollups it went into are made again from what is left; with notes on the rest."""
        from commonplace.search.filing.port import Pending

        service = self.service
        if not expected or version_of(service.journal.read(entry_id)) == expected:
            service.former.drop([ref_of(entry_id)])
        deleted = service.journal.delete(entry_id, expected=expected)
        filed = service.filing().forget(deleted.refs)
        notes = (f"Still in the index: {filed.why}",) if isinstance(filed, Pending) else ()
        # What is not made again by then is empty until it is: nothing of the text is shown.
        service.rollups.catch_up(within_s=_AFTER_DELETING_S)
        return deleted, (*notes, *service.filing().refresh(1.0))

    def delete_many(self, versions: Mapping[str, str]) -> list[str]:
        """Delete the entries, by refs, that have these versions; the refs of those.

        The index is the caller's, and then `finish_deleting`. Raises: Unavailable.
        """
        by_id = {ref.partition(":")[2]: version for ref, version in versions.items()}
        self.service.former.drop([*versions])
        deleted = self.service.journal.delete_many(by_id)
        rollups = [ref for ref in deleted.refs if ref not in versions]
        self.service.filing().forget(rollups)
        return [ref for ref in deleted.refs if ref in versions]

    def finish_deleting(self) -> tuple[str, ...]:
        """Erase what was deleted from the file, and make its rollups again; notes on what is left.

        Never raises: what is not done is done at the next start.
        """
        notes: tuple[str, ...] = ()
        try:
            self.service.journal.erase_deleted()
        except Unavailable as exc:
            notes = (exc.summary,)
        self.service.rollups.catch_up(within_s=_AFTER_DELETING_S)
        return notes

    def supersede(self, ref: str, text: str) -> Amendment:
        """Record an entry of the same time in the place of another; see the port."""
        return self.supersede_fields(ref, text, {})

    def supersede_fields(self, ref: str, text: str, fields: EntryFields) -> Amendment:
        """Supersede an entry, with time, tags and projects given; see `SupersedesFields`."""
        entry = self.service.journal.read(id_of(ref))
        done = self.service.supersede(
            entry.id,
            text,
            at=read_at(self.service, fields.get("at", "")),
            metadata=_metadata_with(entry, fields),
        )
        return Amendment(
            act="superseded",
            ref=done.entry.ref,
            text=done.entry.content,
            at=done.entry.at,
            former=done.entry.supersedes,
            notes=done.notes,
        )

    def read_inheritance(self, ref: str) -> Inheritance:
        """Its metadata; see `core.inherited.HandsOnValues`."""
        entry = self.service.journal.read(id_of(ref))
        return Inheritance(
            ref=entry.ref,
            successor=self.service.journal.find_successor(entry),
            values={"metadata": tuple(_handed_on(entry))},
        )

    def drop_inherited(self, ref: str, values: InheritedValues) -> Amendment:
        """Take metadata out of an entry; see `core.inherited.HandsOnValues`."""
        entry, gone = self.service.journal.read(id_of(ref)), values.get("metadata", ())
        kept: dict[str, Any] = {}
        for name, value in entry.metadata.items():
            if name in _OURS or not isinstance(value, list):
                if name in _OURS or _shown(name, value) not in gone:
                    kept[name] = value
            elif (left := [x for x in value if _shown(name, x) not in gone]) or not value:
                kept[name] = left
        notes: tuple[str, ...] = ()
        if kept != entry.metadata:
            done = self.update(entry.id, metadata=kept, expected=version_of(entry))
            entry, notes = done.entry, done.notes
        return Amendment(act="edited", ref=entry.ref, text=entry.content, at=entry.at, notes=notes)


def _metadata_with(entry: TimelineEntry, fields: EntryFields) -> dict[str, Any] | None:
    """The metadata of an entry with the names that a form has in their place; None where as now."""
    named = {x: names_in(y) for x, y in fields.items() if x in ("tags", "projects")}
    if not named:
        return None
    metadata = {x: y for x, y in entry.metadata.items() if x not in named}
    return metadata | {name: names for name, names in named.items() if names}


def _handed_on(entry: TimelineEntry) -> Iterator[str]:
    """The metadata of an entry as people read them, of a list each thing by itself."""
    for name, value in entry.metadata.items():
        if name not in _OURS:
            for each in value if isinstance(value, list) else [value]:
                yield _shown(name, each)


def _shown(name: str, value: object) -> str:
    return f"{name}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


def _edited(done: RecordedEntry) -> Amendment:
    return Amendment(
        act="edited",
        ref=done.entry.ref,
        text=done.entry.content,
        at=done.entry.at,
        notes=done.notes,
    )
