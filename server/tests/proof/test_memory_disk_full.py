"""A server whose whole disk fills up, its write-ahead log as well: nothing acknowledged is lost."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from examples.postgres import PostgresServer
from server.tests.memory_postgres_world import PostgresMemoryWorld
from server.tests.proof.memory_server import database_on

from commonplace.core.errors import CommonplaceError, Unavailable

pytestmark = pytest.mark.long

LEFT_BYTES = 6 * 1024 * 1024


@pytest.fixture
def small_disk():
    """A disk of 160 MB in memory."""
    folder = PostgresServer().folder  # a new one, which the server's user can reach
    mounting = ["mount", "-t", "tmpfs", "-o", "size=160m,mode=755", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mounting, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        folder.rmdir()
        pytest.skip("No disk may be mounted here.")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
    folder.rmdir()


@pytest.fixture
def server(small_disk):
    made = PostgresServer(small_disk / "server")
    made.remove_after(os.getpid())
    made.start()
    yield made
    made.remove()


def test_a_full_disk_is_told_and_nothing_acknowledged_is_lost(server, small_disk, tmp_path):
    """Errors of ours while it is full; with room again, all is there, once, and found."""
    world = PostgresMemoryWorld(database_on(server), tmp_path, worker=False)
    mine = world.open("ann")
    acknowledged = {"k": mine.save_todo("harbour first", idempotency_key="k")}
    room = small_disk / "room"
    with room.open("wb") as file:
        file.write(b"\0" * (shutil.disk_usage(small_disk).free - LEFT_BYTES))
    failed = {}
    for number in range(400):
        key = f"k{number}"
        text = f"harbour n{number} {os.urandom(50_000).hex()}"
        try:
            acknowledged[key] = mine.save_message("user", text, idempotency_key=key)
        except CommonplaceError as exc:
            failed[key] = exc
            if len(failed) == 3:
                break
    assert len(failed) == 3
    for error in failed.values():
        assert isinstance(error, Unavailable)
        assert error.hint
        assert "harbour" not in str(error)
    room.unlink()
    if not server.pid:  # it ends where it cannot write its log
        server.start()
    for key in failed:
        acknowledged[key] = mine.save_message("user", f"harbour {key} again", idempotency_key=key)
    rows = world.database.rows("SELECT id FROM wb_message UNION ALL SELECT id FROM wb_todo")
    kept = sorted(ref.rpartition("/")[2] for ref in acknowledged.values())
    assert sorted(ref_id for (ref_id,) in rows) == kept
    outbox = world.database.rows("SELECT ref_id FROM wb_outbox WHERE NOT gone")
    assert sorted(outbox) == sorted(rows)
    world.work()
    mine.search("harbour")
    assert mine.stats().found == len(rows)
    found = mine.search("harbour", limit=100)
    assert {hit.ref for hit in found.hits} <= {*acknowledged.values()}
    assert acknowledged["k"] in {hit.ref for hit in mine.search("harbour first").hits}
    assert "harbour" not in server.log()
    world.close()
