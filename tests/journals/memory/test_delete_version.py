"""A delete of the version that was read, while another process alters the record: nothing is lost.

Both are held at the point where it matters: the other has altered, and has not committed.
"""

import subprocess
import sys
import threading

import psycopg
import pytest
from server.tests.memory_postgres_world import PostgresMemoryWorld
from tests.memory_world import SqliteMemoryWorld
from tests.patience import PATIENCE_S, until

from commonplace.core.errors import CommonplaceError, Conflict, Outdated

ALTER = "UPDATE wb_todo SET title = 'Call the dentist on Monday'"
HOLD = f"""
import sqlite3, sys
conn = sqlite3.connect(sys.argv[1], isolation_level=None)
conn.execute("BEGIN IMMEDIATE")
conn.execute("{ALTER}")
print("held", flush=True)
sys.stdin.readline()
conn.execute("COMMIT")
"""


def test_in_a_file_the_version_is_checked_where_it_is_deleted(tmp_path):
    """Another process commits its edit at the moment in which the delete begins to wait for it."""
    world = SqliteMemoryWorld(tmp_path)
    with world.open("ann") as mine:
        ref = mine.save_todo("Call the dentist")
        version = mine.read_text(ref).version
        file = mine.service.store.database
        holder = [sys.executable, "-c", HOLD, str(file.path)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen(holder, **pipes) as other:
            assert other.stdout.readline() == "held\n"

            def let_commit(statement):
                # SQLite calls it before the statement waits for the lock.
                if statement.startswith("BEGIN IMMEDIATE") and not other.stdin.closed:
                    other.stdin.close()

            with file.bare() as conn:
                conn.set_trace_callback(let_commit)
            with pytest.raises(Conflict, match="changed since it was read"):
                mine.delete(ref, expected=version)
            with file.bare() as conn:
                conn.set_trace_callback(None)
            assert other.wait(PATIENCE_S) == 0
        assert mine.get(ref).text == "Call the dentist on Monday"
        mine.delete(ref, expected=mine.read_text(ref).version)


def test_on_postgres_the_version_is_checked_where_it_is_deleted(database, tmp_path):
    """The delete waits for the row that another connection has altered, and looks at it then."""
    world = PostgresMemoryWorld(database, tmp_path)
    mine = world.open("ann")
    ref = mine.save_todo("Call the dentist")
    version = mine.read_text(ref).version
    raised = []

    def delete():
        try:
            mine.delete(ref, expected=version)
        except CommonplaceError as exc:
            raised.append(exc)

    waiting = threading.Thread(target=delete)
    with psycopg.connect(database.app_url) as other:
        other.execute("SET LOCAL app.user_id = 'ann'")
        other.execute(ALTER)
        waiting.start()
        until(
            lambda: database.rows("SELECT 1 FROM pg_locks WHERE NOT granted"),
            "the other to wait for the row",
        )
    waiting.join(PATIENCE_S)
    assert [type(each) for each in raised] == [Outdated]
    assert mine.get(ref).text == "Call the dentist on Monday"
    mine.delete(ref, expected=mine.read_text(ref).version)
    world.close()
