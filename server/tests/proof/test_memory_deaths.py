"""An application and its workers killed at random moments: nothing is lost, nothing is there twice."""

from __future__ import annotations

import os
import random
import signal
import threading
from functools import partial

import psutil
import pytest
from tests.patience import until

USERS = ("ann", "Ann")


class Life:
    """One user's applications, one after the other, and what they were told."""

    def __init__(self, user, folder):
        self.user = user
        self.told = folder / f"told of {USERS.index(user)}"
        self.told.touch()

    def lines(self):
        """What was acknowledged: (what, number, id)."""
        lines = [line.split() for line in self.told.read_text().splitlines()]
        return [(what, int(number), ref_id) for what, number, ref_id in lines]

    @property
    def next(self):
        """The first number of which nothing is known: its key is repeated."""
        return max([number for _, number, _ in self.lines()], default=-1) + 1


def end(*pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not any(map(psutil.pid_exists, pids)), "the dead to be gone")


def all_have_more(lives, before):
    return all(len(life.lines()) > count for life, count in zip(lives, before, strict=True))


@pytest.mark.parametrize(
    ("rounds", "workers"),
    [
        (5, 1),
        pytest.param(15, 2, marks=pytest.mark.long),
        pytest.param(60, 2, marks=pytest.mark.whole),
    ],
)
def test_deaths_at_random_moments(world, children, tmp_path, rounds, workers):
    """Two applications and workers, which pack, killed in each round: every answer was true."""
    chance = random.Random(7)
    lives = [Life(user, tmp_path) for user in USERS]
    common = {
        "home": str(tmp_path),
        "app_url": world.database.app_url,
        "worker_url": world.database.worker_url,
    }
    for _ in range(rounds):
        before = [len(life.lines()) for life in lives]
        pids = [children.start("work", **common) for _ in range(workers)]
        for life in lives:
            asked = {"user": life.user, "first": life.next, "told": str(life.told)}
            pids.append(children.start("save", **asked, **common))
        until(partial(all_have_more, lives, before), "each application to be told something")
        until(partial(world.database.rows, "SELECT 1 FROM wb_embeddings LIMIT 1"), "a first vector")
        threading.Event().wait(chance.uniform(0.0, 0.3))
        end(*pids)
    leased = "SELECT count(*) FROM wb_outbox WHERE leased_until > now()"
    until(lambda: world.database.rows(leased) == [(0,)], "the leases of the dead to run out")
    world.work()
    assert world.database.rows("SELECT 1 FROM wb_outbox WHERE due OR words_due OR erase") == []
    assert world.database.rows("SELECT 1 FROM wb_packed LIMIT 1")
    for life in lives:
        check(world, life, rounds)


def check(world, life, rounds):
    """What was told is so; of what nobody was told there is at most one for each death."""
    titles, deleted = {}, set()
    for what, number, ref_id in life.lines():
        titles[ref_id] = f"{'fence' if what == 'altered' else 'harbour'} n{number}"
        if what == "deleted":
            deleted.add(ref_id)
    mine = world.open(life.user)
    there = {todo.ref: todo.title for todo in all_todos(mine)}
    assert not deleted & there.keys()
    lost = titles.keys() - deleted - there.keys()
    other = [each for each in titles.keys() & there.keys() if titles[each] != there[each]]
    # A delete or an edit that was done, and whose answer the death came before.
    assert len(lost) + len(other) + len(there.keys() - titles.keys()) <= rounds
    assert all(int(titles[ref_id].split("n")[-1]) % 5 == 0 for ref_id in lost)
    assert all(there[each].startswith("fence") for each in other)
    assert len({title.split()[-1] for title in there.values()}) == len(there)
    stats = mine.stats()
    assert (stats.found, stats.pending) == (len(there), 0)
    docs = "SELECT ref FROM wb_docs WHERE user_id = %s"
    refs = [ref for (ref,) in world.database.rows(docs, life.user)]
    assert sorted(refs) == sorted(there)
    vectors = "SELECT ref_id FROM wb_embeddings WHERE user_id = %s"
    made = [f"memory:todo/{ref_id}" for (ref_id,) in world.database.rows(vectors, life.user)]
    assert sorted(made) == sorted(there)
    for ref_id, title in random.Random(3).sample(sorted(there.items()), min(20, len(there))):
        found = mine.search(title, limit=5)
        assert ref_id in [hit.ref for hit in found.hits]


def all_todos(mine):
    """Every one, page by page."""
    cursor = ""
    while True:
        listed = mine.service.list_records("todo", limit=100, cursor=cursor)
        yield from listed.records
        if not (cursor := listed.cursor):
            return
