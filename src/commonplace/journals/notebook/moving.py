"""Owns how a notebook moves from a git repository into the database that takes its place.

Never removes a repository that was not read back, or that holds what a database has no place for.
"""

from __future__ import annotations

import shutil
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import Conflict, Unavailable
from commonplace.core.expiring import revealed
from commonplace.core.files import may_exist
from commonplace.core.text import opening
from commonplace.journals.git.history import read_history
from commonplace.journals.git.repo import is_repository
from commonplace.journals.git.trees import compare_trees
from commonplace.journals.notebook.conflicts import Clashes
from commonplace.journals.notebook.format import (
    entries_of,
    move_of,
    parse_file,
    parse_message,
    set_end_of,
    written_of,
)
from commonplace.journals.notebook.names import find_section
from commonplace.journals.notebook.portable import take_out, temporary_of
from commonplace.journals.notebook.whole import PastOverview, WholeNotebook
from commonplace.journals.notebook.work_tree import WorkTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from commonplace.journals.git.history import Commit
    from commonplace.journals.git.repo import GitRepository
    from commonplace.journals.notebook.format import NotebookEntry
    from commonplace.journals.notebook.journal import NotebookJournal
    from commonplace.journals.notebook.ports import ReceivesNotebook
    from commonplace.journals.notebook.whole import Step

_AT_ONCE = 200


class UnsettledNotebook(Conflict):
    """A repository holds what a database has no place for.

    The message says what it is, to stand behind a colon; the hint how to settle it, without a full
    stop.
    """


def move_notebook(
    notebook: NotebookJournal,
    there: ReceivesNotebook,
    *,
    unfile: Callable[[], object],
) -> None:
    """Move all of a notebook into the storage that takes its place.

    May be called again, by several processes too: an entry that is there stays as it is there, and
    one that was deleted there does not come back.

    unfile: takes it out of what followed the repository, before that leaves.
    Raises: Conflict for what must be settled in git first; Unavailable, Denied where not all can be
    moved. Then the repository stays.
    """
    left = temporary_of(notebook.folder)
    if may_exist(left):
        shutil.rmtree(left, ignore_errors=True)
    if not is_repository(notebook.folder):
        return
    with notebook.repo.locked() as repo:
        if not is_repository(notebook.folder):  # another process moved it
            return
        try:
            whole = read_whole(notebook, repo)
        except UnsettledNotebook as exc:
            raise Conflict(
                "The notebook in {place} does not move into the database by itself:"
                f" {exc.message}",
                hint=f"{exc.hint}, with the server's `database.url` unset; then start the server"
                " again.",
                place=notebook.folder,
            ) from exc
        with revealed():
            there.take_over(whole)
            _check(whole, there, notebook)
        unfile()
        notebook.ledger.clear()
        take_out(notebook)
    shutil.rmtree(left, ignore_errors=True)


def _check(whole: WholeNotebook, there: ReceivesNotebook, notebook: NotebookJournal) -> None:
    """Read back what came. Raises: Unavailable where something did not."""
    ids = [entry.id for entry in whole.entries]
    known = there.find_known(ids)
    sections = {*there.list_sections()}
    names = {there.current_name(name) if name not in sections else name for name in whole.overviews}
    if known != {*ids} or not names <= sections:
        raise Unavailable(
            "Not all of the notebook {place} could be moved into the database.",
            hint="Try again; what was moved is not moved twice.",
            place=notebook.folder,
        )


def read_whole(notebook: NotebookJournal, repo: GitRepository) -> WholeNotebook:
    """All of a notebook whose writers are kept out. Raises: UnsettledNotebook."""
    notebook.ledger.catch_up()
    head = repo.head().commit
    _refuse_unsettled(notebook, repo, head)
    if not head:
        return WholeNotebook(steps=(), moves=())
    sections = {x for path in repo.list_files(head) if (x := find_section(path)) is not None}
    history = _History(notebook)
    commits = read_history(repo, head)
    while some := list(islice(commits, _AT_ONCE)):
        history.add(some, _blobs_of(repo, some))
    steps = [x for x in history.steps if not isinstance(x, PastOverview) or x.section in sections]
    at = notebook.head_at()
    now = {x.section: x.text for x in steps if isinstance(x, PastOverview)}
    # What merges made of both sides is what holds now.
    for section, text in notebook.read_overviews(sorted(sections)).items():
        if now.get(section) != text:
            steps.append(PastOverview(section=section, text=text, at=at))
    moves = [(old, new) for old, new in notebook.ledger.ask("all_moves")]
    return WholeNotebook(steps=steps, moves=moves, mark=head)


def _refuse_unsettled(notebook: NotebookJournal, repo: GitRepository, head: str) -> None:
    """Refuse a repository that holds what a database has no place for.

    Raises: UnsettledNotebook.
    """
    branches = notebook.branches
    elsewhere = [line for line, _ in branches.list_all()] if branches.catch_up() else []
    waiting = Clashes(notebook).list_open()
    foreign = [path for path in (repo.list_files(head) if head else []) if not find_section(path)]
    WorkTree(repo).refresh()  # what a killed writer left
    typed = repo.git.run(["status", "--porcelain"]).out.decode("utf-8", "replace").splitlines()
    if elsewhere:
        raise UnsettledNotebook(
            f"the branch {elsewhere[0].branches[0]} holds entries of its own.",
            hint="Merge it, or delete it: `commonplace notebook merge`",
        )
    if waiting:
        raise UnsettledNotebook(
            f"two overviews of {waiting[0].section} wait to be settled.",
            hint="Settle them: `commonplace notebook resolve`",
        )
    hint = "Take it out of the folder, or commit it"
    if foreign:
        raise UnsettledNotebook(f"{opening(foreign[0], 80)} is no text of a section.", hint=hint)
    if typed:
        raise UnsettledNotebook(f"{opening(typed[0][3:], 80)} is not committed.", hint=hint)


class _Touched(Struct, frozen=True):
    """A section's file that a commit changed, and what lies there since; empty for nothing."""

    section: str
    blob: str


class _History:
    """Commits as steps, oldest first, under the names that sections have in the end."""

    def __init__(self, notebook: NotebookJournal) -> None:
        self._notebook = notebook
        self._seen: set[str] = set()
        self._now: dict[str, str] = {}
        self.steps: list[Step] = []

    def add(self, commits: Sequence[Commit], blobs: Mapping[str, tuple[_Touched, ...]]) -> None:
        """Add the next commits. blobs: what each changed, by its hash."""
        wanted = {x.blob for each in blobs.values() for x in each if x.blob}
        names = sorted(wanted)
        read = self._notebook.repo.read_objects(names) if names else []
        texts = {
            name: parse_file(blob.content).overview
            for name, blob in zip(names, read, strict=True)
            if blob is not None and blob.kind == "blob"
        }
        for commit in commits:
            self._add(commit, [x for x in blobs[commit.hash] if x.blob in texts], texts)

    def _add(self, commit: Commit, touched: Sequence[_Touched], texts: Mapping[str, str]) -> None:
        message = parse_message(commit.message)
        if move := move_of(message):
            self._rename(*move)
        made = ""
        for entry in entries_of(commit, message):
            if entry.id not in self._seen:
                self._seen.add(entry.id)
                self.steps.append(self._placed(entry))
                made = entry.id
        end = set_end_of(message)
        at = written_of(message) or commit.at
        for each in touched:
            text = texts[each.blob]
            if self._now.get(each.section) != text:
                self._now[each.section] = text
                self.steps.append(
                    PastOverview(
                        section=each.section,
                        text=text,
                        at=at,
                        entry_id="" if end else made,
                        author=commit.author,
                        address=commit.address,
                    )
                )

    def _placed(self, entry: NotebookEntry) -> NotebookEntry:
        """An entry where it is now, with the end that it has now."""
        ledger = self._notebook.ledger
        section = ledger.current_section(entry.id, entry.section)
        line = next((x for x in ledger.by_id(entry.id) if x.section == section), None)
        return replace(entry, section=section, expires=line.expires if line else entry.expires)

    def _rename(self, old: str, new: str) -> None:
        """What was of a section is of another one from now on."""
        if old in self._now:
            self._now[new] = self._now.pop(old)
        self.steps = [
            replace(x, section=new) if isinstance(x, PastOverview) and x.section == old else x
            for x in self.steps
        ]


def _blobs_of(repo: GitRepository, commits: Sequence[Commit]) -> dict[str, tuple[_Touched, ...]]:
    return {commit.hash: tuple(_touched(repo, commit)) for commit in commits}


def _touched(repo: GitRepository, commit: Commit) -> Iterator[_Touched]:
    """The sections whose files a commit put or removed; of a merge, against its first parent."""
    if len(commit.parents) > 1:
        for path, change in compare_trees(repo, commit.parents[0], commit.hash).items():
            if (section := find_section(path)) is not None:
                is_there = change.after is not None and change.after.is_file
                yield _Touched(section, change.after.blob if change.after and is_there else "")
        return
    for each in commit.touched:
        if (section := find_section(each.path)) is not None:
            yield _Touched(section, each.blob if each.is_file else "")
