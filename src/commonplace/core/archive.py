"""Files of other programs that are packed: what a zip holds, and how much may come out of it.

Never unpacks to the disk, and never what swells beyond all measure. Imports `zipfile` for a zip
alone: a hook reads sessions by this.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from commonplace.core.errors import Invalid
from commonplace.core.files import regular_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import IO

CHUNK = 1 << 20
MOST_MEMBERS = 2_000_000
MOST_TIMES = 200
HARMLESS = 64 * 1024 * 1024
MOST_BYTES = 8 * 1024**3

_MEMBER = b"PK\1\2"
_LONGEST_COMMENT = 0xFFFF


def most_unpacked(size: int) -> int:
    """To how many bytes a packed file of this size may come: words cannot be packed better."""
    return min(max(size * MOST_TIMES, HARMLESS), MOST_BYTES)


def files_in(
    path: str, is_wanted: Callable[[str], bool]
) -> Iterator[tuple[str, Callable[[int], bytes]]]:
    """The members of a zip that are wanted, by name, or a file that is no zip.

    Returns:
        The name of each, and what reads the next bytes of it.

    Raises:
        Invalid: The zip is damaged, encrypted, or swells beyond measure; also by what reads it.
        NotFound, Denied, Unavailable.
    """
    with regular_file(path) as file:
        if file.peek(2)[:2] != b"PK":
            yield os.path.basename(path), file.read
            return
        import zipfile  # 2 ms

        size = os.fstat(file.fileno()).st_size
        # Before the zip module makes an object of each: 500 bytes for 53 of the file.
        if count_members(file, size) > MOST_MEMBERS:
            raise Invalid("The archive {place} holds too many files.", place=path)
        with _explained(path):
            archive = zipfile.ZipFile(file)
        with archive:
            members = [x for x in archive.infolist() if is_wanted(x.filename)]
            # No member is read beyond the size it declares.
            unpacked = sum(member.file_size for member in members)
            if unpacked > most_unpacked(size):
                raise Invalid(
                    f"The archive {{place}} would unpack {size:,} bytes into {unpacked:,}.",
                    hint="Export it again, or unpack it yourself and name what was in it.",
                    place=path,
                )
            for member in sorted(members, key=lambda one: one.filename):
                with _explained(path):
                    opened = archive.open(member)
                with opened:
                    yield member.filename, partial(_read, opened, path)


def count_members(file: IO[bytes], size: int) -> int:
    """How many members the directory at the end of a zip lists; 0 where there is no directory."""
    from struct import Struct

    last, last_64, locator = Struct("<4s4H2LH"), Struct("<4sQ2H2L4Q"), Struct("<4sLQL")
    start = max(0, size - last.size - _LONGEST_COMMENT)
    file.seek(start)
    tail = file.read()
    # As the zip module looks for it: at the very end, else before a comment.
    is_last = tail[-last.size :].startswith(b"PK\5\6")
    at = len(tail) - last.size if is_last else tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) - at < last.size:
        return 0
    left, end = last.unpack_from(tail, at)[5], start + at
    # As the zip module does: what stands before the locator counts, whatever this record says.
    if (at_64 := end - locator.size - last_64.size) >= 0:
        file.seek(at_64)
        record, located = file.read(last_64.size), file.read(locator.size)
        if record.startswith(b"PK\6\6") and located.startswith(b"PK\6\7"):
            left, end = last_64.unpack(record)[8], at_64
    # Not the number that it gives: the zip module reads as many as there are.
    file.seek(max(0, end - left))
    count, before = 0, b""
    while left > 0 and (part := file.read(min(left, CHUNK))):
        left -= len(part)
        count += (before + part).count(_MEMBER)
        before = part[1 - len(_MEMBER) :]
    return count


def _read(member: IO[bytes], path: str, size: int) -> bytes:
    with _explained(path):
        return member.read(size)


@contextmanager
def _explained(path: str) -> Iterator[None]:
    import lzma
    import zlib
    from zipfile import BadZipFile

    broken = (BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError)
    try:
        yield
    except (*broken, UnicodeDecodeError) as exc:
        raise Invalid(
            "The archive {place} is damaged or encrypted.", hint="Export it again.", place=path
        ) from exc
