"""Opens plain files and takes the system's lock on them: no pipe, device or circle is waited for.

Imports next to nothing, since hooks read, add to and lock files.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import io
    from collections.abc import Callable
    from pathlib import Path

FOREVER_S = float("inf")
_STEP_S = 0.005
# Two seconds, counted in pauses, so that a machine that was asleep does not use them up.
_ATTEMPTS = 400
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


class NotRegularError(OSError):
    """What a path leads to is no file."""


def open_plain(
    path: str | os.PathLike[str],
    flags: int,
    *,
    mode: int = 0o600,
    follows_links: bool = False,
    dir_fd: int | None = None,
) -> int:
    """The descriptor of a plain file.

    Args:
        path: A path that others chose may lead to a pipe, a device or a circle of links.
        flags: `os.O_RDONLY`, or what else is to be done with it.
        mode: Permission bits of a file that is made, before the umask.
        follows_links: Whether it may be a link to one; where not, a link is an OSError.
        dir_fd: As for `os.open`.

    Raises:
        OSError; NotRegularError for what is no file.
    """
    flags |= _FLAGS if follows_links else _FLAGS | _NO_LINK
    number = os.open(path, flags, mode, dir_fd=dir_fd)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise NotRegularError(errno.EINVAL, "not a regular file", os.fspath(path))
    return number


def open_regular(path: str | os.PathLike[str], *, follows_links: bool = True) -> io.FileIO:
    """Open a plain file for reading, unbuffered: one read may give less than there is.

    Raises: as `open_plain`.
    """
    number = open_plain(path, os.O_RDONLY, follows_links=follows_links)
    return os.fdopen(number, "rb", buffering=0)


def add_line(path: str | os.PathLike[str], line: str) -> None:
    """Add a line to a file, made if need be, in one write. Raises: OSError."""
    number = open_plain(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, follows_links=True)
    try:
        os.write(number, f"{line}\n".encode())
    finally:
        os.close(number)


def take_lock(descriptor: int, *, waits_s: float = 0.0, is_shared: bool = False) -> bool | None:
    """Take a lock against other threads and processes that ask for it here; closing it ends it.

    Not where a process that was forked since has it open as well: see `end_lock`. On Windows a
    shared lock keeps other shared ones out, too.

    Returns:
        Whether it was taken; None where nothing can be locked (some network shares).
    """
    until = time.monotonic() + waits_s
    while True:
        try:
            _lock(descriptor, waits=waits_s == FOREVER_S, is_shared=is_shared)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_STEP_S)
        except (ImportError, OSError):
            return None
        else:
            return True


def _lock(descriptor: int, *, waits: bool, is_shared: bool) -> None:
    if sys.platform == "win32":
        from commonplace.core.windows import lock_file

        lock_file(descriptor)
        return
    import fcntl

    kind = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
    fcntl.flock(descriptor, kind if waits else kind | fcntl.LOCK_NB)


def end_lock(descriptor: int) -> None:
    """End a lock, even where a process that was forked under it has its file open for long."""
    with contextlib.suppress(ImportError, OSError):  # nothing was locked
        if sys.platform == "win32":
            from commonplace.core.windows import unlock_file

            unlock_file(descriptor)
            return
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)


def rename_over(old: str | os.PathLike[str], new: str | os.PathLike[str]) -> None:
    """Give a file the name of another one, and so replace that. Raises OSError.

    Windows refuses this while a program has the other file open: it is tried again for a while.
    """
    _once_closed(lambda: os.replace(old, new))


def remove_name(path: str | os.PathLike[str]) -> None:
    """Remove a file; tries again as `rename_over` does. Raises OSError."""
    _once_closed(lambda: os.unlink(path))


def _once_closed(act: Callable[[], None]) -> None:
    for left in reversed(range(_ATTEMPTS)):
        try:
            act()
        except PermissionError:
            if os.name != "nt" or not left:
                raise
            time.sleep(_STEP_S)
        else:
            return


def is_at(path: Path, descriptor: int) -> bool:
    """Whether an open file or folder has its name still: the lock on one that has none is no use.

    Raises:
        OSError: The file cannot be looked at.
    """
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
