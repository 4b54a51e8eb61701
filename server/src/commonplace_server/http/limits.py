"""The limits of the HTTP server: how often one owner may ask, and how much at once.

Knows no HTTP and no clock of its own; all of it happens in one thread, but what it asks of others.
"""

from __future__ import annotations

import logging
import math
from collections import OrderedDict
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol

import anyio
import anyio.to_thread
from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError
from commonplace.doors.connections import ConnectionLimits
from commonplace.doors.protocol import RateLimitExceeded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_OWNERS = 10_000
_ALONE = 20
"""A server admits this part of a burst before it counts with the others."""
_AGAIN_S = 1.0
_ASKING = 8
_log = logging.getLogger(f"commonplace.{__name__}")


class Limits(Struct, frozen=True, kw_only=True):
    """How much a server admits; a busy client of one person stays well below all of it.

    Args:
        per_second: Requests of one owner, on average.
        burst: Requests of one owner in one go, after a quiet time.
        at_once: Requests of one owner in flight, without streams; and as many calls that go on
            though their client hung up.
        replies: Answers of one owner to our own questions in flight, beside all that.
        streams: Open streams of one owner.
        sessions: Sessions of one token.
        session_idle_s: How long a session may be idle.
        callers: Tokens that have anything open.
        connections: How many there are, and how long each may keep the server waiting.
        body_bytes: The largest body of a request.
        body_s: How long a client may take to send the body of a request.
        drain_s: How long calls are let in once the server is to stop, where `/readyz` is asked.
        finish_s: How long calls may go on when none are let in any more.
    """

    per_second: float = 50.0
    burst: int = 200
    at_once: int = 16
    replies: int = 4
    streams: int = 64
    sessions: int = 256
    session_idle_s: float = 1800.0
    callers: int = 4096
    connections: ConnectionLimits = ConnectionLimits(most=1000, of_a_peer=750, kept=100)
    body_bytes: int = 12 * 1024 * 1024
    body_s: float = 30.0
    drain_s: float = 10.0
    finish_s: float = 10.0

    def of_replies(self) -> Limits:
        """The limits of answers to our own questions, which open calls wait for."""
        return replace(self, at_once=self.replies)

    def of_drafts(self) -> Limits:
        """The limits of what the pages send as one types: three times as often as they do."""
        return replace(self, per_second=5.0, burst=20, at_once=2)


class SharesRates(Protocol):
    """A bucket for each owner which all servers take from. Thread-safe."""

    def spend(self, owner: str, spent: int) -> float:
        """Take tokens out of an owner's bucket; what is left. Raises: Unavailable, Denied."""
        ...


class _Usage(Struct):
    tokens: float
    at: float
    alone: int = 0
    agreeing: anyio.Lock = field(default_factory=anyio.Lock)
    calls: int = 0
    streams: int = 0
    work: int = 0

    @property
    def is_idle(self) -> bool:
        return not (self.calls or self.streams or self.work)


class RateLimiter:
    """A token bucket for each owner, with counts of what is open; idle owners are dropped.

    Of several servers each counts for itself, admits a twentieth of a burst, and then takes all
    that out of the shared bucket, of which it knows since then. In any time n servers admit as many
    requests as one would, and at most (n - 1) twentieths of a burst more. What is open at once
    each counts for itself.

    Args:
        limits: How much is admitted.
        monotonic: Gives seconds.
        shared: What the servers share; None for one that is alone.
    """

    def __init__(
        self, limits: Limits, monotonic: Callable[[], float], shared: SharesRates | None = None
    ) -> None:
        self._limits = limits
        self._monotonic = monotonic
        self._usages: OrderedDict[str, _Usage] = OrderedDict()
        self._shared = shared
        self._most_alone = max(limits.burst // _ALONE, 1)
        self._ask_after = -math.inf
        self._asking = anyio.CapacityLimiter(_ASKING)

    async def agree(self, owner: str) -> None:
        """Count with the other servers, where this one has admitted all that it may alone.

        Called before each `call` and `stream`, without waiting in between. While the others cannot
        be asked, this server goes on counting for itself.
        """
        if self._shared is None:
            return
        use = self._usage(owner)
        if use.alone < self._most_alone:
            return
        async with use.agreeing:
            if use.alone >= self._most_alone and self._monotonic() >= self._ask_after:
                await self._take_from(self._shared, owner, use)

    async def _take_from(self, shared: SharesRates, owner: str, use: _Usage) -> None:
        self._fill(use)
        if use.tokens < 1:  # refused without a question
            return
        spent = use.alone
        try:
            left = await anyio.to_thread.run_sync(
                partial(shared.spend, owner, spent), limiter=self._asking
            )
        except CommonplaceError as exc:
            self._ask_after = self._monotonic() + _AGAIN_S
            _log.warning("Requests are counted by this server alone: %s", exc)
            return
        use.alone -= spent
        use.tokens, use.at = left - use.alone, self._monotonic()

    @contextmanager
    def call(self, owner: str) -> Iterator[None]:
        """Count a request while it is in flight. Raises: RateLimitExceeded."""
        use = self._take_token(owner)
        if use.calls >= self._limits.at_once:
            raise RateLimitExceeded(
                f"More than {self._limits.at_once} calls at once.", limit="at_once", retry_after_s=1
            )
        use.calls += 1
        try:
            yield
        finally:
            use.calls -= 1

    @contextmanager
    def stream(self, owner: str) -> Iterator[None]:
        """Count a stream while it is open. Raises: RateLimitExceeded."""
        use = self._take_token(owner)
        if use.streams >= self._limits.streams:
            raise RateLimitExceeded(
                f"More than {self._limits.streams} open streams.", limit="streams", retry_after_s=30
            )
        use.streams += 1
        try:
            yield
        finally:
            use.streams -= 1

    @contextmanager
    def work(self, owner: str) -> Iterator[None]:
        """Count a call while it runs, which may be longer than its client waits.

        Raises: RateLimitExceeded.
        """
        use = self._usage(owner)
        if use.work >= self._limits.at_once:
            raise RateLimitExceeded(
                f"More than {self._limits.at_once} calls at once.", limit="at_once", retry_after_s=1
            )
        use.work += 1
        try:
            yield
        finally:
            use.work -= 1

    def _usage(self, owner: str) -> _Usage:
        use = self._usages.get(owner)
        if use is None:
            use = self._usages[owner] = _Usage(tokens=self._limits.burst, at=self._monotonic())
            self._evict_idle()
        self._usages.move_to_end(owner)
        return use

    def _take_token(self, owner: str) -> _Usage:
        """Take a token out of this owner's bucket. Raises: RateLimitExceeded where it is empty."""
        limits = self._limits
        use = self._usage(owner)
        self._fill(use)
        if use.tokens < 1:
            wait_s = math.ceil((1 - use.tokens) / limits.per_second)
            raise RateLimitExceeded(
                f"More than {limits.per_second:g} requests a second.",
                limit="per_second",
                retry_after_s=wait_s,
            )
        use.tokens -= 1
        use.alone += 1
        return use

    def _fill(self, use: _Usage) -> None:
        """Put into a bucket what has come since it was last looked at."""
        now = self._monotonic()
        came = (now - use.at) * self._limits.per_second
        use.tokens, use.at = min(self._limits.burst, use.tokens + came), now

    def _evict_idle(self) -> None:
        if len(self._usages) > _OWNERS:
            idle = [name for name, x in self._usages.items() if x.is_idle]
            for name in idle[: len(self._usages) - _OWNERS]:
                del self._usages[name]
