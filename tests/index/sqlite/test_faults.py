"""Broken, foreign, newer and unwritable index files."""

import contextlib
import os
import resource
import shutil
import sqlite3
import threading
from contextlib import closing

import psutil
import pytest

from commonplace.core.errors import Unavailable
from commonplace.core.values import Drop, Put
from commonplace.db.sqlite import Using
from commonplace.index.sqlite import file as index_file
from commonplace.index.sqlite.file import SCHEMA
from commonplace.index.sqlite.index import SqliteIndex
from commonplace_testing import a_doc


def _garbage(path):
    path.write_bytes(b"\xde\xad" * 5000)


def _torn(path):
    os.truncate(path, path.stat().st_size // 2 + 100)


def _header_gone(path):
    with path.open("r+b") as file:
        file.write(b"\0" * 64)


def _zero_length(path):
    path.write_bytes(b"")


def _deleted(path):
    path.unlink()


FAULTS = [_garbage, _torn, _header_gone, _zero_length, _deleted]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_file_is_made_anew_when_it_is_opened(opened, folder, law, fault):
    """It opens empty, marks and all, so that the journals fill it again."""
    index = opened()
    mine = law.filled(index, [a_doc(f"n:{i}", "harbour " * 50) for i in range(50)])
    mine.apply([], source="s", mark="1")
    index.close()
    fault(folder / "index.db")
    mine = opened().of_owner("me")
    with contextlib.suppress(Unavailable):
        # A tear further in shows itself at use, and heals at the next.
        law.find(mine, "harbour")
        mine.known().stamps("")
    if mine.known().marks.get("s") is not None:
        assert mine.repair()
    assert mine.known().marks.get("s") is None
    law.filled(opened(), [a_doc("n:1", "harbour")])
    assert set(law.find(mine, "harbour")) == {"n:1"}
    assert mine.problems() == []


@pytest.mark.parametrize("fault", [_garbage, _torn, _header_gone])
def test_doctor_sees_a_broken_file_and_repairs_it(opened, folder, law, fault):
    """Looking changes nothing; repairing removes the file and says so."""
    index = opened()
    law.filled(index, [a_doc(f"n:{i}", "harbour " * 50) for i in range(50)])
    index.close()
    path = folder / "index.db"
    fault(path)
    broken = path.read_bytes()
    mine = opened().of_owner("me")
    problems = mine.problems()
    assert [problem.repairable for problem in problems] == [True]
    assert "corrupt" in problems[0].what
    assert path.read_bytes() == broken
    assert "Removed the broken index" in mine.repair()[0]
    assert mine.problems() == []
    assert mine.counts("e").docs == 0


def test_a_page_that_breaks_at_use_is_explained_and_heals(opened, folder, law):
    """The search that meets it is told what to run; the next one works on a new file."""
    index = opened()
    law.filled(index, [a_doc(f"n:{i}", f"harbour {i} " * 20) for i in range(200)])
    index.close()
    path = folder / "index.db"
    pages = path.stat().st_size // 8192
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\x5a" * 8192 * (pages - 1))
    mine = opened().of_owner("me")
    with pytest.raises(Unavailable, match="is corrupt") as caught:
        mine.counts("e")
    assert "commonplace doctor --repair" in caught.value.hint
    assert mine.counts("e").docs == 0
    assert mine.problems() == []


@pytest.mark.parametrize("table", ["docs", "words", "words_data", "vectors", "state"])
def test_a_table_that_is_gone_is_corruption(opened, folder, law, table):
    """Doctor sees it; whoever meets it at use is told; then the file is made again."""
    mine = law.filled(opened(), [a_doc("n:1", "harbour")])
    with closing(_raw(folder)) as conn:
        conn.execute(f"DROP TABLE {table}")
    other = opened().of_owner("me")
    assert [problem.repairable for problem in other.problems()] == [True]
    with pytest.raises(Unavailable, match="is corrupt"):
        mine.apply([Drop("n:1")])
    mine.apply([Put(a_doc("n:2", "harbour"))])
    assert set(law.find(other, "harbour")) == {"n:2"}
    assert mine.problems() == []


@pytest.mark.parametrize("whole_folder", [True, False])
def test_a_file_deleted_while_open_is_made_anew(opened, folder, law, whole_folder):
    """Whoever has it open notices, and neither reads nor writes into nothing."""
    first, second = opened(), opened()
    law.filled(first, [a_doc("n:1", "harbour")])
    assert set(law.find(second.of_owner("me"), "harbour")) == {"n:1"}
    shutil.rmtree(folder) if whole_folder else (folder / "index.db").unlink()
    assert law.find(second.of_owner("me"), "harbour") == {}
    law.filled(first, [a_doc("n:2", "harbour")])
    assert set(law.find(second.of_owner("me"), "harbour")) == {"n:2"}
    assert first.of_owner("me").problems() == []


def test_a_newer_index_is_refused_and_kept(opened, folder, law):
    """The message names both schemas; the file is as it was."""
    index = opened()
    law.filled(index, [a_doc("n:1", "harbour")])
    index.close()
    _pragma(folder, f"user_version = {SCHEMA + 1}")
    mine = opened().of_owner("me")
    with pytest.raises(Unavailable, match=f"schema {SCHEMA + 1}.* schema {SCHEMA}") as caught:
        mine.counts("e")
    assert caught.value.hint
    assert [problem.repairable for problem in mine.problems()] == [False]
    _pragma(folder, f"user_version = {SCHEMA}")
    assert set(law.find(mine, "harbour")) == {"n:1"}


def test_an_older_index_is_dropped_and_made_anew(opened, folder, law):
    """Docs and marks are gone, so the journals fill it again."""
    index = opened()
    mine = law.filled(index, [a_doc("n:1", "harbour")])
    mine.apply([], source="s", mark="1")
    index.close()
    _pragma(folder, f"user_version = {SCHEMA - 1}")
    mine = opened().of_owner("me")
    assert mine.known().marks.get("s") is None
    assert mine.counts("e").docs == 0
    assert mine.problems() == []


def test_a_database_of_another_program_is_refused(opened, folder):
    """What we did not make we do not delete."""
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "index.db")) as conn:
        conn.execute("CREATE TABLE recipes (x)")
    with pytest.raises(Unavailable, match="not an index of commonplace"):
        opened().of_owner("me").counts("e")
    with closing(sqlite3.connect(folder / "index.db")) as conn:
        assert conn.execute("SELECT count(*) FROM recipes").fetchone() == (0,)


def test_words_that_differ_from_the_docs_are_noticed_and_rebuilt(opened, folder, law):
    """A doc that lost its words is found again after repair."""
    index = opened()
    mine = law.filled(index, [a_doc("n:1", "harbour"), a_doc("n:2", "wood")])
    with closing(_raw(folder)) as conn:
        number = conn.execute("SELECT id FROM docs WHERE ref = 'n:1'").fetchone()[0]
        conn.execute(
            "INSERT INTO words (words, rowid, body) VALUES ('delete', ?, 'harbour')", (number,)
        )
    assert law.find(mine, "harbour")["n:1"].words is None
    assert "word index" in mine.problems()[0].what
    assert mine.repair() == ["Rebuilt the word index from the docs."]
    assert mine.problems() == []
    assert law.find(mine, "harbour")["n:1"].words is not None


def test_a_word_index_of_no_known_format_is_damage(opened, folder, law):
    """SQLite calls it a plain error; the index is removed, and the journals fill it again."""
    index = opened()
    law.filled(index, [a_doc("n:1", "harbour")])
    index.close()
    with closing(sqlite3.connect(folder / "index.db")) as conn, conn:
        conn.execute("UPDATE words_config SET v = 0 WHERE k = 'version'")
    mine = opened().of_owner("me")
    assert mine.problems()
    assert mine.repair()
    law.filled(opened(), [a_doc("n:1", "harbour")])
    assert set(law.find(mine, "harbour")) == {"n:1"}
    assert mine.problems() == []


@pytest.mark.parametrize(
    "fault", ["UPDATE vectors SET text_hash = 'other'", "UPDATE state SET docs = 9"]
)
def test_orphans_and_a_wrong_tally_are_damage(opened, folder, law, fault):
    """Vectors without a doc and a wrong number of docs are found, and the index is made again."""
    mine = law.filled(opened(), [a_doc("n:1", "harbour")])
    with closing(_raw(folder)) as conn:
        conn.execute(fault)
    (problem,) = mine.problems()
    assert problem.repairable
    assert len(mine.repair()) == 1
    assert mine.problems() == []
    law.filled(opened(), [a_doc("n:1", "harbour")])
    assert set(law.find(mine, "harbour")) == {"n:1"}


def test_examining_makes_no_file(opened, folder):
    """Doctor on a home without an index leaves it without one."""
    mine = opened().of_owner("me")
    assert mine.problems() == []
    assert not folder.exists()


def test_files_are_their_owners_alone(opened, folder, law):
    """Folder 0700, every file in it 0600, also while it is open."""
    law.filled(opened(), [a_doc("n:1", "harbour")])
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_a_full_disk_is_reported_and_loses_nothing(opened, folder, law):
    """The put that does not fit fails whole; what was there is found; the next put works."""
    mine = law.filled(opened(), [a_doc("n:1", "harbour")])
    sizes = [path.stat().st_size for path in folder.iterdir()]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (max(sizes) + 20_000, hard))
    try:
        with pytest.raises(Unavailable, match=r"index\.db"):
            mine.apply([Put(a_doc(f"n:big{i}", f"{i} mountain " * 2000)) for i in range(50)])
        assert set(law.find(mine, "harbour")) == {"n:1"}
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    law.filled(opened(), [a_doc("n:2", "harbour")])
    assert set(law.find(mine, "harbour")) == {"n:1", "n:2"}
    assert mine.problems() == []


def test_a_read_only_folder_is_read_and_not_written(open_to_all, as_plain_user, law):
    """Searches work, puts are refused with the path; once it is writable again they work."""
    folder = open_to_all / "me"
    with as_plain_user():
        index = SqliteIndex(lambda owner: open_to_all / owner)
        law.filled(index, [a_doc("n:1", "harbour")])
        index.close()
        (folder / "index.db").chmod(0o400)
        folder.chmod(0o500)
        index = SqliteIndex(lambda owner: open_to_all / owner)
        mine = index.of_owner("me")
        assert set(law.find(mine, "harbour")) == {"n:1"}
        assert mine.counts(law.encoder.identity).pending == 0
        assert mine.problems() == []
        for write in (
            lambda: mine.apply([Drop("n:1")]),
            lambda: mine.take_lease("a", "b", 1),
            lambda: mine.forget(["n:1"]),
        ):
            with pytest.raises(Unavailable, match=r"index\.db"):
                write()
        folder.chmod(0o700)
        (folder / "index.db").chmod(0o600)
        mine.apply([Drop("n:1")])
        assert law.find(mine, "harbour") == {}
        index.close()


def test_a_home_that_cannot_be_made_is_refused(open_to_all, as_plain_user):
    """The message names the folder."""
    open_to_all.chmod(0o555)
    with as_plain_user():
        index = SqliteIndex(lambda owner: open_to_all / owner)
        with pytest.raises(Exception, match=str(open_to_all)) as caught:
            index.of_owner("me").apply([Drop("n:1")])
        index.close()
    assert caught.value.code in {"denied", "unavailable"}


def _raw(folder):
    conn = sqlite3.connect(folder / "index.db", isolation_level=None)
    conn.create_function("folded_words", 1, str.casefold, deterministic=True)
    return conn


def _pragma(folder, setting):
    with closing(sqlite3.connect(folder / "index.db", isolation_level=None)) as conn:
        conn.execute(f"PRAGMA {setting}")


def test_a_thread_that_opens_the_file_anew_takes_it_from_no_other(opened, law, monkeypatch):
    """On a disk that refuses writes, a search has its answer while another thread tries to write."""
    law.filled(opened(), [a_doc("n:1", "harbour")])
    mine = opened().of_owner("me")

    def refused(path, **_how):
        raise Unavailable(f"{path} is on a read-only disk.")

    def write():
        with pytest.raises(Unavailable, match="read-only disk"):
            mine.apply([Put(a_doc("n:2", "street"))])

    monkeypatch.setattr(index_file, "connect", refused)
    assert set(law.find(mine, "harbour")) == {"n:1"}
    writers, enter = [], Using.__enter__

    def enter_late(use):
        """Where a search takes the connection that it was given, after as much as may come first."""
        if threading.current_thread() is threading.main_thread():
            writers.append(threading.Thread(target=write))
            writers[-1].start()
            writers[-1].join(0.05)
        return enter(use)

    with monkeypatch.context() as patch:
        patch.setattr(Using, "__enter__", enter_late)
        assert set(law.find(mine, "harbour")) == {"n:1"}
    assert writers
    for writer in writers:
        writer.join()


def _open_below(folder):
    """The files below a folder that this process has open."""
    return [x.path for x in psutil.Process().open_files() if x.path.startswith(str(folder))]


def test_an_owner_at_rest_has_no_file_open_and_answers_at_the_next_use(opened, folder, law):
    """Its docs, its marks and its vectors are there as before."""
    index = opened()
    mine = law.filled(index, [a_doc("n:1", "harbour lights")])
    mine.apply([], source="s", mark="1")
    assert set(law.find(mine, "harbour")) == {"n:1"}
    assert _open_below(folder)
    index.close_idle("me")
    index.close_idle("nobody")
    assert _open_below(folder) == []
    assert set(law.find(mine, "harbour")) == {"n:1"}
    assert mine.known().marks.get("s") == "1"


def test_an_index_is_laid_to_rest_while_others_search_and_write(opened, law):
    """Every answer is right, and nothing that was written is lost."""
    index = opened()
    mine = law.filled(index, [a_doc("n:0", "harbour lights")])
    failed = []
    stop = threading.Event()

    def search():
        while not stop.is_set():
            try:
                assert "n:0" in law.find(mine, "harbour")
            except Exception as exc:  # noqa: BLE001  whatever it is, the test tells it
                failed.append(exc)
                return

    threads = [threading.Thread(target=search) for _ in range(3)]
    for each in threads:
        each.start()
    for number in range(1, 40):
        mine.apply([Put(a_doc(f"n:{number}", f"harbour {number}"))])
        index.close_idle("me")
    stop.set()
    for each in threads:
        each.join()
    assert failed == []
    assert mine.counts("").docs == 40
