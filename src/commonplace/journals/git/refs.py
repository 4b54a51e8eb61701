"""Owns how refs are listed and moved: several in one step, each only from where it was seen.

Never touches a work tree, and never moves a ref that another process has moved.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.journals.git.commit import branch_moved
from commonplace.journals.git.run import explain_failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.journals.git.repo import GitRepository

# Commands that put a branch where they had found it when they began, whatever moved it since.
_BACK = re.compile(r"reset: moving to HEAD|rebase \(abort\): .*")
_LAST_LINES = 10_000
_STASH = "refs/stash"


class RefUpdate(Struct, frozen=True):
    """A ref to be moved.

    Attributes:
        new: Empty to remove it.
        old: Where it was seen, empty for nowhere; None where that does not matter.
    """

    ref: str
    new: str
    old: str | None = None


def list_refs(repo: GitRepository, prefix: str) -> dict[str, str]:
    """The refs below a prefix, each with the name of what it points to."""
    ran = repo.git.run(["for-each-ref", "--format=%(objectname) %(refname)", prefix])
    return _parse_refs(ran.out)


def find_leading(repo: GitRepository, commits: Sequence[str]) -> dict[str, str]:
    """The refs in whose history one of these commits lies; those that are gone are passed over.

    A stash counts wherever it is in the stack.
    """
    names = [each.name for each in repo.read_objects(commits) if each is not None]
    if not names:
        return {}
    asked = [f"--contains={name}" for name in names]
    ran = repo.git.run(["for-each-ref", "--format=%(objectname) %(refname)", *asked])
    leading = _parse_refs(ran.out)
    if _STASH not in leading:
        ran = repo.git.run(["rev-list", "--walk-reflogs", _STASH, "--"], statuses=(0, 128))
        stashed = ran.out.decode("ascii", "replace").split() if ran.status == 0 else []
        if any(repo.is_ancestor(name, each) for each in stashed for name in names):
            leading[_STASH] = stashed[0]
    return leading


class OtherTree(Struct, frozen=True):
    """Another work tree of a repository: where it lies, its branch (empty: none), its commit."""

    path: str
    branch: str
    commit: str


def list_other_trees(repo: GitRepository) -> list[OtherTree]:
    """The other work trees of a repository."""
    ran = repo.git.run(["worktree", "list", "--porcelain", "-z"])
    found: list[OtherTree] = []
    for each in ran.out.decode("utf-8", "surrogateescape").split("\0\0"):
        facts = dict(line.partition(" ")[::2] for line in each.split("\0"))
        path = facts.get("worktree", "")
        if path and "bare" not in facts and os.path.realpath(path) != str(repo.folder):
            found.append(OtherTree(path, facts.get("branch", ""), facts.get("HEAD", "")))
    return found


def update_refs(repo: GitRepository, moves: Sequence[RefUpdate], *, why: str) -> None:
    """Move all of these or none. why: a line for the reflog.

    Raises: BranchMoved where one is not where it was seen; Unavailable, Denied.
    """
    if not moves:
        return
    given = "".join(_render(move) for move in moves)
    ran = repo.git.run(
        ["update-ref", "-m", why, "--stdin", "-z"],
        stdin=given.encode("utf-8", "surrogateescape"),
        statuses=range(-64, 256),
    )
    if ran.status == 0:
        return
    if any(sign in ran.err for sign in ("but expected", "already exists", "unable to resolve")):
        raise branch_moved(repo)
    raise explain_failure(repo.folder, "update-ref", ran)


def find_reset(repo: GitRepository, branch: str, commit: str) -> str:
    """Where a command of git's put a branch, that had read it before it came to be at a commit.

    No person asked for that: `git stash`, say, resets to where the branch was when it began, though
    an entry was written and acknowledged meanwhile. Empty where no such move from the commit is in
    the last lines of the reflog. Never raises.
    """
    lines: list[str] = []
    with contextlib.suppress(OSError), open(repo.common_dir / "logs" / branch, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(size - _LAST_LINES, 0))
        lines = file.read().decode("utf-8", "replace").splitlines()
    for line in reversed(lines):
        facts, _, why = line.partition("\t")
        old, new, *_ = [*facts.split(" "), "", ""]
        if old == commit:
            return new if _BACK.fullmatch(why) and new != old else ""
    return ""


def _parse_refs(out: bytes) -> dict[str, str]:
    lines = out.decode("utf-8", "surrogateescape").splitlines()
    return {ref: name for name, _, ref in (line.partition(" ") for line in lines)}


def _render(move: RefUpdate) -> str:
    if not move.new:
        return f"delete {move.ref}\0{move.old or ''}\0"
    if move.old == "":
        return f"create {move.ref}\0{move.new}\0"
    return f"update {move.ref}\0{move.new}\0{move.old or ''}\0"
