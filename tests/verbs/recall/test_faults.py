"""Recall while a journal is locked, unreadable or corrupt: the others answer, and it is named."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys

import pytest
from tests.patience import until
from tests.verbs.recall_world import ask, refs

from commonplace.core.errors import CommonplaceError
from commonplace.search import policy

PRIVATE, CHRONICLE = "The harbour felt quiet.", "painted the harbour wall"


def corrupt(path):
    """No database at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\xde\xad" * 5000)


def torn(path):
    """A database of which half is gone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as conn:
        conn.execute("CREATE TABLE entries (id TEXT, message TEXT)")
        conn.executemany(
            "INSERT INTO entries VALUES (?, ?)", [(str(i), "x" * 500) for i in range(99)]
        )
        conn.commit()
    path.write_bytes(path.read_bytes()[:9000])


def folder(path):
    """A folder where the file should be."""
    path.mkdir(parents=True)


def of_others(path):
    """A database of another program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as conn:
        conn.execute("CREATE TABLE bookmarks (url TEXT)")
        conn.commit()


CHRONICLE_FAULTS = [corrupt, torn, folder, of_others]


@pytest.mark.parametrize("fault", CHRONICLE_FAULTS)
@pytest.mark.parametrize("model", [True, False])
def test_a_broken_chronicle_is_named_and_the_private_journal_answers(world, fault, model):
    """In the notes with its path, and in the facts by its name."""
    app = world.open(model=model)
    ask(app, "process_thoughts", feelings=PRIVATE)
    fault(world.chronicle_path)
    for opened in (app, world.open(model=model)):
        answer = ask(opened, "recall", query="quiet harbour")
        assert [hit["excerpt"] for hit in answer.facts["results"]] == [PRIVATE]
        assert answer.facts["missing"] == ["chronicle"]
        notes = [note for note in answer.facts["notes"] if "chronicle" in note]
        assert len(notes) == 1
        assert str(world.chronicle_path) in notes[0]
        assert f"Note: {notes[0]}" in answer.text
        with pytest.raises(CommonplaceError, match=r"chronicle\.db"):
            ask(opened, "open_ref", ref="chronicle:x")


def test_settings_of_chronicle_that_cannot_be_read_lose_chronicle_alone(world):
    """Where its database lies cannot even be told."""
    config = world.home / ".config" / "chronicle" / "config.json"
    config.parent.mkdir(parents=True)
    config.write_text("{broken")
    app = world.open()
    ask(app, "process_thoughts", feelings=PRIVATE)
    answer = ask(app, "recall", query="quiet harbour")
    assert len(refs(answer)) == 1
    assert answer.facts["missing"] == ["chronicle"]
    assert "config.json" in answer.facts["notes"][0]
    assert refs(ask(app, "recall", query="harbour", journals=["chronicle"])) == []
    with pytest.raises(CommonplaceError, match="chronicle cannot be used"):
        ask(app, "open_ref", ref="chronicle:x")
    assert ask(app, "open_ref", ref=refs(answer)[0]).facts["journal"] == "private"


def test_what_was_filed_before_it_broke_is_still_found(world):
    """The index knows the entry; opening it says what is wrong."""
    app = world.open()
    ref = ask(app, "add_entry", message=CHRONICLE).facts["ref"]
    app.close()
    world.chronicle_path.unlink()
    corrupt(world.chronicle_path)
    app = world.open()
    answer = ask(app, "recall", query="harbour wall")
    assert refs(answer) == [ref]
    assert answer.facts["missing"] == ["chronicle"]
    with pytest.raises(CommonplaceError, match="not a SQLite database"):
        ask(app, "open_ref", ref=ref)


def test_a_root_that_is_a_file_is_named_and_chronicle_answers(world):
    """A file where the private journal should be."""
    (world.home / ".private-journal").write_text("in the way")
    app = world.open()
    ref = ask(app, "add_entry", message=CHRONICLE).facts["ref"]
    for opened in (app, world.open()):
        answer = ask(opened, "recall", query="harbour")
        assert refs(answer) == [ref]
        assert answer.facts["missing"] == ["private"]
        assert str(world.home / ".private-journal") in answer.facts["notes"][0]


def test_a_project_root_that_is_a_file_leaves_the_users_journal(world):
    """One root is broken, the other is searched."""
    app = world.open()
    (world.folder / "project" / ".private-journal").write_text("in the way")
    ask(app, "process_thoughts", feelings=PRIVATE)
    answer = ask(app, "recall", query="harbour")
    assert len(refs(answer)) == 1
    assert answer.facts["missing"] == ["private"]


HOLD = """
import sqlite3, sys
conn = sqlite3.connect(sys.argv[1], isolation_level=None)
conn.execute("PRAGMA locking_mode = EXCLUSIVE")
conn.execute("BEGIN EXCLUSIVE")
conn.execute("CREATE TABLE IF NOT EXISTS held (x)")
print("held", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def held(path):
    """Another process holds the database for itself, readers included."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout.readline() == b"held\n"
        yield
    finally:
        holder.kill()
        holder.communicate()


def test_what_a_killed_write_left_beside_the_projects_goes(world):
    """A project is noted once, so that no later write of it would sweep the folder."""
    ask(world.open(), "process_thoughts", project_notes="Invoices are rounded per line.")
    (noted,) = world.home.rglob("projects/*")
    temp = noted.with_name(".00000000-0123456789abcdef.tmp")
    temp.write_bytes(b"half")
    os.utime(temp, (0, 0))
    ask(world.open(), "recall", query="invoices")
    assert [*world.home.rglob("projects/*")] == [noted]


def test_a_locked_chronicle_is_waited_for_once(world, monkeypatch):
    """The others answer, it is named, and it is there again when the lock is gone."""
    monkeypatch.setattr(policy, "FILING_WAIT_S", 0.3)
    app = world.open()
    filed = ask(app, "add_entry", message=CHRONICLE).facts["ref"]
    app.close()
    with held(world.chronicle_path):
        app = world.open()
        ask(app, "process_thoughts", feelings=PRIVATE)
        until(  # a busy machine may need longer than the short wait for the other journals too
            lambda: ask(app, "recall", query="harbour").facts["missing"] == ["chronicle"],
            "all but the locked journal to be filed",
        )
        for _ in range(2):
            answer = ask(app, "recall", query="harbour")
            assert len(refs(answer)) == 2
            assert answer.facts["missing"] == ["chronicle"]
            assert "chronicle does not answer" in answer.facts["notes"][0]
        status = app.recall.status().answer
        assert "chronicle does not answer" in status.text
    app = world.open()
    answer = ask(app, "recall", query="harbour wall", limit=1)
    assert (refs(answer), answer.facts["missing"]) == ([filed], [])


@pytest.mark.parametrize("broken", ["private", "chronicle", "index"])
def test_status_tells_of_what_is_broken_and_counts_the_rest(world, broken):
    """A line for each journal in any case."""
    app = world.open()
    ask(app, "process_thoughts", feelings=PRIVATE)
    ask(app, "add_entry", message=CHRONICLE)
    app.close()
    if broken == "private":
        shutil.rmtree(world.home / ".private-journal")
        (world.home / ".private-journal").write_text("in the way")
    elif broken == "chronicle":
        corrupt(world.chronicle_path)
    else:
        index = app.folder / "index"
        shutil.rmtree(index)
        index.write_text("in the way")
    app = world.open()
    answer = app.recall.status().answer
    lines = {row["journal"]: row for row in answer.facts["journals"]}
    assert [*lines] == ["private", "chronicle"]
    known = broken != "index"
    assert lines["private"]["entries"] == lines["chronicle"]["entries"] == (1 if known else None)
    if known:
        assert [name for name, row in lines.items() if row["trouble"]] == [broken]
    assert bool(answer.facts["index"]["trouble"]) is not known
    assert answer.text.count("Note: ") >= 1
    assert ("?" in answer.text) is not known
