"""`commonplace serve`: a real server, asked by the SDK's own client and on the wire."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp_types import CreateMessageResult, TextContent
from server.tests.http.test_isolation import READS, WRITES
from server.tests.http_world import (
    ALL,
    BOTH,
    HttpServer,
    Raw,
    bearer,
    connected,
    home,
    revoke,
    token_for,
)
from tests.doors.terminal import run
from tests.patience import PATIENCE_S, until

from commonplace_server.http.limits import Limits

MODES = ["auto", "legacy"]


@pytest.fixture(autouse=True)
def _words(words_only):
    """What is found here is found by words."""


@pytest.fixture(scope="module")
def asked(shared_world):
    """A server of every toolset, also under another name, that the tests of this module share."""
    flags = ("--toolsets", ALL, "--allow-host", "memory.example.org")
    with pytest.MonkeyPatch.context() as here:
        shared_world.enter(here)
        token_for("nobody")  # under another name it serves nobody without one
        server = HttpServer(*flags, COMMONPLACE_SERVE_AT_ONCE="3")
    with server:
        yield server


@pytest.fixture
def shared(asked, shared_world, monkeypatch):
    """That server, with the test in its home; its users are those of one test alone."""
    shared_world.enter(monkeypatch)
    return asked


def test_both_protocols_as_over_stdio():
    """Lists, writes, searches, errors, resources and other names of tools, as two users."""
    ann, bob = token_for("ann"), token_for("bob")

    async def scenario(url, mode):
        async with connected(url, ann, mode=mode) as hers, connected(url, bob, mode=mode) as his:
            assert len((await hers.list_tools()).tools) == len({*WRITES, *READS})
            text = f"The locked database wore me out ({mode})."
            written = await hers.call_tool("process_thoughts", {"feelings": text})
            (ref,) = written.structured_content["refs"]
            assert ref.startswith("private:user/")
            found = await hers.call_tool("search_journal", {"query": f"database {mode}"})
            assert ref in [hit["ref"] for hit in found.structured_content["results"]]
            none = await his.call_tool("search_journal", {"query": f"database {mode}"})
            assert none.structured_content["results"] == []
            wrong = await his.call_tool("search_journal", {"query": "x", "limit": 0})
            assert wrong.is_error
            assert wrong.structured_content == {
                "code": "invalid",
                "message": "Invalid limit: 0.",
                "hint": "Use 1 to 100.",
            }
            status = await his.read_resource("commonplace://status")
            assert "database" not in status.contents[0].text
            saved = {"kind": "todo", "title": f"Buy cables ({mode})"}
            await his.call_tool("memory_save", saved)
            called = await his.call_tool("memory.search", {"query": "cables"})
            assert mode in str(called.structured_content)

    with HttpServer("--toolsets", ALL) as server:
        for mode in MODES:
            anyio.run(scenario, server.url, mode)
        assert server.end() == 0
        for unsaid in (ann, bob, "database", "cables"):
            assert unsaid not in server.log
    assert not (Path.home() / ".private-journal").exists()
    assert (home() / "users" / "ann" / "private").is_dir()


def test_the_machines_own_owner_without_a_token():
    """On loopback while there are none: its own folders, and no project; then no more."""
    with HttpServer() as server:
        with Raw(server.url) as raw:
            assert raw.handshake().status_code == 200
            refs = raw.call("process_thoughts", project_notes="Use WAL mode.", feelings="Fine.")
            assert "private:project" not in refs.text
            assert list((Path.home() / ".private-journal").rglob("*.md"))
            evil = raw.post("ping", host="evil.example")
            assert evil.status_code == 421
            assert raw.post("ping", origin="http://evil.example").status_code == 403
            token = token_for("me")
            assert raw.post("ping").status_code == 401
        with Raw(server.url, token) as raw:
            raw.handshake()
            assert "WAL mode" in raw.call("search_journal", query="WAL").text


def open_stream(url, token, session):
    """An open GET stream of a session: its first answer, and an event set at its end."""
    ended = threading.Event()
    answered = []
    begun = threading.Event()

    def read():
        headers = {**BOTH, **bearer(token), "mcp-session-id": session}
        with httpx2.stream("GET", url, headers=headers, timeout=PATIENCE_S) as answer:
            answered.append(answer.status_code)
            begun.set()
            for _ in answer.iter_raw():
                pass
        ended.set()

    threading.Thread(target=read, daemon=True).start()
    assert begun.wait(PATIENCE_S)
    return answered[0], ended


def test_a_session_belongs_to_the_token_that_began_it(shared):
    """Another token of the same user has none of it; deleted or revoked, it is over."""
    one, two, bob = token_for("ann"), token_for("ann"), token_for("bob")
    server = shared
    with Raw(server.url, one) as hers, Raw(server.url, bob) as his:
        hers.handshake()
        his.handshake()
        session = hers.headers["mcp-session-id"]
        for other in (two, bob):
            stolen = hers.post("tools/list", authorization=f"Bearer {other}")
            assert stolen.status_code == 404
            ended = hers.http.delete(server.url, headers={**hers.headers, **bearer(other)})
            assert ended.status_code == 404
        assert hers.post("tools/list").status_code == 200
        assert open_stream(server.url, bob, session)[0] == 404
        status, ended = open_stream(server.url, one, session)
        assert status == 200
        assert open_stream(server.url, one, session)[0] == 409
        assert hers.http.delete(server.url, headers=hers.headers).status_code == 200
        assert ended.wait(PATIENCE_S)
        assert hers.post("tools/list").status_code == 404

        status, ended = open_stream(server.url, bob, his.headers["mcp-session-id"])
        assert status == 200
        revoke(bob)
        assert his.post("tools/list").status_code == 401
        assert ended.wait(PATIENCE_S)


def test_what_was_read_belongs_to_a_session(shared):
    """An overview that one session read may not be overwritten by another of the same user."""
    cat = token_for("cat")
    with Raw(shared.url, cat) as one, Raw(shared.url, cat) as two:
        one.handshake()
        two.handshake()
        written = one.call("journal_write", path="api", entry="First.", overview="REST.")
        assert 'isError":true' not in written.text
        blind = two.call("journal_write", path="api", entry="Second.", overview="SOAP.")
        assert '"code":"conflict"' in blind.text
        two.call("journal_read", id="api")
        read = two.call("journal_write", path="api", entry="Third.", overview="SOAP.")
        assert '"code"' not in read.text

    async def stateless():
        """A protocol without sessions keeps nothing between calls: the version goes along."""
        async with connected(shared.url, cat, mode="2026-07-28") as client:
            told = (await client.call_tool("journal_read", {"id": "api"})).structured_content
            again = {"path": "api", "entry": "Fourth.", "overview": "GraphQL."}
            blind = await client.call_tool("journal_write", again)
            assert blind.structured_content["code"] == "conflict"
            again["base_version"] = told["version"]
            assert not (await client.call_tool("journal_write", again)).is_error

    anyio.run(stateless)


def test_the_clients_own_model_is_asked(shared):
    """Sampling works over HTTP, in the session and without one."""
    dora, asked = token_for("dora"), []

    async def model(_context, params):
        asked.append(params)
        text = "We build REST.\n\nErrors are text.\n\nErrors are problem+json."
        content = TextContent(type="text", text=text)
        return CreateMessageResult(role="assistant", content=content, model="ours-1")

    async def scenario(mode):
        async with connected(shared.url, dora, mode=mode, sampling_callback=model) as client:
            sides = {
                "section": "api",
                "version_a": "We build REST.\n\nErrors are text.",
                "version_b": "We build REST.\n\nErrors are problem+json.",
            }
            return await client.call_tool("journal_synthesize_conflict", sides)

    for mode in MODES:
        merged = anyio.run(scenario, mode)
        assert merged.structured_content["made_by"] == "client"
    assert len(asked) == 2


def test_scopes_and_toolsets():
    """Flags bound what any token may do, and a token what it may do of that."""
    reader = token_for("ann", scopes=["read"])
    wide = token_for("ann", toolsets=ALL.split(","))
    outside = token_for("ann", toolsets=["timeline"])
    with HttpServer("--toolsets", "memory,memory-write,chronicle") as server:
        with Raw(server.url, reader) as raw:
            raw.handshake()
            assert "memory_save" not in raw.post("tools/list").text
            assert raw.call("memory_save", kind="todo", title="x").status_code == 403
            assert raw.call("memory_search", query="x").status_code == 200
        with Raw(server.url, wide) as raw:
            raw.handshake()
            assert "memory_save" in raw.post("tools/list").text
            assert "process_thoughts" not in raw.post("tools/list").text
            assert (
                "no tool 'process_thoughts' here" in raw.call("process_thoughts", feelings="x").text
            )
        with Raw(server.url, outside) as raw:
            assert raw.handshake().status_code == 403


def test_what_the_environment_bounds():
    """No token writes where the server only reads; and who asks too often waits, others do not.

    Four in one go where one a second is allowed.
    """
    ann, bob, wide = token_for("ann"), token_for("bob"), token_for("carl", toolsets=ALL.split(","))
    bounds = {
        "COMMONPLACE_READ_ONLY": "1",
        "COMMONPLACE_TOOLSETS": "memory-write",
        "COMMONPLACE_SERVE_PER_SECOND": "1",
    }
    with (
        HttpServer(**bounds) as server,
        Raw(server.url, ann) as hers,
        Raw(server.url, bob) as his,
        Raw(server.url, wide) as raw,
    ):
        raw.handshake()
        assert raw.call("memory_save", kind="todo", title="x").status_code == 403
        codes = [hers.post("ping").status_code for _ in range(12)]
        assert codes[:4] == [400] * 4  # no session, and no matter
        assert 429 in codes
        assert his.handshake().status_code == 200


class Writers:
    """Clients that write one thought after the other, and note what was acknowledged."""

    def __init__(self, url, token, count):
        self.url = url
        self.token = token
        self.acknowledged = []
        self.others = []
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(n,)) for n in range(count)]

    def __enter__(self):
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for each in self._threads:
            each.join(PATIENCE_S)

    def _write(self, number):
        with Raw(self.url, self.token) as raw:
            raw.handshake()
            for n in range(10_000):
                text = f"word{number}x{n}"
                try:
                    done = raw.call("process_thoughts", feelings=text)
                except httpx2.HTTPError:
                    return
                if done.status_code != 200 or '"refs"' not in done.text:
                    self.others.append(done.status_code)
                    return
                self.acknowledged.append(text)
                if self._over.is_set():
                    return

    def wait(self, count):
        """Until so many were acknowledged."""
        until(lambda: len(self.acknowledged) >= count, f"{count} acknowledged writes")


def kept():
    """All that ann wrote, as it lies on the disk."""
    files = (home() / "users" / "ann" / "private").rglob("*.md")
    return "\n".join(file.read_text() for file in files)


def test_killed_and_stopped_under_load():
    """What was acknowledged is there after kill -9; SIGTERM lets calls finish and ends with 0."""
    ann = token_for("ann")
    with HttpServer() as server, Writers(server.url, ann, 4) as writers:
        writers.wait(12)
        server.end(signal.SIGKILL)
    text = kept()
    assert all(x in text for x in writers.acknowledged)
    assert not writers.others

    with HttpServer() as server:
        with Raw(server.url, ann) as raw:
            assert raw.post("tools/list", **{"mcp-session-id": "0" * 32}).status_code == 404
            raw.handshake()
            found = raw.call("search_journal", query=writers.acknowledged[0]).text
            assert writers.acknowledged[0] in found
        with Writers(server.url, ann, 4) as writers:
            writers.wait(12)
            began = time.monotonic()
            assert server.end() == 0
            # Calls may go on for half of that; here each of them ends by itself.
            assert time.monotonic() - began < 2 * Limits().finish_s
    text = kept()
    assert all(x in text for x in writers.acknowledged)
    assert set(writers.others) <= {503}
    assert "word" not in server.log
    assert ann.split("_", 2)[2] not in server.log


def test_an_open_call_is_finished_before_the_end():
    """A call that waits for its client's model is answered after SIGTERM, with what that says."""
    asked, told = threading.Event(), threading.Event()
    results = []

    async def model(_context, _params):
        asked.set()
        await anyio.to_thread.run_sync(told.wait)
        content = TextContent(type="text", text="A.\n\nB.\n\nC.")
        return CreateMessageResult(role="assistant", content=content, model="ours-1")

    async def scenario(url):
        async with connected(url, mode="legacy", sampling_callback=model) as client:
            await client.list_tools()  # else the client asks for them after the answer
            sides = {"section": "api", "version_a": "A.\n\nB.", "version_b": "A.\n\nC."}
            results.append(await client.call_tool("journal_synthesize_conflict", sides))

    with HttpServer("--toolsets", "notebook") as server:
        client = threading.Thread(target=anyio.run, args=(scenario, server.url))
        client.start()
        assert asked.wait(PATIENCE_S)
        server.process.send_signal(signal.SIGTERM)
        until_stopping(server)
        told.set()
        client.join(PATIENCE_S)
        assert server.process.wait(PATIENCE_S) == 0
    assert results[0].structured_content["made_by"] == "client"


CLOSES_FOR_EVER = """
import runpy, sys, threading
from commonplace.app import Apps

def close(_apps):
    print("closing", flush=True)
    threading.Event().wait()

Apps.close = close
sys.argv = ["commonplace", "serve", "--http", "127.0.0.1:0"]
runpy.run_module("commonplace", run_name="__main__")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_the_journals_are_closed(number):
    """Ends the process at once."""
    with subprocess.Popen(
        [sys.executable, "-c", CLOSES_FOR_EVER], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline().startswith("Serving on")
            process.send_signal(signal.SIGTERM)
            assert process.stdout.readline() == "closing\n"
            process.send_signal(number)
            assert process.wait(PATIENCE_S) == -number
        finally:
            process.kill()


def test_calls_that_wait_for_models_hold_up_nobody(shared):
    """More of them than work at once: another client is answered meanwhile.

    And what the models say comes in, though their users ask no less than they may at once.
    """
    tokens = [token_for("emil"), token_for("fay")] * 3
    waiting = len(tokens)
    gus = token_for("gus")

    async def scenario(url):
        asked, told = anyio.Semaphore(0), anyio.Event()
        may_merge, all_may = anyio.Semaphore(0), anyio.Event()
        merged = []

        async def model(_context, _params):
            asked.release()
            await told.wait()
            content = TextContent(type="text", text="A.\n\nB.\n\nC.")
            return CreateMessageResult(role="assistant", content=content, model="ours-1")

        async def merge(token):
            async with connected(url, token, mode="legacy", sampling_callback=model) as client:
                await client.list_tools()  # else the client asks for them after the answer
                may_merge.release()
                await all_may.wait()
                sides = {"section": "api", "version_a": "A.\n\nB.", "version_b": "A.\n\nC."}
                merged.append(await client.call_tool("journal_synthesize_conflict", sides))

        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as tasks:
                for token in tokens:
                    tasks.start_soon(merge, token)
                for _ in range(waiting):
                    await may_merge.acquire()
                all_may.set()
                for _ in range(waiting):
                    await asked.acquire()
                async with connected(url, gus) as client:
                    meanwhile = await client.call_tool("journal_toc", {})
                    assert meanwhile.structured_content["code"] == "not_found"
                told.set()
        return merged

    merged = anyio.run(scenario, shared.url)
    assert [x.structured_content["made_by"] for x in merged] == ["client"] * waiting


def until_stopping(server):
    """Until the server says that it stops."""
    health = f"{server.base}/healthz"
    until(lambda: httpx2.get(health).json()["status"] == "stopping", "the server to stop")
    assert httpx2.post(server.url, json={}).status_code in {401, 503}


def test_a_body_of_twelve_megabytes_and_no_more(shared):
    """The limit is the server's, whatever the client tells."""
    with Raw(shared.url, token_for("hugo")) as raw:
        raw.handshake()
        most = 12 * 1024 * 1024
        large = raw.http.post(shared.url, content=b"x" * (most + 1), headers=raw.headers)
        assert large.status_code == 413
        pad = "x" * (most - 400)
        asked = raw.post("tools/list", {"_meta": {"pad": pad}})
        assert asked.status_code == 200


def test_damaged_tokens_shut_everybody_out():
    """Open sessions end, the log says why once, and whoever is known is let in once they are mended."""
    ann = token_for("ann")
    file = home() / "tokens.json"
    whole = file.read_bytes()
    with HttpServer() as server, Raw(server.url, ann) as raw:
        raw.handshake()
        status, ended = open_stream(server.url, ann, raw.headers["mcp-session-id"])
        assert status == 200
        file.write_bytes(b"{")
        assert raw.post("tools/list").status_code == 503
        assert ended.wait(PATIENCE_S)
        file.write_bytes(whole)
        assert raw.post("tools/list").status_code == 404
        del raw.headers["mcp-session-id"]
        assert raw.handshake().status_code == 200
        assert server.end() == 0
        assert server.log.count("tokens.json cannot be read") == 1


def test_what_is_due_is_rolled_up_beside_the_answers():
    """Nobody asks for it, and no cron does it."""
    run("timeline", "add", "Built the pier.", "--at", "2020-10-07 14:05")
    with HttpServer() as server:
        status = ("rollup", "--status", "--json")
        until(lambda: not json.loads(run(*status).stdout)["due"], "what is due to be rolled up")
        assert server.end() == 0
    assert "pier" in run("timeline", "show", "2020-10-07").stdout


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--http", "0.0.0.0:0"], 1, "there are no tokens"),
        (["--http", "127.0.0.1:0", "--allow-host", "memory.example.org"], 1, "there are no tokens"),
        (["--http", "nowhere"], 2, "Invalid address"),
        (["--toolsets", "privat"], 2, "Did you mean private"),
    ],
)
def test_what_is_not_served(words, code, says):
    """Refused before anything listens, with a next step."""
    done = run("serve", *words)
    assert done.exit_code == code
    assert says in done.stderr


def test_a_port_that_is_taken():
    """Is named."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("serve", "--http", f"127.0.0.1:{port}")
    assert done.exit_code == 1
    assert f"Another process listens on 127.0.0.1:{port}." in done.stderr


def test_another_name_of_the_server(shared):
    """As a proxy passes it on."""
    ivy = token_for("ivy")
    with Raw(shared.url, ivy, host="memory.example.org") as raw:
        assert raw.handshake().status_code == 200
    with Raw(shared.url, ivy, host="other.example.org") as raw:
        assert raw.handshake().status_code == 421
    told = json.loads(run("tokens", "list", "--json").stdout)
    assert "ivy" in [x["user"] for x in told["tokens"]]
    assert os.stat(home() / "tokens.json").st_mode & 0o077 == 0


def test_a_quota_without_a_database_is_refused_at_the_start(words_only):
    """Nothing would count it."""
    with HttpServer(COMMONPLACE_SERVE_MOST_BYTES="1000000") as server:
        server.process.wait()
    assert not server.url
    assert "COMMONPLACE_DATABASE_URL" in server.log
