"""What each caller of the HTTP server has open: its sessions, and the requests in flight.

A session belongs to the token that began it; no other caller can use it. Never checks a token, and
never reads a body.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from contextlib import ExitStack, contextmanager
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

import anyio
from msgspec import Struct

from commonplace.core.standstill import PROCESS, came_at
from commonplace.doors.protocol import MODERN, RateLimitExceeded
from commonplace_server.http.authenticator import Refusal
from commonplace_server.http.calls import ServedSession
from commonplace_server.http.gate import refuse
from commonplace_server.scope import SESSION, STREAM, WORK, is_api

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from anyio.abc import TaskGroup

    from commonplace_server.http.authenticator import Caller
    from commonplace_server.http.calls import KeepsReads
    from commonplace_server.http.gate import Message, Receive, Scope, Send
    from commonplace_server.http.limits import Limits, RateLimiter

_log = logging.getLogger(f"commonplace.{__name__}")

ID_HEADER = b"mcp-session-id"
VERSION_HEADER = b"mcp-protocol-version"


class SessionManager(Protocol):
    """What speaks the protocol with one caller: the SDK's manager of sessions."""

    def run(self) -> AbstractAsyncContextManager[None]:
        """Open it; it answers while this is entered, which it is once."""
        ...

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        ...


class Callers:
    """All callers; each gets a session manager at its first request. Used in one event loop.

    Args:
        open_manager: Opens the session manager of a caller.
        tasks: The task group that session managers run in.
        limits: How much each caller may have open, and for how long.
        rate_limiter: Counts the calls that run.
        refused: Called with the name of the limit that kept a call from running.
        monotonic: Gives seconds.
        reads: What all servers know of what was read in sessions; None for one that is alone.
    """

    def __init__(
        self,
        open_manager: Callable[[Caller], SessionManager],
        *,
        tasks: TaskGroup,
        limits: Limits,
        rate_limiter: RateLimiter,
        refused: Callable[[str], None],
        monotonic: Callable[[], float],
        reads: KeepsReads | None = None,
    ) -> None:
        self._open_manager = open_manager
        self._reads = reads
        self._tasks = tasks
        self._limits = limits
        self._rate_limiter = rate_limiter
        self._refused = refused
        self._monotonic = monotonic
        self._open: OrderedDict[Caller, _CallerState] = OrderedDict()
        self._calls = 0
        self._no_calls = anyio.Event()

    async def answer(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a caller; ends it early where the caller is disconnected."""
        found = self._open.get(caller)
        if found is None:
            self._make_room()
            found = self._open[caller] = _CallerState(
                self._open_manager(caller),
                partial(
                    ServedSession,
                    caller.owner,
                    token_id=caller.token_id,
                    member=caller.member,
                    reads=self._reads,
                ),
                self._limits,
                lambda: self._working(caller),
            )
            self._tasks.start_soon(found.run)
        self._open.move_to_end(caller)
        found.used_at = self._monotonic()
        with self._counted(is_call=STREAM not in scope):
            await found.answer(scope, receive, send)
        found.used_at = self._monotonic()

    def list_open(self) -> list[Caller]:
        """All who have anything open."""
        return [*self._open]

    def disconnect_unless(self, may_stay: Callable[[Caller], bool]) -> int:
        """End all that those callers have open who may not stay; returns how many they are."""
        gone = [caller for caller in self._open if not may_stay(caller)]
        for caller in gone:
            self._open.pop(caller).end()
        return len(gone)

    def close_idle(self) -> None:
        """Close the session managers of callers that were idle as long as a session may be."""
        since = self._monotonic() - self._limits.session_idle_s
        for caller, each in [*self._open.items()]:
            if not each.in_flight and each.used_at < since:
                self._open.pop(caller).end()

    def end_streams(self) -> None:
        """End every stream, which would stay open for ever; calls go on."""
        for each in self._open.values():
            each.end_streams()

    async def wait_for_calls(self) -> None:
        """Wait until no call is in flight or runs on without its client; streams do not count."""
        while self._calls:
            self._no_calls = anyio.Event()
            await self._no_calls.wait()

    @contextmanager
    def _counted(self, *, is_call: bool) -> Iterator[None]:
        self._calls += is_call
        try:
            yield
        finally:
            self._calls -= is_call
            if not self._calls:
                self._no_calls.set()

    @contextmanager
    def _working(self, caller: Caller) -> Iterator[None]:
        with ExitStack() as held:
            try:
                held.enter_context(self._rate_limiter.work(caller.owner))
            except RateLimitExceeded as exc:
                self._refused(exc.limit)
                raise
            held.enter_context(self._counted(is_call=True))
            yield

    def _make_room(self) -> None:
        """Make room for one more: close the least recently used callers with nothing in flight."""
        over = len(self._open) + 1 - self._limits.callers
        idle = [caller for caller, each in self._open.items() if not each.in_flight]
        for caller in idle[: max(over, 0)]:
            self._open.pop(caller).end()


class _OpenSession(Struct):
    """A session, and how many of its requests are in flight or running, streams included."""

    session: ServedSession
    open: int = 0


class _CallerState:
    """What one caller has open.

    Args:
        manager: Answers its requests.
        new_session: Begins a session of it.
        limits: How many sessions it may have, and how slow it may be.
        working: Entered while a call runs, to count it.
    """

    def __init__(
        self,
        manager: SessionManager,
        new_session: Callable[[], ServedSession],
        limits: Limits,
        working: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._manager = manager
        self._new_session = new_session
        self._limits = limits
        self._working = working
        self._at_work = 0
        self._is_ready = anyio.Event()
        self._ending = anyio.Event()
        self._calls: set[anyio.CancelScope] = set()
        self._streams: set[anyio.CancelScope] = set()
        self._answers: set[_Answer] = set()
        self._sessions: OrderedDict[bytes, _OpenSession] = OrderedDict()
        self.used_at = 0.0

    async def run(self) -> None:
        """Keep the session manager open until `end` is called."""
        try:
            async with self._manager.run():
                self._is_ready.set()
                await self._ending.wait()
                async with anyio.create_task_group() as finishing:
                    for answer in self._answers:
                        finishing.start_soon(answer.finish)
        except Exception:  # noqa: BLE001  one caller's end is not the server's
            _log.exception("What one caller had open ended")
        finally:
            self._is_ready.set()

    def end(self) -> None:
        """Answer nothing more, and end what is being answered, though a thread works on it yet."""
        for answer in self._answers:
            answer.is_cut = True
        for scope in [*self._calls, *self._streams]:
            scope.cancel()
        self._ending.set()

    def end_streams(self) -> None:
        """End the streams, and nothing else."""
        for scope in [*self._streams]:
            scope.cancel()

    @property
    def in_flight(self) -> int:
        """How many requests are in flight or running, streams included."""
        return len(self._calls) + len(self._streams) + self._at_work

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = dict(scope["headers"])
        session_id = headers.get(ID_HEADER)
        held = self._sessions.get(session_id or b"") or _OpenSession(self._new_session())
        held.session.name = session_id or b""
        scope[SESSION] = held.session
        if STREAM not in scope:
            came = came_at()
            scope[WORK] = lambda: self._work(held, came)
        answer = _Answer(
            send,
            begun=lambda status, named: self._keep(held, status, named),
            scope=scope,
        )
        with (
            self._in_flight(held, is_stream=STREAM in scope) as cancelled,
            self._unfinished(answer),
        ):
            if not self._is_ready.is_set():  # else each request waits a turn of the event loop
                await self._is_ready.wait()
            begins = session_id is None and not is_api(scope)
            if begins and headers.get(VERSION_HEADER, b"") < MODERN.encode():
                await self._make_room()
            await self._manager.handle_request(scope, receive, answer.send)
        if cancelled.cancelled_caught or answer.is_cut:
            await answer.finish()
        if session_id is not None and scope["method"] == "DELETE":
            self._sessions.pop(session_id, None)

    @contextmanager
    def _in_flight(self, held: _OpenSession, *, is_stream: bool) -> Iterator[anyio.CancelScope]:
        scopes = self._streams if is_stream else self._calls
        held.open += 1
        with anyio.CancelScope() as scope:
            scopes.add(scope)
            try:
                yield scope
            finally:
                scopes.discard(scope)
                held.open -= 1

    @contextmanager
    def _unfinished(self, answer: _Answer) -> Iterator[None]:
        self._answers.add(answer)
        try:
            yield
        finally:
            self._answers.discard(answer)

    @contextmanager
    def _work(self, held: _OpenSession, came: float) -> Iterator[None]:
        """Count a call while it runs. came: when it was asked. Raises: RateLimitExceeded."""
        with self._working(), PROCESS.asked(came):
            self._at_work += 1
            held.open += 1
            try:
                yield
            finally:
                self._at_work -= 1
                held.open -= 1

    def _keep(self, held: _OpenSession, status: int, session_id: bytes | None) -> None:
        """Remember a session that the protocol has begun."""
        if session_id is not None and status == HTTPStatus.OK:
            self._sessions.setdefault(session_id, held)
            self._sessions.move_to_end(session_id)

    async def _make_room(self) -> None:
        """End the least recently used idle session, where there are as many as may be.

        Clients that never end a session would otherwise lock their user out.
        """
        if len(self._sessions) < self._limits.sessions:
            return
        idle = [name for name, held in self._sessions.items() if not held.open]
        for session_id in idle[:1]:
            del self._sessions[session_id]
            await self._manager.handle_request(deletion(session_id), _receive_nothing, discard)


class _Answer:
    """An answer on its way to a client, whose request may be cancelled before it is whole.

    Args:
        send: Sends a part of it.
        begun: Called with the status of the answer, and the id of the session that it names.
        scope: The request.
    """

    def __init__(
        self, send: Send, *, begun: Callable[[int, bytes | None], None], scope: Scope
    ) -> None:
        self._send = send
        self._begun = begun
        self._scope = scope
        self._is_begun = False
        self._is_over = False
        self.is_cut = False
        """Whether nothing more of it is told."""

    async def send(self, message: Message) -> None:
        """Send a part of it; how long the client may take is for `doors.connections` to say."""
        if self.is_cut:
            return
        self._is_begun = True
        if message["type"] == "http.response.start":
            self._begun(message["status"], dict(message.get("headers", ())).get(ID_HEADER))
        self._is_over = message["type"] == "http.response.body" and not message.get("more_body")
        await self._send(message)

    async def finish(self) -> None:
        """End an answer that was cut short so that the client can see it is over, and why."""
        self.is_cut = True
        if self._is_over:
            return
        self._is_over = True
        if not self._is_begun:
            await refuse(_cut_short(), self._scope, self._send)
        else:
            await self._send({"type": "http.response.body", "body": b""})


def _cut_short() -> Refusal:
    return Refusal(
        503,
        "unavailable",
        "The call was ended: its token is no longer valid, or the server stops.",
        "It may have been done: look before you ask again.",
        Retry_After="1",
    )


def deletion(session_id: bytes) -> Scope:
    """A request to end a session, as its client would make it."""
    return {
        "type": "http",
        "method": "DELETE",
        "path": "/",
        "query_string": b"",
        "headers": [(ID_HEADER, session_id)],
    }


async def _receive_nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def discard(_message: Message) -> None:
    """Drop an answer that no client waits for."""
