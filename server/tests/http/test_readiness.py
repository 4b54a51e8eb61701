"""What proxies and orchestrators ask: whether a server is alive, and whether to send it calls."""

from __future__ import annotations

import json
import signal
import subprocess
import threading

import httpx2
import psycopg
import pytest
from server.tests.http_world import HttpServer, token_for
from server.tests.proof import haproxy
from tests.doors.interrupting import OnTerminal
from tests.patience import PATIENCE_S, until

from commonplace_server.http.readiness import WATCHED_S, DatabaseWatch, Readiness
from commonplace_testing import HashingEncoder, ReadySlot


class Encoders:
    """A slot in each of the states that an encoder may be in."""

    def __init__(self, *, loading=False, reason=""):
        self.loading, self.why = loading, reason

    def is_loading(self):
        return self.loading

    def reason(self):
        return self.why


def readiness(**given):
    """Of a server whose tokens can be read, with an encoder."""
    usual = {"find_problem": lambda: "", "encoder": ReadySlot(HashingEncoder())}
    return Readiness(**usual | given)


def test_a_server_that_serves_is_alive_and_ready():
    """In a few words, each for one thing."""
    server = readiness(
        find_database=lambda: {"database": "", "writes": "", "migrations": "", "home": ""}
    )
    assert server.answer("/healthz") == (200, {"status": "ok"})
    assert server.answer("/readyz") == (
        200,
        {
            "status": "ready",
            "tokens": "ok",
            "database": "ok",
            "writes": "ok",
            "migrations": "ok",
            "home": "ok",
            "encoder": "loaded",
        },
    )
    assert server.answer("/mcp") is None


@pytest.mark.parametrize(
    ("wrong", "named", "said"),
    [
        ({"find_problem": lambda: "/srv is damaged"}, "tokens", "cannot be read"),
        ({"find_database": lambda: {"database": "does not answer"}}, "database", "does not answer"),
        ({"find_database": lambda: {"database": "does not answer"}}, "tokens", "cannot be read"),
        (
            {"find_database": lambda: {"database": "", "migrations": "older"}},
            "migrations",
            "older",
        ),
    ],
)
def test_what_is_wrong_makes_it_not_ready(wrong, named, said):
    """It is alive all the same, so that nobody restarts it for that."""
    server = readiness(**wrong)
    status, facts = server.answer("/readyz")
    assert (status, facts["status"], facts[named]) == (503, "not ready", said)
    assert "/srv" not in str(facts)
    assert server.answer("/healthz") == (200, {"status": "ok"})


@pytest.mark.parametrize(
    ("encoder", "said"),
    [
        (Encoders(loading=True, reason="It is being loaded."), "loading"),
        (Encoders(reason="No weights."), "none"),
        (Encoders(), "loaded"),
    ],
)
def test_the_encoder_is_said_and_not_waited_for(encoder, said):
    """Words are found without it."""
    status, facts = readiness(encoder=encoder).answer("/readyz")
    assert (status, facts["encoder"]) == (200, said)


def test_who_asked_within_a_minute_watches():
    """Only then does anybody learn in time that a server will stop."""
    now = [1000.0]
    server = readiness(monotonic=lambda: now[0])
    server.answer("/healthz")
    assert not server.is_watched
    server.answer("/readyz")
    assert server.is_watched
    now[0] += WATCHED_S
    assert not server.is_watched


def test_a_server_that_drains_is_not_ready_but_alive():
    """And so is one that refuses calls already."""
    server = readiness()
    for state in ("draining", "stopping"):
        server.state = state
        status, facts = server.answer("/readyz")
        assert (status, facts["status"]) == (503, state)
        assert server.answer("/healthz") == (200, {"status": state})


def test_a_silent_database_holds_up_nobody():
    """While a look at it takes long, that is what is said; once it answers, what it found."""
    now, looking, answered = [0.0], threading.Event(), threading.Event()

    def look():
        looking.set()
        answered.wait(PATIENCE_S)
        return {"database": ""}

    watch = DatabaseWatch(look, monotonic=lambda: now[0])
    assert watch.find() == {"database": "not asked yet"}
    watch.start()
    assert looking.wait(PATIENCE_S)
    now[0] = 1.6
    assert watch.find() == {"database": "does not answer"}
    answered.set()
    until(lambda: watch.find() == {"database": ""}, "the database to be seen again")
    watch.stop(PATIENCE_S)


def test_what_is_wrong_is_logged_once(caplog):
    """However often it is looked at; a fault of ours as well."""
    found = [{"database": "does not answer"}] * 3
    watch = DatabaseWatch(found.pop)
    for _ in range(3):
        watch.look()
    assert caplog.text.count("Not ready: database: does not answer") == 1
    watch.look()
    assert watch.find() == {"database": "not looked at"}


def asked(server, path="/readyz"):
    """The status of an answer, and what it says."""
    answer = httpx2.get(f"{server.base}{path}", headers={"host": "any.example"})
    return answer.status_code, answer.json()


def writes_of(server):
    """The status of an answer, what it says of writes, and of the tokens, which are only read."""
    status, facts = asked(server)
    return status, facts["writes"], facts["tokens"]


def test_a_real_server_says_what_it_waits_for(words_only, database, monkeypatch):
    """Its database, its schema and its home; to anybody, and nothing of where they are."""
    token_for("ann")
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", database.app_url)
    with (
        psycopg.connect(database.admin_url, autocommit=True) as admin,
        HttpServer() as server,
    ):
        until(lambda: asked(server)[0] == 200, "the server to be ready")
        assert asked(server)[1] == {
            "status": "ready",
            "tokens": "ok",
            "database": "ok",
            "writes": "ok",
            "migrations": "ok",
            "home": "ok",
            "settings": "ok",
            "encoder": "none",
        }
        admin.execute("UPDATE cp_settings SET value = '9' WHERE name = 'undo.keep_days'")
        until(lambda: asked(server)[1]["settings"] != "ok", "another setting to be noticed")
        assert asked(server)[0] == 200  # all others have it too
        # As where a standby answers in the primary's place, until the primary is found again.
        for change, found in (
            ("SET default_transaction_read_only = on", (503, "refused", "ok")),
            ("RESET default_transaction_read_only", (200, "ok", "ok")),
        ):
            admin.execute(f"ALTER DATABASE {admin.info.dbname} {change}")
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            until(lambda found=found: writes_of(server) == found, f"{found} to be said")
        # Another version migrates while this one serves.
        admin.execute("UPDATE applied_migrations SET number = number + 100 WHERE series = 'index'")
        admin.execute("UPDATE cp_served_home SET home = gen_random_uuid(), place = '/srv/other'")
        until(lambda: asked(server)[0] == 503, "another home to be noticed")
        said = asked(server)[1]
        assert said["home"] == "another is served"
        assert said["database"] == said["migrations"] == "ok"
        admin.execute("REVOKE ALL ON cp_served_home FROM commonplace_app")
        until(lambda: asked(server)[1]["database"] == "denied", "the refusal to be noticed")
        assert "/srv" not in json.dumps(asked(server)[1])
        assert asked(server, "/healthz") == (200, {"status": "ok"})
        assert server.end() == 0


def test_a_server_before_another_schema_is_not_ready(words_only, database, monkeypatch):
    """It starts, since its home is known as the one that is served, and says what it waits for."""
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", database.app_url)
    with HttpServer() as server:
        assert server.end() == 0
    with psycopg.connect(database.admin_url, autocommit=True) as admin:
        admin.execute("UPDATE applied_migrations SET number = number + 100 WHERE series = 'index'")
    with HttpServer() as server:
        wrong = "not those of this program"
        until(lambda: asked(server)[1].get("migrations") == wrong, "the schema to be looked at")
        assert asked(server)[0] == 503
        assert asked(server, "/healthz")[0] == 200
        assert server.end() == 0


def call(server, token):
    """The status of a request."""
    headers = {"authorization": f"Bearer {token}", "accept": "application/json, text/event-stream"}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    return httpx2.post(server.url, json=ping, headers=headers, timeout=PATIENCE_S).status_code


def test_a_watched_server_answers_on_after_sigterm_and_says_that_it_stops(words_only):
    """Who asks for its readiness has a while to send calls elsewhere."""
    token = token_for("ann")
    # Longer than any of these calls may take: at two seconds it had ended before the last.
    with HttpServer(COMMONPLACE_SERVE_DRAIN_SECONDS="3600") as server:
        assert asked(server)[0] == 200
        before = call(server, token)
        server.process.send_signal(signal.SIGTERM)
        until(lambda: asked(server)[0] == 503, "the server to say that it stops")
        assert asked(server)[1]["status"] == "draining"
        assert asked(server, "/healthz")[0] == 200
        assert call(server, token) == before
        server.end()


def test_a_watched_server_ends_by_itself_once_it_has_drained(words_only):
    """With 0, and without a second signal."""
    with HttpServer(COMMONPLACE_SERVE_DRAIN_SECONDS="0.5") as server:
        assert asked(server)[0] == 200
        assert server.end() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_a_server_that_drains(words_only, number):
    """At once, however long it would have gone on."""
    with HttpServer(COMMONPLACE_SERVE_DRAIN_SECONDS="3600") as server:
        assert asked(server)[0] == 200
        server.process.send_signal(signal.SIGTERM)
        until(lambda: asked(server)[1]["status"] == "draining", "the server to drain")
        assert server.end(number) in {0, 130, -number}


def test_a_server_that_nobody_watches_stops_without_a_wait(words_only):
    """Nobody would learn of it: a restart at home takes no longer."""
    with HttpServer(COMMONPLACE_SERVE_DRAIN_SECONDS="3600") as server:
        assert asked(server, "/healthz")[0] == 200
        assert server.end() == 0


@pytest.mark.long
def test_a_ready_server_has_imported_what_a_call_needs(words_only):
    """It takes a second of a processor, for which the first call would hold up all others."""
    with OnTerminal("serve", "--http", "127.0.0.1:0") as server:
        server.wait_for(lambda: server.out)
        base = server.out[0].split()[-1].removesuffix("/mcp")
        assert httpx2.get(f"{base}/readyz", timeout=PATIENCE_S).status_code == 200
        server.wait_for(lambda: "commonplace_server.mcp.server" in server.modules)


@pytest.mark.parametrize("told", haproxy.read_pages(), ids=["servers", "nodes"])
def test_haproxy_takes_what_a_page_gives_it(tmp_path, told):
    """Whole, and warns of nothing, as of times that are missing."""
    (conf := tmp_path / "conf").write_text(told)
    done = subprocess.run(
        [haproxy.find_program(), "-c", "-f", str(conf)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "WARNING" in done.stderr) == (0, False), done.stderr
