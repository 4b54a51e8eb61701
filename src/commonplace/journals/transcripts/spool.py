"""The spool: which originals a hook saw go on, until what is new of them was copied whole.

Holds paths, no word of a session. Never loses a line that was added, even when a process is
killed: a line goes only once its original was copied. Imports next to nothing: a hook adds to it.
"""

from __future__ import annotations

import json
import os

from commonplace.core.file_lock import FOREVER_S, take_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "spool.jsonl"

MOST_BYTES = 4 << 20
"""A spool that nobody emptied grows no further: an import finds the originals as well."""

_LOCK = "spool.lock"
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class Spooled:
    """An original that may hold more than was copied.

    Args:
        client: Whose it is.
        path: Where it lies.
        session: The client's id of the session.
        at: When a hook saw it, in seconds since 1970.
    """

    __slots__ = ("at", "client", "path", "session")

    def __init__(self, client: str, path: str, session: str, at: float) -> None:
        self.client = client
        self.path = path
        self.session = session
        self.at = at


class Spool:
    """The spool in the folder of an owner's transcripts, which must be there before an addition."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, NAME)
        self._lock_path = os.path.join(folder, _LOCK)

    def add(self, spooled: Spooled) -> None:
        """Add an original, in one write that no other can come into. Raises: OSError."""
        fields = {name: getattr(spooled, name) for name in Spooled.__slots__}
        line = json.dumps(fields).encode() + b"\n"
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _FLAGS, 0o600)
        try:
            take_lock(descriptor, waits_s=FOREVER_S, is_shared=True)
            if os.fstat(descriptor).st_size < MOST_BYTES:
                os.write(descriptor, line)
        finally:
            os.close(descriptor)

    def empty(self, copy: Callable[[Spooled], bool]) -> int:
        """Have each original copied, and forget those that were; how many there were.

        Does nothing while another process does it.

        Args:
            copy: Copies what is new of an original; False where it is to be tried again later.

        Raises:
            OSError: The spool cannot be read or written.
        """
        if not self._has_lines():
            return 0
        lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o600)
        try:
            return 0 if take_lock(lock) is False else self._empty(copy)
        finally:
            os.close(lock)

    def _has_lines(self) -> bool:
        try:
            return os.path.getsize(self._path) > 0
        except OSError:
            return False

    def _empty(self, copy: Callable[[Spooled], bool]) -> int:
        with open(self._path, "rb") as file:
            content = file.read()
        content = content[: content.rfind(b"\n") + 1]
        found: dict[tuple[str, str], tuple[Spooled, bytes]] = {}
        for line in content.splitlines(keepends=True):
            spooled = _parse(line)
            if spooled is not None:
                found[spooled.client, spooled.path] = spooled, line
        left = [line for spooled, line in found.values() if not copy(spooled)]
        self._replace(len(content), b"".join(left))
        return len(found)

    def _replace(self, length: int, left: bytes) -> None:
        """Put what is left in the place of the first bytes of the file.

        Written from the start, then cut: a process killed in between leaves some lines twice.
        """
        descriptor = os.open(self._path, os.O_RDWR | _FLAGS)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            take_lock(descriptor, waits_s=FOREVER_S)
            file.seek(length)
            content = left + file.read()
            file.seek(0)
            file.write(content)
            file.truncate(len(content))


def _parse(line: bytes) -> Spooled | None:
    try:
        found = json.loads(line)
        client, path, session, at = (found[name] for name in ("client", "path", "session", "at"))
        spooled = Spooled(client, path, session, float(at))
        # What a system call would refuse with another error than that of a missing file.
        is_path = os.path.isabs(path) and b"\0" not in os.fsencode(path)
    except (ValueError, LookupError, TypeError, RecursionError, OverflowError):
        return None
    is_text = isinstance(client, str) and isinstance(session, str)
    return spooled if is_text and is_path else None
