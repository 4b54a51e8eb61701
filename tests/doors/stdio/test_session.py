"""Sessions over stdio: each request of each revision is answered as the SDK answers it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import psutil
import pytest
from tests.cases import cases
from tests.doors.jsonrpc import (
    CLIENT,
    ENVELOPE,
    INITIALIZED,
    answers_of_sdk,
    ask,
    handshake,
    modern,
    on_the_wire,
)
from tests.doors.raw_server import RawServer
from tests.patience import PATIENCE_S

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace.doors.mcp_offer import McpOffer
from commonplace.doors.protocol import CAPABILITIES_KEY, HANDSHAKES, MODERN, VERSION_KEY
from commonplace.doors.stdio.session import LISTS

ALONE = {"COMMONPLACE_PRELOAD": "0"}
RICH = {
    "roots": {"listChanged": True},
    "sampling": {"context": {}, "tools": {}},
    "elicitation": {"form": {}, "url": {}},
    "experimental": {"x": {"deep": [1, {"y": None}]}},
    "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html"]}},
}
RICH_CLIENT = {**CLIENT, "title": "Räw", "description": "d", "websiteUrl": "no url at all"}
RICH_META = {
    **ENVELOPE,
    "io.modelcontextprotocol/clientInfo": RICH_CLIENT,
    CAPABILITIES_KEY: RICH,
}
# Refused by the tool itself, so that its answer holds no time of day.
REFUSED = {"name": "search_journal", "arguments": {"query": "x", "limit": 0}}
PAGE = {"uri": "ui://commonplace/search"}
PROMPT = {"name": "daily-standup"}


def conversation(revision):
    """Every kind of request in this revision, with all that a client may declare of itself."""
    if revision == MODERN:
        yield modern(0, "server/discover")
        yield from (modern(method, method) for method in LISTS)
        yield ask("rich", "tools/list", {"_meta": RICH_META})
        yield modern("call", "tools/call", **REFUSED)
        yield modern("page", "resources/read", **PAGE)
        yield modern("prompt", "prompts/get", **PROMPT)
        yield modern("cursor", "tools/list", cursor="nonsense")
        yield from wrong(modern)
        yield handshake(number=99)
        yield ask(100, "tools/list", {"_meta": {VERSION_KEY: MODERN}})
        yield ask(101, "tools/list")
        yield ask(102, "tools/list", {"_meta": {**ENVELOPE, VERSION_KEY: "2030-01-01"}})
        yield modern(103, "ping")
        return
    yield ask("early", "ping")
    yield ask("too early", "tools/list")
    yield handshake(revision, capabilities=RICH, client=RICH_CLIENT)
    yield INITIALIZED
    yield ask("a b-1", "ping")
    yield ask("progress", "ping", {"_meta": {"progressToken": 7}})
    yield from (ask(method, method) for method in LISTS)
    yield ask("call", "tools/call", REFUSED)
    yield ask("page", "resources/read", PAGE)
    yield ask("prompt", "prompts/get", PROMPT)
    yield ask("cursor", "tools/list", {"cursor": "nonsense"})
    yield from wrong(lambda number, method, **params: ask(number, method, params))
    yield handshake(revision, number=99)
    yield modern(100, "tools/list")
    yield {"jsonrpc": "2.0", "method": "notifications/nonsense", "params": {"x": 1}}
    yield {**ask(101, "ping"), "params": None}
    yield {**ask(102, "ping"), "extra": 1}


def wrong(asked):
    """Requests that no server of ours can do."""
    yield asked("no tool", "tools/call", name="no_such_tool", arguments={})
    yield asked("no name", "tools/call", arguments={})
    yield asked("no object", "tools/call", name="recall", arguments="x")
    yield asked("no page", "resources/read", uri="nowhere://x")
    yield asked("no uri", "resources/read")
    yield asked("no prompt", "prompts/get", name="no such prompt")
    yield asked("too much", "prompts/get", name="daily-standup", arguments={"x": "y"})
    for method, params in UNOFFERED.items():
        yield asked(method, method, **params)


UNOFFERED = {
    "no/such/method": {"x": 1},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "daily-standup"},
        "argument": {"name": "x", "value": "y"},
    },
    "logging/setLevel": {"level": "debug"},
    "resources/subscribe": {"uri": "x"},
    "subscriptions/listen": {"notifications": {}},
}


def told(answer):
    """An answer; of an error its code alone, since ours says more."""
    return answer["id"], answer["error"]["code"] if "error" in answer else answer["result"]


def offer_of(folder):
    """What a server offers by default."""
    settings = read_settings(cwd=folder, home=Path.home())
    return McpOffer(App(settings, user_home=Path.home()).toolsets())


@pytest.mark.parametrize("revision", [*HANDSHAKES, "1999-01-01", MODERN])
def test_each_request_is_answered_as_the_sdk_answers_it(tmp_path, words_only, revision):
    """In each revision, and by its errors; a client that declares all it may gets the same."""
    asked = [*conversation(revision)]
    expected = answers_of_sdk(offer_of(tmp_path), asked)
    with RawServer(cwd=tmp_path, env=ALONE) as server:
        found = []
        for message in asked:
            server.send_raw(on_the_wire([message]))
            if "id" in message:
                found.append(server.receive())
        assert server.end() == 0
    assert [told(answer) for answer in found] == [told(answer) for answer in expected]


@cases(
    ("params", "sentence"),
    [
        (None, "params.protocolVersion is missing: it must be a text."),
        ([1], "params is a list: it must be an object."),
        ("a text of theirs", "params is a text: it must be an object."),
        ({"protocolVersion": 5}, "params.protocolVersion is 5: it must be a text."),
        ({"protocolVersion": "x"}, "params.capabilities is missing: it must be an object."),
        (
            {"protocolVersion": "x", "capabilities": {"sampling": True}, "clientInfo": CLIENT},
            "params.capabilities.sampling is True: it must be an object.",
        ),
        (
            {"protocolVersion": "x", "capabilities": {}, "clientInfo": {"name": "x"}},
            "params.clientInfo.version is missing: it must be a text.",
        ),
    ],
)
def test_a_refused_handshake_says_which_field(tmp_path, params, sentence):
    """So that whoever writes a client finds the mistake; the session can still begin."""
    with RawServer(cwd=tmp_path, env=ALONE) as server:
        server.send_raw(on_the_wire([ask(1, "initialize", params)]))
        answer = server.receive()
        assert (answer["id"], answer["error"]["code"]) == (1, -32602)
        assert answer["error"]["message"] == sentence
        assert "result" in server.handshake()


def test_no_text_of_a_client_comes_back_in_an_error(tmp_path):
    """It may hold a secret, which nothing hides before the app is there."""
    secret = "gh" + "p_abcdefghijklmnopqrstuvwxyz0123456789"
    with RawServer(cwd=tmp_path, env=ALONE) as server:
        envelope = {**ENVELOPE, VERSION_KEY: secret}
        for message in (
            ask(1, secret),
            ask(2, "tools/list", {"_meta": envelope}),
            ask(3, "initialize", {"protocolVersion": [secret]}),
            ask(4, "initialize", secret),
        ):
            server.send_raw(on_the_wire([message]))
            answer = server.receive()
            assert "error" in answer
            assert secret not in str(answer)


NO_MESSAGES = {
    b"{\n": -32700,
    b"\xff\xfe\n": -32700,
    b"[" * 5000 + b"\n": -32700,
    b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}\n': -32700,
    b"x" * 1_000_000 + b"\n": -32700,
    b"[]\n": -32600,
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n': -32600,
    b"3\n": -32600,
    b'{"jsonrpc":"1.0","method":"ping"}\n': -32600,
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n': -32600,
    b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}\n': -32600,
    b'{"jsonrpc":"2.0","method":5}\n': -32600,
}


@pytest.mark.design("004-46")
def test_what_is_no_message_is_answered_and_ends_nothing(tmp_path):
    """By the code of JSON-RPC, without an id; a blank line by nothing. Then a request is answered."""
    with RawServer(cwd=tmp_path, env=ALONE) as server:
        server.handshake()
        for line, code in NO_MESSAGES.items():
            server.send_raw(b"\r\n" + line)
            answer = server.receive()
            assert (answer["id"], answer["error"]["code"]) == (None, code), line[:60]
            assert server.ask("ping")["result"] == {}
        assert server.end() == 0


def test_a_line_without_an_end_fills_no_memory(tmp_path):
    """What is too long is dropped as it comes, and answered once it ends."""
    with RawServer(cwd=tmp_path, env=ALONE) as server:
        server.handshake()
        for _ in range(70):
            server.send_raw(b"x" * (1 << 20))
        held = psutil.Process(server.process.pid).memory_info().rss
        server.send_raw(b"\n")
        answer = server.receive()
        assert (answer["id"], answer["error"]["code"]) == (None, -32700)
        assert "more than 67,108,864 bytes" in answer["error"]["message"]
        assert held < 200 << 20
        assert server.ask("ping")["result"] == {}


def test_a_batch_is_answered_in_the_revision_that_has_batches(tmp_path, words_only):
    """In one line, calls and all, without what wants no answer; a batch of news gets none."""
    with RawServer(cwd=tmp_path, env=ALONE) as server:
        server.handshake("2025-03-26")
        batch = [ask(1, "ping"), INITIALIZED, ask(2, "tools/call", REFUSED), 3, ask(3, "no/such")]
        server.send_raw(on_the_wire([[INITIALIZED], batch]))
        answers = server.receive()
        found = {x["id"]: x.get("error", {}).get("code") for x in answers}
        assert found == {1: None, 2: None, None: -32600, 3: -32601}
        assert server.ask("ping")["result"] == {}


SIDES = {"section": "api", "version_a": "We build REST.", "version_b": "We build a queue."}


def test_a_cancelled_call_gets_no_answer(tmp_path, words_only):
    """Not even when what it waited for comes; the session goes on."""
    with RawServer("--toolsets", "notebook", cwd=tmp_path, env=ALONE) as server:
        server.send_raw(on_the_wire([handshake(capabilities={"sampling": {}}), INITIALIZED]))
        assert server.receive()["id"] == 0
        call = {"name": "journal_synthesize_conflict", "arguments": SIDES}
        server.send_raw(on_the_wire([ask(7, "tools/call", call)]))
        question = server.receive()
        assert question["method"] == "sampling/createMessage"
        cancel = {"method": "notifications/cancelled", "params": {"requestId": 7}}
        said = {"role": "assistant", "content": {"type": "text", "text": "Both."}, "model": "m"}
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": said}
        server.send_raw(on_the_wire([{"jsonrpc": "2.0", **cancel}, answer]))
        assert server.ask("ping")["id"] != 7
        assert server.end() == 0
        assert server.receive() == {}


def test_what_no_utf_8_can_hold_is_answered(tmp_path, words_only):
    """Half a pair of surrogates becomes U+FFFD, before any tool sees it."""
    with RawServer(cwd=tmp_path, env=ALONE) as server:
        server.handshake()
        found = server.text("search_journal", {"query": "x", "type": "a\ud800b\U0001f600"})
        assert "'a\ufffdb\U0001f600'" in found


def test_an_answer_is_json_whatever_revision_is_asked_for(tmp_path):
    """Infinity is no number of JSON: a client that is sent it reads nothing more."""
    with RawServer(cwd=tmp_path, env=ALONE) as server:
        endless = ask(1, "tools/list", {"_meta": {VERSION_KEY: 5}})
        server.send_raw(on_the_wire([endless]).replace(b":5}", b":1e999}"))
        assert server.receive()["error"]["data"]["requested"] is None


def test_what_is_broken_is_told_at_the_call(tmp_path, words_only):
    """The lists are those that were built; what needs the settings says why it has none."""
    folder = tmp_path / "notes"
    folder.mkdir()
    settings = folder / ".commonplace.toml"
    settings.write_text('home = "/elsewhere"\n')
    with RawServer(cwd=folder, env=ALONE) as server:
        server.handshake()
        assert server.ask("tools/list")["result"]["tools"]
        error = server.ask("tools/call", REFUSED)["error"]
        assert error["code"] == -32603
        assert str(settings) in error["message"]
        settings.unlink()
        assert "Invalid limit" in server.text("search_journal", REFUSED["arguments"])


def test_what_no_one_foresaw_is_answered(tmp_path):
    """As an internal error, without its words: a client never waits for a call that broke."""
    folder = tmp_path / "gone"
    folder.mkdir()
    with RawServer(cwd=folder, env=ALONE) as server:
        server.handshake()
        folder.rmdir()
        error = server.ask("tools/call", REFUSED)["error"]
        assert error["code"] == -32603
        assert "gone" not in error["message"]
        assert server.ask("ping")["result"] == {}
        assert server.end() == 0


def test_a_start_in_a_folder_that_is_gone_says_so(tmp_path):
    """In the words of the command line, without a traceback."""
    script = "import os, runpy, sys\nos.rmdir(os.getcwd())\nsys.argv = ['commonplace', 'mcp']\n"
    script += "runpy.run_module('commonplace', run_name='__main__')\n"
    folder = tmp_path / "gone"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: The working directory is gone.")
    assert "Traceback" not in done.stderr


def test_an_opening_imports_next_to_nothing(tmp_path):
    """After the lists: neither SDK nor app nor command line, and little of anything else."""
    script = (
        "import os, sys\n"
        "before = set(sys.modules)\n"
        "def leave(status):\n"
        "    print(*sorted(set(sys.modules) - before), file=sys.stderr, flush=True)\n"
        "    real(status)\n"
        "real, os._exit = os._exit, leave\n"
        "sys.argv = ['commonplace', 'mcp']\n"
        "from commonplace.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=on_the_wire([handshake(), INITIALIZED, *map(ask, range(1, 5), LISTS)]),
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, **ALONE},
        timeout=PATIENCE_S,
    )
    assert len(done.stdout.splitlines()) == 5
    imported = set(done.stderr.decode().split())
    heavy = "mcp pydantic asyncio anyio click argparse subprocess hashlib pathlib typing logging"
    heavy += " dataclasses msgspec importlib.metadata tomllib zoneinfo inspect contextlib socket"
    assert not imported & set(heavy.split())
    assert len(imported) < 50, imported


def test_the_command_of_the_package_begins_before_the_command_line():
    """What clients start is the entry that looks for `mcp` before it imports click."""
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["scripts"]["commonplace"] == "commonplace.__main__:main"
