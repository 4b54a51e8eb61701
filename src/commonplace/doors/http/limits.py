"""The limits of the HTTP server: how often one owner may ask, and how much at once.

Knows no HTTP and no clock of its own; all of it happens in one thread.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from commonplace.doors.protocol import RateLimitExceeded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_OWNERS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much is let through; a busy client of one person stays well below all of it.

    per_second, at_once: of one owner's requests, at_once without streams, and as many calls that go
    on though their client hung up; burst: what may come in one go after a quiet time.
    replies: of one owner, answers to our own questions at once, beside all that. streams:
    of one owner, open at once. sessions: of one token. callers: tokens that have anything open.
    connections: of all. body_s, send_s: how long a client may take to send the body of a request,
    and to take a part of an answer. finish_s: how long calls may go on at
    the end.
    """

    per_second: float = 50.0
    burst: int = 200
    at_once: int = 16
    replies: int = 4
    streams: int = 64
    sessions: int = 256
    session_idle_s: float = 1800.0
    callers: int = 4096
    connections: int = 1000
    body_bytes: int = 12 * 1024 * 1024
    body_s: float = 30.0
    send_s: float = 60.0
    keep_alive_s: float = 75.0
    finish_s: float = 10.0

    def of_replies(self) -> Limits:
        """What is let through of the answers to what we asked: open calls wait for them."""
        return replace(self, at_once=self.replies)


@dataclass(slots=True)
class _Use:
    tokens: float
    at: float
    calls: int = 0
    streams: int = 0
    work: int = 0

    @property
    def is_idle(self) -> bool:
        return not (self.calls or self.streams or self.work)


class RateLimiter:
    """A token bucket for each owner, with counts of what is open; idle owners are dropped."""

    def __init__(self, limits: Limits, monotonic: Callable[[], float]) -> None:
        self._limits = limits
        self._monotonic = monotonic
        self._uses: OrderedDict[str, _Use] = OrderedDict()

    @contextmanager
    def call(self, owner: str) -> Iterator[None]:
        """A request in flight. Raises: RateLimitExceeded."""
        use = self._paid(owner)
        if use.calls >= self._limits.at_once:
            raise RateLimitExceeded(
                f"More than {self._limits.at_once} calls at once.", retry_after_s=1
            )
        use.calls += 1
        try:
            yield
        finally:
            use.calls -= 1

    @contextmanager
    def stream(self, owner: str) -> Iterator[None]:
        """A stream that stays open. Raises: RateLimitExceeded."""
        use = self._paid(owner)
        if use.streams >= self._limits.streams:
            raise RateLimitExceeded(
                f"More than {self._limits.streams} open streams.", retry_after_s=30
            )
        use.streams += 1
        try:
            yield
        finally:
            use.streams -= 1

    @contextmanager
    def work(self, owner: str) -> Iterator[None]:
        """A call that goes on where its client hangs up. Raises: RateLimitExceeded."""
        use = self._use(owner)
        if use.work >= self._limits.at_once:
            raise RateLimitExceeded(
                f"More than {self._limits.at_once} calls at once.", retry_after_s=1
            )
        use.work += 1
        try:
            yield
        finally:
            use.work -= 1

    def _use(self, owner: str) -> _Use:
        use = self._uses.get(owner)
        if use is None:
            use = self._uses[owner] = _Use(tokens=self._limits.burst, at=self._monotonic())
            self._forget()
        self._uses.move_to_end(owner)
        return use

    def _paid(self, owner: str) -> _Use:
        """This owner's use, one request more of it paid for out of what a second brings."""
        limits, now = self._limits, self._monotonic()
        use = self._use(owner)
        use.tokens = min(limits.burst, use.tokens + (now - use.at) * limits.per_second)
        use.at = now
        if use.tokens < 1:
            wait_s = math.ceil((1 - use.tokens) / limits.per_second)
            raise RateLimitExceeded(
                f"More than {limits.per_second:g} requests a second.", retry_after_s=wait_s
            )
        use.tokens -= 1
        return use

    def _forget(self) -> None:
        if len(self._uses) > _OWNERS:
            idle = [name for name, x in self._uses.items() if x.is_idle]
            for name in idle[: len(self._uses) - _OWNERS]:
                del self._uses[name]
