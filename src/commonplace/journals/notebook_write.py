"""Owns how the notebook is written to: a checked write becomes one commit that moves the branch.

Never writes over an overview that was not read, and never over what a person changed in the folder.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from commonplace.core.errors import Conflict, Invalid
from commonplace.core.files import locked
from commonplace.journals.gitrepo_commit import Draft, Moved, commit, until_settled
from commonplace.journals.gitrepo_history import Commit
from commonplace.journals.notebook_format import (
    Entry,
    Message,
    SectionFile,
    entry_of,
    parse_file,
    render_file,
    render_message,
)
from commonplace.journals.notebook_names import Address, file_of, refuse_twin
from commonplace.journals.notebook_tree import WorkTree

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from commonplace.journals.gitrepo import Blob, Head
    from commonplace.journals.notebook import Notebook
    from commonplace.journals.notebook_ledger import Line


class OverviewConflict(Conflict):
    """The overview is another than the one that was read, or was not read at all.

    section: whose. base_version: what was read, empty for nothing. version, current: what is there
    now. yours: what was to be written. Nothing was written.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """An entry that is on the branch. overview, version: the section's, with it.

    entry_count: of the section, with it. repeated: an earlier call with the same key wrote it.
    notes: sentences on what of the folder was left as it is.
    """

    entry: Entry
    overview: str
    version: str
    entry_count: int
    repeated: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A write, checked. yours: the new overview, None for the one that is there.

    base_version: of the overview that was read, empty for none. is_keyed: the message's id follows
    from an idempotency key.
    """

    section: str
    message: Message
    yours: str | None
    base_version: str
    at: datetime
    is_keyed: bool


class Writer:
    """Writes to one notebook. clock: the present, aware. person: author and committer."""

    def __init__(self, notebook: Notebook, *, clock: Callable[[], datetime], person: str) -> None:
        self._notebook = notebook
        self._repo = notebook.repo
        self._ledger = notebook.ledger
        self._clock = clock
        self._person = person

    def write(self, asked: Asked) -> Written:
        """Add an entry in one commit, tried anew while others move the branch.

        Raises: OverviewConflict, Conflict, Invalid, Denied, Unavailable.
        """
        with locked(self._repo.own):
            tree = WorkTree(self._repo)
            tree.refresh()  # what a process left that was killed after its commit
            written = until_settled(lambda: self._attempt(asked, tree))
            return replace(written, notes=tree.refresh())

    def move(self, old: str, new: str) -> tuple[str, ...]:
        """Give a section another name in one commit; sentences on what of the folder was left.

        Raises: NotFound, Conflict, Invalid, Denied, Unavailable.
        """
        with locked(self._repo.own):
            tree = WorkTree(self._repo)
            tree.refresh()
            until_settled(lambda: self._attempt_move(old, new, tree))
            return tree.refresh()

    def _attempt(self, asked: Asked, tree: WorkTree) -> Written:
        head = self._settled_head()
        if asked.is_keyed and (known := self._ledger.by_id(asked.message.entry_id)):
            return self._repeated(known[0])
        path = file_of(asked.section)
        (blob,) = self._repo.read_blobs(head.commit, [path])
        if blob is None:
            refuse_twin(asked.section, self._notebook.list_sections())
        elif blob.kind != "blob":
            raise Invalid(f"{path} is a folder.", hint="Use another name for the section.")
        file = _checked(asked, blob)
        count = self._notebook.count(asked.section, file) + 1
        overview = file.overview if asked.yours is None else asked.yours
        content = render_file(overview, count)
        tree.expect(head.commit, {path: blob.name if blob else ""})
        made = self._commit(head, asked.message, asked.at, puts={path: content})
        tree.know(made.hash, {path: content})
        shown = parse_file(content)
        return Written(
            entry=entry_of(
                made, asked.message, section=asked.section, entry_id=asked.message.entry_id
            ),
            overview=shown.overview,
            version=shown.version,
            entry_count=count,
        )

    def _settled_head(self) -> Head:
        """The head, with the ledger standing at it. Raises: Moved, Conflict."""
        head = self._repo.writable_head()
        if self._ledger.catch_up() != head.commit:
            raise Moved(f"The notebook {self._repo.folder} has moved on.", hint="Try again.")
        return head

    def _repeated(self, line: Line) -> Written:
        section = self._notebook.read_section(line.section)
        return Written(
            entry=self._notebook.read_entry(Address(line.section, line.id)),
            overview=section.overview,
            version=section.version,
            entry_count=section.entry_count,
            repeated=True,
        )

    def _attempt_move(self, old: str, new: str, tree: WorkTree) -> str:
        head = self._settled_head()
        source, target = self._repo.read_blobs(head.commit, [file_of(old), file_of(new)])
        if source is None or source.kind != "blob":
            raise self._notebook.no_section(old)
        if target is not None or self._ledger.count(new):
            raise Conflict(
                f"There is, or was, a section {new} already.", hint="Choose another name."
            )
        refuse_twin(new, [x for x in self._notebook.list_sections() if x != old])
        tree.expect(head.commit, {file_of(old): source.name, file_of(new): ""})
        message = Message(
            summary=f"Move {old} to {new}", text="", section=new, verb="move", moved_from=old
        )
        renames = {file_of(old): file_of(new)}
        return self._commit(head, message, self._clock(), puts={}, renames=renames).hash

    def _commit(
        self,
        head: Head,
        message: Message,
        at: datetime,
        *,
        puts: dict[str, bytes],
        renames: dict[str, str] | None = None,
    ) -> Commit:
        draft = Draft(
            message=render_message(message),
            author=self._person,
            committer=self._person,
            at=at,
            now=self._clock(),
            zone=self._notebook.zone,
            puts=puts,
            renames=renames or {},
        )
        name, _, address = self._person.partition(" <")
        made = Commit(
            hash=commit(self._repo, head, draft),
            parents=(head.commit,) if head.commit else (),
            author=name,
            address=address.removesuffix(">"),
            at=at.replace(microsecond=0),
            message=draft.message.decode(),
        )
        self._ledger.append(made)
        return made


def _checked(asked: Asked, blob: Blob | None) -> SectionFile:
    """The section's file as it is, its bytes kept. Raises: OverviewConflict."""
    content = blob.content if blob else b""
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
