"""Owns overviews that a sync could not merge: where they are kept, and how one is settled.

Never forgets a text before the branch holds what became of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.digest import sha256_hex
from commonplace.core.errors import Conflict, Invalid, NotFound
from commonplace.core.text import opening
from commonplace.journals.git.history import parse_commit
from commonplace.journals.git.refs import RefUpdate, list_refs, update_refs
from commonplace.journals.notebook.commit_drafts import maintenance_draft
from commonplace.journals.notebook.format import (
    CommitMessage,
    parse_file,
    parse_message,
    plain_overview,
    version_of,
)
from commonplace.journals.notebook.merge import END, merge
from commonplace.journals.notebook.names import file_of, parse_section
from commonplace.journals.notebook.sections import OverviewConflict

if TYPE_CHECKING:
    from datetime import datetime

    from commonplace.journals.git.commit import CommitDraft
    from commonplace.journals.git.repo import GitRepository
    from commonplace.journals.notebook.commit_drafts import Signature
    from commonplace.journals.notebook.journal import NotebookJournal
    from commonplace.journals.notebook.tree_merge import Clash

OPEN = "refs/commonplace/conflicts"
_BASE, _OURS = "base.md", "ours.md"


class OverviewClash(Struct, frozen=True, kw_only=True):
    """An overview of ours that waits beside the one on the branch.

    Attributes:
        section: Its name now.
        base: What both began from.
        ours: What was written here.
        theirs: What the branch holds now, with its version.
        at: When the sync found it.
        ref: Where it is kept.
    """

    section: str
    base: str
    ours: str
    theirs: str
    version: str
    at: datetime
    ref: str

    @property
    def our_version(self) -> str:
        """The version of the overview that waits."""
        return version_of(self.ours)

    @property
    def marked(self) -> str:
        """Both texts as one, with what differs between marks."""
        return merge(self.ours, self.theirs, base=self.base).text


def clash_key(clash: Clash) -> str:
    """The name under which a clash is kept: the same texts of one section are one clash."""
    said = f"{clash.section}\0{clash.base}\0{clash.ours}"
    return sha256_hex(said.encode("utf-8", "surrogateescape"))[:16]


def clash_draft(clash: Clash, signature: Signature, *, merge: str) -> CommitDraft:
    """What keeps a clash: a commit of its own, on no branch. merge: what left it aside."""
    summary = f"An overview of {clash.section} that waits to be settled"
    message = CommitMessage(summary=summary, text=merge, section=clash.section, verb="conflict")
    return replace(
        maintenance_draft(signature, message),
        puts={
            _BASE: clash.base.encode("utf-8", "surrogateescape"),
            _OURS: clash.ours.encode("utf-8", "surrogateescape"),
        },
    )


def merge_of(repo: GitRepository, name: str) -> str:
    """The commit whose merge left a clash aside that is kept so."""
    (kept,) = repo.read_blobs(name, [""])
    return parse_message(parse_commit(name, kept.content).message).text if kept else ""


def open_place(branch: str) -> str:
    """Below which the clashes of a branch are kept."""
    return f"{OPEN}/{branch.removeprefix('refs/heads/')}"


def may_have_clashes(repo: GitRepository) -> bool:
    """Whether any may wait, from git's files alone. Never raises."""
    try:
        if (repo.common_dir / OPEN).is_dir():
            return True
        return OPEN.encode() in (repo.common_dir / "packed-refs").read_bytes()
    except OSError:
        return False


class Clashes:
    """The overviews of one notebook that wait to be settled.

    What reads or settles them raises Unavailable or Denied where git or the disk refuses.
    """

    def __init__(self, notebook: NotebookJournal) -> None:
        self._notebook = notebook
        self._repo = notebook.repo

    def list_open(self) -> list[OverviewClash]:
        """All that wait, oldest first."""
        if not may_have_clashes(self._repo):
            return []
        head = self._repo.head().commit
        found = [x for ref, name in self._refs().items() if (x := self._read(ref, name, head))]
        return sorted(found, key=lambda x: (x.at, x.section, x.ref))

    def forget_settled(self) -> None:
        """Forget those whose text the branch holds by now. Raises: BranchMoved."""
        if may_have_clashes(self._repo):
            head = self._repo.head().commit
            refs = self._refs()
            gone = [RefUpdate(x, "") for x, name in refs.items() if not self._read(x, name, head)]
            update_refs(self._repo, gone, why="commonplace: settled")

    def _refs(self) -> dict[str, str]:
        """Where they are kept: those of this branch, and of branches that were given a new name."""
        branch = self._repo.head().branch
        branches = list_refs(self._repo, "refs/heads/").keys() - {branch}
        others = tuple(f"{open_place(x)}/" for x in branches)
        kept = list_refs(self._repo, f"{OPEN}/")
        return {ref: name for ref, name in kept.items() if not ref.startswith(others)}

    def find(self, section: str) -> OverviewClash:
        """The oldest that waits in a section. Raises: NotFound, Invalid."""
        name = parse_section(section)
        found = next((x for x in self.list_open() if x.section == name), None)
        if found is None:
            raise NotFound(
                f"No overview of {opening(name, 80)} waits to be settled.",
                hint="List those that do: commonplace notebook conflicts",
            )
        return found

    def settle(self, clash: OverviewClash, text: str | None) -> tuple[str, ...]:
        """Put a text in the overview's place, None for the one that is there; the clash is over.

        Sentences on what of the folder was left as it was.
        Raises: Conflict where the overview is another by now; Invalid.
        """
        notes: tuple[str, ...] = ()
        wanted = clash.theirs if text is None else plain_overview(text)
        if text is not None and text != clash.ours:
            lines = wanted.splitlines()
            marks = [x for x in lines if x.startswith("<!-- version ") or x == END]
            if marks:
                raise Invalid(
                    f"{len(marks)} marks are left in the text.",
                    hint="Settle each place between marks, take the marks out, then save again.",
                )
        if wanted != clash.theirs:
            try:
                _, notes = self._notebook.replace_overview(
                    clash.section,
                    wanted,
                    base_version=clash.version,
                    summary=f"Settle the overview of {clash.section}",
                )
            except OverviewConflict as exc:
                raise Conflict(
                    f"The overview of {clash.section} has changed since; nothing was written.",
                    hint=f"Settle it again: commonplace notebook resolve {clash.section}",
                ) from exc
        # Last: a process that is killed before finds it waiting still.
        update_refs(self._repo, [RefUpdate(clash.ref, "")], why="commonplace: settled")
        return notes

    def _read(self, ref: str, name: str, head: str) -> OverviewClash | None:
        """A clash as it is now; None where there is none left."""
        kept, base, ours = self._repo.read_blobs(name, ["", _BASE, _OURS])
        if kept is None or ours is None:
            return None
        commit = parse_commit(kept.name, kept.content)
        section = self._notebook.ledger.current_name(parse_message(commit.message).section)
        (now,) = self._repo.read_blobs(head, [file_of(section)])
        theirs = parse_file(now.content if now else b"").overview
        text = ours.content.decode("utf-8", "replace")
        if text == theirs:
            return None  # the branch has just that text by now
        return OverviewClash(
            section=section,
            base=base.content.decode("utf-8", "replace") if base else "",
            ours=text,
            theirs=theirs,
            version=version_of(theirs),
            at=commit.at,
            ref=ref,
        )
