"""A session of the official SDK's client, of whatever version runs this, with the real server.

Prints the revision that was agreed to, the SDK's version and the number of tools. Run by
`make world` with another Python than the server's: knows nothing of ours.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp import StdioServerParameters

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

try:
    from mcp import Client
except ImportError:  # before its second major version
    from mcp import ClientSession
    from mcp.client.stdio import stdio_client

    Client = None


@asynccontextmanager
async def opened(server: StdioServerParameters) -> AsyncIterator[tuple[Any, str]]:
    """A client, and the revision that was agreed to."""
    if Client is not None:
        async with Client(server) as client:
            yield client, client.protocol_version
        return
    async with stdio_client(server) as (reads, writes), ClientSession(reads, writes) as client:
        yield client, (await client.initialize()).protocolVersion


async def session(python: str, home: str) -> str:
    """What a session comes to."""
    environment = {"HOME": home, "PATH": os.environ["PATH"], "COMMONPLACE_PRELOAD": "0"}
    server = StdioServerParameters(
        command=python, args=["-m", "commonplace", "mcp"], env=environment, cwd=home
    )
    async with opened(server) as (client, agreed):
        tools = (await client.list_tools()).tools
        await client.call_tool("add_entry", {"message": "moored at the quokkarine quay"})
        found = await client.call_tool("recall", {"query": "quokkarine"})
        assert "quokkarine quay" in found.content[0].text, found
    return f"{agreed}, mcp {version('mcp')}, {len(tools)} tools"


if __name__ == "__main__":
    Path(sys.argv[2]).mkdir(parents=True, exist_ok=True)
    print(asyncio.run(session(*sys.argv[1:])))  # noqa: T201  what it is run for
