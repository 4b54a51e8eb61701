"""The MCP door: the real server in a process of its own, over stdio."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from datetime import UTC, datetime

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from tests.doors.jsonrpc import ENVELOPE, handshake
from tests.doors.raw_server import RawServer, server_command
from tests.patience import PATIENCE_S, until

from commonplace.timeline import Timeline

TOOLS = [
    "recall",
    "list_by_time",
    "open_ref",
    "amend",
    "process_thoughts",
    "add_entry",
    "find_when_i",
]
WRITING = {"amend", "process_thoughts", "add_entry"}


@pytest.fixture(scope="module")
def server(shared_world):
    """One server that the tests of this module ask, and what it said in its handshake."""
    with RawServer(cwd=shared_world.project, env=shared_world.env) as running:
        running.greeting = running.handshake()["result"]
        yield running


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("initialize", handshake()["params"]),
        ("server/discover", {"_meta": ENVELOPE}),
    ],
)
def test_it_promises_no_news_of_its_lists(shared_world, method, params):
    """Nothing of them changes while it runs; Claude Code 2.1.332 would ask before it lists tools."""
    with RawServer(cwd=shared_world.project, env=shared_world.env) as running:
        claimed = running.ask(method, params)["result"]["capabilities"]
    told = {name: {x for x, holds in claimed[name].items() if holds} for name in claimed}
    assert told == {"prompts": set(), "resources": set(), "tools": set()}


@pytest.mark.design("000-07", "004-41")
@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_the_sdks_client_writes_finds_lists_and_reads(shared_world, mode):
    """Every tool works through the official client, in every way it can connect.

    JSON stands beside each text, as the start asks for, but in a call that does without.
    """
    command, *arguments = server_command("--structured")
    parameters = StdioServerParameters(
        command=command,
        args=arguments,
        env={**os.environ, **shared_world.env},
        cwd=shared_world.project,
    )
    word = f"harbour{mode.replace('-', '')}"
    felt, noted = f"The {word} wore me out.", f"Use the {word} gate."

    async def scenario():
        async with Client(parameters, mode=mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
            written = await client.call_tool(
                "process_thoughts", {"feelings": felt, "project_notes": noted}
            )
            user_ref, project_ref = written.structured_content["refs"]
            assert user_ref.startswith("private:user/")
            assert project_ref.startswith("private:project@")
            found = await client.call_tool("search_journal", {"query": word, "type": "user"})
            assert [hit["ref"] for hit in found.structured_content["results"]] == [user_ref]
            listed = await client.call_tool("list_recent_entries", {"limit": 2})
            assert {e["ref"] for e in listed.structured_content["entries"]} == {
                user_ref,
                project_ref,
            }
            read = await client.call_tool("read_journal_entry", {"path": project_ref})
            assert read.content[0].text.endswith(f"## Project Notes\n\n{noted}\n\n```")
            recent = await client.call_tool("read_recent_entries", {"type": "user"})
            assert felt in recent.content[0].text
            without = {"commonplace/structured": False}
            bare = await client.call_tool("list_recent_entries", {}, meta=without)
            assert bare.structured_content is None

    anyio.run(scenario)


def test_each_revision_is_answered_in_kind(shared_world):
    """The handshake of every revision in use is accepted as it was asked."""
    for revision in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        with RawServer(cwd=shared_world.project, env=shared_world.env) as server:
            assert server.handshake(revision)["result"]["protocolVersion"] == revision
            assert [t["name"] for t in server.ask("tools/list")["result"]["tools"]] == TOOLS


def test_the_instructions_say_when_to_write_and_when_to_search(server):
    """A model is told without being asked."""
    instructions = server.greeting["instructions"]
    assert "process_thoughts" in instructions
    assert "Log with add_entry what the user finishes" in instructions
    assert "recall before you answer" in instructions


def test_tools_carry_their_effects(server):
    """Hosts see which tool writes."""
    listed = {t["name"]: t["annotations"] for t in server.ask("tools/list")["result"]["tools"]}
    assert listed["recall"]["readOnlyHint"] is True
    assert listed["process_thoughts"]["readOnlyHint"] is False
    assert listed["process_thoughts"]["destructiveHint"] is False


def test_the_list_of_tools_stays_small(server):
    """At most 8 tools and 1,500 tokens by default, counted as bytes / 4.

    Less what hosts read and no model is given: which page shows a tool's result.
    """
    listed = server.ask("tools/list")["result"]["tools"]
    shown = [each.pop("_meta") for each in listed if "_meta" in each]
    hints = [each.pop("anthropic/searchHint") for each in shown]
    assert all("memory: remember, recall" in hint for hint in hints)
    assert [each for each in shown if each] == [
        {"ui": {"resourceUri": "ui://commonplace/search"}},
        {"ui": {"resourceUri": "ui://commonplace/period"}},
    ]
    assert len(listed) <= 8
    assert len(json.dumps(listed, separators=(",", ":")).encode()) / 4 <= 1500


def test_a_tool_of_another_toolset_names_the_setting_that_offers_it(server):
    """And a name that no toolset has sends a model to the list."""
    for name, hint in (
        ("timeline_range", "The toolset timeline has it: add it to the setting toolsets"),
        ("no_such_tool", "Call one that is listed."),
    ):
        result = server.call(name, {})
        assert result["isError"]
        assert result["content"][0]["text"].startswith(f"There is no tool '{name}' here. {hint}")


def test_a_result_is_text_alone(server):
    """What is done, found or refused: no JSON that a client could show in place of the text."""
    for name, arguments in (
        ("process_thoughts", {"feelings": "The locked database wore me out."}),
        ("recall", {"query": "database"}),
        ("recall", {"query": "x", "limit": 0}),
    ):
        asked = {"name": name, "arguments": arguments}
        result = server.ask("tools/call", asked)["result"]
        assert "structuredContent" not in result
        assert [block["type"] for block in result["content"]] == ["text"]
    assert not any("outputSchema" in x for x in server.ask("tools/list")["result"]["tools"])


def test_json_stands_beside_the_text_where_a_call_asks_for_it(server):
    """For itself alone."""
    call = {"name": "add_entry", "arguments": {"message": "Painted the gate"}}
    asking = {**call, "_meta": {"commonplace/structured": True}}
    result = server.ask("tools/call", asking)["result"]
    assert result["structuredContent"]["message"] == "Painted the gate"
    assert result["structuredContent"]["id"] in result["content"][0]["text"]
    assert "structuredContent" not in server.ask("tools/call", call)["result"]


def test_an_error_is_one_sentence_and_its_facts_where_they_are_asked_for(server):
    """A wrong argument is a tool error that names it, its value and what fits."""
    answer = server.call("search_journal", {"query": "x", "limit": 0})
    assert answer["isError"] is True
    assert answer["content"][0]["text"] == "Invalid limit: 0. Use 1 to 100."
    assert answer["structuredContent"] == {
        "code": "invalid",
        "message": "Invalid limit: 0.",
        "hint": "Use 1 to 100.",
    }


def test_blank_thoughts_are_refused_and_nothing_is_written(server, shared_world):
    """No category, or only blank ones: an error, and no file appears."""
    before = {*shared_world.folder.rglob("*.md")}
    for arguments in ({}, {"feelings": " \n"}):
        answer = server.call("process_thoughts", arguments)
        assert answer["isError"] is True
        assert "At least one thought category must be provided" in answer["content"][0]["text"]
    assert {*shared_world.folder.rglob("*.md")} == before


def test_two_journals_live_in_one_server(server):
    """Each search answers from its own journal alone."""
    server.call("process_thoughts", {"feelings": "The redis restart wore me out."})
    server.call("add_entry", {"message": "restarted redis"})
    logged = server.call("search_entries", {"text": "redis restart"})["structuredContent"]
    assert [entry["message"] for entry in logged["entries"]] == ["restarted redis"]
    thoughts = server.call("search_journal", {"query": "redis restart"})["structuredContent"]
    assert {hit["ref"].split(":")[0] for hit in thoughts["results"]} == {"private"}
    assert "The redis restart wore me out." in thoughts["results"][0]["excerpt"]


def test_read_only_offers_no_writing_tool(shared_world):
    """--read-only leaves out every tool that writes."""
    with RawServer("--read-only", cwd=shared_world.project, env=shared_world.env) as server:
        server.handshake()
        names = [t["name"] for t in server.ask("tools/list")["result"]["tools"]]
        assert names == [name for name in TOOLS if name not in WRITING]


def test_an_unknown_toolset_is_a_loud_error(tmp_path):
    """The server does not start half: it names the toolset and those there are."""
    done = subprocess.run(
        server_command("--toolsets", "privat"),
        cwd=tmp_path / "project",
        capture_output=True,
        text=True,
        input="",
    )
    assert done.returncode == 2
    assert "privat" in done.stderr
    assert "private" in done.stderr
    assert done.stdout == ""


@pytest.mark.design("004-46")
def test_what_a_library_prints_never_reaches_the_protocol(tmp_path, words_only):
    """Prints and raw writes in a call go to stderr; the next line of stdout is the answer.

    SIGTERM then ends the server well, with a call behind it.
    """
    noisy = tmp_path / "noisy"
    noisy.mkdir()
    (noisy / "sitecustomize.py").write_text(
        "import os\n"
        "real = os.fsync\n"
        "def fsync(descriptor):\n"
        "    print('noise', flush=True)\n"
        "    os.write(1, b'raw noise')\n"
        "    real(descriptor)\n"
        "os.fsync = fsync\n"
    )
    with RawServer(cwd=tmp_path / "project", env={"PYTHONPATH": str(noisy)}) as server:
        server.handshake()
        assert "Thoughts recorded" in server.text("process_thoughts", {"feelings": "quiet"})
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE_S) == 0
        assert server.receive() == {}
        while "raw noise" not in server.next_error():
            pass


@pytest.mark.design("000-70", "000-71")
def test_vectors_made_at_the_start_are_counted_on_stderr(tmp_path):
    """Entries that another program wrote are filed once the client is there, and counted."""
    day = tmp_path / "home" / ".private-journal" / "2026-11-20"
    day.mkdir(parents=True)
    for number in range(3):
        (day / f"10-00-0{number}-000000.md").write_text(f"## Feelings\n\nthought {number}\n")
    with RawServer(cwd=tmp_path / "project") as server:
        server.handshake()
        server.ask("tools/list")
        while "Made the vectors of 3 entries." not in server.next_error():
            pass
    assert len(list(day.glob("*.embedding"))) == 3


@pytest.mark.design("003-51")
def test_the_timeline_is_rolled_up_at_a_session_s_start(tmp_path, no_weights):
    """No tool is called, and the toolset is not even offered."""
    with Timeline("me", timezone="UTC") as timeline:
        timeline.save_entry("Oiled the gate", at=datetime(2025, 2, 4, 10, tzinfo=UTC))
        journal = timeline.service.journal
        with RawServer(cwd=tmp_path) as server:
            server.handshake()
            server.ask("tools/list")
            until(
                lambda: any(kind == "yearly_rollup" for kind, *_ in journal.count_types()),
                "the year to be rolled up",
            )


@pytest.mark.design("004-01", "004-02", "004-04")
@pytest.mark.design("004-01", "004-02", "004-03", "004-04")
@pytest.mark.parametrize("words", [("chronicle", "mcp"), ("chronicle", "mcp", "serve")])
@pytest.mark.parametrize("reads_all", [False, True], ids=["at once", "all settings first"])
def test_chronicle_mcp_is_the_server_of_the_log_alone(words, reads_all, tmp_path):
    """As the design starts it: its tools, resources and prompts, whatever else is set."""
    environ = {"COMMONPLACE_TOOLSETS": "all", "COMMONPLACE_PRELOAD": "0"}
    if reads_all:  # a project's file that may narrow what is offered
        (tmp_path / ".commonplace.toml").write_text("read_only = false\n")
    with RawServer(cwd=tmp_path, env=environ, command=words) as server:
        server.handshake()
        tools = [each["name"] for each in server.ask("tools/list")["result"]["tools"]]
        pages = [each["uri"] for each in server.ask("resources/list")["result"]["resources"]]
        prompts = [each["name"] for each in server.ask("prompts/list")["result"]["prompts"]]
        server.call("add_entry", {"message": "deployed the api"})
        assert "deployed the api" in str(server.call("list_entries"))
    assert tools == [
        *("add_entry", "list_entries", "search_entries"),
        *("remember_this", "what_was_i_doing", "find_when_i"),
    ]
    assert {each.partition("://")[0] for each in pages} == {"chronicle"}
    assert "chronicle-getting-started" in prompts
