"""Converts a notebook in a database into the commits of an export, and such commits into it.

An export of it is as one of the repository that an import of it makes, to the byte. No database
knows when a section was moved: the moves come first.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.core.errors import Conflict
from commonplace.core.files import make_folder
from commonplace.core.import_notes import NOT_NOTED
from commonplace.journals.git.chain import CommitChain
from commonplace.journals.git.portable import check_commit, write_commits
from commonplace.journals.git.repo import init_repository
from commonplace.journals.notebook.format import (
    DEFAULT_AUTHOR,
    JOURNAL,
    CommitMessage,
    NotebookEntry,
    compose_message,
    move_message,
    ref_of,
    render_file,
    rendered_instant,
)
from commonplace.journals.notebook.journal import NotebookJournal
from commonplace.journals.notebook.moving import UnsettledNotebook, read_whole
from commonplace.journals.notebook.names import file_of
from commonplace.journals.notebook.portable import (
    PortableOverview,
    PortableStep,
    commit_of,
    item_of,
    temporary_of,
)
from commonplace.journals.notebook.whole import PastOverview

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.git.portable import WholeCommit
    from commonplace.journals.notebook.shared import SharedNotebook
    from commonplace.journals.notebook.whole import Step, WholeNotebook

_BRANCH = "refs/heads/main"


class PortableSharedNotebook:
    """Exports a notebook from a database, and imports into it. See `core.ports.Portable`.

    Args:
        folder: Where its repository would lie; an import makes one beside it for a while.
    """

    journal = JOURNAL
    item_type: Any = PortableStep

    def __init__(self, notebook: SharedNotebook, folder: Path) -> None:
        self._notebook = notebook
        self._folder = folder

    def is_empty(self) -> bool:
        """See `Portable.is_empty`."""
        return not self._notebook.list_sections()

    def export_items(self, since: datetime | None) -> Iterator[PortableStep]:
        """See `Portable.export_items`; what has expired is left out."""
        refs: dict[str, str] = {}
        for commit, expires in _commits_of(self._notebook.read_whole(), since):
            yield replace(item_of(commit, refs), expires=expires)

    def export_summaries(self, since: datetime | None) -> Iterator[PortableOverview]:
        """The overviews as they are now, by section, each at the time of its newest entry."""
        for each in self._notebook.list_overviews():
            if each.text and (since is None or each.at >= since):
                yield PortableOverview(ref=ref_of(each.section), at=each.at, text=each.text)

    def check_item(self, item: PortableStep) -> None:
        """See `Portable.check_item`."""
        check_commit(commit_of(item))

    def import_items(self, items: Iterator[PortableStep], noting: NotesImport = NOT_NOTED) -> int:
        """See `Portable.import_items`; the notebook is written whole, or not at all.

        Raises: also Conflict for commits that hold more than a database has a place for.
        """
        temporary = temporary_of(self._folder)
        shutil.rmtree(temporary, ignore_errors=True)  # of an import that was killed
        try:
            make_folder(temporary.parent)
            made = init_repository(temporary)
            count = write_commits(made, map(commit_of, items))
            whole = self._read(temporary)
            ids = {entry.id: "" for entry in whole.entries}
            noting.put_planned(ids)
            self._notebook.take_over(whole)
            noting.put_added(ids)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return count

    def _read(self, folder: Path) -> WholeNotebook:
        notebook = NotebookJournal(
            folder,
            ledger=folder / ".git" / "ledger.db",
            owner=self._notebook.owner,
            zone=self._notebook.zone,
            clock=self._notebook.clock,
            auto_gc=False,
        )
        try:
            return replace(read_whole(notebook, notebook.repo), mark="")
        except UnsettledNotebook as exc:
            raise Conflict(
                f"The notebook in {{place}} is not imported: {exc.message}",
                hint="Settle that in a repository of your own, then export it again.",
                place=folder,
            ) from exc
        finally:
            notebook.close()


def _commits_of(
    whole: WholeNotebook, since: datetime | None
) -> Iterator[tuple[WholeCommit, datetime | None]]:
    """The commits of a notebook, oldest first, each with the end of its entry.

    since: only what is of that time or later; the first of these puts all files.
    """
    last: tuple[WholeCommit, datetime | None] | None = None
    for made in _made(whole, since):
        if last is not None:
            yield last
        last = made
    if last is not None:
        yield replace(last[0], branches=[_BRANCH], is_head=True), last[1]


def _made(
    whole: WholeNotebook, since: datetime | None
) -> Iterator[tuple[WholeCommit, datetime | None]]:
    chain, files = CommitChain(), _Files()
    if since is None and whole.steps:
        person = _person(DEFAULT_AUTHOR, whole.steps[0].at)
        for old, new in whole.moves:
            message = compose_message(move_message(old, new))
            yield chain.add(message=message, author=person, files={}), None
    for step, overview in _grouped(whole.steps):
        files.take(step, overview)
        if since is None or step.at >= since:
            yield chain.add(files=files.changed(), **_said(step)), _end_of(step)


def _grouped(steps: Iterable[Step]) -> Iterator[tuple[Step, str | None]]:
    """Each entry with the overview that it came with, and each other overview by itself."""
    waiting: NotebookEntry | None = None
    for step in steps:
        if waiting is not None:
            entry, waiting = waiting, None
            if isinstance(step, PastOverview) and step.entry_id == entry.id:
                yield entry, step.text
                continue
            yield entry, None
        if isinstance(step, PastOverview):
            yield step, step.text
        else:
            waiting = step
    if waiting is not None:
        yield waiting, None


class _Files:
    """The files of sections as they are after each step."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._texts: dict[str, str] = {}
        self._changed: dict[str, None] = {}

    def take(self, step: Step, overview: str | None) -> None:
        """What a step makes of its section's file."""
        section = step.section
        self._counts[section] = self._counts.get(section, 0) + isinstance(step, NotebookEntry)
        if overview is not None:
            self._texts[section] = overview
        self._changed[section] = None

    def changed(self) -> dict[str, str]:
        """The files that changed since this was asked last, by their paths."""
        changed, self._changed = self._changed, {}
        return {
            file_of(x): render_file(self._texts.get(x, ""), self._counts[x]).decode()
            for x in changed
        }


def _said(step: Step) -> dict[str, str]:
    """The message and the author of a step."""
    if isinstance(step, PastOverview):
        said = f"Amend the overview of {step.section}"
        message = CommitMessage(summary=said, text="", section=step.section, verb="overview")
        who = f"{step.author} <{step.address}>" if step.author else DEFAULT_AUTHOR
        return {"message": compose_message(message), "author": _person(who, step.at)}
    message = CommitMessage(
        summary=step.summary,
        text=step.text,
        work_context=step.work_context,
        entry_id=step.id,
        section=step.section,
        supersedes=step.supersedes,
        written=rendered_instant(step.written) if step.written else "",
        expires=rendered_instant(step.expires) if step.expires else "",
    )
    who = f"{step.author} <{step.address}>"
    return {"message": compose_message(message), "author": _person(who, step.at)}


def _end_of(step: Step) -> datetime | None:
    return step.expires if isinstance(step, NotebookEntry) else None


def _person(who: str, at: datetime) -> str:
    """Somebody at a time, as git writes it."""
    return f"{who} {max(int(at.timestamp()), 0)} +0000"
