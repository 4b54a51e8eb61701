"""The log in a file: rotated, readable by its user alone, shared by processes.

Imported only where the settings name a file: rotation brings `socket`, `pickle` and `queue` along.
"""

from __future__ import annotations

import os
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import logging

BYTES = 1_000_000
FILES = 3


class LogFile(RotatingFileHandler):
    """A rotating file, readable by its user alone, that several processes may write to."""

    def __init__(self, path: os.PathLike[str]) -> None:
        super().__init__(path, maxBytes=BYTES, backupCount=FILES - 1, encoding="utf-8")

    def _open(self) -> Any:
        return open(
            self.baseFilename,
            self.mode,
            encoding=self.encoding,
            errors="backslashreplace",
            # A pipe that nobody reads is refused, where it would be waited for.
            opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0), 0o600),
        )

    def emit(self, record: logging.LogRecord) -> None:
        """Write to the file that has the name now: another process may have rotated it."""
        if self.stream is not None and not _same_file(self.stream, self.baseFilename):
            self.stream.close()
            self.stream = self._open()
        super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  logging's name
        """A log that cannot be written stops nothing and says nothing on stderr."""


def _same_file(stream: Any, name: str) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), os.stat(name))
    except OSError:
        return False
