"""Users whose journals are just moving from files into a database keep no other user waiting."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor

import httpx2
import psycopg
import pytest
from server.tests.http_world import HttpServer, bearer, home, token_for
from tests.patience import PATIENCE_S, until

from commonplace.core.files import locked
from commonplace_server.postgres.database import CONNECTIONS

HELD = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND state = 'idle in transaction'
"""


def ask(server, token, tool, **given):
    """The status of a call of a user."""
    url = f"{server.base}/api/v1/tools/{tool}"
    return httpx2.post(url, json=given, headers=bearer(token), timeout=PATIENCE_S).status_code


def encoder_of(server):
    """What a server says of its encoder: until it is there no questions share a transaction."""
    return httpx2.get(f"{server.base}/readyz", timeout=PATIENCE_S).json()["encoder"]


@pytest.mark.long
def test_who_moves_in_holds_no_connection(database, monkeypatch):
    """More users than there are connections wait for their files; another one is answered."""
    tokens = [token_for(f"user{n}") for n in range(CONNECTIONS + 2)]
    with HttpServer() as before:
        for token in tokens:
            assert ask(before, token, "process_thoughts", feelings="The quokka came back.") == 200
        assert before.end() == 0
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", database.app_url)
    with (
        HttpServer() as server,
        ThreadPoolExecutor(len(tokens)) as threads,
        psycopg.connect(database.admin_url, autocommit=True) as admin,
    ):
        until(lambda: encoder_of(server) == "loaded", "the encoder to be loaded")
        with contextlib.ExitStack() as moving:
            # As a process of this home does that moves their journals.
            for n in range(1, len(tokens)):
                moving.enter_context(locked(home() / "users" / f"user{n}"))
            waiting = [
                threads.submit(ask, server, each, "recall", query="the quokka")
                for each in tokens[1:]
            ]
            for _ in range(3):
                assert ask(server, tokens[0], "recall", query="the quokka") == 200
            until(lambda: admin.execute(HELD).fetchone() == (0,), "no connection to be held")
            assert not any(each.done() for each in waiting)
        assert {each.result() for each in waiting} == {200}
