"""The HTTP server itself: uvicorn, with an end to clients that are slow to ask or to listen.

Knows no MCP, and never logs what a request says.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from commonplace.core.errors import Denied, Invalid, Unavailable
from commonplace.doors.interrupt import close_at_ctrl_c

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from commonplace.doors.http.limits import Limits

_BACKLOG = 512
_HEAD_BYTES = 32 * 1024
_FILES = 16_384


class _Joined:
    """A transport that sends what is written in one go as one: an answer's head and its body.

    waits: called where it is closed with something left to send.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        waits: Callable[[], None],
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._waits = waits
        self._parts: list[bytes] = []

    def write(self, part: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(part)

    def close(self) -> None:
        self._flush()
        self._transport.close()
        if self._transport.get_write_buffer_size():
            self._waits()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def _flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts and not self._transport.is_closing():
            self._transport.write(b"".join(parts))


class _Connection(H11Protocol):
    """One connection; hangs up where no request comes, or no answer is taken, in time.

    Uvicorn does neither.
    """

    head_s = 15.0
    send_s = 60.0
    _hanging_up: asyncio.TimerHandle | None = None
    _cutting_off: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        joined = _Joined(transport, self.loop, self._wait_until_taken)
        super().connection_made(cast("asyncio.Transport", joined))
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._is_owed_nothing:
            self._wait_no_more()
        elif self._hanging_up is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)
        self._is_taken()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_until_taken()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self._is_taken()

    def _wait_until_taken(self) -> None:
        if self._cutting_off is None:
            self._cutting_off = self.loop.call_later(self.send_s, self.transport.abort)

    def _is_taken(self) -> None:
        if self._cutting_off is not None:
            self._cutting_off.cancel()
            self._cutting_off = None

    def _wait(self) -> None:
        self._hanging_up = self.loop.call_later(self.head_s, self._hang_up)

    def _wait_no_more(self) -> None:
        if self._hanging_up is not None:
            self._hanging_up.cancel()
            self._hanging_up = None

    def _hang_up(self) -> None:
        self._hanging_up = None
        if self._is_owed_nothing:
            self.transport.abort()

    @property
    def _is_owed_nothing(self) -> bool:
        """Whether no answer is due: no head has come, or the body of what was answered still comes.

        Any byte ends uvicorn's own wait for the next request, and of such a body begins no other.
        """
        theirs = self.conn.their_state
        return theirs is h11.IDLE or (self.conn.our_state is h11.DONE and theirs is not h11.DONE)


class Server(uvicorn.Server):
    """Uvicorn, whose end is ours to begin: it takes no signals itself."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


def make_server(application: Callable[..., Any], limits: Limits) -> Server:
    """The server of an ASGI application; its `serve` takes the socket that `listen` opened."""
    config = uvicorn.Config(
        application,
        http=type("Connection", (_Connection,), {"head_s": limits.head_s, "send_s": limits.send_s}),
        ws="none",
        loop="asyncio",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=limits.connections,
        backlog=_BACKLOG,
        timeout_keep_alive=int(limits.keep_alive_s),
        timeout_graceful_shutdown=int(limits.finish_s),
        h11_max_incomplete_event_size=_HEAD_BYTES,
    )
    return Server(config)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises: Unavailable, Denied, Invalid, each with a next step."""
    shown = f"{host}:{port}"
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as exc:
        raise Invalid(f"{host} is no address of this machine.", hint="Use 127.0.0.1.") from exc
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
                f"Something else listens on {shown}.", hint="Stop it, or give another --http."
            ) from exc
        if exc.errno in {errno.EACCES, errno.EPERM}:
            raise Denied(
                f"The system lets you not listen on {shown}.", hint="Use a port above 1023."
            ) from exc
        raise Invalid(f"{shown} is no address of this machine.", hint="Use 127.0.0.1.") from exc
    return opened


def on_stop_signals(then: Callable[[], None], *, at_ctrl_c: Callable[[], None]) -> None:
    """Have one of these called, in the event loop's thread, at SIGTERM or at Ctrl-C."""
    loop = asyncio.get_running_loop()
    signal.signal(signal.SIGTERM, lambda *_: loop.call_soon_threadsafe(then))
    close_at_ctrl_c(lambda: loop.call_soon_threadsafe(at_ctrl_c))


def end_at_stop_signals() -> None:
    """Have SIGTERM and SIGINT end the process at once, whatever it waits for."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def allow_many_files() -> None:
    """Let the process open as many files as the system grants: each owner has some open."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    with suppress(ValueError, OSError):
        if soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
