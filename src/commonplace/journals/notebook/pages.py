"""Owns how a ref of the notebook is opened: an overview, or an entry with those around it.

Never writes, and never answers from anything but the notebook's local branches.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError, Denied, NotFound
from commonplace.core.text import opening
from commonplace.core.values import EntryPreview, Page
from commonplace.journals.notebook.format import ENTRY, JOURNAL, OVERVIEW, branch_tags, ref_of
from commonplace.journals.notebook.names import SectionAddress, file_of, find_section, parse_address

if TYPE_CHECKING:
    from datetime import datetime

    from commonplace.core.values import Replacement
    from commonplace.journals.notebook.journal import NotebookJournal
    from commonplace.journals.notebook.sections import Backlinks, EntryLine
    from commonplace.journals.notebook.shared import SharedNotebook


class NotebookPages:
    """Opens the notebook's refs; see `core.ports.OpensRefs`."""

    journal = JOURNAL
    kinds = (ENTRY, OVERVIEW)
    ref_form = f"{JOURNAL}:<section>#<entry id>"

    def __init__(self, notebook: NotebookJournal | SharedNotebook) -> None:
        self._notebook = notebook

    def place_of(self, scope: str) -> str:
        """The section's file; empty where there is no notebook, or a database keeps it."""
        with suppress(CommonplaceError):
            if (in_git := self._notebook.in_git) is not None:
                return str(in_git.repo.folder / file_of(scope))
        return ""

    def read_ref(self, ref: str) -> Page:
        """The overview or the entry under a ref; a hash is taken for its entry id; see the port."""
        address = parse_address(ref)
        return self._entry(address) if address.entry else self._overview(address.section)

    def read_path(self, path: str) -> Page:
        """The overview of the section whose file this is; see the port `OpensPaths`.

        The text is the branch's: no file is read.
        """
        in_git, shown = self._notebook.in_git, repr(opening(path, 200))
        if in_git is None:
            raise NotFound(f"{shown} is no file of the notebook.", hint="Go by the section's name.")
        folder = in_git.repo.folder
        if not PurePath(path).is_relative_to(folder):
            raise Denied(f"{shown} lies outside the notebook.")
        section = find_section(PurePath(path).relative_to(folder).as_posix())
        if section is None:
            raise NotFound(f"{shown} is not the file of a section.")
        return self._overview(section)

    def replaced_since(
        self, ref: str, *, before: datetime | None = None
    ) -> tuple[Replacement, ...]:
        """What was replaced since an overview was written; see `core.ports.SumsUpEntries`."""
        if "#" in ref:
            return ()
        return self._notebook.list_replaced_since(parse_address(ref).section, before=before)

    def _entry(self, address: SectionAddress) -> Page:
        entry = self._notebook.read_entry(address)
        before, after = self._notebook.find_around(entry)
        successor = self._notebook.find_successor(entry.id)
        former = self._notebook.find_former(entry.supersedes)
        if entry.branches and (in_git := self._notebook.in_git) is not None:
            successor = in_git.branches.find_successor(entry.id)
        backlinks = self._notebook.list_backlinks(entry.section, entry)
        return Page(
            ref=entry.ref,
            journal=JOURNAL,
            scope=entry.section,
            kind=ENTRY,
            at=entry.at,
            text=entry.text,
            author=entry.author_name,
            tags=branch_tags(entry.branches),
            before=_neighbour(before),
            after=_neighbour(after),
            supersedes=former.ref if former else "",
            superseded_by=successor.ref if successor else "",
            backlinks=self._previews(backlinks),
            backlink_count=backlinks.count,
        )

    def _overview(self, name: str) -> Page:
        section = self._notebook.read_section(name)
        backlinks = self._notebook.list_backlinks(section.name)
        return Page(
            ref=ref_of(section.name),
            journal=JOURNAL,
            scope=section.name,
            kind=OVERVIEW,
            at=self._notebook.overview_at(section.name),
            text=section.overview,
            author=section.author,
            before=_neighbour(section.last_entry),
            replaced_since=self.replaced_since(ref_of(section.name)),
            backlinks=self._previews(backlinks),
            backlink_count=backlinks.count,
        )

    def _previews(self, backlinks: Backlinks) -> tuple[EntryPreview, ...]:
        return tuple(
            _neighbour(each.line)
            or EntryPreview(
                ref=each.ref,
                at=self._notebook.overview_at(each.section),
                text=f"The overview of {each.section}",
            )
            for each in backlinks.texts
        )


def _neighbour(line: EntryLine | None) -> EntryPreview | None:
    return EntryPreview(ref=line.ref, at=line.at, text=line.summary) if line else None
