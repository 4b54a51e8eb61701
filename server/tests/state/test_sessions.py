"""Sessions that every server of a database knows: whose they are, how many, and for how long."""

from __future__ import annotations

import psycopg
import pytest

from commonplace_server.postgres.database import Postgres
from commonplace_server.state.sessions import SessionDatabase
from commonplace_server.wiring.schema import check_database


@pytest.fixture
def sessions(database):
    pool = Postgres(database.app_url, check=check_database)
    yield SessionDatabase(pool, most=2, idle_s=60)
    pool.close()


def test_a_session_is_its_tokens_alone(sessions):
    """Of its owner, too; until it is over."""
    sessions.keep("ann", "1", b"a", "hello")
    assert sessions.find("ann", "1", b"a") == "hello"
    strangers = [("ann", "2"), ("bob", "1")]
    for owner, token_id in strangers:
        assert sessions.find(owner, token_id, b"a") is None
        sessions.end(owner, token_id, b"a")
    assert sessions.find("ann", "1", b"a") == "hello"
    sessions.end("ann", "1", b"a")
    sessions.end("ann", "1", b"a")
    assert sessions.find("ann", "1", b"a") is None


def test_the_longest_idle_of_too_many_is_over(sessions, database):
    """A client that never ends one keeps nobody out; another token's stay."""
    sessions.keep("ann", "2", b"other", "hello")
    for name in (b"a", b"b"):
        sessions.keep("ann", "1", name, "hello")
    with psycopg.connect(database.admin_url) as conn:
        conn.execute("UPDATE cp_sessions SET used_at = used_at - interval '30 seconds'")
    sessions.keep("ann", "1", b"c", "hello")
    found = [name for name in (b"a", b"b", b"c") if sessions.find("ann", "1", name)]
    assert (len(found), found[-1]) == (2, b"c")
    assert sessions.find("ann", "2", b"other") == "hello"


def test_an_idle_session_is_over(sessions, database):
    """A use keeps it open, and is noted each minute."""
    sessions.keep("ann", "1", b"a", "hello")
    with psycopg.connect(database.admin_url, autocommit=True) as conn:
        ahead = "UPDATE cp_sessions SET used_at = now() - %s::interval"
        conn.execute(ahead, ["61 seconds"])
        assert sessions.find("ann", "1", b"a") is None
        longer = SessionDatabase(sessions._database, most=2, idle_s=1800)
        assert longer.find("ann", "1", b"a") == "hello"
        assert sessions.find("ann", "1", b"a") == "hello"
        sessions.keep("ann", "2", b"of a token that is not used again", "hello")
        conn.execute(ahead, ["61 seconds"])
        sessions.keep("ann", "1", b"b", "hello")
        assert conn.execute("SELECT count(*) FROM cp_sessions").fetchone() == (1,)


def test_what_was_read_in_a_session_goes_with_it(sessions, database):
    """The last of each section, for that session alone; in a table that names no section."""
    for name in (b"a", b"b"):
        sessions.keep("ann", "1", name, "hello")
    for section, version in (("quay", "1" * 12), ("quay/gate", "2" * 12), ("quay", "3" * 12)):
        sessions.note_read("ann", "1", b"a", section, version)
    sessions.note_read("ann", "2", b"b", "quay", "4" * 12)  # another token's session is not it
    sessions.note_read("ann", "1", b"over", "quay", "5" * 12)
    assert sessions.last_read("ann", "1", b"a", "quay") == "3" * 12
    assert sessions.last_read("ann", "1", b"a", "quay/gate") == "2" * 12
    assert sessions.last_read("ann", "1", b"b", "quay") == ""
    assert sessions.last_read("bob", "1", b"a", "quay") == ""
    with psycopg.connect(database.admin_url) as conn:
        asked = "SELECT r::text FROM cp_session_reads AS r"
        assert not [x for (x,) in conn.execute(asked) if "quay" in x]
        sessions.end("ann", "1", b"a")
        assert conn.execute(asked).fetchall() == []
