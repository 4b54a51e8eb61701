"""Owns what a backup says of itself: what it holds, with sizes and hashes.

Reads and writes no file; what comes from a file is hostile until it was checked here.
"""

from __future__ import annotations

import os
import re
from pathlib import Path  # noqa: TC003  a struct reads it at run time
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from commonplace.core.errors import Invalid
from commonplace.core.text import opening
from commonplace.verbs.container import EXPORT_FORMAT

FORMAT = 1
"""The version of the file's format; a file of a newer one is refused."""

ROOTS = ("home", "private", "chronicle", "notebook", "settings")
RootName: TypeAlias = Literal["home", "private", "chronicle", "notebook", "settings"]
"""What a part of a backup is of: our folder, or a journal or file that lies outside of it."""

_NEVER_IN_NAMES = frozenset("\0\\:" if os.name == "nt" else "\0")
_HEX = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"refs/[^\x00-\x20\x7f~^:?*\[\\]+")
_CONFIG = re.compile(
    r"remote\.[^\n=]+\.(?:url|fetch)|branch\.[^\n=]+\.(?:remote|merge)|user\.(?:name|email)"
)


EntryKind: TypeAlias = Literal["file", "database", "bundle"]


class BackupPlace(Struct, frozen=True, kw_only=True):
    """Where a part lies on this machine, as a file or a folder; there or not."""

    root: RootName
    path: Path


class FileEntry(Struct, frozen=True, kw_only=True):
    """A file of a backup.

    Attributes:
        name: `<root>/<path>`, its name in the zip too; the root alone where that is a file.
        kind: A bundle belongs to a repository, and is no file of a journal.
    """

    name: str
    size: int
    sha256: str
    mode: int
    mtime_ns: int
    kind: EntryKind = "file"


class RepositoryEntry(Struct, frozen=True, kw_only=True):
    """A git repository, whose work tree is among the files.

    Attributes:
        name: `<root>/<path>`, or the root alone.
        bundle: The entry of its history; empty where it has none.
        branch: Its ref; empty where its head is detached.
        refs: Each with its object.
        config: Its remotes, and who commits.
        shallow: What git keeps of a history that is cut off.
    """

    name: str
    bundle: str
    branch: str
    commit: str
    refs: dict[str, str]
    config: list[tuple[str, str]]
    shallow: str = ""


class Manifest(Struct, frozen=True, kw_only=True):
    """What a backup holds.

    Attributes:
        user_homes: The home folder of its user, as it was named and with its links followed; none
            in a backup of an earlier version.
        places: Where its parts lay, by their roots.
    """

    format: int
    program: str
    made_at: str
    files: list[FileEntry]
    repositories: list[RepositoryEntry]
    not_included: list[str]
    user_homes: list[str] = []
    places: dict[str, str] = {}


class _Version(Struct):
    format: int | str


def encode_manifest(manifest: Manifest) -> bytes:
    """The manifest as the file holds it."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1)


def parse_manifest(content: bytes) -> Manifest:
    """What a file says of itself, every name checked. Raises: Invalid."""
    try:
        version = msgspec.json.decode(content, type=_Version).format
        if version == EXPORT_FORMAT:
            raise Invalid(
                "This is an export, not a backup.", hint="Read it with `commonplace import FILE`."
            )
        if isinstance(version, int) and version > FORMAT:
            raise Invalid(
                f"The backup has format {version}; this version reads up to {FORMAT}.",
                hint="Install the version of Commonplace that made it, or a newer one.",
            )
        manifest = msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise Invalid("The backup's manifest cannot be read.", hint="Use another backup.") from exc
    names = set()
    for each in manifest.files:
        split_name(each.name, is_bundle=each.kind == "bundle")
        if each.name in names:
            raise _unsound(f"holds {each.name!r} twice")
        if each.size < 0 or not _HEX.fullmatch(each.sha256):
            raise _unsound(f"gives no size or hash for {each.name!r}")
        names.add(each.name)
    for name in names:
        _refuse_file_as_folder(name, names)
    for repository in manifest.repositories:
        split_name(repository.name)
        _check_repository(repository, names)
    return manifest


def split_name(name: str, *, is_bundle: bool = False) -> tuple[str, ...]:
    """The parts of an entry's name, the root first. Raises: Invalid for one that leads outside."""
    parts = tuple(name.split("/"))
    roots = ("git",) if is_bundle else ROOTS
    bad = any(
        part in {"", ".", ".."} or part.casefold() == ".git" or set(part) & _NEVER_IN_NAMES
        for part in parts
    )
    if bad or parts[0] not in roots or len(name.encode("utf-8", "surrogatepass")) > 4000:  # noqa: PLR2004  a path's
        raise _unsound(f"holds the name {opening(name, 200)!a}, which may lead outside of it")
    return parts


def _refuse_file_as_folder(name: str, names: set[str]) -> None:
    at = name.rfind("/")
    while at > 0:
        if name[:at] in names:
            raise _unsound(f"holds {name[:at]!r} as a file and as a folder")
        at = name.rfind("/", 0, at)


def _check_repository(each: RepositoryEntry, names: set[str]) -> None:
    sound = (
        (not each.bundle or each.bundle in names)
        and (not each.commit or _COMMIT.fullmatch(each.commit))
        and all(_REF.fullmatch(ref) and ".." not in ref for ref in each.refs)
        and all(_COMMIT.fullmatch(commit) for commit in each.refs.values())
        and (not each.branch or _REF.fullmatch(each.branch))
        and all(_CONFIG.fullmatch(key) and "\n" not in text for key, text in each.config)
        and all(_COMMIT.fullmatch(line) for line in each.shallow.split())
    )
    if not sound:
        raise _unsound(f"describes the repository {each.name!r} in a way that git refuses")


def is_kept_config(key: str) -> bool:
    """Whether a repository's setting goes along: none that names a program does."""
    return _CONFIG.fullmatch(key) is not None


def _unsound(what: str) -> Invalid:
    return Invalid(f"The backup {what}.", hint="It was damaged or made by hand; use another one.")
