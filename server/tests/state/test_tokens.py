"""Tokens of a home and of a database: the same laws, how they move, and when a revocation holds."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest
from server.tests.http_world import home
from server.tests.state.token_laws import NOW, TokenLaws
from tests.doors.terminal import facts, run

from commonplace.core.errors import CommonplaceError
from commonplace.doors.host_names import HostNames
from commonplace_server.http.authenticator import Authenticator, Offer, Refusal
from commonplace_server.http.served_pages import TokenEntrance
from commonplace_server.postgres.database import Postgres
from commonplace_server.state.tokens import KNOWN_S, TokenDatabase
from commonplace_server.tokens import USE_NOTED_EVERY, TokenFile
from commonplace_server.wiring.schema import check_database
from commonplace_testing import FrozenClock

LOCAL = HostNames(hosts=frozenset({"localhost"}), is_loopback=True)
OFFER = Offer(owner="me", toolsets=("memory",), usual=("memory",), may_write=True)


@pytest.fixture
def clock():
    return FrozenClock(NOW)


class TestOfAHome(TokenLaws):
    """In a file."""

    @pytest.fixture
    def fresh(self, tmp_path, clock):
        return lambda: TokenFile(tmp_path / "kept", clock=clock)

    @pytest.fixture
    def tokens(self, fresh):
        return fresh()


class TestOfADatabase(TokenLaws):
    """In a table."""

    @pytest.fixture
    def fresh(self, pool, clock):
        return lambda: TokenDatabase(pool, clock=clock)

    @pytest.fixture
    def tokens(self, fresh):
        return fresh()

    def test_only_a_hash_is_kept(self, tokens, database):
        """No row of any table holds the text."""
        made, text = tokens.create("ann")
        with psycopg.connect(database.admin_url) as conn:
            (row,) = conn.execute("SELECT t::text FROM cp_tokens AS t").fetchall()
        assert made.digest in row[0]
        assert text.split("_", 2)[2] not in row[0]

    def test_what_was_read_is_believed_for_less_than_a_second(self, pool, clock):
        """Then it is read again: no word of another server is needed."""
        seconds = [0.0]
        here = TokenDatabase(pool, clock=clock, monotonic=lambda: seconds[0])
        made, text = here.create("ann")
        assert here.find(text).state(NOW) == "valid"
        TokenDatabase(pool, clock=clock).revoke(made.id)
        assert here.find(text).state(NOW) == "valid"
        seconds[0] = KNOWN_S
        assert KNOWN_S < 1
        assert here.find(text).state(NOW) == "revoked"

    def test_who_is_known_is_let_in_without_a_question(self, pool, clock):
        """As long as what was read is believed, and the use within the hour; else one is asked."""
        seconds = [0.0]
        here = TokenDatabase(pool, clock=clock, monotonic=lambda: seconds[0])
        made, text = here.create("ann")
        entrance = Authenticator(tokens=here, names=LOCAL, offer=OFFER, clock=clock)
        asked = {b"host": b"localhost", b"authorization": f"Bearer {text}".encode()}
        forged = asked | {b"authorization": f"Bearer {text[:-8]}{'A' * 8}".encode()}
        assert entrance.admit_known(asked) is None
        caller = entrance.admit(asked, http_version="1.1")
        assert entrance.admit_known(asked) == caller
        assert entrance.still_admits_known(caller)
        assert entrance.admit_known(forged) is None
        with pytest.raises(Refusal):
            entrance.admit_known(asked | {b"origin": b"https://elsewhere.example"})
        clock.advance(USE_NOTED_EVERY.total_seconds())
        assert entrance.admit_known(asked) is None
        assert entrance.admit(asked, http_version="1.1") == caller
        assert entrance.admit_known(asked) == caller
        TokenDatabase(pool, clock=clock).revoke(made.id)
        seconds[0] = KNOWN_S
        assert entrance.admit_known(asked) is None
        assert not entrance.still_admits_known(caller)

    def test_who_is_known_has_no_more_rights_by_that(self, pool, clock):
        """What a token does not open is refused, and one that has expired lets nobody in."""
        here = TokenDatabase(pool, clock=clock, monotonic=lambda: 0.0)
        _, text = here.create("ann", expires_at=NOW + timedelta(minutes=1))
        entrance = Authenticator(tokens=here, names=LOCAL, offer=OFFER, clock=clock)
        asked = {b"host": b"localhost", b"authorization": f"Bearer {text}".encode()}
        caller = entrance.admit(asked, http_version="1.1")
        with pytest.raises(Refusal, match="not for that space"):
            entrance.admit_known(asked, space="space:team")
        clock.advance(60)
        assert entrance.admit_known(asked) is None
        assert not entrance.still_admits_known(caller)

    def test_a_page_that_stays_open_ends_with_its_token(self, pool, clock):
        """At its next look, which is a second away: what was read before does not count for it."""
        here = TokenDatabase(pool, clock=clock, monotonic=lambda: 0.0)
        made, text = here.create("ann")
        entrance = TokenEntrance(here, may_write=True, clock=clock)
        visitor = entrance.enter(text)
        assert entrance.still_admits(visitor)
        TokenDatabase(pool, clock=clock).revoke(made.id)
        assert not entrance.still_admits(visitor)

    def test_nobody_without_a_token_is_let_in_while_it_is_not_known(self, database, clock):
        """A database that is away may have tokens."""
        pool = Postgres(database.app_url, check=check_database)
        tokens = TokenDatabase(pool, clock=clock)
        pool.close()
        assert tokens.was_used()
        with pytest.raises(CommonplaceError):
            tokens.find(f"cp_{'0' * 8}_{'a' * 43}")


def test_what_a_home_has_in_its_file_moves(pool, clock, tmp_path):
    """With its uses, as often as it is moved; what is revoked in one is revoked in both."""
    kept, shared = TokenFile(tmp_path / "kept", clock=clock), TokenDatabase(pool, clock=clock)
    used, text = kept.create("ann", label="laptop")
    gone, _ = kept.create("bob")
    kept.note_use(used)
    kept.revoke(gone.id)
    assert shared.take_over(kept) == 2
    assert shared.get(gone.id).revoked_at == NOW
    assert shared.take_over(kept) == 0
    assert shared.find(text) == used
    assert shared.last_use(used) == NOW
    assert shared.get(gone.id).revoked_at == NOW
    clock.advance(60)
    shared.revoke(used.id)
    shared.take_over(kept)
    assert kept.find(text).revoked_at == clock()


def test_the_commands_work_on_the_database(database, monkeypatch):
    """What a home had is listed beside what is made there, and is revoked in both places."""
    before = facts("tokens", "create", "--owner", "ann", "--label", "old")
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", database.app_url)
    made = facts("tokens", "create", "--owner", "bob", "--toolsets", "memory", "--expires", "90d")
    listed = {each["id"]: each for each in facts("tokens", "list")["tokens"]}
    assert {name: each["user"] for name, each in listed.items()} == {
        before["id"]: "ann",
        made["id"]: "bob",
    }
    assert facts("tokens", "revoke", before["id"])["state"] == "revoked"
    file = TokenFile(home(), clock=FrozenClock(NOW))
    assert {x.id: x.revoked_at is not None for x in file.list_tokens()} == {before["id"]: True}
    monkeypatch.setenv("COMMONPLACE_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/x")
    refused = run("tokens", "create", "--owner", "ann")
    assert refused.exit_code == 1
    assert "does not answer" in refused.output
