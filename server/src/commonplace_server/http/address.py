"""Where the HTTP server listens, under which names, and whether it may do so without tokens.

Opens no socket, and serves nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import Denied, Invalid
from commonplace.doors.host_names import LOOPBACK_NAMES, HostNames, host_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace_server.tokens import ReadsTokens

_LAST_PORT = 65535


class ListenAddress(Struct, frozen=True, kw_only=True):
    """An address to listen on.

    Args:
        host: A name or an IP address of this machine.
        port: 0 for any that is free.
        also: Other names of the server, as behind a proxy.
    """

    host: str
    port: int
    also: tuple[str, ...] = ()

    @property
    def names(self) -> HostNames:
        """The names that a Host header may give the server."""
        is_loopback = all_loopback(self.host)
        hosts = {self.host.lower(), *map(host_name, self.also)}
        return HostNames(
            hosts=frozenset(hosts | LOOPBACK_NAMES),
            is_loopback=is_loopback,
            any_address=self.host in {"0.0.0.0", "::"},  # noqa: S104  compared, not bound
        )


def parse_address(text: str, also: Sequence[str] = ()) -> ListenAddress:
    """Parse an address such as `127.0.0.1:8765` or `[::1]:8765`.

    Args:
        text: The address.
        also: Other names of the server, as behind a proxy.

    Raises:
        Invalid: It is not a host and a port, or a name is not one.
    """
    host, colon, port = text.strip().rpartition(":")
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not colon or not host or not port.isdigit() or int(port) > _LAST_PORT:
        raise Invalid(f"Invalid address: {text!r}.", hint="Use one like 127.0.0.1:8765.")
    for name in also:
        if not host_name(name):
            raise Invalid(f"Invalid host: {name!r}.", hint="Use one like memory.example.org.")
    return ListenAddress(host=host, port=int(port), also=tuple(also))


def all_loopback(host: str) -> bool:
    """Whether every address of this host is one that only this machine can connect to."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return all(ipaddress.ip_address(str(x[4][0]).partition("%")[0]).is_loopback for x in found)


def check_access(address: ListenAddress, tokens: ReadsTokens, *, has_issuer: bool = False) -> None:
    """Refuse to listen where other machines could connect and there are no tokens.

    Args:
        address: Where.
        tokens: Those of this server.
        has_issuer: Whether an identity provider makes tokens for it, so that all need one.

    Raises:
        Denied: It must not be listened on.
        Unavailable: The tokens cannot be read.
    """
    names = address.names
    if has_issuer or tokens.was_used() or (names.is_loopback and not address.also):
        return
    where = f"{address.host}:{address.port}" if not names.is_loopback else ", ".join(address.also)
    raise Denied(
        f"Any client that reaches {where} could read and write everything: there are no tokens.",
        hint="Make one first: `commonplace tokens create --owner NAME`.",
    )
