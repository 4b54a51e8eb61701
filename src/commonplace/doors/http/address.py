"""Where the HTTP server listens, what it may be called, and who may reach it without a token.

Opens nothing, and serves nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.core.errors import Denied, Invalid
from commonplace.doors.http.gate import LOOPBACK_NAMES, HostNames, host_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.doors.tokens import TokenFile

_LAST_PORT = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenAddress:
    """Where to listen, and under which other names the server is known."""

    host: str
    port: int
    also: tuple[str, ...] = ()

    @property
    def names(self) -> HostNames:
        """What it may be called."""
        is_loopback = all_loopback(self.host)
        hosts = {self.host.lower(), *map(host_name, self.also)}
        return HostNames(
            hosts=frozenset(hosts | LOOPBACK_NAMES),
            is_loopback=is_loopback,
            any_address=self.host in {"0.0.0.0", "::"},  # noqa: S104  compared, not bound
        )


def parse_address(text: str, also: Sequence[str] = ()) -> ListenAddress:
    """Where to listen: `127.0.0.1:8765`, `[::1]:8765`. Raises: Invalid."""
    host, colon, port = text.strip().rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not colon or not host or not port.isdigit() or int(port) > _LAST_PORT:
        raise Invalid(f"Invalid address: {text!r}.", hint="Use one like 127.0.0.1:8765.")
    for name in also:
        if not host_name(name):
            raise Invalid(f"Invalid host: {name!r}.", hint="Use one like memory.example.org.")
    return ListenAddress(host=host, port=int(port), also=tuple(also))


def all_loopback(host: str) -> bool:
    """Whether only this machine can connect there."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return all(ipaddress.ip_address(str(x[4][0]).partition("%")[0]).is_loopback for x in found)


def check_access(address: ListenAddress, tokens: TokenFile) -> None:
    """Raise Denied where other machines could connect and there are no tokens; Unavailable."""
    names = address.names
    if tokens.was_used() or (names.is_loopback and not address.also):
        return
    where = f"{address.host}:{address.port}" if not names.is_loopback else ", ".join(address.also)
    raise Denied(
        f"Any client that reaches {where} could read and write everything: there are no tokens.",
        hint="Make one first: `commonplace tokens create --user NAME`.",
    )
