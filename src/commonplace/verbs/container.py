"""The file of a backup or an export: a zip, which is hostile until names and sizes are checked.

Never compresses, and gives no file its name before it was read back.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from zipfile import ZIP_STORED, BadZipFile, LargeZipFile, ZipFile, ZipInfo

from commonplace.core.archive import MOST_MEMBERS, count_members
from commonplace.core.errors import Conflict, Invalid, Unavailable
from commonplace.core.files import publish_new, regular_file, translated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from commonplace.core.scratch import ScratchFolders

MANIFEST = "manifest.json"
EXPORT_FORMAT = "commonplace-export"
"""What the manifest of an export gives as its format, where that of a backup has a number."""

CHUNK = 1 << 20
LARGEST_MANIFEST = 512 * 1024 * 1024

_EPOCH = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_MODE = 0o600

_T = TypeVar("_T")


class ArchiveKind(NamedTuple):
    """A kind of our own zips, whose members are not compressed."""

    name: str
    made_by: str

    def unsound(self, path: Path, what: str) -> Invalid:
        """The error for a zip that was damaged or made to do harm."""
        return Invalid(
            f"The {self.name} {{place}} is refused: {what}.",
            hint="It was damaged or made by hand; use another one.",
            place=path,
        )

    @contextmanager
    def sound(self, path: Path) -> Iterator[None]:
        """Translate the zip module's exceptions into our own errors."""
        try:
            yield
        except (BadZipFile, LargeZipFile, EOFError, NotImplementedError) as exc:
            raise Invalid(
                f"{{place}} is not a whole {self.name}: it is cut off or damaged, or another kind"
                " of file.",
                hint=self.made_by,
                place=path,
            ) from exc
        except (RuntimeError, ValueError, KeyError) as exc:
            raise self.unsound(path, "it cannot be read") from exc

    @contextmanager
    def opened(
        self, path: Path, sizes_in: Callable[[bytes], Mapping[str, int]]
    ) -> Iterator[tuple[ZipFile, bytes]]:
        """The archive and the bytes of its manifest.

        Raises:
            Invalid: It is no such zip, was cut off, or was made to do harm; NotFound, Denied.
        """
        with regular_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            # Before the zip module makes an object of each: 500 bytes for 53 of the file.
            if count_members(file, size) > MOST_MEMBERS:
                raise self.unsound(path, "it holds too many files")
            with self.sound(path):
                archive = ZipFile(file)
            with archive:
                sizes = self._sizes(path, archive, size)
                if MANIFEST not in sizes:
                    raise Invalid(
                        f"{{place}} is not a {self.name} of Commonplace.",
                        hint=self.made_by,
                        place=path,
                    )
                if sizes.pop(MANIFEST) > LARGEST_MANIFEST:
                    raise self.unsound(path, "its manifest is too large")
                with self.sound(path):
                    content = archive.read(MANIFEST)
                if sizes_in(content) != sizes:
                    raise self.unsound(path, "its manifest does not fit what it holds")
                yield archive, content

    def _sizes(self, path: Path, archive: ZipFile, size: int) -> dict[str, int]:
        infos = archive.infolist()
        sizes = {info.filename: info.file_size for info in infos}
        if len(sizes) != len(infos):
            raise self.unsound(path, "it holds a name twice")
        # Uncompressed members cannot be larger than the file, so no small zip can fill a disk.
        if any(i.compress_type != ZIP_STORED or i.flag_bits & 1 for i in infos):
            raise self.unsound(path, "some of it is compressed or encrypted")
        if sum(sizes.values()) > size:
            raise self.unsound(path, "its files are larger than itself")
        return sizes


def checked_chunks(
    read: Callable[[], bytes], size: int, sha256: str, damaged: Invalid
) -> Iterator[bytes]:
    """The chunks of a file; raises `damaged` after the last if size or hash is another."""
    digest, left = hashlib.sha256(), size
    while chunk := read():
        left -= len(chunk)
        if left < 0:
            break
        digest.update(chunk)
        yield chunk
    if left or digest.hexdigest() != sha256:
        raise damaged


def file_chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file of our own, in chunks."""
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk


class ArchiveWriter:
    """A zip that is being written; the same members give the same bytes on every machine.

    Nothing is compressed: that depends on the machine, and a reader refuses it.
    """

    def __init__(self, file: BinaryIO, target: Path) -> None:
        self._zip = ZipFile(file, "w", ZIP_STORED, allowZip64=True)
        self._target = target

    def put(self, name: str, chunks: Iterable[bytes]) -> tuple[int, str]:
        """Write a member and read it back; its size and sha256. Raises: Unavailable.

        The zip module compares its CRC-32, counted from what was written, with what is read.
        """
        info = ZipInfo(name, _EPOCH)
        info.create_system, info.external_attr = _UNIX, _MODE << 16
        with self._zip.open(info, "w", force_zip64=True) as member:
            for chunk in chunks:
                member.write(chunk)
        digest, size = hashlib.sha256(), 0
        try:
            with self._zip.open(name) as member:
                while chunk := member.read(CHUNK):
                    digest.update(chunk)
                    size += len(chunk)
        except (BadZipFile, EOFError) as exc:
            raise unlike_what_was_written(self._target) from exc
        return size, digest.hexdigest()

    def finish(self) -> None:
        """Write its end."""
        self._zip.close()

    def close(self) -> None:
        """Give up what is not finished; may be called twice."""
        # On a full disk its end cannot be written; left open, it would be tried once more, and a
        # traceback printed, when the object goes.
        with suppress(OSError, ValueError):
            self._zip.close()


def write_archive(
    target: Path,
    scratch_folders: ScratchFolders,
    fill: Callable[[ArchiveWriter, Path], _T],
    read_manifest: Callable[[Path], _T],
) -> _T:
    """Write a zip beside its place, read it back, and only then give it its name.

    Args:
        target: The file; nothing may be there.
        scratch_folders: Notes where it is made; what killed processes left is removed first.
        fill: Writes everything, in a folder for what lies in between; returns the manifest.
        read_manifest: Reads the manifest of a file as whoever is given it does.

    Raises:
        Conflict: There is a file of that name.
        Unavailable, Denied, NotFound, Invalid; what `fill` raises.
    """
    target = target.absolute()
    with scratch_beside(target, scratch_folders) as scratch:
        temp = scratch / "made.zip"
        with os.fdopen(os.open(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL, _MODE), "w+b") as file:
            with closing(ArchiveWriter(file, target)) as writer:
                made = fill(writer, scratch)
                writer.finish()
            file.flush()
            os.fsync(file.fileno())
        if read_manifest(temp) != made:
            raise unlike_what_was_written(target)
        try:
            publish_new(temp, target)
        except FileExistsError as exc:
            raise is_taken(target) from exc
        return made


@contextmanager
def scratch_beside(target: Path, scratch_folders: ScratchFolders) -> Iterator[Path]:
    """A scratch folder beside the place of a backup or an export. Raises: as `write_archive`."""
    if os.path.lexists(target):
        raise is_taken(target)
    scratch_folders.clear()
    with translated(target), scratch_folders.beside(target.parent) as scratch:
        yield scratch


def is_taken(target: Path) -> Conflict:
    """The error for a place where something is."""
    return Conflict(
        "There is already something at {place}.", hint="Choose another name.", place=target
    )


def unlike_what_was_written(target: Path) -> Unavailable:
    """The error for a disk that gives back something else."""
    return Unavailable(
        "What was written for {place} is not what is read from there.",
        hint="Check the disk, or name a file on another one.",
        place=target,
    )
