"""The MCP door: toolsets offered over stdio and HTTP by the official SDK, imported here alone.

Decides nothing: an answer or an error of a tool becomes a result; stdout is the protocol's alone.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import wraps
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError
from mcp.server.mcpserver.prompts import Prompt as SdkPrompt
from mcp.server.mcpserver.resources import FunctionResource
from mcp.server.mcpserver.resources import Resource as SdkResource
from mcp.server.mcpserver.tools import Tool as SdkTool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.server.request_state import RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    InputRequiredResult,
    SamplingMessage,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as SdkListedTool

from commonplace.core.errors import (
    CommonplaceError,
    Denied,
    Internal,
    Invalid,
    NotFound,
    Unavailable,
)
from commonplace.core.redact import Screen, mapped_texts
from commonplace.core.text import opening, screening, shown_now, text_hash, well_formed
from commonplace.core.values import Completion
from commonplace.doors.protocol import (
    MODERN,
    SESSION,
    STRUCTURED_HEADER,
    STRUCTURED_META,
    WORK,
    RateLimitExceeded,
)
from commonplace.services.session import within
from commonplace.tools.answers import either, text_for_model
from commonplace.tools.selection import merge_toolsets

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from mcp.server.context import ServerRequestContext
    from mcp.server.mcpserver import Context

    from commonplace.core.values import Question
    from commonplace.doors.lifecycle import Lifecycle
    from commonplace.tools.toolset import Effects, Resource, Tool, Toolset

_log = logging.getLogger(__name__)

CONVERSATION_S = 10.0

SAMPLING_S = 45.0
"""How long the client's model may take: many clients give up a call after 60 s, and the tool must
still answer without it."""

_ASKED = "sampling"
_SEARCH_HINT = "memory: remember, recall, journal, log, notes, decisions, earlier sessions"
_SPARE_BYTES = 3  # a token


class _RawArguments(FuncMetadata):
    """Hands the arguments over as they came: the tool checks them and words the errors."""

    def validate_arguments(self, arguments_to_validate: dict[str, Any]) -> dict[str, Any]:
        return {"arguments": arguments_to_validate}


class _Watch:
    """Middleware: does what is due as a call of a tool begins, or after another request."""

    def __init__(self, due: Mapping[str, Callable[[], None]]) -> None:
        self._due = dict(due)

    async def __call__(
        self,
        ctx: ServerRequestContext[Any, Any],
        call_next: Callable[[ServerRequestContext[Any, Any]], Awaitable[Any]],
    ) -> Any:
        if ctx.request_id is None:
            return await call_next(ctx)
        if ctx.method == "tools/call":
            self._begin(ctx.method)
        result = await call_next(ctx)
        self._begin(ctx.method)
        return result

    def _begin(self, method: str) -> None:
        if (due := self._due.pop(method, None)) is not None:
            due()


class _Screening:
    """Middleware: hides secrets in all that a request is answered, the SDK's own errors as well."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    async def __call__(
        self,
        ctx: ServerRequestContext[Any, Any],
        call_next: Callable[[ServerRequestContext[Any, Any]], Awaitable[Any]],
    ) -> Any:
        with screening(self._screen.shown):
            try:
                return await call_next(ctx)
            except MCPError as exc:
                data = mapped_texts(exc.data, shown_now)
                raise MCPError(exc.code, shown_now(exc.message), data) from exc


class _Aliases:
    """Middleware: a call under another name of a tool is a call of that tool."""

    def __init__(self, offered: Toolset) -> None:
        self._names = {alias: tool.name for tool in offered.tools for alias in tool.aliases}

    async def __call__(
        self,
        ctx: ServerRequestContext[Any, Any],
        call_next: Callable[[ServerRequestContext[Any, Any]], Awaitable[Any]],
    ) -> Any:
        name = (ctx.params or {}).get("name")
        if ctx.method == "tools/call" and isinstance(name, str) and name in self._names:
            ctx = replace(ctx, params={**(ctx.params or {}), "name": self._names[name]})
        return await call_next(ctx)


class _Unknown:
    """Middleware: a call of a tool that is not offered says where it is, and what to do.

    Args:
        offered: What is offered.
        elsewhere: Gives the names of the toolsets that have a tool of a name.
    """

    def __init__(self, offered: Toolset, elsewhere: Callable[[str], Sequence[str]]) -> None:
        self._names = frozenset(tool.name for tool in offered.tools)
        self._elsewhere = elsewhere

    async def __call__(
        self,
        ctx: ServerRequestContext[Any, Any],
        call_next: Callable[[ServerRequestContext[Any, Any]], Awaitable[Any]],
    ) -> Any:
        name = (ctx.params or {}).get("name")
        if ctx.method != "tools/call" or not isinstance(name, str) or name in self._names:
            return await call_next(ctx)
        toolsets = self._elsewhere(name)
        hint = "Call one that is listed."
        if toolsets:
            hint = (
                f"The toolset {either(toolsets)} has it: add it to the setting toolsets "
                f"(COMMONPLACE_TOOLSETS, or --toolsets), and start again."
            )
        error = NotFound(f"There is no tool {opening(name, 100)!r} here.", hint=hint)
        return _failure(error, with_facts=False)


class _Prompts:
    """Middleware: a prompt that cannot be had is the client's error, not a fault of ours.

    The SDK would log it with a traceback, and what the client gave with it.
    """

    def __init__(self, offered: Toolset) -> None:
        self._names = [prompt.name for prompt in offered.prompts]

    async def __call__(
        self,
        ctx: ServerRequestContext[Any, Any],
        call_next: Callable[[ServerRequestContext[Any, Any]], Awaitable[Any]],
    ) -> Any:
        asked = ctx.params or {}
        name = asked.get("name")
        if ctx.method == "prompts/get" and isinstance(name, str):
            if name not in self._names:
                known = " or ".join(self._names) or "a tool"
                called = opening(name, 100, "…")
                raise _refused(NotFound(f"There is no prompt {called!r}.", hint=f"Use {known}."))
            if asked.get("arguments"):
                message = f"The prompt {name} takes no arguments."
                raise _refused(Invalid(message, hint="Leave them out."))
        return await call_next(ctx)


def _refused(error: CommonplaceError) -> MCPError:
    return MCPError(INVALID_PARAMS, well_formed(str(error)), error.facts)


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


@asynccontextmanager
async def _prints_aside(_server: MCPServer[Any]) -> AsyncIterator[None]:
    """While the SDK holds the wire, a print goes where noise goes."""
    sys.stdout = sys.stderr
    yield


@contextmanager
def _without_rich() -> Iterator[None]:
    """Let the SDK log plainly: importing rich takes 25 ms, and its tracebacks show our locals."""
    if "rich" in sys.modules:
        yield
        return
    sys.modules["rich"] = None  # type: ignore[assignment]  # what Python documents to forbid an import
    try:
        yield
    finally:
        del sys.modules["rich"]


class _ListingServer(MCPServer[Any]):
    """The SDK's server, which lists some of the tools that can be called."""

    listed: frozenset[str] = frozenset()

    async def list_tools(self) -> list[SdkListedTool]:
        """The tools that are shown to a client."""
        return [tool for tool in await super().list_tools() if tool.name in self.listed]


def make_server(
    toolsets: Sequence[Toolset],
    *,
    screen: Screen | None = None,
    structured: bool = False,
    middleware: Sequence[_Watch | _InSession] = (),
    lifespan: Callable[[MCPServer[Any]], AbstractAsyncContextManager[None]] | None = None,
    security: RequestStateSecurity | None = None,
    elsewhere: Callable[[str], Sequence[str]] = lambda _name: (),
) -> MCPServer[Any]:
    """A server that offers these toolsets; it opens no journal before the first call.

    Args:
        toolsets: What it offers.
        screen: Hides secrets in all that it answers; None for one without secrets of one's own.
        structured: Whether every result carries JSON beside its text. Else only those do whose call
            asks for it: the main clients give a model the JSON in place of the text.
        middleware: What sees every message before the server does.
        lifespan: What is held while it runs.
        security: What protects the state that a client is given to hold.
        elsewhere: Gives the names of the toolsets that have a tool of a name that is not offered.
    """
    offered = merge_toolsets(toolsets)
    screen = screen or Screen()
    with _without_rich():
        server = _ListingServer(
            name="commonplace",
            title="Commonplace",
            version=version("commonplace-memory"),
            instructions=offered.instructions,
            tools=[_sdk_tool(tool, screen, structured=structured) for tool in offered.tools],
            resources=[_sdk_resource(page) for page in offered.resources],
            middleware=[
                *middleware,
                _Screening(screen),
                _Aliases(offered),
                _Unknown(offered, elsewhere),
                _Prompts(offered),
            ],
            lifespan=lifespan,
            request_state_security=security,
            # Nothing that is offered changes while a server runs: a client that is told so asks
            # for no news before it lists the tools.
            subscriptions=False,
            log_level="WARNING",
        )
    server.listed = frozenset(tool.name for tool in offered.tools if tool.listed)
    for prompt in offered.prompts:
        server.add_prompt(
            SdkPrompt.from_function(
                _screened(prompt.write),
                name=prompt.name,
                title=prompt.title,
                description=prompt.description,
            )
        )
    return server


def serve_stdio(
    toolsets: Sequence[Toolset],
    *,
    screen: Screen,
    structured: bool,
    lifecycle: Lifecycle,
    due: Mapping[str, Callable[[], None]],
    replayed: Iterator[bytes],
    output_filter: Callable[[bytes], bytes] | None,
    elsewhere: Callable[[str], Sequence[str]],
) -> None:
    """Serve until stdin ends and all is answered, a signal comes or the parent dies.

    Args:
        toolsets: What is offered.
        screen: As in `make_server`.
        structured: As in `make_server`.
        lifecycle: What ends the process.
        due: What to begin once at the first request of a method, as a call of a tool begins, or
            when another has been answered.
        replayed: As in `Lifecycle.stdin`.
        output_filter: As in `Lifecycle.stdout`.
        elsewhere: As in `make_server`.
    """
    server = make_server(
        toolsets,
        screen=screen,
        structured=structured,
        middleware=[_Watch(due)],
        lifespan=_prints_aside,
        elsewhere=elsewhere,
    )
    sys.stdin, sys.stdout = lifecycle.stdin(replayed), lifecycle.stdout(output_filter)
    try:
        anyio.run(server.run_stdio_async)
    except* (BrokenPipeError, ConnectionResetError):
        _log.info("The client went away.")
    lifecycle.leave()


class HttpServer:
    """Toolsets as they are offered over HTTP, to any number of callers.

    The session of a request stands in its scope: see `doors/http/sessions`.
    """

    def __init__(
        self,
        toolsets: Sequence[Toolset],
        *,
        screen: Screen | None = None,
        structured: bool = False,
    ) -> None:
        # What a client is given to hold is no use to another's client.
        security = RequestStateSecurity(keys=[os.urandom(32)], bind_principal=_owner_of)
        server = make_server(
            toolsets,
            screen=screen,
            structured=structured,
            middleware=[_InSession()],
            security=security,
        )
        self._server = server._lowlevel_server  # noqa: SLF001  as in `converse`

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


def _owner_of(ctx: ServerRequestContext[Any, Any]) -> str | None:
    return None if ctx.request is None else ctx.request.scope[SESSION].owner


def converse(toolsets: Sequence[Toolset], lines: Sequence[str]) -> list[str]:
    """What the server answers to lines of JSON, each given when the one before is answered.

    A line without an id wants no answer. Takes at most 10 s. May be called in any thread.
    """
    dialogue = _Dialogue(lines)

    async def hold() -> None:
        # The private name is why a minor version of the SDK is tested before it is fronted.
        server = make_server(toolsets)._lowlevel_server  # noqa: SLF001  see above
        options = server.create_initialization_options()
        with anyio.fail_after(CONVERSATION_S):
            async with stdio_server(stdin=dialogue, stdout=dialogue) as (reads, writes):  # type: ignore[arg-type]  # as much of a file as it uses
                await server.run(reads, writes, options)

    anyio.run(hold)
    return dialogue.answers


class _Dialogue:
    """Both ends of a session in memory: reads line by line, and keeps what is written."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = iter(lines)
        self._awaited = 0
        self._written = anyio.Event()
        self.answers: list[str] = []

    def __aiter__(self) -> _Dialogue:
        return self

    async def __anext__(self) -> str:
        while len(self.answers) < self._awaited:
            await self._written.wait()
        line = next(self._lines, None)
        if line is None:
            raise StopAsyncIteration
        self._awaited += '"id"' in line
        self._written = anyio.Event()
        return line

    async def write(self, text: str) -> None:
        self.answers.append(text)
        self._written.set()

    async def flush(self) -> None:
        """Nothing is held back."""


def _sdk_tool(tool: Tool, screen: Screen, *, structured: bool) -> SdkTool:
    return SdkTool(
        fn=_caller(tool, screen, structured=structured),
        name=tool.name,
        title=tool.title,
        description=tool.description,
        parameters=tool.schema,
        fn_metadata=_RawArguments(arg_model=ArgModelBase),
        is_async=False,
        context_kwarg="context",
        annotations=_annotations(tool.effects),
        meta=_meta(tool),
    )


def _meta(tool: Tool) -> dict[str, Any]:
    """What hosts read and give no model: how a tool is found, and the page that shows its result.

    Source: what Claude Code 2.1.332 looks for where it hides tools behind a search.
    """
    shown = {"ui": {"resourceUri": tool.view}} if tool.view else {}
    return {"anthropic/searchHint": _SEARCH_HINT, **shown}


def _annotations(effects: Effects) -> ToolAnnotations:
    """What hosts ask before they allow a call; for one that only reads the rest has no meaning."""
    if not effects.writes:
        return ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return ToolAnnotations(
        read_only_hint=False,
        destructive_hint=effects.destroys,
        idempotent_hint=effects.repeatable,
        open_world_hint=False,
    )


def _sdk_resource(page: Resource) -> SdkResource:
    def read() -> str:
        try:
            return well_formed(shown_now(page.read()))
        except CommonplaceError as exc:
            raise ResourceError(str(exc)) from exc

    return FunctionResource(
        uri=page.uri,
        name=page.uri.rpartition("/")[2],
        title=page.title,
        description=page.description,
        mime_type=page.media_type,
        fn=read,
    )


def _screened(write: Callable[[], str]) -> Callable[[], str]:
    """A function of a prompt whose text has no secrets."""

    @wraps(write)  # the SDK asks for its name
    def shown() -> str:
        return shown_now(write())

    return shown


def _caller(
    tool: Tool, screen: Screen, *, structured: bool
) -> Callable[..., CallToolResult | InputRequiredResult]:
    def call(
        arguments: dict[str, Any], context: Context[Any, Any]
    ) -> CallToolResult | InputRequiredResult:
        with_facts = _wants_facts(context, default=structured)
        try:
            answer = tool.call(
                tool.without_null_words(arguments),
                sampler=_sampler(context, screen) if tool.samples else None,
            )
        except _MustAsk as exc:
            return exc.result
        except CommonplaceError as exc:
            return _failure(exc, with_facts=with_facts)
        except Exception:  # noqa: BLE001  the door's last line: logged, never shown
            _log.exception("Internal error in %s", tool.name)
            error = Internal(f"Internal error in {tool.name}.", hint="Look into the log.")
            return _failure(error, with_facts=with_facts)
        return _result(text_for_model(answer), answer.facts if with_facts else None)

    return call


def _wants_facts(context: Context[Any, Any], *, default: bool) -> bool:
    """Whether JSON goes beside the text: as `_meta` says, else a header, else the server."""
    request = context.request_context
    meta: Mapping[str, Any] = request.meta or {}
    if STRUCTURED_META in meta:
        return meta[STRUCTURED_META] is True
    if request.request is None:
        return default
    header: str = request.request.headers.get(STRUCTURED_HEADER, "").strip().lower()
    return header in {"1", "true"} if header else default


def _sampler(context: Context[Any, Any], screen: Screen) -> _Sampler | None:
    """The client's own model, where the client lets it be asked."""
    declared = context.client_capabilities
    if declared is None or declared.sampling is None:
        return None
    return _Sampler(context, screen)


class _MustAsk(Exception):
    """The tool is to be called again, with the answer of the client's model."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__()
        self.result = result


class _Sampler:
    """The client's own model for one call of a tool; implements the port `Language`.

    In a session with a handshake the client is asked in the middle of the call. Since 2026-07-28 it
    gets what is wanted as the result, and calls the tool again with the answer: so a tool that
    samples does nothing before that it may not do twice.
    """

    name = "the client's model"
    sees_private = False

    def __init__(self, context: Context[Any, Any], screen: Screen) -> None:
        self._context = context
        self._screen = screen

    @property
    def waits(self) -> bool:
        """Whether the client is asked in the middle of the call."""
        return (self._context.protocol_version or "") < MODERN

    def complete(self, question: Question) -> Completion:
        """Have the client ask its model. Raises: Denied, Unavailable."""
        if question.is_private:
            raise Denied("Private text is not given to the client's model.")
        asked = self._screen.safe_input(question)
        request = CreateMessageRequest(
            params=CreateMessageRequestParams(
                messages=[
                    SamplingMessage(role="user", content=TextContent(type="text", text=asked))
                ],
                system_prompt=question.instructions,
                max_tokens=question.max_tokens,
            )
        )
        if self.waits:
            result = anyio.from_thread.run(self._ask, request)
        else:
            result = self._answered(request)
        content = result.content
        if not isinstance(content, TextContent) or not content.text.strip():
            raise Unavailable("It gave no text.")
        return Completion(
            text=content.text,
            model=self._screen.plain_name(result.model),
            tokens_in=len(asked.encode()) // _SPARE_BYTES,
            tokens_out=len(content.text.encode("utf-8", "replace")) // _SPARE_BYTES,
            whole=result.stop_reason != "maxTokens",
        )

    async def _ask(self, request: CreateMessageRequest) -> CreateMessageResult:
        session = self._context.session
        related = ServerMessageMetadata(related_request_id=self._context.request_id)
        try:
            answer: CreateMessageResult = await session.send_request(
                request=request,
                result_type=CreateMessageResult,
                request_read_timeout_seconds=SAMPLING_S,
                metadata=related,
            )
        except MCPError as exc:  # the client's own words are not ours to repeat
            raise Unavailable(f"It was refused, or took too long ({exc.error.code}).") from exc
        except ValueError as exc:
            raise Unavailable("Its answer is not one of the protocol's.") from exc
        return answer

    def _answered(self, request: CreateMessageRequest) -> CreateMessageResult:
        """The answer that came with this call; one to another question is asked again."""
        state = text_hash(request.model_dump_json())
        answers = self._context.input_responses
        if self._context.request_state != state:
            asked = InputRequiredResult(input_requests={_ASKED: request}, request_state=state)
            raise _MustAsk(asked)
        answer = (answers or {}).get(_ASKED)
        if not isinstance(answer, CreateMessageResult):
            raise Unavailable("It gave no text.")
        return answer


def _failure(error: CommonplaceError, *, with_facts: bool) -> CallToolResult:
    shown = error.screened(shown_now)
    return _result(str(shown), shown.facts if with_facts else None, is_error=True)


def _result(
    text: str, facts: Mapping[str, Any] | None, *, is_error: bool = False
) -> CallToolResult:
    """A result of text alone, or with its facts as JSON beside the text; neither has a secret.

    The last line of this door: every answer and every error of a tool goes by it.

    File names may hold bytes that are not UTF-8; one of them would end the SDK's writer.
    """
    clean = None
    if facts is not None:
        shown = mapped_texts(facts, shown_now)
        clean = json.loads(well_formed(json.dumps(shown, ensure_ascii=False)))
    return CallToolResult(
        content=[TextContent(type="text", text=well_formed(shown_now(text)))],
        structured_content=clean,
        is_error=is_error,
    )
