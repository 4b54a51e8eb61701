"""The notebook through the official client: two servers, one repository."""

from __future__ import annotations

import anyio
import pytest

from commonplace.journals.table import DEFAULT, PARTS, TOOLSETS

TOOLS = [
    "journal_read",
    "journal_write",
    "journal_list_entries",
    "journal_toc",
    "journal_search",
    "journal_synthesize_conflict",
]


def test_the_toolset_is_offered_when_it_is_asked_for():
    """Not by default, so that a client is not handed six tools more."""
    assert "notebook" in TOOLSETS
    assert "notebook" not in PARTS[DEFAULT]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdks_client_uses_the_six_tools(client, mode):
    """Written, read, listed, found and merged; errors are told as errors."""

    async def scenario():
        async with client("notebook", model=False, mode=mode) as session:
            assert [tool.name for tool in (await session.list_tools()).tools] == TOOLS

            async def call(tool, **arguments):
                return await session.call_tool(f"journal_{tool}", arguments)

            assert (await call("toc")).is_error
            made = await call("write", path="api", entry="REST it is.", overview="We build REST.")
            name = made.structured_content["id"]
            assert not made.is_error
            assert (await call("read", id=name)).structured_content["content"] == "REST it is."
            read = (await call("read", id="api")).structured_content
            assert (read["overview"], read["entry_count"]) == ("We build REST.", 1)
            listed = (await call("list_entries", path="api")).structured_content
            assert [x["id"] for x in listed["entries"]] == [name]
            toc = (await call("toc")).structured_content
            assert [x["id"] for x in toc["subsections"]] == ["api"]
            found = (await call("search", work_context="", content="REST")).structured_content
            assert {x["id"] for x in found["results"]} == {"api", name}
            merged = await call(
                "synthesize_conflict", section="api", version_a=read["version"], version_b="Else."
            )
            assert "We build REST." in merged.structured_content["merged"]
            assert "Else." in merged.content[0].text
            assert (await call("write", path="a#b", entry="x")).is_error

    anyio.run(scenario)


def test_an_overview_that_another_client_changed(client):
    """The second client is told both texts and the version; its entry alone goes through."""

    async def scenario():
        async with client("notebook", model=False) as one, client("notebook", model=False) as two:
            write = {"path": "api", "entry": "x"}
            await one.call_tool("journal_write", {**write, "overview": "First."})
            unread = await two.call_tool("journal_write", {**write, "overview": "Mine."})
            assert unread.structured_content["code"] == "conflict"
            assert "journal_read" in unread.content[0].text
            await two.call_tool("journal_read", {"id": "api"})
            await one.call_tool("journal_write", {**write, "overview": "Theirs."})
            lost = await two.call_tool("journal_write", {**write, "overview": "Mine."})
            assert lost.is_error
            for part in ("Theirs.", "Mine.", "base_version"):
                assert part in lost.content[0].text
            assert not (await two.call_tool("journal_write", write)).is_error
            again = await two.call_tool("journal_read", {"id": "api"})
            assert again.structured_content["overview"] == "Theirs."
            merged = {**write, "overview": "Both."}
            assert not (await two.call_tool("journal_write", merged)).is_error

    anyio.run(scenario)


def test_a_read_only_server_offers_no_write(client):
    """The other five stay."""

    async def scenario():
        async with client("notebook", model=False, COMMONPLACE_READ_ONLY="1") as session:
            names = [tool.name for tool in (await session.list_tools()).tools]
            assert names == [x for x in TOOLS if x != "journal_write"]

    anyio.run(scenario)
