"""The front says what the SDK says: whole conversations through real processes, with and without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import psutil
import pytest
from tests.doors.raw_server import RawServer, prime_for
from tests.patience import PATIENCE_S, until

from commonplace.doors.protocol import MODERN
from commonplace.doors.stdio.front import VERSION_KEY
from commonplace.doors.stdio.snapshot import TESTED_SDK, snapshot_folder, start_key
from commonplace.doors.stdio.snapshot_recorder import LISTS, REVISIONS

SELECTIONS = [(), ("--toolsets", "private"), ("--toolsets", "all"), ("--read-only",)]
CLIENT = {"name": "raw", "version": "1"}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
ENVELOPE = {
    VERSION_KEY: MODERN,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def ask(number, method, params=None):
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    return message if params is None else {**message, "params": params}


def handshake(revision="2025-11-25", *, number=0, capabilities=None, client=None):
    params = {"protocolVersion": revision, "capabilities": capabilities or {}}
    return ask(number, "initialize", {**params, "clientInfo": client or CLIENT})


def modern(number, method, **params):
    return ask(number, method, {"_meta": ENVELOPE, **params})


def on_the_wire(messages):
    return b"".join(x if isinstance(x, bytes) else json.dumps(x).encode() + b"\n" for x in messages)


def said(server, messages):
    """The answers to messages sent in one packet, by their ids, as they were on the wire."""
    server.send_raw(on_the_wire(messages))
    asked = [x for x in messages if isinstance(x, dict) and "id" in x]
    answers = [server.receive() for _ in asked]
    return sorted((json.dumps(x, sort_keys=True) for x in answers), key=str)


def has_sdk(server):
    """Whether the SDK is in the process: its models rest on a compiled library."""
    maps = psutil.Process(server.process.pid).memory_maps()
    return any("pydantic_core" in x.path for x in maps)


def both(tmp_path, flags=()):
    """A server with the front and one without."""
    env = {"COMMONPLACE_PRELOAD": "0"}
    fronted = RawServer(*flags, cwd=tmp_path, env=env, way="front")
    return fronted, RawServer(*flags, cwd=tmp_path, env=env, way="plain")


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
    "io.modelcontextprotocol/clientCapabilities": RICH,
}


def known_and_left(revision):
    """Every request that the front knows, in this revision; and some that it leaves to the SDK.

    The client declares all that one may declare of itself: it changes no answer.
    """
    if revision == "per request":
        known = [modern(0, "server/discover"), modern(1, "ping")]
        known += [modern(number, method) for number, method in enumerate(LISTS, 2)]
        known += [ask(9, LISTS[0], {"_meta": RICH_META})]
        left = [
            modern(20, "tools/list", cursor="nonsense"),
            modern(21, "no/such/method"),
            handshake(number=22),
            ask(23, "tools/list", {"_meta": {VERSION_KEY: MODERN}}),
            ask(24, "tools/list"),
            modern(25, "tools/call", name="no_such_tool", arguments={}),
        ]
    else:
        known = [handshake(revision, capabilities=RICH, client=RICH_CLIENT), INITIALIZED]
        known += [ask("a b-1", "ping"), ask(9, "ping", {})]
        known += [ask(number, method) for number, method in enumerate(LISTS, 2)]
        left = [
            ask(20, "tools/list", {"cursor": "nonsense"}),
            ask(21, "no/such/method"),
            handshake(revision, number=22),
            b"{broken\n",
            modern(23, "tools/list"),
            ask(24, "prompts/get", {"name": "no such prompt"}),
            ask(25, "tools/call", {"name": "no_such_tool", "arguments": {}}),
        ]
    return known, left


NEWEST = {REVISIONS[-1], "per request"}


def pairs():
    """Each revision once; with what is left to the SDK, and other selections, in the long part."""
    for revision in (*REVISIONS, "1999-01-01", MODERN, "per request"):
        is_new = revision in NEWEST
        yield pytest.param(revision, (), is_new, id=f"{revision}-default")
        for flags in SELECTIONS if is_new else SELECTIONS[:1]:
            if flags or not is_new:
                name = f"{revision}-{'_'.join(flags) or 'default'}-and what is left"
                yield pytest.param(revision, flags, True, id=name, marks=pytest.mark.long)
        for flags in () if is_new else SELECTIONS[1:]:
            name = f"{revision}-{'_'.join(flags)}-and what is left"
            yield pytest.param(revision, flags, True, id=name, marks=pytest.mark.whole)


@pytest.mark.parametrize(("revision", "flags", "with_left"), [*pairs()])
def test_the_front_says_what_the_sdk_says(tmp_path, words_only, revision, flags, with_left):
    """Every request it knows, in each revision and selection of toolsets; then what it leaves."""
    known, left = known_and_left(revision)
    fronted, plain = both(tmp_path, flags)
    with fronted, plain:
        assert said(fronted, known) == said(plain, known)
        assert not has_sdk(fronted)
        assert has_sdk(plain)
        # One by one: the SDK itself answers what was sent together in any order.
        for message in left if with_left else ():
            assert said(fronted, [message]) == said(plain, [message])
        assert has_sdk(fronted) is with_left
        assert fronted.end() == plain.end() == 0


# Refused by the tool itself, so that its answer holds no time of day.
REFUSED = {"name": "search_journal", "arguments": {"query": "x", "limit": 0}}
CALL = ask(5, "tools/call", REFUSED)
CONVERSATIONS = {
    "a call in the packet of the handshake": [handshake(), INITIALIZED, CALL, ask(6, "ping")],
    "a call before the client says it is ready": [handshake(), CALL],
    "lists before the handshake": [ask(1, "tools/list"), handshake(number=2), ask(3, "ping")],
    "a ping before the handshake": [ask(1, "ping"), ask(2, "ping"), handshake(number=3), CALL],
    "a ping, then a request of 2026": [ask(1, "ping"), modern(2, "tools/list")],
    "ready before the handshake": [INITIALIZED, ask(1, "tools/list"), handshake(number=2)],
    "a handshake after a list of 2026": [modern(1, "tools/list"), handshake(number=2)],
    "a call of 2026": [
        modern(1, "server/discover"),
        modern(2, "tools/call", **REFUSED),
    ],
    "an unknown revision in the envelope": [
        ask(1, "tools/list", {"_meta": {**ENVELOPE, VERSION_KEY: "2030-01-01"}})
    ],
    "half an envelope": [ask(1, "server/discover", {"_meta": {VERSION_KEY: MODERN}})],
    "an envelope on a handshake": [
        ask(1, "initialize", {**handshake()["params"], "_meta": ENVELOPE}),
        ask(2, "tools/list"),
    ],
    "no name": [handshake(client={"version": "1"}), ask(2, "tools/list")],
    "capabilities that are none": [handshake(capabilities={"roots": 5}), ask(2, "tools/list")],
    "an empty revision": [handshake(""), INITIALIZED, ask(2, "tools/list")],
    "a revision named like a place of ours": [handshake("unknown"), ask(2, "tools/list")],
    "an id that is no number": [handshake(), ask('ü"\n', "ping"), ask(-7, "ping")],
    "carriage returns": [on_the_wire([handshake(), INITIALIZED]).replace(b"\n", b"\r\n"), CALL],
    "broken lines": [b"\n", b"{\n", b"\xff\xfe\n", b"[]\n", b"[" * 5000 + b"\n", handshake()],
    "a key twice": [b'{"jsonrpc":"2.0","method":"ping","method":"x"}\n', handshake(), CALL],
    "an extra key": [{**ask(1, "ping"), "extra": 1}, handshake(number=2)],
    "another protocol": [b'{"jsonrpc":"1.0","id":1,"method":"ping"}\n', handshake(number=2)],
    "a token for progress": [
        handshake(),
        INITIALIZED,
        ask(2, "tools/list", {"_meta": {"progressToken": 7}}),
        ask(3, "ping", {"_meta": {"progressToken": "x"}}),
        ask(4, "tools/list", {"_meta": {"progressToken": []}}),
    ],
    "a null for parameters": [handshake(), {**ask(2, "ping"), "params": None}],
    "a notification nobody knows": [
        handshake(),
        {"jsonrpc": "2.0", "method": "notifications/nonsense", "params": {"x": 1}},
        ask(2, "tools/list"),
    ],
    "a megabyte before the handshake": [b"x" * 1_000_000 + b"\n", handshake(), CALL],
}


SHORT = [
    "a call in the packet of the handshake",
    "a ping before the handshake",
    "a handshake after a list of 2026",
    "a token for progress",
]
LONG = [
    "lists before the handshake",
    "a ping, then a request of 2026",
    "half an envelope",
    "an id that is no number",
    "broken lines",
    "a key twice",
]


def unusual():
    """A few, more in the long part, all where everything is tried."""
    for name in CONVERSATIONS:
        mark = pytest.mark.long if name in LONG else pytest.mark.whole
        yield pytest.param(name, marks=() if name in SHORT else mark)


@pytest.mark.parametrize("name", [*unusual()])
def test_an_unusual_conversation_is_the_same(tmp_path, words_only, name):
    """What no ordinary client says, in one packet: each answer is the SDK's."""
    messages = CONVERSATIONS[name]
    fronted, plain = both(tmp_path)
    with fronted, plain:
        for server in (fronted, plain):
            server.send_raw(on_the_wire(messages))
            server.process.stdin.close()
        assert drained(fronted) == drained(plain)
        assert fronted.process.wait(PATIENCE_S) == plain.process.wait(PATIENCE_S) == 0


def drained(server):
    found = []
    while message := server.receive():
        found.append(json.dumps(message, sort_keys=True))
    return sorted(found)


def test_a_handshake_imports_next_to_nothing(tmp_path):
    """After the lists: no SDK, no asyncio, no command line, and little of anything else."""
    prime_for([], tmp_path, {})
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
    )
    assert len(done.stdout.splitlines()) == 5
    imported = set(done.stderr.decode().split())
    heavy = "mcp pydantic asyncio anyio click argparse threading subprocess hashlib pathlib typing"
    heavy += (
        " logging dataclasses msgspec importlib.metadata tomllib zoneinfo inspect contextlib socket"
    )
    assert not imported & set(heavy.split())
    assert len(imported) < 40, imported


def test_the_sdk_is_there_before_the_first_call(tmp_path, words_only):
    """Once the tools were listed and the client is quiet, the SDK takes over unasked."""
    with RawServer(cwd=tmp_path, way="front") as server:
        said(server, [handshake(), INITIALIZED, ask(1, "tools/list")])
        until(lambda: has_sdk(server), "the import of the SDK")
        assert server.call("list_recent_entries")["isError"] is False


def test_the_installed_sdk_is_the_tested_one():
    """A new minor version of the SDK begins here: run these tests on it, then raise the number."""
    from importlib.metadata import version

    from mcp.server.mcpserver import MCPServer

    assert version("mcp").startswith(f"{TESTED_SDK}.")
    assert callable(MCPServer("x")._lowlevel_server.run)


def test_the_command_of_the_package_goes_through_the_front():
    """What clients start is the entry that looks for `mcp` before it imports click."""
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["scripts"]["commonplace"] == "commonplace.__main__:main"


def test_a_first_run_leaves_a_snapshot_for_the_next(tmp_path, words_only):
    """The SDK alone answers the first session; the second needs no SDK. --plain keeps none."""
    with RawServer("--plain", cwd=tmp_path) as server:
        server.handshake()
        server.ask("tools/list")
        server.text("list_recent_entries")
        server.end()
    assert not os.path.exists(snapshot_folder())
    with RawServer(cwd=tmp_path) as server:
        first = [server.handshake(), server.ask("tools/list")]
        until(lambda: list(Path(snapshot_folder()).glob("*.json")), "the snapshot")
        server.end()
    (name,) = [x for x in os.listdir(snapshot_folder()) if x.endswith(".json")]
    path = os.path.join(snapshot_folder(), name)
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert os.stat(snapshot_folder()).st_mode & 0o777 == 0o700
    os.chdir(tmp_path)
    assert json.loads(Path(path).read_text())["key"] == start_key([])
    with RawServer(cwd=tmp_path) as server:
        assert [server.handshake(), server.ask("tools/list")] == first
        assert not has_sdk(server)
