"""Whether this process stood still since it began on something, as where its machine is frozen.

Others may have changed since what it would write now: what writes a journal asks once it has the
lock. Imports next to nothing, since hooks write files too.
"""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from contextvars import ContextVar

from commonplace.core.errors import Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONGEST_S = 12.0
"""Who did nothing for so long stood still. Postgres ends a transaction a second later, whose locks
keep others from what it changes until then: its deadline is the same."""

ANSWERED_S = 25.0
"""So long after a request came it is told of a lock that another keeps: clients wait longer."""

_LEAST_S = 5.0  # by what took long before it comes to a lock

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
        self._watchers = 0
        self._checked_at = math.inf
        self._went_on_at = -math.inf

    @contextmanager
    def watching(self) -> Iterator[None]:
        """While something checks the clock all the time; before and after it none is known of."""
        self._watchers += 1
        self._checked_at = math.inf  # however long nobody watched
        try:
            yield
        finally:
            self._watchers -= 1

    @contextmanager
    def asked(self, came: float | None = None) -> Iterator[None]:
        """What is done inside, and in threads begun with a copy of its context, was asked then.

        came: when, as `came_at` has it; where it is None the request was just read.
        """
        if came is None:
            self.check_clock()
            came = self._now()
            if came - self._went_on_at < _UNREAD_S:
                came = math.nextafter(self._went_on_at, -math.inf)
        before = _came.set(came)
        try:
            yield
        finally:
            _came.reset(before)

    @contextmanager
    def begun(self) -> Iterator[None]:
        """What is done inside is begun now, by nobody's request."""
        self.check_clock()
        with self.asked(self._now()):
            yield

    def refuse(self) -> None:
        """Refuse to keep what was asked before a standstill. Raises: Unavailable.

        Asked with a lock in hand that keeps others out: else it may stand still right after.
        """
        if _came.get() == math.inf:
            return  # as of a command
        self.check_clock()  # whoever goes on first after a standstill sees it
        if _came.get() < self._went_on_at:
            raise Unavailable(
                "This server stood still for a while, and keeps nothing that it was asked before.",
                hint="Look whether it is done by now, then ask again.",
            )

    def check_clock(self) -> None:
        """Find out whether the process stood still since the last call; a server asks at 10 Hz."""
        if not self._watchers:
            return
        now = self._now()
        if now - self._checked_at > LONGEST_S:
            self.note_standstill()
        if not now < self._checked_at < math.inf:  # no slow thread sets it back
            self._checked_at = now

    def note_standstill(self) -> None:
        """Take it that the process went on just now."""
        self._went_on_at = self._now()


PROCESS = Standstill()
"""That of this process."""


def came_at() -> float:
    """When the request came that is being answered; never, where there is none."""
    return _came.get()


def patience_s() -> float:
    """How long what is being done may wait for a lock; without an end where nobody asked for it."""
    return max(_LEAST_S, _came.get() + ANSWERED_S - seconds())
