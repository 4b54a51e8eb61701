"""The floor of a start and of a call: a server of the same SDK with five small tools alone."""

from __future__ import annotations

import sys

from mcp.server.mcpserver import MCPServer

server: MCPServer[None] = MCPServer(name="bare")


@server.tool()
def write(text: str, title: str = "") -> str:
    """Write a text."""
    return text + title


@server.tool()
def search(query: str, limit: int = 10) -> str:
    """Search texts."""
    return query * limit


@server.tool()
def read(path: str) -> str:
    """Read a text."""
    return path


@server.tool()
def list_latest(limit: int = 10) -> str:
    """List texts."""
    return str(limit)


@server.tool()
def read_latest(limit: int = 5) -> str:
    """Read the latest texts."""
    return str(limit)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
