"""The gate of the HTTP server, asked directly: who is let in, as whom, and how much."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from functools import partial

import anyio
import httpx2
import pytest

from commonplace.config.settings import read_settings
from commonplace.core.errors import Denied, Invalid
from commonplace.doors.host_names import HostNames, host_name
from commonplace.doors.protocol import RateLimitExceeded
from commonplace_server.http.address import check_access, parse_address
from commonplace_server.http.authenticator import Authenticator, Offer
from commonplace_server.http.gate import Gate
from commonplace_server.http.limits import Limits, RateLimiter
from commonplace_server.http.metrics import Metrics
from commonplace_server.http.readiness import Readiness
from commonplace_server.tokens import TokenFile
from commonplace_server.wiring.tokens import open_served_tokens
from commonplace_testing import FrozenClock, ReadySlot

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
LOCAL = HostNames(hosts=frozenset({"127.0.0.1", "localhost", "::1"}), is_loopback=True)
OFFER = Offer(owner="me", toolsets=("private", "memory"), usual=("private",), may_write=True)
SMALL = Limits(per_second=1, burst=3, at_once=2, streams=1, body_bytes=1000, body_s=0.05)
ADDRESS = "http://127.0.0.1:8765"


class World:
    """A gate before something that only notes who came in."""

    def __init__(
        self, folder, *, names=LOCAL, offer=OFFER, limits=None, has_pages=True, tokens=None
    ):
        self.clock = FrozenClock(NOW)
        self.tokens = tokens or TokenFile(folder, clock=self.clock)
        self.limits = limits or Limits()
        self.came = []
        self.bodies = []
        self.hold = None
        self.authenticator = Authenticator(
            tokens=self.tokens, names=names, offer=offer, clock=self.clock
        )
        self.readiness = Readiness(
            find_problem=self.authenticator.find_problem,
            encoder=ReadySlot(None),
            monotonic=self.clock.seconds,
        )
        self.metrics = Metrics()
        self.gate = Gate(
            authenticator=self.authenticator,
            rate_limiter=RateLimiter(self.limits, self.clock.seconds),
            replies=RateLimiter(self.limits.of_replies(), self.clock.seconds),
            limits=self.limits,
            readiness=self.readiness,
            inside=self.inside,
            withheld=lambda caller: [] if caller.may_write else [b"memory_save"],
            pages=self.pages if has_pages else None,
            metrics=self.metrics,
        )

    async def pages(self, scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": scope["path"].encode()})

    async def inside(self, caller, scope, receive, send):
        self.came.append(caller)
        if scope["method"] == "POST":
            self.bodies.append((await receive())["body"])
        if self.hold is not None:
            await self.hold.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"in"})

    def ask(self, method="GET", path="/mcp", *, base=ADDRESS, **more):
        async def once():
            async with self.client(base) as client:
                return await client.request(method, path, **more)

        return anyio.run(once)

    def client(self, base=ADDRESS):
        return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=self.gate), base_url=base)

    def token(self, owner="ann", **given):
        return {"authorization": f"Bearer {self.tokens.create(owner, **given)[1]}"}


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def test_the_machines_owner_needs_no_token_while_there_are_none(world):
    """On loopback alone, and never once one was made."""
    assert world.ask().status_code == 200
    assert (world.came[0].owner, world.came[0].toolsets) == ("me", ("private",))
    world.tokens.revoke(world.tokens.create("ann")[0].id)
    assert world.ask().status_code == 401
    assert not world.authenticator.still_admits(world.came[0])


@pytest.mark.parametrize(
    "name",
    [
        "x-forwarded-for",
        "forwarded",
        "via",
        "x-real-ip",
        "x-forwarded-host",
        "x-forwarded-proto",
        "x-client-ip",
        "true-client-ip",
        "cf-connecting-ip",
    ],
)
def test_who_comes_through_a_proxy_is_not_on_this_machine(world, name):
    """And needs a token."""
    assert world.ask(headers={name: "203.0.113.7"}).status_code == 401


def test_elsewhere_everybody_needs_a_token(tmp_path):
    """Even while there are none."""
    names = HostNames(hosts=frozenset({"127.0.0.1"}), is_loopback=False)
    assert World(tmp_path, names=names).ask().status_code == 401


def test_a_token_opens_the_journals_of_its_owner(world):
    """With its own toolsets and scope, as far as the server offers them."""
    assert world.ask(headers=world.token("ann")).status_code == 200
    assert world.ask(headers=world.token("bob", toolsets=["memory", "timeline"], scopes=["read"]))
    ann, bob = world.came
    assert (ann.owner, ann.toolsets, ann.may_write) == ("ann", ("private",), True)
    assert (bob.owner, bob.toolsets, bob.may_write) == ("bob", ("memory",), False)


@pytest.mark.parametrize(
    "given",
    ["", "Bearer", "Bearer ", "Bearer nonsense", "Basic YW5uOng=", "cp_12345678_x", "Bearer é"],
)
def test_what_is_no_token_is_refused(world, given):
    """With 401, what is wrong, and how to do it."""
    world.token()
    answer = world.ask(headers={"authorization": given.encode()})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith('Bearer realm="commonplace"')
    assert answer.json()["error"]["data"]["code"] == "denied"


def test_a_revoked_and_an_expired_token_are_refused_at_the_next_request(world):
    """Neither at the next start, nor in a minute."""
    ann = world.token("ann", expires_at=NOW + timedelta(hours=1))
    bob = world.token("bob")
    assert [world.ask(headers=x).status_code for x in (ann, bob)] == [200, 200]
    world.clock.at = NOW + timedelta(hours=1)
    world.tokens.revoke(bob["authorization"].split("_")[1])
    answers = [world.ask(headers=x) for x in (ann, bob)]
    assert [x.status_code for x in answers] == [401, 401]
    assert 'error="invalid_token"' in answers[0].headers["www-authenticate"]
    assert not any(map(world.authenticator.still_admits, world.came))


def test_a_proxy_that_says_nothing_speaks_the_older_protocol(world):
    """As nginx does by itself: no client of ours does, and with a token it is let in."""
    ask = partial(ask_slowly, meanwhile=lambda: None, http_version="1.0")
    assert anyio.run(ask, world, {}) == 401
    assert anyio.run(ask, world, world.token()) == 200


async def ask_slowly(world, headers, meanwhile, http_version="1.1"):
    """The status of a request before whose body something else happens."""
    sent = []

    async def receive():
        meanwhile()
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message):
        sent.append(message)

    pairs = [(name.encode(), text.encode()) for name, text in headers.items()]
    scope = {
        "type": "http",
        "http_version": http_version,
        "method": "POST",
        "path": "/mcp",
        "headers": [(b"host", b"localhost"), *pairs],
    }
    await world.gate(scope, receive, send)
    return sent[0]["status"]


def test_a_token_that_ends_while_the_request_comes(world):
    """Lets nothing in: a call begins after its body, and that may take its time."""
    ann = world.token("ann", expires_at=NOW + timedelta(seconds=1))
    bob = world.token("bob")

    def expire():
        world.clock.at = NOW + timedelta(seconds=1)

    def revoke():
        world.tokens.revoke(bob["authorization"].split("_")[1])

    assert anyio.run(ask_slowly, world, bob, lambda: None) == 200
    assert anyio.run(ask_slowly, world, ann, expire) == 401
    assert anyio.run(ask_slowly, world, bob, revoke) == 401
    assert len(world.came) == 1


def test_the_machines_owner_while_the_first_token_is_made(world):
    """Is let in no more."""
    assert anyio.run(ask_slowly, world, {}, world.token) == 401


def test_a_token_that_is_edited_keeps_nothing_open(world, tmp_path):
    """What was opened by it could do what it says no longer; a new request may do what it says."""
    ann = world.token("ann")
    assert world.ask(headers=ann).status_code == 200
    (before,) = world.came
    assert world.authenticator.still_admits(before)
    file = tmp_path / "tokens.json"
    told = json.loads(file.read_text())
    told["tokens"][0]["scopes"] = ["read"]
    file.write_text(json.dumps(told))
    assert not world.authenticator.still_admits(before)
    assert world.ask(headers=ann).status_code == 200
    assert not world.came[-1].may_write


def test_a_token_in_the_address_is_none(world):
    """Addresses are logged by others."""
    token = world.token()["authorization"].split()[1]
    assert world.ask(path=f"/mcp?token={token}&access_token={token}").status_code == 401


def test_a_token_for_toolsets_that_are_not_offered(world):
    """Is forbidden, not unauthorized."""
    answer = world.ask(headers=world.token(toolsets=["timeline"]))
    assert answer.status_code == 403
    assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]


def test_a_call_that_a_token_may_not_make_is_forbidden(world):
    """Told from a text that merely names the tool."""
    reading = world.token(scopes=["read"])
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    denied = call | {"params": {"name": "memory_save", "arguments": {}}}
    told = call | {
        "params": {"name": "search", "arguments": {"query": "memory_save", "x": '"memory_save"'}}
    }
    assert world.ask("POST", json=denied, headers=reading).status_code == 403
    assert world.ask("POST", json=told, headers=reading).status_code == 200
    assert world.ask("POST", json=denied, headers=world.token()).status_code == 200
    assert world.ask("POST", content=b'"memory_save" [', headers=reading).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8765",
        "0.0.0.0",
        "",
        "[::1",
        "a:b",
    ],
)
def test_a_name_that_is_not_the_servers(world, host):
    """As after DNS rebinding."""
    assert world.ask(headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8765", "LOCALHOST:1", "[::1]:8765"])
def test_names_of_this_machine(world, host):
    """With and without a port."""
    assert world.ask(headers={"host": host}).status_code == 200


def test_a_tool_whose_name_is_no_text(world):
    """Is none that could be withheld."""
    body = rb'{"method": "tools/call", "params": {"name": "\ud800", "arguments": {"x": "memory_save"}}}'
    answer = world.ask("POST", content=body, headers=world.token(scopes=["read"]))
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://evil.example",
        "http://127.0.0.1:3000",
        "http://localhost:8765",
        "https://127.0.0.1",
    ],
)
def test_a_page_of_another_site(world, origin):
    """Is not let in; one of the server itself would be."""
    assert world.ask(headers={"origin": origin}).status_code == 403
    assert world.ask(headers={"origin": ADDRESS}).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", ""])
def test_what_a_browser_fetches_for_another_site(world, site):
    """An image, a form, a link: it says so where it sends no Origin."""
    assert world.ask(headers={"sec-fetch-site": site}).status_code == 403
    assert world.ask(headers={"sec-fetch-site": "none"}).status_code == 200


def test_what_is_not_there(world):
    """404 and 405, and a word on health that needs no token."""
    ann = world.token()
    assert world.ask(path="/").status_code == 404
    assert world.ask(path="/.well-known/oauth-protected-resource").status_code == 404
    assert world.ask("OPTIONS").status_code == 405
    assert world.ask("PUT").status_code == 405
    assert world.ask(path="/healthz").json() == {"status": "ok"}
    assert world.ask("HEAD", path="/healthz").status_code == 200
    world.readiness.state = "stopping"
    assert world.ask(path="/healthz").json() == {"status": "stopping"}
    assert world.ask(headers=ann).headers["retry-after"] == "5"
    assert world.ask("POST", json={"method": "x"}, headers=ann).status_code == 503
    reply = {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert world.ask("POST", json=reply, headers=ann).status_code == 503
    assert world.ask("POST", json=reply, headers=ann | {"mcp-session-id": "1"}).status_code == 200


def test_who_is_not_let_in_is_not_kept_connected(world):
    """Nor is a body waited for that nobody reads; who was let in, and read, may ask again.

    A word on health needs no token, so it keeps nobody connected.
    """
    ann = world.token()
    refused = [
        world.ask("POST", json={}),
        world.ask("POST", path="/"),
        world.ask("PUT"),
        world.ask("POST", json={}, headers=ann | {"host": "evil.example"}),
        world.ask("POST", json={}, headers=ann | {"origin": "null"}),
        world.ask("POST", json={}, headers=world.token(toolsets=["timeline"])),
        world.ask(path="/healthz"),
        world.ask(path="/readyz"),
    ]
    assert [x.status_code for x in refused] == [401, 404, 405, 421, 403, 403, 200, 200]
    assert {x.headers["connection"] for x in refused} == {"close"}
    reading = world.token(scopes=["read"])
    denied = {"method": "tools/call", "params": {"name": "memory_save"}}
    answer = world.ask("POST", json=denied, headers=reading)
    assert (answer.status_code, answer.headers.get("connection")) == (403, None)


def test_who_is_refused_is_answered_under_the_id_of_the_request(tmp_path):
    """Codex waits for an answer with that id until its user gives up, whatever the status."""
    world = World(tmp_path, limits=SMALL)
    ann, bob = world.token(), world.token("bob", scopes=["read"])
    call = b'{"id": %s, "method": "tools/call", "params": {"name": "memory_save"}}'

    def ask(headers, body=call % b"7"):
        refused = world.ask("POST", content=body, headers=headers)
        return refused.status_code, refused.json()["id"]

    assert ask(bob) == (403, 7)
    assert [world.ask(headers=ann).status_code for _ in range(3)] == [200] * 3
    assert ask(ann, call % b'"seven"') == (429, "seven")
    assert {ask(ann, x) for x in (b"{", b"[" * 900, call % b"[7]", call % b"true")} == {(429, None)}
    world.readiness.state = "stopping"
    assert ask(world.token("cem")) == (503, 7)


def test_a_body_that_is_too_large(tmp_path):
    """Told or not, whole or in parts."""
    world = World(tmp_path, limits=SMALL)
    assert world.ask("POST", content=b"x" * 1000).status_code == 200
    assert world.ask("POST", content=b"x" * 1001).status_code == 413

    async def parts():
        for _ in range(11):
            yield b"x" * 100

    assert world.ask("POST", content=parts()).status_code == 413
    assert world.bodies == [b"x" * 1000]


def test_a_body_that_never_comes(tmp_path):
    """Is waited for as long as the limit says."""
    world = World(tmp_path, limits=SMALL)
    sent = []

    async def receive():
        await anyio.sleep_forever()

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": "/mcp",
        "headers": [(b"host", b"localhost"), (b"content-length", b"10")],
    }
    anyio.run(world.gate, scope, receive, send)
    assert sent[0]["status"] == 408


def test_an_owner_who_asks_too_often(tmp_path):
    """429 with the time to wait; others are not concerned."""
    world = World(tmp_path, limits=SMALL)
    ann, bob = world.token("ann"), world.token("bob")
    assert [world.ask(headers=ann).status_code for _ in range(4)] == [200, 200, 200, 429]
    assert world.ask(headers=ann).headers["retry-after"] == "1"
    assert world.ask(headers=bob).status_code == 200
    world.clock.at += timedelta(seconds=1)
    assert [world.ask(headers=ann).status_code for _ in range(2)] == [200, 429]


def test_an_owner_who_asks_too_much_at_once(tmp_path):
    """However many tokens it has; one that ended makes room."""
    world = World(tmp_path, limits=Limits(at_once=2))
    one, two = world.token("ann"), world.token("ann")

    async def scenario():
        world.hold = anyio.Event()
        async with world.client() as client, anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: client.post("/mcp", headers=one))
            tasks.start_soon(lambda: client.post("/mcp", headers=two))
            await anyio.wait_all_tasks_blocked()
            refused = await client.post("/mcp", headers=one)
            world.hold.set()
        async with world.client() as client:
            return refused, await client.post("/mcp", headers=one)

    refused, later = anyio.run(scenario)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert later.status_code == 200


def test_what_a_call_waits_for_comes_in(tmp_path):
    """Answers of clients' models, however much else their owner asks; and only so much of them."""
    world = World(tmp_path, limits=Limits(at_once=1, replies=1, burst=2, per_second=1))
    ann = world.token("ann")
    session = ann | {"mcp-session-id": "1"}
    reply = {"jsonrpc": "2.0", "id": 1, "result": {}}

    async def scenario():
        world.hold = anyio.Event()
        async with world.client() as client, anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: client.post("/mcp", headers=ann))
            await anyio.wait_all_tasks_blocked()
            codes = [
                (await client.post("/mcp", json=asked, headers=headers)).status_code
                for headers, asked in ((session, {"method": "ping"}), (ann, reply))
            ]
            tasks.start_soon(lambda: client.post("/mcp", json=reply, headers=session))
            await anyio.wait_all_tasks_blocked()
            codes.append((await client.post("/mcp", json=reply, headers=session)).status_code)
            world.hold.set()
        return codes

    assert anyio.run(scenario) == [429, 429, 429]
    assert len(world.came) == 2
    assert json.loads(world.bodies[1]) == reply
    world.clock.at += timedelta(seconds=1)
    codes = [world.ask("POST", json=x, headers=session).status_code for x in ({}, reply, reply)]
    assert codes == [200, 200, 429]


CALL = rb'{"\u006dethod": "tools/call", "id": 1, "params": {}, "result": {"a": 1}}'
REPLY = b'{"id": 1, "result": {"content": {"method": "of cooking", "note": "\\"method\\""}}}'


@pytest.mark.parametrize(
    ("body", "is_reply"),
    [
        (CALL, False),
        (b'{"method": "ping", "error": {}}', False),
        (b'{"id": 1, "params": {"result": 1, "error": 1}}', False),
        (b'[{"id": 1, "result": {}}]', False),
        (b"[" * 100_000, False),
        (b'{"id": 1, "result": "%s"}' % (b"x" * 1024 * 1024), False),
        (REPLY, True),
        (b'{"id": 1, "error": {"code": 1, "message": "No."}}', True),
    ],
)
def test_what_is_a_reply_is_read_and_not_guessed(tmp_path, body, is_reply):
    """A call that is written to look like one has no more room than any; a reply may say anything."""
    world = World(tmp_path, limits=Limits(burst=1, per_second=1))
    session = world.token("ann") | {"mcp-session-id": "1"}
    assert world.ask("POST", json={"method": "ping"}, headers=session).status_code == 200
    assert world.ask("POST", content=body, headers=session).status_code == (
        200 if is_reply else 429
    )
    world.clock.at += timedelta(seconds=1)
    world.readiness.state = "stopping"
    assert world.ask("POST", content=body, headers=session).status_code == (
        200 if is_reply else 503
    )


def test_streams_are_counted_apart():
    """One owner's open streams take no room from its calls."""
    rate_limiter = RateLimiter(SMALL, lambda: 0.0)
    with rate_limiter.stream("ann"):
        with pytest.raises(RateLimitExceeded, match="open streams"), rate_limiter.stream("ann"):
            pass
        with rate_limiter.call("ann"):
            pass


def test_a_use_of_a_token_is_noted(world):
    """Of one that is let in, and not of one that was revoked."""
    ann, bob = world.token("ann"), world.token("bob")
    revoked = world.tokens.revoke(bob["authorization"].split("_")[1])
    assert world.ask(headers=ann).status_code == 200
    assert world.ask(headers=bob).status_code == 401
    uses = {token.owner: world.tokens.last_use(token) for token in world.tokens.list_tokens()}
    assert uses == {"ann": NOW, revoked.owner: None}


BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def test_a_browser_gets_a_page_that_says_how_to_connect(world):
    """Without a token, though there are some; nothing in it may run, load, or be framed."""
    world.token("secretive-ann")
    shown = world.ask(path="/", headers=BROWSER)
    assert shown.status_code == 200
    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    assert f"claude mcp add --transport http commonplace {ADDRESS}/mcp" in shown.text
    assert "secretive" not in shown.text
    policy = shown.headers["content-security-policy"].split("; ")
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    style = re.search("<style>(.*?)</style>", shown.text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert "<script" not in shown.text
    assert shown.headers["connection"] == "close"


def test_without_pages_nothing_leads_to_them(tmp_path):
    """Neither the page for browsers nor what is said where nothing is."""
    for has_pages in (True, False):
        world = World(tmp_path, has_pages=has_pages)
        shown = world.ask(path="/", headers=BROWSER).text
        assert ("/web" in shown) is has_pages
        assert shown.rstrip().endswith("</body>\n</html>")
        refused = world.ask(path="/nothing")
        assert refused.status_code == 404
        assert ("/web" in refused.text) is has_pages
        assert "/mcp" in refused.text


def test_the_page_names_the_address_that_a_proxy_answers_at(tmp_path):
    """With TLS, where the proxy says that it speaks it."""
    names = HostNames(hosts=frozenset({"memory.example.org"}), is_loopback=True)
    world = World(tmp_path, names=names)
    given = {**BROWSER, "x-forwarded-proto": "https"}
    shown = world.ask(path="/", headers=given, base="http://memory.example.org")
    assert "https://memory.example.org/mcp" in shown.text


@pytest.mark.parametrize(
    ("method", "path", "accept", "status"),
    [
        ("GET", "/", "application/json", 404),
        ("GET", "/", "*/*", 404),
        ("POST", "/", "text/html", 404),
        ("GET", "/favicon.ico", "text/html", 404),
        ("GET", "/mcp", "text/html", 200),
    ],
)
def test_the_page_is_for_browsers_at_the_root_alone(world, method, path, accept, status):
    """Other requests are answered as before."""
    shown = world.ask(method, path, headers={"accept": accept})
    assert shown.status_code == status
    assert "text/html" not in shown.headers.get("content-type", "")


def test_the_page_is_not_shown_under_a_foreign_name(world):
    """A page of another site that points its name here learns nothing."""
    shown = world.ask(path="/", headers=BROWSER, base="http://evil.example")
    assert shown.status_code == 421


def test_damaged_tokens_let_nobody_in(world, tmp_path):
    """Least of all without one; and it can be told why."""
    assert world.authenticator.find_problem() == ""
    (tmp_path / "tokens.json").write_text("{")
    refused = world.ask(path="/api/v1/tools/recall")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert refused.json() == {
        "code": "unavailable",
        "message": "The file of tokens cannot be read. It is damaged.",
        "hint": "Move it away, and create the tokens again.",
    }
    assert "tokens.json cannot be read" in world.authenticator.find_problem()


@pytest.mark.parametrize("path", ["/mcp", "/api/v1/tools/recall", "/metrics"])
def test_while_the_database_is_away_each_door_says_so(tmp_path, monkeypatch, path):
    """In the words of a call that was let in before, less its name: nobody knows who asks."""
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", "postgresql://app@127.0.0.1:1/m")
    settings = read_settings(cwd=tmp_path, home=tmp_path)
    with open_served_tokens(settings) as kept:
        world = World(tmp_path, tokens=kept.tokens)
        shown = {"authorization": f"Bearer cp_12345678_{'x' * 43}"}
        refused = world.ask(path=path, headers=shown)
    said = refused.json()
    facts = said if path.startswith("/api") else said["error"]["data"]
    assert refused.status_code == 503
    assert facts == {
        "code": "unavailable",
        "message": "The database does not answer.",
        "hint": "Check that it runs, then try again.",
    }


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("Example.ORG:80", "example.org"),
        ("example.org.", "example.org"),
        ("[::1]:8", "::1"),
        ("[::1]", "::1"),
        ("[::1]x", ""),
        ("a:b:c", ""),
        ("", ""),
        ("x:8x", ""),
    ],
)
def test_the_name_in_a_host_header(header, name):
    """Without its port."""
    assert host_name(header) == name


def test_addresses():
    """As people write them."""
    assert (parse_address("[::1]:80").host, parse_address("0.0.0.0:0").port) == ("::1", 0)
    for wrong in ("", "8765", ":8765", "localhost", "localhost:x", "localhost:65536"):
        with pytest.raises(Invalid, match=r"127\.0\.0\.1:8765"):
            parse_address(wrong)
    with pytest.raises(Invalid, match="Invalid host"):
        parse_address("localhost:1", ["a b:c"])


def test_all_addresses_are_names_of_a_server_on_all_of_them():
    """No other name is: one that leads here may be anybody's."""
    names = parse_address("0.0.0.0:80", ["memory.example.org"]).names
    assert not names.is_loopback
    assert names.knows("203.0.113.7:80")
    assert names.knows("memory.example.org")
    assert not names.knows("evil.example")
    assert names.knows("[2001:db8::7]:80")


@pytest.mark.parametrize(
    "host", ['[::1]:"><script>', "127.0.0.1:\xb2", "127.0.0.1:123456", "[fe80::1%<script>]"]
)
def test_a_host_header_has_a_port_of_digits_and_an_address_without_more(host):
    """The page of a browser shows what is let in here."""
    assert not parse_address("0.0.0.0:80").names.knows(host)
    assert not parse_address("127.0.0.1:80").names.knows(host)


@pytest.mark.parametrize(
    ("address", "also"),
    [("0.0.0.0:1", []), ("192.0.2.1:1", []), ("127.0.0.1:1", ["memory.example.org"])],
)
def test_nobody_is_let_in_from_elsewhere_without_tokens(world, address, also):
    """It is refused at the start, with what to do."""
    where = parse_address(address, also)
    with pytest.raises(Denied, match="there are no tokens") as caught:
        check_access(where, world.tokens)
    assert caught.value.hint.startswith("Make one first")
    world.token()
    check_access(where, world.tokens)


@pytest.mark.parametrize(("path", "answered"), [("/web", True), ("/web/x", True), ("/webx", False)])
def test_pages_for_browsers_have_a_guard_of_their_own(world, path, answered):
    """They are handed on without a token, until the server stops."""

    async def scenario():
        async with world.client() as client:
            before = await client.get(path)
            world.readiness.state = "stopping"
            return before, await client.get(path)

    before, after = anyio.run(scenario)
    assert (before.status_code == 200 and before.text == path) is answered
    assert after.status_code in {503, 404}
