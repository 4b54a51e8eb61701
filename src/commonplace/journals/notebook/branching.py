"""Owns the branches of a notebook as people use them: listed, made, switched to, merged.

Never changes what a person has edited, and never loses a line of an overview.
"""

from __future__ import annotations

import os
import random
import shlex
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Conflict, Invalid, NotFound
from commonplace.core.files import locked, make_folder
from commonplace.core.text import opening, well_formed
from commonplace.journals.git.commit import BranchMoved, commit_chains
from commonplace.journals.git.history import parse_commit
from commonplace.journals.git.refs import (
    RefUpdate,
    find_leading,
    list_other_trees,
    list_refs,
    update_refs,
)
from commonplace.journals.git.trees import compare_trees
from commonplace.journals.notebook.branches import BRANCHES, short_name
from commonplace.journals.notebook.conflicts import Clashes, clash_draft, clash_key, open_place
from commonplace.journals.notebook.format import parse_message
from commonplace.journals.notebook.history_merge import HistoryMerge
from commonplace.journals.notebook.sync import making_place, remove_half_made, work_folder
from commonplace.journals.notebook.sync_checks import (
    links_left,
    refuse_dirt,
    refuse_edits,
    refuse_shallow,
)
from commonplace.journals.notebook.tree_merge import MERGED, TreeMerge
from commonplace.journals.notebook.work_tree import WorkTree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from commonplace.journals.git.repo import Head
    from commonplace.journals.notebook.journal import NotebookJournal
    from commonplace.journals.notebook.tree_merge import Clash

_TRIES = 10
_PAUSE_S = 0.2
_LONGEST_NAME = 200  # bytes: git keeps it as the name of a file, and locks it by a longer one


class Branch(Struct, frozen=True, kw_only=True):
    """A local branch.

    Attributes:
        is_own: The notebook is on it.
        at, summary: Of its last commit.
    """

    name: str
    commit: str
    is_own: bool
    at: datetime
    summary: str


class BranchMerge(Struct, frozen=True, kw_only=True):
    """What a merge of a branch came to.

    Attributes:
        received: How many entries are new to the notebook's own branch.
        conflicts: Sections where its former overview waits to be settled.
        before, now: Where it was, and is; the same where nothing was to be merged.
        notes: Sentences on what was left as it was.
    """

    branch: str
    into: str
    received: int = 0
    conflicts: tuple[str, ...] = ()
    before: str = ""
    now: str = ""
    notes: tuple[str, ...] = ()


class Branching:
    """The branches of one notebook.

    Its verbs raise Conflict, Invalid, NotFound, Denied or Unavailable where they are refused.

    Args:
        sleep: Waits so many seconds before another try.
    """

    def __init__(
        self, notebook: NotebookJournal, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._notebook = notebook
        self._repo = notebook.repo
        self._sleep = sleep

    def list_all(self) -> list[Branch]:
        """Every local branch, by name."""
        own, branches = self._repo.head().branch, sorted(self._repo.branches().items())
        blobs = self._repo.read_objects([commit for _, commit in branches])
        found: list[Branch] = []
        for (ref, name), blob in zip(branches, blobs, strict=True):
            commit = parse_commit(name, blob.content if blob else b"")
            found.append(
                Branch(
                    name=short_name(ref),
                    commit=name,
                    is_own=ref == own,
                    at=commit.at,
                    summary=parse_message(commit.message).summary,
                )
            )
        return found

    def create(self, name: str, *, start: str = "") -> str:
        """Make a branch that begins at another branch or a commit, else where the notebook is.

        Returns:
            The commit that it begins at.
        """
        ref = self._checked(name)
        asked = ["rev-parse", "-q", "--verify", "--end-of-options", f"{start or 'HEAD'}^{{commit}}"]
        ran = self._repo.git.run(asked, statuses=(0, 1, 128))
        commit = ran.out.decode("ascii", "replace").strip()
        if ran.status or not commit:
            if start:
                what = f"There is no branch or commit {opening(start, 80)!r}."
                raise NotFound(what, hint="List the branches: `commonplace notebook branch`.")
            raise Conflict("The notebook has no commit yet.", hint="Write its first entry.")
        why = f"branch: Created from {start or 'HEAD'}"
        update_refs(self._repo, [RefUpdate(ref, commit, "")], why=why)
        return commit

    def _checked(self, name: str) -> str:
        """The full name of a branch that is not there yet. Raises: Invalid, Conflict."""
        name = name.removeprefix(BRANCHES)
        shown = opening(well_formed(name), 80)
        ran = self._repo.git.run(["check-ref-format", BRANCHES + name], statuses=(0, 1, 129))
        if ran.status or name.startswith("-") or name == "HEAD":
            raise Invalid(f"{shown!r} is no name for a branch.", hint="Use letters, digits, -, /.")
        if len(os.fsencode(name)) > _LONGEST_NAME:
            raise Invalid(f"{shown!r} is too long for a branch.", hint="Choose a shorter name.")
        self._notebook.screen.refuse_name(name, "branch")
        there = self._repo.branches()
        for other in map(short_name, there):
            if other == name:
                hint = f"Go there: `commonplace notebook switch {shlex.quote(name)}`."
                raise Conflict(f"There is a branch {shown} already.", hint=hint)
            if f"{other}/".startswith(f"{name}/") or f"{name}/".startswith(f"{other}/"):
                hint = "Choose another name: git keeps no branch in the place of a folder."
                raise Conflict(f"There is a branch {opening(other, 80)} already.", hint=hint)
        return BRANCHES + name

    def switch(self, name: str) -> tuple[str, ...]:
        """Switch the notebook, and its folder, to another branch.

        Returns:
            Sentences on what was left as it was.
        """
        with self._repo.locked() as repo:
            repo.refuse_unfinished()
            WorkTree(repo).refresh()
            head, (ref, to) = repo.head(), self._notebook.branches.find_ref(name)
            if head.branch == ref:
                return ()
            for tree in list_other_trees(repo):
                if tree.branch == ref:
                    raise Conflict(
                        f"{short_name(ref)} is checked out in {well_formed(tree.path)}.",
                        hint="Use the notebook there, or remove that work tree.",
                    )
            changes = compare_trees(repo, head.commit, to)
            refuse_edits(repo, head.commit, changes, act="switch")
            why = f"checkout: moving from {short_name(head.branch) or head.commit} to"
            with WorkTree(repo).following(head, changes, branch=ref) as notes:
                repo.git.run(["symbolic-ref", "-m", f"{why} {short_name(ref)}", "HEAD", ref])
            notes += links_left(repo, changes)
            if not head.branch and head.commit and not find_leading(repo, [head.commit]):
                notes.append(
                    f"{head.commit[:12]} is on no branch now:"
                    f" `commonplace notebook branch NAME {head.commit[:12]}` keeps it."
                )
        return tuple(notes)

    def merge(self, name: str) -> BranchMerge:
        """Bring what another branch holds into the one that the notebook is on."""
        self._notebook.branches.find(name)
        folder = work_folder(self._repo)
        make_folder(folder)
        with locked(folder):
            for number in range(_TRIES):
                try:
                    return self._merge(name)
                except BranchMoved as exc:
                    if number + 1 == _TRIES:
                        hint = "Others write all the time; try later."
                        raise exc.as_kind(Conflict, hint=hint) from exc
                    self._sleep(_PAUSE_S * (number + 1) * random.uniform(0.5, 1.0))  # noqa: S311  a pause
        raise AssertionError  # the last attempt returns or raises

    def _merge(self, branch: str) -> BranchMerge:
        refuse_shallow(self._repo)
        head, (ref, theirs) = self._repo.writable_head(), self._notebook.branches.find_ref(branch)
        ours, name = head.commit, short_name(ref)
        report = BranchMerge(branch=name, into=short_name(head.branch), before=ours, now=ours)
        if ours and self._repo.is_ancestor(theirs, ours):
            return report
        remove_half_made(self._repo)
        try:
            self._notebook.ledger.catch_up()
            with tempfile.TemporaryDirectory(dir=work_folder(self._repo)) as folder:
                ledger = self._notebook.ledger.copy_to(Path(folder, "ledger.db"))
                try:
                    merging = HistoryMerge(
                        notebook=self._notebook, place=making_place(head), ledger=ledger
                    )
                    to, clashes, notes = self._made(merging, name, ours, theirs)
                    ledger.catch_up(to)
                    received = ledger.total() - self._notebook.ledger.total()
                finally:
                    ledger.close()
            refuse_dirt(self._repo, ours, to, act="merge")
            notes += self._put_in_place(head, to, clashes, why=f"merge {name}")
        finally:
            with suppress(CommonplaceError):
                remove_half_made(self._repo)
        return replace(
            report,
            received=received,
            conflicts=tuple(sorted({x.section for x in clashes})),
            now=to,
            notes=tuple(notes),
        )

    def _made(
        self, merging: HistoryMerge, name: str, ours: str, theirs: str
    ) -> tuple[str, Sequence[Clash], list[str]]:
        """The commit of the merge, the overviews that it left aside, and sentences."""
        repo = self._repo
        common = repo.list_merge_bases(ours, theirs) if ours else [ours]
        if common == [ours]:
            return merging.take(theirs), (), []
        if not common:
            raise Conflict(
                f"The branch {name} has a history of its own.",
                hint="If they belong together, merge them with plain git:"
                f" {repo.shell_command} merge --allow-unrelated-histories {shlex.quote(name)}",
            )
        # As a sync does: where they part at several commits, all that differs is a clash.
        base = common[0] if len(common) == 1 else ""
        joined = TreeMerge(repo, base=base, ours=ours, theirs=theirs).run()
        said = replace(MERGED, summary=f"Merge branch '{name}'")
        to = merging.put_on(ours, joined, others=[theirs], message=said)
        return to, joined.clashes, joined.notes

    def _put_in_place(
        self, head: Head, to: str, clashes: Sequence[Clash], *, why: str
    ) -> list[str]:
        """Move the branch, with the overviews that wait; then the folder."""
        making, kept = f"{making_place(head)}/next/clash", open_place(head.branch)
        signature = self._notebook.signature()
        chains = {f"{making}/{clash_key(x)}": clash_draft(x, signature, merge=to) for x in clashes}
        commit_chains(self._repo, [(ref, "", [draft]) for ref, draft in chains.items()])
        moves = [RefUpdate(head.branch, to, head.commit)]
        for ref, name in list_refs(self._repo, f"{making}/").items():
            moves += [RefUpdate(f"{kept}{ref.removeprefix(making)}", name), RefUpdate(ref, "")]
        with self._repo.locked() as repo:
            changes = compare_trees(repo, head.commit, to)
            with WorkTree(repo).following(head, changes) as notes:
                update_refs(repo, moves, why=why)
        self._notebook.ledger.catch_up()
        with suppress(BranchMoved):
            Clashes(self._notebook).forget_settled()
        return [*notes, *links_left(self._repo, changes)]
