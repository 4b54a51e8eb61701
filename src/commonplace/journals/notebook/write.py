"""Owns how the notebook is written to: a checked write becomes one commit that moves the branch.

Never writes over an overview that was not read, and never over what a person changed in the folder.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import Conflict, Invalid
from commonplace.journals.git.commit import (
    BranchMoved,
    CommitDraft,
    commit,
    commit_all,
    retry_while_branch_moves,
)
from commonplace.journals.git.history import Commit
from commonplace.journals.git.index import IndexLocked
from commonplace.journals.git.run import missing_object
from commonplace.journals.git.trees import FOLDER, TreeChange, list_tree, read_file
from commonplace.journals.notebook.commit_drafts import maintenance_draft, move_draft
from commonplace.journals.notebook.format import (
    CommitMessage,
    NotebookEntry,
    SectionFile,
    entry_of,
    parse_file,
    render_file,
)
from commonplace.journals.notebook.names import (
    SectionAddress,
    file_of,
    parse_new_section,
    refuse_twin,
)
from commonplace.journals.notebook.work_tree import WorkTree, next_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from commonplace.journals.git.repo import GitRepository, Head
    from commonplace.journals.notebook.commit_drafts import Signature
    from commonplace.journals.notebook.ledger import EntryLine
    from commonplace.journals.notebook.reader import NotebookReader


_SECOND = timedelta(seconds=1)


class OverviewConflict(Conflict):
    """The overview is another than the one that was read, or was not read at all.

    Nothing was written.

    Args:
        section: Whose.
        base_version: What was read, empty for nothing.
        version, current: What is there now.
        yours: What was to be written.
    """

    def __init__(
        self, *, section: str, base_version: str, version: str, current: str, yours: str
    ) -> None:
        self.section = section
        self.base_version = base_version
        self.version = version
        self.current = current
        self.yours = yours
        read = f"you read {base_version}" if base_version else "you have not read it"
        super().__init__(
            f"The overview of {section} is at version {version}, {read}; nothing was written.",
            hint=f"Read {section}, merge both texts, then write with base_version {version}.",
        )


class WrittenEntry(Struct, frozen=True, kw_only=True):
    """An entry that is on the branch.

    Attributes:
        overview, version: The section's, with it.
        entry_count: Of the section, with it.
        repeated: An earlier call with the same key wrote it.
        notes: Sentences on what of the folder was left as it is.
    """

    entry: NotebookEntry
    overview: str
    version: str
    entry_count: int
    repeated: bool = False
    notes: tuple[str, ...] = ()


class EntryRequest(Struct, frozen=True, kw_only=True):
    """A write, checked.

    Attributes:
        yours: The new overview, None for the one that is there.
        base_version: Of the overview that was read, empty for none.
        is_keyed: The message's id follows from an idempotency key.
    """

    section: str
    message: CommitMessage
    yours: str | None
    base_version: str
    at: datetime
    is_keyed: bool


class SectionMoves(NamedTuple):
    """What a move came to.

    Attributes:
        pairs: Each former name with the new one.
        notes: Sentences on what of the folder was left as it was.
    """

    pairs: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


class NotebookWriter:
    """Writes to one notebook.

    Args:
        signature: Who commits, now.
    """

    def __init__(self, notebook: NotebookReader, signature: Callable[[], Signature]) -> None:
        self._notebook = notebook
        self._repo = notebook.repo
        self._ledger = notebook.ledger
        self._signature = signature

    def write(self, asked: EntryRequest) -> WrittenEntry:
        """Add an entry in one commit, tried again while others move the branch.

        Raises: OverviewConflict, Conflict, Invalid, Denied, Unavailable.
        """
        with self._repo.locked() as repo:
            return retry_while_branch_moves(lambda: self._attempt(asked, repo))

    def move(self, old: str, new: str, *, below: bool) -> SectionMoves:
        """Give a section another name, and with `below` those below it, all or none of them.

        Raises: NotFound, Conflict, Invalid, Denied, Unavailable.
        """
        with self._repo.locked() as repo:
            return retry_while_branch_moves(lambda: self._attempt_move(old, new, repo, below=below))

    def _attempt(self, asked: EntryRequest, repo: GitRepository) -> WrittenEntry:
        head = self._head_with_ledger()
        if asked.is_keyed and (known := self._ledger.by_id(asked.message.entry_id)):
            return self._repeated(known[0], repo)
        path = file_of(asked.section)
        found = read_file(repo, head.commit, path)
        if found is None:
            sections = self._notebook.list_sections()
            if asked.section in sections:
                raise missing_object(repo.folder)
            refuse_twin(asked.section, sections)
        entry, former = found or (None, b"")
        if entry is not None and entry.mode == FOLDER:
            raise Invalid(f"{path} is a folder.", hint="Use another name for the section.")
        file = _checked(asked, former)
        count = self._notebook.count(asked.section, file) + 1
        overview = file.overview if asked.yours is None else asked.yours
        content = render_file(overview, count)
        after = next_entry(repo, head, entry, content)
        draft = replace(
            maintenance_draft(self._signature(), asked.message),
            at=asked.at,
            puts={path: content},
            modes={path: after.mode},
        )
        edits: Literal["left", "refused"] = "left" if overview == file.overview else "refused"
        try:
            with WorkTree(repo).following(
                head, {path: TreeChange(entry, after)}, {path: content}, edits=edits
            ) as notes:
                made = self._commit(repo, head, draft)
        except IndexLocked as exc:
            if entry is None or edits == "refused":
                raise
            # An entry changes no file then, so that nothing falls behind; the next one counts it.
            made = self._commit(repo, head, replace(draft, puts={}))
            notes = [exc.summary]
        shown = parse_file(content)
        return WrittenEntry(
            entry=entry_of(
                made, asked.message, section=asked.section, entry_id=asked.message.entry_id
            ),
            overview=shown.overview,
            version=shown.version,
            entry_count=count - self._ledger.count_expired(asked.section),
            notes=tuple(notes),
        )

    def set_end(self, message: CommitMessage) -> None:
        """Put a message on the branch that says when an entry expires; no file changes.

        Its time is later than that of any such message before, whatever another clone's clock
        said: the latest counts. Raises: as `write`.
        """

        def attempt(repo: GitRepository) -> None:
            head = self._head_with_ledger()
            self._commit(repo, head, self._draft(message))

        with self._repo.locked() as repo:
            retry_while_branch_moves(lambda: attempt(repo))

    def _draft(self, message: CommitMessage) -> CommitDraft:
        """A commit of our upkeep; one that sets an end is later than all that set it before."""
        draft = maintenance_draft(self._signature(), message)
        last = self._ledger.last_end_set(message.expires_entry) if message.expires_entry else None
        return draft if last is None else replace(draft, at=max(draft.at, last + _SECOND))

    def put_overview(
        self, message: CommitMessage, overview: str, base_version: str
    ) -> tuple[str, ...]:
        """Put a text in place of an overview in one commit that is no entry.

        Args:
            message: What the commit says; it names the section, and may set an end as well.
            overview: As it will be read back.
            base_version: The version that was read.

        Returns:
            Sentences on what of the folder was left as it was.

        Raises:
            OverviewConflict, NotFound, Invalid, Denied, Unavailable.
        """
        with self._repo.locked() as repo:
            return retry_while_branch_moves(
                lambda: self._attempt_overview(message, overview, base_version, repo)
            )

    def _attempt_overview(
        self, message: CommitMessage, overview: str, base_version: str, repo: GitRepository
    ) -> tuple[str, ...]:
        head = self._head_with_ledger()
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
            raise OverviewConflict(
                section=message.section,
                base_version=base_version,
                version=current.version,
                current=current.overview,
                yours=overview,
            )
        content = render_file(overview, self._notebook.count(message.section, current))
        after = next_entry(repo, head, entry, content)
        draft = replace(self._draft(message), puts={path: content}, modes={path: after.mode})
        with WorkTree(repo).following(
            head, {path: TreeChange(entry, after)}, {path: content}, edits="refused"
        ) as notes:
            self._commit(repo, head, draft)
        return tuple(notes)

    def _head_with_ledger(self) -> Head:
        """The head, with the ledger standing at it. Raises: BranchMoved, Conflict."""
        head = self._repo.writable_head()
        if self._ledger.catch_up() != head.commit:
            raise BranchMoved(
                "The notebook {place} has moved on.", hint="Try again.", place=self._repo.folder
            )
        return head

    def _repeated(self, line: EntryLine, repo: GitRepository) -> WrittenEntry:
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

    def _attempt_move(
        self, old: str, new: str, repo: GitRepository, *, below: bool
    ) -> SectionMoves:
        head = self._head_with_ledger()
        sections = self._notebook.list_sections()
        pairs = _pairs(old, new, sections, below=below)
        if not pairs:
            raise self._notebook.no_section(old)
        stay = sorted(set(sections) - {x for x, _ in pairs})
        for _, target in pairs:
            if target in stay or self._ledger.count(target):
                raise Conflict(
                    f"There is, or was, a section {target} already.", hint="Choose another name."
                )
            refuse_twin(target, stay)
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
            commit_all(repo, head, drafts)
        self._ledger.catch_up()
        return SectionMoves(pairs, tuple(notes))

    def _commit(self, repo: GitRepository, head: Head, draft: CommitDraft) -> Commit:
        name, _, address = draft.author.partition(" <")
        made = Commit(
            hash=commit(repo, head, draft),
            parents=(head.commit,) if head.commit else (),
            author=name,
            address=address.removesuffix(">"),
            at=draft.at.replace(microsecond=0),
            message=draft.message.decode(),
        )
        self._ledger.append(made)
        return made


def _pairs(
    old: str, new: str, sections: Iterable[str], *, below: bool
) -> tuple[tuple[str, str], ...]:
    """Each section that a move is of, with its new name; a folder alone goes with all below it."""
    known = set(sections)
    pairs = [(old, new)] if old in known else []
    if below or not pairs:
        inside = sorted(x for x in known if x.startswith(f"{old}/"))
        if inside and f"{new}/".startswith(f"{old}/"):
            raise Invalid(f"{new} lies in {old}.", hint="Choose a name outside it.")
        pairs += [(x, parse_new_section(new + x.removeprefix(old))) for x in inside]
    return tuple(pairs)


def _checked(asked: EntryRequest, content: bytes) -> SectionFile:
    """The section's file as it is, its bytes kept. Raises: OverviewConflict."""
    current = parse_file(content)
    is_read = asked.base_version == current.version or not (current.overview or asked.base_version)
    if asked.yours is not None and asked.yours != current.overview and not is_read:
        raise OverviewConflict(
            section=asked.section,
            base_version=asked.base_version,
            version=current.version,
            current=current.overview,
            yours=asked.yours,
        )
    return parse_file(content, errors="surrogateescape")
