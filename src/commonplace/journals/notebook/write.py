"""Owns how the notebook is written to: a checked write becomes one commit that moves the branch.

Never writes over an overview that was not read, and never over what a person changed in the folder.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal, TypeVar

from msgspec.structs import replace

from commonplace.core.errors import Invalid
from commonplace.journals.git.commit import (
    CommitDraft,
    branch_moved,
    commit,
    retry_while_branch_moves,
)
from commonplace.journals.git.history import Commit
from commonplace.journals.git.index import IndexLocked
from commonplace.journals.git.run import missing_object
from commonplace.journals.git.trees import FOLDER, TreeChange, list_tree, read_file
from commonplace.journals.notebook.commit_drafts import maintenance_draft, move_draft
from commonplace.journals.notebook.format import (
    CommitMessage,
    SectionFile,
    entry_of,
    parse_file,
    render_file,
)
from commonplace.journals.notebook.names import (
    SectionAddress,
    file_of,
    find_section,
    refuse_twin,
)
from commonplace.journals.notebook.sections import (
    OverviewConflict,
    SectionMoves,
    WrittenEntry,
    check_base,
    pairs_to_move,
)
from commonplace.journals.notebook.work_tree import WorkTree, next_entry

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from commonplace.journals.git.repo import GitRepository, Head
    from commonplace.journals.git.trees import TreeEntry
    from commonplace.journals.notebook.commit_drafts import Signature
    from commonplace.journals.notebook.reader import NotebookReader

Made = TypeVar("Made")

_SECOND = timedelta(seconds=1)


class NotebookWriter:
    """Writes to one notebook, as its one writer, again while others move the branch.

    Each of its acts raises Conflict, Invalid, Denied or Unavailable where it is refused.

    Args:
        signature: Who commits, now.
    """

    def __init__(self, notebook: NotebookReader, signature: Callable[[], Signature]) -> None:
        self._notebook = notebook
        self._signature = signature
        self._repo = notebook.repo
        self._ledger = notebook.ledger

    def _run(self, act: Callable[[GitRepository, Head], Made]) -> Made:
        """Do an act on the head, with the ledger at it."""

        def attempt() -> Made:
            head = repo.writable_head()
            if self._ledger.catch_up() != head.commit:
                raise branch_moved(repo)
            return act(repo, head)

        with self._repo.locked() as repo:
            return retry_while_branch_moves(attempt)

    def write(
        self, message: CommitMessage, *, at: datetime, overview: str | None, base_version: str
    ) -> WrittenEntry:
        """Add an entry, and put a new overview in place, None for the one that is there.

        An entry that is there by its id is returned as it is. Raises: also OverviewConflict.
        """
        return self._run(
            lambda repo, head: (
                self._repeated(message.entry_id, repo)
                or self._add(repo, head, message, at=at, yours=overview, base_version=base_version)
            )
        )

    def _add(
        self,
        repo: GitRepository,
        head: Head,
        message: CommitMessage,
        *,
        at: datetime,
        yours: str | None,
        base_version: str,
    ) -> WrittenEntry:
        section, path = message.section, file_of(message.section)
        entry, former = self._read_file(repo, head, section)
        file, overview = _checked(section, former, yours, base_version)
        count = self._notebook.count(section, file) + 1
        content = render_file(overview, count)
        after = next_entry(repo, head, entry, content)
        draft = replace(self._draft(message), at=at, puts={path: content}, modes={path: after.mode})
        is_new = overview != file.overview
        edits: Literal["left", "refused"] = "refused" if is_new else "left"
        changes = {path: TreeChange(entry, after)}
        try:
            with WorkTree(repo).following(head, changes, {path: content}, edits=edits) as notes:
                made = self._commit(repo, head, draft)
        except IndexLocked as exc:
            if entry is None or is_new:
                raise
            # An entry changes no file then, so that nothing falls behind; the next one counts it.
            made = self._commit(repo, head, replace(draft, puts={}))
            notes = [exc.summary]
        shown = parse_file(content)
        return WrittenEntry(
            entry=entry_of(made, message, section=section, entry_id=message.entry_id),
            overview=shown.overview,
            version=shown.version,
            entry_count=count - self._ledger.count_expired(section),
            notes=tuple(notes),
        )

    def _read_file(
        self, repo: GitRepository, head: Head, section: str
    ) -> tuple[TreeEntry | None, bytes]:
        """A section's file, None for a section that may be begun. Raises: Invalid, Unavailable."""
        entry, content = read_file(repo, head.commit, file_of(section)) or (None, b"")
        if entry is None:
            sections = self._notebook.list_sections()
            if section in sections:
                raise missing_object(repo.folder)
            refuse_twin(section, sections)
        elif entry.mode == FOLDER:
            what = f"{file_of(section)} is a folder."
            raise Invalid(what, hint="Use another name for the section.")
        return entry, content

    def _repeated(self, entry_id: str, repo: GitRepository) -> WrittenEntry | None:
        """The entry with an id, as an earlier call wrote it; None where none is there."""
        line = next(iter(self._ledger.by_id(entry_id)), None)
        if line is None:
            return None
        try:
            notes = WorkTree(repo).refresh()  # what the first call left if it was killed
        except IndexLocked as exc:
            notes = (exc.summary,)
        section = self._notebook.read_section(line.section)
        return WrittenEntry(
            entry=self._notebook.read_entry(SectionAddress(line.section, line.id)),
            overview=section.overview,
            version=section.version,
            entry_count=section.entry_count,
            repeated=True,
            notes=notes,
        )

    def set_end(self, message: CommitMessage) -> None:
        """Put a message on the branch that says when an entry expires; no file changes."""
        self._run(lambda repo, head: self._commit(repo, head, self._draft(message)))

    def put_overview(
        self, message: CommitMessage, overview: str, base_version: str
    ) -> tuple[str, ...]:
        """Put a text in place of an overview in one commit that is no entry.

        Sentences on what of the folder was left as it was. message: names the section, and may set
        an end as well; overview: as it will be read back; base_version: the one that was read.
        Raises: also OverviewConflict, NotFound.
        """

        def put(repo: GitRepository, head: Head) -> tuple[str, ...]:
            path = file_of(message.section)
            entry, content = read_file(repo, head.commit, path) or (None, b"")
            if entry is None or entry.mode == FOLDER:
                raise self._notebook.no_section(message.section)
            current = parse_file(content)
            if current.overview == overview:
                if message.expires_entry:
                    self._commit(repo, head, self._draft(message))
                return ()
            if current.version != base_version:
                raise OverviewConflict(message.section, base_version, current, overview)
            content = render_file(overview, self._notebook.count(message.section, current))
            after = next_entry(repo, head, entry, content)
            draft = replace(self._draft(message), puts={path: content}, modes={path: after.mode})
            with WorkTree(repo).following(
                head, {path: TreeChange(entry, after)}, {path: content}, edits="refused"
            ) as notes:
                self._commit(repo, head, draft)
            return tuple(notes)

        return self._run(put)

    def _draft(self, message: CommitMessage) -> CommitDraft:
        """A commit of ours, now; one that sets an end is later than all that set it before.

        The latest counts, and another clone's clock may be fast.
        """
        draft = maintenance_draft(self._signature(), message)
        last = self._ledger.last_end_set(message.expires_entry) if message.expires_entry else None
        return draft if last is None else replace(draft, at=max(draft.at, last + _SECOND))

    def move(self, old: str, new: str, *, below: bool) -> SectionMoves:
        """Give a section another name, and with `below` those below it, all or none of them.

        Raises: also NotFound.
        """
        return self._run(lambda repo, head: self._move(repo, head, old, new, below=below))

    def _move(
        self, repo: GitRepository, head: Head, old: str, new: str, *, below: bool
    ) -> SectionMoves:
        sections = self._notebook.list_sections()
        pairs = pairs_to_move(old, new, sections, below=below, has_entries=self._ledger.count)
        if not pairs:
            raise self._notebook.no_section(old)
        entries = list_tree(repo, head.commit)
        files = [(file_of(x), file_of(y)) for x, y in pairs]
        changes = {x: TreeChange(entries[x], None) for x, _ in files}
        changes |= {y: TreeChange(entries.get(y), entries[x]) for x, y in files}
        with WorkTree(repo).following(head, changes) as notes:
            signature = self._signature()
            drafts = [
                replace(move_draft(signature, x, y), renames={file_of(x): file_of(y)})
                for x, y in pairs
            ]
            commit(repo, head, drafts)
        self._ledger.catch_up()
        return SectionMoves(pairs, tuple(notes))

    def _commit(self, repo: GitRepository, head: Head, draft: CommitDraft) -> Commit:
        name, _, address = draft.author.partition(" <")
        made = Commit(
            hash=commit(repo, head, [draft]),
            parents=(head.commit,) if head.commit else (),
            author=name,
            address=address.removesuffix(">"),
            at=draft.at.replace(microsecond=0),
            message=draft.message.decode(),
        )
        overviews = {
            section: parse_file(content).overview
            for path, content in draft.puts.items()
            if (section := find_section(path)) is not None
        }
        self._ledger.append(made, overviews)
        return made


def _checked(
    section: str, content: bytes, yours: str | None, base_version: str
) -> tuple[SectionFile, str]:
    """A section's file, its bytes kept, and the overview that it is to have.

    yours: None for the one that is there. Raises: OverviewConflict.
    """
    file = parse_file(content, errors="surrogateescape")
    if yours is None:
        return file, file.overview
    check_base(section, parse_file(content), yours, base_version)
    return file, yours
