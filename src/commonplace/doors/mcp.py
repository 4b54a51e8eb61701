"""The MCP door: toolsets offered over stdio by the official SDK, which only this file imports.

Decides nothing: an answer or an error of a tool becomes a result; stdout is the protocol's alone.
"""

from __future__ import annotations

import gc
import json
import logging
import sys
import threading
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

# Importing the SDK makes many objects and no garbage: 16 % faster without collection.
gc.disable()
import anyio  # noqa: E402  after gc.disable
from mcp.server.mcpserver import MCPServer  # noqa: E402  after gc.disable
from mcp.server.mcpserver.exceptions import ResourceError  # noqa: E402  after gc.disable
from mcp.server.mcpserver.prompts import Prompt as SdkPrompt  # noqa: E402  after gc.disable
from mcp.server.mcpserver.resources import (  # noqa: E402  after gc.disable
    FunctionResource,
)
from mcp.server.mcpserver.resources import Resource as SdkResource  # noqa: E402  after gc.disable
from mcp.server.mcpserver.tools import Tool as SdkTool  # noqa: E402  after gc.disable
from mcp.server.mcpserver.utilities.func_metadata import (  # noqa: E402  after gc.disable
    ArgModelBase,
    FuncMetadata,
)
from mcp_types import CallToolResult, TextContent, ToolAnnotations  # noqa: E402  after gc.disable

gc.enable()
gc.freeze()

from commonplace.core.errors import CommonplaceError  # noqa: E402  after gc.enable
from commonplace.core.text import well_formed  # noqa: E402  after gc.enable
from commonplace.doors.lifecycle import Lifecycle  # noqa: E402  after gc.enable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from mcp.server.context import ServerRequestContext

    from commonplace.tools.toolset import Effects, Resource, Tool, Toolset

_log = logging.getLogger(__name__)


class _RawArguments(FuncMetadata):
    """Hands the arguments over as they came: the tool checks them and words the errors."""

    def validate_arguments(self, arguments_to_validate: dict[str, Any]) -> dict[str, Any]:
        return {"arguments": arguments_to_validate}


class _Watch:
    """Middleware: tells the lifecycle what is in flight, and warms up once a client is there."""

    def __init__(self, lifecycle: Lifecycle, warm_up: Callable[[], None]) -> None:
        self._lifecycle = lifecycle
        self._warm_up: Callable[[], None] | None = warm_up

    async def __call__(
        self,
        ctx: ServerRequestContext[Any, Any],
        call_next: Callable[[ServerRequestContext[Any, Any]], Awaitable[Any]],
    ) -> Any:
        if ctx.request_id is None:
            return await call_next(ctx)
        with self._lifecycle.call():
            if ctx.method == "tools/call":
                self._warm()
            result = await call_next(ctx)
        if ctx.method == "tools/list":
            self._warm()
        return result

    def _warm(self) -> None:
        if self._warm_up is not None:
            threading.Thread(
                target=_warmed, args=(self._warm_up,), name="warm-up", daemon=True
            ).start()
            self._warm_up = None


def _warmed(warm_up: Callable[[], None]) -> None:
    try:
        warm_up()
    except CommonplaceError as exc:  # each call tells its client the same
        _log.warning("Nothing was warmed up: %s", exc)
    except Exception:  # noqa: BLE001  a thread's last line: the log says it in our way
        _log.exception("Nothing was warmed up")


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


def make_server(
    toolsets: Sequence[Toolset],
    *,
    middleware: Sequence[_Watch] = (),
    lifespan: Callable[[MCPServer[Any]], AbstractAsyncContextManager[None]] | None = None,
) -> MCPServer[Any]:
    """A server that offers these toolsets; it opens no journal before the first call."""
    with _without_rich():
        server: MCPServer[Any] = MCPServer(
            name="commonplace",
            title="Commonplace",
            version=version("commonplace"),
            instructions="\n\n".join(toolset.guide for toolset in toolsets),
            tools=[_sdk_tool(tool) for toolset in toolsets for tool in toolset.tools],
            resources=[_sdk_resource(page) for toolset in toolsets for page in toolset.resources],
            middleware=middleware,
            lifespan=lifespan,
            log_level="WARNING",
        )
    for toolset in toolsets:
        for prompt in toolset.prompts:
            server.add_prompt(
                SdkPrompt.from_function(
                    prompt.write,
                    name=prompt.name,
                    title=prompt.title,
                    description=prompt.description,
                )
            )
    return server


def serve_stdio(
    toolsets: Sequence[Toolset],
    *,
    warm_up: Callable[[], None],
    close: Callable[[], None],
    parent: int,
) -> None:
    """Serve until stdin ends, SIGTERM comes or the parent dies; leaves within 2 s.

    warm_up: starts the encoder and the filing, called in a thread once the tools were listed or
    called. parent: the id of the process that started this one, read at the very start.
    """
    lifecycle = Lifecycle(close)
    lifecycle.watch(parent)
    watch = _Watch(lifecycle, warm_up)
    server = make_server(toolsets, middleware=[watch], lifespan=_prints_aside)
    sys.stdin, sys.stdout = lifecycle.stdin(), lifecycle.stdout()
    try:
        anyio.run(server.run_stdio_async)
    except* (BrokenPipeError, ConnectionResetError):
        _log.info("The client went away.")
    lifecycle.leave()


def _sdk_tool(tool: Tool) -> SdkTool:
    return SdkTool(
        fn=_caller(tool),
        name=tool.name,
        title=tool.title,
        description=tool.description,
        parameters=tool.schema,
        fn_metadata=_RawArguments(arg_model=ArgModelBase),
        is_async=False,
        context_kwarg=None,
        annotations=_annotations(tool.effects),
    )


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
            return well_formed(page.read())
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


def _caller(tool: Tool) -> Callable[..., CallToolResult]:
    def call(arguments: dict[str, Any]) -> CallToolResult:
        try:
            answer = tool.call(arguments)
        except CommonplaceError as exc:
            return _failure(exc.code, exc.message, exc.hint)
        except Exception:  # noqa: BLE001  the door's last line: logged, never shown
            _log.exception("Internal error in %s", tool.name)
            return _failure("internal", f"Internal error in {tool.name}.", "Look into the log.")
        return _result(answer.text, answer.facts)

    return call


def _failure(code: str, message: str, hint: str) -> CallToolResult:
    facts = {"code": code, "message": message, "hint": hint}
    return _result(f"{message} {hint}".strip(), facts, is_error=True)


def _result(text: str, facts: Mapping[str, Any], *, is_error: bool = False) -> CallToolResult:
    # File names may hold bytes that are no UTF-8; one of them would end the SDK's writer.
    clean = json.loads(well_formed(json.dumps(dict(facts), ensure_ascii=False)))
    return CallToolResult(
        content=[TextContent(type="text", text=well_formed(text))],
        structured_content=clean,
        is_error=is_error,
    )
