"""Opening SQLite, its transactions, and its errors in our words."""

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import pytest
from tests.patience import PATIENCE_S

from commonplace.core.errors import Unavailable
from commonplace.db.sqlite import (
    Corrupted,
    Database,
    connect,
    connect_read_only,
    empty_log,
    erase,
    snapshot,
    transaction,
    translated,
)


@pytest.fixture
def conn(tmp_path):
    with closing(connect(tmp_path / "a.db")) as conn:
        conn.execute("CREATE TABLE t (x INTEGER UNIQUE, y BLOB)")
        yield conn


def test_a_connection_is_set_up_for_many_processes(conn, tmp_path):
    """WAL, patience, foreign keys and full durability; the file is its owner's alone."""
    pragmas = ["journal_mode", "busy_timeout", "foreign_keys", "synchronous"]
    found = [conn.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas]
    assert found == ["wal", 30_000, 1, 2]
    assert (tmp_path / "a.db").stat().st_mode & 0o777 == 0o600


def test_normal_durability_and_page_size_are_arguments(tmp_path):
    """An index asks for less durability and larger pages."""
    with closing(connect(tmp_path / "b.db", synchronous="normal", page_size=8192)) as conn:
        conn.execute("CREATE TABLE t (x)")
        assert conn.execute("PRAGMA synchronous").fetchone()[0] == 1
        assert conn.execute("PRAGMA page_size").fetchone()[0] == 8192


def test_an_existing_file_keeps_its_mode(tmp_path):
    """What somebody has opened to a group stays open to it."""
    path = tmp_path / "a.db"
    path.touch()
    path.chmod(0o640)
    connect(path).close()
    assert path.stat().st_mode & 0o777 == 0o640


def test_another_connection_leaves_the_locks_of_the_first(conn, tmp_path):
    """A process that closes its last connection must not take our journal file away with it."""
    conn.execute("INSERT INTO t VALUES (1, '')")
    connect(tmp_path / "a.db").close()
    count = (
        "import sqlite3, sys; conn = sqlite3.connect(sys.argv[1]);"
        "print(conn.execute('SELECT count(*) FROM t').fetchone()[0]); conn.close()"
    )
    command = [sys.executable, "-c", count, str(tmp_path / "a.db")]
    assert subprocess.check_output(command) == b"1\n"
    conn.execute("INSERT INTO t VALUES (2, '')")
    assert subprocess.check_output(command) == b"2\n"


def test_a_transaction_is_whole_or_not_at_all(conn):
    """What fails in the middle leaves nothing, and the next one works."""
    with pytest.raises(sqlite3.IntegrityError), transaction(conn):
        conn.executemany("INSERT INTO t (x) VALUES (?)", [(1,), (1,)])
    with transaction(conn):
        conn.execute("INSERT INTO t (x) VALUES (2)")
    assert conn.execute("SELECT x FROM t").fetchall() == [(2,)]


def test_a_transaction_holds_the_write_lock_from_the_start(conn, tmp_path):
    """A second writer is told that the file is locked, even before the first has written."""
    with closing(connect(tmp_path / "a.db")) as other:
        other.execute("PRAGMA busy_timeout = 0")
        with (
            transaction(conn),
            pytest.raises(Unavailable, match="locked"),
            translated(tmp_path / "a.db"),
            transaction(other),
        ):
            pass


def test_a_snapshot_does_not_see_later_writes(conn, tmp_path):
    """Two readings in one snapshot agree, whatever others write between."""
    with closing(connect(tmp_path / "a.db")) as other, snapshot(conn):
        before = conn.execute("SELECT count(*) FROM t").fetchone()
        other.execute("INSERT INTO t (x) VALUES (1)")
        assert conn.execute("SELECT count(*) FROM t").fetchone() == before


def _read_only(conn, path):
    conn.execute("PRAGMA query_only = ON")
    conn.execute("INSERT INTO t (x) VALUES (1)")


def _full(conn, path):
    conn.execute(f"PRAGMA max_page_count = {conn.execute('PRAGMA page_count').fetchone()[0]}")
    conn.execute("INSERT INTO t (y) VALUES (zeroblob(100000))")


def _too_big(conn, path):
    conn.execute("INSERT INTO t (y) VALUES (zeroblob(2000000000))")


def _not_a_database(conn, path):
    garbage = path.with_name("garbage.db")
    garbage.write_bytes(b"\xff" * 8192)
    connect(garbage)


def _corrupt(conn, path):
    conn.execute("INSERT INTO t (y) VALUES (zeroblob(50000))")
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    copy = path.with_name("copy.db")
    # The header page stays, all behind it is noise.
    copy.write_bytes(path.read_bytes()[:4096] + b"\xa5" * (path.stat().st_size - 4096))
    with closing(connect(copy)) as other:
        other.execute("SELECT sum(length(y)) FROM t").fetchall()


def _cannot_open(conn, path):
    connect(path.parent / "absent" / "a.db")


def _no_such_file(conn, path):
    connect_read_only(path.parent / "absent.db")


def _closed(conn, path):
    other = connect(path)
    other.close()
    other.execute("SELECT 1")


@pytest.mark.parametrize(
    ("fault", "error", "words"),
    [
        (_read_only, Unavailable, "read-only"),
        (_full, Unavailable, "disk is full"),
        (_too_big, Unavailable, "that large"),
        (_not_a_database, Corrupted, "is corrupt"),
        (_corrupt, Corrupted, "is corrupt"),
        (_cannot_open, Unavailable, "cannot be opened"),
        (_no_such_file, Unavailable, "cannot be opened"),
        (_closed, Unavailable, "is closed"),
    ],
)
def test_states_of_a_database_are_explained(conn, tmp_path, fault, error, words):
    """Each state that SQLite reports is Unavailable, names the file and says what to do."""
    path = tmp_path / "a.db"
    with pytest.raises(error, match=words) as caught, translated(path):
        fault(conn, path)
    assert str(tmp_path) in str(caught.value)
    assert str(tmp_path) not in caught.value.summary
    assert caught.value.hint
    if error is Corrupted:
        assert "commonplace doctor --repair" in caught.value.hint


def test_faults_of_our_own_pass_through(conn, tmp_path):
    """A broken constraint and a wrong statement are for the caller, not for the user."""
    conn.execute("INSERT INTO t (x) VALUES (1)")
    with pytest.raises(sqlite3.IntegrityError), translated(tmp_path):
        conn.execute("INSERT INTO t (x) VALUES (1)")
    with pytest.raises(sqlite3.OperationalError), translated(tmp_path):
        conn.execute("SELECT nothing FROM nowhere")


def test_a_file_is_read_where_nothing_may_be_written(conn, tmp_path):
    """A reader needs neither -wal nor -shm, and cannot write."""
    conn.execute("INSERT INTO t (x) VALUES (7)")
    conn.close()
    path = tmp_path / "a.db"
    with closing(connect_read_only(path)) as reader:
        assert reader.execute("SELECT x FROM t").fetchall() == [(7,)]
        with pytest.raises(Unavailable), translated(path):
            reader.execute("DELETE FROM t")


def test_each_thread_has_a_connection_of_its_own(tmp_path):
    """The same thread gets the same one; another thread another."""
    database = Database(tmp_path / "a.db")
    seen = [database.connection(), database.connection()]
    thread = threading.Thread(target=lambda: seen.append(database.connection()))
    thread.start()
    thread.join()
    assert seen[0] is seen[1]
    assert seen[0] is not seen[2]
    database.close()


def test_connections_of_ended_threads_are_let_go(tmp_path):
    """Many short-lived threads do not leave many open connections."""
    database = Database(tmp_path / "a.db")
    seen = []
    for _ in range(20):
        thread = threading.Thread(target=lambda: seen.append(database.connection()))
        thread.start()
        thread.join()
    database.connection()
    open_ones = 0
    for conn in set(seen):
        try:
            conn.execute("SELECT 1")
            open_ones += 1
        except sqlite3.ProgrammingError:
            pass
    assert open_ones <= 1
    database.close()


def test_closing_waits_for_a_thread_at_work(tmp_path):
    """A connection is never closed under the thread that uses it; afterwards none is given."""
    database = Database(tmp_path / "a.db")
    entered, leave, seen = threading.Event(), threading.Event(), []

    def work():
        with database.using() as conn:
            entered.set()
            leave.wait(PATIENCE_S)
            seen.append(conn.execute("SELECT 1").fetchone()[0])

    worker = threading.Thread(target=work)
    worker.start()
    entered.wait(PATIENCE_S)
    assert not database.close_idle()
    closer = threading.Thread(target=database.close)
    closer.start()
    leave.set()
    worker.join(PATIENCE_S)
    closer.join(PATIENCE_S)
    assert seen == [1]
    database.close()
    with pytest.raises(Unavailable, match="closed"):
        database.connection()


_CHECKPOINTING = """
import fcntl, sys
with open(sys.argv[1], "r+b") as shm:
    fcntl.lockf(shm, fcntl.LOCK_EX, 1, 121)
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("erased", [erase, empty_log])
def test_an_erasing_waits_for_the_checkpoint_of_another(conn, tmp_path, erased):
    """SQLite answers at once that another makes one, by byte 121 of the file beside the log."""
    conn.execute("INSERT INTO t VALUES (1, 'quokka in the harbour')")
    conn.execute("DELETE FROM t")
    held = [sys.executable, "-c", _CHECKPOINTING, f"{tmp_path / 'a.db'}-shm"]
    with subprocess.Popen(held, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        asked = []

        def release(statement):
            asked.append("checkpoint" in statement)
            if sum(asked) == 2:
                holder.stdin.close()
                holder.wait(PATIENCE_S)

        conn.set_trace_callback(release)
        assert erased(conn)
        conn.set_trace_callback(None)
    assert b"quokka" not in (tmp_path / "a.db").read_bytes()
    assert (tmp_path / "a.db-wal").stat().st_size == 0
