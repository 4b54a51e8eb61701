"""The MCP door: the real server in a process of its own, over stdio."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time

import anyio
import psutil
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from tests.doors import raw_server as stdio
from tests.doors.raw_server import RawServer, prime_for, server_command
from tests.patience import PATIENCE_S

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


@pytest.fixture(autouse=True, params=["front", "plain"])
def way(request, monkeypatch):
    """Every test is held from a snapshot and with the SDK alone."""
    monkeypatch.setattr(stdio, "WAY", request.param)
    return request.param


def command(way, tmp_path):
    """The command of a server that begins in this way, in the project's folder."""
    if way == "front":
        prime_for(["--structured"], project_folder(tmp_path), {})
    return server_command("--structured", *(["--plain"] if way == "plain" else []))


@pytest.fixture
def server(tmp_path):
    with RawServer(cwd=project_folder(tmp_path)) as running:
        yield running


def project_folder(tmp_path):
    folder = tmp_path / "proj"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_the_sdks_client_writes_finds_lists_and_reads(tmp_path, mode, way):
    """Every tool works through the official client, in every way it can connect."""
    words = command(way, tmp_path)

    async def scenario():
        parameters = StdioServerParameters(
            command=words[0],
            args=words[1:],
            env=dict(os.environ),
            cwd=project_folder(tmp_path),
        )
        async with Client(parameters, mode=mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
            written = await client.call_tool(
                "process_thoughts",
                {"feelings": "The locked database wore me out.", "project_notes": "Use WAL mode."},
            )
            user_ref, project_ref = written.structured_content["refs"]
            assert user_ref.startswith("private:user/")
            assert project_ref.startswith("private:project@")
            found = await client.call_tool("search_journal", {"query": "database trouble"})
            assert found.structured_content["results"][0]["ref"] == user_ref
            listed = await client.call_tool("list_recent_entries", {})
            assert {e["ref"] for e in listed.structured_content["entries"]} == {
                user_ref,
                project_ref,
            }
            read = await client.call_tool("read_journal_entry", {"path": project_ref})
            assert read.content[0].text.endswith("## Project Notes\n\nUse WAL mode.\n\n```")
            recent = await client.call_tool("read_recent_entries", {"type": "user"})
            assert "The locked database wore me out." in recent.content[0].text

    anyio.run(scenario)


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_each_revision_is_answered_in_kind(server, revision):
    """The handshake of every revision in use is accepted as it was asked."""
    assert server.handshake(revision)["result"]["protocolVersion"] == revision
    assert [t["name"] for t in server.ask("tools/list")["result"]["tools"]] == TOOLS


def test_the_instructions_say_when_to_write_and_when_to_search(server):
    """A model is told without being asked."""
    instructions = server.handshake()["result"]["instructions"]
    assert "process_thoughts" in instructions
    assert "recall" in instructions


def test_tools_carry_their_effects(server):
    """Hosts see which tool writes."""
    server.handshake()
    listed = {t["name"]: t["annotations"] for t in server.ask("tools/list")["result"]["tools"]}
    assert listed["recall"]["readOnlyHint"] is True
    assert listed["process_thoughts"]["readOnlyHint"] is False
    assert listed["process_thoughts"]["destructiveHint"] is False


def test_the_list_of_tools_stays_small(server):
    """At most 8 tools and 1,500 tokens by default, counted as bytes / 4.

    Less what hosts read and no model is given: which page shows a tool's result.
    """
    server.handshake()
    listed = server.ask("tools/list")["result"]["tools"]
    shown = [each.pop("_meta") for each in listed if "_meta" in each]
    assert shown == [
        {"ui": {"resourceUri": "ui://commonplace/search"}},
        {"ui": {"resourceUri": "ui://commonplace/period"}},
    ]
    assert len(listed) <= 8
    assert len(json.dumps(listed, separators=(",", ":")).encode()) / 4 <= 1500


def test_a_result_is_text_alone(server):
    """What is done, found or refused: no JSON that a client could show in place of the text."""
    server.handshake()
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


@pytest.mark.parametrize("asked", ["flag", "environment", "_meta"])
def test_json_stands_beside_the_text_where_it_is_asked_for(tmp_path, asked):
    """By the start, for every call; or by one call, for itself alone."""
    flags = ["--structured"] if asked == "flag" else []
    env = {"COMMONPLACE_STRUCTURED": "1"} if asked == "environment" else {}
    with RawServer(*flags, cwd=project_folder(tmp_path), env=env) as server:
        server.handshake()
        call = {"name": "add_entry", "arguments": {"message": "Painted the gate"}}
        if asked == "_meta":
            call["_meta"] = {"commonplace/structured": True}
        result = server.ask("tools/call", call)["result"]
        assert result["structuredContent"]["message"] == "Painted the gate"
        assert result["structuredContent"]["id"] in result["content"][0]["text"]
        call["_meta"] = {"commonplace/structured": False}
        assert "structuredContent" not in server.ask("tools/call", call)["result"]


def test_an_error_is_one_sentence_and_its_facts_where_they_are_asked_for(server):
    """A wrong argument is a tool error that names it, its value and what fits."""
    server.handshake()
    answer = server.call("search_journal", {"query": "x", "limit": 0})
    assert answer["isError"] is True
    assert answer["content"][0]["text"] == "Invalid limit: 0. Use 1 to 100."
    assert answer["structuredContent"] == {
        "code": "invalid",
        "message": "Invalid limit: 0.",
        "hint": "Use 1 to 100.",
    }


def test_blank_thoughts_are_refused_and_nothing_is_written(server, tmp_path):
    """No category, or only blank ones: an error, and no folder appears."""
    server.handshake()
    for arguments in ({}, {"feelings": " \n"}):
        answer = server.call("process_thoughts", arguments)
        assert answer["isError"] is True
        assert "At least one thought category must be provided" in answer["content"][0]["text"]
    assert not list(tmp_path.rglob("*.md"))


def test_read_only_offers_no_writing_tool(tmp_path):
    """--read-only leaves out every tool that writes."""
    with RawServer("--read-only", cwd=project_folder(tmp_path)) as server:
        server.handshake()
        names = [t["name"] for t in server.ask("tools/list")["result"]["tools"]]
        assert names == [name for name in TOOLS if name not in WRITING]


def test_an_unknown_toolset_is_a_loud_error(tmp_path):
    """The server does not start half: it names the toolset and those there are."""
    done = subprocess.run(
        server_command("--toolsets", "privat"),
        cwd=project_folder(tmp_path),
        capture_output=True,
        text=True,
        input="",
    )
    assert done.returncode == 2
    assert "privat" in done.stderr
    assert "private" in done.stderr
    assert done.stdout == ""


def test_broken_lines_do_not_end_the_session(server):
    """Garbage, a lone surrogate and a huge line get an error or nothing; the next call works."""
    server.handshake()
    server.send_raw(b"{not json\n")
    server.send_raw(b'{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"x":"\\ud800"}}\n')
    server.send_raw(b"x" * 1_000_000 + b"\n")
    assert [t["name"] for t in server.ask("tools/list")["result"]["tools"]] == TOOLS


def test_calls_that_were_sent_before_stdin_ended_are_answered(server):
    """Five pipelined calls and the end of stdin at once: five answers."""
    server.handshake()
    numbers = [server.send("tools/call", call(f"thought {i}")) for i in range(5)]
    server.process.stdin.close()
    answered = set()
    while message := server.receive():
        answered.add(message.get("id"))
    assert set(numbers) <= answered


def call(text: str) -> dict:
    return {"name": "process_thoughts", "arguments": {"feelings": text}}


def test_the_end_of_stdin_ends_the_process(server):
    """Within 2 s of stdin's end the process is gone, with status 0."""
    server.handshake()
    server.call("process_thoughts", {"feelings": "x"})
    started = time.monotonic()
    assert server.end() == 0
    # Five times the promise: this is a test of ending at all, not a measurement.
    assert time.monotonic() - started < 10


def test_sigterm_ends_the_process(server):
    """A host that terminates its servers is obeyed."""
    server.handshake()
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(PATIENCE_S) == 0


def test_the_server_does_not_outlive_its_parent(tmp_path, way):
    """A host killed with -9 leaves no server behind, though stdin stays open."""
    script = (
        "import subprocess, sys, time\n"
        f"server = subprocess.Popen({command(way, tmp_path)!r}, stdin=int(sys.argv[1]))\n"
        "print(server.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    reading, writing = os.pipe()
    try:
        host = subprocess.Popen(
            [sys.executable, "-c", script, str(reading)],
            stdout=subprocess.PIPE,
            pass_fds=(reading,),
            cwd=project_folder(tmp_path),
        )
        assert host.stdout is not None
        pid = int(host.stdout.readline())
        server = psutil.Process(pid)
        os.write(writing, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        assert select.select([host.stdout], [], [], PATIENCE_S)[0], "the server does not answer"
        assert b'"id":1' in host.stdout.readline()
        host.kill()
        host.wait()
        host.stdout.close()
        gone, _ = psutil.wait_procs([server], timeout=PATIENCE_S)
        assert gone
    finally:
        os.close(reading)
        os.close(writing)


def test_what_a_library_prints_never_reaches_the_protocol(tmp_path):
    """Prints and raw writes during a call go to stderr; the next line of stdout is the answer."""
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
    with RawServer(cwd=project_folder(tmp_path), env={"PYTHONPATH": str(noisy)}) as server:
        server.handshake()
        assert "Thoughts recorded" in server.text("process_thoughts", {"feelings": "quiet"})
        server.end()
        assert server.receive() == {}
        assert "raw noise" in server.stderr


def test_vectors_made_at_the_start_are_counted_on_stderr(tmp_path):
    """Entries that another program wrote are filed once the client is there, and counted."""
    day = tmp_path / "home" / ".private-journal" / "2026-11-20"
    day.mkdir(parents=True)
    for number in range(3):
        (day / f"10-00-0{number}-000000.md").write_text(f"## Feelings\n\nthought {number}\n")
    with RawServer(cwd=project_folder(tmp_path), env={"HOME": str(tmp_path / "home")}) as server:
        server.handshake()
        server.ask("tools/list")
        while "Made the vectors of 3 entries." not in server.next_error():
            pass
    assert len(list(day.glob("*.embedding"))) == 3
