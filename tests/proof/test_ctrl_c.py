"""Ctrl-C ends a server at the first press, whatever it does just then, and says nothing of it."""

from __future__ import annotations

import threading
from pathlib import Path

import httpx2
import pytest
from tests.doors.interrupting import OnTerminal
from tests.doors.jsonrpc import INITIALIZED, ask, handshake, modern, on_the_wire
from tests.patience import PATIENCE_S

from commonplace.doors.protocol import MODERN
from commonplace_testing.language import FakeLLM, Reply

ENDS_S = 10.0
"""Five times the promise: whoever waits for a call, a model or a catch-up takes far longer."""

SIDES = {"section": "api", "version_a": "A.\n\nB.", "version_b": "A.\n\nC."}
CALL = {"name": "journal_synthesize_conflict", "arguments": SIDES}
NOTEBOOK = ("--toolsets", "notebook")

long, whole = pytest.mark.long, pytest.mark.whole


def moments(now, *, longer, all_of_them):
    """Moments that `make test` tries, more of the long part, and the rest."""
    return [
        *now,
        *(pytest.param(each, marks=long) for each in longer),
        *(pytest.param(each, marks=whole) for each in all_of_them),
    ]


def typed(*messages):
    """What a person types who speaks JSON-RPC."""
    return on_the_wire(messages).decode()


LISTED = typed(handshake(), INITIALIZED, ask(1, "tools/list"))


def check_end(server, counted):
    """Ctrl-C now: status 130, in time, without a traceback."""
    status, took = server.interrupt()
    said = "".join(server.said)
    assert status == 130, said
    assert took < ENDS_S
    assert "Traceback" not in said
    assert "KeyboardInterrupt" not in said
    counted("Ctrl-C at any moment of a server", 1)


def begun(server, count=0):
    """Whether so many modules were imported since Ctrl-C was ours."""
    if "commonplace.doors.interrupt" not in server.modules:
        return False
    return len(server.modules) - server.modules.index("commonplace.doors.interrupt") > count


@pytest.mark.parametrize(
    "count", moments([1, 20, 80], longer=[200, 480], all_of_them=[40, 120, 300, 400, 560])
)
def test_while_mcp_is_imported(count, no_weights, counted):
    """After any module: the loop's, the app's."""
    with OnTerminal("mcp") as server:
        # The third answer comes when all of the app is there.
        server.type(LISTED + typed(ask(2, "resources/read", {"uri": "none:"})))
        server.wait_for(lambda: begun(server, count) or len(server.out) > 2)
        check_end(server, counted)


@pytest.mark.parametrize(
    "count", moments([1, 150], longer=[50, 450, 760], all_of_them=[300, 600, 700])
)
def test_while_serve_is_imported(count, no_weights, counted):
    """After any module, before it listens."""
    with OnTerminal("serve", "--http", "127.0.0.1:0") as server:
        server.wait_for(lambda: begun(server, count) or server.out)
        check_end(server, counted)


def test_while_mcp_waits(counted):
    """In the middle of a session whose client asks nothing."""
    with OnTerminal("mcp", COMMONPLACE_PRELOAD="0") as server:
        server.type(LISTED)
        server.wait_for(lambda: len(server.out) == 2)
        assert "commonplace.app" not in server.modules
        check_end(server, counted)
        assert "".join(server.said).count("commonplace mcp: an MCP server, waiting") == 1


@pytest.mark.parametrize(
    "module", moments([], longer=["onnxruntime"], all_of_them=["numpy", "tokenizers"])
)
def test_while_the_model_is_loaded(module, counted):
    """In the background, once the tools were listed."""
    with OnTerminal("mcp") as server:
        server.type(LISTED)
        server.wait_for(lambda: module in server.modules)
        check_end(server, counted)


@pytest.mark.parametrize("count", moments([], longer=[1], all_of_them=[100]))
def test_while_it_catches_up(count, counted):
    """With what another program wrote: some vectors are there, most are not."""
    day = Path.home() / ".private-journal" / "2026-11-20"
    day.mkdir(parents=True)
    for number in range(1000):
        name = f"10-{number // 60:02}-{number % 60:02}-000000.md"
        (day / name).write_text(f"## Feelings\n\nThe heron came back {number} times.\n" * 20)
    with OnTerminal("mcp") as server:
        server.type(LISTED)
        server.wait_for(lambda: len([*day.glob("*.embedding")]) >= count)
        check_end(server, counted)
    assert len([*day.glob("*.embedding")]) < 1000


@pytest.fixture
def hanging(monkeypatch):
    """A language model that never answers: a call of a tool that takes as long as it may."""
    with FakeLLM(Reply(hangs=True)) as fake:
        monkeypatch.setenv("COMMONPLACE_LLM_URL", fake.url)
        monkeypatch.setenv("COMMONPLACE_LLM_MODEL", "small")
        yield fake


def test_while_a_tool_of_mcp_works(no_weights, hanging, counted):
    """A call that nobody answers holds it up no longer than a moment."""
    with OnTerminal("mcp", *NOTEBOOK) as server:
        server.type(LISTED + typed(ask(2, "tools/call", CALL)))
        server.wait_for(lambda: hanging.asked)
        check_end(server, counted)


@long
def test_while_a_tool_of_serve_works(no_weights, hanging, counted):
    """Likewise over HTTP, where calls have ten seconds at a SIGTERM."""
    with OnTerminal("serve", "--http", "127.0.0.1:0", *NOTEBOOK) as server:
        server.wait_for(lambda: server.out)
        call_over_http(server, hanging)
        check_end(server, counted)


def call_over_http(server, hanging):
    """Have a client call the tool, and wait until it works."""
    url = server.out[0].split()[-1]
    body = modern(1, "tools/call", **CALL)
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call",
        "Mcp-Name": CALL["name"],
    }

    def ask():
        try:
            httpx2.post(url, json=body, headers=headers, timeout=PATIENCE_S)
        except httpx2.HTTPError:
            return  # the server went away, as it should

    threading.Thread(target=ask, daemon=True).start()
    server.wait_for(lambda: hanging.asked)


@long
def test_while_serve_listens(counted):
    """With nothing to do, and with its model loaded in the background."""
    for module in ("commonplace_server.http.server", "onnxruntime"):
        with OnTerminal("serve", "--http", "127.0.0.1:0") as server:
            server.wait_for(lambda: server.out and module in server.modules)  # noqa: B023  at once
            check_end(server, counted)
