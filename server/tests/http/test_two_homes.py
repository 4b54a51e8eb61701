"""Two homes over one database of memories: whose journals are served, and what a revocation means."""

from __future__ import annotations

import json
import os
import re
import shutil
import time

import anyio
import httpx2
import psycopg
import pytest
from server.tests.http.consenting import Kept, Person, signs_in
from server.tests.http_world import HttpServer, Raw, bearer, free_port, home, revoke, token_for
from tests.doors.terminal import facts, run
from tests.patience import PATIENCE_S, until

from commonplace.config.settings import parse_setting
from commonplace.core.clock import utc_now
from commonplace_server.tokens import TokenFile, id_of


@pytest.fixture(autouse=True)
def _database(words_only, database, monkeypatch):
    """Where every home of these tests has its memories."""
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", database.app_url)


@pytest.fixture
def other(tmp_path):
    """The folder of a second home."""
    folder = tmp_path / "other"
    folder.mkdir()
    return folder


def serve(*flags, **env):
    """A server on a free port."""
    return HttpServer(*flags, **env)


def serve_shared(other, **env):
    """A server of what lies in the database, by all tools, from the second home."""
    return serve("--shared-only", "--toolsets", "all", COMMONPLACE_HOME=str(other), **env)


def refused(*flags, **env):
    """What is printed by one that is refused before it listens."""
    before = {name: os.environ.get(name) for name in env}
    os.environ.update(env)
    try:
        done = run("serve", "--http", "127.0.0.1:0", *flags)
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    assert done.exit_code == 1, done.output
    return done.output


def status(server, token):
    """What a request with a token is answered."""
    with Raw(server.url, token) as raw:
        return raw.handshake().status_code


def tools(server, token):
    """The names of the tools that a token is offered."""
    with Raw(server.url, token) as raw:
        raw.handshake()
        listed = raw.post("tools/list").text
    lines = [x.removeprefix("data: ") for x in listed.splitlines() if "{" in x]
    return {tool["name"] for tool in json.loads(lines[-1])["result"]["tools"]}


@pytest.fixture
def callers(other):
    """Ann at one server, Ann at another of a second home, and Bob at that."""
    token, stranger = token_for("ann"), token_for("bob")
    with (
        serve("--toolsets", "all") as first,
        serve_shared(other) as second,
        Raw(first.url, token) as one,
        Raw(second.url, token) as two,
        Raw(second.url, stranger) as his,
    ):
        for each in (one, two, his):
            each.handshake()
        yield one, two, his


def test_a_second_home_is_refused_by_the_name_of_the_first(other):
    """At once or later; the first may start again, and doctor says which it is."""
    for _ in range(2):
        with serve() as server:
            assert server.url
            assert str(home()) in refused(COMMONPLACE_HOME=str(other))
            assert server.end() == 0
    said = refused(COMMONPLACE_HOME=str(other))
    assert "another home" in said
    assert "--shared-only" in said
    assert "are those of this home" in run("doctor").output
    assert f"another home, {home()}" in run("doctor", env={"COMMONPLACE_HOME": str(other)}).output


def test_a_home_takes_the_place_of_one_that_is_gone(other):
    """Whoever has taken it is served; the one before is refused then."""
    with serve() as server:
        assert server.end() == 0
    with serve("--claim", COMMONPLACE_HOME=str(other)) as server:
        assert server.url
    assert str(other) in refused()


def test_what_lies_in_the_database_is_served_from_any_home(other):
    """By all tools, as from the first; no page is there, and nothing is claimed."""
    with serve() as first:
        kept = facts("memory", "save", "todo", "buy cables", "--user", "ann")["ref"]
        token = token_for("ann")
        narrow = token_for("ann", toolsets=("recall",))
        # Whose chronicle is the machine user's own, which lies on each machine's disk.
        own = token_for("me")
        with serve("--shared-only", COMMONPLACE_HOME=str(other)) as second:
            for each in (token, narrow):
                offered = tools(second, each)
                assert offered == tools(first, each)
                assert "recall" in offered
            assert all(name.startswith("memory_") for name in tools(second, own))
            with Raw(second.url, token) as raw:
                raw.handshake()
                assert kept in raw.call("recall", query="buy cables").text
                assert raw.http.get(f"{second.base}/web").status_code == 404
            assert status(first, token) == 200
            assert second.end() == 0
        assert first.end() == 0
    assert str(home()) in refused(COMMONPLACE_HOME=str(other))


def test_what_is_shared_needs_a_database(monkeypatch):
    """Without one there is nothing that two homes could share."""
    monkeypatch.delenv("COMMONPLACE_DATABASE_URL")
    assert "No database" in run("serve", "--shared-only").output


def test_a_chronicle_is_one_on_two_servers(other, database):
    """What is logged, superseded, let expire or forgotten through one is so through the other."""
    token, stranger = token_for("ann"), token_for("bob")
    with (
        serve("--toolsets", "all") as first,
        # An older spelling of the same.
        serve("--memory-only", COMMONPLACE_HOME=str(other)) as second,
        Raw(first.url, token) as one,
        Raw(second.url, token) as two,
        Raw(second.url, stranger) as his,
    ):
        for each in (one, two, his):
            each.handshake()
        ref = called(one, "add_entry", message="the quokka gate is open", tags=["gate"])["ref"]
        assert shown(two, "list_entries") == ["the quokka gate is open"]
        assert shown(two, "search_entries", text="quokka gate") == ["the quokka gate is open"]
        assert shown(his, "list_entries") == shown(his, "search_entries", text="quokka") == []
        called(one, "amend", ref=ref, text="the quokka gate is shut")
        assert shown(two, "search_entries", text="quokka gate") == ["the quokka gate is shut"]
        new = called(two, "add_entry", message="the quokka gate is gone", supersedes=ref)["ref"]
        assert new in one.call("open_ref", ref=ref).text
        called(one, "amend", ref=new, delete=True)
        called(two, "add_entry", message="a secret of the harbour", expires="in 3 days")
        assert shown(one, "list_entries") == ["a secret of the harbour", "the quokka gate is shut"]
        with psycopg.connect(database.admin_url) as conn:
            conn.execute("UPDATE wb_times SET expires_at = now() - interval '1 second'")
        assert shown(two, "list_entries") == ["the quokka gate is shut"]
        assert shown(one, "search_entries", text="secret harbour") == []
        with psycopg.connect(database.admin_url) as conn:
            assert conn.execute("SELECT body FROM cp_entries").fetchall() == [
                ("the quokka gate is shut",)
            ]
        assert [each.end() for each in (first, second)] == [0, 0]


def called(raw, tool, **given):
    """What a tool answered beside its text."""
    lines = [x.removeprefix("data: ") for x in raw.call(tool, **given).text.splitlines()]
    result = json.loads(next(x for x in reversed(lines) if "{" in x))["result"]
    assert not result.get("isError"), result
    return result["structuredContent"]


def shown(raw, tool, **given):
    """The messages of the entries that a tool showed."""
    return [each["message"] for each in called(raw, tool, **given)["entries"]]


def test_while_the_database_is_away_the_served_home_alone_is_served(other, database, monkeypatch):
    """It knows that it was the one; another cannot know whether it may be."""
    with serve() as server:
        assert server.end() == 0
    with psycopg.connect(database.admin_url, autocommit=True) as conn:
        conn.execute("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM commonplace_app")
    with serve() as server:
        assert server.url
        assert server.end() == 0
    assert "not known" in refused(COMMONPLACE_HOME=str(other))


def test_a_session_that_began_on_one_server_goes_on_at_another(other, database):
    """Of the protocols until 2025-11-25: it is answered by any, for its token alone, to its end.

    What was read in it counts at any: an overview may be written where it was not shown.
    """
    ann, bob = token_for("ann"), token_for("bob")
    with (
        serve_shared(other) as second,
        serve("--toolsets", "all") as first,
        Raw(first.url, ann) as one,
        Raw(second.url, ann) as two,
        Raw(second.url, bob) as his,
    ):
        assert one.handshake().status_code == 200
        for each in (two, his):
            each.headers |= {
                name: one.headers[name] for name in ("mcp-session-id", "mcp-protocol-version")
            }
        called(two, "add_entry", message="the quokka gate is open")
        assert shown(one, "list_entries") == ["the quokka gate is open"]
        answer = two.call("list_entries")
        assert answer.headers["mcp-session-id"] == one.headers["mcp-session-id"]
        assert his.call("list_entries").status_code == 404
        called(one, "journal_write", path="quay", entry="first", overview="a gate")
        for each, overview in ((two, "a gate and a bell"), (one, "a gate, a bell and a rope")):
            called(each, "journal_write", path="quay", entry="more", overview=overview)
            assert called(one, "journal_read", id="quay")["overview"] == overview
        called(two, "journal_write", path="quay", entry="last", overview="a rope")
        with psycopg.connect(database.admin_url) as conn:
            (row,) = conn.execute("SELECT s::text FROM cp_sessions AS s").fetchall()
        assert one.headers["mcp-session-id"] not in row[0]
        # A server that was restarted goes on too, and what is over on one is so on the other.
        at = f"127.0.0.1:{second.port}"
        assert second.end() == 0
        with serve_shared(other, http=at) as again:
            assert shown(two, "list_entries") == ["the quokka gate is open"]
            assert two.http.delete(two.url, headers=two.headers).status_code == 200
            assert [each.call("list_entries").status_code for each in (one, two)] == [404, 404]
            assert again.end() == 0
        assert first.end() == 0


def test_what_a_clients_model_said_to_one_server_is_not_heard_at_another():
    """Both ask in one session at once: an answer that reaches the wrong one is not taken there."""
    with (
        serve("--toolsets", "notebook") as first,
        serve("--toolsets", "notebook") as second,
        Raw(first.url, token_for("ann")) as raw,
        Asked(raw, first) as one,
        Asked(raw, second) as two,
    ):
        one.say(to=second, model="wrong")
        two.say(to=second, model="right")
        assert two.made_by() == "right"
        one.say(to=first, model="right")
        assert one.made_by() == "right"
        assert [each.end() for each in (first, second)] == [0, 0]


class Asked:
    """A call at one server that waits for what its client's own model says."""

    def __init__(self, raw, server):
        if "mcp-session-id" not in raw.headers:
            assert raw.handshake({"sampling": {}}).status_code == 200
        self.raw = raw
        sides = {"section": "api", "version_a": "A.\n\nB.", "version_b": "A.\n\nC."}
        call = {"name": "journal_synthesize_conflict", "arguments": sides}
        message = {"jsonrpc": "2.0", "id": f"at {server.port}", "method": "tools/call"}
        self.answer = raw.http.stream(
            "POST", server.url, json={**message, "params": call}, headers=raw.headers
        )

    def __enter__(self):
        self.lines = self.answer.__enter__().iter_lines()
        self.id = self.next()["id"]
        return self

    def __exit__(self, *exc):
        self.answer.__exit__(*exc)

    def next(self):
        """What comes next."""
        return json.loads(next(x for x in self.lines if "{" in x).removeprefix("data: "))

    def say(self, *, to, model):
        """Say to a server what a model says to the question of this call."""
        content = {"type": "text", "text": "A.\n\nB.\n\nC."}
        said = {"role": "assistant", "content": content, "model": model}
        reply = {"jsonrpc": "2.0", "id": self.id, "result": said}
        assert self.raw.http.post(to.url, json=reply, headers=self.raw.headers).status_code == 202

    def made_by(self):
        """The model whose words the call was answered with."""
        return self.next()["result"]["structuredContent"]["model"]


def test_a_browser_that_signed_in_at_one_server_goes_on_at_another():
    """Its forms, what its next page says and its leaving count at both; a revoked token's at none."""
    token = token_for("ann", toolsets=parse_setting("toolsets", "all"))
    named = ("--allow-host", "memory.example.org")
    with serve(*named) as first, serve(*named) as second, httpx2.Client() as http:
        cookies = ""

        def ask(server, method, path, **data):
            headers = {"host": "memory.example.org", "cookie": cookies}
            if method == "POST":
                headers["origin"] = "http://memory.example.org"
            url = f"{server.base}/web{path}"
            return http.request(method, url, headers=headers, data=data or None)

        def sign_in(server):
            entered = ask(server, "POST", "/enter", key=token)
            assert entered.status_code == 303, entered.text
            return entered.headers["set-cookie"].partition(";")[0]

        cookies = sign_in(first)
        http.cookies.clear()
        page = ask(second, "GET", "/")
        assert page.status_code == 200
        csrf = re.search(r'name="csrf" value="([^"]+)"', page.text)[1]
        done = ask(first, "POST", "/written", csrf=csrf, do="write", text="the quokka gate is open")
        assert done.status_code == 303, done.text
        assert "quokka gate" in ask(second, "GET", "/").text
        assert ask(second, "POST", "/written", csrf="x", do="write", text="y").status_code == 403
        assert ask(second, "POST", "/leave", csrf=csrf).status_code == 200
        assert ask(first, "GET", "/").status_code == 401
        cookies = sign_in(second)
        assert ask(first, "GET", "/").status_code == 200
        revoke(token)
        until(lambda: ask(first, "GET", "/").status_code == 401, "the revocation to hold")
        assert ask(second, "GET", "/").status_code == 401
        assert [each.end() for each in (first, second)] == [0, 0]


def test_a_token_is_one_on_every_server(other, database, monkeypatch):
    """Made or revoked anywhere it is so everywhere, before a server starts or while it serves."""
    with monkeypatch.context() as without:
        without.delenv("COMMONPLACE_DATABASE_URL")
        before = [token_for("ann") for _ in range(2)]
        shutil.copy(home() / "tokens.json", other)
        TokenFile(other, clock=utc_now).revoke(id_of(before[0]))
    with (
        serve_shared(other) as second,
        serve() as first,
    ):
        both = (first, second)
        # What lay in a file of either home has moved, and what was revoked in either is.
        assert [status(each, before[0]) for each in both] == [401, 401]
        assert [status(each, before[1]) for each in both] == [200, 200]
        made = token_for("ann")
        assert [status(each, made) for each in both] == [200, 200]
        assert facts("tokens", "revoke", id_of(made))["state"] == "revoked"
        for each in both:  # a request under way ends with 503
            until(lambda x=each: status(x, made) == 401, "both servers to refuse it")
        with psycopg.connect(database.admin_url, autocommit=True) as conn:
            conn.execute("REVOKE ALL ON cp_tokens FROM commonplace_app")
            done = run("tokens", "revoke", id_of(before[1]))
            assert done.exit_code == 1
            assert "role" in done.output
            # Nobody is let in whose token cannot be looked at.
            until(lambda: status(first, before[1]) == 503, "what was known to be too old")
            # Nor is anybody told what the database is called.
            false = f"cp_12345678_{'x' * 43}"
            told = [
                httpx2.post(f"{first.base}/{path}", headers=bearer(false), data={"key": false})
                for path in ("mcp", "api/v1/tools/recall", "metrics", "web/enter")
            ]
            assert [x.status_code for x in told[:2]] == [503, 503]
            assert not [x.text for x in told if conn.info.dbname in x.text]
            conn.execute("GRANT SELECT, INSERT, UPDATE (used_at) ON cp_tokens TO commonplace_app")
        assert [status(each, before[1]) for each in both] == [200, 200]
        # Nothing that lies there opens anything.
        with psycopg.connect(database.admin_url) as conn:
            kept = str(
                [
                    conn.execute(f"SELECT t::text FROM {table} AS t").fetchall()
                    for table in ("cp_revoked_tokens", "cp_tokens")
                ]
            )
        assert not any(token.split("_", 2)[2] in kept for token in (*before, made))
        assert [each.end() for each in both] == [0, 0]


def test_two_servers_admit_as_many_requests_of_a_user_as_one(other):
    """Asked in turns; another user is let in all the while."""
    ann, bob = (
        httpx2.Client(headers=bearer(token_for(name)), timeout=PATIENCE_S)
        for name in ("ann", "bob")
    )
    slow = {"COMMONPLACE_SERVE_PER_SECOND": "1"}
    with (
        ann,
        bob,
        serve("--toolsets", "memory", **slow) as first,
        serve_shared(other, **slow) as second,
    ):

        def asked(http, server):
            return http.get(f"{server.base}/api/v1/openapi.json").status_code

        begun = time.monotonic()
        answers = [asked(ann, each) for _ in range(8) for each in (first, second)]
        took_s = time.monotonic() - begun
        assert {*answers} <= {200, 429}
        # The burst, one more at the other server, and what has come since.
        assert 4 <= answers.count(200) <= 4 + 1 + took_s
        assert [asked(bob, each) for each in (first, second)] == [200, 200]
        assert [each.end() for each in (first, second)] == [0, 0]


def test_a_timeline_is_one_on_two_servers(callers, other):
    """What is recorded, edited or forgotten through one is summed up so through the other."""
    one, two, his = callers
    day = {"period": "daily", "at": "2026-01-05"}
    said = {"content": "the quokka gate is open", "at": "2026-01-05 09:00"}
    ref = called(one, "timeline_add", **said)["ref"]
    assert "quokka gate is open" in two.call("timeline_rollup", **day).text
    assert ref in two.call("timeline_search", query="quokka gate").text
    assert "quokka" not in his.call("timeline_rollup", **day).text
    called(one, "amend", ref=ref, text="the quokka gate is shut")
    assert "is shut" in two.call("timeline_rollup", **day).text
    called(one, "amend", ref=ref, delete=True)
    assert "quokka" not in two.call("timeline_rollup", **day).text
    assert not [*home().rglob("journal.db"), *other.rglob("journal.db")]


def test_a_notebook_is_one_on_two_servers(callers, other):
    """What is written, replaced, moved or forgotten through one is so through the other."""
    one, two, his = callers
    made = called(one, "journal_write", path="gate", entry="the quokka gate is open")
    assert "quokka gate is open" in two.call("journal_list_entries", path="gate").text
    assert "quokka gate" in two.call("journal_search", content="quokka gate").text
    assert "quokka" not in his.call("journal_search", content="gate").text
    given = {"path": "gate", "entry": "it is shut", "overview": "The gate is shut."}
    assert "The gate is shut." not in one.call("journal_read", id="gate").text
    called(two, "journal_write", **given)
    assert "The gate is shut." in one.call("journal_read", id="gate").text
    called(two, "journal_write", path="gate", entry="x", overview="The gate is locked.")
    late = one.call("journal_write", path="gate", entry="y", overview="It is open.")
    assert "The gate is locked." in late.text
    ref = f"notebook:{made['id']}"
    given = {"path": "gate", "entry": "the quokka gate is gone", "supersedes": ref}
    new = called(two, "journal_write", **given)["ref"]
    assert new in one.call("open_ref", ref=ref).text
    called(one, "amend", ref=new, delete=True)
    called(one, "amend", ref=ref, delete=True)
    assert "quokka" not in two.call("journal_list_entries", path="gate").text
    assert not [*home().rglob("*.md"), *other.rglob("*.md")]


def test_a_private_journal_is_one_on_two_servers(callers, other):
    """What is written, edited, replaced or forgotten through one is so through the other."""
    one, two, his = callers
    ref = called(one, "process_thoughts", reflections="the quokka gate is open")["ref"]
    assert "quokka gate is open" in two.call("list_recent_entries").text
    assert ref in two.call("search_journal", query="quokka gate").text
    for tool, asked in (("list_recent_entries", {}), ("search_journal", {"query": "quokka"})):
        assert "quokka gate" not in his.call(tool, **asked).text
    called(one, "amend", ref=ref, text="the quokka gate is shut")
    assert "is shut" in two.call("read_journal_entry", path=ref).text
    new = called(two, "process_thoughts", reflections="the gate is gone", supersedes=ref)["ref"]
    assert new in one.call("open_ref", ref=ref).text
    called(one, "amend", ref=ref, delete=True)
    assert "is shut" not in two.call("list_recent_entries").text
    assert not [*home().rglob("*.md"), *other.rglob("*.md")]


def test_a_program_that_signed_in_at_one_server_is_let_in_at_another(other):
    """Its next tokens are given by any, and a revocation holds on both; a file of a home has none."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    environ = {"COMMONPLACE_SERVE_ADDRESS": address, "COMMONPLACE_SERVE_SIGN_IN": "true"}
    kept = Kept()
    with (
        HttpServer(http=f"127.0.0.1:{port}", **environ) as first,
        serve_shared(other, **environ) as second,
    ):

        async def sign_in():
            auth = signs_in(first.url, Person(token_for("ann")), kept=kept)
            async with httpx2.AsyncClient(auth=auth, timeout=PATIENCE_S) as web:
                await web.get(first.url)

        anyio.run(sign_in)
        assert [status(x, kept.tokens.access_token) for x in (first, second)] == [200, 200]
        asked = {
            "grant_type": "refresh_token",
            "client_id": kept.client.client_id,
            "refresh_token": kept.tokens.refresh_token,
        }
        got = httpx2.post(f"{second.base}/token", data=asked).json()
        assert [status(x, got["access_token"]) for x in (first, second)] == [200, 200]
        assert httpx2.post(f"{first.base}/token", data=asked).json()["error"] == "invalid_grant"
        grant = got["access_token"].split("_")[1]
        assert facts("tokens", "revoke", grant)["state"] == "revoked"
        for each in (first, second):
            until(lambda x=each: status(x, got["access_token"]) == 401, "it to be refused")
        assert not (home() / "sign-ins.json").exists()
