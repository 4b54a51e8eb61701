"""The matrix file: never a wrong answer, whatever lies in it, and in step with the tables."""

import os
import shutil
import threading

import numpy as np
import pytest
from tests.cases import cases

from commonplace.core.errors import Invalid
from commonplace.core.text import text_hash
from commonplace.core.values import Drop, Encoded, Filter, Interval, Put
from commonplace.index.sqlite import watermarks
from commonplace.index.sqlite.index import SqliteIndex
from commonplace_testing import a_doc, look

MANY = watermarks.TAIL_LEAST + 200
IDENTITY = "wave:16:none:l2:00000000"


def _vector(number):
    """A direction of its own for each number, all in one half of the sphere."""
    angles = np.arange(1, 17, dtype=np.float64) * (number + 1) * 0.37
    vector = np.cos(angles) + 0.5
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def _fill(index, numbers):
    docs = [a_doc(f"n:{i}", f"text {i}", minutes=i, scope=f"s{i % 3}") for i in numbers]
    index.apply([Put(doc) for doc in docs])
    index.put_vectors(IDENTITY, [_encoded(i) for i in numbers])


def _encoded(number, text=None, vector=None):
    return Encoded(
        ref=f"n:{number}",
        text_hash=text_hash(text or f"text {number}"),
        spans=((0, 4),),
        vectors=(_vector(number) if vector is None else vector)[np.newaxis],
    )


def _nearest(index, query, where=None, limit=7):
    found = look(index, "", vector=query, identity=IDENTITY, where=where, limit=limit)
    return {ref: round(each.similarity, 4) for ref, each in found.items()}


def _expected(numbers, query, limit=7):
    figures = {f"n:{i}": float(_vector(i) @ query) for i in numbers}
    best = sorted(figures, key=lambda ref: -figures[ref])[:limit]
    return {ref: round(figures[ref], 4) for ref in best}


@pytest.fixture(scope="module")
def filled_folder(tmp_path_factory):
    """The folder of an index of many, which each test has a copy of."""
    folder = tmp_path_factory.mktemp("filled") / "me"
    index = SqliteIndex(lambda _owner: folder)
    _fill(index.of_owner("me"), range(MANY))
    index.close()
    return folder


@pytest.fixture
def full(opened, folder, filled_folder):
    shutil.copytree(filled_folder, folder)
    return opened().of_owner("me")


def _matrix(folder):
    (path,) = folder.glob("*.matrix")
    return path


def test_a_matrix_file_is_written_once_there_are_many(opened, folder):
    """Few vectors need none; it holds them all in the order of time and is its owner's alone."""
    mine = opened().of_owner("me")
    _fill(mine, range(50))
    assert list(folder.glob("*.matrix")) == []
    _fill(mine, range(50, MANY))
    assert _matrix(folder).stat().st_mode & 0o777 == 0o600
    assert _matrix(folder).stat().st_size >= MANY * (16 * 4 + 24)
    assert mine.problems() == []


def test_the_answer_is_the_same_from_tables_and_from_file(opened, full):
    """Reopened, and with the file in use, the nearest are those worked out one by one."""
    query = _vector(3.3)
    expected = _expected(range(MANY), query)
    assert _nearest(full, query) == expected
    assert _nearest(opened().of_owner("me"), query) == expected


def _garbage(path):
    path.write_bytes(os.urandom(path.stat().st_size))


def _one_bit(path):
    body = bytearray(path.read_bytes())
    body[len(body) // 2] ^= 1
    path.write_bytes(body)


def _torn(path):
    os.truncate(path, path.stat().st_size // 2)


def _empty(path):
    path.write_bytes(b"")


def _longer(path):
    path.write_bytes(path.read_bytes() + b"\0" * 64)


def _missing(path):
    path.unlink()


FAULTS = [_garbage, _one_bit, _torn, _empty, _longer, _missing]


@cases("fault", FAULTS)
def test_a_broken_matrix_file_is_made_anew(opened, folder, full, fault):
    """It is not believed; the tables answer, and a whole file lies there again."""
    fault(_matrix(folder))
    query = _vector(3.3)
    again = opened().of_owner("me")
    assert "matrix file" in again.problems()[0].what
    assert _nearest(again, query) == _expected(range(MANY), query)
    assert again.problems() == []
    assert _nearest(full, query) == _expected(range(MANY), query)


@cases("fault", FAULTS)
def test_a_matrix_file_broken_while_mapped_is_let_go(folder, full, fault):
    """A process that has it open notices before it reads what is no longer there."""
    query = _vector(3.3)
    _nearest(full, query)
    fault(_matrix(folder))
    assert _nearest(full, query) == _expected(range(MANY), query)


def test_a_matrix_written_anew_during_a_look_is_not_missing(opened, folder, full):
    """Doctor beside a busy server: what was replaced under its eyes is no fault."""
    reader = opened().of_owner("me")
    done = threading.Event()
    files = {_matrix(folder).name}

    def rewrite():
        while not done.is_set():
            full.apply([Drop(f"n:{i}") for i in range(300)])
            _fill(full, range(300))
            files.update(path.name for path in folder.glob("*.matrix"))

    writer = threading.Thread(target=rewrite)
    writer.start()
    seen = []
    try:
        while len(files) <= 5:
            seen += reader.problems()
    finally:
        done.set()
        writer.join()
    assert seen == []


def test_repair_writes_a_missing_matrix(folder, full):
    """Doctor need not wait for a search."""
    _matrix(folder).unlink()
    assert full.repair() == [f"Wrote the matrix of {IDENTITY} again."]
    assert _matrix(folder).exists()


def test_a_matrix_of_another_index_is_not_believed(opened, folder, full, tmp_path):
    """A file put under the right name from elsewhere answers for nobody here."""
    other = opened().of_owner("other")
    _fill(other, range(5000, 5000 + MANY))
    (foreign,) = (tmp_path / "users" / "other").glob("*.matrix")
    _matrix(folder).write_bytes(foreign.read_bytes())
    query = _vector(3.3)
    assert _nearest(opened().of_owner("me"), query) == _expected(range(MANY), query)


def test_what_another_process_changed_is_seen_at_once(opened, full):
    """Added, dropped, rewritten and moved docs, over a mapped file and its tail."""
    query = _vector(3.3)
    reader = opened().of_owner("me")
    best = list(_nearest(reader, query))
    _fill(full, [MANY])
    full.apply([Drop(ref) for ref in best[:3]])
    gone = {int(ref[2:]) for ref in best[:3]}
    rest = [i for i in range(MANY + 1) if i not in gone]
    assert _nearest(reader, query) == _expected(rest, query)
    full.apply([Put(a_doc(best[3], "another text"))])
    rest.remove(int(best[3][2:]))
    assert _nearest(reader, query) == _expected(rest, query)
    moved = int(best[4][2:])
    full.apply([Put(a_doc(best[4], f"text {moved}", minutes=10 * MANY, scope="moved"))])
    late = Interval(start=a_doc("", "", minutes=9 * MANY).at)
    figure = _expected(rest, query)[best[4]]
    assert _nearest(reader, query, Filter(interval=late)) == {best[4]: figure}
    assert _nearest(reader, query, Filter(scopes=("moved",))) == {best[4]: figure}
    assert _nearest(reader, query) == _expected(rest, query)


def test_a_reader_follows_when_the_file_is_written_anew(opened, folder, full):
    """Many drops wear the file out; it is replaced, the old one removed, and readers go along."""
    query = _vector(3.3)
    reader = opened().of_owner("me")
    _nearest(reader, query)
    before = _matrix(folder).name
    full.apply([Drop(f"n:{i}") for i in range(0, MANY, 2)])
    assert _matrix(folder).name != before
    rest = range(1, MANY, 2)
    assert _nearest(reader, query) == _expected(rest, query)
    assert _nearest(full, query) == _expected(rest, query)
    assert reader.problems() == []


@cases("limit", [1, 7, 300])
def test_filters_cut_the_matrix_before_the_best_are_taken(full, limit):
    """Spans of time, facets, and both, against the same worked out one by one."""
    query = _vector(3.3)
    start, end = (a_doc("", "", minutes=m).at for m in (100, 900))
    filtered_table = [i for i in range(MANY) if 100 <= i < 900]
    span = Interval(start=start, end=end)
    assert _nearest(full, query, Filter(interval=span), limit) == _expected(
        filtered_table, query, limit
    )
    facet = [i for i in range(MANY) if i % 3 == 1]
    found = _nearest(full, query, Filter(scopes=("s1",)), limit)
    assert found == _expected(facet, query, limit)
    both = [i for i in filtered_table if i % 3 == 1]
    found = _nearest(full, query, Filter(interval=span, scopes=("s1",)), limit)
    assert found == _expected(both, query, limit)
    few = Interval(start=start, end=a_doc("", "", minutes=103).at)
    found = _nearest(full, query, Filter(interval=few, scopes=("s1",)), limit)
    assert found == _expected([100], query)


def test_a_matrix_that_cannot_be_written_costs_only_time(open_to_all, as_plain_user, caplog):
    """Vectors are filed and found where no file can be made beside the database."""
    with as_plain_user():
        index = SqliteIndex(lambda owner: open_to_all / owner)
        mine = index.of_owner("me")
        _fill(mine, range(10))
        (open_to_all / "me").chmod(0o500)
        _fill(mine, range(10, MANY))
        query = _vector(3.3)
        assert _nearest(mine, query) == _expected(range(MANY), query)
        assert "was not written" in caplog.text
        (open_to_all / "me").chmod(0o700)
        _fill(mine, [MANY])
        assert len(list((open_to_all / "me").glob("*.matrix"))) == 1
        assert _nearest(mine, query) == _expected(range(MANY + 1), query)
        index.close()


def test_a_query_vector_that_cannot_be_is_refused(full):
    """Another number of dimensions, NaN, a matrix: Invalid."""
    good = _vector(1)
    for bad in (good[:8], good * np.nan, good[np.newaxis], good * 0):
        with pytest.raises(Invalid):
            _nearest(full, bad)


def test_threads_search_while_others_write(opened):
    """Eight threads over one index: no error, and each search sees all that was filed before it."""
    mine = opened().of_owner("me")
    _fill(mine, range(100))
    failures = []

    def write(first):
        try:
            for i in range(first, first + 25):
                _fill(mine, [i])
                query = _vector(i)
                if _nearest(mine, query, limit=1) != {f"n:{i}": 1.0}:
                    failures.append(i)
        except Exception as exc:  # noqa: BLE001  carried to the test's own thread
            failures.append(exc)

    threads = [threading.Thread(target=write, args=(1000 * (n + 1),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert mine.counts(IDENTITY).docs == 100 + 8 * 25
