"""The queue of originals that a hook saw go on, until what is new of them was copied whole.

Holds paths, no word of a session. Never loses a line that was added, even when a process is
killed: a line goes only once its original was copied. Imports next to nothing: a hook adds to it.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from commonplace.core.plain_files import FOREVER_S, end_lock, open_plain, take_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.journals.transcripts.clients.parsing import Kept
    from commonplace.journals.transcripts.store import TranscriptStore

NAME = "spool.jsonl"

MOST_BYTES = 4 << 20
"""A queue that nobody emptied grows no further: an import finds the originals as well."""

FOLLOWED_S = 86_400.0
"""How long an original is looked at again after a hook saw it: a session that was killed while it
went on is copied to its end, though no hook said so."""

COPIED_AT_ONCE = 8 << 20
"""How much of one original is copied at once, 0.3 s: a command waits for it."""

_LOCK = "spool.lock"


class Queued(NamedTuple):
    """An original that may hold more than was copied, of a session; at: when a hook saw it."""

    client: str
    path: str
    session: str
    at: float


class CopyQueue:
    """The queue in the folder of an owner's transcripts, which must be there before an addition."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, NAME)
        self._lock_path = os.path.join(folder, _LOCK)

    def add(self, queued: Queued) -> None:
        """Add an original, in one write that no other can come into. Raises: OSError."""
        line = json.dumps(queued._asdict()).encode() + b"\n"
        descriptor = open_plain(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            take_lock(descriptor, waits_s=FOREVER_S, is_shared=True)
            if os.fstat(descriptor).st_size < MOST_BYTES:
                os.write(descriptor, line)
        finally:
            end_lock(descriptor)
            os.close(descriptor)

    def empty(self, copy: Callable[[Queued], bool]) -> int:
        """Have each original copied, and forget those that were; how many there were.

        Does nothing while another process does it.

        Args:
            copy: Copies what is new of an original; False where it is to be tried again later.

        Raises:
            OSError: The queue cannot be read or written.
        """
        if not os.path.exists(self._path) or not os.path.getsize(self._path):
            return 0
        lock = open_plain(self._lock_path, os.O_RDWR | os.O_CREAT)
        try:
            return 0 if take_lock(lock) is False else self._empty(copy)
        finally:
            end_lock(lock)
            os.close(lock)

    def _empty(self, copy: Callable[[Queued], bool]) -> int:
        with open(self._path, "rb") as file:
            content = file.read()
        content = content[: content.rfind(b"\n") + 1]
        found: dict[tuple[str, str], tuple[Queued, bytes]] = {}
        for line in content.splitlines(keepends=True):
            queued = _parse(line)
            if queued is not None:
                found[queued.client, queued.path] = queued, line
        left = [line for queued, line in found.values() if not copy(queued)]
        # Written from the start, then cut: a process killed in between leaves some lines twice.
        descriptor = open_plain(self._path, os.O_RDWR)
        with os.fdopen(descriptor, "r+b", buffering=0) as added:
            take_lock(descriptor, waits_s=FOREVER_S)
            added.seek(len(content))
            rest = b"".join(left) + added.read()
            added.seek(0)
            added.write(rest)
            added.truncate(len(rest))
            end_lock(descriptor)
        return len(found)


def _parse(line: bytes) -> Queued | None:
    try:
        found = json.loads(line)
        client, path, session, at = (found[name] for name in Queued._fields)
        queued = Queued(client, path, session, float(at))
        # What a system call would refuse with another error than that of a missing file.
        is_path = os.path.isabs(path) and b"\0" not in os.fsencode(path)
    except (ValueError, LookupError, TypeError, RecursionError, OverflowError):
        return None
    is_text = isinstance(client, str) and isinstance(session, str)
    return queued if is_text and is_path else None


def copy_queued(store: TranscriptStore, *, kept: Kept, now: float) -> int:
    """Copy what hooks had no time for, or were killed before; how many messages that was.

    Args:
        store: Where it is kept.
        kept: What is kept of it, as set.
        now: In seconds since 1970.

    Raises:
        OSError: The queue cannot be read or written.
    """
    from commonplace.core.errors import CommonplaceError
    from commonplace.journals.transcripts.clients import CLIENTS, find_original
    from commonplace.journals.transcripts.copying import copy_new

    copied = 0

    def copy(queued: Queued) -> bool:
        nonlocal copied
        is_over = not -FOLLOWED_S < now - queued.at < FOLLOWED_S
        if queued.client not in CLIENTS:
            return True
        path = find_original(queued.path)
        try:
            done = copy_new(store, queued.client, path, kept=kept, limit_bytes=COPIED_AT_ONCE)
        except (OSError, CommonplaceError):
            # It is gone, or cannot be read or kept just now; a day later only the first is likely.
            return is_over and not os.path.isfile(path)
        copied += done.copied
        return is_over and not done.copied

    CopyQueue(store.folder).empty(copy)
    return copied
