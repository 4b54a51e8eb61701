"""A database that is locked, read-only, foreign or broken is named, and no entry is ever lost."""

from __future__ import annotations

import os
import runpy
import signal
import sqlite3
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commonplace.core.errors import CommonplaceError, Denied, Invalid, Unavailable
from commonplace.journals.chronicle.journal import Author, ChronicleJournal
from commonplace.journals.chronicle.places import ChroniclePlace
from commonplace.journals.chronicle.source import ChronicleSource

GOLDEN = runpy.run_path(str(Path(__file__).parents[2] / "golden" / "chronicle" / "make.py"))
make, rows = GOLDEN["make"], GOLDEN["rows"]
NOW = datetime(2026, 11, 21, 23, 19, 45, tzinfo=UTC)
GENERATIONS = ["new", "D1", "D2"]


_OPENED: list[ChronicleJournal] = []


@pytest.fixture(autouse=True)
def _closed():
    """Every chronicle of a test is closed after it."""
    yield
    while _OPENED:
        _OPENED.pop().close()


@pytest.fixture
def path(tmp_path) -> Path:
    """Where the database is, or is to be."""
    return tmp_path / "data" / "chronicle.db"


def opened(path: Path, **settings) -> ChronicleJournal:
    """A chronicle that waits a tenth of a second for a lock."""
    return opened_at(ChroniclePlace(path=path, form="database"), **settings)


def opened_at(place: ChroniclePlace, **settings) -> ChronicleJournal:
    """The same of any place."""
    author = Author(hostname="otter", username="wren", directory="/srv/garden")
    settings = {"owner": "me", "author": author, "clock": lambda: NOW, "zone": UTC, **settings}
    _OPENED.append(ChronicleJournal(place, **{"patience_s": 0.1, **settings}))
    return _OPENED[-1]


_ADD = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from commonplace.journals.chronicle.journal import ChronicleJournal
from commonplace.journals.chronicle.places import ChroniclePlace
place = ChroniclePlace(path=Path(sys.argv[1]), form="database")
chronicle = ChronicleJournal(place, owner="me", zone=UTC, clock=lambda: datetime.now(UTC))
for number in range(int(sys.argv[3])):
    event = chronicle.add_event(f"{sys.argv[2]} {number}", tags=["t"]).event
    print(event.id, flush=True)
"""


@pytest.mark.design("004-39")
@pytest.mark.parametrize(
    ("generation", "count"),
    [("new", 40), ("D1", 40), *(pytest.param(x, 200, marks=pytest.mark.long) for x in GENERATIONS)],
)
def test_two_processes_lose_no_entry(generation, count, path):
    """While a third lists; also where both begin with the layout itself."""
    held = 0
    if generation != "new":
        held = len(opened(make(generation, path)).list_events().events)
    both = [
        subprocess.Popen(
            [sys.executable, "-c", _ADD, str(path), name, str(count)], stdout=subprocess.DEVNULL
        )
        for name in "ab"
    ]
    reader = opened(path, patience_s=30.0)
    while any(x.poll() is None for x in both):
        reader.list_events()
    assert [x.returncode for x in both] == [0, 0]
    listed = [x.message for x in reader.list_events(limit=1000).events]
    assert len(listed) == held + 2 * count
    assert {f"{name} {n}" for name in "ab" for n in range(count)} <= set(listed)
    GOLDEN["check_words"](path)


def test_threads_lose_no_entry(path):
    """One chronicle, shared by the workers of a server, over a database that nobody made yet."""
    chronicle = opened(path, patience_s=30.0)
    faults: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(25):
                chronicle.add_event(f"{name} {number}")
        except BaseException as exc:  # noqa: BLE001  handed to the test
            faults.append(exc)

    workers = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert faults == []
    assert len(chronicle.list_events(limit=1000).events) == 100
    chronicle.close()


@pytest.mark.design("004-39")
def test_a_killed_writer_leaves_whole_entries(path):
    """All it had said was written is there, and nothing half."""
    writer = subprocess.Popen(
        [sys.executable, "-c", _ADD, str(path), "a", "1000000"], stdout=subprocess.PIPE
    )
    said = [writer.stdout.readline().decode().strip() for _ in range(50)]
    writer.send_signal(signal.SIGKILL)
    said += [x for x in writer.stdout.read().decode().split("\n") if len(x) == 36]
    writer.stdout.close()
    writer.wait()
    chronicle = opened(path)
    events = {x.id: x for x in chronicle.list_events(limit=10_000).events}
    assert set(said) <= events.keys()
    assert all(x.tags == ("t",) and x.message.startswith("a ") for x in events.values())
    assert chronicle.problems() == []
    GOLDEN["check_words"](path)
    chronicle.add_event("and on")


_IMPORT = """
import json, sys
from datetime import UTC, datetime
from pathlib import Path
from commonplace.journals.chronicle.journal import ChronicleJournal
from commonplace.journals.chronicle.imports import parse_export
from commonplace.journals.chronicle.places import ChroniclePlace
place = ChroniclePlace(path=Path(sys.argv[1]), form=sys.argv[2])
chronicle = ChronicleJournal(place, owner="me", zone=UTC, clock=lambda: datetime.now(UTC))
entries = [
    {"id": f"{n:08}-0000-4000-8000-000000000000", "timestamp": "2026-01-01T00:00:00Z",
     "message": f"m{n}"} for n in range(600)
]
events = parse_export(json.dumps({"entries": entries}))
chronicle.import_events(events, progress=lambda *_: print("some", flush=True))
chronicle.close()
"""


@pytest.mark.parametrize("form", ["database", "tree"])
def test_a_killed_import_goes_on(form, tmp_path):
    """What it had added is there, whole; the next one adds the rest."""
    place = tmp_path / ("tree" if form == "tree" else "chronicle.db")
    command = [sys.executable, "-c", _IMPORT, str(place), form]
    first = subprocess.Popen(command, stdout=subprocess.PIPE)
    first.stdout.readline()
    first.kill()
    first.stdout.close()
    first.wait()
    chronicle = opened_at(ChroniclePlace(path=place, form=form), patience_s=30.0)
    assert 500 <= len(chronicle.list_events(limit=2000).events) <= 600
    assert subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0
    assert len(chronicle.list_events(limit=2000).events) == 600
    assert chronicle.problems() == []


def test_a_locked_database_is_read_and_named(path):
    """Another program holds the write lock: lists go on, a write says who is in the way."""
    chronicle = opened(make("D2", path))
    chronicle.add_event("before")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert chronicle.list_events().events[0].message == "before"
    with pytest.raises(Unavailable, match="locked by another process") as caught:
        chronicle.add_event("x")
    assert str(path) in caught.value.located
    holder.execute("ROLLBACK")
    holder.close()
    chronicle.add_event("after")


@pytest.mark.parametrize("generation", ["A", "B", "D1", "D2"])
def test_a_read_only_database_is_read_and_named(generation, path, plain_permissions):
    """Also in a folder where nothing can be made; a write or an upgrade says what to check."""
    make(generation, path)
    for beside in path.parent.glob("*-*"):
        beside.unlink()
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        with plain_permissions():
            chronicle = opened(path)
            assert generation in "AB" or chronicle.list_events().events
            assert ChronicleSource(chronicle).mark()
            with pytest.raises(CommonplaceError) as caught:
                chronicle.upgrade() if generation in "AB" else chronicle.add_event("x")
            assert str(path) in caught.value.located
            assert "who may write" in caught.value.hint
            assert not [x for x in chronicle.problems() if "damaged" in x.what]
            chronicle.close()
        assert [x.name for x in path.parent.iterdir()] == [path.name]
    finally:
        path.parent.chmod(0o700)


def test_a_folder_that_may_not_be_made_is_named(path, plain_permissions):
    """Before anything is written."""
    path.parent.mkdir()
    path.parent.chmod(0o500)
    with plain_permissions(), pytest.raises(Denied, match="refused"):
        opened(path).add_event("x")
    assert opened(path).list_events().events == ()


@pytest.mark.design("004-38")
def test_a_file_nobody_may_read_is_named(path, plain_permissions):
    """It is not taken for an absent one."""
    make("D2", path).chmod(0)
    with plain_permissions():
        chronicle = opened(path)
        with pytest.raises(CommonplaceError) as caught:
            chronicle.list_events()
        assert str(path) in caught.value.located
        assert ChronicleSource(chronicle).mark().startswith("unreadable")
        assert len(chronicle.problems()) == 1


@pytest.mark.design("004-35")
@pytest.mark.parametrize("content", [b"Dear diary,\n", b"\0" * 5000, b"SQLite"])
def test_a_file_that_is_no_database_is_named(content, path):
    """Read or written, it stays as it is."""
    path.parent.mkdir()
    path.write_bytes(content)
    chronicle = opened(path)
    for verb in (chronicle.list_events, lambda: chronicle.add_event("x"), chronicle.upgrade):
        with pytest.raises(Invalid, match="not a SQLite database"):
            verb()
    assert path.read_bytes() == content
    assert "CHRONICLE_DB_PATH" in chronicle.problems()[0].hint
    assert [x.name for x in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE notes (id, text)",
        "CREATE TABLE entries (id, title)",
        "CREATE TABLE entries (id, timestamp, message, hostname, username, working_directory, created_at)",
    ],
)
def test_another_programs_database_is_not_touched(sql, path):
    """Nothing is added to it; the message says what is missing."""
    path.parent.mkdir()
    rows(path, sql)
    before = path.read_bytes()
    chronicle = opened(path)
    for verb in (chronicle.list_events, lambda: chronicle.add_event("x"), chronicle.upgrade):
        with pytest.raises(Invalid, match="but not chronicle's") as caught:
            verb()
        assert "CHRONICLE_DB_PATH" in caught.value.hint
    chronicle.close()
    assert path.read_bytes() == before


def test_a_damaged_database_is_named(path):
    """Pages overwritten behind a whole first one."""
    chronicle = opened(path)
    for number in range(200):
        chronicle.add_event(f"entry {number} " * 20)
    chronicle.close()
    rows(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    content[4096 * 2 :] = os.urandom(len(content) - 4096 * 2)
    path.write_bytes(content)
    broken = opened(path)
    with pytest.raises(Unavailable, match="is corrupt") as caught:
        broken.list_events(limit=1000)
    assert str(path) in caught.value.located
    assert "restore the file from a backup" in caught.value.hint
    assert broken.problems()


def test_a_stale_word_index_is_named_and_mended(path):
    """Chronicle's own index refuses a delete: the message names the repair, and it helps."""
    make("D2", path)
    rows(path, "DELETE FROM entries_fts_data WHERE id > 10")
    rows(path, "DELETE FROM entries_fts_idx")
    chronicle = opened(path)
    assert any("word index" in x.what for x in chronicle.problems())
    chronicle.repair()
    GOLDEN["check_words"](path)
    chronicle.delete_event(chronicle.list_events().events[0].ref)
    assert chronicle.problems() == []


def test_a_folder_in_the_place_of_the_file_is_named(path):
    """One that came after the place was resolved."""
    path.mkdir(parents=True)
    with pytest.raises(CommonplaceError) as caught:
        opened(path).list_events()
    assert str(path) in caught.value.located


def test_a_link_to_a_file_that_is_not_there_yet(path, tmp_path):
    """It is made where the link leads; without that folder the link is named."""
    target = tmp_path / "elsewhere" / "log.db"
    path.parent.mkdir()
    path.symlink_to(target)
    with pytest.raises(Invalid, match=r"log.db is a link into a folder that does not exist"):
        opened(path).add_event("x")
    target.parent.mkdir()
    opened(path).add_event("x")
    assert rows(target, "SELECT message FROM entries") == [("x",)]
    assert path.is_symlink()


def test_a_second_chronicle_keeps_the_locks_of_the_first(path):
    """Two in one process over one file: another process that ends takes no journal file away."""
    first = opened(path, patience_s=30.0)
    first.add_event("one")
    opened(path).list_events()
    command = [sys.executable, "-c", _ADD, str(path), "two", "1"]
    assert subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0
    first.add_event("three")
    assert len(first.list_events().events) == 3
    assert {x for (x,) in rows(path, "SELECT message FROM entries")} == {"one", "two 0", "three"}


def test_a_pipe_in_the_place_of_the_file_is_named(path):
    """Nobody would ever write into it: it is not waited for."""
    path.parent.mkdir()
    os.mkfifo(path)
    chronicle = opened(path)
    for verb in (chronicle.list_events, lambda: chronicle.add_event("x"), chronicle.upgrade):
        with pytest.raises(Invalid, match="is not a plain file") as caught:
            verb()
        assert str(path) in caught.value.located
    assert len(chronicle.problems()) == 1


def test_a_reader_that_may_not_write_sees_what_others_add(path, plain_permissions):
    """Where no journal file may be made, the file is read anew once it has changed."""
    make("D2", path)
    path.chmod(0o444)
    path.parent.chmod(0o555)
    reader = opened(path)
    try:
        with plain_permissions():
            assert len(reader.list_events().events) == 3
            before = ChronicleSource(reader).mark()
        for number in range(200):
            rows(
                path,
                "INSERT INTO entries (id, timestamp, message) VALUES (?, ?, ?)",
                f"id-{number}",
                "2026-11-21 10:00:00",
                f"later {number} " * 20,
            )
        assert [x.name for x in path.parent.iterdir()] == [path.name]
        with plain_permissions():
            assert len(reader.list_events(limit=500).events) == 203
            assert ChronicleSource(reader).mark() != before
    finally:
        reader.close()
        path.parent.chmod(0o755)


def test_a_write_that_broke_off_is_rolled_back_before_reading(path):
    """A database without WAL, whose writer was killed: a reader sees it as it was before."""
    make("D2", path)
    rows(path, "PRAGMA journal_mode = DELETE")
    broken = (
        "import os, sqlite3, sys; conn = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "conn.execute('PRAGMA cache_size = 1'); conn.execute('BEGIN IMMEDIATE');"
        "[conn.execute('INSERT INTO entries (id, timestamp, message) VALUES (?, ?, ?)',"
        " (str(n), '2027-01-01 00:00:00', 'half' * 500)) for n in range(500)]; os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", broken, str(path)], check=False).returncode == 9
    assert path.with_name(f"{path.name}-journal").exists()
    chronicle = opened(path)
    assert len(chronicle.list_events(limit=1000).events) == 3
    chronicle.add_event("and on")
    assert len(chronicle.list_events(limit=1000).events) == 4
    GOLDEN["check_words"](path)


def test_an_entry_that_a_foreign_rule_refuses_is_not_called_taken(path):
    """Added or imported, it is refused aloud; an import writes none of it."""
    chronicle = opened(make("D2", path))
    events = opened(path.with_name("other.db"))
    wanted = [events.add_event(message).event for message in ("allowed", "forbidden")]
    rows(
        path,
        "CREATE TRIGGER rule BEFORE INSERT ON entries WHEN new.message = 'forbidden'"
        " BEGIN SELECT RAISE(ABORT, 'no'); END",
    )
    for verb in (
        lambda: chronicle.add_event("forbidden"),
        lambda: chronicle.import_events(wanted),
    ):
        with pytest.raises(Unavailable, match="refuses the entry"):
            verb()
    assert len(chronicle.list_events().events) == 3
