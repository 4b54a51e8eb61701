"""Reads a history as whole commits with the files they changed, and writes it again from them.

A commit keeps its hash unless something in it was altered on the way. An export is hostile: names,
people and modes are checked before git reads them.
"""

from __future__ import annotations

import base64
import binascii
import re
import tempfile
from typing import IO, TYPE_CHECKING, Any

from msgspec import Struct, field

from commonplace.core.errors import Corrupted, Invalid
from commonplace.core.text import opening
from commonplace.journals.git.refs import list_refs
from commonplace.journals.git.run import LONG_TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from commonplace.journals.git.repo import GitRepository

_BRANCH = re.compile(r"refs/heads/[\w./-]+")
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PERSON = re.compile(r"[^<>\n\r\0]*<[^<>\n\r\0]*> [0-9]{1,12} [+-][0-9]{4}")
_MODES = ("100644", "100755")
_MADE = "refs/commonplace/made"
_OCTAL = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPES = dict(zip(b"ntrabfv", b"\n\t\r\a\b\f\v", strict=True))
_LONGEST_PATH = 4000


class FileChange(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A file that a commit put or removed.

    Attributes:
        mode: 100644, or 100755; empty for a file that it removed.
        text: The whole file; empty where it is not UTF-8.
        base64: The whole file, where it is not UTF-8.
    """

    path: str
    mode: str = ""
    text: str = ""
    base64: str = ""


class WholeCommit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A commit, with all that it changed against its first parent.

    Attributes:
        author, committer: As git writes them: `Name <address> 1763892000 +0100`.
        branches: The branches that end here.
        is_head: Whether the first of them is checked out.
    """

    commit: str
    author: str
    committer: str
    message: str
    parents: list[str] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    is_head: bool = False
    changes: list[FileChange] = field(default_factory=list)


def read_commits(repo: GitRepository, since: datetime | None = None) -> Iterator[WholeCommit]:
    """Every commit of every branch, parents before children, without links and submodules.

    since: only commits from this time on; the first has all files, and no parent.
    Raises: Unavailable, Denied, Corrupted.
    """
    head = repo.head().branch
    ends: dict[str, list[str]] = {}
    # The branch that is checked out first.
    for ref, name in sorted(list_refs(repo, "refs/heads").items(), key=lambda x: x[0] != head):
        ends.setdefault(name, []).append(ref)
    if not ends:
        return
    arguments = ["fast-export", "--show-original-ids", "--reencode=no"]
    arguments += [] if since is None else [f"--since={since.isoformat()}"]
    arguments.append("--branches")
    with repo.git.stream(arguments) as stream, tempfile.TemporaryFile() as contents:
        for fields in _parse(stream, _Blobs(contents)):
            branches = ends.get(fields["commit"], [])
            yield WholeCommit(**fields, branches=branches, is_head=head in branches)


def check_commit(each: WholeCommit) -> None:
    """Check that a commit can be given to git. Raises: Invalid."""
    if not all(_HASH.fullmatch(name) for name in (each.commit, *each.parents)):
        raise Invalid("A commit or a parent of it has no hash.")
    if not all(_PERSON.fullmatch(who) for who in (each.author, each.committer)):
        raise Invalid("Its author or committer is not written as git does it.")
    if "\0" in each.message:
        raise Invalid("Its message holds NUL.")
    if not all(_BRANCH.fullmatch(ref) and _is_path(ref) for ref in each.branches):
        raise Invalid("A branch has a name that git does not take.")
    for change in each.changes:
        if not _is_path(change.path) or change.mode not in {"", *_MODES}:
            raise Invalid(f"It changes {opening(change.path, 200)!a}, which no notebook may hold.")
        _content(change)


def write_commits(repo: GitRepository, commits: Iterable[WholeCommit]) -> int:
    """Write commits into a new repository, that no other process uses; returns how many.

    commits: parents before children, each checked.
    Raises: Invalid where a parent is missing; Unavailable, Denied.
    """
    marks: dict[str, int] = {}
    ends: list[tuple[str, int]] = []
    head = ""
    with tempfile.TemporaryFile() as stream:
        stream.write(b"feature done\n")
        for each in commits:
            if each.commit in marks or any(parent not in marks for parent in each.parents):
                raise Invalid(
                    f"The commit {each.commit[:12]} is there twice, or stands before a parent.",
                    hint="Make the export again.",
                )
            marks[each.commit] = len(marks) + 1
            stream.writelines(_rendered(each, marks))
            ends += [(ref, marks[each.commit]) for ref in each.branches]
            head = each.branches[0] if each.is_head and each.branches else head
        if not ends:
            return 0
        stream.writelines(f"reset {ref}\nfrom :{mark}\n".encode() for ref, mark in ends)
        stream.write(b"done\n")
        stream.seek(0)
        arguments = ["fast-import", "--quiet", "--done", "--date-format=raw"]
        repo.git.run(arguments, stdin=stream, timeout_s=LONG_TIMEOUT_S)
    repo.git.run(["update-ref", "-d", _MADE])
    repo.git.run(["symbolic-ref", "HEAD", head or ends[0][0]])
    repo.git.run(["read-tree", "HEAD"])
    repo.git.run(["checkout-index", "--all", "--force"], timeout_s=LONG_TIMEOUT_S)
    return len(marks)


def _rendered(each: WholeCommit, marks: Mapping[str, int]) -> list[bytes]:
    message = each.message.encode()
    first, *others = [marks[parent] for parent in each.parents] or [0]
    lines = [
        *([] if first else [f"reset {_MADE}", ""]),
        f"commit {_MADE}",
        f"mark :{marks[each.commit]}",
        f"author {each.author}",
        f"committer {each.committer}",
        f"data {len(message)}",
    ]
    parts = ["\n".join(lines).encode(), b"\n", message, b"\n"]
    parts += [f"from :{first}\n".encode()] if first else []
    parts += [f"merge :{other}\n".encode() for other in others]
    # Removals come first: a file may take the name of a folder that goes.
    for change in sorted(each.changes, key=lambda change: change.mode != ""):
        path = '"' + "".join(f"\\{byte:03o}" for byte in change.path.encode()) + '"'
        if not change.mode:
            parts.append(f"D {path}\n".encode())
            continue
        content = _content(change)
        parts.append(f"M {change.mode} inline {path}\ndata {len(content)}\n".encode())
        parts += [content, b"\n"]
    return parts


def _content(change: FileChange) -> bytes:
    try:
        if change.base64:
            return base64.b64decode(change.base64, validate=True)
        return change.text.encode()
    except (binascii.Error, ValueError) as exc:
        raise Invalid(
            f"The file {opening(change.path, 200)!a} is neither text nor base64."
        ) from exc


def _is_path(path: str) -> bool:
    parts = path.split("/")
    return len(path) <= _LONGEST_PATH and not any(
        part in {"", ".", ".."}
        or part.casefold().startswith(".git")
        or part.endswith((".lock", ".", " "))
        or any(sign < " " or sign in '\\:\x7f"' for sign in part)
        for part in parts
    )


class _Blobs:
    """The contents of files by their marks, kept on disk: a late commit may name an early one."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._places: dict[bytes, tuple[int, int]] = {}

    def keep(self, mark: bytes, content: bytes) -> None:
        self._places[mark] = self._file.seek(0, 2), len(content)
        self._file.write(content)

    def read(self, mark: bytes) -> bytes:
        start, length = self._places[mark]
        self._file.seek(start)
        return self._file.read(length)


def _parse(stream: IO[bytes], blobs: _Blobs) -> Iterator[dict[str, Any]]:
    """The commits in what fast-export gives, by the fields of `WholeCommit`. Raises: Corrupted."""
    names: dict[bytes, str] = {}
    mark = b""
    made: dict[str, Any] | None = None
    for verb, rest in _commands(stream):
        if verb in {b"blob", b"commit", b"reset"}:
            if made is not None:
                yield made
            made = {"parents": [], "changes": []} if verb == b"commit" else None
        elif verb == b"mark":
            mark = rest
        elif made is not None:
            if verb == b"original-oid":
                names[mark] = rest.decode("ascii", "replace")
                made["commit"] = names[mark]
            else:
                _take(made, verb, rest, blobs, names)
        elif verb == b"data":
            blobs.keep(mark, rest)
    if made is not None:
        yield made


def _take(
    made: dict[str, Any], verb: bytes, rest: bytes, blobs: _Blobs, names: Mapping[bytes, str]
) -> None:
    match verb:
        case b"author" | b"committer":
            made[verb.decode()] = rest.decode("utf-8", "replace")
        case b"data":
            made["message"] = rest.decode("utf-8", "replace")
        case b"from" | b"merge":
            made["parents"].append(names[rest])
        case b"D":
            made["changes"].append(FileChange(path=_path(rest)))
        case b"M":
            mode, mark, path = rest.split(b" ", 2)
            if mode.decode() in _MODES:
                made["changes"].append(_change(_path(path), mode.decode(), blobs.read(mark)))


def _commands(stream: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Each line's first word and its rest; of `data`, the bytes that follow. Raises: Corrupted."""
    for line in stream:
        verb, _, rest = line.rstrip(b"\n").partition(b" ")
        if verb == b"data":
            size, rest = int(rest), stream.read(int(rest))
            if len(rest) != size:
                raise Corrupted("git's export of the history broke off.", hint="Try again.")
        yield verb, rest


def _change(path: str, mode: str, content: bytes) -> FileChange:
    try:
        return FileChange(path=path, mode=mode, text=content.decode())
    except UnicodeDecodeError:
        return FileChange(path=path, mode=mode, base64=base64.b64encode(content).decode("ascii"))


def _path(quoted: bytes) -> str:
    """Parse a path of fast-export's, which is quoted where it holds special characters."""
    if quoted.startswith(b'"') and quoted.endswith(b'"'):

        def plain(found: re.Match[bytes]) -> bytes:
            sign = found[1]
            return bytes([int(sign, 8) if len(sign) > 1 else _ESCAPES.get(sign[0], sign[0])])

        quoted = _OCTAL.sub(plain, quoted[1:-1])
    return quoted.decode("utf-8", "replace")
