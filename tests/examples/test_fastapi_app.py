"""The example of a web service: each user has a memory, and none sees another's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from examples.fastapi_app import app
from fastapi.testclient import TestClient

SAID = "My sister moved to Leipzig."


@pytest.fixture
def client(tmp_path, monkeypatch):
    monkeypatch.setenv("NOTES_HOME", str(tmp_path / "notes"))
    monkeypatch.setenv("NOTES_TOKENS", "a-token=ann b-token=bob m-token=me")
    with TestClient(app) as opened:
        yield opened


def as_user(letter):
    return {"Authorization": f"Bearer {letter}-token"}


def test_what_one_user_keeps_no_other_finds(client):
    """By no question, and by no ref; the owner finds it, and deletes it for good."""
    kept = client.post("/entries", json={"text": SAID}, headers=as_user("a"))
    assert kept.status_code == 201
    ref = kept.json()["ref"]
    asked = {"question": "where does my sister live"}
    for other in "bm":
        assert client.get("/entries", params=asked, headers=as_user(other)).json() == []
        assert client.get("/prompt", params=asked, headers=as_user(other)).json() == ""
        assert client.delete(f"/entries/{ref}", headers=as_user(other)).status_code == 404
    (found,) = client.get("/entries", params=asked, headers=as_user("a")).json()
    assert found == {"ref": ref, "text": SAID}
    assert SAID in client.get("/prompt", params=asked, headers=as_user("a")).json()
    assert client.delete(f"/entries/{ref}", headers=as_user("a")).status_code == 204
    assert client.get("/entries", params=asked, headers=as_user("a")).json() == []


def test_who_has_no_token_is_no_user(client, tmp_path):
    """And makes no folder."""
    for headers in ({}, {"Authorization": "Bearer x-token"}):
        assert client.get("/prompt", params={"question": "x"}, headers=headers).status_code == 401
    assert not (tmp_path / "notes").exists()


def test_an_error_is_an_answer_with_a_hint(client):
    """With the status that fits it."""
    refused = client.post("/entries", json={"text": " "}, headers=as_user("a"))
    assert refused.status_code == 422
    assert refused.json()["hint"]


def test_users_ask_at_once(client):
    """Each finds their own words, however many ask together."""

    def turn(letter):
        client.post("/entries", json={"text": f"harbour {letter}"}, headers=as_user(letter))
        params = {"question": "harbour"}
        return {
            x["text"] for x in client.get("/entries", params=params, headers=as_user(letter)).json()
        }

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(turn, "abm" * 4))
    assert found == [{f"harbour {letter}"} for letter in "abm" * 4]
