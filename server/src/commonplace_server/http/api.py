"""The API for programs that speak no MCP: each tool is a POST of JSON, and OpenAPI describes them.

Decides nothing: what is offered, called and screened is the offer that MCP has too.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio

from commonplace.core.errors import Invalid, NotFound, Unavailable
from commonplace.core.redact import mapped_texts
from commonplace.core.text import opening, screening, shown_now
from commonplace.doors.protocol import STRUCTURED_META, RateLimitExceeded
from commonplace.verbs.session import within
from commonplace_server.http.gate import respond
from commonplace_server.http.openapi import DESCRIPTION, STATUS_OF, describe
from commonplace_server.scope import SESSION, TOOLS, WORK, is_api, tool_at

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager

    from commonplace.doors.mcp_offer import McpOffer
    from commonplace_server.http.gate import Receive, Scope, Send
    from commonplace_server.http.sessions import SessionManager

_OK = 200
_WRONG_METHOD = 405
_TOO_MANY = 429


class _Response(NamedTuple):
    """An answer to a request: its status, its body and its own headers."""

    status: int
    facts: Mapping[str, Any]
    headers: Mapping[str, str]


class ApiBesideMcp:
    """What answers one caller: the API below its own path, and MCP elsewhere.

    Implements the port `http.sessions.SessionManager`.

    Args:
        sessions: Speaks MCP with the caller.
        offer: What the caller is offered.
    """

    def __init__(self, sessions: SessionManager, offer: McpOffer) -> None:
        self._sessions = sessions
        self._offer = offer

    def run(self) -> AbstractAsyncContextManager[None]:
        """Open it."""
        return self._sessions.run()

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if not is_api(scope):
            await self._sessions.handle_request(scope, receive, send)
            return
        path = scope["path"]
        with screening(self._offer.screen.shown):
            if path == DESCRIPTION:
                done = self._described(scope["method"])
            elif name := tool_at(path):
                done = await self._called(name, scope, receive)
            else:
                there = f"There is nothing here but {DESCRIPTION} and {TOOLS}…."
                done = _failed(NotFound(there))
            await respond(done.status, mapped_texts(done.facts, shown_now), done.headers, send)

    def _described(self, method: str) -> _Response:
        """What the caller may call."""
        if method != "GET":
            return _Response(_WRONG_METHOD, Invalid("Use GET.").facts, {"Allow": "GET"})
        return _Response(_OK, describe(self._offer.lists), {})

    async def _called(self, name: str, scope: Scope, receive: Receive) -> _Response:
        """What a tool answers."""
        if scope["method"] != "POST":
            facts = Invalid("Use POST.", hint="Send the arguments as an object.").facts
            return _Response(_WRONG_METHOD, facts, {"Allow": "POST"})
        try:
            arguments = _object((await receive())["body"])
            with within(scope[SESSION]), scope[WORK]():
                call = partial(self._offer.call, name, arguments, meta={STRUCTURED_META: True})
                result = await anyio.to_thread.run_sync(call)
        except Invalid as exc:
            return _failed(exc)
        except RateLimitExceeded as exc:
            facts = Unavailable(exc.message, hint="Try again later.").facts
            return _Response(_TOO_MANY, facts, {"Retry-After": str(exc.retry_after_s)})
        facts = result["structuredContent"]
        return _Response(STATUS_OF[facts["code"]] if result["isError"] else _OK, facts, {})


def _failed(error: Invalid | NotFound) -> _Response:
    return _Response(STATUS_OF[error.code], error.facts, {})


def _object(body: bytes) -> dict[str, Any]:
    """The arguments of a call; none where the body is empty. Raises: Invalid."""
    try:
        read = json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError) as exc:
        raise Invalid("The body is no JSON.", hint="Send the arguments as an object.") from exc
    if not isinstance(read, dict):
        shown = opening(json.dumps(read), 60, "…")
        raise Invalid(f"The body is no object: {shown}.", hint="Send the arguments as an object.")
    return read
