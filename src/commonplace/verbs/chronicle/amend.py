"""How an entry of chronicle is corrected by its ref, and the index kept true after it.

Never makes a text for a model.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import NotFound
from commonplace.core.inherited import Inheritance
from commonplace.core.values import Amendment, EditableText
from commonplace.verbs.amend import left_notes

if TYPE_CHECKING:
    from commonplace.core.former_texts import FormerText
    from commonplace.core.inherited import InheritedValues
    from commonplace.journals.chronicle.event import Event
    from commonplace.search.filing.port import Filed, Pending
    from commonplace.verbs.chronicle.service import ChronicleService


class ChronicleAmender(Struct, frozen=True):
    """Corrects entries of the log; see `core.ports.AmendsRefs`."""

    service: ChronicleService

    def read_text(self, ref: str) -> EditableText:
        """The message of an entry; see the port."""
        event = self.service.chronicle.read_event(ref)
        return EditableText(
            ref=event.ref,
            text=event.message,
            version=event.stamp,
            supersedes=event.supersedes,
            written=event.written or event.at,
        )

    def edit(self, ref: str, text: str, *, expected: str = "") -> Amendment:
        """Change the message; see the port."""
        return _edited(
            *self.service.edit(ref, message=text, tags=None, at="", expected=expected or None)
        )

    def restore(self, former: FormerText, *, expected: str) -> Amendment:
        """Give an entry its former message, tags and time; see `verbs.undo.RestoresTexts`."""
        return _edited(
            *self.service.change(
                self.service.chronicle.read_event(former.ref),
                message=former.text,
                tags=former.more["tags"],
                at=datetime.fromisoformat(former.more["at"]),
                expected=expected,
            )
        )

    def delete(self, ref: str, *, expected: str = "") -> Amendment:
        """Remove an entry; see the port."""
        event, filed, notes = self.service.delete(ref, expected=expected or None)
        return Amendment(act="deleted", ref=event.ref, notes=(*left_notes(filed), *notes))

    def supersede(self, ref: str, text: str) -> Amendment:
        """Log an entry of the same time in the place of another; see the port."""
        former = self.service.chronicle.read_event(ref).ref
        logged = self.service.supersede(former, text)
        return Amendment(
            act="superseded",
            ref=logged.event.ref,
            text=logged.event.message,
            at=logged.event.at,
            former=former,
            notes=logged.notes,
        )

    def read_inheritance(self, ref: str) -> Inheritance:
        """Its tags, and its folder; see `core.inherited.HandsOnValues`."""
        event = self.service.chronicle.read_event(ref)
        later, has_own_folder = self.service.chronicle.find_successor(event), False
        if event.supersedes:
            with suppress(NotFound):
                # One that only corrects another is of its time, and of its folder.
                former = self.service.chronicle.read_event(event.supersedes)
                has_own_folder = former.instant != event.instant
        return Inheritance(
            ref=event.ref,
            successor=later.ref if later else "",
            values=_handed_on(event),
            given=("folder",) if has_own_folder else (),
        )

    def drop_inherited(self, ref: str, values: InheritedValues) -> Amendment:
        """Take tags and the folder out of an entry; see `core.inherited.HandsOnValues`."""
        from commonplace.journals.chronicle.event import UNKNOWN, fold_tag

        event = self.service.chronicle.read_event(ref)
        gone = {fold_tag(x) for x in values.get("tags", ())}
        kept = [tag for tag in event.tags if fold_tag(tag) not in gone]
        drops_folder = event.directory in values.get("folder", ())
        if len(kept) == len(event.tags) and not drops_folder:
            return Amendment(act="edited", ref=event.ref, text=event.message, at=event.at)
        return _edited(
            *self.service.change(
                event,
                message=None,
                tags=kept,
                at=None,
                directory=UNKNOWN if drops_folder else None,
                expected=event.stamp,
            )
        )


def _handed_on(event: Event) -> InheritedValues:
    from commonplace.journals.chronicle.event import UNKNOWN, fold_tag

    values: InheritedValues = {"tags": tuple(fold_tag(x) for x in event.own_tags)}
    if event.directory not in {"", UNKNOWN}:
        values = {**values, "folder": (event.directory,)}
    return values


def _edited(event: Event, filed: Filed | Pending, notes: tuple[str, ...]) -> Amendment:
    return Amendment(
        act="edited",
        ref=event.ref,
        text=event.message,
        at=event.at,
        notes=(*filed.notes, *notes),
    )
