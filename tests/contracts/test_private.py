"""Every storage of the private journal keeps the laws of the contract."""

from __future__ import annotations

import itertools
from datetime import UTC
from functools import partial

import pytest
from tests.contracts.followed import check_told_of_changes
from tests.contracts.private_laws import NOW, PrivateContract

from commonplace.core.expiring import is_revealed
from commonplace.journals.private.journal import PrivateJournal
from commonplace.journals.private.roots import Roots
from commonplace.journals.private.source import doc_of
from commonplace_server.postgres.database import Postgres
from commonplace_server.records.times import MemoryTimes
from commonplace_server.store.private import PrivatePostgres
from commonplace_server.store.source import SharedSource
from commonplace_server.wiring.schema import check_database
from commonplace_testing import FrozenClock


class FileWorld:
    """A folder of Markdown files; each opening is another process's."""

    def __init__(self, folder):
        self.clock = FrozenClock(NOW)
        self._folder = folder
        self._expired = set()
        self._micros = itertools.count()

    def open(self):
        hidden = lambda: frozenset() if is_revealed() else frozenset(self._expired)  # noqa: E731
        return PrivateJournal(
            roots=Roots(user=self._folder / "private", hidden=hidden),
            zone=UTC,
            clock=self.clock,
            keys=self._folder / "keys",
            random_micros=lambda: next(self._micros) % 1000,
        )

    def expire(self, ref):
        self._expired.add(ref)


class ServerWorld:
    """One database for all users, under row level security."""

    def __init__(self, database):
        self.clock = FrozenClock(NOW)
        self._database = Postgres(database.app_url, check=check_database)
        self._micros = itertools.count()

    def open(self, owner="ann"):
        return PrivatePostgres(
            self._database,
            owner=owner,
            zone=UTC,
            clock=self.clock,
            random_micros=lambda: next(self._micros) % 1000,
        )

    def source(self):
        """What the timeline follows it by."""
        return SharedSource("private", self.open(), partial(doc_of, zone=UTC))

    def expire(self, ref):
        times = MemoryTimes(self._database, owner="ann", column="expires_at")
        times.keep_times({ref: self.clock.at.timestamp()})

    def close(self):
        self._database.close()


class TestPrivateFiles(PrivateContract):
    """The files of the machine's own user."""

    @pytest.fixture
    def world(self, tmp_path):
        return FileWorld(tmp_path)


class TestPrivatePostgres(PrivateContract):
    """The entries of a served user."""

    @pytest.fixture
    def world(self, database):
        made = ServerWorld(database)
        yield made
        made.close()

    def test_who_follows_it_is_told_of_what_changed_alone(self, world, database):
        """Of three entries the one that was altered and the one that left: no other is read again."""
        mine = world.open()
        refs = [mine.write({"reflections": f"did {n}"}).refs[0] for n in range(3)]
        check_told_of_changes(
            world.source(),
            database,
            {ref: mine.read_entry(ref).stamp for ref in refs},
            edit=lambda ref: mine.edit(ref, "did better"),
            delete=mine.delete,
        )
