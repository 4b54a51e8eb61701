"""Tells a folder from another one that was made later under its name.

Never opens what is in it.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_AT_FDCWD = -100
_NO_FOLLOW = 0x100
_BIRTH = 0x800
_SIZE = 256
_AT_BIRTH = 80
"""Where in the structure of `statx` the time of birth begins: seconds, then nanoseconds."""


class FolderIdentity(NamedTuple):
    """A folder's number, and when it was made: disks give a new folder the number of a deleted one.

    born_ns: 0 where the disk does not say.
    """

    number: int = 0
    born_ns: int = 0


def identity_of(folder: Path | str) -> FolderIdentity:
    """The identity of a folder that is there. Raises: OSError."""
    found = os.lstat(folder)
    born = getattr(found, "st_birthtime", None)
    if born is None:
        return FolderIdentity(found.st_ino, _born_on_linux(os.fspath(folder)))
    return FolderIdentity(found.st_ino, int(born * 1_000_000) * 1000)


def _born_on_linux(path: str) -> int:
    statx = _statx()
    if statx is None:
        return 0
    import ctypes

    found = ctypes.create_string_buffer(_SIZE)
    if statx(_AT_FDCWD, os.fsencode(path), _NO_FOLLOW, _BIRTH, found) != 0:
        return 0
    if not int.from_bytes(found.raw[:4], sys.byteorder) & _BIRTH:
        return 0
    seconds = int.from_bytes(found.raw[_AT_BIRTH : _AT_BIRTH + 8], sys.byteorder, signed=True)
    nanos = int.from_bytes(found.raw[_AT_BIRTH + 8 : _AT_BIRTH + 12], sys.byteorder)
    return seconds * 1_000_000_000 + nanos


@cache
def _statx() -> Any:
    """The system's `statx`, which Python does not offer; None where there is none."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        import ctypes

        return ctypes.CDLL(None).statx
    except (ImportError, OSError, AttributeError):
        return None
