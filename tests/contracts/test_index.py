"""Every index keeps the laws of the port."""

from functools import partial

import pytest

from commonplace.core.errors import Invalid, Unavailable
from commonplace.core.ports import Clearing, Forgetting, Leasing, ListsScopes, Repairable
from commonplace.core.values import Drop, Put
from commonplace.index.sqlite.index import SqliteIndex
from commonplace_server.index.index import TABLES, PostgresIndex
from commonplace_server.postgres.database import Postgres, refuse_unguarded
from commonplace_testing import FrozenClock, IndexContract, a_doc
from commonplace_testing.in_memory import MemoryIndex


class LeaseContract:
    """The laws of `core.ports.Leasing`."""

    def test_a_lease_has_one_holder_until_it_runs_out(self, index, clock):
        """Another takes it only when it was given back or its time is over; the holder renews it."""
        mine = index.of_owner("me")
        assert isinstance(mine, Leasing)
        assert mine.take_lease("work", "a", 10)
        assert not mine.take_lease("work", "b", 10)
        assert mine.take_lease("other", "b", 10)
        clock.advance(9)
        assert mine.take_lease("work", "a", 10)
        clock.advance(9.5)
        assert not mine.take_lease("work", "b", 10)
        clock.advance(0.5)
        assert mine.take_lease("work", "b", 10)

    def test_only_the_holder_gives_a_lease_back(self, index):
        """A stranger's giving back changes nothing."""
        mine = index.of_owner("me")
        mine.take_lease("work", "a", 10)
        mine.drop_lease("work", "b")
        assert not mine.take_lease("work", "b", 10)
        mine.drop_lease("work", "a")
        assert mine.take_lease("work", "b", 10)


class OwnerContract:
    """What our backends promise beyond the port."""

    def test_no_search_without_an_owner(self, index):
        """An empty owner is refused."""
        with pytest.raises(Invalid):
            index.of_owner("")

    def test_what_is_forgotten_is_gone(self, index):
        """A forgotten doc is neither found nor counted."""
        mine = IndexContract().filled(index, [a_doc("n:1", "harbour"), a_doc("n:2", "wood")])
        assert isinstance(mine, Forgetting)
        mine.forget(["n:1", "n:never"])
        assert set(IndexContract().find(mine, "harbour")) == {"n:2"}
        assert mine.counts("e").docs == 1

    def test_only_places_of_docs_that_are_held_are_listed(self, index):
        """Each once, in order; a place whose last doc left is none any more."""
        mine = index.of_owner("me")
        assert isinstance(mine, ListsScopes)
        assert mine.scopes() == []
        places = {"n:1": "/srv/b", "n:2": "/srv/b", "n:3": "/srv/a"}
        mine.apply([Put(a_doc(ref, "wood", scope=scope)) for ref, scope in places.items()])
        assert mine.scopes() == [("notes", "/srv/a"), ("notes", "/srv/b")]
        mine.apply([Drop("n:3")])
        assert mine.scopes() == [("notes", "/srv/b")]

    def test_a_cleared_index_is_empty_and_takes_everything_again(self, index):
        """No doc, vector or mark is left, leases are; the same docs are then found by both legs."""
        docs = [a_doc("n:1", "harbour", tags=("sea",)), a_doc("n:2", "wood", kind="note")]
        mine = IndexContract().filled(index, docs)
        assert isinstance(mine, Clearing)
        assert isinstance(mine, Leasing)
        mine.apply([], source="s", mark="7")
        mine.take_lease("work", "a", 10)
        mine.clear()
        assert mine.counts(IndexContract.encoder.identity).docs == 0
        assert IndexContract().find(mine, "harbour") == {}
        assert mine.known().marks.get("s") is None
        assert mine.known().stamps("") == {}
        assert not mine.take_lease("work", "b", 10)
        mine.clear()
        found = IndexContract().find(IndexContract().filled(index, docs), "harbour")
        assert found["n:1"].doc == docs[0]
        assert found["n:1"].words is not None
        assert (found["n:1"].similarity or 0.0) > (found["n:2"].similarity or 0.0)


@pytest.fixture
def clock():
    return FrozenClock()


class TestMemoryIndex(IndexContract, LeaseContract, OwnerContract):
    """The index in memory."""

    @pytest.fixture
    def index(self, clock):
        index = MemoryIndex(clock=clock.seconds)
        yield index
        index.close()


class TestSqliteIndex(IndexContract, LeaseContract, OwnerContract):
    """The index on disk."""

    @pytest.fixture
    def index(self, tmp_path, clock):
        index = SqliteIndex(lambda owner: tmp_path / owner.encode().hex(), clock=clock.seconds)
        yield index
        index.close()

    def test_it_finds_nothing_wrong_with_itself(self, index):
        """After use there is nothing to mend."""
        mine = IndexContract().filled(index, [a_doc("n:1", "harbour")])
        assert isinstance(mine, Repairable)
        assert mine.problems() == []
        assert mine.repair() == []

    def test_a_closed_index_is_unavailable(self, index):
        """Closing twice is fine; use after it is refused."""
        mine = index.of_owner("me")
        index.close()
        index.close()
        with pytest.raises(Unavailable):
            index.of_owner("me")
        with pytest.raises(Unavailable):
            mine.counts("e")

    def test_who_has_it_open_sees_it_cleared(self, index, tmp_path, clock):
        """Another opening forgets docs, facets and vectors, also with a matrix file, and refills."""
        law = IndexContract()
        mine = law.filled(index, [a_doc(f"n:{i}", f"harbour {i}") for i in range(1200)])
        other = SqliteIndex(lambda owner: tmp_path / owner.encode().hex(), clock=clock.seconds)
        theirs = other.of_owner("me")
        try:
            assert len(law.find(theirs, "harbour", limit=3)) >= 3
            assert list(tmp_path.rglob("*.matrix"))
            mine.clear()
            assert law.find(theirs, "harbour") == {}
            assert list(tmp_path.rglob("*.matrix")) == []
            law.filled(index, [a_doc("n:new", "wood", kind="note", headings=("Other",))])
            found = law.find(theirs, "harbour")
            assert set(found) == {"n:new"}
            assert found["n:new"].doc.headings == ("Other",)
            assert theirs.problems() == []
        finally:
            other.close()

    def test_a_broken_file_is_cleared_too(self, index, tmp_path):
        """Tables that are no more, or a file that is none, become an empty index."""
        mine = IndexContract().filled(index, [a_doc("n:1", "harbour")])
        file = next(tmp_path.rglob("index.db"))
        file.write_bytes(b"x" * 20_000)
        mine.clear()
        assert mine.counts("e").docs == 0
        assert mine.problems() == []


class TestPostgresIndex(IndexContract, LeaseContract, OwnerContract):
    """The index in Postgres, as the role of the application."""

    @pytest.fixture
    def index(self, database, clock):
        pool = Postgres(database.app_url, check=partial(refuse_unguarded, tables=TABLES))
        index = PostgresIndex(pool, clock=clock.seconds)
        yield index
        index.close()
        pool.close()

    def test_a_closed_index_is_unavailable(self, index):
        """Closing twice is fine; use after it is refused."""
        index.of_owner("me")
        index.close()
        index.close()
        with pytest.raises(Unavailable):
            index.of_owner("me")
