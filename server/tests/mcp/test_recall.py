"""Recall through the SDK's client: in memory, and beside several real servers."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading

import anyio
import pytest
from mcp import Client
from tests.doors.raw_server import RawServer
from tests.doors.terminal import opened_app

from commonplace.core.refs import short_ref
from commonplace.doors.mcp_offer import McpOffer
from commonplace_server.mcp.server import make_server


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_a_model_recalls_and_opens_what_was_written(world, mode):
    """Written through two toolsets, asked through a third: the same facts as text and as data."""
    app = world.open()

    async def scenario():
        async with Client(
            make_server(McpOffer(app.toolsets(), structured=True)), mode=mode
        ) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            for name in ("recall", "list_by_time", "open_ref"):
                assert tools[name].annotations.read_only_hint is True
            await client.call_tool("add_entry", {"message": "left Postgres for SQLite"})
            await client.call_tool("process_thoughts", {"feelings": "Postgres wore me out."})
            found = await client.call_tool("recall", {"query": "why did we leave Postgres today?"})
            facts = found.structured_content
            assert {hit["journal"] for hit in facts["results"]} == {"private", "chronicle"}
            for hit in facts["results"]:
                short = short_ref(hit["ref"])
                shown = found.content[0].text.partition(f"```{short} ")[2].partition("\n```")[0]
                assert shown.partition("\n")[2] == hit["excerpt"]
                page = await client.call_tool("open_ref", {"ref": short})
                assert not page.is_error
                assert hit["excerpt"] in page.structured_content["text"]
                assert page.structured_content["text"].strip() in page.content[0].text
            status = (await client.read_resource("commonplace://status")).contents[0]
            assert status.mime_type == "application/json"
            rows = json.loads(status.text)["journals"]
            assert [(row["journal"], row["entries"]) for row in rows] == [
                ("private", 1),
                ("chronicle", 1),
            ]

    anyio.run(scenario)


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "words"),
    [
        ("recall", {"query": "x", "journals": ["memory"]}, "invalid", "Use private or chronicle."),
        ("recall", {"query": "x", "when": "someday"}, "invalid", "Invalid when: "),
        ("open_ref", {"ref": "notes:1"}, "not_found", "Refs look like "),
        ("open_ref", {"ref": "private:user/../x"}, "denied", "climbs"),
    ],
)
def test_an_error_says_what_to_do_in_text_and_data(world, tool, arguments, code, words):
    """Some hosts drop the one, some the other."""

    async def scenario():
        async with Client(
            make_server(McpOffer(world.open().toolsets(), structured=True))
        ) as client:
            answer = await client.call_tool(tool, arguments)
            assert answer.is_error
            assert answer.structured_content["code"] == code
            assert words in answer.content[0].text
            assert words in " ".join(answer.structured_content.values())

    anyio.run(scenario)


def test_the_instructions_tell_of_recall(world):
    """A model is told to ask before it answers from what it does not know."""

    async def scenario():
        async with Client(
            make_server(McpOffer(world.open().toolsets(), structured=True))
        ) as client:
            assert "ask it with recall" in client.instructions

    anyio.run(scenario)


@pytest.mark.long
def test_recall_answers_while_four_servers_write(tmp_path, words_only):
    """Nothing is lost, no recall fails, and in the end each entry of both journals is found."""
    cwd = tmp_path / "project"
    servers = {name: RawServer(cwd=cwd) for name in "abcd"}
    reader = opened_app()
    tools = {tool.name: tool for toolset in reader.toolsets() for tool in toolset.tools}
    written = []

    def write(name, server):
        for number in range(8):
            word = f"walnut{name}{number}"
            tool, arguments = (
                ("add_entry", {"message": f"planted {word}"})
                if number % 2
                else ("process_thoughts", {"feelings": f"glad about {word}"})
            )
            answer = server.call(tool, arguments)
            written.append("" if answer.get("isError") else word)

    try:
        for server in servers.values():
            server.handshake()
        threads = [threading.Thread(target=write, args=each) for each in servers.items()]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            tools["recall"].call({"query": "walnut planted or glad", "limit": 100})
        words = {f"walnut{name}{number}" for name in servers for number in range(8)}
        assert sorted(written) == sorted(words)
        for word in words:
            found = tools["recall"].call({"query": word, "limit": 1}).facts["results"]
            assert word in found[0]["excerpt"], found
        status = servers["a"].ask("resources/read", {"uri": "commonplace://status"})["result"]
        rows = json.loads(status["contents"][0]["text"])["journals"]
        assert {row["journal"]: row["entries"] for row in rows} == {"private": 16, "chronicle": 16}
    finally:
        reader.close()
        for server in servers.values():
            server.__exit__()


def test_a_journal_that_breaks_under_a_running_server_is_named(world, tmp_path):
    """The server goes on with the private journal, and with both when chronicle is mended."""
    app, database = world.open(), world.chronicle_path

    async def scenario():
        async with Client(make_server(McpOffer(app.toolsets(), structured=True))) as client:

            async def recall(query):
                found = await client.call_tool("recall", {"query": query})
                return found.structured_content, found.content[0].text

            await client.call_tool("add_entry", {"message": "painted the harbour wall"})
            await client.call_tool("process_thoughts", {"feelings": "The harbour felt quiet."})
            for path in database.parent.iterdir():
                path.rename(tmp_path / path.name)
            database.write_bytes(b"\xde\xad" * 5000)
            found, text = await recall("quiet harbour")
            assert found["missing"] == ["chronicle"]
            assert "The harbour felt quiet." in text
            for name in ("chronicle.db", "chronicle.db-wal", "chronicle.db-shm"):
                if (tmp_path / name).exists():
                    (tmp_path / name).replace(database.with_name(name))
            with contextlib.closing(sqlite3.connect(database)) as conn:
                assert conn.execute("SELECT count(*) FROM entries").fetchone() == (1,)
            found, _ = await recall("harbour wall")
            assert found["missing"] == []
            assert found["results"][0]["excerpt"] == "painted the harbour wall"

    anyio.run(scenario)
