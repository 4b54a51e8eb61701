"""The places for a server's connections: how many there are, and who loses one when none is left.

Never reads what a request says, and never holds up an answer that is being made.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from commonplace.doors.peer_account import account_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    Address: TypeAlias = tuple[str, int]
    Receive: TypeAlias = Callable[[], Awaitable[Any]]
    Send: TypeAlias = Callable[[Any], Awaitable[None]]

_log = logging.getLogger(__name__)

SWEEP_S = 1.0
"""How often connections are closed that kept the server waiting too long."""

LOG_S = 60.0
"""How often it is logged that no place was left."""

_ONE_NETWORK = 64
_NO_PLACE = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\nretry-after: 5\r\n"
    b"content-length: 45\r\nconnection: close\r\n\r\nThis server has no place for another client.\n"
)


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    """How many connections a server has at a time, and how long each may keep it waiting.

    Attributes:
        most: Of all clients together.
        of_a_peer: Of one other account of this machine, such as that of a proxy, or of one address
            of another.
        kept: Those of `most` that only the server's own account may take, where the system tells
            it from others.
        head_s: How long a client may take to send the head of a request.
        send_s: How long a client may take to accept a part of an answer.
        keep_alive_s: How long a connection without a request is kept.
    """

    most: int
    of_a_peer: int
    kept: int
    head_s: float = 15.0
    send_s: float = 60.0
    keep_alive_s: float = 75.0


class ClientConnection:
    """One connection, and since when the server waits for its client.

    Args:
        peer: Who opened it: an account of this machine, or an address.
        is_own: Whether that is the account of this process.
    """

    def __init__(
        self,
        *,
        address: Address,
        peer: object,
        is_own: bool,
        transport: asyncio.Transport,
        monotonic: Callable[[], float],
        limits: ConnectionLimits,
    ) -> None:
        self.address = address
        self.peer = peer
        self.is_own = is_own
        self._transport = transport
        self._monotonic = monotonic
        self._limits = limits
        self._requests = 0
        self._is_idle = False
        self.since: float | None = monotonic()
        """Since when the server waits; None while it works on an answer."""
        self.ends: float | None = self.since + limits.head_s
        """When it has waited too long; None while that is not for this module to say."""

    def came(self) -> None:
        """Note that bytes came: between two requests, the next head begins."""
        if self._is_idle:
            self._is_idle = False
            self._wait(self._limits.head_s)

    def close(self) -> None:
        """Close it at once, whatever is on its way."""
        self._transport.abort()

    @contextmanager
    def request(self) -> Iterator[None]:
        """Count a request while it is answered."""
        self._requests += 1
        self._is_idle = False
        self.since = self.ends = None
        try:
            yield
        finally:
            self._requests -= 1
            if not self._requests:
                # A part of the next head may have come already: then no timer but this one runs.
                self._is_idle = True
                self._wait(self._limits.keep_alive_s + self._limits.head_s)

    def receiving(self, receive: Receive) -> Receive:
        """A `receive` during which the server waits for the body of a request."""
        begun, is_whole = self._monotonic(), False

        async def read() -> Any:
            nonlocal is_whole
            if is_whole:  # what comes now is that the client has left
                return await receive()
            self.since = begun
            try:
                message = await receive()
            finally:
                self.since = None
            is_whole = not message.get("more_body", False)
            return message

        return read

    def sending(self, send: Send) -> Send:
        """A `send` during which the server waits for the client to take it."""

        async def write(message: Any) -> None:
            self._wait(self._limits.send_s)
            try:
                await send(message)
            finally:
                self.since = self.ends = None

        return write

    def _wait(self, at_most_s: float) -> None:
        self.since = self._monotonic()
        self.ends = self.since + at_most_s


class Connections:
    """All connections of a server. Used in its event loop alone.

    A client that keeps the server waiting may lose its place to another: so half-sent requests,
    however many clients send them, keep out none that sends a whole one.

    Args:
        find_account: The account at the other end of a connection, as `account_of`.
    """

    def __init__(
        self,
        limits: ConnectionLimits,
        *,
        find_account: Callable[[Address, Address], int | None] = account_of,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        self._find_account = find_account
        self._monotonic = monotonic
        self._open: dict[Address, ClientConnection] = {}
        self._counts: Counter[object] = Counter()
        self._own = 0
        self._sweeping: asyncio.TimerHandle | None = None
        self._logged = float("-inf")

    def add(self, transport: asyncio.Transport) -> ClientConnection | None:
        """Give a new connection its place, if need be that of one that keeps the server waiting.

        Returns:
            None where there is no place; the client was then told so.
        """
        address, here = (transport.get_extra_info(name)[:2] for name in ("peername", "sockname"))
        account = self._find_account(address, here)
        made = ClientConnection(
            address=address,
            peer=_network(address[0]) if account is None else account,
            is_own=account is not None and account == os.geteuid(),
            transport=transport,
            monotonic=self._monotonic,
            limits=self.limits,
        )
        while (rivals := self._rivals(made)) is not None:
            self._log_full()
            if not rivals:
                transport.write(_NO_PLACE)
                transport.close()
                return None
            longest = max(rivals, key=self._claim)
            longest.close()
            self.drop(longest)
        self._open[address] = made
        self._counts[made.peer] += 1
        self._own += made.is_own
        if self._sweeping is None:
            self._sweep_later()
        return made

    def find(self, address: Address | None) -> ClientConnection | None:
        """The open connection of an address; None where it was closed."""
        return None if address is None else self._open.get(address)

    def drop(self, held: ClientConnection) -> None:
        """Free the place of a connection that is closed; may be called twice."""
        if self._open.get(held.address) is not held:
            return
        del self._open[held.address]
        self._counts[held.peer] -= 1
        if not self._counts[held.peer]:
            del self._counts[held.peer]
        self._own -= held.is_own

    def _rivals(self, made: ClientConnection) -> list[ClientConnection] | None:
        """The waiting connections of which one must go for this one; None where there is room."""
        limits, count = self.limits, len(self._open)
        waiting = (held for held in self._open.values() if held.since is not None)
        if made.is_own:
            return None if count < limits.most else [*waiting]
        if self._counts[made.peer] >= limits.of_a_peer:
            return [held for held in waiting if held.peer == made.peer]
        if count < limits.most and count - self._own < limits.most - limits.kept:
            return None
        return [held for held in waiting if not held.is_own]

    def _claim(self, held: ClientConnection) -> tuple[bool, int, float]:
        """How much sooner than others this one goes: strangers, those with many, those who wait."""
        return not held.is_own, self._counts[held.peer], -(held.since or 0.0)

    def _sweep_later(self) -> None:
        due = self._monotonic() + SWEEP_S
        self._sweeping = asyncio.get_running_loop().call_later(SWEEP_S, self._sweep, due)

    def _sweep(self, due: float) -> None:
        """Close the connections that kept the server waiting too long; again in a second.

        Args:
            due: When this was to be done. After a standstill of the server it is late, and what
                clients sent meanwhile lies unread: it was not they who kept anybody waiting.
        """
        for held in [*self._open.values()]:
            if held.ends is not None and held.ends <= due:
                held.close()
                self.drop(held)
        self._sweeping = None
        if self._open:
            self._sweep_later()

    def _log_full(self) -> None:
        now = self._monotonic()
        if now - self._logged >= LOG_S:
            self._logged = now
            _log.warning("No place is left for a connection: those that wait longest are closed.")


def _network(host: str) -> object:
    """What is one peer: an IPv4 address, or the network of an IPv6 one, of which each has many."""
    address = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv4Address):
        return address
    return address.ipv4_mapped or ipaddress.ip_network((address, _ONE_NETWORK), strict=False)
