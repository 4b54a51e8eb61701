"""A worker looks at users of whom something changed, and keeps up those of whom something is due."""

from datetime import timedelta
from threading import Barrier, BrokenBarrierError, Event, Thread

from tests.patience import PATIENCE_S

from commonplace_server.store.due_users import DueUsers
from commonplace_server.worker import numbers
from commonplace_server.worker.users import UserRounds
from commonplace_server.worker.worker import MemoryWorker


class Upkeep:
    """Of a user of whom something is due; what is done of it the test says."""

    def __init__(self, clock, done):
        self._clock = clock
        self._done = done

    def next_at(self, owner, *, after=None):
        return self._clock() if after is None else self._clock() + timedelta(hours=1)

    def keep_up(self, owner):
        self._done()

    def close_idle(self):
        pass


def test_neither_looks_nor_upkeep_wait_for_each_other(world, parts, pool, monkeypatch):
    """A language model takes minutes, and where many write somebody is always to be looked at."""
    monkeypatch.setattr(numbers, "UPKEEP_POLL_S", 0.01)
    world.open("ann").save_todo("harbour")
    world.open("bob").save_todo("lantern")
    world.database.run("UPDATE cp_kept SET unseen_since = now() - interval '1 h'")
    world.database.run(
        "UPDATE cp_kept SET unseen_since = NULL, upkeep_at = '2001-01-01' WHERE user_id = 'ann'"
    )
    met, stop = Event(), Event()
    both = Barrier(2, action=met.set)

    def meet(*_):
        try:
            both.wait(PATIENCE_S)
        except BrokenBarrierError:
            stop.set()

    upkeep = Upkeep(world.clock, meet)
    users = UserRounds(DueUsers(pool), follow=meet, upkeep=upkeep, clock=world.clock)
    worker = MemoryWorker(**parts, users=users)
    thread = Thread(target=worker.run, args=(stop,))
    thread.start()
    try:
        assert met.wait(PATIENCE_S)
    finally:
        stop.set()
        both.abort()
        thread.join()


def test_what_is_stuck_puts_off_nothing_that_is_due_before_it_is_tried_again(world, pool):
    """That is a day later; what else is due of its user in an hour is done in an hour."""
    world.open("ann").save_todo("harbour")
    world.database.run("UPDATE cp_kept SET upkeep_at = '2001-01-01'")
    upkeep = Upkeep(world.clock, lambda: None)
    users = UserRounds(DueUsers(pool), follow=print, upkeep=upkeep, clock=world.clock)
    users.keep_up(Event())
    found = world.database.rows("SELECT upkeep_at FROM cp_kept")
    assert [at for (at,) in found] == [world.clock() + timedelta(hours=1)]
