"""Owns what the log says of files of the private journal that are passed over.

Never logs a word of an entry.
"""

from __future__ import annotations

import logging

_log = logging.getLogger(__name__)


class Notices:
    """Logs what is wrong with a path, once for each path."""

    def __init__(self) -> None:
        self._logged: set[str] = set()

    def log(self, path: object, reason: str) -> None:
        """Log one line, unless this path has had its own."""
        if str(path) not in self._logged:
            self._logged.add(str(path))
            _log.warning("%r is passed over: %s", str(path), reason)
