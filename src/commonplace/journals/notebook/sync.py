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
from commonplace.journals.git.commit import BranchMoved, branch_moved, commit_chains
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
from commonplace.journals.notebook.history_merge import HistoryMerge
from commonplace.journals.notebook.sync_checks import (
    dropped_by_rebase,
    entries_between,
    links_left,
    refuse_dirt,
    refuse_forgotten,
    refuse_loss,
    refuse_shallow,
    refuse_stranger,
    set_ends_between,
)
from commonplace.journals.notebook.tree_merge import TreeMerge
from commonplace.journals.notebook.work_tree import WorkTree

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from commonplace.journals.git.commit import CommitDraft
    from commonplace.journals.git.remote import Remote
    from commonplace.journals.git.repo import GitRepository, Head
    from commonplace.journals.notebook.journal import NotebookJournal
    from commonplace.journals.notebook.ledger import Ledger
    from commonplace.journals.notebook.tree_merge import Clash, MergedTree

TRIES = 10
_PAUSE_S = 0.2
_NAMED = 10
_OURS = "refs/commonplace"
_SYNCED = f"{_OURS}/synced"
_FOLDER = "commonplace-sync"
# A branch may be called `next` as well, and what is kept of its clashes stays.
_HALF_MADE = re.compile(r".*/next/(?:to|bare|(?:base|clash)/[^/]+)")


class SyncReport(Struct, frozen=True, kw_only=True):
    """The outcome of a sync.

    Attributes:
        branch: The remote's, as a full ref.
        address: Where the remote is, without a password.
        received: How many entries are new here.
        sent: How many entries are new there.
        dropped: How many entries are gone from here.
        conflicts: Sections where an overview of ours waits to be settled.
        before: Where our branch was, empty for nowhere.
        now: Where both branches are.
        notes: Sentences on what was left as it was.
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


def work_folder(repo: GitRepository) -> Path:
    """Where a sync keeps what it works on; its lock is on this folder."""
    return repo.common_dir / _FOLDER


def making_place(head: Head) -> str:
    """Below which stands what is being made of a branch."""
    return f"{_OURS}/sync/{head.branch.removeprefix('refs/heads/')}"


def list_half_made(repo: GitRepository) -> list[str]:
    """What a sync that was cut off has left: its files and refs, by name."""
    with suppress(FileNotFoundError):
        files = [str(path) for path in work_folder(repo).iterdir()]
        return [*files, *filter(_HALF_MADE.fullmatch, list_refs(repo, f"{_OURS}/sync/"))]
    return []


def remove_half_made(repo: GitRepository) -> None:
    """Remove what a sync has left; its lock is held."""
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
        notebook: NotebookJournal,
        *,
        remote: str,
        accept_loss: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._notebook = notebook
        self._repo = notebook.repo
        self._remote = remote
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
        remote = find_remote(self._repo, self._remote, head.branch)
        remove_half_made(self._repo)
        theirs = fetch(self._repo, remote)
        refuse_forgotten(self._repo, remote, ours=head.commit, theirs=theirs)
        report = SyncReport(remote=remote.name, branch=remote.branch, address=remote.address)
        if not head.commit and not theirs:
            return report
        meeting = _Meeting(self._notebook, head, remote, theirs, loss_ok=self._accepts)
        try:
            meeting.build()
            if meeting.to != theirs:
                # Kept before others see what was merged.
                meeting.keep_clashes()
                push(self._repo, remote, meeting.to, seen=theirs)
            meeting.finish()
        finally:
            with suppress(CommonplaceError):
                remove_half_made(self._repo)
        return replace(
            report,
            received=meeting.received,
            sent=meeting.sent,
            dropped=meeting.dropped,
            conflicts=tuple(sorted({x.section for x in meeting.clashes})),
            before=head.commit,
            now=meeting.to,
            notes=tuple(meeting.notes),
        )


class _Meeting:
    """One attempt to bring two branches to one commit, and what has come of it.

    Refs of ours hold it: below `next` what is being made, below `clashes` the overviews that a
    merge left aside which is being pushed. Those stay if we are cut off: the next sync knows by
    their merge whether it arrived.

    Args:
        head: The branch here.
        theirs: The commit of the branch there, empty for none.

    Attributes:
        to: The commit that both sides are to be at.
        clashes: The overviews that the merge left aside.
        received, sent, dropped, notes: As `SyncReport` has them.
    """

    def __init__(
        self, notebook: NotebookJournal, head: Head, remote: Remote, theirs: str, *, loss_ok: bool
    ) -> None:
        self._notebook = notebook
        self._repo = notebook.repo
        self._ledger = notebook.ledger
        self._head = head
        self._ours = head.commit
        self._theirs = theirs
        self._remote = remote
        self._accepts = loss_ok
        self._place = making_place(head)
        short = remote.branch.removeprefix("refs/heads/")
        at = sha256_hex(remote.address.encode("utf-8", "surrogateescape"))[:8]
        self._synced = f"{_SYNCED}/{remote.name}@{at}/{short}"
        self._tracked = f"refs/remotes/{remote.name}/{short}"
        self._refs = list_refs(self._repo, f"{_OURS}/")
        self.to = ""
        self.clashes: Sequence[Clash] = ()
        self.received = self.sent = self.dropped = 0
        self.notes: list[str] = []

    def build(self) -> None:
        """Make the commit that both sides are to be at, on a ref of ours."""
        self._drop_lost_clashes()
        if self._ledger.catch_up() != self._ours:
            raise branch_moved(self._repo)
        with tempfile.TemporaryDirectory(dir=work_folder(self._repo)) as folder:
            ledger = self._ledger.copy_to(Path(folder, "ledger.db"))
            try:
                self._merge_histories(ledger)
                ledger.catch_up(self.to)
                self.received = ledger.total() - self._ledger.total() + self.dropped
                if not self._accepts:
                    refuse_loss(self._repo, self._ledger, ledger, ours=self._ours, to=self.to)
                if self._ours:
                    known = (self.to, self._theirs)
                    self.notes += dropped_by_rebase(
                        self._repo, self._head.branch, ledger, without=known
                    )
                ledger.catch_up(self._theirs)
                new = entries_between(self._repo, self.to, since=self._theirs)
                self.sent = len({(x.id, x.section) for _, x in new if not ledger.by_id(x.id)})
            finally:
                ledger.close()
        refuse_dirt(self._repo, self._ours, self.to)

    def keep_clashes(self) -> None:
        """Keep the overviews that the merge left aside, those that are not kept yet."""
        chains = [
            (ref, "", [clash_draft(x, self._notebook.signature(), merge=self.to)])
            for x in self.clashes
            if (ref := f"{self._place}/clashes/{clash_key(x)}") not in self._refs
        ]
        commit_chains(self._repo, chains)

    def _drop_lost_clashes(self) -> None:
        """Drop the overviews that were left aside by merges that never arrived."""
        gone = [
            ref
            for ref, name in self._refs.items()
            if ref.startswith(f"{self._place}/clashes/")
            and not (
                self._theirs and self._repo.is_ancestor(merge_of(self._repo, name), self._theirs)
            )
        ]
        why = "commonplace sync: not arrived"
        update_refs(self._repo, [RefUpdate(ref, "") for ref in gone], why=why)
        for ref in gone:
            del self._refs[ref]

    def _merge_histories(self, ledger: Ledger) -> None:
        ours, theirs = self._ours, self._theirs
        if not theirs or not ours:
            self._take(ours or theirs, ledger)
            return
        seen = self._last_seen()
        if seen and not self._repo.is_ancestor(seen, theirs):
            ledger.catch_up(theirs)
            gone = entries_between(self._repo, seen, since=theirs)
            lost = {entry.id for _, entry in gone if not ledger.by_id(entry.id)}
            held = {x for x in lost if self._ledger.by_id(x)}
            # A person who has left that history need accept nothing.
            if held or self._repo.is_ancestor(seen, ours):
                if not self._accepts:
                    raise self._rewritten(len(held))
                self.dropped = len(held)
                self._replay_on_theirs(seen, lost, ledger)
                return
        common = self._repo.list_merge_bases(ours, theirs)
        if common in ([ours], [theirs]):
            self._take(theirs if common == [ours] else ours, ledger)
            return
        if not common:
            refuse_stranger(self._repo, self._remote, theirs)
        # Where they part at several commits, since people merged crosswise, an older text would
        # pass for a newer one against any of them: against none all that differs is a clash.
        base = common[0] if len(common) == 1 else ""
        joined = TreeMerge(self._repo, base=base, ours=ours, theirs=theirs).run()
        self._put_on_theirs(joined, ledger, others=[ours])

    def _take(self, to: str, ledger: Ledger) -> None:
        """A history as it is, with one commit more where files state wrong counts."""
        self.to = self._merging(ledger).take(to)

    def _put_on_theirs(
        self,
        joined: MergedTree,
        ledger: Ledger,
        *,
        before: Sequence[CommitDraft] = (),
        others: Sequence[str] = (),
    ) -> None:
        """Put what was merged on theirs; see `HistoryMerge.put_on`."""
        merging = self._merging(ledger)
        self.to = merging.put_on(self._theirs, joined, before=before, others=others)
        self.clashes, self.notes = joined.clashes, joined.notes

    def _merging(self, ledger: Ledger) -> HistoryMerge:
        return HistoryMerge(notebook=self._notebook, place=self._place, ledger=ledger)

    def _replay_on_theirs(self, seen: str, lost: Collection[str], ledger: Ledger) -> None:
        """What was written here since, on a history that was rewritten: its entries, then files.

        A merge would bring back what they took out. The ledger holds theirs.
        """
        ours, theirs, signature = self._ours, self._theirs, self._notebook.signature()
        held = self._repo.is_ancestor(seen, ours)
        base = seen if held else self._repo.merge_base(ours, theirs)
        join = TreeMerge(self._repo, base=base, ours=ours, theirs=theirs)
        joined = join.run()
        drafts = [move_draft(signature, old, new) for old, new in join.our_moves]
        for commit, entry in entries_between(self._repo, ours, since=(theirs, seen)):
            if entry.id not in lost and not ledger.by_id(entry.id):
                place = join.name_of(self._ledger.current_section(entry.id, entry.section))
                (blob,) = self._repo.read_objects([commit.hash])
                content = blob.content if blob else b""
                drafts.append(
                    entry_draft(signature, commit, content, replace(entry, section=place))
                )
        drafts += [
            replace(maintenance_draft(signature, message), at=commit.at)
            for commit, message in set_ends_between(self._repo, ours, since=(theirs, seen))
        ]
        if not drafts and joined.files == list_tree(self._repo, theirs):
            self._take(theirs, ledger)
        else:
            self._put_on_theirs(joined, ledger, before=drafts)

    def _last_seen(self) -> str:
        """The remote's commit as the last sync, or a clone, left it; empty for none."""
        if known := self._refs.get(self._synced, ""):
            return known
        if any(ref.startswith(f"{_SYNCED}/{self._remote.name}@") for ref in self._refs):
            return ""  # it lay elsewhere then: what was pushed there says nothing of this one
        return list_refs(self._repo, self._tracked).get(self._tracked, "")

    def _rewritten(self, lost: int) -> Conflict:
        name, git = self._remote.name, self._repo.shell_command
        gone = f"{lost} of your entries are gone from it" if lost else "no entry is gone from it"
        return Conflict(
            f"The history at the remote {name} was rewritten since the last sync: {gone}.",
            hint=f"Look at it: {git} log {self._theirs[:12]}. Take it as it is with"
            f" `commonplace notebook sync --remote {name} --accept-loss`: what you wrote since is"
            " kept.",
        )

    def finish(self) -> None:
        """Move the branch to what was made, and with it all that says so; then the folder."""
        refs = list_refs(self._repo, f"{self._place}/")
        moves = [RefUpdate(ref, self.to) for ref in (self._synced, self._tracked)]
        if self.to != self._ours:
            moves.append(RefUpdate(self._head.branch, self.to, self._ours))
        place, kept = f"{self._place}/clashes/", open_place(self._head.branch)
        for ref, name in refs.items():
            if ref.startswith(place):
                moves.append(RefUpdate(f"{kept}/{ref.removeprefix(place)}", name))
            moves.append(RefUpdate(ref, ""))
        with self._repo.locked() as repo:
            changes = compare_trees(repo, self._ours, self.to)
            with WorkTree(repo).following(self._head, changes) as notes:
                update_refs(repo, moves, why=f"commonplace sync: {self._remote.name}")
        self._ledger.catch_up()
        with suppress(BranchMoved):
            Clashes(self._notebook).forget_settled()
        self.notes += [*notes, *links_left(self._repo, changes)]
