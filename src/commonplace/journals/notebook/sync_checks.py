"""Owns what a sync must not do unasked: lose entries, mix strangers, overwrite a person's files.

Moves no branch; reads the histories of both sides, and counts, or raises Conflict. What git or the
disk refuses is Unavailable or Denied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.errors import Conflict
from commonplace.core.files import translated
from commonplace.core.text import opening
from commonplace.journals.git.commit import branch_moved
from commonplace.journals.git.history import heads_before_rebase, read_history
from commonplace.journals.git.refs import RefUpdate, find_leading, update_refs
from commonplace.journals.git.rewriting import drop_unreachable
from commonplace.journals.git.trees import compare_trees, list_tree
from commonplace.journals.notebook.format import entries_of, parse_message, set_end_of
from commonplace.journals.notebook.names import find_section
from commonplace.journals.notebook.work_tree import WorkTree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from commonplace.journals.git.history import Commit
    from commonplace.journals.git.remote import Remote
    from commonplace.journals.git.repo import GitRepository
    from commonplace.journals.git.trees import TreeChange
    from commonplace.journals.notebook.format import CommitMessage, NotebookEntry
    from commonplace.journals.notebook.ledger import Ledger

FORGOTTEN = "commonplace-forgotten"
"""A file beside git's own: commits of the former history, to one of which all leads that `forget`
took out."""

BACKUPS = "refs/commonplace/before-forgetting"
"""Below it former branches are kept, each under the second since 1970 when it goes."""

_TENTH = 10
_NAMED = 10


def entries_between(
    repo: GitRepository, until: str, *, since: str | Sequence[str]
) -> Iterator[tuple[Commit, NotebookEntry]]:
    """The entries up to a commit that earlier ones do not hold, oldest first, by their commits."""
    for commit in read_history(repo, until, since=since):
        for entry in entries_of(commit):
            yield commit, entry


def set_ends_between(
    repo: GitRepository, until: str, *, since: Sequence[str]
) -> Iterator[tuple[Commit, CommitMessage]]:
    """The commits that say when earlier entries expire, up to one and not in others' histories."""
    for commit in read_history(repo, until, since=since, paths=False):
        message = parse_message(commit.message)
        if set_end_of(message):
            yield commit, message


def refuse_shallow(repo: GitRepository) -> None:
    """Refuse a clone whose history is cut off."""
    if repo.is_shallow:
        raise Conflict(
            f"The notebook {repo.folder} is a shallow clone: its history is cut off.",
            hint=f"Fetch the rest first: {repo.shell_command} fetch --unshallow",
        )


def read_forgotten(repo: GitRepository) -> list[str]:
    """The commits of former histories that no remote may bring back."""
    path = repo.common_dir / FORGOTTEN
    with translated(path):
        try:
            return path.read_text("ascii", "replace").split()
        except FileNotFoundError:
            return []


def refuse_forgotten(repo: GitRepository, remote: Remote, *, ours: str, theirs: str) -> None:
    """Refuse a remote that would bring back what was forgotten here, and not taken back since.

    What was fetched of it goes again.
    """
    gone = [
        each
        for each in read_forgotten(repo)
        if theirs and repo.is_ancestor(each, theirs) and not (ours and repo.is_ancestor(each, ours))
    ]
    if gone:
        with repo.locked() as writable:
            followers = find_followers(find_leading(writable, gone))
            moves = [RefUpdate(ref, "") for ref in followers]
            update_refs(writable, moves, why="commonplace sync: refused")
            drop_unreachable(writable)
        branch = remote.branch.removeprefix("refs/heads/")
        raise Conflict(
            f"The remote {remote.name} still has what was forgotten here.",
            hint=f"Put this history in the place of its own: {repo.shell_command} push --force"
            f" {remote.name} HEAD:{branch}; then `commonplace notebook sync --accept-loss` in"
            " every other clone.",
        )


def find_followers(leading: Iterable[str]) -> list[str]:
    """Of the refs that lead to a former history those that are ours to remove.

    Where remotes were, and what a sync kept; not what is kept to take it back.
    """
    ours = [ref for ref in leading if ref.startswith(("refs/remotes/", "refs/commonplace/"))]
    return [ref for ref in ours if not ref.startswith(BACKUPS)]


def refuse_stranger(repo: GitRepository, remote: Remote, theirs: str) -> None:
    """Refuse a remote that is not a notebook; two notebooks begun apart may be joined."""
    if all(find_section(path) for path in list_tree(repo, theirs)):
        return  # sections alone, whichever tool committed them
    for commit in read_history(repo, theirs, paths=False):
        if parse_message(commit.message).entry_id:
            return
    raise Conflict(
        f"The remote {remote.name} ({opening(remote.address, 200)}) has a history of"
        " its own, and is not a notebook.",
        hint="If it is the right one, join them with plain git and sync again:"
        f" {repo.shell_command} pull --no-rebase --allow-unrelated-histories"
        f" {remote.name} {remote.branch.removeprefix('refs/heads/')}",
    )


def refuse_loss(repo: GitRepository, kept: Ledger, merged: Ledger, *, ours: str, to: str) -> None:
    """Refuse to take more than a tenth of our entries out of sight.

    kept: the ledger of our history; merged: of what the sync has made; to: the commit of that.
    """
    if not ours:
        return
    now = {x for path in list_tree(repo, to) if (x := find_section(path))}
    before = {x for path in list_tree(repo, ours) if (x := find_section(path))}
    counts = kept.section_counts()
    gone: dict[str, int] = {}
    for name in before & counts.keys():
        if now.isdisjoint({name, merged.current_name(name)}):
            lines = kept.newest(name, length=counts[name].count)
            unseen = [x for x in lines if now.isdisjoint(y.section for y in merged.by_id(x.id))]
            gone |= {name: len(unseen)} if unseen else {}
    total, dropped = sum(x.count for x in counts.values()), sum(gone.values())
    if dropped * _TENTH > total:
        names = opening(", ".join(sorted(gone)), 200)
        raise Conflict(
            f"At the remote the sections of {dropped} of {total} entries are gone: {names}.",
            hint="To let them go, sync again with --accept-loss. To keep them, bring their files"
            " back there first.",
        )


def dropped_by_rebase(
    repo: GitRepository, branch: str, ledger: Ledger, *, without: Sequence[str]
) -> list[str]:
    """Sentences on entries that a rebase by hand took for nothing new, since the last sync.

    `git pull --rebase` left an entry out that only raised a count to what a teammate's had made it
    already: to git its change was there.

    branch: its reflog says where it was before; ledger: of what the sync has made; without: commits
    whose histories hold nothing that was lost.
    """
    lost = {
        entry.id: (entry, commit.hash)
        for old in heads_before_rebase(repo, branch, since="commonplace sync")
        for commit, entry in entries_between(repo, old, since=without)
        if not entry.by_hand and not ledger.by_id(entry.id)
    }
    git = repo.shell_command
    return [
        f"A rebase by hand lost an entry of {entry.section}, {opening(entry.summary, 60)!r}:"
        f" {git} commit --allow-empty -C {name[:12]} brings it back, then sync again."
        for entry, name in [*lost.values()][:_NAMED]
    ]


def links_left(repo: GitRepository, changes: Mapping[str, TreeChange]) -> list[str]:
    """Sentences on what lies in a tree, or lay there, that only git itself brings into a folder."""
    odd = sorted(path for path, change in changes.items() if not change.is_file)
    git = repo.shell_command
    return [
        f"{path} is a link, or another repository, and is left to git: {git} restore -- {path}."
        for path in ([] if repo.is_bare else odd[:_NAMED])
    ]


def refuse_dirt(repo: GitRepository, ours: str, to: str, *, act: str = "sync") -> None:
    """Refuse a sync, or a merge, that would change a file that a person has changed there.

    Raises: BranchMoved where another process has written: what it changed is no person's edit.
    """
    if repo.is_bare:
        return
    with repo.locked() as writable:
        # What a process left that was killed after it had moved the branch.
        WorkTree(writable).refresh()
        if writable.head().commit != ours:
            raise branch_moved(repo)
        refuse_edits(writable, ours, compare_trees(writable, ours, to), act=act)


def refuse_edits(
    repo: GitRepository, ours: str, changes: Mapping[str, TreeChange], *, act: str
) -> None:
    """Refuse to change a file that a person has changed in the folder.

    repo: as it is brought up to date; act: what would change the files, as a verb.
    """
    if dirty := WorkTree(repo).dirty(ours, changes):
        git = repo.shell_command
        names = opening(", ".join(dirty), 200)
        raise Conflict(
            f"Changed in the folder and not committed: {names}; to {act} would change them too.",
            hint=f"Commit it: {git} add -- FILE, then {git} commit; or undo it: {git} restore"
            f" --staged --worktree -- FILE. Then {act} again.",
        )
