"""Memory while its server stops, dies, freezes and fills up: what was acknowledged is there, and found.

Nothing is half done, each error says what is wrong, and it goes on by itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest
from server.tests.memory_postgres_world import PostgresMemoryWorld
from server.tests.proof.memory_server import database_on
from tests.patience import until

from commonplace.core.errors import Lost, NotFound, Unavailable
from commonplace_server.postgres.database import Connection

pytestmark = pytest.mark.long

USERS = ("ann", "bob", "cy")


@pytest.fixture
def world(own_server, tmp_path):
    made = PostgresMemoryWorld(database_on(own_server), tmp_path)
    yield made
    made.close()


class Writer(threading.Thread):
    """One user who saves, alters and deletes to-dos until told to stop; knows what was acknowledged."""

    def __init__(self, world, user):
        super().__init__(daemon=True)
        self.memory = world.open(user)
        self.user = user
        self.kept: dict[str, str] = {}
        self.unsure: set[str] = set()
        self.errors: list[Exception] = []
        self.stopping = threading.Event()

    def run(self):
        number = 0
        while not self.stopping.is_set():
            number += 1
            title = f"harbour {self.user}{number}"
            try:
                ref_id = self.memory.save_todo(title, idempotency_key=title)
                self.kept[ref_id] = title
                if number % 5 == 0:
                    self.unsure.add(ref_id)
                    self.memory.delete(ref_id)
                    del self.kept[ref_id]
                    self.unsure.discard(ref_id)
            except (Unavailable, NotFound) as exc:
                # NotFound: the delete was done, and its answer lost.
                self.errors.append(exc)


def check(world, writers):
    """All that was acknowledged is there and found; each record has its line, and each line its record."""
    world.work()
    for writer in writers:
        titles = {todo.ref: todo.title for todo in writer.memory.todos(limit=1000)}
        for ref_id, title in writer.kept.items():
            assert titles.get(ref_id) == title or ref_id in writer.unsure
        found = {
            hit.ref
            for title in list(titles.values())[:20]
            for hit in writer.memory.search(title.split()[1], limit=100).hits
        }
        assert found >= set(list(titles)[:20])
        assert writer.memory.stats().found == len(titles)
    assert (
        world.database.rows(
            "SELECT user_id, id FROM wb_todo EXCEPT SELECT user_id, ref_id FROM wb_outbox WHERE NOT gone"
        )
        == []
    )
    assert (
        world.database.rows(
            "SELECT user_id, ref_id FROM wb_outbox WHERE NOT gone EXCEPT SELECT user_id, id FROM wb_todo"
        )
        == []
    )
    assert world.database.rows("SELECT 1 FROM wb_outbox WHERE due OR words_due OR erase") == []


def test_stopped_killed_and_frozen_under_load(world, own_server):
    """Each in turn, while three users write: they go on when it does, and lose nothing."""
    writers = [Writer(world, user) for user in USERS]
    for writer in writers:
        writer.start()

    def everybody_has(more):
        counts = [len(writer.kept) + more for writer in writers]
        until(
            lambda: all(len(w.kept) >= n for w, n in zip(writers, counts, strict=True)),
            "each writer to have written more",
        )

    everybody_has(5)
    for end, begin in (
        (own_server.stop, own_server.start),
        (own_server.kill, own_server.start),
        (lambda: own_server.stop("immediate"), own_server.start),
        (own_server.freeze, own_server.thaw),
    ):
        known = [len(writer.errors) for writer in writers]
        end()
        if begin == own_server.thaw:
            threading.Event().wait(0.3)  # nobody is told that it is frozen
        else:
            until(
                lambda known=known: [len(writer.errors) for writer in writers] != known,
                "a writer to be told that it is gone",
            )
        begin()
        everybody_has(5)
    for writer in writers:
        writer.stopping.set()
    for writer in writers:
        writer.join()
    check(world, writers)
    for writer in writers:
        for error in writer.errors:
            assert "harbour" not in str(error) or isinstance(error, NotFound)


@pytest.mark.parametrize("is_done", [True, False])
def test_a_commit_without_an_answer_is_looked_into(world, monkeypatch, is_done):
    """The connection breaks at the commit, done or not: the save succeeds, and there is one record."""
    mine = world.open("ann")
    mine.save_todo("harbour 0")
    commit = Connection.commit
    left = [1]

    def has_written(conn):
        asked = conn.pgconn.exec_(b"SELECT pg_current_xact_id_if_assigned() IS NOT NULL")
        return asked.get_value(0, 0) == b"t"

    def break_off(conn):
        if not left[0] or not has_written(conn):  # what only reads is asked again
            commit(conn)
            return
        left[0] -= 1
        if is_done:
            commit(conn)
        conn.pgconn.finish()
        raise psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr(Connection, "commit", break_off)
    ref_id = mine.save_todo("harbour 1")
    left[0] = 1
    assert mine.edit_todo(ref_id, done=True).done
    left[0] = 1
    assert mine.save_todo("harbour 2", idempotency_key="k")
    left[0] = 1
    with pytest.raises(Lost, match="may or may not"):
        mine.delete(ref_id)
    monkeypatch.undo()
    titles = sorted(todo.title for todo in mine.todos())
    assert titles == ["harbour 0", *([] if is_done else ["harbour 1"]), "harbour 2"]


def test_a_worker_that_is_killed_repeats_nothing_and_loses_nothing(world):
    """Killed while it works; when its leases have run out another one does the rest."""
    mine = world.open("ann")
    for number in range(60):
        mine.save_todo(f"harbour n{number}")
    script = (
        "import os, sys\n"
        "from commonplace_server.wiring.memories import open_worker\n"
        "from commonplace.app.process import ProcessContext\n"
        "from commonplace.config.settings import read_settings\n"
        "from commonplace_testing import HashingEncoder, ReadySlot\n"
        "from pathlib import Path\n"
        "class Dying(HashingEncoder):\n"
        "    def encode_passages(self, texts):\n"
        "        print('encoding', flush=True)\n"
        "        os.kill(os.getpid(), 9)\n"
        "settings = read_settings(cwd=Path.cwd(), home=None)\n"
        "with open_worker(ProcessContext(settings, encoder=ReadySlot(Dying()))) as worker:\n"
        "    worker.work()\n"
    )
    env = {
        **os.environ,
        "COMMONPLACE_HOME": str(world.settings.home),
        "COMMONPLACE_DATABASE_WORKER_URL": world.database.worker_url,
    }
    died = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True)
    assert died.stdout == "encoding\n", died.stderr
    waiting = "SELECT count(*) FROM wb_outbox WHERE due"
    assert world.database.rows(waiting) == [(60,)]
    assert world.work() == 0  # the leases are the dead one's still
    world.database.run("UPDATE wb_outbox SET leased_until = now() WHERE leased_until IS NOT NULL")
    assert world.work() == 60
    assert world.database.rows(waiting) == [(0,)]
    assert world.database.rows("SELECT count(*), count(DISTINCT doc) FROM wb_embeddings") == [
        (60, 60)
    ]
    assert mine.search("harbour").notes == ()


def test_users_and_workers_at_once(world):
    """Two workers beside three users who save, alter and delete: in the end all is as it is kept."""
    stop = threading.Event()
    workers = []
    for _ in range(2):
        helper = PostgresMemoryWorld(world.database, world.settings.home.parent)
        workers.append((helper, threading.Thread(target=helper.worker.run, args=(stop,))))
    writers = [Writer(world, user) for user in USERS]
    for thread in (*(each for _, each in workers), *writers):
        thread.start()
    until(lambda: all(len(writer.kept) > 40 for writer in writers), "each to have written 40")
    for writer in writers:
        writer.stopping.set()
        writer.join()
    stop.set()
    for helper, thread in workers:
        thread.join()
        helper.close()
    world.database.run("UPDATE wb_outbox SET leased_until = NULL")
    assert [writer.errors for writer in writers] == [[], [], []]
    check(world, writers)


@pytest.fixture
def small_disk(own_server):
    """8 MB that the server's tables may lie on."""
    folder = own_server.folder / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(folder)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("Only root may make a disk that is small.")
    import pwd

    os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
    yield folder
    own_server.stop("immediate")
    subprocess.run(["umount", str(folder)], check=True)


def fill(path):
    """Take all room there is."""
    with path.open("wb") as file:
        while True:
            file.write(b"\0" * 65536)
            file.flush()


def save_without_end(mine, kept):
    """Save messages that do not compress; `kept` are those that were acknowledged."""
    while len(kept) < 5000:
        kept.append(mine.save_message("user", "harbour " + os.urandom(500).hex()))


def test_a_full_disk_is_told_and_got_over(own_server, small_disk, tmp_path):
    """A save is refused, whole; reading goes on; with room again it is kept."""
    with psycopg.connect(own_server.url(), autocommit=True) as conn:
        conn.execute(f"CREATE TABLESPACE small LOCATION '{small_disk}'")
        conn.execute("CREATE DATABASE tight TABLESPACE small TEMPLATE template0")
    database = database_on(own_server, name="tight")
    world = PostgresMemoryWorld(database, tmp_path)
    mine = world.open("ann")
    first = mine.save_todo("harbour first")
    filler = Path(small_disk) / "filler"
    with pytest.raises(OSError, match="No space"):
        fill(filler)
    kept = []
    with pytest.raises(Unavailable, match="disk is full"):
        save_without_end(mine, kept)
    assert len(mine.messages(limit=1000)) == len(kept)
    assert mine.todo(first).title == "harbour first"
    filler.unlink()
    assert mine.save_message("user", "harbour again")
    world.work()
    assert len(mine.search("again").hits) == 1
    world.close()
