"""Writes files whole or not at all, and says in our words what a disk refused.

Never writes over a name unasked, and never leaves half a file under a final name.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import stat
import sys
import time
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import CommonplaceError, Denied, Invalid, NotFound, Unavailable
from commonplace.core.plain_files import (
    NotRegularError,
    end_lock,
    open_regular,
    remove_name,
    rename_over,
    take_lock,
)
from commonplace.core.standstill import PROCESS, patience_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LEFTOVER_AGE_S = 600.0

# SQLite puts files of its own beside one that is a database.
_TEMP_NAME = re.compile(r"\.([0-9a-f]{8})-[0-9a-f]{16}\.tmp(?:-journal|-wal|-shm)?")

# What filesystems without hard links (FAT, some network shares) answer to link(2).
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})
_NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS})

_READ_ONLY = (
    "The file {place} lies on a read-only disk.",
    "Choose a folder on a disk you can write to.",
)
_FULL = ("No space is left for the file {place}.", "Free some space, then try again.")
_TOO_LARGE = (
    "The file {place} would be larger than its disk, or a limit of this process, allows.",
    "Choose a folder on another disk: one that is formatted as FAT32 takes at most 4 GB a file.",
)
_REFUSED = (
    "Access to the file {place} is refused.",
    "Check its owner and mode, and its folder's.",
)
_MISSING = ("The file {place} does not exist.", "Check the name, or list what is there.")
_EXPLANATIONS: dict[int, tuple[type[CommonplaceError], tuple[str, str]]] = {
    errno.ENOSPC: (Unavailable, _FULL),
    errno.EDQUOT: (Unavailable, _FULL),
    errno.EFBIG: (Unavailable, _TOO_LARGE),
    errno.EROFS: (Denied, _READ_ONLY),
    errno.EACCES: (Denied, _REFUSED),
    errno.EPERM: (Denied, _REFUSED),
    errno.ENOENT: (NotFound, _MISSING),
    errno.ENOTDIR: (
        Invalid,
        (
            "A part of the path {place} is not a folder.",
            "Move the file in the way, or choose another folder.",
        ),
    ),
    errno.EISDIR: (Invalid, ("The path {place} is a folder, not a file.", "Name a file.")),
    errno.ELOOP: (Denied, ("The file {place} is a symbolic link.", "Name the file itself.")),
    errno.ENAMETOOLONG: (Invalid, ("The name {place} is too long.", "Use a shorter name.")),
}


@contextlib.contextmanager
def translated(path: Path | str) -> Iterator[None]:
    """Turn what the system refuses into our errors, each with the path and a next step.

    FileExistsError passes: what a taken name means is the caller's to decide.
    """
    try:
        yield
    except FileExistsError:
        raise
    except OSError as exc:
        raise _explained(exc, path) from exc


def _explained(exc: OSError, path: Path | str) -> CommonplaceError:
    shown = str(path)
    shown = shown if len(shown) <= 200 else f"{shown[:200]}..."  # noqa: PLR2004  a line of a terminal or two
    known = _EXPLANATIONS.get(exc.errno or 0)
    if known is None:
        reason = os.strerror(exc.errno) if exc.errno else "unknown reason"
        return Unavailable(
            f"The file {{place}} cannot be read or written: {reason}.",
            hint="Check the disk, then try again.",
            place=shown,
        )
    kind, (message, hint) = known
    return kind(message, hint=hint, place=shown)


@contextlib.contextmanager
def regular_file(path: Path | str) -> Iterator[io.BufferedReader[Any]]:
    """A file for reading, where it is one: no pipe, device or circle of links is waited for.

    Raises: Invalid, NotFound, Denied, Unavailable.
    """
    with translated(path):
        try:
            opened = open_regular(path)
        except NotRegularError as exc:
            message = "The path {place} is not a file."
            raise Invalid(message, hint="Name a file.", place=str(path)) from exc
        except OSError as exc:
            if exc.errno != errno.ELOOP:
                raise
            message = "The link {place} leads in a circle."
            raise Invalid(message, hint="Remove it, then try again.", place=str(path)) from exc
    with io.BufferedReader(opened) as file, translated(path):
        yield file


def write_new(path: Path, content: bytes, *, mode: int = 0o600) -> os.stat_result:
    """Make a file that did not exist, whole and durable, or leave nothing; its status.

    mode: permission bits before the umask. The folder must exist.
    Raises: FileExistsError when the name is taken; Unavailable, Denied, NotFound, Invalid.
    """
    with translated(path):
        return _put_new(path, content, mode, sync_file=os.fsync, sync_names=sync_folder)


def write_derived(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Make a file that did not exist, whole, without waiting for the disk.

    For what can be made again: a power cut may take it away or leave it torn.
    Raises: as write_new.
    """
    with translated(path):
        _put_new(path, content, mode, sync_file=_leave, sync_names=_leave)


def _put_new(
    path: Path,
    content: bytes,
    mode: int,
    *,
    sync_file: Callable[[int], None],
    sync_names: Callable[[Path], None],
) -> os.stat_result:
    with (
        contextlib.ExitStack() as undo,
        temp_file(path.parent, content, mode=mode, sync=sync_file) as temp,
    ):
        status = os.stat(temp)  # of just this content: nobody else knows the file yet
        PROCESS.refuse()
        _link_new(temp, path)
        undo.callback(_discard, path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temp)
        sync_names(path.parent)
        undo.pop_all()
    return status


def publish_new(temp: Path, path: Path) -> None:
    """Give a finished file its name, durably; the file must be on the disk already.

    Raises: FileExistsError when the name is taken; Unavailable, Denied, NotFound, Invalid.
    """
    with translated(path):
        _link_new(temp, path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temp)
        sync_folder(path.parent)


def replace_file(path: Path, content: bytes, *, mode: int | None = None) -> os.stat_result:
    """Put new content under a name in one step, keeping the mode of a file there; its status.

    A symbolic link is replaced by a file. mode: for a file that is not there yet (default 0o600).
    Either the old or the new content is under the name at every moment; after an error of the last
    step, syncing the folder, the new. What killed writes left in the folder goes.
    Raises: Unavailable, Denied, NotFound, Invalid.
    """
    with translated(path):
        try:
            found = os.lstat(path).st_mode
        except FileNotFoundError:
            found = 0
        # A link's own mode is 0777 on Linux, and says nothing of what it leads to.
        kept = stat.S_IMODE(found) if stat.S_ISREG(found) else None
        made = 0o600 if mode is None else mode
        with temp_file(path.parent, content, mode=made, sync=os.fsync) as temp:
            if kept is not None:
                os.chmod(temp, kept)
            status = os.stat(temp)
            rename_over(temp, path)
        sync_folder(path.parent)
        remove_leftovers(path.parent)
    return status


def remove_file(path: Path) -> bool:
    """Remove a file and make that durable; False when there was none.

    Raises: Unavailable, Denied.
    """
    with translated(path):
        try:
            remove_name(path)
        except FileNotFoundError:
            return False
        sync_folder(path.parent)
        return True


def drop_reserved(path: Path) -> bool:
    """Remove the empty file by which a write that was killed holds its name; whether there was one.

    On a disk without hard links only. For a caller whose lock keeps every other writer out.
    Raises: Unavailable, Denied.
    """
    with translated(path):
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(found.st_mode) or found.st_size:
            return False
        remove_name(path)
        return True


def may_exist(path: Path | str) -> bool:
    """Whether a file or folder is there, or may be.

    What cannot be examined counts as there: opening it gives the reason.
    """
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def may_hold(folder: Path | str) -> bool:
    """Whether a folder has something in it, or may; a file in its place counts as something.

    An empty one holds nothing: a process was killed before its first file, or a disk is taken out.
    """
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except OSError:
        return may_exist(folder)


def make_folder(path: Path | str, mode: int = 0o700) -> bool:
    """Make a folder and its missing parents, each with this mode; True when it was not there.

    A folder that is there keeps its mode.
    Raises: Unavailable, Denied (also in /proc), Invalid (a file is in the way).
    """
    with translated(path):
        return _make_folder(path, mode)


def _make_folder(path: Path | str, mode: int) -> bool:
    above = os.path.dirname(path) or os.curdir
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        if not os.path.isdir(path):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None
        return False
    except FileNotFoundError:
        if above == str(path):
            raise
        _make_folder(above, mode)
        try:
            os.mkdir(path, mode)
        except FileExistsError:
            return False  # another process was first
        except FileNotFoundError as exc:
            # /proc refuses every folder by this error: asked again and again, it would for ever.
            raise Denied(
                "The folder {place} cannot be made: the one above it takes no folders.",
                hint="Choose a folder on a disk that can be written to.",
                place=path,
            ) from exc
    sync_folder(above)
    return True


def sync_folder(folder: Path | str) -> None:
    """Make the names in a folder durable; does nothing where that is unknown. Raises OSError."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as exc:
        if exc.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(descriptor)


def remove_leftovers(folder: Path) -> int:
    """Remove the temps of writes that were killed; how many. Never raises.

    A temp of this machine goes when no process holds its lock, any temp when it is 10 minutes old.
    """
    removed = 0
    with contextlib.suppress(OSError), os.scandir(folder) as names:
        for name in names:
            if is_leftover(name.name):
                with contextlib.suppress(OSError):
                    removed += _remove_abandoned(name)
    return removed


def is_leftover(name: str) -> bool:
    """Whether a file of this name is a temp of ours, of a running write or of a killed one."""
    return _TEMP_NAME.fullmatch(name) is not None


@contextlib.contextmanager
def locked(folder: Path | str, *, waits_s: float = float("inf")) -> Iterator[int | None]:
    """Hold the folder's lock against other threads and processes that ask for it here.

    Yields the descriptor that holds it, None on Windows and where folders cannot be locked. Freed
    by the system when the process dies, and every child process that the descriptor was handed to;
    these have it still where an error or Ctrl-C ends what is done in here.

    waits_s: How long to wait at most while another holds it, as one that is stopped does; never
        longer than a call may be kept waiting. Windows waits for ever.
    Raises: Unavailable where another still holds it then, or where this process stood still since
        it was asked; what opening the folder raises.
    """
    if sys.platform == "win32":
        from commonplace.core.windows import folder_locked

        with contextlib.ExitStack() as held:
            with translated(folder):
                held.enter_context(folder_locked(folder))
            PROCESS.refuse()
            yield None
        return
    with translated(folder):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        is_held = take_lock(descriptor, waits_s=min(waits_s, patience_s()))
        if is_held is False:
            raise Unavailable(
                "Another process is at work in {place}.",
                hint="Try again, or end that process if it does not go on.",
                place=str(folder),
            )
        PROCESS.refuse()
        yield descriptor if is_held else None
        end_lock(descriptor)
    finally:
        with contextlib.suppress(OSError):  # what was done under the lock stands
            os.close(descriptor)


def is_locked(folder: Path | str) -> bool:
    """Whether a process holds a folder's lock; False where that cannot be known."""
    if sys.platform == "win32":
        from commonplace.core.windows import is_folder_locked

        return is_folder_locked(folder)
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return take_lock(descriptor) is False
        finally:
            os.close(descriptor)
    return False


def _leave(_what: object) -> None:
    """Let the system write it to the disk when it likes."""


@contextlib.contextmanager
def temp_file(
    folder: Path, content: bytes, *, mode: int, sync: Callable[[int], object] = _leave
) -> Iterator[Path]:
    """A file with this content, for its last name, which the caller gives it; else it goes.

    A lock holds it until the end: what a killed process leaves, `remove_leftovers` removes.

    Raises:
        OSError.
    """
    temp, descriptor = _open_temp(folder, mode)
    held = -1
    try:
        try:
            held = os.dup(descriptor)  # it keeps the lock once the file is closed
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            sync(descriptor)
        finally:
            os.close(descriptor)  # a network disk says here what it could not take
        if os.name == "nt":  # an open file gets no other name there
            _close(held)
            held = -1
        yield temp
    except BaseException:
        _discard(temp)
        raise
    finally:
        _close(held)


def _close(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.close(descriptor)


def _open_temp(folder: Path, mode: int) -> tuple[Path, int]:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    while True:
        temp = folder / f".{_machine()}-{os.urandom(8).hex()}.tmp"
        descriptor = os.open(temp, flags, mode)
        if take_lock(descriptor) is not False and os.fstat(descriptor).st_nlink:
            return temp, descriptor
        os.close(descriptor)  # another process took it for abandoned before it had its lock


def _link_new(temp: Path, path: Path) -> None:
    try:
        os.link(temp, path)
    except OSError as exc:
        if exc.errno not in _NO_LINKS:
            raise
    else:
        return
    # No hard links here: an empty file made with O_EXCL holds the name until the temp replaces it.
    reserved = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.close(reserved)
        rename_over(temp, path)
    except OSError:
        _discard(path)
        raise


def _discard(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _machine() -> str:
    """Eight hex digits of this machine's name: another machine's process ids mean nothing here."""
    import zlib

    # Asking `platform` starts a program on Windows, at each write.
    name = os.environ.get("COMPUTERNAME", "") if os.name == "nt" else os.uname().nodename
    return f"{zlib.crc32(name.encode('utf-8', 'surrogateescape')):08x}"


def _remove_abandoned(name: os.DirEntry[str]) -> bool:
    """Remove a temp if it is abandoned; whether it was. Raises: OSError."""
    match = _TEMP_NAME.fullmatch(name.name)
    found = name.stat(follow_symlinks=False)
    is_abandoned = time.time() - found.st_mtime > LEFTOVER_AGE_S
    with contextlib.ExitStack() as held:
        # Another machine's locks may not be seen here, and on Windows a temp has none at its end.
        if match and match[1] == _machine() and not is_abandoned and os.name != "nt":
            flags = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
            descriptor = os.open(name.path, flags | getattr(os, "O_NONBLOCK", 0))
            held.callback(os.close, descriptor)
            is_abandoned = take_lock(descriptor) is True
        if is_abandoned:
            os.unlink(name.path)
        return is_abandoned
