"""Users of an identity provider sign in at the pages: who is let in by it, and which attacks are not."""

from __future__ import annotations

import base64
import hashlib
import secrets
import threading
import time
import urllib.parse

import pytest
from server.tests.http.test_issuer import OTHER, RSA, URL, World, signed
from server.tests.http.test_issuer import Provider as KeysProvider
from server.tests.http.test_served_pages import ServedWorld, posts
from tests.doors.web.web_world import ADDRESS, words_of, words_of_html
from tests.patience import PATIENCE_S

from commonplace.core.errors import Denied, Unavailable
from commonplace_server.http.limits import Limits
from commonplace_server.http.relying_party import RelyingParty

CLIENT = "commonplace"
SECRET = "of the server: +/%"
SIGN_IN = "commonplace-sign-in-8900-"


class Provider(KeysProvider):
    """A provider that lets in who says so, by codes that are good once."""

    def __init__(self, keys):
        super().__init__(keys)
        at = {x: f"{URL}/{x}" for x in ("authorization_endpoint", "token_endpoint")}
        self.says = {**self.says, **at}
        self.codes = {}
        self.forms = []
        self.answers = {}

    def lets_in(self, place, **claims):
        """Send a browser back that was sent here, as who it signed in as."""
        asked = said_in(place)
        code = secrets.token_hex(8)
        self.codes[code] = (asked, {"aud": asked["client_id"], "nonce": asked["nonce"], **claims})
        return {"code": code, "state": asked["state"]}

    def __call__(self, address, form=None, authorization=""):
        if form is None:
            return super().__call__(address)
        self.forms.append((form, authorization))
        self.wait()
        if self.is_down or address != f"{URL}/token_endpoint":
            raise Unavailable("It is down.")
        asked, claims = self.codes.pop(form["code"], ({}, {}))
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            asked.get("code_challenge") != challenge
            or asked["redirect_uri"] != form["redirect_uri"]
        ):
            raise Denied("invalid_grant")
        key = claims.pop("key", RSA)
        token = signed(key, **{"scope": None, "client_id": None, **claims})
        return {"access_token": "x", "token_type": "Bearer", "id_token": token, **self.answers}


def said_in(place):
    """What an address says behind its question mark."""
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(place).query))


class ProvidedWorld(ServedWorld):
    """A server's home and its pages, and a provider at which users sign in."""

    def __init__(self, *, secret="", settled="", deadline_s=PATIENCE_S, address=ADDRESS, **served):
        self.issuer_world = World()
        issuer = self.issuer_world.issuer
        self.provider = Provider(self.issuer_world.provider.keys)
        issuer._fetch = self.provider
        self.issuer_world.now = 11.0
        issuer.refresh()
        self.party = RelyingParty(
            issuer,
            client=CLIENT,
            secret=secret,
            address=address,
            web="/web",
            resource=f"{address}/mcp",
            settled=settled,
            fetch=self.provider,
            deadline_s=deadline_s,
        )
        super().__init__(**served)

    def pages_more(self):
        return {"provider": self.party}

    def begin(self, browser, query="", **headers):
        """Where a browser is sent to sign in."""
        answer = browser.get(f"/web/sign-in{query}", headers=headers)
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    def signs_in(self, browser, query="", **claims):
        """The answer to a browser that comes back from the provider."""
        said = self.provider.lets_in(self.begin(browser, query), **claims)
        return browser.get("/web/signed-in", params=said)


@pytest.fixture
def world(words_only):
    made = ProvidedWorld()
    yield made
    made.apps.close()


def refused(answer, words, status=403):
    """That a browser was let in to nothing, and why."""
    assert (answer.status_code, words in words_of(answer)) == (status, True), answer.text
    assert "commonplace-8900" not in answer.cookies


def test_a_user_of_the_provider_opens_their_own_pages(world):
    """Asked with all that the protocol wants, and let in as the user of the claim, for eight hours."""
    world.log("ann", "the secret of ann")
    world.log("bob", "the secret of bob")
    ann = world.stranger()
    page = ann.get("/web/")
    assert page.status_code == 401
    assert f'href="{ADDRESS}/web/sign-in">Sign in with id.example.org<' in page.text
    place = world.begin(ann)
    asked = said_in(place)
    assert place.startswith(f"{URL}/authorization_endpoint?")
    assert {x: asked[x] for x in ("response_type", "client_id", "redirect_uri", "scope")} == {
        "response_type": "code",
        "client_id": CLIENT,
        "redirect_uri": f"{ADDRESS}/web/signed-in",
        "scope": "openid read write",
    }
    assert asked["code_challenge_method"] == "S256"
    assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3
    answer = ann.get("/web/signed-in", params=world.provider.lets_in(place))
    assert (answer.status_code, answer.headers["refresh"]) == (200, "0; url=/web/")
    assert not [name for name in ann.cookies if name.startswith(SIGN_IN)]
    page = ann.get("/web/")
    assert "the secret of ann" in words_of(page)
    assert "the secret of bob" not in page.text
    assert "Signed in as ann" in words_of_html(page.text)
    assert posts(ann, "/written", text="Glad of the pages.", **{"as": "log"}).status_code == 303
    world.clock.advance(seconds=8 * 3600 - 1)
    assert ann.get("/web/").status_code == 200
    world.clock.advance(seconds=1)
    page = ann.get("/web/")
    assert (page.status_code, "You are signed out: what let this browser" in words_of(page)) == (
        401,
        True,
    )


def test_a_secret_is_shown_to_the_provider_as_it_says(words_only, caplog):
    """By the header, else in the form; a server without one says its id alone."""
    basic = base64.b64encode(b"commonplace:of+the+server%3A+%2B%2F%25").decode()
    for secret, ways, shown, authorization in [
        ("", None, {"client_id": CLIENT}, ""),
        (SECRET, None, {}, f"Basic {basic}"),
        (SECRET, ["client_secret_post"], {"client_id": CLIENT, "client_secret": SECRET}, ""),
    ]:
        world = ProvidedWorld(secret=secret)
        world.provider.says["token_endpoint_auth_methods_supported"] = ways
        assert world.signs_in(world.stranger()).status_code == 200
        ((form, sent),) = world.provider.forms
        assert sent == authorization
        assert {x: y for x, y in form.items() if x.startswith("client_")} == shown
        refused(world.signs_in(world.stranger(), key=OTHER), "did not say who you are")
        world.apps.close()
    assert SECRET not in caplog.text


NOW = int(time.time())
IDENTITIES = {
    "another key": {"key": OTHER},
    "no nonce": {"nonce": None},
    "another nonce": {"nonce": "x"},
    "a nonce that is a list": {"nonce": ["x"]},
    "another audience": {"aud": "claude"},
    "this server as a resource": {"aud": f"{ADDRESS}/mcp"},
    "several audiences, for none of them": {"aud": [CLIENT, "claude"]},
    "made for another": {"azp": "claude"},
    "made for another of several": {"aud": [CLIENT, "claude"], "azp": "claude"},
    "another issuer": {"iss": "https://evil.example"},
    "over": {"exp": NOW - 60},
    "without an end": {"exp": None},
    "made tomorrow": {"iat": NOW + 86_400},
}


@pytest.mark.parametrize("claims", IDENTITIES.values(), ids=IDENTITIES)
def test_what_the_provider_did_not_sign_for_this_sign_in_lets_nobody_in(world, claims):
    """An ID token is read as access tokens are, and is for this server and this browser alone."""
    refused(world.signs_in(world.stranger(), **claims), "did not say who you are in a way that")


def test_whom_no_page_is_for_is_told_why(world):
    """The claim and the scopes are those of programs."""
    for claims, words in [
        ({"sub": "me"}, "is this machine's own"),
        ({"sub": None}, "it has no claim sub"),
        ({"sub": "space:team"}, "is the name of a space"),
    ]:
        refused(world.signs_in(world.stranger(), **claims), words)
    for scope, words in [
        ("openid", "gave this server no right to read"),
        ("openid write", "gave this server no right to read"),
        ("openid read toolset:memory", "kept to memory, and pages show everything"),
    ]:
        world.provider.answers = {"scope": scope}
        refused(world.signs_in(world.stranger()), words)
    for scope in (["openid"], ["write", 7, None], {"read": True}, 7, True):
        world.provider.answers = {"scope": scope}
        refused(world.signs_in(world.stranger()), "gave this server no right to read")
    for scope in ("openid read", ["openid", "read"]):
        world.provider.answers = {"scope": scope}
        ann = world.stranger()
        assert world.signs_in(ann).status_code == 200
        assert "Nothing can be changed from here." in ann.get("/web/").text
    for answers in ({"id_token": None}, {"id_token": ["x"]}, {"id_token": "a.b.c"}):
        world.provider.answers = answers
        refused(world.signs_in(world.stranger()), "did not say who you are")


def test_only_the_browser_that_began_comes_back(world):
    """No link signs a browser in as another user, nor is a code good in a browser that it is not of."""
    mallory, ann = world.stranger(), world.stranger()
    said = world.provider.lets_in(world.begin(mallory), sub="mallory")
    refused(ann.get("/web/signed-in", params=said), "not begun in this browser")
    world.begin(ann)
    refused(ann.get("/web/signed-in", params=said), "not begun in this browser")
    mine = said_in(world.begin(ann))["state"]
    # A stolen code in a sign-in of one's own: its verifier is another's.
    refused(ann.get("/web/signed-in", params={**said, "state": mine}), "did not take the sign-in")
    other = said_in(world.begin(mallory))["state"]
    for state in ("", "x", mine[:-1], other, "\udce9", "x" * 30_000):
        given = urllib.parse.urlencode({"code": "x", "state": state}, errors="surrogatepass")
        refused(ann.get(f"/web/signed-in?{given}"), "not begun in this browser")
    for query in ("", "code=x", f"state={mine}&state={mine}&code=x", "&".join(["a=b"] * 30)):
        refused(ann.get(f"/web/signed-in?{query}"), "not begun in this browser")
    assert len(world.provider.forms) == 1
    for state, cookie in [
        ("y", ""),
        ("y", "."),
        ("y", "x.!!"),
        ("y", "\xe9"),
        ("", "x"),
        ("y;", "x"),
    ]:
        stranger = world.stranger()
        headers = {"cookie": f"{SIGN_IN}{state}={cookie}".encode("latin-1")}
        answer = stranger.get(f"/web/signed-in?code=x&state={state}", headers=headers)
        refused(answer, "not begun in this browser")


def test_what_comes_back_comes_once(world):
    """Again, it is neither this browser's any more nor the provider's."""
    ann = world.stranger()
    place = world.begin(ann)
    said = world.provider.lets_in(place)
    name = SIGN_IN + said["state"][:16]
    cookie = ann.cookies[name]
    assert ann.get("/web/signed-in", params=said).status_code == 200
    again = world.stranger()
    again.cookies.update(ann.cookies)
    refused(again.get("/web/signed-in", params=said), "not begun in this browser")
    headers = {"cookie": f"{name}={cookie}"}
    answer = world.stranger().get("/web/signed-in", params=said, headers=headers)
    refused(answer, "did not take the sign-in back")


def test_two_tabs_sign_in_beside_each_other(world):
    """Whichever comes back first; each counts once, and what they asked for is not mixed up."""
    ann = world.stranger()
    places = [world.begin(ann), world.begin(ann, "?space=team")]
    said = [world.provider.lets_in(place, groups=["leads"]) for place in places]
    for each, who in zip(said, ("Signed in as ann ", "Signed in as ann, in "), strict=True):
        assert ann.get("/web/signed-in", params=each).status_code == 200
        assert who in words_of_html(ann.get("/web/").text)
    refused(ann.get("/web/signed-in", params=said[0]), "not begun in this browser")


def test_any_server_answers_what_another_began(world):
    """Whoever the proxy asks: nothing of it lies at either."""
    other = ProvidedWorld()
    other.provider.codes = world.provider.codes
    ann, there = world.stranger(), other.stranger()
    said = world.provider.lets_in(world.begin(ann))
    there.cookies.update(ann.cookies)
    assert there.get("/web/signed-in", params=said).status_code == 200
    assert "Signed in as ann" in words_of_html(there.get("/web/").text)
    other.apps.close()


def test_an_error_of_the_provider_is_a_strangers_word(world, caplog):
    """Short, without markup, hidden signs and secrets; told to who began alone, and logged short."""
    key = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    ann = world.stranger()
    for error, shown in [
        ("access_denied", "id.example.org did not sign you in: access_denied. Sign in again."),
        ("<b>\u202ex</b>\n", "<b><U+202E>x</b><U+000A>."),
        (f"{key} x", "did not sign you in: <secret"),
        ("n" * 30_000, "n" * 60 + "...."),
    ]:
        state = said_in(world.begin(ann))["state"]
        said = {"error": error, "state": state, "error_description": "d" * 30_000}
        answer = ann.get("/web/signed-in", params=said)
        assert answer.status_code == 403
        assert "<b>" not in answer.text
        assert key not in answer.text
        assert "n" * 61 not in answer.text
        if not error.startswith("ghp"):
            assert shown in words_of(answer)
        refused(world.stranger().get("/web/signed-in", params=said), "not begun in this browser")
    assert "d" * 201 not in caplog.text
    assert world.provider.forms == []


def test_another_provider_sends_nobody_back(world):
    """Mixed up with this one, which says its name where it says it (RFC 9207)."""
    ann = world.stranger()
    said = world.provider.lets_in(world.begin(ann))
    answer = ann.get("/web/signed-in", params={**said, "iss": "https://evil.example"})
    refused(answer, "Another provider than this server's")
    assert ann.get("/web/signed-in", params={**said, "iss": URL}).status_code == 200


def test_a_browser_goes_nowhere_that_a_request_named(world):
    """Neither on the way there nor on the way back."""
    ann, more = world.stranger(), "?next=https://evil.example&redirect_uri=https://evil.example"
    place = world.begin(ann, more)
    assert place.startswith(f"{URL}/authorization_endpoint?")
    assert "evil.example" not in place
    said = {
        **world.provider.lets_in(place),
        "next": "https://evil.example",
        "url": "//evil.example",
    }
    answer = ann.get("/web/signed-in", params=said)
    assert answer.headers["refresh"] == "0; url=/web/"
    assert "evil.example" not in answer.text
    assert "location" not in answer.headers


def test_a_sign_in_begins_at_a_page_of_ours(world):
    """Of a link of another site the user hears first; nothing is sent, and looking begins nothing."""
    ann = world.stranger()
    for site in ("cross-site", "same-site"):
        answer = ann.get("/web/sign-in?space=team", headers={"sec-fetch-site": site})
        assert answer.status_code == 401
        assert f'href="{ADDRESS}/web/sign-in?space=team">Sign in with' in answer.text
    for path in ("/web/sign-in", "/web/signed-in"):
        assert ann.head(path).status_code == 401
        assert ann.post(path).status_code == 405
        sent = ann.post(path, headers={"origin": "https://id.example.org"})
        assert sent.status_code == 403
    assert not [name for name in ann.cookies if name.startswith(SIGN_IN)]


def test_a_provider_that_is_away_or_slow_is_said(world, words_only):
    """Within the deadline; tokens of the server let in meanwhile, and a provider that is back does."""
    ann = world.stranger()
    world.issuer_world.issuer._described, world.provider.is_down = None, True
    world.issuer_world.now = 22.0
    refused(ann.get("/web/sign-in"), "does not answer. Try again in a moment.", 503)
    assert world.browser("ann").get("/web/").status_code == 200
    world.provider.is_down, world.issuer_world.now = False, 33.0
    said = world.provider.lets_in(world.begin(ann))
    world.provider.is_down = True
    refused(ann.get("/web/signed-in", params=said), "It is down.", 503)
    world.provider.is_down, goes_on = False, threading.Event()
    hurried = ProvidedWorld(deadline_s=0.05)  # for what never ends before it
    bob = hurried.stranger()
    said = world.provider.lets_in(world.begin(ann), sub="bob")
    bob.cookies.update(ann.cookies)
    hurried.provider.wait = lambda: goes_on.wait(PATIENCE_S)
    refused(bob.get("/web/signed-in", params=said), "takes too long to answer. Sign in again.", 503)
    goes_on.set()
    hurried.apps.close()


def test_a_provider_says_where_to_sign_in_or_nobody_does(world):
    """At an address with https, of a page that it has."""
    for place in (None, 7, "http://id.example.org/", "javascript:alert(1)", "https://[id/"):
        world.provider.says["authorization_endpoint"] = place
        world.issuer_world.now += 11.0
        world.issuer_world.issuer.refresh()
        assert world.stranger().get("/web/sign-in").status_code == 503


def test_those_who_sign_in_are_counted_as_one(words_only):
    """So that nobody has the server ask the provider as often as they like."""
    world = ProvidedWorld(limits=Limits(per_second=1, burst=3))
    answers = [world.stranger().get("/web/sign-in") for _ in range(4)]
    assert [x.status_code for x in answers] == [303, 303, 303, 429]
    assert "More than 1 requests a second." in words_of(answers[-1])
    world.apps.close()


def test_a_member_of_a_group_opens_a_space(world):
    """With the role of the group and the scopes that were granted, as programs do."""
    team, in_team = "?space=team", {"groups": ["/eng ineers"]}
    assert "admin" not in said_in(world.begin(world.stranger(), team))["scope"]
    world.provider.says["scopes_supported"] = ["openid", "read", "write", "admin"]
    world.issuer_world.now += 11.0
    world.issuer_world.issuer.refresh()
    assert said_in(world.begin(world.stranger(), team))["scope"] == "openid read write admin"
    assert said_in(world.begin(world.stranger()))["scope"] == "openid read write"
    ann = world.stranger()
    assert world.signs_in(ann, team, **in_team).status_code == 200
    assert "as ann, in the space team" in words_of_html(ann.get("/web/").text)
    assert posts(ann, "/written", text="Moved the site.", **{"as": "log"}).status_code == 303
    assert "Undo" not in ann.get("/web/").text
    world.provider.answers = {"scope": "openid read write admin"}
    eve = world.stranger()
    assert world.signs_in(eve, team, sub="eve", groups="leads").status_code == 200
    page = eve.get("/web/calendar/2026-11-23")
    assert "Moved the site." in words_of(page)
    for claims, query in [
        ({"groups": []}, team),
        ({}, team),
        ({"groups": ["leads"]}, "?space=choir"),
        ({"groups": ["leads"]}, "?space=nowhere"),
    ]:
        refused(world.signs_in(world.stranger(), query, **claims), "is no member of a space")
    for query in ("?space=", "?space=team&space=choir", "?space=%00"):
        refused(world.stranger().get(f"/web/sign-in{query}"), "", 400)


def test_the_space_of_a_cookie_is_no_way_to_another_users(world):
    """Who forges what their own browser shows is let in to what their groups allow, and no more."""
    for owner, words in [("bob", "is no member"), ("space:choir", "is no member"), ("me", "is no")]:
        named = base64.urlsafe_b64encode(owner.encode()).decode().rstrip("=")
        cookie = f"forged.{named}"

        def of(use, cookie=cookie):
            digest = hashlib.sha256(f"{use}\0{cookie}".encode()).digest()
            return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

        digest = hashlib.sha256(of("verifier").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        asked = said_in(world.begin(world.stranger()))
        asked |= {"state": of("state"), "nonce": of("nonce"), "code_challenge": challenge}
        said = world.provider.lets_in(f"?{urllib.parse.urlencode(asked)}", groups=["leads"])
        headers = {"cookie": f"{SIGN_IN}{of('state')[:16]}={cookie}"}
        refused(world.stranger().get("/web/signed-in", params=said, headers=headers), words)


def test_other_settings_sign_out_who_came_by_the_former(world):
    """Roles, claims, the provider: what users are let in by; a token of the server stays."""
    ann, bob = world.stranger(), world.browser("bob")
    world.signs_in(ann)
    entrance = world.pages._entrance
    visitor = world.pages._visitors.find(ann.cookies["commonplace-8900"])
    assert entrance.still_admits(visitor)
    world.party.mark = ProvidedWorld(settled="team:read=staff").party.mark
    assert ann.get("/web/").status_code == 401
    assert bob.get("/web/").status_code == 200
    entrance._provider = None
    assert not entrance.still_admits(visitor)


def test_a_server_that_changes_nothing_any_more_lets_no_former_visit_change_it(world):
    """Visits outlive a server where a database keeps them; who may only read stays."""
    ann, bob = world.stranger(), world.browser("bob")
    world.signs_in(ann)
    world.provider.answers = {"scope": "openid read"}
    eve = world.stranger()
    world.signs_in(eve, sub="eve")
    world.pages._entrance._may_write = False
    for browser in (ann, bob):
        page = browser.get("/web/")
        assert (page.status_code, "You are signed out: " in words_of(page)) == (401, True)
    assert eve.get("/web/").status_code == 200


def test_who_signs_out_is_out(world):
    """And the page does not say that something else ended."""
    ann = world.stranger()
    world.signs_in(ann)
    kept = ann.cookies["commonplace-8900"]
    page = posts(ann, "/leave")
    assert page.status_code == 200
    assert "commonplace-8900" not in ann.cookies
    assert "You are signed out" not in words_of(ann.get("/web/"))
    headers = {"cookie": f"commonplace-8900={kept}"}
    assert world.stranger().get("/web/", headers=headers).status_code == 401


def test_over_https_no_other_host_of_the_domain_sets_the_cookie(words_only):
    """Its name says so to the browser, which then takes it from this host alone."""
    world = ProvidedWorld(address="https://memory.example.org")
    answer = world.stranger().get("/web/sign-in")
    cookie = answer.headers["set-cookie"]
    mark = said_in(answer.headers["location"])["state"][:16]
    assert cookie.startswith(f"__Host-commonplace-sign-in-{mark}=")
    for word in ("HttpOnly", "Max-Age=600", "Path=/", "SameSite=lax", "Secure"):
        assert word in cookie.split("; "), cookie
    world.apps.close()


def test_over_https_a_visit_is_kept_to_it(words_only):
    """Also where the proxy says nothing of TLS: the browser came back to an address with https."""
    world = ProvidedWorld(address="https://memory.example.org")
    ann = world.stranger()
    begun = ann.get("/web/sign-in")
    shown = begun.headers["set-cookie"].partition(";")[0]
    said = world.provider.lets_in(begun.headers["location"])
    answer = ann.get("/web/signed-in", params=said, headers={"cookie": shown})
    assert answer.status_code == 200, answer.text
    cookies = [x.split("; ") for x in answer.headers.get_list("set-cookie")]
    assert {x[0].partition("=")[0]: "Secure" in x for x in cookies} == {
        "commonplace-8900": True,
        shown.partition("=")[0]: True,
    }
    world.apps.close()
