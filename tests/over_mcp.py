"""What a model's client is given by a tool, over the real door: an in-memory client of MCP."""

from __future__ import annotations

import json
from typing import NamedTuple

import anyio
from mcp import Client

from commonplace.doors.mcp_offer import McpOffer
from commonplace_server.mcp.server import make_server


class Given(NamedTuple):
    """What came back: the text, the JSON beside it as text, and whether it is an error."""

    text: str
    facts: str
    is_error: bool

    @property
    def whole(self) -> str:
        """All of it."""
        return f"{self.text}\n{self.facts}"


def ask(app, toolsets, *calls):
    """Call tools, one after another.

    Args:
        app: Whose tools they are.
        toolsets: By name.
        calls: The name and the arguments of each.
    """

    async def given():
        server = make_server(
            McpOffer(
                [app.toolset(name) for name in toolsets], screen=app.shared.screen, structured=True
            )
        )
        async with Client(server) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return [
        Given(
            "\n".join(x.text for x in each.content),
            json.dumps(each.structured_content, ensure_ascii=False),
            bool(each.is_error),
        )
        for each in anyio.run(given)
    ]
