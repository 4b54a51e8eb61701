"""Owns how a notebook and a remote come to hold the same: fetched, merged, counted, pushed.

Never leaves a tree half merged, never pushes over what others pushed meanwhile, and leaves branch
and folder as they were where it fails. No commit of anybody gets another hash.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError, Conflict
from commonplace.core.files import locked, make_folder
from commonplace.core.text import opening
from commonplace.journals.git.commit import Moved, commit_chains
from commonplace.journals.git.history import heads_before_rebase, read_history
from commonplace.journals.git.refs import RefUpdate, list_refs, update_refs
from commonplace.journals.git.remote import fetch, find_remote, push
from commonplace.journals.git.trees import TreeEntry, compare_trees, list_tree
from commonplace.journals.notebook.conflicts import (
    Clashes,
    clash_draft,
    clash_key,
    merge_of,
    open_place,
)
from commonplace.journals.notebook.drafts import entry_draft, move_draft, own_draft
from commonplace.journals.notebook.format import entries_of, parse_file, parse_message
from commonplace.journals.notebook.join import (
    MERGED,
    RECOUNTED,
    MergedOverview,
    MergedTree,
    ThreeWay,
    TreeMerge,
    find_base,
    joined_draft,
)
from commonplace.journals.notebook.names import find_section
from commonplace.journals.notebook.tree import WorkTree

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from commonplace.journals.git.commit import CommitDraft
    from commonplace.journals.git.remote import Remote
    from commonplace.journals.git.repo import GitRepository, Head
    from commonplace.journals.git.trees import TreeChange
    from commonplace.journals.notebook.join import Clash
    from commonplace.journals.notebook.journal import Notebook
    from commonplace.journals.notebook.ledger import Ledger

TRIES = 10
_PAUSE_S = 0.2
_AT_ONCE = 500
_TENTH = 10
_NAMED = 10
_OURS = "refs/commonplace"
_SYNCED = f"{_OURS}/synced"
_FOLDER = "commonplace-sync"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncReport:
    """What a sync came to. received, sent: entries new here, and there; dropped: gone from here.

    conflicts: sections whose overview of ours waits to be settled. before: where the branch was.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _SyncInput:
    """What a sync begins with: the branch here, the branch there, our refs."""

    head: Head
    remote: Remote
    theirs: str
    refs: Mapping[str, str]


@dataclass(slots=True, kw_only=True)
class _SyncResult:
    """What a sync has made. to: the commit that both sides are to be at."""

    to: str
    clashes: Sequence[Clash] = ()
    received: int = 0
    sent: int = 0
    dropped: int = 0
    notes: Sequence[str] = ()


def work_folder(repo: GitRepository) -> Path:
    """Where a sync keeps what it works on; its lock is on this folder."""
    return repo.shared / _FOLDER


def list_half_made(repo: GitRepository) -> list[str]:
    """What a sync that was cut off has left: its files and refs, by name. Raises: Unavailable."""
    with suppress(FileNotFoundError):
        files = [str(path) for path in work_folder(repo).iterdir()]
        return [*files, *(ref for ref in list_refs(repo, f"{_OURS}/sync/") if "/next/" in ref)]
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

    remote: its name. accept_loss: take what the remote has, even if it lost
    entries.
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
                except Moved as exc:
                    if number + 1 == TRIES:
                        hint = "Others sync all the time; try later."
                        hint = hint if exc.hint == "Try again." else exc.hint
                        raise Conflict(exc.message, hint=hint) from exc
                    self._sleep(_PAUSE_S * (number + 1) * random.uniform(0.5, 1.0))  # noqa: S311  a pause
        raise AssertionError  # the last attempt returns or raises

    def _attempt(self) -> SyncReport:
        self._refuse_shallow()
        head = self._repo.writable_head()
        remote = find_remote(self._repo, self._name, head.branch)
        remove_half_made(self._repo)
        met = self._meet(head, remote, fetch(self._repo, remote))
        if not head.commit and not met.theirs:
            return SyncReport(remote=remote.name, branch=remote.branch, address=remote.address)
        try:
            made = self._make(met)
            if made.to != met.theirs:
                self._keep_clashes(met, made)
                push(self._repo, remote, made.to, seen=met.theirs)
            notes = self._finish(met, made)
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

    def _refuse_shallow(self) -> None:
        if self._repo.is_shallow:
            raise Conflict(
                f"The notebook {self._repo.folder} is a shallow clone: its history is cut off.",
                hint=f"Fetch the rest first: {self._repo.shell_command} fetch --unshallow",
            )

    # Where things are kept: below `next` what is being made, below `clashes` the overviews that a
    # merge left aside which is being pushed. Those stay if we are cut off: the next sync knows by
    # their merge whether it arrived.

    def _place(self, head: Head, what: str) -> str:
        return f"{_OURS}/sync/{head.branch.removeprefix('refs/heads/')}/{what}"

    def _meet(self, head: Head, remote: Remote, theirs: str) -> _SyncInput:
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

    def _make(self, met: _SyncInput) -> _SyncResult:
        """Make the commit that both sides are to be at, on a ref of ours."""
        ours, theirs = met.head.commit, met.theirs
        if self._ledger.catch_up() != ours:
            raise Moved(f"The notebook {self._repo.folder} has moved on.", hint="Try again.")
        with tempfile.TemporaryDirectory(dir=work_folder(self._repo)) as folder:
            ledger = self._ledger.copy_to(Path(folder, "ledger.db"))
            try:
                made = self._joined(met, ledger)
                ledger.catch_up(made.to)
                made.received = ledger.total() - self._ledger.total() + made.dropped
                self._refuse_loss(made.to, ours, ledger)
                made.notes = [*made.notes, *self._dropped_by_rebase(met, made.to, ledger)]
                ledger.catch_up(theirs)
                made.sent = self._only_in(made.to, theirs, ledger)
            finally:
                ledger.close()
        self._refuse_dirt(ours, made.to)
        return made

    def _joined(self, met: _SyncInput, ledger: Ledger) -> _SyncResult:
        ours, theirs = met.head.commit, met.theirs
        if not theirs or not ours:
            return self._counted(met, ours or theirs, ledger)
        seen = self._seen(met)
        if seen and not self._repo.is_ancestor(seen, theirs):
            lost = self._lost(seen, theirs, ledger)
            held = {x for x in lost if self._ledger.by_id(x)}
            is_held = self._repo.is_ancestor(seen, ours)
            # Whoever has left that history himself need accept nothing.
            if is_held or held:
                if not self._accepts:
                    raise self._rewritten(met, len(held))
                return replace(self._put_on_theirs(met, seen, lost, ledger), dropped=len(held))
        common = self._repo.list_common(ours, theirs)
        if common in ([ours], [theirs]):
            return self._counted(met, theirs if common == [ours] else ours, ledger)
        if not common:
            self._refuse_stranger(met)
        base = find_base(
            self._repo,
            ours,
            theirs,
            signature=self._notebook.signature(),
            place=self._place(met.head, "next/base"),
        )
        joined = TreeMerge(self._repo, ThreeWay(base=base, ours=ours, theirs=theirs)).run()
        return self._merged(met, joined, ledger, others=[ours])

    def _counted(self, met: _SyncInput, to: str, ledger: Ledger) -> _SyncResult:
        """A history as it is, with one commit more where files state wrong counts."""
        ledger.catch_up(to)
        before = list_tree(self._repo, to)
        files = self._recount(before, ledger)
        if files != before:
            draft = joined_draft(
                self._notebook.signature(),
                files,
                onto=before,
                count=ledger.count,
                message=RECOUNTED,
            )
            to = self._commit(met, "to", to, [draft])
        return _SyncResult(to=to)

    def _merged(
        self,
        met: _SyncInput,
        joined: MergedTree,
        ledger: Ledger,
        *,
        before: Sequence[CommitDraft] = (),
        others: Sequence[str] = (),
    ) -> _SyncResult:
        """Put what was merged on theirs. before: commits between; others: what it merges."""
        signature, theirs = self._notebook.signature(), met.theirs
        moves = [move_draft(signature, old, new) for old, new in joined.moves]
        bare = replace(own_draft(signature, MERGED), others=others)
        # The history alone says what is to be counted: it is there before the files are.
        ledger.catch_up(self._commit(met, "bare", theirs, [*before, bare, *moves]))
        draft = joined_draft(
            signature,
            self._recount(joined.files, ledger),
            onto=list_tree(self._repo, theirs),
            count=ledger.count,
            others=others,
        )
        to = self._commit(met, "to", theirs, [*before, draft, *moves])
        return _SyncResult(to=to, clashes=joined.clashes, notes=joined.notes)

    def _put_on_theirs(
        self, met: _SyncInput, seen: str, lost: Collection[str], ledger: Ledger
    ) -> _SyncResult:
        """What was written here since, on a history that was rewritten: its entries, then files.

        A merge would bring back what they took out. The ledger holds theirs.
        """
        ours, theirs = met.head.commit, met.theirs
        held = self._repo.is_ancestor(seen, ours)
        base = seen if held else self._repo.common(ours, theirs)
        join = TreeMerge(self._repo, ThreeWay(base=base, ours=ours, theirs=theirs))
        joined = join.run()
        drafts = [move_draft(self._notebook.signature(), old, new) for old, new in join.our_moves]
        for commit in read_history(self._repo, ours, since=(theirs, seen)):
            for entry in entries_of(commit):
                if entry.id not in lost and not ledger.by_id(entry.id):
                    place = join.name_of(self._ledger.place(entry.id, entry.section))
                    (blob,) = self._repo.read_objects([commit.hash])
                    content = blob.content if blob else b""
                    named = replace(entry, section=place)
                    drafts.append(entry_draft(self._notebook.signature(), commit, content, named))
        if not drafts and joined.files == list_tree(self._repo, theirs):
            return self._counted(met, theirs, ledger)
        return self._merged(met, joined, ledger, before=drafts)

    def _commit(self, met: _SyncInput, name: str, start: str, drafts: Sequence[CommitDraft]) -> str:
        ref = self._place(met.head, f"next/{name}")
        commit_chains(self._repo, [(ref, start, drafts)])
        return list_refs(self._repo, ref)[ref]

    def _seen(self, met: _SyncInput) -> str:
        """The remote's commit as the last sync, or a clone, left it; empty for none."""
        short = met.remote.branch.removeprefix("refs/heads/")
        if known := met.refs.get(self._synced(met.remote), ""):
            return known
        if any(ref.startswith(f"{_SYNCED}/{met.remote.name}@") for ref in met.refs):
            return ""  # it lay elsewhere then: what was pushed there tells nothing of this one
        tracked = f"refs/remotes/{met.remote.name}/{short}"
        return list_refs(self._repo, tracked).get(tracked, "")

    def _synced(self, remote: Remote) -> str:
        place = hashlib.sha256(remote.address.encode("utf-8", "surrogateescape")).hexdigest()[:8]
        short = remote.branch.removeprefix("refs/heads/")
        return f"{_SYNCED}/{remote.name}@{place}/{short}"

    def _lost(self, seen: str, theirs: str, ledger: Ledger) -> set[str]:
        """The entries that the remote held when it was seen last, and holds no more."""
        ledger.catch_up(theirs)
        gone = read_history(self._repo, seen, since=theirs)
        return {x.id for commit in gone for x in entries_of(commit) if not ledger.by_id(x.id)}

    def _rewritten(self, met: _SyncInput, lost: int) -> Conflict:
        name, git = met.remote.name, self._repo.shell_command
        gone = f"{lost} of your entries are gone from it" if lost else "no entry is gone from it"
        return Conflict(
            f"The history at the remote {name} was rewritten since the last sync: {gone}.",
            hint=f"Look at it: {git} log {met.theirs[:12]}. Take it as it is with"
            f" `commonplace notebook sync --remote {name} --accept-loss`: what you wrote since is"
            " kept.",
        )

    def _refuse_stranger(self, met: _SyncInput) -> None:
        """Two notebooks begun apart are joined; what is no notebook is left alone."""
        if all(find_section(path) for path in list_tree(self._repo, met.theirs)):
            return  # sections alone, whoever committed them
        for commit in read_history(self._repo, met.theirs, paths=False):
            if parse_message(commit.message).entry_id:
                return
        raise Conflict(
            f"The remote {met.remote.name} ({opening(met.remote.address, 200)}) has a history of"
            " its own, and is no notebook.",
            hint="If it is the right one, join them with plain git and sync again:"
            f" {self._repo.shell_command} pull --no-rebase --allow-unrelated-histories"
            f" {met.remote.name} {met.remote.branch.removeprefix('refs/heads/')}",
        )

    def _recount(
        self, files: Mapping[str, TreeEntry | MergedOverview], ledger: Ledger
    ) -> Mapping[str, TreeEntry | MergedOverview]:
        """These files, those whose count line is wrong, or not alone, to be written again."""
        found = dict(files)
        sections = {
            path: (name, file)
            for path, file in files.items()
            if isinstance(file, TreeEntry)
            and file.is_file
            and (name := find_section(path)) is not None
        }
        paths = [*sections]
        for start in range(0, len(paths), _AT_ONCE):
            some = paths[start : start + _AT_ONCE]
            blobs = self._repo.read_objects([sections[path][1].blob for path in some])
            for path, blob in zip(some, blobs, strict=True):
                name, leaf = sections[path]
                file = parse_file(blob.content if blob else b"", errors="surrogateescape")
                if file.lines > 1 or (file.lines and file.count != ledger.count(name)):
                    found[path] = MergedOverview(leaf.mode, file.overview)
        return found

    def _refuse_loss(self, to: str, ours: str, ledger: Ledger) -> None:
        """Refuse to take more than a tenth of our entries out of sight. Raises: Conflict."""
        if not ours:
            return
        now = {x for path in list_tree(self._repo, to) if (x := find_section(path))}
        before = {x for path in list_tree(self._repo, ours) if (x := find_section(path))}
        tallies = self._ledger.tallies()
        missing = [
            name
            for name in before & tallies.keys()
            if now.isdisjoint({name, ledger.name_now(name)})
        ]
        gone: dict[str, int] = {}
        for name in missing:
            lines = self._ledger.newest(name, length=tallies[name].count)
            unseen = [x for x in lines if now.isdisjoint(y.section for y in ledger.by_id(x.id))]
            gone |= {name: len(unseen)} if unseen else {}
        total, dropped = self._ledger.total(), sum(gone.values())
        if dropped * _TENTH > total and not self._accepts:
            names = opening(", ".join(sorted(gone)), 200)
            raise Conflict(
                f"The remote would take {dropped} of {total} entries out of sight, with their"
                f" sections: {names}.",
                hint="If they are to go: sync again with --accept-loss. If not, bring their files"
                " back there first.",
            )

    def _dropped_by_rebase(self, met: _SyncInput, to: str, ledger: Ledger) -> list[str]:
        """Entries that a rebase by hand took for nothing new, since the last sync.

        git leaves a commit out whose change is there already, as that of a count may be.
        """
        olds = heads_before_rebase(self._repo, met.head.branch, since="commonplace sync")
        if not olds or not met.head.commit:
            return []
        lost = {
            entry.id: (entry, commit.hash)
            for old in olds
            for commit in read_history(self._repo, old, since=(to, met.theirs))
            for entry in entries_of(commit)
            if not entry.by_hand and not ledger.by_id(entry.id)
        }
        git = self._repo.shell_command
        return [
            f"A rebase by hand lost an entry of {entry.section}, {opening(entry.summary, 60)!r}:"
            f" {git} commit --allow-empty -C {name[:12]} brings it back, then sync again."
            for entry, name in [*lost.values()][:_NAMED]
        ]

    def _only_in(self, to: str, theirs: str, ledger: Ledger) -> int:
        """How many entries one history has more than another, which the ledger holds."""
        found = {
            (x.id, x.section)
            for commit in read_history(self._repo, to, since=theirs)
            for x in entries_of(commit)
            if not ledger.by_id(x.id)
        }
        return len(found)

    def _refuse_dirt(self, ours: str, to: str) -> None:
        """Refuse to change a file that a person has changed in the folder. Raises: Conflict."""
        if self._repo.is_bare:
            return
        with self._repo.locked() as repo:
            # What a process left that was killed after it had moved the branch.
            WorkTree(repo).refresh()
        dirty = WorkTree(self._repo).dirty(ours, compare_trees(self._repo, ours, to))
        if dirty:
            git = self._repo.shell_command
            names = opening(", ".join(dirty), 200)
            raise Conflict(
                f"Changed in the folder and not committed: {names}; the sync would change it too.",
                hint=f"Commit it: {git} add -- FILE, then {git} commit; or undo it: {git} restore"
                " --staged --worktree -- FILE. Then sync again.",
            )

    def _keep_clashes(self, met: _SyncInput, made: _SyncResult) -> None:
        """Keep what was left aside, before others see what was merged."""
        place = self._place(met.head, "clashes")
        chains = [
            (ref, "", [clash_draft(x, self._notebook.signature(), merge=made.to)])
            for x in made.clashes
            if (ref := f"{place}/{clash_key(x)}") not in met.refs
        ]
        commit_chains(self._repo, chains)

    def _finish(self, met: _SyncInput, made: _SyncResult) -> tuple[str, ...]:
        """Move the branch to what was made, and with it all that says so; then the folder."""
        head = met.head
        refs = list_refs(self._repo, f"{_OURS}/sync/")
        short = met.remote.branch.removeprefix("refs/heads/")
        moves = [
            RefUpdate(head.branch, made.to, head.commit),
            RefUpdate(self._synced(met.remote), made.to),
            RefUpdate(f"refs/remotes/{met.remote.name}/{short}", made.to),
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
                update_refs(repo, moves, why=f"commonplace sync: {met.remote.name}")
        self._ledger.catch_up()
        with suppress(Moved):
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
