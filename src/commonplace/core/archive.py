"""The JSON files of an export: of a zip archive, of a folder, or the one file that it is.

Never unpacks to the disk, and never what swells beyond all measure.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from commonplace.core.errors import Invalid
from commonplace.core.files import regular_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import IO

_MOST_SWELLING = 200
_HARMLESS = 64 * 1024 * 1024
_MOST_UNPACKED = 8 * 1024**3


def json_members(path: str) -> Iterator[tuple[str, IO[bytes] | None]]:
    """The name and the bytes of each JSON file that stands at the top of an export, by name.

    A link has no bytes: what made the folder may have had it lead anywhere.

    Raises:
        Invalid: The archive is damaged, encrypted, or swells beyond measure.
        NotFound, Denied, Unavailable.
    """
    if os.path.isdir(path):
        for name in sorted(os.listdir(path)):
            whole = os.path.join(path, name)
            if name.lower().endswith(".json") and os.path.isfile(whole):
                if os.path.islink(whole):
                    yield name, None
                    continue
                with regular_file(whole) as file:
                    yield name, file
        return
    with regular_file(path) as file:
        is_zip = file.read(2) == b"PK"
        file.seek(0)
        if not is_zip:
            yield os.path.basename(path), file
            return
        with _explained(path):
            archive = zipfile.ZipFile(file)
        with archive:
            members = [x for x in archive.infolist() if _is_journal(x.filename)]
            _check_swelling(path, os.fstat(file.fileno()).st_size, members)
            for member in sorted(members, key=lambda one: one.filename):
                with _explained(path), archive.open(member) as unpacked:
                    yield member.filename, unpacked


def _is_journal(name: str) -> bool:
    """Whether a member stands at the top, or in the one folder there, and is no system's own."""
    return name.lower().endswith(".json") and name.count("/") <= 1 and "__MACOSX" not in name


def _check_swelling(path: str, size: int, members: Sequence[zipfile.ZipInfo]) -> None:
    # No member is read beyond the size it declares.
    unpacked = sum(member.file_size for member in members)
    if unpacked > min(max(size * _MOST_SWELLING, _HARMLESS), _MOST_UNPACKED):
        raise Invalid(
            f"The archive {{place}} would unpack {size:,} bytes into {unpacked:,}.",
            hint="Export it again, or unpack it yourself and name the folder.",
            place=path,
        )


@contextmanager
def _explained(path: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as exc:
        raise Invalid(
            "The archive {place} is damaged or encrypted.", hint="Export it again.", place=path
        ) from exc
