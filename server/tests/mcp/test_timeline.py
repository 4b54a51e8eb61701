"""The timeline through the official client; and two servers, one timeline, and rollups meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import anyio
import pytest
from tests.doors.raw_server import RawServer

from commonplace.journals.table import DEFAULT, PARTS, TOOLSETS

TOOLS = [
    "timeline_add",
    "timeline_search",
    "timeline_range",
    "timeline_rollup",
    "timeline_trends",
    "timeline_profile",
    "timeline_context",
]
WRITING = {"timeline_add", "timeline_profile"}


def test_the_toolset_is_offered_when_it_is_asked_for():
    """Not by default, so that a client is not handed seven tools more."""
    assert "timeline" in TOOLSETS
    assert "timeline" not in PARTS[DEFAULT]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdks_client_uses_its_tools(client, mode):
    """Recorded, searched, listed, read by period, opened down to the entry; errors are errors."""

    async def scenario():
        async with client("timeline,recall", model=False, mode=mode) as session:
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            assert list(tools)[:7] == TOOLS
            for name in TOOLS:
                assert tools[name].annotations.read_only_hint is (name not in WRITING)

            async def call(tool, **arguments):
                answer = await session.call_tool(tool, arguments)
                assert not answer.is_error, answer.content[0].text
                return answer.structured_content

            made = await call(
                "timeline_add",
                content="Completed the dashboard",
                at="2020-10-07 14:05",
                metadata={"projects": ["sales"], "mine": {"deep": [1, None]}},
            )
            found = await call("timeline_search", query="dashboard", when="2020-10")
            best = found["results"][0]
            assert best["ref"] == made["ref"]
            assert "timeline:rollup_monthly_202010" in best["also"]
            listed = await call("timeline_range", when="2020-10-07", level="raw")
            assert [x["ref"] for x in listed["entries"]] == [made["ref"]]
            hour = await call("timeline_rollup", period="hourly", at="2020-10-07 14")
            assert hour["made_from"] == [made["ref"]]
            page = await call("open_ref", ref=hour["summed_up_in"])
            assert page["sources"][0]["ref"] == hour["ref"]
            await call("timeline_profile", text="Wren is an analyst")
            assert "analyst" in (await call("timeline_profile"))["profile"]["text"]
            assert "analyst" in (await call("timeline_context", query="dashboard"))["context"]
            wrong = await session.call_tool(
                "timeline_rollup", {"period": "daily", "at": "2020-02-30"}
            )
            assert wrong.is_error
            assert wrong.structured_content["code"] == "invalid"
            assert wrong.structured_content["hint"]

    anyio.run(scenario)


def test_a_read_only_server_offers_no_write(client):
    """The other five stay, and recall's."""

    async def scenario():
        async with client("timeline,recall", model=False, COMMONPLACE_READ_ONLY="1") as session:
            names = [tool.name for tool in (await session.list_tools()).tools]
            assert names == [
                *(x for x in TOOLS if x not in WRITING),
                "recall",
                "list_by_time",
                "open_ref",
            ]

    anyio.run(scenario)


@pytest.mark.long
def test_servers_add_while_others_roll_up(tmp_path, words_only):
    """Two clients add, `rollup --due` runs again and again: each entry is counted once."""
    cwd = tmp_path / "project"
    servers = [RawServer("--toolsets", "timeline", cwd=cwd) for _ in range(2)]
    failures = []

    def add(server, name):
        for number in range(30):
            at = f"2020-10-{1 + number % 5:02}T{number % 3 + 8:02}:00:00Z"
            answer = server.call("timeline_add", {"content": f"{name} {number}", "at": at})
            if answer.get("isError"):
                failures.append(answer)

    rolling = [sys.executable, "-m", "commonplace", "rollup"]
    try:
        for server in servers:
            server.handshake()
        threads = [
            threading.Thread(target=add, args=each) for each in zip(servers, "ab", strict=True)
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            subprocess.run([*rolling, "--due"], cwd=cwd, check=True, capture_output=True)
        assert failures == []
        subprocess.run([*rolling, "--due"], cwd=cwd, check=True, capture_output=True)
        month = servers[0].call("timeline_rollup", {"period": "monthly", "at": "2020-10"})
        facts = month["structuredContent"]
        assert (facts["state"], facts["entries"]) == ("whole", 60)
        told = subprocess.run([*rolling, "--status", "--json"], cwd=cwd, capture_output=True)
        assert json.loads(told.stdout)["due"] == []
    finally:
        for server in servers:
            server.__exit__()
