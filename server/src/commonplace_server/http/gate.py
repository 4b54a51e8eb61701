"""The gate of the HTTP server: which requests are admitted, for which owner, and how many.

Knows no protocol above HTTP: what is admitted goes on to `inside`. Never says of a token more than
that it is not valid, and never logs what a request contains.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.doors.protocol import RateLimitExceeded
from commonplace_server.http.authenticator import Refusal, forbidden, invalid_token, not_found
from commonplace_server.http.metrics import MEDIA_TYPE, METRICS
from commonplace_server.http.page import page_headers, render_page, wants_page
from commonplace_server.http.resource import OPEN_TO_ALL
from commonplace_server.scope import API, AUTHORIZATION, PATH, STREAM, is_api, space_asked, tool_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from commonplace_server.http.authenticator import Authenticator, Caller
    from commonplace_server.http.limits import Limits, RateLimiter
    from commonplace_server.http.metrics import Metrics
    from commonplace_server.http.readiness import Readiness
    from commonplace_server.http.resource import ProtectedResource

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

WEB = "/web"
"""Where the pages for browsers begin, which have a guard of their own."""

_SESSION = b"mcp-session-id"
_READING = frozenset({"GET", "HEAD"})
_INVALID_REQUEST = -32600
# Far more than the answer of any model: what is longer is not looked into to find out.
_MOST_OF_A_REPLY = 1024 * 1024
_BODY = "commonplace.body"
"""In the scope of a request: its body, where it came whole; empty where others read it."""

_ASKING = 8
"""How many requests at once may wait to hear whose they are."""

_STRANGERS = "\0strangers"
"""Whose requests those are counted as that sign in: no owner's name."""
_MOST_OF_A_STRANGER = 64 * 1024
_GLANCE_S = 1.0
"""How long the body of a refused request is waited for, which is read for its id alone."""
_Said = TypeVar("_Said")


class Gate:
    """The ASGI application: checks each request, and passes on those that are admitted.

    Args:
        authenticator: Identifies the caller of a request.
        rate_limiter: Counts every request of an owner.
        replies: Counts the answers that open calls wait for, where `rate_limiter` is exhausted.
        limits: How large and how slow a request may be.
        readiness: Answers whether the server is alive and ready; knows whether it stops.
        inside: Answers an admitted request of a caller.
        withheld: The names of the tools that a caller may not call.
        pages: Answers requests for pages, those of strangers too; None where there are none.
        metrics: What was counted, where it may be read; it counts what limits keep out.
        resource: Says who makes tokens for this server, where clients can sign in.
        authorization: Lets clients sign in here; None where they cannot.
    """

    def __init__(
        self,
        *,
        authenticator: Authenticator,
        rate_limiter: RateLimiter,
        replies: RateLimiter,
        limits: Limits,
        readiness: Readiness,
        inside: Callable[[Caller, Scope, Receive, Send], Awaitable[None]],
        withheld: Callable[[Caller], Sequence[bytes]],
        pages: Application | None,
        metrics: Metrics,
        resource: ProtectedResource | None = None,
        authorization: Application | None = None,
    ) -> None:
        self._resource = resource
        self._authorization = authorization
        self._authenticator = authenticator
        self._rate_limiter = rate_limiter
        self._replies = replies
        self._limits = limits
        self._inside = inside
        self._withheld = withheld
        self._pages = pages
        self._readiness = readiness
        self._metrics = metrics
        self._asking = anyio.CapacityLimiter(_ASKING)

    @property
    def is_stopping(self) -> bool:
        """Whether nothing new is let in."""
        return self._readiness.state == "stopping"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; anything but HTTP is left unanswered."""
        if scope["type"] != "http":
            return
        try:
            await self._answer(scope, receive, send)
        except Refusal as exc:
            refusal = exc
        except CommonplaceError as exc:
            # Who asks cannot be found out: what is away is said as calls of tools say it.
            refusal = Refusal(503, exc.code, exc.message, exc.hint, Retry_After="1")
        except RateLimitExceeded as exc:
            self._metrics.count_refusal(exc.limit)
            refusal = Refusal(
                429,
                "unavailable",
                exc.message,
                "Try again later.",
                Retry_After=str(exc.retry_after_s),
            )
        else:
            return
        challenge = refusal.headers.get("WWW-Authenticate")
        if challenge is not None and self._resource is not None:
            refusal.headers["WWW-Authenticate"] = f"{challenge}, {self._resource.challenge}"
        if _BODY not in scope:
            if challenge is None and "Connection" not in refusal.headers:
                await self._glance(scope, receive)
            refusal.headers["Connection"] = "close"  # the rest of it is not waited for
        await refuse(refusal, scope, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        probed = self._readiness.answer(scope["path"]) if scope["method"] in _READING else None
        if probed is not None:
            # What needs no token is not kept connected, or anyone could take all connections.
            await respond(*probed, {"Connection": "close"}, send)
            return
        if self._resource is not None and self._resource.is_asked(scope["method"], scope["path"]):
            await respond(200, self._resource.facts, {**OPEN_TO_ALL, "Connection": "close"}, send)
            return
        headers = dict(scope["headers"])
        if self._authorization is not None and scope["path"] in AUTHORIZATION:
            await self._sign_in(self._authorization, scope, receive, send)
            return
        if scope["path"] == METRICS and scope["method"] in _READING:
            await self._asked(partial(self._authenticator.admit_to_metrics, headers, scope))
            await _send_whole(
                200, self._metrics.render().encode(), {"Content-Type": MEDIA_TYPE}, send
            )
            return
        accept = headers.get(b"accept", b"").decode("latin-1")
        if wants_page(method=scope["method"], path=scope["path"], accept=accept):
            host = self._authenticator.check_host(headers)
            is_tls = headers.get(b"x-forwarded-proto", b"").lower() == b"https"
            url = f"{'https' if is_tls else 'http'}://{host}{PATH}"
            page = render_page(url, has_pages=self._pages is not None)
            await _send_whole(200, page, page_headers(), send)
            return
        is_page = scope["path"] == WEB or scope["path"].startswith(f"{WEB}/")
        if is_page and self._pages is not None:
            if self.is_stopping:
                raise _stopping()
            scope[_BODY] = b""  # its own to read
            await self._pages(scope, receive, send)
            return
        if scope["path"].rstrip("/") != PATH and not is_api(scope):
            known = f"{PATH} and {API}"
            raise not_found(known if self._pages is None else f"{PATH}, {API} and {WEB}")
        if scope["method"] not in {"GET", "POST", "DELETE"}:
            raise Refusal(405, "invalid", "Use POST, GET or DELETE.", Allow="GET, POST, DELETE")
        await self._admit(scope, receive, send)

    async def _sign_in(
        self, authorization: Application, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answer a client that signs in, which is nobody yet."""
        headers = dict(scope["headers"])
        self._authenticator.check_host(headers)
        if self.is_stopping:
            raise _stopping()

        async def closing(message: Message) -> None:
            if message["type"] == "http.response.start":
                # What needs no token is not kept connected, or anyone could take all connections.
                message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        with self._rate_limiter.call(f"{_STRANGERS} {scope['path']}"):
            body = await self._read(headers, receive, _MOST_OF_A_STRANGER)
            await authorization(scope, with_body(body, receive), closing)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        await self._authenticator.prepare(headers)
        try:
            space = space_asked(scope)
        except Invalid as exc:
            raise Refusal(400, exc.code, exc.message, exc.hint) from exc
        caller = self._authenticator.admit_known(headers, space=space)
        if caller is None:
            version = scope["http_version"]
            admit = partial(self._authenticator.admit, headers, http_version=version, space=space)
            caller = await self._asked(admit)
        await self._rate_limiter.agree(caller.owner)
        if scope["method"] != "GET" or is_api(scope):
            with self._counted(caller, headers) as full:
                most = self._limits.body_bytes
                is_sent = scope["method"] == "POST"
                body = await self._read(headers, receive, most) if is_sent else b""
                scope[_BODY] = body
                # The body may have taken its time.
                if not await self._still_admits(caller):
                    raise invalid_token()
                if (full or self.is_stopping) and not _is_reply(headers, body):
                    raise full or _stopping()
                self._check_scope(caller, scope, body)
                await self._inside(caller, scope, with_body(body, receive), send)
                return
        if self.is_stopping:
            raise _stopping()
        with self._rate_limiter.stream(caller.owner):
            scope[STREAM] = True
            await self._inside(caller, scope, receive, send)

    async def _still_admits(self, caller: Caller) -> bool:
        """Whether a caller is let in still; no thread is needed for what is known."""
        if self._authenticator.still_admits_known(caller):
            return True
        return await self._asked(partial(self._authenticator.still_admits, caller))

    async def _asked(self, ask: Callable[[], _Said]) -> _Said:
        """What is asked about tokens: in a thread where a database answers, and may be slow."""
        if not self._authenticator.waits:
            return ask()
        return await anyio.to_thread.run_sync(ask, limiter=self._asking)

    @contextmanager
    def _counted(
        self, caller: Caller, headers: Mapping[bytes, bytes]
    ) -> Iterator[RateLimitExceeded | None]:
        """Count a request while it is in flight.

        Yields:
            None; at the limit the reason, and then only a reply to a question of ours is admitted:
            the calls that use up the limit may be those that wait for it.

        Raises:
            RateLimitExceeded: There are too many replies too.
        """
        with ExitStack() as held:
            try:
                held.enter_context(self._rate_limiter.call(caller.owner))
            except RateLimitExceeded as exc:
                if _SESSION not in headers:
                    raise
                held.enter_context(self._replies.call(caller.owner))
                yield exc
            else:
                yield None

    async def _read(self, headers: Mapping[bytes, bytes], receive: Receive, most: int) -> bytes:
        """Read the whole body, within the time that it may take. Raises: Refusal."""
        length_header = headers.get(b"content-length", b"0")
        if length_header.isdigit() and int(length_header) > most:
            raise _too_large(most)
        parts: list[bytes] = []
        length = 0
        with anyio.move_on_after(self._limits.body_s):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise Refusal(400, "invalid", "The request was not sent to its end.")
                parts.append(message.get("body", b""))
                length += len(parts[-1])
                if length > most:
                    raise _too_large(most)
                if not message.get("more_body", False):
                    return b"".join(parts)
        raise Refusal(408, "unavailable", "The request took too long to come.", Connection="close")

    async def _glance(self, scope: Scope, receive: Receive) -> None:
        """Read the body of a refused request, for its id, if it is small and comes in time."""
        if scope["method"] != "POST" or scope["path"].rstrip("/") != PATH:
            return
        with anyio.move_on_after(_GLANCE_S), suppress(Refusal):
            scope[_BODY] = await self._read(dict(scope["headers"]), receive, _MOST_OF_A_STRANGER)

    def _check_scope(self, caller: Caller, scope: Scope, body: bytes) -> None:
        """Refuse a call of a tool that exists and is not this caller's to call."""
        withheld = self._withheld(caller)
        if is_api(scope):
            called = tool_at(scope["path"])
        elif any(b'"%s"' % name in body for name in withheld):
            called = _tool_called(body)
        else:
            return
        if called.encode("utf-8", "replace") in withheld:
            raise forbidden(
                f"This token may not call {called} here.",
                "Use one whose scope and toolsets allow it; with --read-only none writes.",
            )


def _is_reply(headers: Mapping[bytes, bytes], body: bytes) -> bool:
    """Whether this is the client's answer to a question of ours, which an open call waits for.

    The body is parsed, since the name of a key can be written in many ways.
    """
    if _SESSION not in headers or len(body) > _MOST_OF_A_REPLY:
        return False
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return False
    if not isinstance(message, dict) or "method" in message:
        return False
    return "result" in message or "error" in message


def _tool_called(body: bytes) -> str:
    """The tool that a message of MCP calls; empty where it calls none."""
    try:
        message = json.loads(body)
        called = message["params"]["name"] if message["method"] == "tools/call" else ""
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return called if isinstance(called, str) else ""


def _id_of(body: bytes) -> str | int | None:
    """The id of a request of MCP; None where none can be found out.

    Codex waits for an answer with its own id until its user gives up, whatever the status.
    """
    if len(body) > _MOST_OF_A_STRANGER:
        return None
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    found = message.get("id") if isinstance(message, dict) and "method" in message else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def _stopping() -> Refusal:
    return Refusal(
        503, "unavailable", "The server stops.", "Try again.", Retry_After="5", Connection="close"
    )


def _too_large(most: int) -> Refusal:
    size = f"{most // 1024**2} MB" if most >= 1024**2 else f"{most // 1024} kB"
    hint = f"Use less than {size}."
    return Refusal(413, "invalid", "The request is too large.", hint, Connection="close")


async def refuse(refusal: Refusal, scope: Scope, send: Send) -> None:
    """Answer a request that is not admitted, or not to its end, as its client reads answers."""
    facts: Mapping[str, Any] = refusal.facts
    if not is_api(scope):
        text = f"{facts['message']} {facts['hint']}".strip()
        error = {"code": _INVALID_REQUEST, "message": text, "data": facts}
        facts = {"jsonrpc": "2.0", "id": _id_of(scope.get(_BODY, b"")), "error": error}
    await respond(refusal.status, facts, refusal.headers, send)


async def respond(
    status: int, facts: Mapping[str, Any], more: Mapping[str, str], send: Send
) -> None:
    """Send facts as JSON. more: headers beside those of their type and length."""
    headers = {"Content-Type": "application/json", **more}
    await _send_whole(status, json.dumps(facts).encode(), headers, send)


async def _send_whole(status: int, body: bytes, headers: Mapping[str, str], send: Send) -> None:
    """Send an answer whose body is known."""
    pairs = [
        (name.lower().encode(), text.encode())
        for name, text in {**headers, "Content-Length": str(len(body))}.items()
    ]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


def with_body(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives back the body that was read, then what comes after it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> Message:
        return messages.pop() if messages else await receive()

    return read
