"""`commonplace serve`: the toolsets of many owners over HTTP, from its start to its stop.

Wires gate, callers and background tasks; decides nothing that one of them could decide.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import anyio.to_thread

from commonplace.core.errors import CommonplaceError
from commonplace.core.standstill import PROCESS
from commonplace.doors.interrupt import INTERRUPTED
from commonplace.doors.lifecycle import Lifecycle
from commonplace.doors.mcp_offer import McpOffer
from commonplace.doors.owner_apps import OwnerApps
from commonplace.doors.uvicorn_server import (
    end_at_stop_signals,
    listen,
    make_server,
    on_stop_signals,
)
from commonplace_server.http.address import check_access
from commonplace_server.http.api import ApiBesideMcp
from commonplace_server.http.authenticator import Authenticator
from commonplace_server.http.concurrency import ConcurrencyLimit
from commonplace_server.http.gate import WEB, Gate
from commonplace_server.http.limits import RateLimiter
from commonplace_server.http.per_owner import PerOwner
from commonplace_server.http.preload import WarmedApps
from commonplace_server.http.readiness import Readiness
from commonplace_server.http.sessions import Callers
from commonplace_server.http.shared_sessions import SharedSessions
from commonplace_server.scope import PATH

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping, Sequence

    from anyio.abc import TaskGroup

    from commonplace.core.clock import Clock
    from commonplace.core.ports import EncoderSlot
    from commonplace.core.redact import Screen
    from commonplace.doors.uvicorn_server import Server
    from commonplace.doors.web.guard import KeepsVisitors
    from commonplace.verbs.toolset import Toolset
    from commonplace_server.http.address import ListenAddress
    from commonplace_server.http.authenticator import Caller, Offer
    from commonplace_server.http.calls import ObservesCalls
    from commonplace_server.http.gate import Application, Receive, Scope, Send
    from commonplace_server.http.limits import Limits, SharesRates
    from commonplace_server.http.metrics import Metrics
    from commonplace_server.http.resource import SignIn
    from commonplace_server.http.sessions import SessionManager
    from commonplace_server.http.shared_sessions import KeepsSessions
    from commonplace_server.tokens import ReadsTokens

_log = logging.getLogger(f"commonplace.{__name__}")

_FILES = 16_384
"""How many files a process may have open: each owner has some."""

WATCH_S = 0.9
"""How long the sessions of a token may stay open after it was revoked."""

_ASKING = 8
"""How many requests at once may wait to hear of their session."""

CLOSE_IDLE_S = 2.0
ADJUST_S = 0.1

TASKS_STOP_S = 2.0
INTERRUPTED_CALLS_S = 0.8
"""How long open calls may take after Ctrl-C."""


class ServedApps(OwnerApps, Protocol):
    """The apps of all owners, which the server closes when it stops."""

    def close_idle(self) -> None:
        """Close the apps that have not been used for a while."""
        ...

    def close(self) -> None:
        """Close every app."""
        ...


class McpServer(Protocol):
    """A server of toolsets for any number of callers; see `doors/mcp_offer`."""

    def sessions(self, *, body_bytes: int, most: int, idle_s: float) -> SessionManager:
        """Open the session manager of one caller."""
        ...


class BackgroundTask(Protocol):
    """What a server does beside its answers, in a thread of its own."""

    def start(self) -> None:
        """Begin; called once."""
        ...

    def stop(self, wait_s: float) -> None:
        """Begin nothing more, and wait at most so long for what it is doing."""
        ...


class HttpDoor:
    """One HTTP server.

    Args:
        apps: The apps of all owners.
        sample: Any owner's toolsets, for their names, descriptions and schemas.
        tokens: Those of users.
        sign_in: How clients sign in, and all tokens by which they connect.
        offer: What callers may have at most.
        screen: Hides secrets in all that is answered.
        clock: Gives the time.
        limits: How much the server admits.
        background_tasks: What else it does while it serves.
        encoder: Whose state is said to those who ask whether the server is ready.
        find_database: What is looked at of a database for them; nothing where there is none.
        metrics: Counts what is done.
        accesses: Keeps account of it, where that is wanted.
        sessions: What all servers of a database know of sessions; None for one that is alone.
        visitors: What all servers of a database know of browsers; None likewise.
        rates: The buckets that all of them take from; None likewise.
    """

    def __init__(
        self,
        *,
        apps: ServedApps,
        sample: Sequence[Toolset],
        tokens: ReadsTokens,
        sign_in: SignIn,
        offer: Offer,
        screen: Screen,
        structured: bool,
        clock: Clock,
        limits: Limits,
        background_tasks: Sequence[BackgroundTask],
        encoder: EncoderSlot,
        find_database: Callable[[], Mapping[str, str]],
        metrics: Metrics,
        accesses: ObservesCalls | None = None,
        sessions: KeepsSessions | None = None,
        visitors: KeepsVisitors | None = None,
        rates: SharesRates | None = None,
    ) -> None:
        self._sign_in = sign_in
        self._apps = apps
        self._concurrency = ConcurrencyLimit()
        self._warmed = WarmedApps(apps)
        self._observers = [metrics] if accesses is None else [metrics, accesses]
        shared = PerOwner(
            self._warmed, sample, concurrency=self._concurrency, observers=self._observers
        )
        self._toolsets = shared.toolsets
        self._tokens = tokens
        self._sessions = sessions
        self._visitors = visitors
        self._rates = rates
        self._asking = anyio.CapacityLimiter(_ASKING)
        self._offer = offer
        self._screen = screen
        self._structured = structured
        self._clock = clock
        self._limits = limits
        self._background_tasks = background_tasks
        self._encoder = encoder
        self._find_database = find_database
        self._metrics = metrics
        self._servers: dict[tuple[tuple[str, ...], bool], tuple[McpServer, McpOffer]] = {}
        self._withheld: dict[tuple[tuple[str, ...], bool], list[bytes]] = {}

    def run(self, address: ListenAddress, *, ready: Callable[[str], None]) -> None:
        """Serve until SIGTERM or Ctrl-C; ends the process.

        Args:
            address: Where to listen.
            ready: Called with the URL for clients, once they can connect.

        Raises:
            Denied: The address may not be listened on.
            Invalid: It is not an address of this machine.
            Unavailable: Another process listens there, or the tokens cannot be read.
        """
        check_access(address, self._tokens, has_issuer=self._sign_in.issuer is not None)
        _allow_many_files()
        opened = listen(address.host, address.port, option="--http")
        port = opened.getsockname()[1]
        shown = f"[{address.host}]" if ":" in address.host else address.host
        anyio.run(self._serve, address, opened, lambda: ready(f"http://{shown}:{port}{PATH}"))

    async def _serve(
        self, address: ListenAddress, opened: socket.socket, ready: Callable[[], None]
    ) -> None:
        authenticator = Authenticator(
            tokens=self._sign_in.tokens,
            names=address.names,
            offer=self._offer,
            clock=self._clock,
            issuer=self._sign_in.issuer,
        )
        readiness = Readiness(
            find_problem=authenticator.find_problem,
            encoder=self._encoder,
            find_database=self._find_database,
        )
        async with anyio.create_task_group() as tasks:
            rate_limiter = RateLimiter(self._limits, time.monotonic, self._rates)
            callers = Callers(
                self._open,
                tasks=tasks,
                limits=self._limits,
                rate_limiter=rate_limiter,
                refused=self._metrics.count_refusal,
                monotonic=time.monotonic,
                reads=self._sessions,
            )
            gate = Gate(
                authenticator=authenticator,
                rate_limiter=rate_limiter,
                replies=RateLimiter(self._limits.of_replies(), time.monotonic),
                limits=self._limits,
                readiness=readiness,
                inside=callers.answer,
                withheld=self._names_withheld,
                pages=self._pages_of(address, rate_limiter, lambda: gate.is_stopping)
                if self._offer.has_pages
                else None,
                metrics=self._metrics,
                resource=self._sign_in.resource,
                authorization=self._sign_in.authorization,
            )
            limits = self._limits
            server = make_server(gate, limits=limits.connections, finish_s=limits.finish_s)
            shutdown = _Shutdown(readiness, callers, server, self._limits)
            on_stop_signals(shutdown.begin, at_ctrl_c=shutdown.interrupt)
            issuer = self._sign_in.issuer
            if issuer is not None:  # else of the first two who come at once one is refused
                await anyio.to_thread.run_sync(issuer.refresh)
            ready()
            # This takes a second of a processor, for which a first call would hold up all others.
            # Requests that come during it, `/readyz` too, are read after it.
            import commonplace_server.mcp.server  # noqa: F401

            tasks.start_soon(shutdown.run)
            self._begin_tasks(tasks, callers, authenticator)
            await server.serve([opened])
            # Signals that reach this loop from here on would be lost.
            end_at_stop_signals()
            # Calls that did not end in time are left behind in their threads, so nothing is joined.
            Lifecycle(self._close).leave(shutdown.status)

    def _begin_tasks(
        self, tasks: TaskGroup, callers: Callers, authenticator: Authenticator
    ) -> None:
        """Begin what goes on beside the answers."""
        tasks.start_soon(_watch, callers, authenticator)
        tasks.start_soon(_close_idle, self._apps)
        tasks.start_soon(_adjust_threads, self._concurrency)
        for task in self._background_tasks:
            task.start()

    def _pages_of(
        self,
        address: ListenAddress,
        rate_limiter: RateLimiter,
        is_stopping: Callable[[], bool],
    ) -> Application:
        """What answers browsers, imported when the first one asks."""
        made: list[Any] = []

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            if not made:
                from commonplace.doors.web.guard import PageLimits
                from commonplace_server.http.served_pages import pages_for_tokens

                made.append(
                    pages_for_tokens(
                        self._warmed,
                        tokens=self._tokens,
                        knows_host=address.names.knows,
                        may_write=self._offer.may_write,
                        clock=self._clock,
                        screen=self._screen,
                        prefix=WEB,
                        limits=PageLimits(
                            rates=rate_limiter,
                            drafts=RateLimiter(self._limits.of_drafts(), time.monotonic),
                            body_bytes=self._limits.body_bytes,
                            body_s=self._limits.body_s,
                        ),
                        is_stopping=is_stopping,
                        observers=self._observers,
                        visitors=self._visitors,
                        consent=self._sign_in.authorization,
                        programs=self._sign_in.programs,
                        provider=self._sign_in.provider,
                    )
                )
            await made[0](scope, receive, send)

        return answer

    def _close(self) -> None:
        for task in self._background_tasks:
            task.stop(TASKS_STOP_S)
        self._apps.close()

    def _open(self, caller: Caller) -> SessionManager:
        """Open the session manager of one caller; callers with the same rights share a server."""
        kind = caller.toolsets, caller.may_write
        if kind not in self._servers:
            from commonplace_server.mcp.server import HttpServer

            toolsets = [self._toolsets[name] for name in caller.toolsets]
            shown = toolsets if caller.may_write else [x.read_only() for x in toolsets]
            offer = McpOffer(shown, screen=self._screen, structured=self._structured)
            self._servers[kind] = HttpServer(offer), offer
        server, offer = self._servers[kind]
        limits = self._limits
        sessions: SessionManager = server.sessions(
            body_bytes=limits.body_bytes, most=limits.sessions, idle_s=limits.session_idle_s
        )
        if self._sessions is not None:
            sessions = SharedSessions(sessions, self._sessions, caller, self._asking)
        return ApiBesideMcp(sessions, offer)

    def _names_withheld(self, caller: Caller) -> list[bytes]:
        """The names, aliases included, of the tools that this caller may not call."""
        kind = caller.toolsets, caller.may_write
        if kind not in self._withheld:
            known = {
                name
                for toolset in self._toolsets.values()
                for tool in toolset.tools
                for name in (tool.name, *tool.aliases)
            }
            allowed = {
                name
                for toolset in self._toolsets.values()
                if toolset.name in caller.toolsets
                for tool in toolset.tools
                if caller.may_write or not tool.effects.writes
                for name in (tool.name, *tool.aliases)
            }
            self._withheld[kind] = [name.encode() for name in known - allowed]
        return self._withheld[kind]


class _Shutdown:
    """How a server stops: it says so, admits nothing new, ends streams, and lets calls finish."""

    def __init__(
        self, readiness: Readiness, callers: Callers, server: Server, limits: Limits
    ) -> None:
        self._readiness = readiness
        self._callers = callers
        self._server = server
        self._limits = limits
        self._refusing = anyio.Event()
        self.status = 0

    def begin(self) -> None:
        """Begin to stop; called a second time, stop at once.

        A proxy that asks whether the server is ready hears that it is not, and has a while to send
        calls elsewhere: those that come until then are answered.
        """
        if self._readiness.state != "serving":
            self._end()
        elif self._readiness.is_watched and self._limits.drain_s:
            self._readiness.state = "draining"
            asyncio.get_running_loop().call_later(self._limits.drain_s, self._refuse)
        else:
            self._refuse()

    def interrupt(self) -> None:
        """Stop as a person at a terminal expects it: calls have a moment, and not ten seconds."""
        self.status = INTERRUPTED
        if self._readiness.state != "serving":
            self._end()
            return
        self._refuse()
        asyncio.get_running_loop().call_later(INTERRUPTED_CALLS_S, self._end)

    async def run(self) -> None:
        """Once nothing is admitted, wait until all calls are answered, for so long at most."""
        await self._refusing.wait()
        self._callers.end_streams()
        with anyio.move_on_after(self._limits.finish_s):
            # The socket stays open meanwhile: a call may wait for its client's own model.
            await self._callers.wait_for_calls()
        self._callers.disconnect_unless(lambda _caller: False)
        self._server.should_exit = True

    def _refuse(self) -> None:
        self._readiness.state = "stopping"
        self._refusing.set()

    def _end(self) -> None:
        self._refuse()
        self._server.force_exit = True
        self._server.should_exit = True


async def _watch(callers: Callers, authenticator: Authenticator) -> None:
    """Disconnect callers whose token is no longer valid, and close what is idle."""
    logged = ""
    alone = anyio.CapacityLimiter(1)
    while True:
        await anyio.sleep(WATCH_S)
        known, problem = callers.list_open(), ""
        try:
            if authenticator.waits:
                find = partial(authenticator.find_shut_out, known)
                gone = await anyio.to_thread.run_sync(find, limiter=alone)
            else:
                gone = authenticator.find_shut_out(known)
        except CommonplaceError as exc:
            problem = str(exc)
            # A database that is away for a moment ends nothing: nobody is let in until it is back.
            gone = set() if authenticator.waits else {*known}
        callers.disconnect_unless(lambda caller: caller not in gone)  # noqa: B023  called at once
        callers.close_idle()
        if problem and problem != logged:
            _log.error("No request is admitted: %s", problem)
        logged = problem


async def _adjust_threads(concurrency: ConcurrencyLimit) -> None:
    """Give the SDK as many threads for calls as `ConcurrencyLimit` allows, and note standstills."""
    limiter = anyio.to_thread.current_default_thread_limiter()
    with PROCESS.watching():
        while True:
            PROCESS.check_clock()
            limiter.total_tokens = concurrency.room()
            await anyio.sleep(ADJUST_S)


async def _close_idle(apps: ServedApps) -> None:
    """Close apps that are not used, in a thread: closing may wait for a batch of vectors."""
    alone = anyio.CapacityLimiter(1)
    while True:
        await anyio.sleep(CLOSE_IDLE_S)
        try:
            await anyio.to_thread.run_sync(apps.close_idle, limiter=alone)
        except Exception:  # noqa: BLE001  what could not be closed holds up no answer
            _log.exception("An unused journal was not closed")


def _allow_many_files() -> None:
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
