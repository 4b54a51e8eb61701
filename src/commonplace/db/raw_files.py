"""Reads the bytes of files among which are databases that this process has open.

Never closes a database's file before its connections are closed: a system drops all locks of a
process on a file when the process closes any descriptor of it. Another process would then take
itself for the last one that uses the database, and remove the log that is still written to.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO

_HEAD = b"SQLite format 3\0"


class RawFiles:
    """Opens files for reading, one at a time. Thread-safe; close it after all connections."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[tuple[int, int], FileIO] = {}
        """The databases that stay open, by device and inode."""

    @contextlib.contextmanager
    def opened(self, path: str) -> Iterator[FileIO]:
        """A file at its beginning, which stays open after it where it is a database.

        Raises: OSError.
        """
        with self._lock:
            self._close_removed()
            found = os.stat(path)
            key = found.st_dev, found.st_ino
            file = self._kept.get(key) or open(path, "rb", buffering=0)  # noqa: SIM115  maybe kept
            try:
                is_database = path.endswith(".db") or file.read(len(_HEAD)) == _HEAD
                file.seek(0)
                if is_database and os.name != "nt" and key not in self._kept:
                    self._kept[key] = file
                yield file
            finally:
                if self._kept.get(key) is not file:
                    file.close()

    def close(self) -> None:
        """Close what was kept open; may be called twice."""
        with self._lock:
            while self._kept:
                self._kept.popitem()[1].close()

    def _close_removed(self) -> None:
        """Close files that have no name any more, so that the system can free their room."""
        for key, file in list(self._kept.items()):
            if not os.fstat(file.fileno()).st_nlink:
                del self._kept[key]
                file.close()
