"""A server that is frozen over edits of each journal, which its clients make at another instead."""

from __future__ import annotations

import os
import signal
import threading

import httpx2
import psycopg
import pytest
from server.tests.http_world import HttpServer, token_for
from server.tests.proof.haproxy import HaProxy
from server.tests.proof.journal_calls import ROWS, TOOLSETS, Caller, filled
from tests.patience import until

from commonplace.config.settings import parse_setting

pytestmark = pytest.mark.long

FIRST, LATE, LAST = (f"The gate is {word} for the tide." for word in ("open", "shut", "locked"))

WAITS = """
SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
    AND usename = 'commonplace_app' AND query LIKE '%wb_todo%' AND wait_event_type = 'Lock'
"""


def edit(ref, text):
    return "amend", {"ref": ref, "text": text}


def surely(caller, call):
    """A call that is made again until it is done."""
    until(lambda: caller.call(*call).is_done, f"{call[0]} to be done")


@pytest.fixture
def servers(words_only, database, monkeypatch):
    """Two of one database, ready."""
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", database.app_url)
    monkeypatch.setenv("COMMONPLACE_SERVE_DRAIN_SECONDS", "0")
    flags = ("--toolsets", TOOLSETS)
    with HttpServer(*flags) as one, HttpServer(*flags) as two:
        yield one, two


@pytest.fixture
def token(servers):
    return token_for("ann", toolsets=parse_setting("toolsets", TOOLSETS))


def test_what_was_asked_before_a_standstill_undoes_nothing(servers, token, database, counted):
    """One edit waits in a transaction, one of each journal is not read yet; then each goes on."""
    frozen, other = servers
    stuck = []
    with (
        HaProxy([frozen.port]) as proxy,
        Caller(frozen.base, token) as direct,
        Caller(other.base, token) as caller,
        Caller(f"http://127.0.0.1:{proxy.port}", token, patience_s=2.0) as impatient,
        psycopg.connect(database.admin_url) as holder,
        psycopg.connect(database.admin_url, autocommit=True) as looker,
    ):
        until(lambda: proxy.sends_to(frozen.port), "the server to be ready")
        writes = [row.writes[0] for row in ROWS if "AT" in row.writes[0][1].values()]
        given = {"TEXT": FIRST, "AT": "2025-03-04 14:05"}
        refs = [caller.done(filled(x, KEY=x[0], **given)).ref for x in writes]
        todo = caller.done(filled(writes[0], KEY="stuck", **given)).ref
        assert direct.done(("open_ref", {"ref": todo})).facts["text"]  # it has all open by now
        holder.execute("SELECT FROM wb_todo WHERE id = %s FOR UPDATE", (todo.rpartition("/")[2],))
        waiting = threading.Thread(target=lambda: stuck.append(direct.call(*edit(todo, LATE))))
        waiting.start()
        until(lambda: looker.execute(WAITS).fetchone(), "the edit to wait for the row")
        os.kill(frozen.process.pid, signal.SIGSTOP)
        holder.rollback()
        for ref in refs:
            with pytest.raises(httpx2.HTTPError):
                impatient.call(*edit(ref, LATE))
        for ref in (*refs, todo):
            surely(caller, edit(ref, LATE))
            surely(caller, edit(ref, LAST))
        os.kill(frozen.process.pid, signal.SIGCONT)
        waiting.join()
        frozen.end()  # once each call that it has in hand is over
        for ref in (*refs, todo):
            assert LAST in caller.done(("open_ref", {"ref": ref})).text
        assert stuck[0].facts["code"] == "unavailable"
        assert stuck[0].facts["hint"]
    counted("edits that a server was asked before it stood still", len(refs) + 1)
