"""Scratch folders, in which something is prepared before it gets its name; gone at the end.

A lock of the system holds each, and ends with its process: one without it is abandoned.
Never touches a folder of another name.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import CommonplaceError, NotFound
from commonplace.core.files import make_folder, remove_file, translated, write_derived
from commonplace.core.plain_files import is_at, take_lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FOLDER = "staging"
"""Of our home: what is prepared there, and notes of what is prepared elsewhere."""

_PREFIX = ".commonplace-stage-"
_NAME = re.compile(re.escape(_PREFIX) + r"[0-9a-f]{16}")
_NOTE = ".beside"
UNLOCKED_AGE_S = 86_400.0
"""When one counts as abandoned where nothing can be locked: a backup takes hours."""


def is_scratch_folder(name: str) -> bool:
    """Whether a name is that of a scratch folder, of a running process or of a killed one."""
    return _NAME.fullmatch(name) is not None


@contextlib.contextmanager
def scratch_folder(above: Path) -> Iterator[Path]:
    """A new folder (0700) in another, held by a lock, removed at the end.

    What killed processes left there is removed first.

    Raises:
        Unavailable, Denied, NotFound, Invalid.
    """
    clear_scratch_folders(above)
    scratch, descriptor = _make_scratch(above)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


def find_scratch_folders(above: Path) -> list[Path]:
    """The scratch folders in a folder that killed processes left."""
    return _abandoned(_scratch_folders_in(above))


def clear_scratch_folders(above: Path) -> list[Path]:
    """Remove what killed processes left in a folder; what was removed. Never raises."""
    return [path for path in _scratch_folders_in(above) if remove_scratch_folder(path)]


def remove_scratch_folder(path: Path) -> bool:
    """Remove a scratch folder if it is abandoned; whether it was. Never raises."""
    with _taken(path) as is_abandoned:
        if is_abandoned:
            shutil.rmtree(path, ignore_errors=True)
        return is_abandoned


def system_temp_folder() -> Path:
    """The system's folder for temporary files."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:  # nothing here can be written to; what there is can still be read
        return Path(os.path.abspath(os.sep), "tmp")


@contextlib.contextmanager
def scratch_folder_aside() -> Iterator[Path]:
    """A scratch folder among the system's temporary files.

    Raises: FileNotFoundError where no folder for them takes a file; what `scratch_folder` raises.
    """
    with scratch_folder(Path(tempfile.gettempdir())) as folder:
        yield folder


class ScratchFolders(Struct, frozen=True, kw_only=True):
    """The scratch folders of one home, and notes of those that lie beside what they become."""

    folder: Path

    @contextlib.contextmanager
    def inside(self) -> Iterator[Path]:
        """A scratch folder in our own folder. Raises: as `scratch_folder`."""
        make_folder(self.folder)
        with scratch_folder(self.folder) as scratch:
            yield scratch

    @contextlib.contextmanager
    def beside(self, above: Path) -> Iterator[Path]:
        """One in a folder of the user's, noted here so that it is found if we are killed.

        Raises: as `scratch_folder`.
        """
        with scratch_folder(above) as scratch, contextlib.ExitStack() as noted:
            with contextlib.suppress(CommonplaceError):  # without a note the work is the same
                make_folder(self.folder)
                note = self.folder / f"{scratch.name.removeprefix(_PREFIX)}{_NOTE}"
                write_derived(note, os.fsencode(scratch))
                noted.callback(_remove_note, note)
            yield scratch

    def each(self) -> list[Path]:
        """Every scratch folder, of running processes and of killed ones."""
        here = [*_scratch_folders_in(self.folder), *_scratch_folders_in(system_temp_folder())]
        return [*here, *(path for _, path in self._notes())]

    def find(self) -> list[Path]:
        """What killed processes left."""
        return _abandoned(self.each())

    def clear(self) -> list[Path]:
        """Remove what killed processes left; what was removed. Never raises."""
        removed = [path for path in self.each() if remove_scratch_folder(path)]
        for note, path in self._notes():
            if not os.path.lexists(path):
                _remove_note(note)
        return removed

    def _notes(self) -> list[tuple[Path, Path]]:
        """Each note of a scratch folder elsewhere, with the scratch folder."""
        found = []
        with contextlib.suppress(OSError):
            for note in sorted(self.folder.glob(f"*{_NOTE}")):
                path = Path(os.fsdecode(note.read_bytes()))
                if _NAME.fullmatch(path.name) and path.is_absolute():
                    found.append((note, path))
        return found


def _make_scratch(above: Path) -> tuple[Path, int | None]:
    """A new one, and the descriptor that holds its lock; None where nothing can be locked."""
    while True:
        scratch = above / f"{_PREFIX}{os.urandom(8).hex()}"
        # Errors name the folder that the caller gave: it never heard of the scratch folder.
        if not os.path.isdir(above):
            message = "There is no folder {place}."
            raise NotFound(message, hint="Make it first, or name another.", place=str(above))
        with translated(above):
            os.mkdir(scratch, 0o700)
            descriptor = _opened(scratch)
        if descriptor is None or (
            take_lock(descriptor) is not False and is_at(scratch, descriptor)
        ):
            return scratch, descriptor
        os.close(descriptor)  # another process took it for abandoned before it had its lock


def _scratch_folders_in(above: Path) -> list[Path]:
    try:
        with os.scandir(above) as entries:
            return sorted(Path(each.path) for each in entries if is_scratch_folder(each.name))
    except OSError:
        return []


def _abandoned(scratch_folders: Iterable[Path]) -> list[Path]:
    found = []
    for path in scratch_folders:
        with _taken(path) as is_abandoned:
            if is_abandoned:
                found.append(path)
    return found


@contextlib.contextmanager
def _taken(path: Path) -> Iterator[bool]:
    """Whether a scratch folder is abandoned; as long as this lasts, no other process takes it."""
    with contextlib.ExitStack() as held:
        is_abandoned = False
        with contextlib.suppress(OSError):
            is_abandoned = _is_abandoned(path, held)
        yield is_abandoned


def _is_abandoned(path: Path, held: contextlib.ExitStack) -> bool:
    """Whether no process holds a scratch folder. held: keeps the lock. Raises: OSError."""
    found = os.lstat(path)
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        return False
    is_old = time.time() - found.st_mtime > UNLOCKED_AGE_S
    if not stat.S_ISDIR(found.st_mode):
        return False
    descriptor = _opened(path)
    if descriptor is None:
        return is_old
    held.callback(os.close, descriptor)
    is_free = take_lock(descriptor)
    return is_old if is_free is None else is_free


def _opened(scratch: Path) -> int | None:
    """A folder, open to be locked; None where folders cannot be. Raises: OSError."""
    if os.name == "nt":
        return None
    return os.open(scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _remove_note(note: Path) -> None:
    with contextlib.suppress(CommonplaceError):
        remove_file(note)
