"""Opens a zip that Commonplace made, which is hostile until its names and sizes are checked.

Never unpacks compressed data, and never reads more of a member than its stated size.
"""

from __future__ import annotations

import contextlib
import hashlib
import struct
import zipfile
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import IO

MANIFEST = "manifest.json"
EXPORT_FORMAT = "commonplace-export"
"""What the manifest of an export gives as its format, where that of a backup has a number."""

_MEMBER = b"PK\1\2"
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_LONGEST_COMMENT = 0xFFFF
_SEE_ZIP64 = 0xFFFFFFFF
_PART = 1 << 20


class ArchiveKind(Struct, frozen=True, kw_only=True):
    """The limits of a kind of zip, and how errors name it.

    Attributes:
        name: `backup` or `export`.
        made_by: The hint where a file is not of this kind.
        most_files: How many files it may hold beside the manifest.
        largest_manifest: In bytes.
    """

    name: str
    made_by: str
    most_files: int
    largest_manifest: int

    def unsound(self, path: Path, what: str) -> Invalid:
        """The error for a zip that was damaged or made to do harm."""
        return Invalid(
            f"The {self.name} {{place}} is refused: {what}.",
            hint="It was damaged or made by hand; use another one.",
            place=path,
        )

    @contextlib.contextmanager
    def sound(self, path: Path) -> Iterator[None]:
        """Translate the zip module's exceptions into our own errors."""
        try:
            yield
        except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError) as exc:
            raise Invalid(
                f"{{place}} is not a whole {self.name}: it is cut off or damaged, or another kind"
                " of file.",
                hint=self.made_by,
                place=path,
            ) from exc
        except (RuntimeError, ValueError, KeyError) as exc:
            raise self.unsound(path, "it cannot be read") from exc

    def open(self, path: Path, file: IO[bytes], size: int) -> tuple[zipfile.ZipFile, bytes]:
        """The archive and the bytes of its manifest. Raises: Invalid."""
        # Before the zip module makes an object of each: 500 bytes for 53 of the file.
        if _count_members(file, size) > self.most_files + 1:
            raise self.unsound(path, "it holds too many files")
        with self.sound(path):
            archive = zipfile.ZipFile(file)
        infos = archive.infolist()
        names = [info.filename for info in infos]
        if MANIFEST not in names:
            raise Invalid(
                f"{{place}} is not a {self.name} of Commonplace.", hint=self.made_by, place=path
            )
        if len({*names}) != len(names):
            raise self.unsound(path, "it holds a name twice")
        # Uncompressed members cannot be larger than the file, so no small zip can fill a disk.
        if any(i.compress_type != zipfile.ZIP_STORED or i.flag_bits & 1 for i in infos):
            raise self.unsound(path, "some of it is compressed or encrypted")
        if sum(info.file_size for info in infos) > size:
            raise self.unsound(path, "its files are larger than itself")
        if archive.getinfo(MANIFEST).file_size > self.largest_manifest:
            raise self.unsound(path, "its manifest is too large")
        with self.sound(path):
            return archive, archive.read(MANIFEST)

    def check_sizes(self, path: Path, archive: zipfile.ZipFile, sizes: Mapping[str, int]) -> None:
        """Refuse an archive that holds other files than its manifest lists. Raises: Invalid."""
        there = {info.filename: info.file_size for info in archive.infolist()}
        there.pop(MANIFEST, None)
        if there != sizes:
            raise self.unsound(path, "its manifest does not fit what it holds")


def checked_pieces(
    read: Callable[[], bytes], size: int, sha256: str, damaged: Invalid
) -> Iterator[bytes]:
    """The pieces of a file; raises `damaged` after the last if size or hash is another.

    Args:
        read: Returns the next piece; empty at the end.
        size: In bytes; no more is given than that.
        sha256: Of the whole file, in hex.
        damaged: The error to raise.
    """
    digest, left = hashlib.sha256(), size
    while piece := read():
        left -= len(piece)
        if left < 0:
            break
        digest.update(piece)
        yield piece
    if left or digest.hexdigest() != sha256:
        raise damaged


def _count_members(file: IO[bytes], size: int) -> int:
    """How many members the directory at the end of a zip lists; 0 where there is no directory."""
    start = max(0, size - _END.size - _LONGEST_COMMENT)
    file.seek(start)
    tail = file.read()
    # As the zip module looks for it: at the very end, else before a comment.
    is_last = tail[-_END.size :].startswith(b"PK\5\6")
    at = len(tail) - _END.size if is_last else tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) - at < _END.size:
        return 0
    left, end = _END.unpack_from(tail, at)[5], start + at
    if left == _SEE_ZIP64 and end >= _LOCATOR.size + _END_64.size:
        file.seek(end - _LOCATOR.size - _END_64.size)
        end = file.tell()
        left = _END_64.unpack(file.read(_END_64.size))[8]
    # Not the number that it gives: the zip module reads as many as there are.
    file.seek(max(0, end - left))
    count, before = 0, b""
    while left > 0 and (part := file.read(min(left, _PART))):
        left -= len(part)
        count += (before + part).count(_MEMBER)
        before = part[1 - len(_MEMBER) :]
    return count
