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

    # Windows keeps others from reading or writing what is locked: a byte far behind all content.
    _LOCKED_BYTE = 0x7FFF0000
    _SHARING_VIOLATION = 32
    _STEP_S = 0.005
    _FILE_ADD_FILE = 0x2
    _SHARE_READ_DELETE = 0x1 | 0x4
    _OPEN_EXISTING = 3
    _BACKUP_SEMANTICS = 0x02000000  # without it no folder can be opened

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
        # A handle that may add files, and lets others read and rename alone, keeps out a second one
        # of its kind. To list a folder, or to make files in it by their paths, needs none of these.
        share, flags = _SHARE_READ_DELETE, _BACKUP_SEMANTICS
        try:
            return _winapi.CreateFile(
                os.fspath(folder), _FILE_ADD_FILE, share, 0, _OPEN_EXISTING, flags, 0
            )
        except OSError as exc:
            if exc.winerror != _SHARING_VIOLATION:
                raise
            raise BlockingIOError(errno.EAGAIN, "locked") from exc
