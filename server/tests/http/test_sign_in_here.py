"""The official clients sign in at the server itself, as claude.ai and ChatGPT do."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from server.tests.http.authorization_world import AuthorizationWorld, listening
from server.tests.http.consenting import BACK, Kept, Person, signs_in
from server.tests.http.document_server import ADDRESS as DOCUMENT
from server.tests.http.document_server import DocumentServer, send_json
from server.tests.http_world import HttpServer, bearer, free_port, token_for
from tests.doors.npm import MODULES, PROGRAMS, needs_npm
from tests.doors.terminal import facts, run
from tests.patience import PATIENCE_S

from commonplace_server.scope import STRUCTURED_HEADER

SCRIPT = Path(__file__).with_name("oauth_client.mjs")


@pytest.fixture
def server(words_only):
    """A server that clients can sign in at."""
    port = free_port()
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
    """It is refused, finds the server itself, registers, and has its person's journals.

    Until that person shuts it out on a page of theirs.
    """
    ann, kept = Person(token_for("ann")), Kept()

    async def scenario():
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
    access = bearer(kept.tokens.access_token)
    headers = {"origin": server.base}
    with httpx2.Client(base_url=server.base, headers=headers, timeout=PATIENCE_S) as browser:
        assert browser.get("/api/v1/openapi.json", headers=access).status_code == 200
        browser.post("/web/enter", data={"key": ann.token})
        page = browser.get("/web/programs").text
        form = dict(re.findall(r'name="(csrf|id)" value="([^"]+)"', page))
        assert browser.post("/web/programs/ended", data=form).status_code == 303
        assert browser.get("/api/v1/openapi.json", headers=access).status_code == 401


@pytest.fixture
def described(tmp_path):
    """A server in this process, which may fetch the one document of a site that lies here too."""
    port = free_port()
    with DocumentServer(tmp_path) as site:
        said = {"client_id": DOCUMENT, "client_name": "a program", "redirect_uris": [BACK]}
        site.answers = lambda handler: send_json(handler, said)
        world = AuthorizationWorld(
            tmp_path, fetch=site.fetcher(), address=f"http://127.0.0.1:{port}"
        )
        with listening(world.gate, port):
            yield world, site
        world.close()


def test_the_official_client_is_let_in_by_its_document(described):
    """It registers nowhere: its id is the address of what it says of itself."""
    world, site = described
    _, text = world.tokens.create("ann")

    async def scenario():
        auth = signs_in(f"{world.address}/mcp", Person(text), document=DOCUMENT)
        async with httpx2.AsyncClient(auth=auth, timeout=PATIENCE_S) as web:
            return (await web.get(f"{world.address}/mcp")).text

    assert anyio.run(scenario) == "in"
    assert site.came == [("/client.json", "client.example.org")]
    (caller,) = world.came
    assert (caller.owner, caller.may_write) == ("ann", True)
    (kept,) = world.grants.records.list_records("client")
    assert kept.facts["client_id"] == DOCUMENT


def signs_in_by_script(url, person, *document):
    """What the official TypeScript client got, whose user is a person."""
    with subprocess.Popen(
        [
            PROGRAMS / "node",
            SCRIPT,
            MODULES / "@modelcontextprotocol" / "client",
            url,
            BACK,
            *document,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        anyio.run(person.opens, program.stdout.readline().strip())
        out, _ = program.communicate(f"{person.came_back}\n", timeout=PATIENCE_S)
    assert program.returncode == 0
    return json.loads(out)


class TestInTypeScript:
    """The official client of the other language."""

    pytestmark = needs_npm

    def test_it_registers_and_is_let_in(self, server):
        """Gets tokens, and the next ones, and writes."""
        got = signs_in_by_script(server.url, Person(token_for("ann")))
        assert got["said"] == ["REDIRECT", "AUTHORIZED", "AUTHORIZED"]
        assert (got["opened"], got["renewed"], got["scope"]) == ([True, True], True, "read write")
        assert "recorded" in got["written"]["content"][0]["text"].lower()

    def test_it_is_let_in_by_its_document(self, described):
        """Registers nowhere."""
        world, site = described
        _, text = world.tokens.create("ann")
        got = signs_in_by_script(f"{world.address}/mcp", Person(text), DOCUMENT)
        assert (got["opened"], got["renewed"], got["client"]) == ([True, True], True, DOCUMENT)
        assert len(site.came) == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "serve.sign_in needs an address"),
        ({"ADDRESS": "http://memory.example.org"}, "serve.sign_in needs an address"),
        ({"ADDRESS": "https://example.org/memory"}, "serve.sign_in needs an address"),
        ({"ADDRESS": "https://a.example", "ISSUER": "https://id.example"}, "one place"),
    ],
)
def test_a_server_where_nobody_could_sign_in_does_not_start(given, said):
    """It says what is missing, before it listens."""
    environ = {f"COMMONPLACE_SERVE_{name}": value for name, value in given.items()}
    environ["COMMONPLACE_SERVE_SIGN_IN"] = "true"
    done = run("serve", "--http", "127.0.0.1:0", env=environ)
    assert done.exit_code != 0
    assert said in done.output


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"CLIENT_ID": "x"}, "serve.issuer names none"),
        ({"CLIENT_ID": "x", "SIGN_IN": "true"}, "serve.issuer names none"),
        ({"CLIENT_SECRET": "hush"}, "serve.client_id does not say whose it is"),
        ({"CLIENT_SECRET": "hush", "ISSUER": "https://id.example"}, "serve.client_id does not say"),
        (
            {"CLIENT_ID": "x", "ISSUER": "https://id.example", "ADDRESS": "http://a.example"},
            "serve.client_id needs an address with https and no path",
        ),
    ],
)
def test_half_a_sign_in_at_a_provider_is_refused(given, said):
    """It says which setting is missing, and no secret."""
    environ = {"COMMONPLACE_SERVE_ADDRESS": "https://memory.example.org"}
    environ |= {f"COMMONPLACE_SERVE_{name}": value for name, value in given.items()}
    done = run("serve", "--http", "127.0.0.1:0", env=environ)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "hush" not in done.output


@pytest.mark.parametrize("sign_in", ["true", "false"])
def test_roles_of_groups_are_refused_without_who_names_the_groups(sign_in):
    """A space that no token ever opens is said at the start, and what to set."""
    environ = {"COMMONPLACE_SERVE_SPACES": "team:write=engineers"}
    environ["COMMONPLACE_SERVE_ADDRESS"] = "https://memory.example.org"
    environ["COMMONPLACE_SERVE_SIGN_IN"] = sign_in
    done = run("serve", "--http", "127.0.0.1:0", env=environ)
    assert done.exit_code == 2
    assert "serve.issuer names none" in done.stderr
    assert "commonplace tokens create --space" in done.stderr
