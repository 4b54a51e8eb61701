"""Takes the system's lock on an open file or folder, which is free again once that is closed.

Imports next to nothing, since hooks lock files. Never fails where nothing can be locked.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

FOREVER_S = float("inf")
_STEP_S = 0.005


def take_lock(descriptor: int, *, waits_s: float = 0.0, is_shared: bool = False) -> bool | None:
    """Take a lock against other threads and processes that ask for it here.

    Args:
        descriptor: Of the open file or folder.
        waits_s: How long another holder is waited for.
        is_shared: Whether others may share it.

    Returns:
        Whether it was taken; None where nothing can be locked (Windows, some network shares).
    """
    try:
        import fcntl
    except ImportError:
        return None
    kind = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
    until = time.monotonic() + waits_s
    while True:
        try:
            fcntl.flock(descriptor, kind if waits_s == FOREVER_S else kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_STEP_S)
        except OSError:
            return None
        else:
            return True


def is_at(path: Path, descriptor: int) -> bool:
    """Whether an open file or folder has its name still: the lock on one that has none is no use.

    Raises:
        OSError: The file cannot be looked at.
    """
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
