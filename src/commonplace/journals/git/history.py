"""Owns how commits are read: one stream of a history, and a single commit from its object.

Never keeps a history in memory, and never runs a diff or a signature check of anybody's choice.
"""

from __future__ import annotations

import contextlib
import os
import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import IO, TYPE_CHECKING, Literal

from msgspec import Struct

from commonplace.core.errors import CommonplaceError, Unavailable
from commonplace.journals.git.run import LONG_TIMEOUT_S, Git

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from commonplace.journals.git.repo import GitRepository

_CHUNK = 1 << 20
_FORMAT = "%H%x00%P%x00%an%x00%ae%x00%at%x00%B%x00"
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PERSON = re.compile(r"(?P<name>.*?) ?<(?P<address>[^<>]*)> (?P<at>-?[0-9]+) [+-][0-9]+", re.DOTALL)
_ZONE = re.compile(rb" (?P<sign>[+-])(?P<hours>[0-9]{2})(?P<minutes>[0-9]{2})\Z")
# The calendar's last year less a day or two for any zone.
_LAST = 253_402_000_000


class TouchedPath(Struct, frozen=True, kw_only=True):
    """A path that a commit changed.

    Attributes:
        is_file: A regular file, then or now.
        blob: What lies there since, empty for nothing.
    """

    path: str
    is_file: bool
    blob: str = ""


class Commit(Struct, frozen=True, kw_only=True):
    """One commit.

    Attributes:
        at: Its author's time.
        touched: Against its parent, nothing for a merge.
    """

    hash: str
    parents: tuple[str, ...]
    author: str
    address: str
    at: datetime
    message: str
    touched: tuple[TouchedPath, ...] = ()


def read_history(
    repo: GitRepository,
    until: str | Sequence[str],
    *,
    since: str | Sequence[str] = "",
    paths: bool = True,
    exact: bool = True,
    order: Literal["oldest", "newest"] = "oldest",
) -> Iterator[Commit]:
    """The commits up to one, or to any of several, less all that earlier ones hold.

    paths: with what each touched; exact: none that git lists in error, see `_listed_in_error`,
    which costs a call of git for each pair of ends. order: which come first; none comes before its
    parents, or after them.
    """
    without = [x for x in ([since] if isinstance(since, str) else since) if x]
    ends = [until] if isinstance(until, str) else until
    for name in (*ends, *without):
        if name and not _HASH.fullmatch(name):
            raise Unavailable(
                f"{name!r} is not a commit of the notebook {{place}}.",
                hint="Try again.",
                place=repo.folder,
            )
    # fmt: off
    arguments = [
        "log", "-z", "--topo-order", "--encoding=UTF-8", f"--format={_FORMAT}",
        *(["--reverse"] if order == "oldest" else []),
        "--no-show-signature", "--no-notes", "--no-color", "--no-mailmap", "--no-decorate",
        "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=all",
        *(["--raw", "--no-abbrev"] if paths else ["--no-patch"]),
        "--end-of-options", *ends, *(f"^{x}" for x in without), "--",
    ]
    # fmt: on
    known = _listed_in_error(repo, ends, without) if without and exact else frozenset()
    with repo.git.stream(arguments) as out:
        for commit in _parse_history(_tokens(out)):
            if commit.hash not in known:
                yield commit


def _listed_in_error(
    repo: GitRepository, ends: Sequence[str], without: Sequence[str]
) -> frozenset[str]:
    """The commits that git lists although the earlier ones hold them.

    git stops its walk by the dates of commits: after a teammate's clock had been a day slow, it
    listed shared entries, which were counted and filed again. With each of those it lists one none
    of whose parents is listed, so these alone are looked at.
    """
    excluded = [f"^{x}" for x in without]
    listed = ["rev-list", "--parents", "--end-of-options", *ends, *excluded]
    lines = repo.git.run(listed, timeout_s=LONG_TIMEOUT_S).out.decode("ascii").splitlines()
    parents = {name: rest for name, *rest in (line.split() for line in lines)}
    lowest = [x for x, above in parents.items() if parents.keys().isdisjoint(above)]
    if not any(repo.is_ancestor(x, y) for x in lowest for y in without):
        return frozenset()
    held = repo.git.run(["rev-list", "--end-of-options", *without], timeout_s=LONG_TIMEOUT_S)
    return frozenset(held.out.decode("ascii").split()) & parents.keys()


def heads_before_rebase(repo: GitRepository, branch: str, *, since: str) -> list[str]:
    """Where a branch was before it was rebased by hand, as its reflog says; the newest first.

    since: the beginning of a reason; only what was after the last move for it counts.
    """
    reflog = ["log", "-g", "--no-show-signature", "--format=%H %gs", "-n1000"]
    ran = repo.git.run([*reflog, "--end-of-options", branch], statuses=(0, 128))
    found: list[str] = []
    was_rebase = False
    for line in ran.out.decode("utf-8", "replace").splitlines():  # nothing without a reflog
        name, _, why = line.partition(" ")
        if was_rebase:
            found.append(name)
        if why.startswith(since):
            break
        was_rebase = why.startswith(("rebase", "pull"))
    return found


def _tokens(out: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while chunk := out.read(_CHUNK):
        *whole, rest = (rest + chunk).split(b"\0")
        yield from whole
    if rest.strip():
        yield rest


def _parse_history(tokens: Iterator[bytes]) -> Iterator[Commit]:
    token = next(tokens, None)
    while token is not None:
        fields = [token, *(next(tokens, b"") for _ in range(5))]
        next(tokens, None)  # what ends the format
        touched = []
        token = next(tokens, None)
        while token is not None and token.lstrip(b"\n").startswith(b":"):
            before, after, _, blob, _ = token.lstrip(b"\n:").split(b" ")
            path = next(tokens, b"").decode("utf-8", "surrogateescape")
            is_file = before.startswith(b"100") or after.startswith(b"100")
            there = "" if after == b"000000" else blob.decode("ascii", "replace")
            touched.append(TouchedPath(path=path, is_file=is_file, blob=there))
            token = next(tokens, None)
        hash_, parents, author, address, at, message = (
            x.decode("utf-8", "replace") for x in fields
        )
        yield Commit(
            hash=hash_,
            parents=tuple(parents.split()),
            author=author,
            address=address,
            at=instant_of(at),
            message=message,
            touched=tuple(touched),
        )


def instant_of(seconds: str) -> datetime:
    """The instant of a commit's seconds; those that no calendar has are its ends."""
    try:
        number = int(seconds)
    except ValueError:
        number = 0
    return datetime.fromtimestamp(min(max(number, 0), _LAST), UTC)


def parse_commit(hash_: str, content: bytes) -> Commit:
    """A commit from the bytes of its object; without what it touched."""
    head, _, message = content.partition(b"\n\n")
    fields = _fields(head)
    encoding = (fields.get(b"encoding") or [b"utf-8"])[0].decode("ascii", "replace")
    author = _decoded((fields.get(b"author") or [b""])[0], encoding)
    person = _PERSON.fullmatch(author)
    return Commit(
        hash=hash_,
        parents=tuple(x.decode("ascii", "replace") for x in fields.get(b"parent", [])),
        author=person["name"] if person else author,
        address=person["address"] if person else "",
        at=instant_of(person["at"] if person else ""),
        message=_decoded(message, encoding),
    )


def raw_message(content: bytes) -> bytes:
    """The message of a commit's object, byte for byte where it is UTF-8."""
    head, _, message = content.partition(b"\n\n")
    encoding = (_fields(head).get(b"encoding") or [b"utf-8"])[0].decode("ascii", "replace")
    if encoding.lower().replace("-", "") == "utf8":
        return message
    return _decoded(message, encoding).encode("utf-8", "replace")


def zone_of(content: bytes) -> tzinfo:
    """The zone that a commit's author had his clock in; UTC where it says none that can be."""
    line = (_fields(content.partition(b"\n\n")[0]).get(b"author") or [b""])[0]
    found = _ZONE.search(line)
    if found is None or int(found["hours"]) > 23 or int(found["minutes"]) > 59:  # noqa: PLR2004  a clock
        return UTC
    offset = timedelta(hours=int(found["hours"]), minutes=int(found["minutes"]))
    return timezone(-offset if found["sign"] == b"-" else offset)


def _fields(head: bytes) -> dict[bytes, list[bytes]]:
    fields: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        name, _, value = line.partition(b" ")
        if name:  # a line that begins with a blank goes on a signature
            fields.setdefault(name, []).append(value)
    return fields


def _decoded(content: bytes, encoding: str) -> str:
    try:
        return content.decode(encoding, "replace")
    except (LookupError, ValueError):
        return content.decode("utf-8", "replace")


_TIMEOUT_S = 3.0
"""A history of a million commits takes longer, and is then of no known first commit."""


def first_commit(root: Path, git: Path) -> str:
    """The oldest commit without a parent that a repository's branch goes back to.

    Args:
        root: The main work tree, or the bare repository.
        git: Git's own folder of it.

    Returns:
        Its hash; empty where there is none, or the history was cut off.
    """
    if os.path.lexists(git / "shallow"):
        return ""
    asked = ["rev-list", "--max-parents=0", "HEAD", "--"]
    with contextlib.suppress(CommonplaceError):
        ran = Git(root, is_bare=root == git).run(asked, timeout_s=_TIMEOUT_S)
        return ran.out.decode("ascii", "replace").strip().rpartition("\n")[2]
    return ""


def holds_commit(root: Path, git: Path, commit: str) -> bool:
    """Whether a repository has a commit; a look at one object, where a walk would take long."""
    with contextlib.suppress(CommonplaceError):
        asked = ["cat-file", "-e", f"{commit}^{{commit}}"]
        ran = Git(root, is_bare=root == git).run(asked, timeout_s=_TIMEOUT_S, statuses=(0, 1, 128))
        return ran.status == 0
    return False
