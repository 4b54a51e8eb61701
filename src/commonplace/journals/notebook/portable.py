"""Converts a notebook's commits into items of an export, and items into a new repository.

Never changes a notebook that is there, and takes out only one that is as an import made it. Exports
neither uncommitted changes nor remotes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping  # noqa: TC003  a struct reads it at run time
from datetime import datetime  # noqa: TC003  a struct reads it at run time
from itertools import chain
from typing import TYPE_CHECKING, Any

from msgspec import field
from msgspec.structs import replace

from commonplace.core.digest import sha256_hex
from commonplace.core.errors import Conflict
from commonplace.core.files import make_folder, sync_folder, translated
from commonplace.core.import_notes import NOT_NOTED
from commonplace.core.portable import PortableItem
from commonplace.journals.git.history import instant_of
from commonplace.journals.git.portable import (
    FileChange,
    WholeCommit,
    check_commit,
    read_commits,
    write_commits,
)
from commonplace.journals.git.repo import find_repository, init_repository, is_repository
from commonplace.journals.notebook.format import JOURNAL, own_end, parse_message, ref_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.git.repo import GitRepository
    from commonplace.journals.notebook.journal import NotebookJournal

WHOLE = "@"
"""By which an import notes that it made the whole notebook."""

_EXPIRED = "An entry has expired.\n\nCommonplace: expired\n"
"""The message of its commit in an export."""

_FIELDS = WholeCommit.__struct_fields__
_REFS = ("refs/heads", "refs/tags", "refs/stash", "refs/remotes")


class PortableStep(PortableItem, frozen=True, kw_only=True):
    """A commit of the notebook, under the ref of its entry.

    A commit without an entry, or that repeats one, has its hash for a ref: `notebook:@<hash>`.

    Attributes:
        commit: Its hash.
        author: As git writes it: `Name <address> 1763892000 +0100`; `committer` too.
        message: The whole message, with its trailers.
        branches: The branches that end here; where `is_head`, the first is checked out.
        changes: The files that it put or removed.
    """

    commit: str
    author: str
    committer: str
    message: str
    parents: list[str] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    is_head: bool = False
    changes: list[FileChange] = field(default_factory=list)

    def page_text(self) -> str:
        """The text of the entry, or the summary of the commit."""
        said = parse_message(self.message)
        return said.text or said.summary

    def page_facts(self) -> Mapping[str, str]:
        """Its section, its author, and what the work was about."""
        said = parse_message(self.message)
        return {
            "Section": said.section,
            "Author": self.author.rpartition(" <")[0],
            "About": said.work_context,
        }


class PortableOverview(PortableItem, frozen=True, kw_only=True):
    """The overview of a section now; an import makes it from the commits.

    Attributes:
        text: The overview.
    """

    text: str

    def page_text(self) -> str:
        """The overview."""
        return self.text


class PortableNotebook:
    """Exports a notebook, and imports into an empty one. See `core.ports.Portable`.

    Of an entry that has expired the commit is exported, without its message.
    """

    journal = JOURNAL
    item_type: Any = PortableStep

    def __init__(self, notebook: NotebookJournal) -> None:
        self._notebook = notebook
        self._folder = notebook.folder

    def is_empty(self) -> bool:
        """See `Portable.is_empty`; a folder with any file in it is not empty."""
        if not os.path.isdir(self._folder):
            return True
        if not is_repository(self._folder):
            return not os.listdir(self._folder)
        branches = find_repository(self._folder).git.run(["for-each-ref", "refs/heads"]).out
        return not branches and os.listdir(self._folder) == [".git"]

    def export_items(self, since: datetime | None) -> Iterator[PortableStep]:
        """See `Portable.export_items`; parents before children."""
        if not is_repository(self._folder):
            return
        refs: dict[str, str] = {}
        self._notebook.ledger.catch_up()
        for commit in read_commits(find_repository(self._folder), since):
            end = self._end_of(commit)
            if end is not None and end <= self._notebook.clock():
                yield item_of(replace(commit, message=_EXPIRED), refs)
            else:
                yield replace(item_of(commit, refs), expires=end)

    def _end_of(self, commit: WholeCommit) -> datetime | None:
        """When the entry of a commit expires, as the ledger knows it, or the commit itself."""
        ledger, said = self._notebook.ledger, parse_message(commit.message)
        lines = ledger.by_hash(commit.commit) or (said.entry_id and ledger.by_id(said.entry_id))
        return lines[0].expires if lines else own_end(said)

    def export_summaries(self, since: datetime | None) -> Iterator[PortableOverview]:
        """The overviews as they are now, by section, each at the time of its newest entry."""
        if self.is_empty():
            return
        for name in self._notebook.list_sections():
            section = self._notebook.read_section(name)
            at = self._notebook.overview_at(name)
            if section.overview and (since is None or at >= since):
                yield PortableOverview(ref=ref_of(name), at=at, text=section.overview)

    def check_item(self, item: PortableStep) -> None:
        """See `Portable.check_item`."""
        check_commit(commit_of(item))

    def import_items(self, items: Iterator[PortableStep], noting: NotesImport = NOT_NOTED) -> int:
        """See `Portable.import_items`; the notebook is written whole, or not at all."""
        commits = map(commit_of, items)
        first = next(commits, None)
        if first is None:
            return 0
        if not self.is_empty():
            return self._refuse_another(first, commits)
        self._notebook.close()
        temporary = temporary_of(self._folder)
        empty = temporary.with_suffix(".empty")
        for folder in (temporary, empty):  # of an import that was killed
            shutil.rmtree(folder, ignore_errors=True)
        try:
            make_folder(self._folder.parent)
            made = init_repository(temporary)
            count = write_commits(made, chain([first], commits))
            noting.put_planned({WHOLE: _refs_of(made)})
            with translated(self._folder):
                if os.path.isdir(self._folder):
                    # It holds neither a commit nor a file; half of a repository opens as none.
                    os.rename(self._folder, empty)
                os.rename(temporary, self._folder)
                sync_folder(self._folder.parent)
            noting.put_added({WHOLE: _refs_of(find_repository(self._folder))})
        finally:
            for folder in (temporary, empty):
                shutil.rmtree(folder, ignore_errors=True)
        return count

    def _refuse_another(self, first: WholeCommit, others: Iterator[WholeCommit]) -> int:
        """0 where the notebook was already made from these commits. Raises: Conflict if not."""
        made = next(read_commits(find_repository(self._folder)), None)
        if made is None or (made.author, made.message) != (first.author, first.message):
            raise Conflict(
                "There is another notebook in {place} already.",
                hint="Move it away, then import again.",
                place=self._folder,
            )
        for _ in others:  # reading the export to its end checks it
            pass
        return 0


def item_of(commit: WholeCommit, refs: dict[str, str]) -> PortableStep:
    """A commit as an item; refs: of the entries so far, by their ids."""
    said = parse_message(commit.message)
    ref = f"{JOURNAL}:@{commit.commit}"
    if said.section and said.entry_id and said.entry_id not in refs:
        ref = refs[said.entry_id] = ref_of(said.section, said.entry_id)
    former = said.supersedes
    return PortableStep(
        ref=ref,
        at=instant_of(commit.author.rpartition("> ")[2].partition(" ")[0]),
        supersedes=refs.get(former) or ref_of(said.section, former) if former else "",
        **{name: getattr(commit, name) for name in _FIELDS},
    )


def commit_of(item: PortableStep) -> WholeCommit:
    """An item as a commit."""
    return WholeCommit(**{name: getattr(item, name) for name in _FIELDS})


def temporary_of(folder: Path) -> Path:
    """Where a notebook lies that is not there yet, or not any more."""
    return folder.with_name(f"{folder.name}.importing")


def _refs_of(repo: GitRepository) -> str:
    """A hash of where all branches and tags of a repository are; empty for one without any."""
    found = repo.git.run(["for-each-ref", "--format=%(refname) %(objectname)", *_REFS]).out
    return sha256_hex(found) if found else ""


def find_whole(folder: Path) -> str:
    """The hash of the notebook's refs, empty for none; other text where it was written to."""
    if not is_repository(folder):
        return ""
    repo = find_repository(folder)
    refs = _refs_of(repo)
    if not refs:
        return ""
    changes = repo.git.run(["status", "--porcelain", "--ignored"]).out
    return f"{refs} changed" if changes or repo.git.run(["remote"]).out else refs


def take_out(notebook: NotebookJournal) -> None:
    """Move a notebook out of its folder, in one step."""
    notebook.close()
    temporary = temporary_of(notebook.folder)
    shutil.rmtree(temporary, ignore_errors=True)
    with translated(notebook.folder):
        os.rename(notebook.folder, temporary)
        sync_folder(notebook.folder.parent)


def finish_taking_out(notebook: NotebookJournal) -> None:
    """Leave an empty repository in its place, and nothing of it; may be called again."""
    if not is_repository(notebook.folder):
        init_repository(notebook.folder)
    notebook.ledger.clear()
    temporary = temporary_of(notebook.folder)
    with translated(temporary):
        if os.path.isdir(temporary):
            shutil.rmtree(temporary)
