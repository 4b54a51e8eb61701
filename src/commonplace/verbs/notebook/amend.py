"""How an entry or an overview of the notebook is corrected by its ref, and the index after it.

Never rewrites the history: what was understood before stays in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import Denied, Invalid, has_changed
from commonplace.core.inherited import Inheritance
from commonplace.core.text import text_hash
from commonplace.core.values import Amendment, EditableText, Put
from commonplace.journals.notebook.format import ref_of
from commonplace.journals.notebook.names import parse_address
from commonplace.journals.notebook.sections import no_entry
from commonplace.journals.notebook.shared import SharedNotebook
from commonplace.verbs.amend import left_notes
from commonplace.verbs.answers import written_over_notes

if TYPE_CHECKING:
    from commonplace.core.former_texts import FormerText
    from commonplace.core.inherited import InheritedValues
    from commonplace.journals.notebook.names import SectionAddress
    from commonplace.journals.notebook.sections import Section
    from commonplace.verbs.notebook.service import NotebookService

_STAYS = "An entry of the notebook stays as it was written: the new text is an entry of its own."
_IS_KEPT = "An entry of the notebook is a commit and stays: the new text is an entry of its own."


class NotebookAmender(Struct, frozen=True):
    """Corrects entries and overviews; see `core.ports.AmendsRefs`."""

    service: NotebookService

    def read_text(self, ref: str) -> EditableText:
        """The text of an entry, or an overview; see the port."""
        address = parse_address(ref)
        notebook = self.service.reading()
        if not address.entry:
            section = notebook.read_section(address.section)
            return EditableText(
                ref=ref_of(section.name),
                text=section.overview,
                version=section.version,
                verbs=("edit", "delete"),
            )
        notebook.read_entry(address)  # raises where it has expired
        kept = self.read_kept_text(ref)
        return replace(kept, verbs=("supersede", *kept.verbs))

    def read_kept_text(self, ref: str) -> EditableText:
        """The same, also of an entry that has expired; see `core.ports.KeepsExpired`."""
        address = parse_address(ref)
        if not address.entry:
            return self.read_text(ref)
        notebook = self.service.reading()
        entry = notebook.read_kept_entry(address)
        former = notebook.find_former(entry.supersedes)
        return EditableText(
            ref=entry.ref,
            text=entry.text,
            version=text_hash(entry.text),
            verbs=("delete",) if self.service.is_shared else (),
            supersedes=former.ref if former else "",
            written=entry.written or entry.at,
            has_expired=entry.expires is not None and entry.expires <= self.service.clock(),
        )

    def edit(self, ref: str, text: str, *, expected: str = "") -> Amendment:
        """Replace an overview, which the history keeps; supersede an entry. See the port."""
        address = parse_address(ref)
        before = self.read_text(ref)
        if not address.entry:
            if not text.strip():
                raise Invalid("The new text is empty.", hint="Delete the overview instead.")
            with self.service.former.edited(before.ref, before.version, before.text) as note:
                done = self._put_overview(address, text, expected or before.version)
                note(self.read_text(ref).version)
            return done
        if expected and before.version != expected:
            raise has_changed(before.ref)
        made = self.supersede(ref, text)
        return replace(made, notes=(_STAYS if self.service.is_shared else _IS_KEPT, *made.notes))

    def restore(self, former: FormerText, *, expected: str) -> Amendment:
        """Give an overview its former text; see `verbs.amend.RestoresTexts`."""
        if former.text.strip():
            return self.edit(former.ref, former.text, expected=expected)
        return self.delete(former.ref, expected=expected)

    def delete(self, ref: str, *, expected: str = "") -> Amendment:
        """Leave a section without an overview; see the port.

        Raises: Denied for an entry in git.
        """
        address = parse_address(ref)
        notebook = self.service.notebook
        if address.entry and isinstance(notebook, SharedNotebook):
            return self._delete_entry(notebook, address, expected)
        before = self.read_text(ref)
        if address.entry:
            raise Denied(
                f"{before.ref} is a commit of the notebook, and stays in its history.",
                hint="Supersede it with a text that says what holds. Only a person can remove it:"
                f" `commonplace forget {before.ref} --rewrite-history`.",
            )
        if expected in {"", before.version}:
            self.service.former.drop([before.ref])
        return self._put_overview(address, "", expected or before.version)

    def _delete_entry(
        self, notebook: SharedNotebook, address: SectionAddress, expected: str
    ) -> Amendment:
        """Delete an entry that a database keeps, also one that has expired."""
        entry = notebook.read_kept_entry(address)
        if expected not in {"", text_hash(entry.text)}:
            raise has_changed(entry.ref)
        if not notebook.forget([address]):  # another who deletes it was faster
            raise no_entry(address)
        notes = left_notes(self.service.filing().forget([entry.ref]))
        return Amendment(act="deleted", ref=entry.ref, notes=notes)

    def take_back(self, ref: str, *, expected: str = "") -> Amendment:
        """Show an entry no more, and put back the overview that it replaced.

        See `verbs.amend.TakesBack`.
        """
        address = parse_address(ref)
        if not address.entry:
            return self.delete(ref, expected=expected)
        before = self.read_text(ref)
        if expected not in {"", before.version}:
            raise has_changed(before.ref)
        notebook = self.service.reading()
        entry, is_put_back = notebook.take_back(address)
        notes = left_notes(self.service.filing().forget([entry.ref]))
        if is_put_back:
            filed = self._filed(notebook.read_section(entry.section))
            notes += (f"The overview of {entry.section} is what it was before.", *filed)
        kept = (
            "Git's history keeps its text; only a person can remove it there:"
            f" `commonplace forget {entry.ref} --rewrite-history`."
        )
        if self.service.is_shared:
            kept = (
                f"Its text is kept, and shown no more: `commonplace forget {entry.ref}` erases it."
            )
        return Amendment(act="deleted", ref=entry.ref, notes=(kept, *notes))

    def _filed(self, section: Section) -> tuple[str, ...]:
        """File an overview as it is now; notes on what is not done yet."""
        from commonplace.journals.notebook.source import overview_doc

        if not section.overview.strip():
            return left_notes(self.service.filing().forget([ref_of(section.name)]))
        in_git = self.service.notebook.in_git
        if in_git is None:
            return tuple(self.service.filing().file([]).notes)
        doc = overview_doc(in_git, section.name, section.overview)
        return tuple(self.service.filing().file([Put(doc)]).notes)

    def supersede(self, ref: str, text: str) -> Amendment:
        """Add an entry in the place of another of its section; see the port."""
        address = parse_address(ref)
        if not address.entry:
            raise Invalid(
                f"{self.read_text(ref).ref} is an overview: its history keeps what it was.",
                hint="Give the new text alone.",
            )
        notebook = self.service.reading()
        former = notebook.read_entry(address)
        written = notebook.supersede(address, text, expires=former.expires)
        return Amendment(
            act="superseded",
            ref=written.entry.ref,
            text=written.entry.text,
            at=written.entry.at,
            former=former.ref,
            notes=(*written.notes, *self.service.file(written)),
        )

    def read_inheritance(self, ref: str) -> Inheritance:
        """Its work context; an overview hands on nothing. See `core.inherited.HandsOnValues`."""
        address = parse_address(ref)
        notebook = self.service.reading()
        if not address.entry:
            return Inheritance(ref=ref_of(address.section), successor="", values={})
        entry = notebook.read_kept_entry(address)
        later = notebook.find_successor(entry.id)
        return Inheritance(
            ref=entry.ref,
            successor=later.ref if later else "",
            values={"context": (entry.work_context,)} if entry.work_context else {},
        )

    def drop_inherited(self, ref: str, values: InheritedValues) -> Amendment:
        """Take its work context out of an entry that a database keeps; see the port.

        Raises: Denied for a commit, which stays as it is until the history is rewritten.
        """
        notebook, address = self.service.notebook, parse_address(ref)
        if isinstance(notebook, SharedNotebook) and address.entry:
            if "context" in values:
                notebook.drop_context(address)
            return Amendment(act="edited", ref=ref)
        raise Denied(
            f"{ref} is a commit of the notebook, and stays as it is.",
            hint="Only `commonplace forget --rewrite-history` takes something out of it.",
        )

    def _put_overview(self, address: SectionAddress, text: str, base_version: str) -> Amendment:
        notebook = self.service.reading()
        replaced = notebook.list_replaced_since(address.section)
        section, notes = notebook.replace_overview(address.section, text, base_version=base_version)
        notes = (*notes, *self._filed(section))
        ref = ref_of(section.name)
        if not section.overview.strip():
            return Amendment(act="deleted", ref=ref, notes=notes)
        at = notebook.overview_at(section.name)
        notes += written_over_notes(replaced, self.service.zone)
        return Amendment(act="edited", ref=ref, text=section.overview, at=at, notes=notes)
