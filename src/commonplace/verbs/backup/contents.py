"""Finds what of a folder a backup holds: its files, its databases, its repositories.

Changes nothing.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from commonplace.core.errors import NotFound
from commonplace.core.files import is_leftover, translated
from commonplace.core.scratch import FOLDER, is_scratch_folder
from commonplace.db.sqlite import is_database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.verbs.backup.manifest import BackupPlace

TOKENS = ("tokens.json", "token-uses", "sign-ins.json")
"""Who may connect over HTTP; goes along only where that is asked for."""

KEY = "secret-marks.key"

# What the journals can make again, in our folder; what lies between an owner and it, in between.
# Former texts neither: a restore brings back nothing that an edit took away; nor who used what,
# whose refs of what was forgotten would come back.
_DERIVED = re.compile(
    r"models|moved|snapshots|hooks\.log|copies\.jsonl|served-home\.json|token-uses"
    r"|users/[^/]+/(?:accesses|brief|former|index|served/index|ledgers|prompts"
    r"|transcripts/catalog\.db)"
)
_BESIDE_DATABASES = ("-wal", "-shm", "-journal")


class BackupItem(Struct, frozen=True, kw_only=True):
    """Something that a backup holds, or (`other`) cannot hold."""

    name: str
    path: Path
    kind: Literal["file", "database", "repository", "other"]


def is_passing(name: str) -> bool:
    """Whether a name in a backup is that of something prepared, or left by a killed process."""
    parts = name.split("/")
    in_staging = parts[:2] == ["home", FOLDER]
    return in_staging or any(is_scratch_folder(part) or is_leftover(part) for part in parts)


def list_contents(place: BackupPlace, *, with_tokens: bool = False) -> Iterator[BackupItem]:
    """What a backup holds of a place, in the order of names; nothing where there is none.

    Raises: Denied, Unavailable.
    """
    path = place.path
    if os.path.isdir(path):
        yield from _walk(path, place.root, is_home=place.root == "home", with_tokens=with_tokens)
    elif os.path.exists(path):
        yield _found(path, place.root)


def _walk(folder: Path, name: str, *, is_home: bool, with_tokens: bool) -> Iterator[BackupItem]:
    if os.path.exists(folder / ".git"):
        yield BackupItem(name=name, path=folder, kind="repository")
    with translated(folder), os.scandir(folder) as entries:
        listed = sorted(entries, key=lambda each: each.name)
    names = {each.name for each in listed}
    for each in listed:
        inner = f"{name}/{each.name}"
        below = inner.partition("/")[2]
        if each.name == ".git" or is_passing(inner):
            continue
        if is_home and _DERIVED.fullmatch(below) and not (with_tokens and below in TOKENS):
            continue
        if is_home and below in TOKENS and not with_tokens:
            continue
        if each.name.endswith(_BESIDE_DATABASES) and each.name.rpartition("-")[0] in names:
            continue
        path = Path(each.path)
        # What is removed while the others are listed is no part of the backup.
        with contextlib.suppress(FileNotFoundError, NotFound):
            if each.is_dir(follow_symlinks=False):
                yield from _walk(path, inner, is_home=is_home, with_tokens=with_tokens)
            elif each.is_file(follow_symlinks=False) and _is_utf_8(each.name):
                yield _found(path, inner)
            elif not stat.S_ISSOCK(each.stat(follow_symlinks=False).st_mode):
                yield BackupItem(name=inner, path=path, kind="other")


def _found(path: Path, name: str) -> BackupItem:
    with translated(path):
        kind: Literal["database", "file"] = "database" if is_database(path) else "file"
    return BackupItem(name=name, path=path, kind=kind)


def _is_utf_8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
