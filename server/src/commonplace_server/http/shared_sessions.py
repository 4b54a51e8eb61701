"""Sessions that began on any server of a database, answered by this one.

A session that is not open here is opened by what its client said at its beginning; its id here is
another then, which no client ever sees. Never answers for a session that is over elsewhere.
"""

from __future__ import annotations

import json
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol, TypeVar

import anyio
import anyio.to_thread

from commonplace.doors.protocol import MODERN
from commonplace_server.http.calls import KeepsReads
from commonplace_server.http.gate import with_body
from commonplace_server.http.sessions import ID_HEADER, VERSION_HEADER, deletion, discard
from commonplace_server.scope import SESSION

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from commonplace_server.http.authenticator import Caller
    from commonplace_server.http.gate import Message, Receive, Scope, Send
    from commonplace_server.http.sessions import SessionManager

_NO_SESSION = b"none"
_LONGEST_OPENING = 65536
_OF_A_REQUEST = frozenset(
    {ID_HEADER, VERSION_HEADER, b"accept", b"content-type", b"content-length", b"last-event-id"}
)
_OPENING = [
    (b"accept", b"application/json, text/event-stream"),
    (b"content-type", b"application/json"),
]
_INITIALIZED = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
_Said = TypeVar("_Said")


class KeepsSessions(KeepsReads, Protocol):
    """What all servers know of sessions; each call may wait, and raise Unavailable."""

    def keep(self, owner: str, token_id: str, session_id: bytes, opening: str) -> None:
        """Keep a session that has begun. opening: what its client said first."""
        ...

    def find(self, owner: str, token_id: str, session_id: bytes) -> str | None:
        """What the client of an open session said first; None where it is over, or another's."""
        ...

    def end(self, owner: str, token_id: str, session_id: bytes) -> None:
        """Have a session be over on every server; may be called twice."""
        ...


class SharedSessions:
    """One caller's sessions, on whichever server they began; a `SessionManager`.

    Args:
        manager: Answers here; it knows the sessions of this server alone.
        kept: What all servers know.
        caller: Whose sessions.
        asking: Limits how many threads wait for `kept`.
    """

    def __init__(
        self,
        manager: SessionManager,
        kept: KeepsSessions,
        caller: Caller,
        asking: anyio.CapacityLimiter,
    ) -> None:
        self._manager = manager
        self._kept = kept
        self._caller = caller
        self._asking = asking
        self._here: dict[bytes, bytes] = {}
        self._opening = anyio.Lock()

    def run(self) -> AbstractAsyncContextManager[None]:
        """Open the manager; see the port."""
        return self._manager.run()

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; see the port."""
        headers = dict(scope["headers"])
        named = headers.get(ID_HEADER)
        if named is None:
            is_old = headers.get(VERSION_HEADER, b"") < MODERN.encode()
            begin = self._begin if is_old and scope["method"] == "POST" else None
            await (begin or self._manager.handle_request)(scope, receive, send)
        elif SESSION not in scope:  # room is made here; elsewhere it goes on
            await self._end_here(named)
        elif (opening := await self._ask(self._kept.find, named)) is None:
            await self._end_here(named)
            await self._manager.handle_request(_of_session(scope, _NO_SESSION), receive, send)
        else:
            is_over = scope["method"] == "DELETE"
            if is_over:  # everywhere before its client hears so
                await self._ask(self._kept.end, named)
            await self._go_on(named, opening, scope, receive, send)
            if is_over:
                self._here.pop(named, None)

    async def _begin(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what may begin a session, which is kept before its client hears of it."""
        body: bytes = (await receive()).get("body", b"")

        async def keep(answer: Message) -> None:
            if answer["type"] == "http.response.start" and answer["status"] == HTTPStatus.OK:
                made = dict(answer.get("headers", ())).get(ID_HEADER)
                if made is not None and len(body) <= _LONGEST_OPENING:
                    await self._ask(self._kept.keep, made, body.decode())
                    self._here[made] = made
            await send(answer)

        await self._manager.handle_request(scope, with_body(body, receive), keep)

    async def _go_on(
        self, named: bytes, opening: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer in a session; opened anew where it is not open here, or not any more."""
        body = (await receive()).get("body", b"") if scope["method"] == "POST" else None
        is_gone = False

        async def sent(answer: Message) -> None:
            nonlocal is_gone
            if answer["type"] == "http.response.start":
                is_gone = answer["status"] == HTTPStatus.NOT_FOUND
                answer = {**answer, "headers": _renamed(answer.get("headers", ()), named)}
            if not is_gone:
                await send(answer)

        for _ in range(2):
            here = self._here.get(named) or await self._open(named, opening, scope)
            came = receive if body is None else with_body(body, receive)
            await self._manager.handle_request(_of_session(scope, here), came, sent)
            if not is_gone:
                return
            self._here.pop(named, None)
        await self._manager.handle_request(_of_session(scope, _NO_SESSION), receive, send)

    async def _open(self, named: bytes, opening: str, scope: Scope) -> bytes:
        """Open a session here as its client did where it began; its id here."""
        async with self._opening:
            if (known := self._here.get(named)) is not None:
                return known
            made = _NO_SESSION

            async def note(answer: Message) -> None:
                nonlocal made
                if answer["type"] == "http.response.start":
                    made = dict(answer.get("headers", ())).get(ID_HEADER, _NO_SESSION)

            asked = {
                **scope,
                "method": "POST",
                "headers": [
                    *((name, x) for name, x in scope["headers"] if name not in _OF_A_REQUEST),
                    *_OPENING,
                ],
            }
            await self._manager.handle_request(asked, _giving(opening.encode()), note)
            if made != _NO_SESSION:
                self._here[named] = made
                begun = _of_session(asked, made)
                await self._manager.handle_request(begun, _giving(_INITIALIZED), discard)
            return made

    async def _end_here(self, named: bytes) -> None:
        if (here := self._here.pop(named, None)) is not None:
            await self._manager.handle_request(deletion(here), _giving(b""), discard)

    async def _ask(self, question: Callable[..., _Said], *given: object) -> _Said:
        """What all servers know, asked in a thread. Raises: Unavailable."""
        caller = self._caller
        ask = partial(question, caller.owner, caller.token_id, *given)
        return await anyio.to_thread.run_sync(ask, limiter=self._asking)


def _of_session(scope: Scope, session_id: bytes) -> Scope:
    """The same request, in a session of this server."""
    return {**scope, "headers": _renamed([*scope["headers"], (ID_HEADER, b"")], session_id)}


def _renamed(headers: object, session_id: bytes) -> list[tuple[bytes, bytes]]:
    """Headers with another session's id, once, where they have one."""
    assert isinstance(headers, list | tuple)
    others = [pair for pair in headers if pair[0] != ID_HEADER]
    return others if len(others) == len(headers) else [*others, (ID_HEADER, session_id)]


def _giving(body: bytes) -> Receive:
    """What gives a body, and then nothing more."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> Message:
        if not messages:
            await anyio.sleep_forever()
        return messages.pop()

    return read
