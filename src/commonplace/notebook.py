"""An owner's notebook as a library: what is understood now, by section, and how it came about.

Never mixes owners: each has a git repository and an index of their own, and an object is of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.values import Page
from commonplace.journal_library import JournalLibrary
from commonplace.journals.notebook.format import ENTRY, JOURNAL, OVERVIEW
from commonplace.library import check_entry_time
from commonplace.verbs.notebook.service import NotebookService

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from commonplace.app import App
    from commonplace.core.values import Filter, Hit
    from commonplace.journals.notebook.sections import EntryLine, Section, TocNode


class Notebook(JournalLibrary[NotebookService, Page]):
    """The notebook of one owner; see `Library` for how it is opened, and for its verbs.

    Its kinds are `entry` and `overview`. An entry stays as it was written: an edit supersedes it.
    In git it is a commit, and `delete` takes overviews alone; from a database it takes entries too.
    """

    _journal = JOURNAL
    _kinds = (ENTRY, OVERVIEW)

    def save_entry(
        self,
        section: str,
        text: str,
        *,
        overview: str = "",
        summary: str = "",
        work_context: str = "",
        at: datetime | None = None,
        idempotency_key: str = "",
        supersedes: str = "",
        expires: datetime | None = None,
    ) -> str:
        """Add an entry to a section, which is begun if it is not there; its ref.

        section: `project-alpha/api-design`, say; overview: what is understood now, blank leaves it
        as it is, and one that is there is replaced only after `section` has read it; work_context:
        what kind of work it was; summary: the text in a line, blank for its first one. What
        supersedes an entry is of now, whatever `at` says.

        Raises:
            Conflict: The overview is another than the one that was read.
            Invalid, NotFound, Unavailable.
        """
        check_entry_time(at)
        if expires is not None:
            self._refuse_past(expires)
        self._sweep()
        written, _ = self.service.write(
            section,
            text,
            overview=overview,
            summary=summary,
            work_context=work_context,
            at=at,
            key=idempotency_key or None,
            supersedes=supersedes,
            ends=expires,
        )
        return written.entry.ref

    def section(self, name: str) -> Section:
        """A section as it is: its overview, and its newest entry. Raises: Invalid, NotFound."""
        return self.service.read_section(name)

    def sections(self, below: str = "", *, depth: int = 1) -> Sequence[TocNode]:
        """The sections below one, or all; so many levels. Raises: Invalid, NotFound."""
        return self.service.reading().toc(below, depth=depth)

    def entries(self, section: str, *, limit: int = 100) -> Sequence[EntryLine]:
        """The entries of a section, newest first, each in a line. Raises: Invalid, NotFound."""
        return self.service.reading().list_all_entries(section, length=limit)

    def _service_in(self, app: App) -> NotebookService:
        return app.notebook.service()

    def _read(self, service: NotebookService, ref: str) -> Page:
        service.reading()
        return self._app.notebook.pages().read_ref(ref)

    def _newest(self, service: NotebookService, within: Filter, limit: int) -> Sequence[Page]:
        return super()._newest(service, within, limit) if service.notebook.exists else ()

    def _find(
        self, service: NotebookService, query: str, within: Filter, limit: int
    ) -> tuple[Sequence[Hit], Sequence[str]]:
        if not service.notebook.exists:
            return (), ()
        hits, notes = service.find(query, within=within, limit=limit)
        return [hit.as_hit(query) for hit, _, _ in hits], notes
