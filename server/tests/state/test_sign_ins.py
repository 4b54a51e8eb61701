"""Clients, codes and grants of a home and of a database: the same laws."""

from __future__ import annotations

import os
from datetime import timedelta

import psycopg
import pytest
from server.tests.state.token_laws import NOW

from commonplace.core.errors import Unavailable
from commonplace_server.grants.grants import (
    KNOWN_S,
    Allowed,
    GrantedTokens,
    Grants,
    TokensAndGrants,
)
from commonplace_server.grants.records import Record, RecordFile
from commonplace_server.state.sign_ins import RecordDatabase
from commonplace_server.state.tokens import TokenDatabase
from commonplace_server.tokens import TokenFile
from commonplace_testing import FrozenClock

ASKED = {"challenge": "c" * 43, "redirect_uri": "https://claude.ai/back", "named": True}


@pytest.fixture
def clock():
    return FrozenClock(NOW)


def record(key="one", **given):
    """One that lasts an hour."""
    made = {"kind": "client", "facts": {"n": 1}, "until": NOW + timedelta(hours=1), **given}
    return Record(key=key, **made)


class RecordLaws:
    """What a file and a table owe; a test class has the fixtures `fresh` and `tokens`."""

    def test_what_is_kept_is_found_by_any_server(self, fresh):
        """Whole, until its time is over, and by nothing but its kind and key."""
        records = fresh()
        kept = record(group="ann ä", facts={"n": [1, "é", None]}, until=NOW + timedelta(seconds=1))
        records.put(kept, most=10)
        assert fresh().find("client", ["other", "one"]) == [kept]
        assert fresh().list_records("client") == [kept]
        assert fresh().find("code", ["one"]) == []

    def test_what_is_over_is_not_there(self, fresh, clock):
        """From that instant on."""
        records = fresh()
        records.put(record(), most=10)
        clock.advance(3600)
        assert records.find("client", ["one"]) == []
        assert records.list_records("client") == []
        records.put(record("two", until=NOW + timedelta(hours=2)), most=10)
        assert [x.key for x in fresh().list_records("client")] == ["two"]

    def test_one_of_two_alters(self, fresh):
        """Who read it before another altered it does not."""
        fresh().put(record(), most=10)
        (mine,) = fresh().find("client", ["one"])
        (theirs,) = fresh().find("client", ["one"])
        assert fresh().alter(theirs, {"n": 2})
        assert not fresh().alter(mine, {"n": 3})
        (found,) = fresh().find("client", ["one"])
        assert found.facts == {"n": 2}

    def test_of_too_many_those_go_that_end_first(self, fresh):
        """Of their kind and user: never the new one, nor another's."""
        records = fresh()
        records.put(record("bobs", group="bob", until=NOW + timedelta(seconds=5)), most=2)
        records.put(record("code", kind="code", until=NOW + timedelta(seconds=5)), most=2)
        for key, minutes in (("a", 10), ("b", 30), ("c", 20), ("d", 5)):
            records.put(record(key, until=NOW + timedelta(minutes=minutes)), most=2)
        left = sorted(x.key for x in records.list_records("client"))
        assert left == ["b", "bobs", "d"]
        assert [x.key for x in records.list_records("client", "bob")] == ["bobs"]
        assert len(records.list_records("code")) == 1

    def test_one_that_is_removed_is_gone(self, fresh):
        """May be said twice."""
        records = fresh()
        records.put(record(), most=10)
        records.remove(record())
        records.remove(record())
        assert fresh().find("client", ["one"]) == []

    def test_a_grant_ends_with_the_token_of_its_user(self, fresh, tokens, clock):
        """On every server within a second; and by its own name in the list."""
        seconds = [0.0]
        of_user, _ = tokens.create("ann", expires_at=NOW + timedelta(days=7))
        here = Grants(fresh(), tokens, clock=clock, monotonic=lambda: seconds[0])
        let_in = GrantedTokens(tokens, here)

        def granted(token):
            allowed = Allowed(
                owner="ann",
                token_id=token.id,
                client="claude",
                name="Claude",
                scopes=("read",),
                until=token.expires_at,
            )
            code = here.find_code(here.new_code(allowed, ASKED))
            return here.exchange(code)

        first, second = granted(of_user), granted(of_user)
        found = let_in.find(first.access)
        assert (found.owner, found.scopes, found.label) == ("ann", ("read",), "Claude")
        assert found.expires_at == of_user.expires_at
        listed = TokensAndGrants(tokens, Grants(fresh(), tokens, clock=clock))
        assert [x.state(NOW) for x in listed.list_tokens()] == ["valid"] * 3
        assert listed.last_use(found) == NOW
        assert listed.revoke(found.id).state(NOW) == "revoked"
        seconds[0] += KNOWN_S
        assert let_in.find(first.access) is None
        assert here.find_refresh(first.refresh) is None
        assert let_in.find(second.access).state(NOW) == "valid"
        listed.revoke(of_user.id)
        let_in.refresh([found.id])
        seconds[0] += KNOWN_S
        assert let_in.find(second.access).state(NOW) == "revoked"
        assert here.find_refresh(second.refresh) is None

    def test_a_new_token_for_an_old_one_once(self, fresh, tokens, clock):
        """The older access token of an hour holds still; an older refresh token ends all of it."""
        of_user, _ = tokens.create("ann")
        grants = Grants(fresh(), tokens, clock=clock, monotonic=clock.seconds)
        allowed = Allowed(
            owner="ann", token_id=of_user.id, client="c", name="C", scopes=("read", "write")
        )
        first = grants.exchange(grants.find_code(grants.new_code(allowed, ASKED)))
        clock.advance(1800)
        second = grants.refresh(grants.find_refresh(first.refresh), first.refresh)
        clock.advance(5)
        assert grants.find_refresh(first.refresh) is None
        assert grants.find_access(second.access) is not None
        assert grants.find_access(first.access) is not None
        clock.advance(1800)
        assert grants.find_access(first.access) is None
        assert grants.find_refresh(first.refresh) is None
        assert grants.find_refresh(second.refresh) is None
        assert grants.find_access(second.access) is None

    def test_what_one_server_gave_another_lets_in_at_once(self, fresh, tokens, clock):
        """Though it believes what it read for a while; and any server gives the next."""
        of_user, _ = tokens.create("ann")
        here, there = (
            Grants(fresh(), tokens, clock=clock, monotonic=lambda: 0.0) for _ in range(2)
        )
        allowed = Allowed(owner="ann", token_id=of_user.id, client="c", name="C", scopes=("read",))
        first = here.exchange(here.find_code(here.new_code(allowed, ASKED)))
        assert there.find_access(first.access) is not None
        second = here.refresh(here.find_refresh(first.refresh), first.refresh)
        assert there.find_access(second.access) is not None
        third = there.refresh(there.find_refresh(second.refresh), second.refresh)
        assert here.find_access(third.access) is not None


class TestOfAHome(RecordLaws):
    """In a file."""

    @pytest.fixture
    def tokens(self, tmp_path, clock):
        return TokenFile(tmp_path / "kept", clock=clock)

    @pytest.fixture
    def fresh(self, tmp_path, clock):
        return lambda: RecordFile(tmp_path / "kept", clock=clock)

    def test_only_its_user_may_read_it(self, fresh, tmp_path):
        """As the file of tokens."""
        fresh().put(record(), most=1)
        assert os.stat(tmp_path / "kept" / "sign-ins.json").st_mode & 0o077 == 0

    @pytest.mark.parametrize("content", ["{", "[]", '{"version":2}', '{"version":1,"records":[7]}'])
    def test_a_damaged_file_lets_nobody_in(self, fresh, tmp_path, content):
        """And says which it is."""
        fresh().put(record(), most=1)
        (tmp_path / "kept" / "sign-ins.json").write_text(content)
        with pytest.raises(Unavailable, match="sign-ins"):
            fresh().find("client", ["one"])
        with pytest.raises(Unavailable):
            fresh().put(record("two"), most=1)

    def test_a_link_that_leads_nowhere_lets_nobody_in(self, fresh, tmp_path):
        """Sign-ins on a disk that is not there yet: not a server at which nobody ever signed in."""
        (tmp_path / "kept").mkdir(exist_ok=True)
        (tmp_path / "kept" / "sign-ins.json").symlink_to(tmp_path / "elsewhere.json")
        with pytest.raises(Unavailable, match="leads nowhere"):
            fresh().find("client", ["one"])


class TestOfADatabase(RecordLaws):
    """In a table."""

    @pytest.fixture
    def tokens(self, pool, clock):
        return TokenDatabase(pool, clock=clock, monotonic=iter(range(0, 10_000, 2)).__next__)

    @pytest.fixture
    def fresh(self, pool, clock):
        return lambda: RecordDatabase(pool, clock=clock)

    def test_only_hashes_are_kept(self, fresh, tokens, clock, database):
        """No row holds the text of a code or a token."""
        of_user, _ = tokens.create("ann")
        grants = Grants(fresh(), tokens, clock=clock)
        allowed = Allowed(owner="ann", token_id=of_user.id, client="c", name="C", scopes=("read",))
        code = grants.new_code(allowed, ASKED)
        issued = grants.exchange(grants.find_code(code))
        with psycopg.connect(database.admin_url) as conn:
            rows = "\n".join(x[0] for x in conn.execute("SELECT t::text FROM cp_sign_ins AS t"))
        secrets = (
            code,
            issued.access.split("_", 2)[2],
            *issued.refresh.split("_", 2)[2].split("."),
        )
        assert [x for x in secrets if x in rows] == []
        assert len(rows.splitlines()) == 2
