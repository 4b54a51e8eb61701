"""Notes of sessions that went on in another project, whose brief is given with their next prompt.

Claude Code gives its model nothing of what the hook of such a change answers. Holds paths of
folders alone, and never fails for a note that is gone.
"""

from __future__ import annotations

import contextlib
import os
import time

from commonplace.core.digest import sha256_hex

KEPT_S = 7 * 86_400
"""How long a note is kept of a session that nothing was asked in any more."""

_MOST_BYTES = 8192


def note_move(folder: str, session: str, before: str, after: str) -> None:
    """Note that a session went from one project's root to another's; each may be empty for none.

    One that came back is as it was.
    """
    if not session or before == after:
        return
    path = _path_of(folder, session)
    known = _read(path)
    if known == after:
        os.unlink(path)
    elif known is None and after:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _drop_old(folder)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, os.fsencode(before))
        finally:
            os.close(descriptor)


def take_move(folder: str, session: str) -> bool:
    """Whether a session went on in another project since it was given a brief; asked once."""
    with contextlib.suppress(OSError):
        os.unlink(_path_of(folder, session))
        with contextlib.suppress(OSError):
            os.rmdir(folder)  # of the last one: then a prompt need not look again
        return True
    return False


def _path_of(folder: str, session: str) -> str:
    return os.path.join(folder, sha256_hex(session.encode("utf-8", "replace"))[:32])


def _read(path: str) -> str | None:
    """The root in a note; None where there is none."""
    from commonplace.core.plain_files import open_regular

    try:
        with open_regular(path) as file:
            return os.fsdecode(file.read(_MOST_BYTES))
    except OSError:
        return None


def _drop_old(folder: str) -> None:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.stat().st_mtime < time.time() - KEPT_S:
                os.unlink(entry.path)
