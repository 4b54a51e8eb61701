"""The documents by which clients describe themselves: the id of a client is its address (CIMD).

Never connects to an address that is not public, never goes on to another, and never waits for long:
anybody who signs in may name any address.
"""

from __future__ import annotations

import ipaddress
import json
import socket
import time
import urllib.parse
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import anyio

from commonplace.core.errors import CommonplaceError, Invalid, Unavailable
from commonplace.core.text import opening

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Mapping

MOST_BYTES = 16 * 1024
TIMEOUT_S = 5.0
KNOWN_S = 600.0
FAILED_S = 10.0
LONGEST_ADDRESS = 500
_MOST_KNOWN = 200
_HTTPS = 443
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_LATER = "Start again in the program a minute later."


def is_document_address(client_id: str) -> bool:
    """Whether a client's id says that it is the address of its document."""
    return client_id.startswith("https://")


async def resolve(host: str) -> list[str]:
    """The addresses of a host. Raises: OSError."""
    found = await anyio.getaddrinfo(host, _HTTPS, type=socket.SOCK_STREAM)
    return [str(each[4][0]).partition("%")[0] for each in found]


class DocumentFetcher:
    """Fetches one document. Any number may be fetched at once.

    Args:
        resolve: Gives the addresses of a host. Raises: OSError.
        is_public: Whether an address may be connected to.
        port: Where documents are served.
        trust: Whose certificates are believed; None for those that everybody believes.
        timeout_s: How long all of it may take.
    """

    def __init__(
        self,
        *,
        resolve: Callable[[str], Awaitable[list[str]]] = resolve,
        is_public: Callable[[str], bool] | None = None,
        port: int = _HTTPS,
        trust: ssl.SSLContext | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._resolve = resolve
        self._is_public = is_public or is_public_address
        self._port = port
        self._trust = trust
        self._timeout_s = timeout_s

    async def __call__(self, address: str) -> Mapping[str, Any]:
        """What a client says of itself. Raises: Invalid, Unavailable."""
        host = _host_of(address)
        shown = opening(address, 100)
        try:
            with anyio.fail_after(self._timeout_s):
                return await self._fetch(address, host)
        except TimeoutError as exc:
            raise Unavailable(f"{shown} answers too slowly.", hint=_LATER) from exc
        except OSError as exc:
            raise Unavailable(
                f"{shown} cannot be reached.",
                hint="The server asks there who the program is: let it reach that address by "
                "https, or give the program a token.",
            ) from exc

    async def _fetch(self, address: str, host: str) -> Mapping[str, Any]:
        import httpx2

        shown = opening(address, 100)
        found = await self._resolve(host)
        # All of them: which one is connected to is nobody's choice but ours.
        if not found or not all(self._is_public(each) for each in found):
            raise Invalid(
                f"{shown} is not at a public address.",
                hint="Let the program register itself, or give it a token.",
            )
        parts = urllib.parse.urlsplit(address)
        at = f"[{found[0]}]" if ":" in found[0] else found[0]
        place = parts._replace(netloc=f"{at}:{self._port}").geturl()
        # As it comes over the wire: what is packed may unfold to any size.
        headers = {
            "Host": host,
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "commonplace",
        }
        body = bytearray()
        try:
            async with (
                httpx2.AsyncClient(
                    verify=True if self._trust is None else self._trust,
                    trust_env=False,
                    follow_redirects=False,
                    timeout=self._timeout_s,
                ) as web,
                web.stream(
                    "GET", place, headers=headers, extensions={"sni_hostname": host}
                ) as answer,
            ):
                if answer.status_code != httpx2.codes.OK:
                    raise Unavailable(f"{shown} answers {answer.status_code}.", hint=_LATER)
                async for part in answer.aiter_raw():
                    body += part
                    if len(body) > MOST_BYTES:
                        raise Invalid(f"{shown} is longer than {MOST_BYTES // 1024} kB.")
            said = json.loads(body)
        except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
            raise Unavailable(
                f"{shown} gave no answer: {type(exc).__name__}.", hint=_LATER
            ) from exc
        except (ValueError, RecursionError) as exc:
            raise Invalid(f"{shown} is not JSON.") from exc
        if not isinstance(said, dict) or said.get("client_id") != address:
            raise Invalid(f"{shown} does not give that address as its client_id.")
        return said


class ClientDocuments:
    """The documents of clients, each kept for ten minutes; what failed for ten seconds.

    For one event loop.
    """

    def __init__(
        self,
        fetch: Callable[[str], Awaitable[Mapping[str, Any]]],
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetch = fetch
        self._monotonic = monotonic
        self._known: OrderedDict[str, tuple[Mapping[str, Any] | CommonplaceError, float]] = (
            OrderedDict()
        )

    async def read(self, address: str) -> Mapping[str, Any]:
        """What a client says of itself. Raises: Invalid, Unavailable."""
        said, until = self._known.get(address, (None, 0.0))
        if said is None or self._monotonic() >= until:
            try:
                said = await self._fetch(address)
            except CommonplaceError as exc:
                said = exc
            lasts_s = FAILED_S if isinstance(said, CommonplaceError) else KNOWN_S
            self._known[address] = said, self._monotonic() + lasts_s
            self._known.move_to_end(address)
            while len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        if isinstance(said, CommonplaceError):
            raise said
        return said


def is_public_address(address: str) -> bool:
    """Whether an address is one of the internet: not of this machine, its network, or its cloud."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo or (None, None))[1]
        if inner is not None or found in _NAT64:
            return False
    return found.is_global and not found.is_multicast


def _host_of(address: str) -> str:
    """The host of a document. Raises: Invalid for an address that is none of a document."""
    try:
        parts = urllib.parse.urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port, parts = "", None, urllib.parse.urlsplit("")
    is_plain = address.isascii() and address.isprintable() and " " not in address
    if (
        parts.scheme != "https"
        or not host
        or port not in {None, _HTTPS}
        or "@" in parts.netloc
        or "#" in address
        or "\\" in address
        or not parts.path.strip("/")
        or {".", ".."} & {*urllib.parse.unquote(parts.path).split("/")}
        or not is_plain
        or len(address) > LONGEST_ADDRESS
    ):
        raise Invalid(f"{opening(address, 100)!r} is no address of a client's document.")
    return host
