"""How many calls of a server work at once: few, for more only wait for each other, and longer.

A call that takes long waits for a disk or a language model, and is no reason for others to wait.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AT_ONCE = 4
SLOW_S = 1.0
MOST = 64


class Pace:
    """Counts the calls that work now. Thread-safe."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._at_once = max(AT_ONCE, os.cpu_count() or 1)
        self._begun: dict[object, float] = {}

    @contextmanager
    def working(self) -> Iterator[None]:
        """A call at work."""
        call = object()
        self._begun[call] = self._monotonic()
        try:
            yield
        finally:
            del self._begun[call]

    def room(self) -> int:
        """How many may work at once now: some, and one more for each that has taken long."""
        before = self._monotonic() - SLOW_S
        slow = sum(begun <= before for begun in [*self._begun.values()])
        return min(MOST, self._at_once + slow)
