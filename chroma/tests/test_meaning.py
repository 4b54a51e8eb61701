"""An index whose nearest a vector store finds: it follows the tables, heals, and forgets."""

import importlib.util
import logging
import shutil
import subprocess
import sys

import numpy as np
import pytest
from chroma.tests.listed_vectors import ListedVectors, open_listed

from commonplace.core.errors import Unavailable
from commonplace.core.values import Drop, Encoded, Filter, Put
from commonplace.index.sqlite.index import SqliteIndex
from commonplace.index.sqlite.meaning import Meaning
from commonplace_chroma import meaning as following
from commonplace_chroma.meaning import StoredMeaning
from commonplace_testing import a_doc, encode_all, look

_HAS_CHROMA = importlib.util.find_spec("chromadb") is not None


def _open_chroma(folder, sql):
    from commonplace_chroma.store import open_meaning

    return open_meaning(folder, sql)


def _chroma_store(folder):
    from commonplace_chroma.store import ChromaStore

    return ChromaStore(folder)


_STORES = {open_listed: ListedVectors, _open_chroma: _chroma_store}


@pytest.fixture(
    params=[
        open_listed,
        pytest.param(
            _open_chroma,
            marks=[
                pytest.mark.long,
                pytest.mark.skipif(
                    not _HAS_CHROMA,
                    reason="chromadb is not installed; `make test-long` installs it.",
                ),
            ],
        ),
    ],
    ids=["listed", "chroma"],
)
def open_meaning(request):
    """Each kind of store."""
    return request.param


@pytest.fixture
def opened(tmp_path, open_meaning):
    """Makes indexes over one folder of owners, with the store or with what is named."""
    made = []

    def open_index(meaning=open_meaning):
        made.append(SqliteIndex(lambda owner: tmp_path / "users" / owner, open_meaning=meaning))
        return made[-1]

    yield open_index
    for each in made:
        each.close()


@pytest.fixture
def stores(folder):
    """Where the stores of the owner `me` lie."""
    return folder / "vectors"


@pytest.fixture(autouse=True)
def warned(caplog):
    """What was warned of: a store that the tables stand in for is not heard of otherwise."""
    caplog.set_level(logging.WARNING, logger="commonplace.commonplace_chroma.meaning")
    return caplog


def _docs(count):
    return [a_doc(f"n:{i}", f"harbour {i} of {i * i}", minutes=i) for i in range(count)]


def _files(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def _similarities(index, words, law, **rest):
    found = look(index, words, encoder=law.encoder, **rest)
    return {ref: round(each.similarity, 5) for ref, each in found.items() if each.similarity}


def test_it_finds_what_the_matrix_finds(opened, law, stores, warned):
    """Of all and within a filter, with the same cosines; nothing was asked of the tables instead."""
    mine = law.filled(opened(), _docs(60))
    theirs = law.filled(opened(Meaning), _docs(60), "other")
    tagged = [a_doc(f"t:{i}", f"wood {i}", minutes=i, tags=("t",)) for i in range(5)]
    for each in (mine, theirs):
        each.apply([Put(doc) for doc in tagged])
        encode_all(each, law.encoder)
    for where in (Filter(), Filter(tags=("t",))):
        found = [
            _similarities(each, "harbour 7", law, where=where, limit=3) for each in (mine, theirs)
        ]
        assert found[0] == found[1] != {}
    assert _files(stores)
    assert warned.messages == []


def test_another_opening_is_followed(opened, law, warned):
    """What one wrote and dropped, the other finds and finds no more."""
    mine, theirs = law.filled(opened(), _docs(3)), opened().of_owner("me")
    assert len(_similarities(theirs, "harbour", law)) == 3
    theirs.apply([Put(a_doc("n:new", "wood")), Drop("n:0")])
    encode_all(theirs, law.encoder)
    assert set(_similarities(theirs, "wood", law)) == {"n:1", "n:2", "n:new"}
    assert set(_similarities(mine, "wood", law)) == {"n:1", "n:2", "n:new"}
    assert warned.messages == []


_WRITER = """
import sys
from pathlib import Path
from commonplace.core.values import Drop, Put
from commonplace_chroma.store import open_meaning
from commonplace.index.sqlite.index import SqliteIndex
from commonplace_testing import HashingEncoder, a_doc, encode_all, look

index = SqliteIndex(lambda owner: Path(sys.argv[1]) / owner, open_meaning=open_meaning)
mine = index.of_owner("me")
mine.apply([Put(a_doc("n:new", "wood")), Drop("n:0")])
encode_all(mine, HashingEncoder())
assert look(mine, "wood", encoder=HashingEncoder())
index.close()
"""


@pytest.mark.long
@pytest.mark.skipif(not _HAS_CHROMA, reason="chromadb is not installed.")
def test_another_process_is_followed(tmp_path, law, warned):
    """Chroma's own weakness: an open client misses it, so that the client is opened again."""
    index = SqliteIndex(lambda owner: tmp_path / owner, open_meaning=_open_chroma)
    mine = law.filled(index, _docs(3))
    assert len(_similarities(mine, "harbour", law)) == 3
    subprocess.run([sys.executable, "-c", _WRITER, str(tmp_path)], check=True)
    found = _similarities(mine, "wood", law, limit=1)
    assert max(found, key=found.get) == "n:new"
    assert set(_similarities(mine, "wood", law)) == {"n:1", "n:2", "n:new"}
    assert warned.messages == []
    index.close()


_RACER = """
import sys
from pathlib import Path
from commonplace.core.values import Drop, Put
from commonplace_chroma.store import open_meaning
from commonplace.index.sqlite.index import SqliteIndex
from commonplace_testing import HashingEncoder, a_doc, encode_all, look

index = SqliteIndex(lambda owner: Path(sys.argv[1]) / owner, open_meaning=open_meaning)
mine, name, encoder = index.of_owner("me"), sys.argv[2], HashingEncoder()
for i in range(25):
    mine.apply([Put(a_doc(f"{name}:{i}", f"{name} wrote {i} {i * i}"))])
    if i % 5 == 4:
        mine.apply([Drop(f"{name}:{i - 4}")])
    encode_all(mine, encoder)
    found = None
    while found is None:
        try:
            found = look(mine, "nothing", vector=encoder.encode_query(f"{name} wrote {i} {i * i}"),
                         identity=encoder.identity, limit=3)
        except KeyError:  # another process dropped one of the three before its text was read
            continue
    assert f"{name}:{i}" in found, (i, list(found))
index.close()
"""


@pytest.mark.long
@pytest.mark.skipif(not _HAS_CHROMA, reason="chromadb is not installed.")
def test_processes_that_write_and_search_at_once_miss_nothing(tmp_path, law):
    """Each finds what it wrote at once, by meaning alone; at the end all is there, and warnless."""
    command = [sys.executable, "-W", "error", "-c", _RACER, str(tmp_path)]
    racers = [
        subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True)
        for name in ("ann", "bob", "cat")
    ]
    assert [racer.communicate(timeout=300)[1] for racer in racers] == ["", "", ""]
    index = SqliteIndex(lambda owner: tmp_path / owner, open_meaning=_open_chroma)
    assert len(_similarities(index.of_owner("me"), "wrote", law, limit=99)) == 3 * 20
    index.close()


@pytest.mark.parametrize("closed", [True, False])
def test_a_removed_store_is_made_again(opened, law, stores, closed):
    """Whether it was open or not, each search finds everything."""
    indexes = opened()
    mine = law.filled(indexes, _docs(20))
    wanted = _similarities(mine, "harbour 7", law)
    if closed:
        indexes.close_idle("me")
    shutil.rmtree(stores)
    assert _similarities(mine, "harbour 7", law) == wanted
    assert _files(stores)
    assert _similarities(mine, "harbour 7", law) == wanted


@pytest.mark.parametrize("content", [b"", b"x" * 9_000])
def test_a_broken_store_is_made_again(opened, law, stores, content):
    """Every file of it emptied or overwritten: the tables answer, and the store is filled again."""
    indexes = opened()
    mine = law.filled(indexes, _docs(20))
    wanted = _similarities(mine, "harbour 7", law)
    indexes.close_idle("me")
    for path in _files(stores):
        if path.name != "note.json":
            path.write_bytes(content)
    for _ in range(3):
        assert _similarities(mine, "harbour 7", law) == wanted
    indexes.close_idle("me")
    assert _similarities(mine, "harbour 7", law) == wanted


def test_lost_vectors_are_named_and_put_back(opened, law, stores, open_meaning):
    """Vectors that left the store unnoticed; `doctor --repair` fills it again from the tables."""
    indexes = opened()
    mine = law.filled(indexes, _docs(20))
    wanted = _similarities(mine, "harbour 7", law)
    assert (mine.problems(), mine.repair()) == ([], [])
    indexes.close_idle("me")
    # The store drops three and keeps the mark of before, as a library that loses rows would.
    (folder,) = [path for path in stores.glob("*/*") if path.is_dir()]
    store = _STORES[open_meaning](folder)
    ids = sorted(store.list_ids().tolist())
    store.drop(np.array(ids[:3]), mark=store.mark())
    store.close()
    (problem,) = mine.problems()
    assert problem.what.endswith(" lacks 3 of 20 vectors: of n:17, n:18, n:19.")
    assert (problem.hint, problem.repairable) == ("Run `commonplace doctor --repair`.", True)
    (done,) = mine.repair()
    assert done.startswith("Filled the vector store of ")
    assert (mine.problems(), mine.repair()) == ([], [])
    assert _similarities(mine, "harbour 7", law) == wanted
    store = _STORES[open_meaning](folder)
    assert len(store.list_ids()) == 20
    store.close()


def test_a_vector_too_many_is_found(opened, law, stores, open_meaning):
    """One that the tables never had; one that they dropped and the store has not yet is none."""
    indexes = opened()
    mine = law.filled(indexes, _docs(20))
    assert _similarities(mine, "harbour 7", law)
    mine.apply([Drop("n:3")])
    assert mine.problems() == []
    indexes.close_idle("me")
    (folder,) = [path for path in stores.glob("*/*") if path.is_dir()]
    store = _STORES[open_meaning](folder)
    store.put(np.array([999]), law.encoder.encode_passages(["wood"]), mark=store.mark())
    store.close()
    (problem,) = mine.problems()
    assert problem.what.endswith(" holds 1 vectors too many.")
    assert len(mine.repair()) == 1
    assert mine.problems() == []


def test_no_byte_of_a_forgotten_vector_remains(opened, law, stores, folder):
    """Forgotten under the store, or after the setting has gone back to numpy."""
    secret = a_doc("n:secret", "the xylophonique plan")
    vector = law.encoder.encode_query(secret.text)
    traces = [vector.tobytes(), str(vector.tolist()[0]).encode()]
    for meaning in (None, Meaning):
        mine = law.filled(opened(), [*_docs(20), secret])
        assert _similarities(mine, "harbour", law)
        held = b"".join(path.read_bytes() for path in _files(stores))
        assert any(trace in held for trace in traces)
        if meaning is not None:
            mine = opened(meaning).of_owner("me")
        mine.forget(["n:secret"])
        held = b"".join(path.read_bytes() for path in _files(folder))
        assert not any(trace in held for trace in traces)


def test_an_index_is_filled_again_either_way(opened, law, stores, folder):
    """Cleared under another setting, nothing of the previous is left and everything is found."""
    mine = law.filled(opened(Meaning), _docs(1200))
    wanted = _similarities(mine, "harbour 7", law, limit=5)
    assert list(folder.glob("*.matrix"))
    for meaning in (None, Meaning):
        mine = (opened() if meaning is None else opened(meaning)).of_owner("me")
        mine.clear()
        assert not list(folder.glob("*.matrix"))
        assert not _files(stores)
        law.filled(opened() if meaning is None else opened(meaning), _docs(1200))
        found = _similarities(mine, "harbour 7", law, limit=5)
        assert max(found, key=found.get) == max(wanted, key=wanted.get)
        assert bool(_files(stores)) == (meaning is None)


def test_a_store_far_behind_is_not_waited_for(opened, law, stores, monkeypatch):
    """The tables answer, exactly; the next write gives the store what it lacks."""
    monkeypatch.setattr(following, "LAG_MOST", 10)
    mine = law.filled(opened(Meaning), _docs(50))
    wanted = _similarities(mine, "harbour 7", law)
    mine = opened().of_owner("me")
    assert _similarities(mine, "harbour 7", law) == wanted
    assert not _files(stores)
    for number in range(3):
        mine.apply([Put(a_doc(f"w:{number}", f"wood {number}", minutes=-9))])
        encode_all(mine, law.encoder)
    assert _files(stores)
    found = _similarities(mine, "wood 2", law)
    assert max(found, key=found.get) == "w:2"


class PartsStore:
    """A store that keeps what it is given as it came."""

    def __init__(self):
        self.parts = []
        self._mark = ""

    def mark(self):
        return self._mark

    def put(self, ids, vectors, *, mark):
        self.parts.append(ids.tolist())
        self._mark = mark

    def clear(self):
        self.parts.clear()

    def close(self):
        """Nothing is open."""


def test_a_store_takes_what_it_lacks_in_parts(opened, law, monkeypatch):
    """A write gives it 5,000 vectors at most, the next one the rest, and each vector once."""
    monkeypatch.setattr(following, "LAG_MOST", 10)
    mine = law.filled(opened(Meaning), [])
    mine.apply([Put(a_doc("n:long", "harbours"))])
    (waiting,) = mine.unencoded(law.encoder.identity, 2)
    chunks = Encoded(
        ref=waiting.ref,
        text_hash=waiting.text_hash,
        spans=((0, 8),) * 5_050,
        vectors=np.tile(law.encoder.encode_passages(["harbours"]), (5_050, 1)),
    )
    mine.put_vectors(law.encoder.identity, [chunks])
    store = PartsStore()

    def over_parts(folder, sql):
        return StoredMeaning(folder, sql, name="parts", open_store=lambda _: store)

    mine = opened(over_parts).of_owner("me")
    for number in range(2):
        mine.apply([Put(a_doc(f"w:{number}", f"wood {number}"))])
        encode_all(mine, law.encoder)
    assert [len(part) for part in store.parts] == [5_000, 51]
    assert len({each for part in store.parts for each in part}) == 5_051


def test_a_store_that_fails_a_question_is_stood_in_for(opened, law, monkeypatch, warned):
    """A failing library costs a warning and no hit."""
    mine = law.filled(opened(open_listed), _docs(20))
    wanted = _similarities(mine, "harbour 7", law)

    def fail(*_args, **_rest):
        raise Unavailable("The library failed.")

    monkeypatch.setattr(ListedVectors, "nearest", fail)
    assert _similarities(mine, "harbour 7", law) == wanted
    assert "made again" in warned.text


def test_two_encoders_have_a_store_each(opened, law):
    """Vectors of another encoder never answer."""
    mine = law.filled(opened(), _docs(5))
    vector = law.encoder.encode_query("harbour 1")
    assert look(mine, "none", vector=vector, identity="other:64:x") == {}
    assert look(mine, "none", vector=vector, identity=law.encoder.identity)
