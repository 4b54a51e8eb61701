"""What was asked before a process stood still is not kept; who asked before a silence knows of it."""

from __future__ import annotations

import socket
from contextlib import contextmanager, suppress

import pytest

from commonplace.core.errors import Lost, Unavailable
from commonplace.core.standstill import LONGEST_S, Standstill, came_at
from commonplace_server.postgres.database import Postgres


class Seconds:
    now = 100.0
    meanwhile = None

    def __call__(self):
        now, meanwhile, self.meanwhile = self.now, self.meanwhile, None
        if meanwhile:
            meanwhile()
        return now


@pytest.fixture
def seconds():
    return Seconds()


@pytest.fixture
def standstill(seconds):
    """One that was long made when it was first looked, as where a server starts slowly."""
    made = Standstill(now=seconds)
    seconds.now += 2 * LONGEST_S
    with made.watching():
        made.check_clock()
        yield made


@pytest.fixture
def keep(database, standstill):
    """Writes one row of a user, and says how many there are."""
    pool = Postgres(database.app_url, check=lambda *_: None, refuse=standstill.refuse)

    @contextmanager
    def keeping():
        with pool.owner_transaction("ann") as conn:
            conn.execute(
                "INSERT INTO cp_keys (user_id, journal, key, ids, at)"
                " VALUES ('ann', 'private', %s, '{}', now())",
                (str(len(rows())),),
            )
            yield

    def rows():
        return database.rows("SELECT 1 FROM cp_keys")

    keeping.rows = rows
    yield keeping
    pool.close()


def test_what_was_asked_before_is_rolled_back(keep, standstill, seconds):
    """In the midst of its transaction or before it, and what may have lain there unread."""
    with standstill.asked():
        with pytest.raises(Unavailable, match="stood still"), keep():
            seconds.now += LONGEST_S + 1
        with pytest.raises(Unavailable) as told, keep():
            pass
    assert told.value.hint
    with standstill.asked(), pytest.raises(Unavailable), keep():
        pass
    assert keep.rows() == []


def test_what_is_asked_later_is_kept(keep, standstill, seconds):
    """So is what a busy server was slow to do, and what no request asked for."""
    for _ in range(3):
        with standstill.asked():
            came = came_at()
            seconds.now += LONGEST_S - 1
            with standstill.asked(came), keep():
                pass
    seconds.now += LONGEST_S + 1
    with keep():
        pass
    standstill.check_clock()
    seconds.now += 1
    with standstill.asked(), keep():
        pass
    assert len(keep.rows()) == 5


def test_a_process_that_wrote_before_it_served_did_not_stand_still(seconds):
    """Nobody looks all the time where no request is answered."""
    made = Standstill(now=seconds)
    for _ in range(2):
        with made.asked():
            seconds.now += 2 * LONGEST_S
            made.refuse()
        with made.watching(), made.asked():
            made.check_clock()
            made.refuse()


def test_a_thread_that_notes_the_time_late_makes_no_standstill(standstill, seconds):
    """The others looked at the clock all the time that it waited for its turn."""

    def check_on():
        for _ in range(2):
            seconds.now += LONGEST_S - 1
            standstill.check_clock()

    with standstill.asked():
        seconds.meanwhile = check_on
        standstill.check_clock()
        standstill.refuse()


def test_what_may_have_lain_unread_came_right_before_the_process_went_on(standstill, seconds):
    """So that a silence of the database from long before is not taken for one since."""
    silent_until, seconds.now = seconds.now, seconds.now + LONGEST_S + 1
    with standstill.asked():
        assert silent_until < came_at() < seconds.now


def test_who_asked_before_a_silence_does_not_wait_for_the_database_again():
    """Else of a crowd each waits in turn: the last of 150 calls was answered after 40 s."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.setblocking(False)
        url = f"postgresql://x@127.0.0.1:{silent.getsockname()[1]}/x?connect_timeout=2"
        pool = Postgres(url, check=lambda *_: None)

        def looks():
            """How often somebody came since."""
            count = 0
            with suppress(BlockingIOError):
                while True:
                    silent.accept()[0].close()
                    count += 1
            return count

        def lost():
            with pytest.raises(Lost) as told, pool.owner_transaction("ann"):
                pass
            return told.value

        with Standstill().asked():
            lost()
            assert looks() == 1
            assert lost() is not lost()  # one that is kept would keep what each had in hand
            assert looks() == 0
        with Standstill().asked():  # it may be back
            lost()
        assert looks() == 1
        pool.close()
