"""The names under which a server may be asked, as a Host header gives them.

A page of another site that has its name lead to this machine (DNS rebinding) is told apart by it.
"""

from __future__ import annotations

import ipaddress
import re

from msgspec import Struct

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

_PORT = re.compile(r"(?::[0-9]{0,5})?")


class HostNames(Struct, frozen=True, kw_only=True):
    """The names that a Host header may give this server: every address where it listens on all."""

    hosts: frozenset[str]
    is_loopback: bool
    any_address: bool = False

    def knows(self, host: str) -> bool:
        """Whether a Host header names this server, and not another site's name for its address."""
        name = host_name(host)
        if name in self.hosts or not self.any_address:
            return name in self.hosts
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def host_name(host: str) -> str:
    """The name in a Host header, without its port, in lower case; empty where it is malformed."""
    host = host.lower()
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        # What stands after `%` in an address is any text: no client sends it.
        return name if bracket and "%" not in name and _PORT.fullmatch(port) else ""
    name, colon, port = host.partition(":")
    return name.rstrip(".") if _PORT.fullmatch(colon + port) else ""
