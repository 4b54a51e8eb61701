"""Locks files and folders where the system is Windows.

Never imported on another one, whose Python has none of these calls.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import _winapi
    import contextlib
    import errno
    import msvcrt
    import os
    import time

    TYPE_CHECKING = False
    if TYPE_CHECKING:
        from collections.abc import Iterator

    # What is locked nobody else can read or write, so a byte is taken where no content is.
    _LOCKED_BYTE = 0x7FFF0000
    _SHARING_VIOLATION = 32
    _STEP_S = 0.005
    _ADD_FILE = 0x2
    _OTHERS_READ_AND_RENAME = 0x1 | 0x4
    _OPEN_EXISTING = 3
    _OF_FOLDERS = 0x02000000

    def lock_file(descriptor: int) -> None:
        """Lock a file against other descriptors.

        Raises:
            OSError; BlockingIOError where another one has the lock.
        """
        try:
            _lock_byte(descriptor, msvcrt.LK_NBLCK)
        except OSError as exc:
            if exc.errno in {errno.EBADF, errno.EINVAL}:
                raise
            raise BlockingIOError(errno.EAGAIN, "locked") from exc

    def unlock_file(descriptor: int) -> None:
        """End the lock of a file. Raises OSError where it has none."""
        _lock_byte(descriptor, msvcrt.LK_UNLCK)

    def _lock_byte(descriptor: int, mode: int) -> None:
        at = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, mode, 1)
        finally:
            os.lseek(descriptor, at, os.SEEK_SET)

    @contextlib.contextmanager
    def folder_locked(folder: str | os.PathLike[str]) -> Iterator[None]:
        """Hold the lock of a folder; the system ends it with the process.

        One that this user may not write to is not locked.

        Raises:
            OSError.
        """
        handle = None
        while handle is None:
            try:
                handle = _lock_folder(folder)
            except BlockingIOError:
                time.sleep(_STEP_S)
            except PermissionError:
                break
        try:
            yield
        finally:
            if handle is not None:
                _winapi.CloseHandle(handle)

    def is_folder_locked(folder: str | os.PathLike[str]) -> bool:
        """Whether a process holds the lock of a folder; False where that cannot be known."""
        try:
            _winapi.CloseHandle(_lock_folder(folder))
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def _lock_folder(folder: str | os.PathLike[str]) -> int:
        # Who asks to add files, and lets others only read and rename, collides with a second such;
        # nothing that lists the folder or makes files in it asks the folder itself for that.
        share, flags = _OTHERS_READ_AND_RENAME, _OF_FOLDERS
        try:
            return _winapi.CreateFile(
                os.fspath(folder), _ADD_FILE, share, 0, _OPEN_EXISTING, flags, 0
            )
        except OSError as exc:
            if exc.winerror != _SHARING_VIOLATION:
                raise
            raise BlockingIOError(errno.EAGAIN, "locked") from exc
