"""Memory through the SDK's client."""

from __future__ import annotations

import anyio
import pytest
from mcp import Client

from commonplace.doors.mcp_offer import McpOffer
from commonplace_server.mcp.server import make_server


@pytest.mark.design("002-39")
@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_the_name_of_the_design_is_answered(world, mode):
    """`memory.search` is not listed, and calls memory_search; another name is none."""
    app = world.open(COMMONPLACE_TOOLSETS="memory,memory-write")

    async def scenario():
        async with Client(
            make_server(McpOffer(app.toolsets(), structured=True)), mode=mode
        ) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            assert listed == ["memory_search", "memory_save", "memory_delete", "memory_list"]
            await client.call_tool("memory_save", {"kind": "todo", "title": "harbour"})
            for name in ("memory.search", "memory_search"):
                answer = await client.call_tool(name, {"query": "harbour"})
                assert not answer.is_error
                (hit,) = answer.structured_content["payload"]["results"]
                assert hit["snippet"] == "harbour"
                assert f"```{hit['ref']}\nharbour\n```" in answer.content[0].text

    anyio.run(scenario)


def test_an_error_bears_the_code_of_the_design(world):
    """Beside ours, in the structured answer."""
    app = world.open(model=False, COMMONPLACE_TOOLSETS="memory")

    async def scenario():
        async with Client(make_server(McpOffer(app.toolsets(), structured=True))) as client:
            answer = await client.call_tool("memory_search", {"query": "!?"})
            assert answer.is_error
            assert answer.structured_content["code"] == "unavailable"
            assert answer.structured_content["error_code"] == "EMBEDDING_MODEL_UNAVAILABLE"
            answer = await client.call_tool("memory_search", {"query": " "})
            assert answer.structured_content["code"] == "invalid"
            assert "error_code" not in answer.structured_content

    anyio.run(scenario)


def test_read_only_offers_search_and_lists(world):
    """What writes is not there, as in every toolset."""
    app = world.open(COMMONPLACE_TOOLSETS="memory,memory-write", COMMONPLACE_READ_ONLY="1")
    names = [tool.name for toolset in app.toolsets() for tool in toolset.tools]
    assert names == ["memory_search", "memory_list"]


def test_recall_finds_and_opens_what_is_remembered(world):
    """Memory is one of the journals once there is any; its refs open the whole record."""
    app = world.open(COMMONPLACE_TOOLSETS="recall,memory,memory-write")
    tools = {tool.name: tool for toolset in app.toolsets() for tool in toolset.tools}
    body = "The harbour was quiet. " * 30
    saved = tools["memory_save"].call({"kind": "journal", "title": "Evening", "body": body}).facts
    found = tools["recall"].call({"query": "quiet harbour evening"}).facts["results"]
    assert [hit["ref"] for hit in found] == [saved["ref"]]
    assert found[0]["journal"] == "memory"
    page = tools["open_ref"].call({"ref": saved["ref"]}).facts
    assert page["text"] == f"Evening\n\n{body}"
    tools["memory_delete"].call({"kind": "journal", "ref": saved["ref"]})
    assert tools["recall"].call({"query": "quiet harbour evening"}).facts["results"] == []
