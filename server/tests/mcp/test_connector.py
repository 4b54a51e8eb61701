"""The connector's two tools through the official client."""

from __future__ import annotations

import json

import anyio
import pytest


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdks_client_searches_and_fetches(world, client, mode):
    """Just two tools, each with one text as its argument; what comes back is JSON."""
    world.open(COMMONPLACE_TOOLSETS="chronicle").chronicle.service().add("left Postgres")

    async def scenario():
        async with client("connector", model=False, mode=mode) as session:
            tools = (await session.list_tools()).tools
            arguments = [(tool.name, [*tool.input_schema["properties"]]) for tool in tools]
            assert arguments == [("search", ["query"]), ("fetch", ["id"])]
            assert all(tool.annotations.read_only_hint for tool in tools)
            found = await session.call_tool("search", {"query": "postgres"})
            (result,) = json.loads(found.content[0].text)["results"]
            opened = await session.call_tool("fetch", {"id": result["id"]})
            assert json.loads(opened.content[0].text)["text"] == "left Postgres"

    anyio.run(scenario)
