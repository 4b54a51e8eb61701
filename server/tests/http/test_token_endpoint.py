"""Codes and tokens of clients that signed in: what each opens, and which attacks on them give nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from server.tests.http.authorization_world import (
    RESOURCE,
    said_in,
)

OTHER_VERIFIER = "w" * 43


def test_a_code_is_exchanged_once(world, client):
    """Who comes with it again, thief or not, ends what it was exchanged for."""
    code = world.code(client)
    tokens = world.exchange(client, code).json()
    again = world.exchange(client, code)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert world.lets_in(tokens["access_token"]) == 401
    assert world.refresh(client, tokens["refresh_token"]).status_code == 400


def test_a_code_lives_for_a_minute(world, client):
    """No longer."""
    code = world.code(client)
    world.clock.advance(60)
    assert world.exchange(client, code).json()["error"] == "invalid_grant"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"code_verifier": None}, "invalid_request"),
        ({"code_verifier": ""}, "invalid_grant"),
        ({"code_verifier": OTHER_VERIFIER}, "invalid_grant"),
        ({"redirect_uri": "https://evil.example/"}, "invalid_request"),
        ({"redirect_uri": None}, "invalid_request"),
        ({"resource": "https://other.example.org/mcp"}, "invalid_target"),
        ({"resource": [RESOURCE, "https://other.example.org/mcp"]}, "invalid_request"),
        ({"code_verifier": ["v" * 43, "w" * 43]}, "invalid_request"),
        ({"grant_type": "password"}, "invalid_request"),
        ({"grant_type": "client_credentials"}, "invalid_request"),
        ({"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer"}, "invalid_request"),
        ({"grant_type": None}, "invalid_request"),
        ({"client_id": "nobody"}, "invalid_client"),
        ({"client_id": None}, "invalid_client"),
    ],
)
def test_a_code_without_its_proof_is_nothing(world, client, given, error):
    """And is not used up by who cannot use it."""
    code = world.code(client)
    answer = world.exchange(client, code, **given)
    assert answer.status_code in {400, 401}
    assert answer.json()["error"] == error
    assert "access_token" not in answer.json()
    assert world.exchange(client, code).status_code == 200


def test_the_code_of_another_client_is_none(world, client):
    """Though it has the verifier too."""
    code = world.code(client)
    other = world.register(client_name="other").json()["client_id"]
    assert world.exchange(other, code).json()["error"] == "invalid_grant"


def test_the_verifier_is_no_challenge(world, client):
    """A challenge of the plain kind would be its own verifier."""
    code = world.code(client, code_challenge="v" * 43)
    assert world.exchange(client, code).json()["error"] == "invalid_grant"


def test_an_old_refresh_token_ends_all_that_came_of_it(world, client):
    """The thief's and the client's alike."""
    first = world.exchange(client, world.code(client)).json()
    world.clock.advance(60)
    second = world.refresh(client, first["refresh_token"]).json()
    assert world.lets_in(second["access_token"]) == 200
    world.clock.advance(60)
    assert world.refresh(client, first["refresh_token"]).json()["error"] == "invalid_grant"
    assert world.lets_in(second["access_token"]) == 401
    assert world.refresh(client, second["refresh_token"]).json()["error"] == "invalid_grant"


def test_two_requests_of_one_client_at_once(world, client):
    """The second gets nothing, and ends nothing."""
    first = world.exchange(client, world.code(client)).json()
    second = world.refresh(client, first["refresh_token"]).json()
    assert world.refresh(client, first["refresh_token"]).json()["error"] == "invalid_grant"
    assert world.lets_in(second["access_token"]) == 200


def test_who_guesses_ends_nothing(world, client):
    """The id of a grant is in lists and logs: it alone is no proof of anything."""
    tokens = world.exchange(client, world.code(client)).json()
    grant = tokens["access_token"].split("_")[1]
    for text in (f"cp_{grant}_{'x' * 22}.{'y' * 43}", f"cp_{grant}_{'x' * 43}", "", "cp_", grant):
        assert world.refresh(client, text).status_code == 400
        assert world.lets_in(text) == 401
    assert world.lets_in(tokens["access_token"]) == 200


@pytest.mark.parametrize("scope", ["read write admin", "metrics", "toolset:memory"])
def test_a_refresh_gives_no_more_than_was_allowed(world, client, scope):
    """Not by asking."""
    answer = world.answer(world.asks(client), write="0")
    tokens = world.exchange(client, said_in(answer.headers["location"])["code"]).json()
    got = world.refresh(client, tokens["refresh_token"], scope=scope)
    assert got.json()["error"] == "invalid_scope"


def test_the_refresh_token_of_another_client_is_none(world, client):
    """Nor for another server."""
    tokens = world.exchange(client, world.code(client)).json()
    other = world.register().json()["client_id"]
    assert world.refresh(other, tokens["refresh_token"]).json()["error"] == "invalid_grant"
    elsewhere = world.refresh(client, tokens["refresh_token"], resource="https://other.example.org")
    assert elsewhere.json()["error"] == "invalid_target"
    assert world.refresh(client, tokens["refresh_token"]).status_code == 200


def test_another_client_ends_nothing(world, client):
    """Who revokes proves that it is theirs."""
    tokens = world.exchange(client, world.code(client)).json()
    other = world.register().json()["client_id"]
    for name in ("access_token", "refresh_token"):
        answer = world.ask("POST", "/revoke", data={"client_id": other, "token": tokens[name]})
        assert answer.status_code == 200
    assert world.lets_in(tokens["access_token"]) == 200


def test_a_grant_ends_with_its_users_token(world):
    """When that is revoked, or expires; a code of it is exchanged no more."""
    of_user = world.enter("ann", expires_at=world.clock() + timedelta(hours=2))
    client = world.register().json()["client_id"]
    tokens = world.exchange(client, world.code(client)).json()
    code = world.code(client)
    world.clock.advance(20)
    world.tokens.revoke(of_user.id)
    assert world.lets_in(tokens["access_token"]) == 401
    assert world.refresh(client, tokens["refresh_token"]).status_code == 400
    assert world.exchange(client, code).status_code == 400


def test_what_a_client_has_opens_no_page(world, client):
    """It would let in others, and itself to more."""
    tokens = world.exchange(client, world.code(client)).json()
    world.cookies.clear()
    for text in (tokens["access_token"], tokens["refresh_token"]):
        assert world.browse("POST", "/web/enter", data={"key": text}).status_code == 403


def test_a_refresh_token_opens_no_journal(world, client):
    """Nor does a code."""
    code = world.code(client)
    tokens = world.exchange(client, code).json()
    assert world.lets_in(tokens["refresh_token"]) == 401
    assert world.lets_in(code) == 401


def test_what_a_client_has_reads_no_metrics(world, client):
    """Only a token made for that does."""
    token = world.exchange(client, world.code(client)).json()["access_token"]
    headers = {"authorization": f"Bearer {token}"}
    assert world.ask("GET", "/metrics", headers=headers).status_code == 403


def test_nobody_is_let_in_without_a_token(world):
    """Also while none was ever made."""
    assert world.ask("GET", "/mcp", headers={"host": "memory.example.org"}).status_code == 401


def test_what_cannot_be_read_lets_nobody_in(world, client, tmp_path):
    """And says so; users' own tokens hold as before."""
    code = world.code(client)
    (tmp_path / "sign-ins.json").write_text("{")
    assert [world.exchange(client, code).status_code, world.register().status_code] == [503, 503]
    assert world.browse("GET", world.asks(client)).status_code == 503
    assert world.lets_in(f"cp_g{'0' * 12}_{'x' * 43}") == 503
    assert world.lets_in(world.tokens.create("ann")[1]) == 200


@pytest.mark.parametrize("path", ["/token", "/register", "/revoke"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "HEAD"])
def test_by_one_method_alone(world, path, method):
    """What changes something is posted."""
    assert world.ask(method, path).status_code == 405


@pytest.mark.parametrize("path", ["/token", "/register", "/.well-known/oauth-authorization-server"])
def test_a_name_that_is_not_the_servers(world, path):
    """Is answered to nobody, as after DNS rebinding."""
    answer = world.ask("POST", path, headers={"host": "evil.example"})
    assert answer.status_code == 421


def test_what_needs_no_token_is_not_kept_connected(world):
    """Or anybody could take all connections."""
    for path in ("/token", "/register"):
        assert world.ask("POST", path, data={"x": "y"}).headers["connection"] == "close"


def test_strangers_are_counted_together(world):
    """However many they are, what users ask is not held up."""
    statuses = {
        world.ask("POST", "/token", data={"client_id": "x"}).status_code for _ in range(201)
    }
    assert statuses == {401, 429}
    world.enter("ann")


@pytest.mark.parametrize(
    "body", [b"", b"grant_type=authorization_code&code=%ff%fe", b"\x00", b"a=1&" * 2000, b"=&=&="]
)
def test_what_is_no_form(world, body):
    """Is refused, and breaks nothing."""
    headers = {"content-type": "application/x-www-form-urlencoded"}
    assert world.ask("POST", "/token", content=body, headers=headers).status_code in {400, 401}


def test_a_file_is_no_field(world):
    """Of a form in parts."""
    answer = world.ask("POST", "/token", files={"client_id": b"x" * 30_000})
    assert answer.json()["error"] == "invalid_request"


def test_of_one_user_no_more_than_fifty(world, client):
    """The oldest end: they end first anyway."""
    issued = []
    for _ in range(51):
        world.clock.advance(1)
        issued.append(world.exchange(client, world.code(client)).json()["access_token"])
    assert [world.lets_in(x) for x in (issued[0], issued[1], issued[-1])] == [401, 200, 200]


def test_the_fifty_of_a_member_are_not_those_of_a_space(world, client):
    """Nobody ends what another member let in."""
    issued = []
    for name, number in (("ann", 1), ("bob", 51), ("ann", 1)):
        world.enter("space:team", member=name)
        for _ in range(number):
            world.clock.advance(1)
            issued.append(world.exchange(client, world.code(client)).json()["access_token"])
    ended = [world.lets_in(x) == 401 for x in issued[:3] + issued[-2:]]
    assert ended == [False, True, False, False, False]


def test_a_failed_document_is_not_asked_for_at_once(world):
    """Nor is an address that is none fetched at all."""
    world.enter("ann")
    missing = "https://nobody.example/client.json"
    for _ in range(3):
        world.browse("GET", world.asks(missing))
    assert world.fetched == [missing]
    world.clock.advance(11)
    world.browse("GET", world.asks(missing))
    assert world.fetched == [missing] * 2


def test_an_unknown_client_at_the_token_door_is_fetched_by_nobody(world):
    """Strangers may name any address there."""
    answer = world.exchange("https://internal.example/client.json", "code")
    assert answer.status_code == 401
    assert world.fetched == []


def test_while_nothing_can_be_read_clients_are_sent_away_and_the_log_says_why(
    world, client, tmp_path, caplog
):
    """Once, however often they come; what is wrong is nothing that they are told."""
    code = world.code(client)
    (tmp_path / "sign-ins.json").write_text("damaged")
    for _ in range(2):
        answer = world.exchange(client, code)
        assert (answer.status_code, answer.json()) == (503, {"error": "temporarily_unavailable"})
    (said,) = [x.message for x in caplog.records if "sign in" in x.message]
    assert said.startswith("No client can sign in: The file of sign-ins ")
    assert f"{tmp_path / 'sign-ins.json'} cannot be read. It is damaged." in said
