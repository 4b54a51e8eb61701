"""How what was said is corrected by its ref: it can be deleted, and is never altered.

Never makes a text for a model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from msgspec import Struct

from commonplace.core.errors import Invalid, has_changed
from commonplace.core.text import opening, text_hash
from commonplace.core.values import Amendment, EditableText
from commonplace.journals.transcripts.pages import TranscriptPages

if TYPE_CHECKING:
    from commonplace.journals.transcripts.client_memory import ClientMemory
    from commonplace.verbs.transcripts.service import TranscriptService


class TranscriptAmender(Struct, frozen=True):
    """Deletes messages and sessions; see `core.ports.AmendsRefs`."""

    service: TranscriptService
    memory: ClientMemory | None = None

    def read_text(self, ref: str) -> EditableText:
        """What was said; of a session, how it began. See the port."""
        if self.memory is not None and (note := self.memory.find(ref)) is not None:
            text = self.memory.read_ref(ref).text
            return EditableText(ref=ref, text=text, version=note.stamp, verbs=(), file=note.path)
        page = TranscriptPages(self.service.store).read_ref(ref)
        said = "\n".join([page.text, *(x.ref for x in page.sources)])
        return EditableText(
            ref=page.ref, text=page.text, version=text_hash(said), verbs=("delete",)
        )

    def edit(self, ref: str, text: str, *, expected: str = "") -> Amendment:
        """Refused: see the port."""
        _refuse(self.read_text(ref))

    def delete(self, ref: str, *, expected: str = "") -> Amendment:
        """Delete a message, or a whole session; see the port."""
        found = self.read_text(ref)
        if found.file:
            _refuse(found)
        if expected and expected != found.version:
            raise has_changed(found.ref)
        done = self.service.delete(found.ref)
        return Amendment(act="deleted", ref=found.ref, notes=tuple(done.notes or ()))

    def supersede(self, ref: str, text: str) -> Amendment:
        """Refused: see the port."""
        _refuse(self.read_text(ref))


def _refuse(found: EditableText) -> NoReturn:
    if found.file:
        raise Invalid(
            f"{found.ref} lies in the client's own file {{place}}.",
            hint="Edit or delete that file; the next search follows it.",
            place=found.file,
        )
    raise Invalid(
        f"What was said is not altered: {opening(found.ref, 100)}.",
        hint="Delete it, or write what holds now into another journal.",
    )
