"""Every vector store keeps the laws of the port, and so does every index that uses one."""

import importlib.util

import numpy as np
import pytest
from chroma.tests.listed_vectors import ListedVectors, open_listed
from tests.contracts.test_index import LeaseContract, OwnerContract

from commonplace.index.sqlite.index import SqliteIndex
from commonplace_chroma.vector_store import ListsVectors
from commonplace_testing import FrozenClock, IndexContract

needs_chroma = pytest.mark.skipif(
    importlib.util.find_spec("chromadb") is None,
    reason="chromadb is not installed; `make test-long` installs it.",
)


def _unit(*rows):
    vectors = np.array(rows, dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _ids(*ids):
    return np.array(ids, dtype=np.int64)


class VectorStoreContract:
    """The laws of the port `VectorStore`: give a fixture `opened` that opens one."""

    def test_the_nearest_come_back_within_a_filter(self, opened):
        """The best of all, the best of some, all of few, none of none."""
        store = opened()
        store.put(_ids(1, 2, 3), _unit([1, 0], [1, 1], [0, 1]), mark="m")
        query = _unit([1, 0.1])[0]
        assert store.nearest(query, 1, among=None).tolist() == [1]
        assert store.nearest(query, 1, among=_ids(2, 3)).tolist() == [2]
        assert sorted(store.nearest(query, 9, among=None).tolist()) == [1, 2, 3]
        assert store.nearest(query, 9, among=_ids()).tolist() == []
        assert store.nearest(query, 0, among=None).tolist() == []

    def test_an_empty_store_has_no_mark_and_finds_nothing(self, opened):
        """Nor does it make a file for being asked."""
        store = opened()
        assert store.mark() == ""
        assert store.nearest(_unit([1, 0])[0], 5, among=None).tolist() == []

    def test_a_vector_put_again_is_replaced_and_one_dropped_is_gone(self, opened):
        """Dropping what is not there is nothing; each change keeps its mark."""
        store = opened()
        store.put(_ids(1, 2), _unit([1, 0], [0, 1]), mark="a")
        store.put(_ids(1), _unit([0, -1]), mark="b")
        assert store.mark() == "b"
        assert store.nearest(_unit([0, -1])[0], 1, among=None).tolist() == [1]
        store.drop(_ids(1, 77), mark="c")
        assert store.mark() == "c"
        assert store.nearest(_unit([0, -1])[0], 5, among=None).tolist() == [2]

    def test_a_store_that_lists_its_vectors_lists_them_all(self, opened):
        """`doctor` compares them with the tables; a store that cannot list them is not compared."""
        store = opened()
        if not isinstance(store, ListsVectors):
            return
        assert store.list_ids().tolist() == []
        store.put(_ids(1, 2, 3), _unit([1, 0], [1, 1], [0, 1]), mark="a")
        store.drop(_ids(2), mark="b")
        assert sorted(store.list_ids().tolist()) == [1, 3]
        assert sorted(opened().list_ids().tolist()) == [1, 3]
        assert store.nearest(_unit([1, 0])[0], 1, among=None).tolist() == [1]

    def test_what_another_opening_wrote_is_seen(self, opened):
        """Both ways, and also what it dropped, cleared, and filled again."""
        one, other = opened(), opened()
        one.put(_ids(1), _unit([1, 0]), mark="a")
        assert other.mark() == "a"
        other.put(_ids(2), _unit([0, 1]), mark="b")
        assert one.mark() == "b"
        assert sorted(one.nearest(_unit([0, 1])[0], 5, among=None).tolist()) == [1, 2]
        one.drop(_ids(1), mark="c")
        assert other.nearest(_unit([1, 0])[0], 5, among=None).tolist() == [2]
        other.clear()
        assert one.mark() == ""
        one.put(_ids(3), _unit([1, 0]), mark="d")
        assert other.nearest(_unit([1, 0])[0], 5, among=None).tolist() == [3]

    def test_it_goes_on_after_it_was_closed(self, opened, tmp_path):
        """Closing twice is fine; what was put is there; cleared, no file is left."""
        store = opened()
        store.put(_ids(1), _unit([1, 0]), mark="a")
        store.close()
        store.close()
        assert store.mark() == "a"
        assert store.nearest(_unit([1, 0])[0], 5, among=None).tolist() == [1]
        store.clear()
        assert list(tmp_path.rglob("*.*")) == []


@pytest.fixture
def clock():
    return FrozenClock()


def _open_chroma_meaning(folder, sql):
    from commonplace_chroma.store import open_meaning

    return open_meaning(folder, sql)


def _open_chroma(folder):
    from commonplace_chroma.store import ChromaStore

    return ChromaStore(folder)


class _Opened:
    open_store = None

    @pytest.fixture
    def opened(self, tmp_path):
        made = []

        def open_one():
            made.append(type(self).open_store(tmp_path / "store"))
            return made[-1]

        yield open_one
        for each in made:
            each.close()


class _Index(IndexContract, LeaseContract, OwnerContract):
    open_meaning = None

    @pytest.fixture
    def index(self, tmp_path, clock):
        index = SqliteIndex(
            lambda owner: tmp_path / owner.encode().hex(),
            clock=clock.seconds,
            open_meaning=type(self).open_meaning,
        )
        yield index
        index.close()


class TestListedVectors(_Opened, VectorStoreContract):
    """The fake."""

    open_store = ListedVectors


class TestIndexWithListedVectors(_Index):
    """The index on disk whose nearest the fake finds."""

    open_meaning = staticmethod(open_listed)


@needs_chroma
@pytest.mark.long
class TestChroma(_Opened, VectorStoreContract):
    """Chroma."""

    open_store = staticmethod(_open_chroma)

    def test_no_strangers_file_names_a_server(self, opened, tmp_path, monkeypatch):
        """Chroma reads .env in the working directory: there, as in the environment, it is not asked."""
        away = "chromadb.api.fastapi.FastAPI"
        (tmp_path / "clone").mkdir()
        (tmp_path / "clone" / ".env").write_text(
            f"CHROMA_API_IMPL={away}\nCHROMA_SERVER_HOST=127.0.0.1\nCHROMA_SERVER_HTTP_PORT=9\n"
        )
        monkeypatch.chdir(tmp_path / "clone")
        monkeypatch.setenv("CHROMA_API_IMPL", away)
        store = opened()
        store.put(_ids(1), _unit([1, 0]), mark="a")
        assert store.nearest(_unit([1, 0])[0], 1, among=None).tolist() == [1]


@needs_chroma
@pytest.mark.long
class TestIndexWithChroma(_Index):
    """The index on disk whose nearest Chroma finds."""

    open_meaning = staticmethod(_open_chroma_meaning)
