"""Every storage of chronicle keeps the laws of the contract."""

from __future__ import annotations

import itertools
from datetime import UTC
from functools import partial

import pytest
from tests.contracts.chronicle_laws import MINUTE, NOW, ChronicleContract
from tests.contracts.followed import check_told_of_changes

from commonplace.core.errors import NotFound
from commonplace.core.expiring import is_revealed, revealed
from commonplace.journals.chronicle.event import doc_of
from commonplace.journals.chronicle.journal import Author, ChronicleJournal
from commonplace.journals.chronicle.places import ChroniclePlace
from commonplace_server.postgres.database import Postgres
from commonplace_server.records.times import MemoryTimes
from commonplace_server.store.chronicle import ChroniclePostgres
from commonplace_server.store.source import SharedSource
from commonplace_server.wiring.schema import check_database
from commonplace_testing import FrozenClock


class FileWorld:
    """A database's file or a tree; each opening is another process's."""

    def __init__(self, folder, form):
        self.clock = FrozenClock(NOW)
        self._folder, self._form = folder, form
        self._expired, self._opened = set(), []
        self._names = itertools.count()

    def open(self, name="mine", **settings):
        place = ChroniclePlace(path=self._folder / name, form=self._form)
        hidden = lambda: frozenset() if is_revealed() else frozenset(self._expired)  # noqa: E731
        return self._made(place, hidden=hidden, **settings)

    def _made(self, place, **settings):
        given = {"owner": "ann", "zone": UTC, "clock": self.clock, "author": Author(), **settings}
        self._opened.append(ChronicleJournal(place, **given))
        return self._opened[-1]

    def empty(self):
        return self.open(f"empty-{next(self._names)}")

    def expire(self, ref):
        self._expired.add(ref)

    def close(self):
        for each in self._opened:
            each.close()


class ServerWorld(FileWorld):
    """One database for all users, under row level security."""

    def __init__(self, folder, database):
        super().__init__(folder, "database")
        self._database = Postgres(database.app_url, check=check_database)

    def open(self, name="ann", at=None, **settings):
        place = ChroniclePlace(path=self._folder / name, form=self._form)
        store = ChroniclePostgres(self._database, owner=name, clock=at or self.clock)
        return self._made(place, store=store, **settings)

    def source(self):
        """What the timeline follows it by."""
        store = ChroniclePostgres(self._database, owner="ann", clock=self.clock)
        return SharedSource("chronicle", store, partial(doc_of, zone=UTC, owner=store.owner))

    def expire(self, ref):
        times = MemoryTimes(self._database, owner="ann", column="expires_at")
        times.keep_times({ref: self.clock.at.timestamp()})

    def close(self):
        super().close()
        self._database.close()


@pytest.fixture
def closing():
    """What is closed after a test."""
    made = []
    yield made
    for each in made:
        each.close()


class TestChronicleDatabase(ChronicleContract):
    """Chronicle's own database."""

    @pytest.fixture
    def world(self, tmp_path, closing):
        closing.append(FileWorld(tmp_path, "database"))
        return closing[-1]


class TestChronicleTree(ChronicleContract):
    """Chronicle's folder of Markdown."""

    @pytest.fixture
    def world(self, tmp_path, closing):
        closing.append(FileWorld(tmp_path, "tree"))
        return closing[-1]


class TestChroniclePostgres(ChronicleContract):
    """The entries of a served user."""

    @pytest.fixture
    def world(self, tmp_path, database, closing):
        closing.append(ServerWorld(tmp_path, database))
        return closing[-1]

    @pytest.mark.parametrize("looks", range(5))
    def test_what_expires_while_it_is_edited_is_edited_or_gone(self, world, looks):
        """Whichever look at the time is the first after its end; what is answered is what is kept."""
        ref = world.open().add_event("secret", at=NOW).event.ref
        world.expire(ref)
        before, after = NOW - MINUTE, NOW + MINUTE
        times = itertools.chain([before] * looks, itertools.repeat(after))
        mine = world.open(at=times.__next__)
        try:
            done = mine.edit_event(ref, message="altered")
        except NotFound:
            done = None
        with revealed():
            assert mine.read_event(ref).message == ("secret" if done is None else "altered")
            assert done in {None, mine.read_event(ref)}

    def test_who_follows_it_is_told_of_what_changed_alone(self, world, database):
        """Of three entries the one that was altered and the one that left: no other is read again."""
        mine = world.open()
        kept, altered, gone = (mine.add_event(f"did {n}", at=NOW).event for n in range(3))
        check_told_of_changes(
            world.source(),
            database,
            {each.ref: each.stamp for each in (kept, altered, gone)},
            edit=lambda ref: mine.edit_event(ref, message="did better"),
            delete=mine.delete_event,
        )
