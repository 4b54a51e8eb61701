"""The official clients sign in at the server itself, as claude.ai and ChatGPT do."""

from __future__ import annotations

import socket

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from server.tests.http.consenting import Kept, Person, signs_in
from server.tests.http_world import HttpServer, token_for
from tests.doors.terminal import facts
from tests.patience import PATIENCE_S

from commonplace_server.scope import STRUCTURED_HEADER


@pytest.fixture
def server(words_only):
    """A server that clients can sign in at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    environ = {"COMMONPLACE_SERVE_ADDRESS": address, "COMMONPLACE_SERVE_SIGN_IN": "true"}
    with HttpServer(http=f"127.0.0.1:{port}", **environ) as made:
        yield made


async def call(url, auth, tool, mode="auto", **arguments):
    headers = {STRUCTURED_HEADER: "1"}
    async with httpx2.AsyncClient(auth=auth, headers=headers, timeout=PATIENCE_S) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode) as client:
            return (await client.call_tool(tool, arguments)).structured_content


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_registers_and_is_let_in(server, mode):
    """It is refused, finds the server itself, registers, and has its person's journals."""

    async def scenario():
        ann = Person(token_for("ann"))
        kept = Kept()
        written = await call(
            server.url,
            signs_in(server.url, ann, kept=kept),
            "process_thoughts",
            mode,
            feelings="Glad of the new garden.",
        )
        assert written["refs"][0].startswith("private:user/")
        again = signs_in(server.url, ann, kept=kept)
        assert len((await call(server.url, again, "recall", query="garden"))["results"]) == 1
        bob = signs_in(server.url, Person(token_for("bob")))
        assert (await call(server.url, bob, "recall", query="garden"))["results"] == []

    anyio.run(scenario)
    listed = facts("tokens", "list")["tokens"]
    assert sorted((x["user"], x["label"], x["state"]) for x in listed) == [
        ("ann", "", "valid"),
        ("ann", "a client", "valid"),
        ("bob", "", "valid"),
        ("bob", "a client", "valid"),
    ]
