"""The notebook's verbs for people alone: make it, move, sync and settle, bring in the older JSON.

Never offered to a model and never renders; keeps the index true after each change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.ids import key_id
from commonplace.core.import_notes import NOT_NOTED
from commonplace.core.text import opening
from commonplace.journals.notebook.format import KEYS, TAKEN_BACK
from commonplace.journals.notebook.names import SectionAddress
from commonplace.verbs.notebook.older_json import parse_older_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.notebook.conflicts import OverviewClash
    from commonplace.journals.notebook.journal import Notebook, SectionMoves
    from commonplace.journals.notebook.sync import SyncReport
    from commonplace.verbs.notebook.older_json import OldEntry
    from commonplace.verbs.notebook.service import NotebookService

Progress: TypeAlias = "Callable[[int, int], None] | None"
"""Called with (done, still to do)."""

_FILING_S = 30.0


class ReadyNotebook(Struct, frozen=True, kw_only=True):
    """A notebook that is there. adopted: its repository was there before."""

    folder: Path
    adopted: bool
    sections: int


class SettledOverview(Struct, frozen=True, kw_only=True):
    """A section whose overview was settled. left: the sections that still wait."""

    section: str
    version: str
    left: tuple[str, ...]
    notes: tuple[str, ...]


class JsonImport(Struct, frozen=True, kw_only=True):
    """What an import came to. repeated: entries imported before; notes: what was left out."""

    added: int
    repeated: int
    notes: tuple[str, ...]


class NotebookKeeping:
    """What a person does to a notebook. service: opened at the first call."""

    def __init__(self, service: Callable[[], NotebookService]) -> None:
        self._service = service

    def init(self) -> ReadyNotebook:
        """Make the notebook, or take the repository that is there. Raises: Unavailable, Denied."""
        service = self._service()
        adopted = service.notebook.exists
        folder = service.init()
        sections = len(service.notebook.list_sections())
        return ReadyNotebook(folder=folder, adopted=adopted, sections=sections)

    def move(self, *, old: str, new: str, below: bool = False) -> SectionMoves:
        """Give a section another name, its entries with it; a folder alone goes with all below it.

        below: the sections below it go along.
        Raises: Invalid, NotFound, Conflict, Denied, Unavailable.
        """
        service = self._service()
        moves = service.reading().move(old, new, below=below)
        return moves._replace(notes=(*moves.notes, *service.filing().sweep()))

    def sync(self, *, remote: str, accept_loss: bool = False) -> SyncReport:
        """Bring the notebook and a remote to hold the same.

        Raises: Conflict, Invalid, NotFound, Denied, Unavailable; nothing has changed then.
        """
        from commonplace.journals.notebook.sync import Sync

        service = self._service()
        report = Sync(service.reading(), remote=remote, accept_loss=accept_loss).run()
        waiting = tuple(clash.section for clash in self.conflicts())
        notes = (*report.notes, *service.filing().refresh(_FILING_S))
        return replace(report, conflicts=waiting, notes=notes)

    def conflicts(self) -> list[OverviewClash]:
        """The overviews that a sync could not merge. Raises: NotFound, Unavailable, Denied."""
        from commonplace.journals.notebook.conflicts import Clashes

        return Clashes(self._service().reading()).list_open()

    def clash(self, *, section: str) -> OverviewClash:
        """The oldest overview of a section that waits. Raises: NotFound, Invalid, Unavailable."""
        from commonplace.journals.notebook.conflicts import Clashes

        return Clashes(self._service().reading()).find(section)

    def resolve(self, *, clash: OverviewClash, text: str | None) -> SettledOverview:
        """Put a text in the place of the overview, None to leave it as it is; that one is settled.

        Raises: Conflict where the overview has changed since; Invalid, Denied, Unavailable.
        """
        from commonplace.journals.notebook.conflicts import Clashes

        service = self._service()
        notebook = service.reading()
        notes = Clashes(notebook).settle(clash, text)
        return SettledOverview(
            section=clash.section,
            notes=(*notes, *service.filing().refresh(_FILING_S)),
            left=tuple(each.section for each in self.conflicts()),
            version=notebook.read_section(clash.section).version,
        )

    def import_json(
        self,
        *,
        text: str,
        name: str,
        noting: NotesImport = NOT_NOTED,
        on_progress: Progress = None,
    ) -> JsonImport:
        """Add the entries and overviews of the older JSON file, each once however often it is read.

        An overview takes the place of an empty one alone.

        Args:
            text: What the file holds.
            name: Of the file, for errors.
            noting: Takes the entries that are added.
            on_progress: Called with (done, still to do).

        Raises: Invalid where it is not such a file; Unavailable, Denied, Conflict.
        """
        notebook = self._service().writing()
        found, notes = parse_older_json(text, name)
        added = repeated = 0
        for done, old in enumerate(found):
            if on_progress is not None:
                on_progress(done, len(found) - done)
            try:
                is_new = _import(notebook, old, notes, noting)
            except Invalid as exc:
                notes.append(f"Left out an entry of {opening(old.section, 80)!r}: {exc.message}")
                continue
            added, repeated = added + is_new, repeated + (not is_new)
        if on_progress is not None:
            on_progress(len(found), 0)
        return JsonImport(added=added, repeated=repeated, notes=tuple(notes))


def _import(notebook: Notebook, old: OldEntry, notes: list[str], noting: NotesImport) -> bool:
    """Write one entry; whether it is new. Its overview goes with it where there is none yet.

    One that was taken back is shown again.
    """
    # By what is in the file alone: an import in another clone adds nothing to it.
    entry_id = key_id(KEYS, notebook.owner, old.key)
    notebook.ledger.catch_up()
    line = next(iter(notebook.ledger.by_id(entry_id)), None)
    if line is not None and line.expires != TAKEN_BACK:
        return False
    section = old.section if line is None else line.section
    overview, base = None, None
    if old.overview.strip():
        try:
            there = notebook.read_section(section)
        except CommonplaceError:
            there = None
        if there is None or not there.overview.strip():
            overview, base = old.overview, there.version if there else None
        elif there.overview.strip() != old.overview.strip():
            notes.append(f"{section} has an overview already, and keeps it.")
    noting.put_planned({entry_id: ""})
    if line is None:
        written = notebook.write(
            old.section,
            old.text,
            overview=overview,
            work_context=old.work_context or None,
            base_version=base,
            entry_id=entry_id,
            at=old.at,
        )
        is_new = not written.repeated
    else:
        notebook.bring_back(
            SectionAddress(section, entry_id), overview=overview, base_version=base or ""
        )
        is_new = True
    noting.put_added({entry_id: ""} if is_new else {})
    return is_new
