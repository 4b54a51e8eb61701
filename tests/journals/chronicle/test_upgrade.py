"""An older database becomes the newest layout in one step, and its original stays beside it."""

from __future__ import annotations

import contextlib
import os
import runpy
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commonplace.core.errors import Invalid, NotFound, Unavailable
from commonplace.journals.chronicle.journal import Author, ChronicleJournal
from commonplace.journals.chronicle.layouts import detect, event_of
from commonplace.journals.chronicle.places import ChroniclePlace

GOLDEN = runpy.run_path(str(Path(__file__).parents[2] / "golden" / "chronicle" / "make.py"))
make, rows = GOLDEN["make"], GOLDEN["rows"]
NOW = datetime(2026, 11, 21, 23, 19, 45, tzinfo=UTC)
OLD = [*GOLDEN["SCRIPTS"], *GOLDEN["COPIES"]]
OLD.remove("D2")


_OPENED: list[ChronicleJournal] = []


@pytest.fixture(autouse=True)
def _closed():
    """Every chronicle of a test is closed after it."""
    yield
    while _OPENED:
        _OPENED.pop().close()


@pytest.fixture
def path(tmp_path) -> Path:
    """Where the database is."""
    return tmp_path / "chronicle.db"


def opened(path: Path, form: str = "database", **settings) -> ChronicleJournal:
    """A chronicle in UTC."""
    author = Author(hostname="otter", username="wren", directory="/srv/garden")
    settings = {"owner": "me", "author": author, "clock": lambda: NOW, "zone": UTC, **settings}
    _OPENED.append(ChronicleJournal(ChroniclePlace(path=path, form=form), **settings))
    return _OPENED[-1]


def parts_in(path: Path) -> list[tuple]:
    """What every entry of a file of any generation says, newest first."""
    with contextlib.closing(sqlite3.connect(path)) as conn:
        conn.text_factory = bytes
        layout = detect(conn, path)
        found = [event_of(row) for row in conn.execute(layout.reading(""))]
    found.sort(key=lambda x: (x.instant, x.place), reverse=True)
    return [said_by(x) for x in found]


def said_by(event) -> tuple:
    """What an entry says, but for its id and its stamp."""
    x = event
    return x.instant, x.message, x.tags, x.hostname, x.username, x.directory


def parts(chronicle: ChronicleJournal) -> list[tuple]:
    """What every entry says, but for its id and its stamp."""
    return [said_by(x) for x in chronicle.list_events(limit=100).events]


@pytest.mark.parametrize("generation", OLD)
def test_each_generation_becomes_the_newest(generation, path):
    """Every entry as it was; then chronicle's own queries, word index and layout are right."""
    before = opened(make(generation, path))
    said = parts_in(path)
    done = before.upgrade()
    before.close()
    after = opened(path)
    assert parts(after) == said
    assert (done.entries, done.without_time) == (len(said), 0)
    after.add_event("quokka of today", tags=["new"])
    listed = [message for message, _ in GOLDEN["list_as_chronicle"](path)]
    assert sorted(listed) == sorted(["quokka of today", *(x[1] for x in said)])
    assert "quokka of today" in GOLDEN["search_as_chronicle"](path, "quokka")
    for instant, message, *_ in said:
        assert message in GOLDEN["search_as_chronicle"](path, message.split()[0])
        columns = "SELECT timestamp_unix_seconds, timestamp_nanosecond FROM entries"
        assert rows(path, f"{columns} WHERE message = ?", message) == [divmod(instant, 10**9)]
    GOLDEN["check_words"](path)
    assert after.problems() == []
    assert not rows(path, "SELECT 1 FROM sqlite_schema WHERE name IN ('tags', 'idx_timestamp')")


@pytest.mark.parametrize("generation", OLD)
def test_the_original_stays_beside_it(generation, path):
    """The same entries in the same layout, with the mode of the original, under a name that says when."""
    make(generation, path).chmod(0o640)
    chronicle = opened(path)
    said = parts_in(path)
    backup = chronicle.upgrade().backup
    assert backup == path.with_name("chronicle.db.backup-20261121T231945Z")
    assert parts_in(backup) == said
    assert opened(backup).problems() != []
    assert backup.stat().st_mode & 0o777 == path.stat().st_mode & 0o777 == 0o640
    beside = {x.name for x in path.parent.glob("chronicle*") if x.name[-4:] not in {"-wal", "-shm"}}
    assert beside == {path.name, backup.name}


@pytest.mark.parametrize("generation", ["new", "D2", "A"])
def test_a_second_upgrade_does_nothing(generation, path):
    """Nor does one of what is the newest already, or not there."""
    if generation != "new":
        make(generation, path)
    chronicle = opened(path)
    chronicle.upgrade()
    done = chronicle.upgrade()
    assert (done.backup, done.generation) == (None, "new" if generation == "new" else "D2")
    assert len(list(path.parent.glob("*.backup-*"))) == (generation == "A")


def test_a_number_of_before_is_still_found(path, tmp_path):
    """By the id that follows from it, which a second upgrade of the same original repeats."""
    first, second = opened(make("A", path)), opened(make("A", tmp_path / "again.db"))
    first.upgrade()
    second.upgrade()
    for number, message in enumerate(
        ["deployed version 2.1.0", "fixed auth bug-fix in login", "decided to use WAL"], start=1
    ):
        event = first.read_event(f"chronicle:{number}")
        assert event.message == message
        assert event.id == second.read_event(str(number)).id
        assert first.edit_event(str(number), message="edited").id == event.id
        assert first.read_event(str(number)).id == event.id


def test_a_number_names_no_entry_that_came_later(path):
    """Numbers go on where the old ones were, deleted ones included, and the new are no names."""
    chronicle = opened(make("A", path))
    chronicle.upgrade()
    chronicle.add_event("new", idempotency_key="k")
    assert rows(path, "SELECT rowid FROM entries WHERE message = 'new'") == [(5,)]
    new = chronicle.list_events(limit=1).events[0]
    for number in ("4", "5"):
        if not new.id.startswith(number):
            with pytest.raises(NotFound):
                chronicle.read_event(f"chronicle:{number}")


def test_broken_rows_are_kept(path):
    """A time that nobody can read, tags of nobody, bytes that are no UTF-8: nothing is lost."""
    make("B", path)
    rows(
        path,
        "INSERT INTO entries VALUES ('t', 'yesterday', CAST(x'63616666e9' AS TEXT), 'h', 'u', '/', 'then')",
    )
    rows(
        path,
        "INSERT INTO entries VALUES (NULL, '2026-01-01 00:00:00', 'of nobody', 'h', 'u', '/', 'then')",
    )
    rows(path, "INSERT INTO tags (entry_id, tag) VALUES ('nobody', 'orphan')")
    chronicle = opened(path)
    assert ["upgrade" in x.hint for x in chronicle.problems()] == [True]
    done = chronicle.upgrade()
    assert (done.entries, done.without_time) == (5, 1)
    kept = rows(path, "SELECT id, timestamp, hex(message), typeof(message) FROM entries")
    assert ("t", "yesterday", "63616666E9", "text") in kept
    assert chronicle.list_events().events[0].message == "of nobody"
    assert not any(x.tag == "orphan" for x in chronicle.list_tags())
    assert ["'t'" in x.what for x in chronicle.problems()] == [True]
    GOLDEN["check_words"](path)


@pytest.mark.parametrize("generation", ["A", "A then D", "B then D", "D1"])
def test_an_upgrade_that_fails_leaves_the_original(generation, path):
    """Refused half-way, by a view with the name of an index: as it was, and no copy of it."""
    chronicle = opened(make(generation, path))
    rows(path, "CREATE VIEW idx_entries_timestamp_instant AS SELECT 1")
    schema = rows(path, "SELECT name, sql FROM sqlite_schema")
    said = parts_in(path)
    with pytest.raises(Unavailable, match="not as chronicle makes"):
        chronicle.upgrade()
    assert parts_in(path) == said
    assert rows(path, "SELECT name, sql FROM sqlite_schema") == schema
    assert not list(path.parent.glob("*.backup-*"))


_KILLED = """
import os, signal, sqlite3, sys
from datetime import UTC, datetime
from pathlib import Path
from commonplace.journals.chronicle import upgrade as chronicle_upgrade
from commonplace.journals.chronicle.journal import ChronicleJournal
from commonplace.journals.chronicle.places import ChroniclePlace

real = chronicle_upgrade.complete
def complete(conn):
    real(conn)
    os.kill(os.getpid(), signal.SIGKILL)
chronicle_upgrade.complete = complete
place = ChroniclePlace(path=Path(sys.argv[1]), form="database")
ChronicleJournal(place, owner="me", zone=UTC, clock=lambda: datetime.now(UTC)).upgrade()
"""


def test_a_killed_upgrade_leaves_the_original_and_can_be_repeated(path):
    """Killed with the old tables dropped and the new ones empty: nothing of it is seen."""
    said = parts_in(make("A", path))
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(path)], env=os.environ)
    assert killed.returncode == -signal.SIGKILL
    chronicle = opened(path)
    assert chronicle.upgrade().generation == "A"
    assert parts(chronicle) == said
    assert len(list(path.parent.glob("*.backup-*"))) >= 1


def test_what_a_killed_upgrade_left_is_removed_by_the_next(path):
    """Half copies go; whole ones, and files that only look alike, stay."""
    make("A", path)
    half = [f"{path.name}.backup-20261121T000000Z.77.part{end}" for end in ("", "-journal")]
    kept = [f"{path.name}.backup-20261120T000000Z", "other.db.backup-20261121T000000Z.7.part"]
    for name in (*half, *kept):
        path.with_name(name).touch()
    done = opened(path).upgrade()
    there = {x.name for x in path.parent.iterdir()}
    assert {*kept, done.backup.name} <= there
    assert there.isdisjoint(half)


def test_a_tree_has_nothing_to_upgrade(tmp_path):
    """It says so."""
    with pytest.raises(Invalid, match="nothing to upgrade"):
        opened(tmp_path, form="tree").upgrade()
