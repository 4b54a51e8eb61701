"""How many calls of a server run at once: few, since more would only wait for each other.

Never stops a call. One that takes long waits for a disk or a language model, so another may begin;
one that waits for its client's own model does not count as running, but few may wait at a time,
as each holds a thread. Measured with 32 clients: 64 threads had a p99 of 670 ms, four had 390 ms.
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

FEWEST = 4
SLOW_S = 1.0
MOST = 64

QUESTIONS_OF_ONE = 4
"""How many calls of one owner wait for models of its clients at a time."""

QUESTIONS = 32
"""How many of all owners do."""


class ConcurrencyLimit:
    """Counts the calls that run now, and those that wait for a client. Thread-safe."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._at_once = max(FEWEST, os.cpu_count() or 1)
        self._begun: dict[object, float] = {}
        self._lock = threading.Lock()
        self._asking: Counter[str] = Counter()

    @contextmanager
    def working(self) -> Iterator[object]:
        """Count a call as running; yields the key of it."""
        call = object()
        self._begun[call] = self._monotonic()
        try:
            yield call
        finally:
            self._begun.pop(call, None)

    @contextmanager
    def asking(self, owner: str, call: object) -> Iterator[None]:
        """Count a call as waiting for its client's own model instead of running.

        Args:
            owner: Whose call it is.
            call: Its key, from `working`.

        Raises:
            Unavailable: As many calls wait as may.
        """
        with self._lock:
            if self._asking[owner] >= QUESTIONS_OF_ONE:
                raise Unavailable(f"It has {QUESTIONS_OF_ONE} questions open already.")
            if self._asking.total() >= QUESTIONS:
                raise Unavailable("Too many questions to clients are open now.")
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
        """How many threads may have a call now: a few, one more for each slow or waiting call."""
        before = self._monotonic() - SLOW_S
        slow = sum(begun <= before for begun in [*self._begun.values()])
        with self._lock:
            return min(MOST, self._at_once + slow) + self._asking.total()
