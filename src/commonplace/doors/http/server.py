"""`commonplace serve`: the toolsets of many owners over HTTP, from the first request to the last.

Wires gate, callers and clockwork; decides nothing that one of them could decide.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Protocol

import anyio
import anyio.to_thread

from commonplace.doors.http.address import check_access
from commonplace.doors.http.concurrency import Pace
from commonplace.doors.http.gate import PATH, Door, Gate
from commonplace.doors.http.limits import Turnstile
from commonplace.doors.http.per_owner import OwnersApps, PerOwner
from commonplace.doors.http.preload import WarmedApps
from commonplace.doors.http.sessions import Callers
from commonplace.doors.http.uvicorn_server import (
    allow_many_files,
    end_at_stop_signals,
    listen,
    make_server,
    on_stop_signals,
)
from commonplace.doors.interrupt import INTERRUPTED
from commonplace.doors.lifecycle import Lifecycle
from commonplace.doors.mcp.server import HttpServer

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from commonplace.core.clock import Clock
    from commonplace.doors.http.address import Address
    from commonplace.doors.http.gate import Caller, Offer
    from commonplace.doors.http.limits import Limits
    from commonplace.doors.http.sessions import Protocols
    from commonplace.doors.http.uvicorn_server import Server
    from commonplace.doors.tokens import TokenFile
    from commonplace.tools.toolset import Toolset

_log = logging.getLogger(__name__)

WATCH_S = 1.0
"""How soon what is open ends for a token that was revoked."""

TIDY_S = 2.0
PACE_S = 0.1

ERRANDS_STOP_S = 2.0
INTERRUPTED_CALLS_S = 0.8
"""How long open calls may take after Ctrl-C."""


class ServedApps(OwnersApps, Protocol):
    """The apps of all owners, to be closed at the end."""

    def tidy(self) -> None:
        """Close what nobody has used for a while."""
        ...

    def close(self) -> None:
        """Let go of all that is open."""
        ...


class Errand(Protocol):
    """What a server does beside its answers, in a thread of its own."""

    def start(self) -> None:
        """Begin; called once."""
        ...

    def stop(self, wait_s: float) -> None:
        """Begin nothing more, and wait at most so long for what is under way."""
        ...


class HttpDoor:
    """One server. apps: of all owners. sample: any owner's toolsets, for what they say."""

    def __init__(
        self,
        *,
        apps: ServedApps,
        sample: Sequence[Toolset],
        tokens: TokenFile,
        offer: Offer,
        clock: Clock,
        limits: Limits,
        errands: Sequence[Errand],
    ) -> None:
        self._apps = apps
        self._pace = Pace()
        shared = PerOwner(WarmedApps(apps), sample, pace=self._pace)
        self._toolsets = shared.toolsets
        self._tokens = tokens
        self._offer = offer
        self._clock = clock
        self._limits = limits
        self._errands = errands
        self._servers: dict[tuple[tuple[str, ...], bool], HttpServer] = {}
        self._withheld: dict[tuple[tuple[str, ...], bool], list[bytes]] = {}

    def run(self, address: Address, *, ready: Callable[[str], None]) -> None:
        """Serve until SIGTERM or Ctrl-C; ends the process. ready: told the address to use.

        Raises: Denied, Invalid, Unavailable, before anything is served.
        """
        check_access(address, self._tokens)
        allow_many_files()
        opened = listen(address.host, address.port)
        port = opened.getsockname()[1]
        shown = f"[{address.host}]" if ":" in address.host else address.host
        anyio.run(self._serve, address, opened, lambda: ready(f"http://{shown}:{port}{PATH}"))

    async def _serve(
        self, address: Address, opened: socket.socket, ready: Callable[[], None]
    ) -> None:
        door = Door(tokens=self._tokens, names=address.names, offer=self._offer, clock=self._clock)
        async with anyio.create_task_group() as tasks:
            turnstile = Turnstile(self._limits, time.monotonic)
            callers = Callers(
                self._open,
                within=tasks,
                limits=self._limits,
                turnstile=turnstile,
                monotonic=time.monotonic,
            )
            gate = Gate(
                door=door,
                turnstile=turnstile,
                replies=Turnstile(self._limits.of_replies(), time.monotonic),
                limits=self._limits,
                inside=callers.answer,
                withheld=self._names_withheld,
            )
            server = make_server(gate, self._limits)
            stopping = _Stopping(gate, callers, server)
            tasks.start_soon(stopping.run, self._limits.finish_s)
            on_stop_signals(stopping.tell, at_ctrl_c=stopping.interrupt)
            tasks.start_soon(_watch, callers, door)
            tasks.start_soon(_tidy, self._apps)
            tasks.start_soon(_keep_pace, self._pace)
            for errand in self._errands:
                errand.start()
            ready()
            await server.serve([opened])
            # Nothing that this loop is told is heard any more.
            end_at_stop_signals()
            # Calls that did not end in time are left behind in their threads, so nothing is joined.
            Lifecycle(self._close).leave(stopping.status)

    def _close(self) -> None:
        for errand in self._errands:
            errand.stop(ERRANDS_STOP_S)
        self._apps.close()

    def _open(self, caller: Caller) -> Protocols:
        """What speaks with one caller; callers who may do the same share what it knows of tools."""
        kind = caller.toolsets, caller.may_write
        server = self._servers.get(kind)
        if server is None:
            toolsets = [self._toolsets[name] for name in caller.toolsets]
            shown = toolsets if caller.may_write else [x.read_only() for x in toolsets]
            server = self._servers[kind] = HttpServer(shown)
        return server.sessions(self._limits)

    def _names_withheld(self, caller: Caller) -> list[bytes]:
        """Names of tools, and their other names, that this caller may not call."""
        kind = caller.toolsets, caller.may_write
        if kind not in self._withheld:
            self._withheld[kind] = [
                name.encode()
                for toolset in self._toolsets.values()
                for tool in toolset.tools
                for name in (tool.name, *tool.aliases)
                if toolset.name not in caller.toolsets
                or (tool.effects.writes and not caller.may_write)
            ]
        return self._withheld[kind]


class _Stopping:
    """The end: nothing new comes in, streams end, and calls may finish."""

    def __init__(self, gate: Gate, callers: Callers, server: Server) -> None:
        self._gate = gate
        self._callers = callers
        self._server = server
        self._told = anyio.Event()
        self.status = 0

    def tell(self) -> None:
        """Begin the end; told a second time, end at once."""
        if self._gate.is_leaving:
            self._server.force_exit = True
            self._server.should_exit = True
        self._gate.is_leaving = True
        self._told.set()

    def interrupt(self) -> None:
        """End as a person at a terminal expects it: calls have a moment, and not ten seconds."""
        self.status = INTERRUPTED
        self.tell()
        asyncio.get_running_loop().call_later(INTERRUPTED_CALLS_S, self.tell)

    async def run(self, finish_s: float) -> None:
        """Wait until told, then until nothing is left to answer, or too long has passed."""
        await self._told.wait()
        self._callers.end_streams()
        with anyio.move_on_after(finish_s):
            # The socket stays open meanwhile: a call may wait for its client's own model.
            await self._callers.wait_for_calls()
        self._callers.shut_out(lambda _caller: False)
        self._server.should_exit = True


async def _watch(callers: Callers, door: Door) -> None:
    """End what is open for tokens that are no good any more, and for nobody."""
    told = ""
    while True:
        await anyio.sleep(WATCH_S)
        trouble = door.trouble()
        callers.shut_out(lambda caller: not trouble and door.still_admits(caller))  # noqa: B023  called at once
        callers.close_idle()
        if trouble and trouble != told:
            _log.error("Nobody is let in: %s", trouble)
        told = trouble


async def _keep_pace(pace: Pace) -> None:
    """Let as many threads of the SDK call tools as there is room for."""
    limiter = anyio.to_thread.current_default_thread_limiter()
    while True:
        limiter.total_tokens = pace.room()
        await anyio.sleep(PACE_S)


async def _tidy(apps: ServedApps) -> None:
    """Close journals that nobody uses, in a thread: closing may wait for a batch in hand."""
    alone = anyio.CapacityLimiter(1)
    while True:
        await anyio.sleep(TIDY_S)
        try:
            await anyio.to_thread.run_sync(apps.tidy, limiter=alone)
        except Exception:  # noqa: BLE001  what could not be closed holds up no answer
            _log.exception("Something that nobody uses was not closed")
