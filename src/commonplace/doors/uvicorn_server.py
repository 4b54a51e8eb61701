"""The HTTP server of both doors that need one: uvicorn's configuration, its socket, its signals.

Knows no MCP and no page, and never logs what a request says. Uses no more of uvicorn than it
documents, and of its protocol what every protocol of asyncio has.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from commonplace.core.errors import Denied, Invalid, Unavailable
from commonplace.core.standstill import PROCESS
from commonplace.doors.connections import Connections
from commonplace.doors.interrupt import close_at_ctrl_c

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from commonplace.doors.connections import ClientConnection, ConnectionLimits

_BACKLOG = 512
_HEAD_BYTES = 32 * 1024
_BOTH_ENDS = {b"content-length", b"transfer-encoding"}
_DISPUTED = b"A request has Content-Length or Transfer-Encoding, not both.\n"


class Server(uvicorn.Server):
    """Uvicorn without its signal handlers: we stop it, once open calls have ended."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


class GuardedProtocol(H11Protocol):
    """Uvicorn's protocol, for the connections that have a place."""

    def __init__(self, *, connections: Connections, **given: Any) -> None:
        super().__init__(**given)
        self._connections = connections
        self._held: ClientConnection | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, where there is a place."""
        assert isinstance(transport, asyncio.Transport)
        self._held = self._connections.add(transport)
        if self._held is not None:
            super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Note that something came, then read it."""
        if self._held is not None:
            self._held.came()
            super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the place."""
        if self._held is not None:
            self._connections.drop(self._held)
            super().connection_lost(exc)


def make_server(
    application: Callable[..., Any], *, limits: ConnectionLimits, finish_s: float
) -> Server:
    """Build the server of an ASGI application; its `serve` takes the socket from `listen`."""
    connections = Connections(limits)
    protocol = partial(GuardedProtocol, connections=connections)
    config = uvicorn.Config(
        _watching_clients(_closing_disputed(application), connections),
        http=cast("type[asyncio.Protocol]", protocol),
        ws="none",
        loop="asyncio",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=int(limits.keep_alive_s),
        timeout_graceful_shutdown=int(finish_s),
        h11_max_incomplete_event_size=_HEAD_BYTES,
    )
    return Server(config)


def _watching_clients(
    application: Callable[..., Any], connections: Connections
) -> Callable[..., Any]:
    """The application, with each connection told when its client is waited for, and since when."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        held = connections.find(scope["client"])
        if held is None:  # it is being closed; uvicorn takes a return before for a fault of ours
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        with held.request(), PROCESS.asked():
            await application(scope, held.receiving(receive), held.sending(send))

    return answer


def _closing_disputed(application: Callable[..., Any]) -> Callable[..., Any]:
    """The application, for requests of which every proxy in front sees the same end.

    One with a length and chunks as well ends elsewhere for some of them, and what one takes for its
    body is the next request for another: RFC 9112, 6.3 has the connection closed. h11 goes on.
    """

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if not _BOTH_ENDS.issubset(name for name, _ in scope["headers"]):
            await application(scope, receive, send)
            return
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(_DISPUTED)).encode()),
            (b"connection", b"close"),
        ]
        await send({"type": "http.response.start", "status": 400, "headers": headers})
        await send({"type": "http.response.body", "body": _DISPUTED})

    return answer


def listen(host: str, port: int, *, option: str) -> socket.socket:
    """Open a socket that listens there.

    Raises:
        Unavailable: Another process listens there.
        Denied: The system does not allow it.
        Invalid: It is not an address of this machine.
    """
    shown = f"{host}:{port}"
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as exc:
        raise Invalid(f"{host} is not an address of this machine.", hint="Use 127.0.0.1.") from exc
    family, kind, protocol, _, address = found[0]
    opened = socket.socket(family, kind, protocol)
    try:
        if os.name != "nt":
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(_BACKLOG)
    except OSError as exc:
        opened.close()
        if exc.errno == errno.EADDRINUSE:
            raise Unavailable(
                f"Another process listens on {shown}.", hint=f"Stop it, or give another {option}."
            ) from exc
        if exc.errno in {errno.EACCES, errno.EPERM}:
            raise Denied(
                f"The system does not let you listen on {shown}.", hint="Use a port above 1023."
            ) from exc
        raise Invalid(f"{shown} is not an address of this machine.", hint="Use 127.0.0.1.") from exc
    return opened


def on_stop_signals(then: Callable[[], None], *, at_ctrl_c: Callable[[], None]) -> None:
    """Have SIGTERM call `then`, and Ctrl-C `at_ctrl_c`, in the event loop's thread."""
    loop = asyncio.get_running_loop()
    signal.signal(signal.SIGTERM, lambda *_: loop.call_soon_threadsafe(then))
    close_at_ctrl_c(lambda: loop.call_soon_threadsafe(at_ctrl_c))


def end_at_stop_signals() -> None:
    """Have SIGTERM and SIGINT end the process at once, whatever it waits for."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
