"""One user with a home and projects, and the SDK's client over a server in this process."""

from __future__ import annotations

import pytest
from mcp import Client
from tests.verbs.conftest import world

from commonplace.doors.mcp_offer import McpOffer
from commonplace_server.mcp.server import make_server

__all__ = ["client", "world"]


@pytest.fixture
def client(world):
    """The SDK's client over a new server of some toolsets: `client("memory", mode="legacy")`."""

    def client_of(toolsets: str, *, mode: str = "auto", **given: object) -> Client:
        app = world.open(COMMONPLACE_TOOLSETS=toolsets, **given)
        return Client(make_server(McpOffer(app.toolsets(), structured=True)), mode=mode)

    return client_of
