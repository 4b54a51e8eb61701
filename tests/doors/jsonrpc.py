"""Messages of JSON-RPC as clients of MCP send them, and the SDK's server to hold ours against."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.stdio import stdio_server
from tests.patience import PATIENCE_S

from commonplace.doors.protocol import CAPABILITIES_KEY, MODERN, VERSION_KEY
from commonplace_server.mcp.server import make_server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.doors.mcp_offer import McpOffer

CLIENT = {"name": "raw", "version": "1"}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
ENVELOPE = {
    VERSION_KEY: MODERN,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    CAPABILITIES_KEY: {},
}


def ask(number: Any, method: str, params: Any = None) -> dict[str, Any]:
    """A request."""
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    return message if params is None else {**message, "params": params}


def handshake(
    revision: str = "2025-11-25", *, number: int = 0, capabilities: Any = None, client: Any = None
) -> dict[str, Any]:
    """The first request of a session with a handshake."""
    params = {"protocolVersion": revision, "capabilities": capabilities or {}}
    return ask(number, "initialize", {**params, "clientInfo": client or CLIENT})


def modern(number: Any, method: str, **params: Any) -> dict[str, Any]:
    """A request of the revision that has no handshake."""
    return ask(number, method, {"_meta": ENVELOPE, **params})


def on_the_wire(messages: Sequence[Any]) -> bytes:
    """Messages as lines; bytes are sent as they are."""
    return b"".join(x if isinstance(x, bytes) else json.dumps(x).encode() + b"\n" for x in messages)


def answers_of_sdk(offer: McpOffer, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the SDK's server answers, asked one after another."""
    dialogue = _Dialogue([json.dumps(message) for message in messages])

    async def hold() -> None:
        server = make_server(offer)
        options = server.create_initialization_options()
        with anyio.fail_after(PATIENCE_S):
            async with stdio_server(stdin=dialogue, stdout=dialogue) as (reads, writes):
                await server.run(reads, writes, options)

    anyio.run(hold)
    return [json.loads(answer) for answer in dialogue.answers]


class _Dialogue:
    """Both ends of a session in memory: gives a line when the one before is answered."""

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
        """Keep an answer."""
        self.answers.append(text)
        self._written.set()

    async def flush(self) -> None:
        """Nothing is held back."""
