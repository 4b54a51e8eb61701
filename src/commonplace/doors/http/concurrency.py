"""How many calls of a server work at once: few, for more only wait for each other, and longer.

A call that takes long waits for a disk or a language model, and is no reason for others to wait.
One that waits for its client's own model works not at all; few of them wait at a time, for each
holds a thread.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from commonplace.core.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AT_ONCE = 4
SLOW_S = 1.0
MOST = 64

ASKING_OF_ONE = 4
"""How many calls of one owner wait for models of its clients at a time."""

ASKING = 32
"""How many of all owners do."""


class Pace:
    """Counts the calls that work now, and those that ask. Thread-safe."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._at_once = max(AT_ONCE, os.cpu_count() or 1)
        self._begun: dict[object, float] = {}
        self._lock = threading.Lock()
        self._asking: Counter[str] = Counter()

    @contextmanager
    def working(self) -> Iterator[object]:
        """A call at work; yields what it is known by."""
        call = object()
        self._begun[call] = self._monotonic()
        try:
            yield call
        finally:
            self._begun.pop(call, None)

    @contextmanager
    def asking(self, owner: str, call: object) -> Iterator[None]:
        """A call that waits for its client's own model, and does not work meanwhile.

        Raises: Unavailable, where as many wait as may.
        """
        with self._lock:
            if self._asking[owner] >= ASKING_OF_ONE:
                raise Unavailable(f"It is asked {ASKING_OF_ONE} questions already.")
            if self._asking.total() >= ASKING:
                raise Unavailable("It is one of too many that are asked now.")
            self._asking[owner] += 1
        self._begun.pop(call, None)
        try:
            yield
        finally:
            self._begun[call] = self._monotonic()
            with self._lock:
                self._asking[owner] -= 1
                self._asking += Counter()  # who asks nothing any more is forgotten

    def room(self) -> int:
        """How many threads may have a call now.

        Some work, one more for each that has taken long, and those that ask are beside them.
        """
        before = self._monotonic() - SLOW_S
        slow = sum(begun <= before for begun in [*self._begun.values()])
        with self._lock:
            return min(MOST, self._at_once + slow) + self._asking.total()
