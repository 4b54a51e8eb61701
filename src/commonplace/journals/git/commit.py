"""Owns how a commit is put on a branch: one call of git that moves it on or leaves it as it was.

Never writes a work tree, and never moves a branch to a commit that does not hold all it held.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field

from commonplace.core.errors import Conflict, Invalid
from commonplace.core.text import opening
from commonplace.journals.git.run import LONG_TIMEOUT_S, TIMEOUT_S, explain_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.journals.git.repo import GitRepository, Head
    from commonplace.journals.git.run import GitResult

Made = TypeVar("Made")

RETRY_S = 20.0
"""How long a branch that others move again and again is tried."""
_PAUSE_S = 0.01

# The tree with nothing in it, by the length of a repository's names.
EMPTY_TREES = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}


class CommitDraft(Struct, frozen=True, kw_only=True):
    """A commit to be made on a parent.

    Attributes:
        message: In UTF-8.
        author, committer: As `Name <address>`.
        at, now: The author's time, and the committer's, written in `zone`.
        puts: The new bytes of files by path.
        modes: Of those files that are not 100644.
        links: Mode and name of an object that is there, by path.
        renames: Paths to other paths, before the puts.
        drops: Paths to remove.
        others: Further parents, of a merge.
    """

    message: bytes
    author: str
    committer: str
    at: datetime
    now: datetime
    zone: tzinfo
    puts: Mapping[str, bytes] = field(default_factory=dict)
    modes: Mapping[str, str] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)
    drops: Sequence[str] = ()
    others: Sequence[str] = ()
    links: Mapping[str, tuple[str, str]] = field(default_factory=dict)


class BranchMoved(Conflict):
    """Another process moved the branch; build the commit again on what is there."""


def branch_moved(repo: GitRepository) -> BranchMoved:
    """What to raise where our branch is elsewhere than it was seen."""
    return BranchMoved("The notebook {place} has moved on.", hint="Try again.", place=repo.folder)


def commit(repo: GitRepository, head: Head, drafts: Sequence[CommitDraft]) -> str:
    """Put commits one on the other on the branch if it is where `head` says; the last one's hash.

    drafts: one at least. git takes the branch's lock, refuses where its commit is not an ancestor
    of the new ones, and moves it in one step; objects and branch are on the disk when this returns.
    Raises: BranchMoved, Invalid, Unavailable, Denied, Conflict.
    """
    ran = _import(repo, _render_chain(head.branch, head.commit, drafts))
    if ran.status == 0:
        return ran.out.decode("ascii", "replace").strip()
    if repo.head() != head:
        raise branch_moved(repo)
    raise explain_failure(repo.folder, "fast-import", ran)


def commit_chains(
    repo: GitRepository, chains: Sequence[tuple[str, str, Sequence[CommitDraft]]]
) -> None:
    """Put commits one on the other on refs of ours, all in one call of git.

    chains: a ref that is not there yet, the commit it begins at (empty for none), its commits.
    Raises: Invalid, Unavailable, Denied.
    """
    stream = b"".join(_render_chain(*chain) for chain in chains)
    if not stream:
        return
    ran = _import(repo, stream, timeout_s=LONG_TIMEOUT_S)
    if ran.status:
        raise explain_failure(repo.folder, "fast-import", ran)


def _import(repo: GitRepository, stream: bytes, *, timeout_s: float = TIMEOUT_S) -> GitResult:
    """Give commits to git; a report of its that is left of them goes: no text lies outside one."""
    # `done` at the end: what is cut off with us makes no commit.
    asked = ["fast-import", "--quiet", "--done", "--date-format=raw"]
    ran = repo.git.run(
        ["-c", "fastimport.unpackLimit=100", *asked],
        stdin=b"feature done\n" + stream + b"get-mark :1\ndone\n",
        timeout_s=timeout_s,
        statuses=range(-64, 256),
    )
    for path in repo.git_dir.glob("fast_import_crash_*") if ran.status else ():
        with contextlib.suppress(OSError):
            os.unlink(path)
    return ran


def retry_while_branch_moves(
    attempt: Callable[[], Made], *, sleep: Callable[[float], None] = time.sleep
) -> Made:
    """Make an attempt again as long as others move the branch, for some seconds at most.

    Raises: Conflict when they do not stop; whatever an attempt raises.
    """
    tries = math.ceil(RETRY_S / _PAUSE_S / 10)
    for number in range(tries):
        try:
            return attempt()
        except BranchMoved as exc:
            if number + 1 == tries:
                hint = "Others write all the time; try later."
                raise exc.as_kind(Conflict, hint=hint) from exc
            sleep(min(_PAUSE_S * (number + 1), 0.2))
    raise AssertionError  # the last attempt returns or raises


def render_person(identity: str) -> str:
    """`Name <address>` as a commit may hold it. Raises: Invalid."""
    name, sign, rest = identity.partition("<")
    address = rest.rpartition(">")[0] if rest.rstrip().endswith(">") else ""
    cleaned = " ".join("".join(" " if c in "<>\n\r\0" else c for c in name).split())
    if not sign or not address.strip() or any(c in "<>\n\r\0" for c in address) or not cleaned:
        raise Invalid(
            f"Invalid author: {opening(identity, 80)!r}.",
            hint="Write it as 'Ann Example <ann@example.org>'.",
        )
    return f"{cleaned} <{address.strip()}>"


def _render_chain(ref: str, start: str, drafts: Sequence[CommitDraft]) -> bytes:
    # Only the first says where it begins: git goes on with what it has just made.
    return b"".join(_render(ref, "" if n else start, draft) for n, draft in enumerate(drafts))


def _render(ref: str, start: str, draft: CommitDraft) -> bytes:
    lines = [
        f"commit {ref}",
        "mark :1",
        f"author {draft.author} {_stamp(draft.at, draft.zone)}",
        f"committer {draft.committer} {_stamp(draft.now, draft.zone)}",
        f"data {len(draft.message)}",
    ]
    parts = ["\n".join(lines).encode("utf-8", "surrogateescape"), b"\n", draft.message, b"\n"]
    if start:
        parts.append(f"from {start}\n".encode())
    parts += [f"merge {x}\n".encode() for x in draft.others]
    parts += [f"R {_quoted(x)} {_quoted(y)}\n".encode() for x, y in draft.renames.items()]
    parts += [f"D {_quoted(x)}\n".encode() for x in draft.drops]
    for path, (mode, name) in draft.links.items():
        parts.append(f"M {mode} {name} {_quoted(path)}\n".encode())
    for path, content in draft.puts.items():
        mode = draft.modes.get(path, "100644")
        parts.append(f"M {mode} inline {_quoted(path)}\ndata {len(content)}\n".encode())
        parts += [content, b"\n"]
    return b"".join(parts)


def _quoted(path: str) -> str:
    """A path as fast-import reads it whatever it holds: in quotes, odd bytes as octal."""
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._- "
    raw = path.encode("utf-8", "surrogateescape")
    return '"' + "".join(chr(x) if x in plain else f"\\{x:03o}" for x in raw) + '"'


def _stamp(at: datetime, zone: tzinfo) -> str:
    seconds = math.floor(at.timestamp())
    if seconds < 0:
        raise Invalid(
            f"A time before 1970: {at.isoformat()}.",
            hint="git keeps none; name the time in the text and leave `at` out.",
        )
    try:
        offset = at.astimezone(zone).utcoffset()
    except (OverflowError, ValueError):
        offset = None
    minutes = round(offset.total_seconds() / 60) if offset else 0
    return f"{seconds} {'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}{abs(minutes) % 60:02d}"
