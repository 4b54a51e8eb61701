"""Every storage of the timeline keeps the laws of the contract."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from contextlib import closing
from datetime import UTC

import psycopg
import pytest
from tests.contracts.timeline_laws import START, TimelineContract, at, rollups_of, texts, told

from commonplace.core.errors import NotFound
from commonplace.core.expiring import is_revealed
from commonplace.journals.timeline.journal import TimelineJournal
from commonplace_server.postgres.database import Postgres
from commonplace_server.store.timeline import TimelinePostgres
from commonplace_server.wiring.schema import check_database
from commonplace_testing import FrozenClock


class FileWorld:
    """A file in a folder; each opening is another process's."""

    def __init__(self, folder):
        self.clock = FrozenClock(START)
        self._folder = folder
        self._expired, self._opened = set(), []
        self._names = itertools.count()

    def open(self, name="mine"):
        hidden = lambda: frozenset() if is_revealed() else frozenset(self._expired)  # noqa: E731
        return self._made(self._folder / name, "ann", hidden=hidden)

    def _made(self, folder, owner, **settings):
        made = TimelineJournal(folder, owner=owner, zone=UTC, clock=self.clock, **settings)
        self._opened.append(made)
        return made

    def empty(self):
        return self.open(f"empty-{next(self._names)}")

    def expire(self, ref):
        self._expired.add(ref)

    def close(self):
        for each in self._opened:
            each.close()


class ServerWorld(FileWorld):
    """One database for all users, under row level security; each opening is another server's."""

    def __init__(self, folder, database):
        super().__init__(folder)
        self.database = database
        self._pools = []

    def open(self, name="ann"):
        pool = Postgres(self.database.app_url, check=check_database)
        self._pools.append(pool)
        store = TimelinePostgres(pool, owner=name, clock=self.clock)
        return self._made(self._folder / name, name, store=store)

    def expire(self, ref):
        kind, _, ref_id = ref.partition(":")
        with psycopg.connect(self.database.admin_url, autocommit=True) as conn:
            conn.execute(
                "INSERT INTO wb_times (user_id, kind, ref_id, expires_at) VALUES (%s, %s, %s, %s)",
                ("ann", kind, ref_id, self.clock.at),
            )

    def close(self):
        super().close()
        for each in self._pools:
            each.close()


class TestTimelineFile(TimelineContract):
    """The file of one owner."""

    @pytest.fixture
    def world(self, tmp_path):
        with closing(FileWorld(tmp_path)) as made:
            yield made


KILLED = """
import os, signal, sys
from datetime import UTC
from tests.contracts.timeline_laws import at, rollups_of
from commonplace.journals.timeline.journal import TimelineJournal
from commonplace_server.postgres.database import Postgres
from commonplace_server.store.timeline import PostgresRows, TimelinePostgres
from commonplace_server.wiring.schema import check_database
from commonplace_testing import FrozenClock

url, question = sys.argv[1:]
run, clock = PostgresRows.run, FrozenClock(at("2025-03-05T10:00"))

def run_and_die(self, asked, values=(), /):
    done = run(self, asked, values)
    if asked == question:
        os.kill(os.getpid(), signal.SIGKILL)
    return done

PostgresRows.run = run_and_die
pool = Postgres(url, check=check_database)
store = TimelinePostgres(pool, owner="ann", clock=clock)
journal = TimelineJournal(None, owner="ann", zone=UTC, clock=clock, store=store)
rollups_of(journal).catch_up()
"""


class TestTimelinePostgres(TimelineContract):
    """The timeline of a served user."""

    @pytest.fixture
    def world(self, tmp_path, database):
        with closing(ServerWorld(tmp_path, database)) as made:
            yield made

    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
    @pytest.mark.parametrize("question", ["unmark", "add_rollup", "set_rollup", "drop_links"])
    def test_who_is_killed_in_a_rollup_leaves_nothing_half(self, world, question):
        """What it held is free at once, and another makes the same."""
        one, other = world.open(), world.open("other")
        for each in (one, other):
            each.add("fixed the gate", at=START)
        killed = subprocess.run(
            [sys.executable, "-c", KILLED, world.database.app_url, question],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert told(one) == {}
        world.clock.at = at("2025-03-05T10:00")
        assert rollups_of(one).catch_up() == rollups_of(other).catch_up() == 4
        same = [{key: found[:2] for key, found in told(x).items()} for x in (one, other)]
        assert same[0] == same[1]

    def test_nobody_sees_another_user_s(self, world):
        """Nor alters, deletes, supersedes or rolls up, by the very id of it."""
        ann, bob = world.open("ann"), world.open("bob")
        entry = ann.add("the quokka code is 4711", at=START, idempotency_key="k").entry
        world.clock.at = at("2025-03-05T10:00")
        rollups_of(ann).catch_up()
        for act in (
            lambda: bob.read(entry.id),
            lambda: bob.update(entry.id, content="mine"),
            lambda: bob.supersede(entry.id, "mine"),
            lambda: bob.delete(entry.id),
            lambda: bob.read("rollup_daily_20250204"),
        ):
            with pytest.raises(NotFound):
                act()
        assert (rollups_of(bob).catch_up(), told(bob), texts(bob)) == (0, {}, [])
        assert bob.above([entry.ref]) == {entry.ref: frozenset()}
        assert ann.read(entry.id).content == entry.content

    def test_without_an_owner_nothing_is_seen(self, world):
        """In each of its tables, by the role that servers have."""
        ann = world.open()
        ann.add("the quokka code is 4711", at=START)
        world.clock.at = at("2025-03-05T10:00")
        rollups_of(ann).catch_up()
        with psycopg.connect(world.database.app_url) as conn:
            for table in ("cp_timelines", "cp_rollups", "cp_rollup_sources", "cp_due", "cp_series"):
                assert conn.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
