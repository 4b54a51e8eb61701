"""The MCP door over HTTP: an offer, served by the official SDK, which is imported here alone.

Decides nothing: every answer comes from the offer.
"""

from __future__ import annotations

import secrets
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceRequestParams,
    ReadResourceResult,
)

from commonplace.core.errors import Unavailable
from commonplace.core.redact import mapped_texts
from commonplace.core.text import screening, shown_now
from commonplace.doors.mcp_offer import ClientModel, answered_before
from commonplace.doors.protocol import (
    INVALID_REQUEST,
    MODERN,
    SAMPLING_S,
    RateLimitExceeded,
    RefusedRequest,
)
from commonplace.verbs.session import within
from commonplace_server.scope import SESSION, STRUCTURED_HEADER, WORK

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from mcp.server.context import ServerRequestContext

    from commonplace.doors.mcp_offer import McpOffer

_ID_BITS = 48
"""Of the id of a question to a client: a number that JavaScript's clients read exactly."""


class _Screening:
    """Middleware: hides secrets in all that a request is answered, the SDK's own errors as well."""

    def __init__(self, offer: McpOffer) -> None:
        self._shown = offer.screen.shown

    async def __call__(
        self,
        ctx: ServerRequestContext[Any, Any],
        call_next: Callable[[ServerRequestContext[Any, Any]], Awaitable[Any]],
    ) -> Any:
        with screening(self._shown):
            try:
                return await call_next(ctx)
            except RefusedRequest as exc:
                raise MCPError(exc.code, exc.message, exc.data) from exc
            except MCPError as exc:
                data = mapped_texts(exc.data, shown_now)
                raise MCPError(exc.code, shown_now(exc.message), data) from exc


class _InSession:
    """Middleware: what is called over HTTP is called in its session, as the gate found it.

    Counted here, where it works: a session's call goes on when its client hangs up.
    """

    async def __call__(
        self,
        ctx: ServerRequestContext[Any, Any],
        call_next: Callable[[ServerRequestContext[Any, Any]], Awaitable[Any]],
    ) -> Any:
        if ctx.request is None:
            return await call_next(ctx)
        scope = ctx.request.scope
        with within(scope[SESSION]):
            if ctx.request_id is None or WORK not in scope:
                return await call_next(ctx)
            with _counted(scope[WORK]):
                return await call_next(ctx)


@contextmanager
def _counted(work: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """Count a call as work while it runs. Raises: MCPError, where the owner has too much."""
    with ExitStack() as held:
        try:
            held.enter_context(work())
        except RateLimitExceeded as exc:
            facts = {"code": "unavailable", "message": exc.message, "hint": "Try again later."}
            raise MCPError(INVALID_REQUEST, f"{exc.message} Try again later.", facts) from exc
        yield


class _Handlers:
    """What the SDK's server calls for each method of the protocol."""

    def __init__(self, offer: McpOffer) -> None:
        self._offer = offer
        self._lists = offer.lists

    async def tools(self, _ctx: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult.model_validate({"tools": self._lists["tools"]})

    async def resources(self, _ctx: Any, _params: Any) -> ListResourcesResult:
        return ListResourcesResult.model_validate({"resources": self._lists["resources"]})

    async def templates(self, _ctx: Any, _params: Any) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=[])

    async def prompts(self, _ctx: Any, _params: Any) -> ListPromptsResult:
        return ListPromptsResult.model_validate({"prompts": self._lists["prompts"]})

    async def call(
        self, ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        result = await _in_thread(
            self._offer.call,
            params.name,
            params.arguments or {},
            meta=ctx.meta or {},
            structured=_asked_by_header(ctx),
            model=_model_of(ctx, params, self._offer),
        )
        kind = InputRequiredResult if "inputRequests" in result else CallToolResult
        return kind.model_validate(result)

    async def read(self, _ctx: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
        read = await _in_thread(self._offer.read, str(params.uri))
        return ReadResourceResult.model_validate(read)

    async def prompt(self, _ctx: Any, params: GetPromptRequestParams) -> GetPromptResult:
        written = await _in_thread(self._offer.prompt, params.name, params.arguments or {})
        return GetPromptResult.model_validate(written)


def make_server(offer: McpOffer, *, middleware: Sequence[_InSession] = ()) -> Server[Any]:
    """The SDK's server of an offer.

    Args:
        offer: What it offers.
        middleware: What sees every message before the server does.
    """
    handlers = _Handlers(offer)
    schemas = {tool["name"]: tool["inputSchema"] for tool in offer.lists["tools"]}
    server: Server[Any] = Server(
        **offer.lists["server"],
        instructions=offer.lists["instructions"],
        # Else the SDK lists all tools at each call, an eighth to a third of the server's own time.
        get_tool_input_schema=schemas.get,
        on_list_tools=handlers.tools,
        on_list_resources=handlers.resources,
        on_list_resource_templates=handlers.templates,
        on_list_prompts=handlers.prompts,
        on_call_tool=handlers.call,
        on_read_resource=handlers.read,
        on_get_prompt=handlers.prompt,
    )
    # The SDK's seal of `requestState` is left out: its key would be one process's own. Our state is
    # the hash of a question, which any server compares with the question that it would ask.
    server.middleware += [*middleware, _Screening(offer)]
    return server


async def _in_thread(function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    return await anyio.to_thread.run_sync(partial(function, *given, **named))


def _asked_by_header(ctx: ServerRequestContext[Any, Any]) -> bool | None:
    """Whether a header asks for JSON beside the text; None where none says so."""
    if ctx.request is None:
        return None
    header: str = ctx.request.headers.get(STRUCTURED_HEADER, "").strip().lower()
    return header in {"1", "true"} if header else None


def _model_of(
    ctx: ServerRequestContext[Any, Any], params: CallToolRequestParams, offer: McpOffer
) -> ClientModel | None:
    """The client's own model, where the client lets it be asked."""
    declared = ctx.session.client_capabilities
    if declared is None or declared.sampling is None:
        return None
    if (ctx.protocol_version or "") < MODERN:
        return ClientModel(partial(_ask, ctx), offer.screen, waits=True)
    came = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    return ClientModel(lambda asked: answered_before(asked, came), offer.screen, waits=False)


def _ask(ctx: ServerRequestContext[Any, Any], asked: Mapping[str, Any]) -> Any:
    """What the client's model answers, asked from the thread of a call. Raises: Unavailable."""
    params = CreateMessageRequestParams.model_validate(asked)
    request = CreateMessageRequest(params=params).model_dump(
        by_alias=True, mode="json", exclude_none=True
    )
    # The SDK counts from 1 in each session: of two servers that answer in one, either would take
    # what was said to the other's question. Its `send_request` takes no id.
    options = CallOptions(request_id=secrets.randbits(_ID_BITS), timeout=SAMPLING_S)
    channel = ctx.session._request_outbound  # noqa: SLF001

    async def send() -> Any:
        answer = await channel.send_raw_request(request["method"], request["params"], options)
        said = CreateMessageResult.model_validate(answer, by_name=False)
        return said.model_dump(by_alias=True, mode="json", exclude_none=True)

    try:
        return anyio.from_thread.run(send)
    except MCPError as exc:  # the client's own words are not ours to repeat
        raise Unavailable(f"It was refused, or took too long ({exc.error.code}).") from exc
    except ValueError as exc:
        raise Unavailable("Its answer is not one of the protocol's.") from exc


class HttpServer:
    """An offer over HTTP, to any number of callers.

    The session of a request stands in its scope: see `http/sessions`.
    """

    def __init__(self, offer: McpOffer) -> None:
        self._server = make_server(offer, middleware=[_InSession()])

    def sessions(
        self, *, body_bytes: int, most: int, idle_s: float
    ) -> StreamableHTTPSessionManager:
        """The sessions of one caller, unknown to all others.

        Args:
            body_bytes: The largest body of a request.
            most: How many may be open.
            idle_s: How long one may be idle before it ends.
        """
        return StreamableHTTPSessionManager(
            self._server,
            max_request_body_size=body_bytes,
            max_sessions=most,
            session_idle_timeout=idle_s,
        )
