"""Owns how a remote is spoken to: which branch it has, how it is fetched, how it is pushed to.

Never pushes over what was not seen there, and never runs a program that a repository names.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import (
    CommonplaceError,
    Conflict,
    Denied,
    Invalid,
    NotFound,
    Unavailable,
)
from commonplace.core.text import opening
from commonplace.journals.git.commit import BranchMoved
from commonplace.journals.git.run import LOCK, explain_failure, quiet_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.journals.git.repo import GitRepository
    from commonplace.journals.git.run import GitResult

FETCHED = "refs/commonplace/fetched"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]{0,99}")
_USER = re.compile(r"(?<=://)[^/@\s]*@")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://|[^/]+:", re.IGNORECASE)
_ASK_S = 120.0


class Remote(Struct, frozen=True, kw_only=True):
    """A remote as the repository names it, and the branch there that is ours.

    Attributes:
        address: As it may be shown.
        is_here: It lies on a disk of this machine.
        takes_here: So does where it is pushed to, which may be called otherwise.
    """

    name: str
    branch: str
    address: str
    is_here: bool
    takes_here: bool


def find_remote(repo: GitRepository, name: str, branch: str) -> Remote:
    """The remote with a name, for a branch of ours: `refs/heads/main`.

    Raises: Invalid for what is not a name, NotFound where there is none; Unavailable, Denied.
    """
    if not _NAME.fullmatch(name) or ".." in name:
        raise Invalid(
            f"Invalid remote: {opening(name, 60)!r}.",
            hint=f"Name one that `{repo.shell_command} remote` lists.",
        )
    # `config` takes a repository that git does not trust for none at all; this says so.
    repo.git.run(["rev-parse", "--git-dir"])
    if not _values(repo, f"remote.{name}.url"):
        raise NotFound(
            f"The notebook {repo.folder} has no remote {name}.",
            hint=f"Add one: {repo.shell_command} remote add {name} ADDRESS",
        )
    ran = repo.git.run_remote(["ls-remote", "--get-url", "--end-of-options", name])
    address = ran.out.decode("utf-8", "replace").strip()
    pushed = repo.git.run_remote(["remote", "get-url", "--push", "--all", "--end-of-options", name])
    short = branch.removeprefix("refs/heads/")
    upstream = branch
    if _values(repo, f"branch.{short}.remote") == [name]:
        upstream = next(iter(_values(repo, f"branch.{short}.merge")), branch)
    return Remote(
        name=name,
        branch=upstream if upstream.startswith("refs/heads/") else branch,
        address=_USER.sub("", address),
        is_here=_is_here(address),
        takes_here=any(map(_is_here, pushed.out.decode("utf-8", "replace").splitlines())),
    )


def _is_here(address: str) -> bool:
    return address.startswith("file://") or not _ADDRESS.match(address)


def _values(repo: GitRepository, key: str) -> list[str]:
    ran = repo.git.run(["config", "--null", "--get-all", key], statuses=(0, 1))
    return ran.out.decode("utf-8", "surrogateescape").split("\0")[:-1]


def fetch(repo: GitRepository, remote: Remote) -> str:
    """Fetch the branch; its commit there, empty where the remote has no branch at all.

    Nothing of the repository but a ref of ours is moved.
    Raises: Conflict where the remote has other branches alone; Unavailable, Denied.
    """
    ours = f"{FETCHED}/{remote.name}/{remote.branch.removeprefix('refs/heads/')}"
    known = _heads(repo, remote)
    if remote.branch not in known:
        if known:
            raise _other_branch(repo, remote, sorted(known))
        return ""
    ran = repo.git.run_remote(
        [
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"),
            *("--no-recurse-submodules", "--no-prune", "--refmap=", "--no-show-forced-updates"),
            *_serving("upload-pack", is_here=remote.is_here),
            *("--end-of-options", remote.name, f"+{remote.branch}:{ours}"),
        ]
    )
    if ran.status:
        raise _explained(repo, remote, "fetch", ran)
    found = repo.git.run(["rev-parse", "--verify", "--end-of-options", f"{ours}^{{commit}}"])
    return found.out.decode("ascii").strip()


def push(repo: GitRepository, remote: Remote, commit: str, *, seen: str) -> None:
    """Put the branch there on a commit, if it still is where it was seen; empty for nowhere.

    Raises: BranchMoved where it is not; Conflict, Unavailable, Denied.
    """
    ran = repo.git.run_remote(
        [
            *("push", "--quiet", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed"),
            *("--recurse-submodules=no", f"--force-with-lease={remote.branch}:{seen}"),
            *_serving("receive-pack", is_here=remote.takes_here),
            *("--end-of-options", remote.name, f"{commit}:{remote.branch}"),
        ]
    )
    if ran.status == 0:
        return
    output = ran.out.decode("utf-8", "replace") + ran.err
    if lock := LOCK.search(output):
        raise BranchMoved(
            f"The remote {remote.name} is locked: {os.path.normpath(lock['path'])} is there.",
            hint="Wait until the other push has ended; if there is none, remove that file.",
        )
    if any(sign in output for sign in _OTHERS_FIRST):
        raise BranchMoved(f"The remote {remote.name} has moved on.", hint="Try again.")
    raise _explained(repo, remote, "push", ran)


_OTHERS_FIRST = (
    "[rejected]",
    "stale info",
    "fetch first",
    "non-fast-forward",
    "failed to update ref",
    "cannot lock ref",
    "incorrect old value provided",
)


def _heads(repo: GitRepository, remote: Remote) -> set[str]:
    ran = repo.git.run_remote(
        [
            *("ls-remote", "--heads", "--quiet", *_serving("upload-pack", is_here=remote.is_here)),
            *("--end-of-options", remote.name),
        ],
        timeout_s=_ASK_S,
    )
    if ran.status:
        raise _explained(repo, remote, "ls-remote", ran)
    lines = ran.out.decode("utf-8", "surrogateescape").splitlines()
    return {line.partition("\t")[2] for line in lines}


def _serving(verb: str, *, is_here: bool) -> list[str]:
    """What serves the remote: git itself, whatever the configuration names.

    A remote on this machine is served by a program of this user: no hook of it may run.
    """
    served = quiet_command(verb) if is_here else f"git-{verb}"
    return [f"--{verb}={served}"]


def _other_branch(repo: GitRepository, remote: Remote, known: Sequence[str]) -> Conflict:
    names = [x.removeprefix("refs/heads/") for x in known]
    wanted = remote.branch.removeprefix("refs/heads/")
    git = repo.shell_command
    first = "main" if "main" in names else "master" if "master" in names else names[0]
    how = (
        f"{git} branch -m {first}"
        if repo.head().commit
        else f"{git} symbolic-ref HEAD refs/heads/{first}"
    )
    shown = opening(", ".join(names), 100)
    return Conflict(
        f"The remote {remote.name} has no branch {wanted}, but has: {shown}.",
        hint=f"Name yours as it is named there, {how}, and sync again; to begin a branch of its"
        f" own there: {git} push {remote.name} {wanted}.",
    )


def _explained(repo: GitRepository, remote: Remote, verb: str, ran: GitResult) -> CommonplaceError:
    """What git, or the remote, refused, with the next step; no password of an address is shown."""
    output = _USER.sub("", ran.err + ran.out.decode("utf-8", "replace"))
    names = {
        "name": remote.name,
        "address": opening(remote.address, 200),
        "git": repo.shell_command,
    }
    for signs, kind, message, hint in _EXPLANATIONS:
        if any(sign in output for sign in signs):
            return kind(message.format(**names), hint=hint.format(**names))
    if "fatal:" not in output and "error:" not in output:
        return explain_failure(repo.folder, verb, ran)
    line = next(x for x in output.splitlines() if "fatal:" in x or "error:" in x)
    return Unavailable(
        f"The remote {remote.name} ({names['address']}) gave an error:"
        f" {opening(line.strip(), 200)}",
        hint=f"See what {names['git']} fetch {remote.name} says.",
    )


_Explanation = tuple[tuple[str, ...], type[CommonplaceError], str, str]
_EXPLANATIONS: tuple[_Explanation, ...] = (
    (
        ("transport '", "remote helper", "Unable to find remote helper"),
        Denied,
        "The address of the remote {name} is of a kind that may run programs: {address}.",
        (
            "Use a path, or an address that begins with https:, ssh: or git:, with"
            " {git} remote set-url {name} ADDRESS."
        ),
    ),
    (
        ("dubious ownership",),
        Denied,
        "The remote {name} ({address}) belongs to another user, and git does not trust it.",
        "If you do, run: git config --global --add safe.directory {address}",
    ),
    (
        (
            "terminal prompts disabled",
            "Authentication failed",
            "could not read Username",
            "could not read Password",
            "Permission denied (",
            "Host key verification failed",
            "The requested URL returned error: 403",
            "access denied or repository not exported",
        ),
        Denied,
        "The remote {name} ({address}) does not let you in.",
        "Sign in once with plain git: {git} fetch {name}; then sync again.",
    ),
    (
        ("refusing to update checked out branch", "[remote rejected] (branch is currently checked"),
        Denied,
        "The remote {name} ({address}) has that branch checked out, and lets nobody write to it.",
        (
            "Use a bare repository as the meeting place: git clone --bare {address} NEW-PLACE; then"
            " {git} remote set-url {name} NEW-PLACE."
        ),
    ),
    (
        ("[remote rejected]",),
        Denied,
        "The remote {name} ({address}) refuses what is pushed to it.",
        "See what it says: {git} push {name}.",
    ),
    (
        ("fsck error", "unable to process", "invalid index-pack output", "bad tree", "hasDot"),
        Denied,
        "The remote {name} ({address}) sends objects that git finds faulty; nothing was taken.",
        "Look at that repository with git fsck --strict, where it lies.",
    ),
    (
        (
            "does not appear to be a git repository",
            "Repository not found",
            "not found",
            "Could not resolve host",
            "unable to access",
            "Connection refused",
            "Connection timed out",
            "Could not read from remote repository",
            "unable to connect",
            "The remote end hung up",
            "early EOF",
        ),
        Unavailable,
        "The remote {name} ({address}) cannot be reached.",
        "Check the address and the network: {git} ls-remote {name}.",
    ),
    (
        ("No space left on device",),
        Unavailable,
        "No space is left, here or at the remote {name}.",
        "Free some space, then try again.",
    ),
    (
        ("Permission denied", "insufficient permission", "Read-only file system"),
        Denied,
        "Something cannot be written or read, here or at the remote {name} ({address}).",
        "Check the owner and the modes of the files on both sides.",
    ),
)
