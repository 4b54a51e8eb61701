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

MOST_TIMES = 200
HARMLESS = 64 * 1024 * 1024
MOST_BYTES = 8 * 1024**3


def most_unpacked(size: int) -> int:
    """To how many bytes a packed file of this size may come: words cannot be packed better."""
    return min(max(size * MOST_TIMES, HARMLESS), MOST_BYTES)


def files_in(
    path: str, is_wanted: Callable[[str], bool]
) -> Iterator[tuple[str, Callable[[int], bytes]]]:
    """The members of a zip that are wanted, by name, or a file that is no zip.

    Args:
        path: Of the zip or the file.
        is_wanted: Asked with the name of each member.

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

        with _explained(path):
            archive = zipfile.ZipFile(file)
        with archive:
            members = [x for x in archive.infolist() if is_wanted(x.filename)]
            size = os.fstat(file.fileno()).st_size
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


def _read(member: IO[bytes], path: str, size: int) -> bytes:
    with _explained(path):
        return member.read(size)


@contextmanager
def _explained(path: str) -> Iterator[None]:
    import zlib
    from zipfile import BadZipFile

    try:
        yield
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as exc:
        raise Invalid(
            "The archive {place} is damaged or encrypted.", hint="Export it again.", place=path
        ) from exc
