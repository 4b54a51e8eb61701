"""Owns the sync of a notebook with a remote: fetched, merged, counted, pushed.

Never leaves a tree half merged, never pushes over what others pushed since it fetched, and leaves
branch and folder as they were where it fails. No commit gets another hash.
"""

from __future__ import annotations

import random
import re
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.digest import sha256_hex
from commonplace.core.errors import CommonplaceError, Conflict
from commonplace.core.files import locked, make_folder
from commonplace.journals.git.commit import BranchMoved, commit_chains
from commonplace.journals.git.refs import RefUpdate, list_refs, update_refs
from commonplace.journals.git.remote import fetch, find_remote, push
from commonplace.journals.git.trees import compare_trees, list_tree
from commonplace.journals.notebook.commit_drafts import entry_draft, maintenance_draft, move_draft
from commonplace.journals.notebook.conflicts import (
    Clashes,
    clash_draft,
    clash_key,
    merge_of,
    open_place,
)
from commonplace.journals.notebook.sync_checks import (
    dropped_by_rebase,
    entries_between,
    refuse_dirt,
    refuse_forgotten,
    refuse_loss,
    refuse_shallow,
    refuse_stranger,
    set_ends_between,
)
from commonplace.journals.notebook.tree_merge import (
    MERGED,
    RECOUNTED,
    MergedTree,
    ThreeWay,
    TreeMerge,
    find_base,
    joined_draft,
    recount,
)
from commonplace.journals.notebook.work_tree import WorkTree

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from commonplace.journals.git.commit import CommitDraft
    from commonplace.journals.git.remote import Remote
    from commonplace.journals.git.repo import GitRepository, Head
    from commonplace.journals.git.trees import TreeChange
    from commonplace.journals.notebook.journal import Notebook
    from commonplace.journals.notebook.ledger import Ledger
    from commonplace.journals.notebook.tree_merge import Clash

TRIES = 10
_PAUSE_S = 0.2
_NAMED = 10
_OURS = "refs/commonplace"
_SYNCED = f"{_OURS}/synced"
_FOLDER = "commonplace-sync"
# A branch may be called `next` as well, and what is kept of its clashes stays.
_HALF_MADE = re.compile(r".*/next/(?:to|bare|base/[^/]+)")


class SyncReport(Struct, frozen=True, kw_only=True):
    """The outcome of a sync.

    Attributes:
        remote: Its name.
        branch: Its branch, as a full ref.
        address: Where it is, without a password.
        received: How many entries are new here.
        sent: How many entries are new there.
        dropped: How many entries are gone from here.
        conflicts: Sections where an overview of ours waits to be settled.
        before: Where our branch was, empty for nowhere.
        now: Where both branches are.
        notes: Sentences on what was left as it is.
    """

    remote: str
    branch: str
    address: str
    received: int = 0
    sent: int = 0
    dropped: int = 0
    conflicts: tuple[str, ...] = ()
    before: str = ""
    now: str = ""
    notes: tuple[str, ...] = ()


class _SyncInput(Struct, frozen=True, kw_only=True):
    """What a sync begins with: the branch here, the branch there, our refs."""

    head: Head
    remote: Remote
    theirs: str
    refs: Mapping[str, str]


class _SyncResult(Struct, kw_only=True):
    """What a sync has made.

    Attributes:
        to: The commit that both sides are to be at.
    """

    to: str
    clashes: Sequence[Clash] = ()
    received: int = 0
    sent: int = 0
    dropped: int = 0
    notes: Sequence[str] = ()


def work_folder(repo: GitRepository) -> Path:
    """Where a sync keeps what it works on; its lock is on this folder."""
    return repo.common_dir / _FOLDER


def list_half_made(repo: GitRepository) -> list[str]:
    """What a sync that was cut off has left: its files and refs, by name. Raises: Unavailable."""
    with suppress(FileNotFoundError):
        files = [str(path) for path in work_folder(repo).iterdir()]
        return [*files, *filter(_HALF_MADE.fullmatch, list_refs(repo, f"{_OURS}/sync/"))]
    return []


def remove_half_made(repo: GitRepository) -> None:
    """Remove what a sync has left; its lock is held. Raises: Unavailable, Denied."""
    updates = []
    for left in list_half_made(repo):
        if left.startswith(_OURS):
            updates.append(RefUpdate(left, ""))
        else:
            shutil.rmtree(left, ignore_errors=True)
    update_refs(repo, updates, why="commonplace sync: given up")


class Sync:
    """One sync of a notebook with one of its remotes.

    Args:
        notebook: Ours.
        remote: Its name.
        accept_loss: Take what the remote has, even if it lost entries.
        sleep: Waits so many seconds before another try.
    """

    def __init__(
        self,
        notebook: Notebook,
        *,
        remote: str,
        accept_loss: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._notebook = notebook
        self._repo = notebook.repo
        self._ledger = notebook.ledger
        self._name = remote
        self._accepts = accept_loss
        self._sleep = sleep

    def run(self) -> SyncReport:
        """Fetch, merge, count, push, and move the branch; tried again while others push.

        Raises: Conflict, Invalid, NotFound, Denied, Unavailable; branch and folder are then as they
        were.
        """
        folder = work_folder(self._repo)
        make_folder(folder)
        with locked(folder):
            for number in range(TRIES):
                try:
                    return self._attempt()
                except BranchMoved as exc:
                    if number + 1 == TRIES:
                        busy = "Others sync all the time; try later."
                        hint = busy if exc.hint == "Try again." else None
                        raise exc.as_kind(Conflict, hint=hint) from exc
                    self._sleep(_PAUSE_S * (number + 1) * random.uniform(0.5, 1.0))  # noqa: S311  a pause
        raise AssertionError  # the last attempt returns or raises

    def _attempt(self) -> SyncReport:
        refuse_shallow(self._repo)
        head = self._repo.writable_head()
        remote = find_remote(self._repo, self._name, head.branch)
        remove_half_made(self._repo)
        given = self._read_input(head, remote, fetch(self._repo, remote))
        refuse_forgotten(self._repo, remote, ours=head.commit, theirs=given.theirs)
        if not head.commit and not given.theirs:
            return SyncReport(remote=remote.name, branch=remote.branch, address=remote.address)
        try:
            made = self._build(given)
            if made.to != given.theirs:
                # Kept before others see what was merged.
                place = self._place(given.head, "clashes")
                chains = [
                    (ref, "", [clash_draft(x, self._notebook.signature(), merge=made.to)])
                    for x in made.clashes
                    if (ref := f"{place}/{clash_key(x)}") not in given.refs
                ]
                commit_chains(self._repo, chains)
                push(self._repo, remote, made.to, seen=given.theirs)
            notes = self._finish(given, made)
        finally:
            with suppress(CommonplaceError):
                remove_half_made(self._repo)
        return SyncReport(
            remote=remote.name,
            branch=remote.branch,
            address=remote.address,
            received=made.received,
            sent=made.sent,
            dropped=made.dropped,
            conflicts=tuple(sorted({x.section for x in made.clashes})),
            before=head.commit,
            now=made.to,
            notes=(*made.notes, *notes),
        )

    # Where things are kept: below `next` what is being made, below `clashes` the overviews that a
    # merge left aside which is being pushed. Those stay if we are cut off: the next sync knows by
    # their merge whether it arrived.

    def _place(self, head: Head, what: str) -> str:
        return f"{_OURS}/sync/{head.branch.removeprefix('refs/heads/')}/{what}"

    def _read_input(self, head: Head, remote: Remote, theirs: str) -> _SyncInput:
        """What a sync finds, less the clashes of merges that never arrived."""
        refs = list_refs(self._repo, f"{_OURS}/")
        gone = [
            ref
            for ref, name in refs.items()
            if ref.startswith(self._place(head, "clashes/"))
            and not (theirs and self._repo.is_ancestor(merge_of(self._repo, name), theirs))
        ]
        update_refs(
            self._repo, [RefUpdate(x, "") for x in gone], why="commonplace sync: not arrived"
        )
        kept = {ref: name for ref, name in refs.items() if ref not in gone}
        return _SyncInput(head=head, remote=remote, theirs=theirs, refs=kept)

    def _build(self, given: _SyncInput) -> _SyncResult:
        """Make the commit that both sides are to be at, on a ref of ours."""
        ours, theirs = given.head.commit, given.theirs
        if self._ledger.catch_up() != ours:
            raise BranchMoved(
                "The notebook {place} has moved on.", hint="Try again.", place=self._repo.folder
            )
        with tempfile.TemporaryDirectory(dir=work_folder(self._repo)) as folder:
            ledger = self._ledger.copy_to(Path(folder, "ledger.db"))
            try:
                made = self._merge_histories(given, ledger)
                ledger.catch_up(made.to)
                made.received = ledger.total() - self._ledger.total() + made.dropped
                if not self._accepts:
                    refuse_loss(self._repo, self._ledger, ledger, ours=ours, to=made.to)
                if ours:
                    branch, known = given.head.branch, (made.to, theirs)
                    lost = dropped_by_rebase(self._repo, branch, ledger, without=known)
                    made.notes = [*made.notes, *lost]
                ledger.catch_up(theirs)
                new = entries_between(self._repo, made.to, since=theirs)
                made.sent = len({(x.id, x.section) for _, x in new if not ledger.by_id(x.id)})
            finally:
                ledger.close()
        refuse_dirt(self._repo, ours, made.to)
        return made

    def _merge_histories(self, given: _SyncInput, ledger: Ledger) -> _SyncResult:
        ours, theirs = given.head.commit, given.theirs
        if not theirs or not ours:
            return self._with_counts(given, ours or theirs, ledger)
        seen = self._last_seen(given)
        if seen and not self._repo.is_ancestor(seen, theirs):
            ledger.catch_up(theirs)
            gone = entries_between(self._repo, seen, since=theirs)
            lost = {entry.id for _, entry in gone if not ledger.by_id(entry.id)}
            held = {x for x in lost if self._ledger.by_id(x)}
            is_held = self._repo.is_ancestor(seen, ours)
            # A person who has left that history need accept nothing.
            if is_held or held:
                if not self._accepts:
                    raise self._rewritten(given, len(held))
                return replace(self._replay_on_theirs(given, seen, lost, ledger), dropped=len(held))
        common = self._repo.list_merge_bases(ours, theirs)
        if common in ([ours], [theirs]):
            return self._with_counts(given, theirs if common == [ours] else ours, ledger)
        if not common:
            refuse_stranger(self._repo, given.remote, theirs)
        base = find_base(
            self._repo,
            ours,
            theirs,
            signature=self._notebook.signature(),
            place=self._place(given.head, "next/base"),
        )
        joined = TreeMerge(self._repo, ThreeWay(base=base, ours=ours, theirs=theirs)).run()
        return self._merged(given, joined, ledger, others=[ours])

    def _with_counts(self, given: _SyncInput, to: str, ledger: Ledger) -> _SyncResult:
        """A history as it is, with one commit more where files state wrong counts."""
        ledger.catch_up(to)
        before = list_tree(self._repo, to)
        files = recount(self._repo, before, ledger.count)
        if files != before:
            draft = joined_draft(
                self._notebook.signature(),
                files,
                onto=before,
                count=ledger.count,
                message=RECOUNTED,
            )
            to = self._commit(given, "to", to, [draft])
        return _SyncResult(to=to)

    def _merged(
        self,
        given: _SyncInput,
        joined: MergedTree,
        ledger: Ledger,
        *,
        before: Sequence[CommitDraft] = (),
        others: Sequence[str] = (),
    ) -> _SyncResult:
        """Put what was merged on theirs.

        Args:
            given: What the sync began with.
            joined: The merged tree.
            ledger: The copy of the ledger that follows what is built.
            before: Commits between.
            others: What it merges.
        """
        signature, theirs = self._notebook.signature(), given.theirs
        moves = [move_draft(signature, old, new) for old, new in joined.moves]
        bare = replace(maintenance_draft(signature, MERGED), others=others)
        # The history alone says what is to be counted: it is there before the files are.
        ledger.catch_up(self._commit(given, "bare", theirs, [*before, bare, *moves]))
        draft = joined_draft(
            signature,
            recount(self._repo, joined.files, ledger.count),
            onto=list_tree(self._repo, theirs),
            count=ledger.count,
            others=others,
        )
        to = self._commit(given, "to", theirs, [*before, draft, *moves])
        return _SyncResult(to=to, clashes=joined.clashes, notes=joined.notes)

    def _replay_on_theirs(
        self, given: _SyncInput, seen: str, lost: Collection[str], ledger: Ledger
    ) -> _SyncResult:
        """What was written here since, on a history that was rewritten: its entries, then files.

        A merge would bring back what they took out. The ledger holds theirs.
        """
        ours, theirs = given.head.commit, given.theirs
        held = self._repo.is_ancestor(seen, ours)
        base = seen if held else self._repo.merge_base(ours, theirs)
        join = TreeMerge(self._repo, ThreeWay(base=base, ours=ours, theirs=theirs))
        joined = join.run()
        drafts = [move_draft(self._notebook.signature(), old, new) for old, new in join.our_moves]
        for commit, entry in entries_between(self._repo, ours, since=(theirs, seen)):
            if entry.id not in lost and not ledger.by_id(entry.id):
                place = join.name_of(self._ledger.current_section(entry.id, entry.section))
                (blob,) = self._repo.read_objects([commit.hash])
                content = blob.content if blob else b""
                named = replace(entry, section=place)
                drafts.append(entry_draft(self._notebook.signature(), commit, content, named))
        drafts += [
            replace(maintenance_draft(self._notebook.signature(), message), at=commit.at)
            for commit, message in set_ends_between(self._repo, ours, since=(theirs, seen))
        ]
        if not drafts and joined.files == list_tree(self._repo, theirs):
            return self._with_counts(given, theirs, ledger)
        return self._merged(given, joined, ledger, before=drafts)

    def _commit(
        self, given: _SyncInput, name: str, start: str, drafts: Sequence[CommitDraft]
    ) -> str:
        ref = self._place(given.head, f"next/{name}")
        commit_chains(self._repo, [(ref, start, drafts)])
        return list_refs(self._repo, ref)[ref]

    def _last_seen(self, given: _SyncInput) -> str:
        """The remote's commit as the last sync, or a clone, left it; empty for none."""
        short = given.remote.branch.removeprefix("refs/heads/")
        if known := given.refs.get(self._synced(given.remote), ""):
            return known
        if any(ref.startswith(f"{_SYNCED}/{given.remote.name}@") for ref in given.refs):
            return ""  # it lay elsewhere then: what was pushed there says nothing of this one
        tracked = f"refs/remotes/{given.remote.name}/{short}"
        return list_refs(self._repo, tracked).get(tracked, "")

    def _synced(self, remote: Remote) -> str:
        place = sha256_hex(remote.address.encode("utf-8", "surrogateescape"))[:8]
        short = remote.branch.removeprefix("refs/heads/")
        return f"{_SYNCED}/{remote.name}@{place}/{short}"

    def _rewritten(self, given: _SyncInput, lost: int) -> Conflict:
        name, git = given.remote.name, self._repo.shell_command
        gone = f"{lost} of your entries are gone from it" if lost else "no entry is gone from it"
        return Conflict(
            f"The history at the remote {name} was rewritten since the last sync: {gone}.",
            hint=f"Look at it: {git} log {given.theirs[:12]}. Take it as it is with"
            f" `commonplace notebook sync --remote {name} --accept-loss`: what you wrote since is"
            " kept.",
        )

    def _finish(self, given: _SyncInput, made: _SyncResult) -> tuple[str, ...]:
        """Move the branch to what was made, and with it all that says so; then the folder."""
        head = given.head
        refs = list_refs(self._repo, f"{_OURS}/sync/")
        short = given.remote.branch.removeprefix("refs/heads/")
        moves = [
            RefUpdate(head.branch, made.to, head.commit),
            RefUpdate(self._synced(given.remote), made.to),
            RefUpdate(f"refs/remotes/{given.remote.name}/{short}", made.to),
        ]
        if made.to == head.commit:
            del moves[0]
        place, kept = self._place(head, "clashes/"), open_place(head.branch)
        for ref, name in refs.items():
            if ref.startswith(place):
                moves += [RefUpdate(f"{kept}/{ref.removeprefix(place)}", name)]
        moves += [RefUpdate(x, "") for x in refs if x.startswith(self._place(head, ""))]
        with self._repo.locked() as repo:
            changes = compare_trees(repo, head.commit, made.to)
            with WorkTree(repo).following(head, changes) as notes:
                update_refs(repo, moves, why=f"commonplace sync: {given.remote.name}")
        self._ledger.catch_up()
        with suppress(BranchMoved):
            Clashes(self._notebook).forget_settled()
        left = () if self._repo.is_bare else _left_to_git(self._repo.shell_command, changes)
        return (*notes, *left)


def _left_to_git(git: str, changes: Mapping[str, TreeChange]) -> list[str]:
    """What lies in the tree, or lay there, that only git itself brings into a folder."""
    odd = [
        path
        for path, change in changes.items()
        if any(x is not None and not x.is_file for x in (change.before, change.after))
    ]
    return [
        f"{path} is a link, or another repository, and is left to git: {git} restore -- {path}."
        for path in sorted(odd)[:_NAMED]
    ]
