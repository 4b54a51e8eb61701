"""Sessions of the server ended at random under load: every call is done once, or says it may not be."""

from __future__ import annotations

import random
import threading

import psycopg
import pytest
from tests.patience import until

from commonplace.core.errors import NotFound, Unavailable

pytestmark = pytest.mark.long

USERS = ("ann", "Ann", "bob", "b%b")


class Customer(threading.Thread):
    """Saves, alters, deletes and searches until stopped; what is unknown is repeated with its key."""

    def __init__(self, memory):
        super().__init__()
        self.memory = memory
        self.told: dict[str, str] = {}
        self.deleted: set[str] = set()
        self.unsure: set[str] = set()
        self.failures: list[Unavailable] = []
        self.error: BaseException | None = None
        self.stop = threading.Event()

    def run(self):
        try:
            for number in range(10**6):
                if self.stop.is_set():
                    return
                self._turn(number)
        except BaseException as exc:  # noqa: BLE001  whatever it is, the test tells it
            self.error = exc

    def _turn(self, number):
        text = f"harbour {number}n"
        if number % 2:
            self.told[text] = self._surely(self.memory.save_todo, text, idempotency_key=text)
        else:
            ref_id = self._once(self.memory.save_todo, text)
            if ref_id is None:
                self.unsure.add(text)
                return
            self.told[text] = ref_id
        if number % 5 == 1:
            self._surely(self.memory.edit_todo, self.told[text], done=True)
        if number % 7 == 1:
            self.deleted.add(text)
            try:
                self._surely(self.memory.delete, self.told[text])
            except NotFound:
                return  # an earlier try was done
        found = self._once(self.memory.search, text, limit=100)
        if found is not None and not found.notes and text in self.told.keys() - self.deleted:
            assert self.told[text] in [hit.ref for hit in found.hits]

    def _once(self, call, *given, **named):
        try:
            return call(*given, **named)
        except Unavailable as exc:
            self.failures.append(exc)
            return None

    def _surely(self, call, *given, **named):
        while (done := self._once(call, *given, **named)) is None:
            pass
        return done


@pytest.mark.parametrize("ends", [120, pytest.param(400, marks=pytest.mark.whole)])
def test_sessions_ended_at_random(world, ends):
    """Four users and a worker, hundreds of ends: what was told is so, what was repeated is once."""
    first = world.open(USERS[0])
    memories = [first, *world.beside(first, *USERS[1:])]
    customers = [Customer(memory) for memory in memories]
    stop = threading.Event()
    working = threading.Thread(target=world.worker.run, args=(stop,))
    for each in (working, *customers):
        each.start()
    try:
        ended = end_sessions(world.database, customers, ends)
    finally:
        stop.set()
        for each in customers:
            each.stop.set()
            each.join()
        working.join()
    for each in customers:
        if each.error is not None:
            raise each.error
    assert ended >= ends
    for each in customers:
        assert each.failures
        assert all(error.hint and "harbour" not in str(error) for error in each.failures)
    world.database.run("UPDATE wb_outbox SET leased_until = NULL")
    world.work()
    for each in customers:
        check(world, each)
    assert world.database.rows("SELECT 1 FROM wb_outbox WHERE due OR words_due OR erase") == []


def end_sessions(database, customers, ends):
    """Any of ours, at any moment, until each customer met one of its ends; how many."""
    chance, ended = random.Random(11), 0
    with psycopg.connect(database.admin_url, autocommit=True) as conn:
        while ended < ends or not all(each.failures for each in customers):
            counts = [len(each.told) for each in customers]
            threading.Event().wait(chance.uniform(0.0, 0.03))
            ended += conn.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity"
                " WHERE datname = current_database() AND usename LIKE 'commonplace%'"
                " ORDER BY random() LIMIT 3) AS ended"
            ).fetchone()[0]
            if any(each.error for each in customers):
                break
            until(
                lambda counts=counts: any(
                    len(each.told) > count for each, count in zip(customers, counts, strict=True)
                ),
                "a customer to be told something",
            )
    return ended


def check(world, customer):
    rows = world.database.rows(
        "SELECT title, id FROM wb_todo WHERE user_id = %s", customer.memory.owner
    )
    there = {title: f"memory:todo/{record_id}" for title, record_id in rows}
    assert len(there) == len(rows)
    kept = {text: x for text, x in customer.told.items() if text not in customer.deleted}
    assert kept.items() <= there.items()
    assert there.keys() - kept.keys() <= customer.unsure
    index = customer.memory.service.index()
    assert index.known().stamps("").keys() == set(there.values())
    assert customer.memory.stats().pending == 0
    for text in random.Random(1).sample(sorted(there), 10):
        found = customer.memory.search(text, limit=100)
        assert there[text] in [hit.ref for hit in found.hits]
