"""One transaction of several owners: whose turn it is has its rows alone, and all is done or nothing."""

import time

import psycopg
import pytest

from commonplace.core.errors import Denied, Invalid, Lost, Unavailable
from commonplace.db.postgres.database import Postgres, statement
from commonplace.db.postgres.turns import turns

KEEP = statement("INSERT INTO wb_marks (user_id, source, mark) VALUES (%s, %s, 'x')")
SEEN = statement("SELECT user_id FROM wb_marks ORDER BY 1")
COUNT = "SELECT count(*) FROM wb_marks"


@pytest.fixture
def pool(database):
    made = Postgres(database.app_url, check=lambda _conn, _name: None)
    yield made
    made.close()


def test_each_sees_and_writes_its_own(pool, database):
    """However the turns go to and fro; whoever borrows the connection next has nobody's."""
    seen = []

    def steps(owner):
        conn.execute(KEEP, [owner, "first"])
        yield
        found = conn.execute(SEEN)
        yield
        seen.append((owner, [row[0] for row in found.fetchall()]))

    with turns(pool) as given:
        conn = given.conn
        given.step((owner, steps(owner)) for owner in ("ann", "o'b\\", "cy"))
    assert seen == [(owner, [owner]) for owner in ("ann", "o'b\\", "cy")]
    assert database.rows(COUNT) == [(3,)]
    with pool.across() as after:
        assert after.execute(SEEN).fetchall() == []


def write(pool, *turned):
    """Rows of users, each in a turn of the one named before it."""
    with turns(pool) as given:
        for number, (turn, user) in enumerate(turned):
            if turn is not None:
                given.give_to(turn)
            given.conn.execute(KEEP, [user, str(number)])


@pytest.mark.parametrize(
    ("error", "turned"),
    [
        (Denied, [(None, "ann")]),
        (Denied, [("ann", "ann"), ("bob", "ann")]),
        (Invalid, [("ann", "ann"), ("", "ann")]),
    ],
)
def test_nobody_writes_for_another(pool, database, error, turned):
    """Neither before the first turn nor in one; and nothing is kept of anybody's then."""
    with pytest.raises(error):
        write(pool, *turned)
    assert database.rows(COUNT) == [(0,)]
    write(pool, ("ann", "ann"), ("bob", "bob"))
    assert database.rows(COUNT) == [(2,)]


def test_a_process_that_is_stopped_in_a_turn_keeps_nobody_waiting(pool, database):
    """Nor for longer than the whole may take; what it had written is not there."""
    brief = Postgres(database.app_url, check=lambda _conn, _name: None, deadline_s=0.2)
    with pytest.raises(Lost), turns(brief) as given:  # noqa: PT012  what is under way is the point
        given.give_to("ann").execute(KEEP, ["ann", "0"])
        assert given.conn.execute(SEEN).fetchall() == [("ann",)]
        with pool.within("ann") as other:
            other.execute(KEEP, ["ann", "0"])  # waits for the first
    brief.close()


def test_what_another_writes_is_waited_for_briefly(pool, database):
    """Meanwhile the rows of all who had their turn are held; alone an owner waits for longer."""
    begun = time.monotonic()
    with psycopg.connect(database.admin_url) as other:
        other.execute(KEEP, ["bob", "1"])
        with pytest.raises(Unavailable, match="holds a lock"):
            write(pool, ("ann", "ann"), ("bob", "bob"))
    assert time.monotonic() - begun < 10
