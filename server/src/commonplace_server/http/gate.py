"""The gate of the HTTP server: which requests are admitted, for which owner, and how many.

Knows no protocol above HTTP: what is admitted goes on to `inside`. Never says of a token more than
that it is not valid, and never logs what a request contains.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import anyio
import anyio.to_thread
from msgspec import Struct

from commonplace.core.errors import CommonplaceError, Denied, Invalid
from commonplace.core.spaces import is_space
from commonplace.doors.protocol import RateLimitExceeded
from commonplace.journals.table import CONNECTOR, DEFAULT, OF_SPACES
from commonplace_server.http.metrics import MEDIA_TYPE, METRICS
from commonplace_server.http.page import page_headers, render_page, wants_page
from commonplace_server.http.resource import OPEN_TO_ALL
from commonplace_server.scope import API, AUTHORIZATION, STREAM, is_api, space_asked, tool_at
from commonplace_server.tokens import METRICS_SCOPE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from commonplace.core.clock import Clock
    from commonplace.core.spaces import Member
    from commonplace.doors.host_names import HostNames
    from commonplace_server.http.issuer import Issuer
    from commonplace_server.http.limits import Limits, RateLimiter
    from commonplace_server.http.metrics import Metrics
    from commonplace_server.http.readiness import Readiness
    from commonplace_server.http.resource import ProtectedResource
    from commonplace_server.tokens import ReadsTokens, Token

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

PATH = "/mcp"
WEB = "/web"
"""Where the pages for browsers begin, which have a guard of their own."""

# A client behind a proxy is not on this machine. Not every proxy says so.
_FORWARDED = (
    b"forwarded",
    b"via",
    b"x-forwarded-for",
    b"x-forwarded-host",
    b"x-forwarded-proto",
    b"x-real-ip",
    b"x-client-ip",
    b"true-client-ip",
    b"cf-connecting-ip",
)
# What a proxy such as nginx speaks by default, without a header of its own, and no MCP client does.
_OLD_HTTP = "1.0"
# A browser says so of an address that was typed, and of a page of the same origin.
_OWN_SITE = frozenset({b"none", b"same-origin"})
_SESSION = b"mcp-session-id"
_READING = frozenset({"GET", "HEAD"})
_INVALID_REQUEST = -32600
# Far more than the answer of any model: what is longer is not looked into to find out.
_MOST_OF_A_REPLY = 1024 * 1024
_IS_READ = "commonplace.is_read"
"""In the scope of a request whose body came whole."""

_ASKING = 8
"""How many requests at once may wait to hear whose they are."""

_STRANGERS = "\0strangers"
"""Whose requests those are counted as that sign in: no owner's name."""
_MOST_OF_A_STRANGER = 64 * 1024
_Said = TypeVar("_Said")
ToMetrics: TypeAlias = Literal["token", "loopback", "off"]


class Caller(Struct, frozen=True, kw_only=True):
    """The client of a request, as its token names it.

    Args:
        token_id: Empty for the machine's own owner, who needs no token while there are none.
        owner: Whose journals it reads and writes.
        toolsets: Those offered to it.
        may_write: Whether it may call tools that write.
        member: Who it is, where the owner is a space; else None.
    """

    token_id: str
    owner: str
    toolsets: tuple[str, ...]
    may_write: bool
    member: Member | None = None


class Offer(Struct, frozen=True, kw_only=True):
    """What a server offers its callers.

    Args:
        owner: The machine's own, for callers that need no token.
        toolsets: The most that any token may have.
        usual: The toolsets of a token that names none.
        may_write: False where no tool that writes is offered.
        has_pages: Whether browsers see the journals at `/web`.
        of_others: Toolsets of all owners but the machine's own, whose journals lie on its disk.
        metrics: Who may read `/metrics`: who has a token for that, loopback as well, or nobody.
    """

    owner: str
    toolsets: tuple[str, ...]
    usual: tuple[str, ...]
    may_write: bool
    has_pages: bool = True
    of_others: frozenset[str] = frozenset()
    metrics: ToMetrics = "token"

    def toolsets_of(self, owner: str, asked: Collection[str]) -> tuple[str, ...]:
        """Those that an owner is offered of some; a space has fewer, each of them by itself."""
        if is_space(owner):
            named = OF_SPACES if DEFAULT in asked else ()
            theirs = {*named, *(x for x in asked if x in (*OF_SPACES, CONNECTOR))}
            return tuple(x for x in self.toolsets if x in theirs)
        withheld = self.of_others if owner == self.owner else frozenset()
        usual = self.toolsets if withheld and DEFAULT in asked else asked  # of few all are usual
        return tuple(x for x in self.toolsets if x in usual and x not in withheld)


class Refusal(Exception):
    """A request that is not admitted.

    Args:
        status: Of HTTP.
        code: One of the six codes of our errors.
        message: What is wrong.
        hint: The next step.
        headers: More headers of the answer, with `_` for `-` in their names.
    """

    def __init__(
        self, status: int, code: str, message: str, hint: str = "", **headers: str
    ) -> None:
        super().__init__(message)
        self.status = status
        self.facts = {"code": code, "message": message, "hint": hint}
        self.headers = {name.replace("_", "-"): text for name, text in headers.items()}


class Authenticator:
    """Decides for one server who makes a request, by its token. Thread-safe.

    Args:
        tokens: Those that this server made.
        names: Its own names.
        offer: What callers may have at most.
        clock: Gives the time.
        issuer: The identity provider whose tokens are let in as well; None for none.
    """

    def __init__(
        self,
        *,
        tokens: ReadsTokens,
        names: HostNames,
        offer: Offer,
        clock: Clock,
        issuer: Issuer | None = None,
    ) -> None:
        self._tokens = tokens
        self._names = names
        self._offer = offer
        self._clock = clock
        self._issuer = issuer
        self._fetching = anyio.Lock()

    async def prepare(self, headers: Mapping[bytes, bytes]) -> None:
        """Fetch what the token of a request is read by, where that is not here yet.

        Whoever needs it meanwhile waits for that one, and holds no thread.
        """
        issuer, text = self._issuer, _bearer(headers.get(b"authorization", b""))
        if issuer is None or not issuer.lacks_key(text):
            return
        async with self._fetching:
            if issuer.lacks_key(text):
                await anyio.to_thread.run_sync(issuer.refresh)

    def admit(
        self, headers: Mapping[bytes, bytes], *, http_version: str, space: str = ""
    ) -> Caller:
        """Identify the caller of a request.

        Args:
            headers: Of the request, their names in lower case.
            http_version: Such as `1.1`.
            space: The only one that it may open; empty for what its token opens.

        Raises:
            Refusal: The request is not admitted.
            Unavailable: The tokens cannot be read.
        """
        self._check_names(headers)
        given = headers.get(b"authorization")
        if given is None:
            return self._without_token(headers, http_version, space)
        token = self._valid(given, space)
        if not token.may_read:
            raise _forbidden("This token opens no journal.", "Use one whose scope is read.")
        caller = self._caller(token)
        if space not in {"", caller.owner}:
            raise _forbidden("This token is not for that space.", "Use one of a member of it.")
        if not caller.toolsets:
            raise _forbidden(
                "None of this token's toolsets is offered here.",
                "Use another token, or start the server with --toolsets that name one of them.",
            )
        if token.is_own:
            self._tokens.note_use(token)
        return caller

    def admit_to_metrics(self, headers: Mapping[bytes, bytes], scope: Scope) -> None:
        """Let in who may read what the server counts of itself.

        Raises:
            Refusal: They may not, or nobody may.
            Unavailable: The tokens cannot be read.
        """
        who = self._offer.metrics
        if who == "off":
            raise _not_found(PATH)
        self._check_names(headers)
        if who == "loopback" and _is_direct(headers, scope):
            return
        given = headers.get(b"authorization")
        if given is None:
            raise _unauthorized("A token with the scope metrics is needed.")
        token = self._own(given)
        if METRICS_SCOPE not in token.scopes:
            raise _forbidden("This token may not read metrics.", "Use one with the scope metrics.")
        self._tokens.note_use(token)

    def _valid(self, authorization: bytes, space: str) -> Token:
        """The valid token that a header shows. Raises: Refusal."""
        if self._issuer is not None:
            try:
                token = self._issuer.read(_bearer(authorization), space)
            except Denied as exc:
                raise _forbidden(exc.message, exc.hint) from exc
            if token is not None:
                return token
        return self._own(authorization)

    def _own(self, authorization: bytes) -> Token:
        """The valid token of this server's own that a header shows. Raises: Refusal."""
        token = self._tokens.find(_bearer(authorization))
        if token is None or token.state(self._clock()) != "valid":
            raise _invalid_token()
        return token

    @property
    def waits(self) -> bool:
        """Whether what it answers may have to be waited for, as that of a database."""
        return self._tokens.waits

    def find_problem(self) -> str:
        """Say why no request can be admitted now; empty where they can."""
        try:
            self._tokens.check()
        except CommonplaceError as exc:
            return str(exc)
        return ""

    def find_shut_out(self, callers: Collection[Caller]) -> set[Caller]:
        """Those of these callers who are admitted no more. Raises: Unavailable, Denied."""
        self._tokens.check()
        self._tokens.refresh(caller.token_id for caller in callers)
        return {caller for caller in callers if not self.still_admits(caller)}

    def still_admits(self, caller: Caller) -> bool:
        """Whether the token of an open session is valid, with the rights that it had."""
        if not caller.token_id:
            return not self._asks_for_tokens
        if self._issuer is not None and self._issuer.knows(caller.token_id, self._clock()):
            return True
        token = self._tokens.get(caller.token_id)
        if token is None or token.state(self._clock()) != "valid":
            return False
        return self._caller(token) == caller

    def check_host(self, headers: Mapping[bytes, bytes]) -> str:
        """The Host header, where it names this server. Raises: Refusal."""
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._names.knows(host):
            raise Refusal(421, "denied", "This server has no such name.", "See --allow-host.")
        return host

    def _check_names(self, headers: Mapping[bytes, bytes]) -> None:
        host = self.check_host(headers)
        origin = headers.get(b"origin", b"").decode("latin-1")
        site = headers.get(b"sec-fetch-site", b"none")
        if (origin and origin.partition("://")[2] != host) or site not in _OWN_SITE:
            raise Refusal(403, "denied", "Pages of other sites are not let in.")

    def _without_token(
        self, headers: Mapping[bytes, bytes], http_version: str, space: str
    ) -> Caller:
        """The machine's own owner, as long as only this machine asks and no token was ever made."""
        is_proxied = _is_proxied(headers, http_version)
        if space or not self._names.is_loopback or is_proxied or self._asks_for_tokens:
            raise _unauthorized("A token is needed.")
        offer = self._offer
        return Caller(
            token_id="",
            owner=offer.owner,
            toolsets=offer.toolsets_of(offer.owner, offer.usual),
            may_write=offer.may_write,
        )

    @property
    def _asks_for_tokens(self) -> bool:
        """Whether nobody is let in without one."""
        return self._issuer is not None or self._tokens.was_used()

    def _caller(self, token: Token) -> Caller:
        offer = self._offer
        asked = token.toolsets or offer.usual
        return Caller(
            token_id=token.id,
            owner=token.owner,
            toolsets=offer.toolsets_of(token.owner, asked),
            may_write=token.may_write and offer.may_write,
            member=token.at_work,
        )


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
        if _IS_READ not in scope:  # the rest of it is not waited for
            refusal.headers["Connection"] = "close"
        await refuse(refusal, send, as_api=is_api(scope))

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
            scope[_IS_READ] = True  # its own to read
            await self._pages(scope, receive, send)
            return
        if scope["path"].rstrip("/") != PATH and not is_api(scope):
            known = f"{PATH} and {API}"
            raise _not_found(known if self._pages is None else f"{PATH}, {API} and {WEB}")
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
            admit = partial(self._authenticator.admit, headers, space=space_asked(scope))
        except Invalid as exc:
            raise Refusal(400, exc.code, exc.message, exc.hint) from exc
        caller = await self._asked(partial(admit, http_version=scope["http_version"]))
        await self._rate_limiter.agree(caller.owner)
        if scope["method"] != "GET" or is_api(scope):
            with self._counted(caller, headers) as full:
                most = self._limits.body_bytes
                is_sent = scope["method"] == "POST"
                body = await self._read(headers, receive, most) if is_sent else b""
                scope[_IS_READ] = True
                # The body may have taken its time.
                if not await self._asked(partial(self._authenticator.still_admits, caller)):
                    raise _invalid_token()
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
            raise _forbidden(
                f"This token may not call {called} here.",
                "Use one whose scope and toolsets allow it; with --read-only none writes.",
            )


def _bearer(authorization: bytes) -> str:
    """The token that a header shows; empty where it shows none."""
    kind, _, presented = authorization.decode("latin-1").partition(" ")
    return presented.strip() if kind.lower() == "bearer" else ""


def _is_proxied(headers: Mapping[bytes, bytes], http_version: str) -> bool:
    """Whether a proxy says that it sends a request for somebody else."""
    return http_version == _OLD_HTTP or any(name in headers for name in _FORWARDED)


def _is_direct(headers: Mapping[bytes, bytes], scope: Scope) -> bool:
    """Whether a request comes from this machine, as far as no proxy hides that it does not."""
    client = scope["client"]
    is_here = client and ipaddress.ip_address(client[0].partition("%")[0]).is_loopback
    return bool(is_here) and not _is_proxied(headers, scope["http_version"])


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


def _stopping() -> Refusal:
    return Refusal(
        503, "unavailable", "The server stops.", "Try again.", Retry_After="5", Connection="close"
    )


def _not_found(known: str) -> Refusal:
    return Refusal(404, "not_found", f"There is nothing here but {known}.")


def _unauthorized(message: str, error: str = "") -> Refusal:
    reason = f', error="{error}", error_description="{message}"' if error else ""
    return Refusal(
        401,
        "denied",
        message,
        "Send `Authorization: Bearer <token>`; `commonplace tokens create` makes one.",
        WWW_Authenticate=f'Bearer realm="commonplace"{reason}',
        Connection="close",
    )


def _invalid_token() -> Refusal:
    return _unauthorized("This token is not valid.", "invalid_token")


def _forbidden(message: str, hint: str) -> Refusal:
    scheme = 'Bearer realm="commonplace", error="insufficient_scope"'
    challenge = f'{scheme}, error_description="{message}"'
    return Refusal(403, "denied", message, hint, WWW_Authenticate=challenge)


def _too_large(most: int) -> Refusal:
    size = f"{most // 1024**2} MB" if most >= 1024**2 else f"{most // 1024} kB"
    hint = f"Use less than {size}."
    return Refusal(413, "invalid", "The request is too large.", hint, Connection="close")


async def refuse(refusal: Refusal, send: Send, *, as_api: bool) -> None:
    """Answer a request that is not admitted, or not to its end, as its client reads answers."""
    facts: Mapping[str, Any] = refusal.facts
    if not as_api:
        text = f"{facts['message']} {facts['hint']}".strip()
        error = {"code": _INVALID_REQUEST, "message": text, "data": facts}
        facts = {"jsonrpc": "2.0", "id": None, "error": error}
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
