"""What of the notebook's overviews was read in a session: the base of what it writes.

Never renders, and keeps all of it in memory: another process has read nothing.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

_SECTIONS = 500
_TEXTS = 8
_CHARACTERS = 4_000_000


class Reads:
    """The overviews that were read over one connection. Thread-safe.

    The last eight texts of a section are kept, so that a merge can start from what both sides knew;
    of more than four million characters the versions alone, of those read longest ago.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: OrderedDict[str, dict[str, str | None]] = OrderedDict()
        self._characters = 0

    def remember(self, section: str, version: str, text: str) -> None:
        """Note that this version of a section's overview was shown, or written, just now."""
        with self._lock:
            texts = self._texts.setdefault(section, {})
            self._characters += len(text) - len(texts.pop(version, None) or "")
            texts[version] = text
            self._texts.move_to_end(section)
            while len(texts) > _TEXTS:
                self._characters -= len(texts.pop(next(iter(texts))) or "")
            while len(self._texts) > _SECTIONS:
                gone = self._texts.popitem(last=False)[1]
                self._characters -= sum(len(each or "") for each in gone.values())
            self._thin_out()

    def last(self, section: str) -> str:
        """The version that was read last; empty where none was."""
        with self._lock:
            return next(reversed(self._texts.get(section, {})), "")

    def texts(self, section: str) -> dict[str, str]:
        """The texts that were read and are kept, by their versions, the last first."""
        with self._lock:
            kept = reversed(self._texts.get(section, {}).items())
            return {version: text for version, text in kept if text is not None}

    def _thin_out(self) -> None:
        """Forget texts, not versions, those that were read longest ago first."""
        for texts in self._texts.values():
            for version, text in texts.items():
                if self._characters <= _CHARACTERS:
                    return
                if text is not None:
                    texts[version] = None
                    self._characters -= len(text)
