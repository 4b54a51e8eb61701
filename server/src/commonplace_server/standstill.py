"""Whether this process stood still since a request came, as where its machine is frozen or moved.

Its client may have asked another server since, and changed there what this one would write now.
"""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from commonplace.core.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONGEST_S = 12.0
"""Who did nothing for so long stood still. Postgres ends a transaction a second later, whose locks
keep others from what it changes until then: its deadline is the same."""

_UNREAD_S = 0.5
"""So long after a standstill a request is read that may have come before it."""

# Of Linux, where `time.monotonic` stands while the machine is suspended.
_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)

_came: ContextVar[float] = ContextVar("came", default=math.inf)


def seconds() -> float:
    """The time as `came_at` has it, from some beginning on, that of a suspended machine too."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


class Standstill:
    """Notes that the process went on after it had stood still. Thread-safe.

    Args:
        now: Gives seconds, those of a standstill as well.
    """

    def __init__(self, *, now: Callable[[], float] = seconds) -> None:
        self._now = now
        self._looked_at = math.inf  # before it is first looked, however long a start takes
        self._went_on_at = -math.inf

    @contextmanager
    def asked(self, came: float | None = None) -> Iterator[None]:
        """What is done inside, and in threads begun with a copy of its context, was asked then.

        came: when, as `came_at` has it; where it is None the request was just read.
        """
        if came is None:
            self.look()
            came = self._now()
            if came - self._went_on_at < _UNREAD_S:
                came = math.nextafter(self._went_on_at, -math.inf)
        before = _came.set(came)
        try:
            yield
        finally:
            _came.reset(before)

    def refuse(self) -> None:
        """Refuse to keep what was asked before a standstill. Raises: Unavailable."""
        if _came.get() == math.inf:
            return  # no request asked for it, and nobody looks all the time where none is answered
        self.look()  # whoever goes on first after a standstill sees it
        if _came.get() < self._went_on_at:
            raise Unavailable(
                "This server stood still for a while, and keeps nothing that it was asked before.",
                hint="Look whether it is done by now, then ask again.",
            )

    def look(self) -> None:
        """Compare the time with that of the last look; a server looks ten times a second."""
        now = self._now()
        if now - self._looked_at > LONGEST_S:
            self._went_on_at = now
        self._looked_at = now


PROCESS = Standstill()
"""That of this process."""


def came_at() -> float:
    """When the request came that is being answered; never, where there is none."""
    return _came.get()
