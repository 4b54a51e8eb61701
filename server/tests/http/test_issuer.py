"""Access tokens of an identity provider: who is let in by them, and which attacks are not."""

from __future__ import annotations

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import anyio.to_thread
import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from server.tests.http_world import HttpServer, bearer, home, token_for
from tests.patience import PATIENCE_S

from commonplace.core.errors import Denied, Unavailable
from commonplace_server.http.authenticator import Authenticator, Offer
from commonplace_server.http.issuer import Issuer, SpaceRoles, fetch_json

URL = "https://id.example.org/realms/home"
AUDIENCE = "https://memory.example.org/mcp"
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()
OFFER = Offer(owner="me", toolsets=("memory",), usual=("memory",), may_write=True)
PUBLIC_PEM = RSA.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)


def as_jwk(key, **more):
    """The public half of a key, as a provider shows it."""
    algorithms = {rsa.RSAPrivateKey: "RS256", ec.EllipticCurvePrivateKey: "ES256"}
    name = next((x for kind, x in algorithms.items() if isinstance(key, kind)), "EdDSA")
    made = jwt.get_algorithm_by_name(name).to_jwk(key.public_key(), as_dict=True)
    return {**made, "use": "sig", **more}


KEYS = [
    as_jwk(RSA, kid="rsa"),
    as_jwk(EC, kid="ec", alg="ES256"),
    as_jwk(ED, kid="ed"),
    as_jwk(OTHER, kid="encrypting", use="enc"),
    {"kty": "oct", "kid": "shared", "k": base64.urlsafe_b64encode(b"secret" * 8).decode()},
    {"kty": "of-2031", "kid": "later"},
]


class Provider:
    """What a provider answers, and how often it was asked."""

    def __init__(self, keys):
        self.keys = keys
        self.asked = []
        self.says = {"issuer": URL, "jwks_uri": f"{URL}/keys"}
        self.is_down = False
        self.wait = lambda: None

    def __call__(self, address):
        self.asked.append(address)
        self.wait()
        if self.is_down:
            raise Unavailable("It is down.")
        if address == f"{URL}/.well-known/openid-configuration":
            return self.says
        if address == f"{URL}/keys":
            return {"keys": self.keys}
        raise Unavailable("There is no such page.")


TEAM = "space:team"
SPACES = SpaceRoles(
    "groups",
    [
        (TEAM, "read", "staff"),
        (TEAM, "write", "/eng ineers"),
        (TEAM, "admin", "leads"),
        ("space:choir", "admin", "singers"),
    ],
)


class World:
    """An issuer whose keys are here, at a time that stands still."""

    def __init__(self, **given):
        self.provider = Provider([*KEYS])
        self.now = 0.0
        self.issuer = Issuer(
            URL,
            audience=AUDIENCE,
            withheld="me",
            fetch=self.provider,
            monotonic=lambda: self.now,
            **{"owner_claim": "sub", "spaces": SPACES, **given},
        )
        self.issuer.refresh()


@pytest.fixture
def world():
    """A world whose users are named by `sub`."""
    return World()


def claims(**more):
    """Those of a valid token; a claim of None is left out."""
    now = int(time.time())
    more = {"exp": now + more.pop("ends_in", 21_600), **more}
    made = {"iss": URL, "aud": AUDIENCE, "sub": "ann", "iat": now}
    made |= {"scope": "read write", "client_id": "claude", **more}
    return {name: value for name, value in made.items() if value is not None}


def signed(key=RSA, *, alg="RS256", kid="rsa", headers=None, **more):
    """A token with these claims."""
    named = {} if kid is None else {"kid": kid}
    payload = json.dumps(claims(**more)).encode()  # as the library writes no wrong claim
    return jwt.PyJWS().encode(payload, key, algorithm=alg, headers={**named, **(headers or {})})


def part(value):
    """One part of a token that is put together by hand."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def test_a_token_says_who_and_what(world):
    """Owner, rights and toolsets come from its claims, and its end from `exp`."""
    token = world.issuer.read(signed(scope="openid read write toolset:recall toolset:memory"))
    assert (token.owner, token.scopes) == ("ann", ("read", "write"))
    assert token.toolsets == ("memory", "recall")
    assert token.label == "claude"


@pytest.mark.parametrize("algorithm", [["RS256"], {"RS256": 1}, 7, None])
def test_an_algorithm_that_is_no_text_is_no_error(world, algorithm):
    """Anybody can send it, as nobody has signed a header that is read."""
    text = ".".join((part({"alg": algorithm, "kid": "rsa"}), part(claims()), "AAAA"))
    assert not world.issuer.lacks_key(text)
    assert world.issuer.read(text) is None


def test_a_key_whose_name_is_no_text_is_passed_over(world):
    """The other keys of the provider are read all the same."""
    world.provider.keys.append({**as_jwk(OTHER), "kid": ["rsa"]})
    world.now = 11.0
    world.issuer.refresh()
    assert world.issuer.read(signed()).owner == "ann"


def test_a_slow_provider_holds_up_one_thread_alone(world):
    """Valid tokens are read while keys are fetched, and nobody else waits to fetch them."""
    asked, goes_on = threading.Event(), threading.Event()

    def wait():
        asked.set()
        goes_on.wait(PATIENCE_S)

    world.provider.wait = wait
    world.now = 11.0
    done = []
    fetching = threading.Thread(target=world.issuer.refresh)
    fetching.start()
    assert asked.wait(PATIENCE_S)
    world.now = 22.0

    def ask():
        done.append(world.issuer.read(signed()).owner)
        world.issuer.refresh()
        done.append("not waited")

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(PATIENCE_S / 4)
    was_done = [*done]
    goes_on.set()
    asking.join()
    fetching.join()
    assert was_done == ["ann", "not waited"]


@pytest.mark.parametrize(
    ("key", "alg", "kid"),
    [
        (RSA, "RS256", "rsa"),
        (RSA, "RS512", "rsa"),
        (RSA, "PS256", "rsa"),
        (EC, "ES256", "ec"),
        (ED, "EdDSA", "ed"),
    ],
)
def test_each_kind_of_key_is_read(world, key, alg, kid):
    """As providers of today sign."""
    assert world.issuer.read(signed(key, alg=alg, kid=kid)).owner == "ann"


@pytest.mark.parametrize(
    "more",
    [
        {"aud": [AUDIENCE, "https://other.example.org"]},
        {"iss": f"{URL}/"},
        {"scope": None, "scp": ["read", "write"]},
        {"nbf": int(time.time()) + 10},
        {"ends_in": -10},
        {"client_id": None, "azp": "claude"},
    ],
)
def test_what_providers_write_otherwise_is_read_too(world, more):
    """A list of audiences, a slash behind the issuer, scopes as a list, clocks that differ a bit."""
    token = world.issuer.read(signed(**more))
    assert (token.owner, token.scopes, token.label) == ("ann", ("read", "write"), "claude")


NOW = int(time.time())
ATTACKS = {
    "no text": "",
    "no token": "hello",
    "two parts": "a.b",
    "four parts": "a.b.c.d",
    "dots": "..",
    "not base64": "!!.!!.!!",
    "not JSON": f"{base64.urlsafe_b64encode(b'x').decode()}.e30.e30",
    "a header that is a list": f"{part([])}.{part(claims())}.",
    "a header deep as a well": f"{base64.urlsafe_b64encode(b'[' * 9000).decode()}.e30.e30",
    "as long as a book": signed(extra="x" * 20_000),
    "alg none": jwt.encode(claims(), None, algorithm="none"),
    "alg None": f"{part({'alg': 'None', 'kid': 'rsa'})}.{part(claims())}.",
    "alg nOnE": f"{part({'alg': 'nOnE', 'kid': 'rsa'})}.{part(claims())}.",
    "alg missing": f"{part({'kid': 'rsa'})}.{part(claims())}.x",
    "alg a number": f"{part({'alg': 1, 'kid': 'rsa'})}.{part(claims())}.x",
    "alg a list": f"{part({'alg': ['RS256'], 'kid': 'rsa'})}.{part(claims())}.x",
    "shared secret of the set": signed(b"secret" * 8, alg="HS256", kid="shared"),
    "shared secret, any": signed(b"secret" * 8, alg="HS256"),
    "another key of the same name": signed(OTHER),
    "a key of the set that is not for signatures": signed(OTHER, kid="encrypting"),
    "another key and no name": signed(OTHER, kid=None),
    "no name where there are several": signed(kid=None),
    "a name that there is not": signed(kid="none"),
    "an empty name": signed(kid=""),
    "a name that is a path": signed(kid="../../dev/null"),
    "a name that is SQL": signed(kid="' OR 1=1 --"),
    "a name that is a number": f"{part({'alg': 'RS256', 'kid': 1})}.{part(claims())}.x",
    "a name that is a list": f"{part({'alg': 'RS256', 'kid': ['rsa']})}.{part(claims())}.x",
    "one key, named as the other": signed(EC, alg="ES256", kid="rsa"),
    "the other, named as the one": signed(RSA, kid="ec"),
    "an algorithm that the key is not for": signed(RSA, alg="RS512", kid="ec"),
    "a key in the header": signed(OTHER, headers={"jwk": as_jwk(OTHER)}, kid=None),
    "keys at an address in the header": signed(OTHER, headers={"jku": "https://evil.example/"}),
    "a certificate in the header": signed(OTHER, headers={"x5c": ["MIIB"]}),
    "a certificate at an address": signed(OTHER, headers={"x5u": "https://evil.example/"}),
    "what must be understood": signed(headers={"crit": ["exp"], "exp": 1}),
    "no signature": ".".join([*signed().split(".")[:2], ""]),
    "half a signature": signed()[:-100],
    "a signature of zeros": ".".join([*signed().split(".")[:2], "A" * 342]),
    "the signature of another": ".".join(
        [*signed(sub="bob").split(".")[:2], signed().split(".")[2]]
    ),
    "the header of another": ".".join(
        [part({"alg": "RS256", "kid": "rsa", "typ": "x"}), *signed().split(".")[1:]]
    ),
    "encrypted": f"{part({'alg': 'RSA-OAEP', 'enc': 'A256GCM', 'kid': 'rsa'})}.x.y",
    "over": signed(exp=NOW - 3600),
    "over by a minute": signed(exp=NOW - 60),
    "without an end": signed(exp=None),
    "an end that is a text": signed(exp="tomorrow"),
    "an end that is no number": f"{part({'alg': 'RS256', 'kid': 'rsa'})}.e30.x",
    "an end beyond all time": signed(exp=10**20),
    "not yet": signed(nbf=NOW + 3600),
    "made tomorrow": signed(iat=NOW + 86_400),
    "of another issuer": signed(iss="https://evil.example"),
    "of an issuer whose name begins so": signed(iss=f"{URL}.evil.example"),
    "of an issuer above": signed(iss="https://id.example.org"),
    "of an issuer in upper case": signed(iss=URL.upper()),
    "of no issuer": signed(iss=None),
    "of several issuers": signed(iss=[URL, "https://evil.example"]),
    "for another": signed(aud="https://other.example.org/mcp"),
    "for one whose name begins so": signed(aud=f"{AUDIENCE}/other"),
    "for the host alone": signed(aud="https://memory.example.org"),
    "for a client, as an id token is": signed(aud="claude"),
    "for none": signed(aud=None),
    "for an empty one": signed(aud=""),
    "for an empty list": signed(aud=[]),
    "for a number": signed(aud=[1]),
}


@pytest.mark.parametrize("text", ATTACKS.values(), ids=ATTACKS)
def test_no_attack_is_let_in(world, text):
    """What the provider did not sign for this server, for now, opens nothing."""
    assert world.issuer.read(text) is None


REFUSED = {
    "no user": {"sub": None},
    "an empty user": {"sub": ""},
    "a blank user": {"sub": "  "},
    "a user with a line in it": {"sub": "ann\nbob"},
    "a user with a zero in it": {"sub": "ann\0"},
    "a user of a book's length": {"sub": "a" * 500},
    "the machine's own": {"sub": "me"},
    "a space": {"sub": "space:team"},
}


@pytest.mark.parametrize("more", REFUSED.values(), ids=REFUSED)
def test_who_cannot_be_a_user_is_said(world, more):
    """The provider signed it, and its claim names nobody here."""
    with pytest.raises(Denied):
        world.issuer.read(signed(**more))


@pytest.mark.parametrize("given", [1, ["ann"], {"name": "ann"}, True])
def test_a_user_that_is_no_text_is_refused(given):
    """Another claim than `sub` may be of any type."""
    with pytest.raises(Denied, match="user_name"):
        World(owner_claim="user_name").issuer.read(signed(user_name=given))


@pytest.mark.parametrize(
    ("scope", "may_read", "may_write"),
    [
        ("", False, False),
        ("openid profile", False, False),
        ("READ", False, False),
        ("reader", False, False),
        ("metrics", False, False),
        ("read", True, False),
        ("read write", True, True),
        ("write", False, True),
    ],
)
def test_a_scope_is_taken_to_the_word(world, scope, may_read, may_write):
    """No scope is a part of another, and none opens metrics."""
    token = world.issuer.read(signed(scope=scope))
    assert (token.may_read, token.may_write) == (may_read, may_write)
    assert "metrics" not in token.scopes


@pytest.mark.parametrize("scope", [7, {"read": 1}, None, [["read"], 1]])
def test_scopes_of_another_type_are_none(world, scope):
    """Nothing is read into them."""
    assert world.issuer.read(signed(scope=scope)).scopes == ()


@pytest.mark.parametrize(
    ("groups", "scope", "rights"),
    [
        (["staff"], "read write admin", ("read",)),
        (["staff", "/eng ineers"], "read write admin", ("read", "write")),
        (["leads", "singers"], "read write admin", ("read", "write", "admin")),
        (["leads"], "read write", ("read", "write")),
        (["leads"], "read", ("read",)),
        ("leads", "read write", ("read", "write")),
        ([7, None, ["leads"], "staff"], "read write", ("read",)),
        (["staff"], "write", ()),
    ],
)
def test_a_role_in_a_space_comes_from_groups_and_scopes(world, groups, scope, rights):
    """The greatest of all groups, and no more than the token is for."""
    token = world.issuer.read(signed(groups=groups, scope=scope), TEAM)
    assert (token.owner, token.member, token.scopes) == (TEAM, "ann", rights)
    own = world.issuer.read(signed(groups=groups, scope=scope))
    assert (own.owner, own.member, "admin" in own.scopes) == ("ann", "", False)
    assert own.id != token.id


@pytest.mark.parametrize(
    "groups",
    [None, [], "", "Staff", "staff ", "staff,leads", "singers", ["team:admin"], {"staff": 1}, True],
)
def test_who_is_in_no_group_of_a_space_is_not_let_in(world, groups):
    """Nor is anybody told whether there is such a space."""
    said = []
    for space in (TEAM, "space:none"):
        with pytest.raises(Denied) as refused:
            world.issuer.read(signed(groups=groups), space)
        said.append(str(refused.value).replace(space.removeprefix("space:"), "…"))
    assert said[0] == said[1]


def test_what_no_journal_names_as_an_author_is_no_member(world):
    """Though a provider made it, and its group is one of the space."""
    for name in ("ann <x>", "me", "space:team"):
        with pytest.raises(Denied):
            world.issuer.read(signed(sub=name, groups=["leads"]), TEAM)


def test_the_next_token_goes_on_with_what_the_last_began(world):
    """One user, client and rights are one caller; any other is another."""
    first = world.issuer.read(signed()).id
    assert world.issuer.read(signed(iat=NOW - 5)).id == first
    for more in ({"sub": "bob"}, {"client_id": "codex"}, {"scope": "read"}):
        assert world.issuer.read(signed(**more)).id != first


def test_new_keys_are_fetched_and_old_ones_leave(world):
    """As a provider changes them; not more than once in ten seconds, whoever asks."""
    text = signed(OTHER, kid="new")
    assert not world.issuer.lacks_key(text)  # just asked
    world.now = 11.0
    assert world.issuer.lacks_key(text)
    assert not world.issuer.lacks_key(signed())
    world.provider.keys = [as_jwk(OTHER, kid="new")]
    world.issuer.refresh()
    asked = len(world.provider.asked)
    world.issuer.refresh()
    assert len(world.provider.asked) == asked
    assert world.issuer.read(text).owner == "ann"
    assert world.issuer.read(signed()) is None
    world.now = 700.0
    assert world.issuer.lacks_key(text)


def test_who_comes_beside_a_fetch_waits_for_it(world):
    """Both of a new key are let in, by one fetch; who brings a known key waits for nothing."""
    authenticator = Authenticator(
        tokens=None, names=None, offer=OFFER, clock=None, issuer=world.issuer
    )
    new, known = (
        {b"authorization": f"Bearer {x}".encode()} for x in (signed(OTHER, kid="new"), signed())
    )
    world.now, world.provider.keys = 700.0, [*world.provider.keys, as_jwk(OTHER, kid="new")]
    begun, may_end = threading.Event(), threading.Event()

    def wait():
        begun.set()
        may_end.wait(PATIENCE_S)

    world.provider.wait, asked = wait, len(world.provider.asked)

    async def come():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(authenticator.prepare, new)
            await anyio.to_thread.run_sync(begun.wait)
            tasks.start_soon(authenticator.prepare, new)
            await authenticator.prepare(known)
            assert world.issuer.read(signed()).owner == "ann"
            await anyio.wait_all_tasks_blocked()
            may_end.set()

    anyio.run(come)
    assert world.issuer.read(signed(OTHER, kid="new")).owner == "ann"
    assert len(world.provider.asked) == asked + 2


@pytest.mark.parametrize("fault", ["down", "other", "no address", "no keys"])
def test_keys_that_were_read_stay_where_new_ones_cannot_be(world, fault):
    """A provider that is down, or answers for another, shuts nobody out."""
    world.now = 700.0
    world.provider.is_down = fault == "down"
    if fault == "other":
        world.provider.says = {**world.provider.says, "issuer": "https://evil.example"}
    if fault == "no address":
        world.provider.says = {"issuer": URL}
    if fault == "no keys":
        world.provider.keys = []
    world.issuer.refresh()
    assert world.issuer.read(signed()).owner == "ann"


def test_one_key_without_a_name_is_the_one(world):
    """Small providers name none."""
    world.now = 700.0
    world.provider.keys = [as_jwk(RSA)]
    world.issuer.refresh()
    assert world.issuer.read(signed(kid=None)).owner == "ann"


@pytest.mark.parametrize(
    "address", ["http://[", "http://id.example.org/", "file:///etc/passwd", ""]
)
def test_keys_at_an_address_that_is_none_are_not_there(address):
    """A provider may name any address; only one that is safe is asked."""
    with pytest.raises(Unavailable):
        fetch_json(address)


@pytest.fixture
def provider():
    """A provider on loopback; its address."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self):
            own = f"http://127.0.0.1:{self.server.server_port}"
            says = {"/.well-known/openid-configuration": {"issuer": own, "jwks_uri": f"{own}/keys"}}
            says["/keys"] = {"keys": KEYS}
            body = json.dumps(says.get(self.path, {})).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_client_finds_where_to_sign_in_and_is_let_in(provider, words_only):
    """From the refusal to the description, and with a token of the provider to its user's journals."""
    environ = {
        "COMMONPLACE_SERVE_ISSUER": provider,
        "COMMONPLACE_SERVE_ADDRESS": "https://memory.example.org",
        "COMMONPLACE_SERVE_SPACES": "team:write=engineers, team:read=staff",
        "COMMONPLACE_SERVE_AUDIT_DAYS": "30",
    }
    with (
        HttpServer(**environ) as server,
        httpx2.Client(base_url=server.base, timeout=PATIENCE_S) as client,
    ):

        def post(token, tool, at="", **arguments):
            place = f"/api/v1/tools/{tool}{at}"
            return client.post(place, json=arguments, headers=bearer(token))

        refused = post("", "recall", query="x")
        assert refused.status_code == 401
        where = "/.well-known/oauth-protected-resource/mcp"
        named = f'resource_metadata="https://memory.example.org{where}"'
        assert named in refused.headers["www-authenticate"]
        described = client.get(where)
        assert described.headers["access-control-allow-origin"] == "*"
        facts = described.json()
        assert facts["resource"] == AUDIENCE
        assert facts["authorization_servers"] == [provider]
        assert facts["scopes_supported"] == ["read", "write"]
        ann, bob = signed(iss=provider), signed(iss=provider, sub="bob")
        written = post(ann, "process_thoughts", feelings="Glad of the new garden.")
        assert written.status_code == 200, written.text
        assert "garden" in post(ann, "recall", query="garden").text
        assert "Glad" not in post(bob, "recall", query="garden").text
        reads = signed(iss=provider, scope="read")
        assert post(reads, "process_thoughts", feelings="x").status_code == 403
        none = post(signed(iss=provider, scope="openid"), "recall", query="x")
        assert (none.status_code, "insufficient_scope" in none.headers["www-authenticate"]) == (
            403,
            True,
        )
        assert post(signed(iss=provider, sub="me"), "recall", query="x").status_code == 403
        assert post(signed(OTHER, iss=provider), "recall", query="x").status_code == 401
        assert post(token_for("cara"), "recall", query="x").status_code == 200
        member = {"iss": provider, "scope": "read write admin"}
        writes, reads = signed(**member, groups=["engineers"]), signed(**member, groups=["staff"])
        at = "?space=team"
        wrote = post(writes, "add_entry", at, message="Moved to Hetzner.")
        assert post(reads, "open_ref", at, ref=wrote.json()["ref"]).json()["author"] == "ann"
        assert post(writes, "recall", query="Hetzner").json()["count"] == 0
        assert post(reads, "add_entry", at, message="x").status_code == 403
        gone = post(writes, "amend", at, ref=wrote.json()["ref"], delete=True)
        assert (gone.status_code, "delete nothing" in gone.text) == (403, True)
        cli = token_for("space:team", member="eve")
        assert post(cli, "recall", at, query="Hetzner").json()["count"] == 1
        for text, place, status in [
            (bob, at, 403),
            (token_for("cara"), at, 403),
            (token_for("space:choir", member="ann"), at, 403),
            ("", at, 401),
            (writes, "?space=choir", 403),
            (writes, "?space=", 400),
            (writes, "?space=team&space=choir", 400),
            (writes, "?space=%00", 400),
            (writes, "?space=%F0%28", 403),
        ]:
            assert post(text, "recall", place, query="x").status_code == status, (text[:9], place)
        assert server.end() == 0
    assert "garden" not in server.log
    files = [*home().glob("users/*/accesses/*")]
    used = [json.loads(x) for path in files for x in path.read_text().splitlines()]
    of_team = {(x["member"], x["tool"]) for x in used if x["owner"] == "space:team"}
    assert of_team == {
        ("ann", "add_entry"),
        ("ann", "open_ref"),
        ("ann", "amend"),
        ("eve", "recall"),
    }


def test_a_provider_without_an_address_is_refused_at_the_start(words_only):
    """The error says what to set."""
    with HttpServer(COMMONPLACE_SERVE_ISSUER="https://id.example.org") as server:
        server.process.wait()
    assert not server.url
    assert "serve.address" in server.log
