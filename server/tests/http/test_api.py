"""The API over a real server: each tool by a plain request of JSON, as its token's owner."""

from __future__ import annotations

import json

import httpx2
import pytest
from server.tests.http_world import ALL, HttpServer, bearer, token_for
from tests.patience import PATIENCE_S


@pytest.fixture(autouse=True)
def _words(words_only):
    """What is found here is found by words."""


@pytest.fixture(scope="module")
def asked(shared_world):
    """A server of every toolset that the tests of this module share."""
    with pytest.MonkeyPatch.context() as here:
        shared_world.enter(here)
        token_for("nobody")
        server = HttpServer("--toolsets", ALL, COMMONPLACE_SERVE_AT_ONCE="3")
    with server:
        yield server


@pytest.fixture
def api(asked, shared_world, monkeypatch):
    """Makes requests of a new user: `post("add_entry", message="…")`, and what is below it."""
    shared_world.enter(monkeypatch)
    with httpx2.Client(
        base_url=asked.url.removesuffix("/mcp"), trust_env=False, timeout=PATIENCE_S
    ) as client:
        yield client


def post(client, token, tool, /, **arguments):
    """The answer of a tool."""
    return client.post(f"/api/v1/tools/{tool}", json=arguments, headers=bearer(token))


def test_a_program_writes_finds_and_opens(api):
    """JSON in, the facts of the answer out, and nothing of another user."""
    ann, bob = token_for("ann-api"), token_for("bob-api")
    written = post(api, ann, "add_entry", message="moved the reports to DuckDB")
    assert (written.status_code, written.headers["content-type"]) == (200, "application/json")
    ref = written.json()["ref"]
    found = post(api, ann, "recall", query="duckdb").json()
    assert [hit["ref"] for hit in found["results"]] == [ref]
    assert post(api, ann, "open_ref", ref=ref).json()["text"] == "moved the reports to DuckDB"
    assert post(api, bob, "recall", query="duckdb").json()["results"] == []
    assert post(api, bob, "open_ref", ref=ref).status_code == 404


@pytest.mark.parametrize(
    ("tool", "arguments", "status", "code"),
    [
        ("recall", {"query": "x", "limit": 0}, 400, "invalid"),
        ("recall", {}, 400, "invalid"),
        ("recall", {"query": "x", "colour": "red"}, 400, "invalid"),
        ("open_ref", {"ref": "chronicle:nothing"}, 404, "not_found"),
        ("no_such_tool", {}, 404, "not_found"),
        ("process_thoughts", {"feelings": "Fine."}, 403, "denied"),
        ("..%2Fprocess_thoughts", {"feelings": "Fine."}, 404, "not_found"),
        ("", {}, 404, "not_found"),
    ],
)
def test_what_goes_wrong_is_a_status_and_three_texts(api, tool, arguments, status, code):
    """The code, what is wrong and what to do, in place of an answer."""
    token = token_for("ann-api", toolsets=["recall", "chronicle"])
    answer = post(api, token, tool, **arguments)
    assert answer.status_code == status
    facts = answer.json()
    assert (facts["code"], bool(facts["message"])) == (code, True)
    assert set(facts) == {"code", "message", "hint"}


@pytest.mark.parametrize("body", [b"{", b"[1]", b'"x"', b"\xff", b"[" * 5000, b"null"])
def test_a_body_that_is_no_object_is_refused(api, body):
    """Nothing is called."""
    answer = api.post("/api/v1/tools/recall", content=body, headers=bearer(token_for("ann-api")))
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")


def test_who_may_not_is_told_in_the_same_form(api):
    """Without a token, with one that is not valid, that may only read, or from another site."""
    reads = token_for("ann-api", scopes=["read"])
    assert post(api, "cp_00000000_" + "x" * 43, "recall", query="x").status_code == 401
    assert post(api, reads, "recall", query="x").status_code == 200
    refused = post(api, reads, "add_entry", message="x")
    assert (refused.status_code, refused.json()["code"]) == (403, "denied")
    headers = {**bearer(reads), "Origin": "https://evil.example"}
    assert api.post("/api/v1/tools/recall", json={"query": "x"}, headers=headers).status_code == 403
    bare = api.post("/api/v1/tools/recall", json={"query": "x"})
    assert (bare.status_code, set(bare.json())) == (401, {"code", "message", "hint"})


def test_the_description_has_what_the_token_may_call(api):
    """OpenAPI with each tool's own schema; one that only reads has none that write."""
    token, reads = token_for("ann-api"), token_for("ann-api", scopes=["read"])
    described = api.get("/api/v1/openapi.json", headers=bearer(token)).json()
    assert described["openapi"] == "3.1.0"
    recall = described["paths"]["/api/v1/tools/recall"]["post"]
    schema = recall["requestBody"]["content"]["application/json"]["schema"]
    assert (schema["required"], schema["properties"]["limit"]["maximum"]) == (["query"], 100)
    assert "/api/v1/tools/add_entry" in described["paths"]
    of_reads = api.get("/api/v1/openapi.json", headers=bearer(reads)).json()["paths"]
    assert "/api/v1/tools/recall" in of_reads
    assert "/api/v1/tools/add_entry" not in of_reads
    assert api.get("/api/v1/openapi.json").status_code == 401


def test_other_methods_are_refused(api):
    """With the method that would do."""
    mine = bearer(token_for("ann-api"))
    read = api.get("/api/v1/tools/recall", headers=mine)
    assert (read.status_code, read.headers["allow"]) == (405, "POST")
    sent = api.post("/api/v1/openapi.json", json={}, headers=mine)
    assert (sent.status_code, sent.headers["allow"]) == (405, "GET")


def test_a_hidden_secret_leaves_json_whole(api):
    """What an entry holds is screened, and the answer is JSON still."""
    token = token_for("ann-secret")
    text = 'the "password": "correct-horse-battery-staple-9"'
    ref = post(api, token, "add_entry", message=text).json()["ref"]
    said = post(api, token, "open_ref", ref=ref)
    assert "correct-horse" not in json.dumps(said.json())


def test_many_calls_end_no_session_of_mcp(asked, api):
    """A call of the API begins no session, and takes no place of one."""
    mine = {**bearer(token_for("ann-many")), "Accept": "application/json, text/event-stream"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
    hello |= {"clientInfo": {"name": "test", "version": "1"}}
    begun = api.post(
        "/mcp",
        json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        headers=mine,
    )
    session = {**mine, "Mcp-Session-Id": begun.headers["mcp-session-id"]}
    for _ in range(150):
        assert api.get("/api/v1/openapi.json", headers=mine).status_code in {200, 429}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert api.post("/mcp", json=ping, headers=session).status_code in {200, 429}
