"""What doctor says of a broken notebook, and what its repair brings back."""

from __future__ import annotations

import os
import sqlite3
import time

import pytest
from tests.repositories import bring

from commonplace.journals.notebook.repair import find_problems, repair


def ledger_of(book):
    """Where the ledger of these tests lies."""
    return book.folder.parent / "own.db"


@pytest.fixture
def notes(book):
    """A notebook with an overview, two entries and a ledger that knows them."""
    made = book.open(ledger=ledger_of(book))
    made.write("api", "First.", overview="We build REST.")
    made.write("api", "Second.")
    made.ledger.catch_up()
    return made


def found(notes) -> list[str]:
    """What is wrong, each as a sentence."""
    return [problem.what for problem in find_problems(notes)]


def change(book, notes, statement: str) -> None:
    """Change the ledger's file behind the notebook's back."""
    notes.close()
    with sqlite3.connect(ledger_of(book)) as conn:
        conn.execute(statement)
    conn.close()


def lose(book, name: str):
    """Remove one object of the repository; its file and its bytes."""
    path = book.folder / ".git" / "objects" / name[:2] / name[2:]
    content = path.read_bytes()
    path.chmod(0o644)
    path.unlink()
    return path, content


def test_nothing_is_wrong_with_a_sound_notebook(book, notes):
    """Nor with one whose ledger has not read yet what was committed by hand."""
    book.commit("By hand.", api="We build REST, and test it.\n")
    assert found(notes) == []
    assert repair(notes) == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET section = 'other' WHERE summary = 'First.'",
        "UPDATE entries SET summary = 'Firsx.' WHERE summary = 'First.'",
        "DELETE FROM entries WHERE summary = 'Second.'",
        "INSERT INTO moves (old, new) VALUES ('api', 'elsewhere')",
    ],
    ids=["flipped", "one letter", "stale", "a move that never was"],
)
def test_a_ledger_that_says_otherwise_than_the_history(book, notes, statement):
    """It is named, and read again from the history."""
    change(book, notes, statement)
    assert found(notes) == [f"The ledger of {book.folder} says otherwise than its history."]
    assert repair(notes) == [f"Read the history of {book.folder} into its ledger again."]
    assert found(notes) == []
    assert [x.summary for x in notes.list_entries("api")] == ["Second.", "First."]


def test_a_ledger_whose_file_is_damaged(book, notes):
    """Its last pages are garbage: it is named and made again."""
    said = [(f"Entry {number} " + "x" * 60, "long.md", f"{number}\n") for number in range(60)]
    bring(notes.folder, said, at=int(notes.clock().timestamp()))
    notes.ledger.catch_up()
    change(book, notes, "PRAGMA wal_checkpoint(TRUNCATE)")
    path = ledger_of(book)
    content = bytearray(path.read_bytes())
    content[-12_288:] = b"\xff" * 12_288
    path.write_bytes(content)
    assert found(notes)
    assert repair(notes)
    assert found(notes) == []
    assert notes.read_section("long").entry_count == 60


def test_a_lost_overview_is_made_again_from_the_folder(book, notes):
    """Its file is unchanged there."""
    lose(book, book.git("rev-parse", "HEAD:api.md").stdout.strip())
    (problem,) = find_problems(notes)
    assert (problem.what, problem.repairable) == (
        f"The notebook {book.folder} lacks the object of api.md.",
        True,
    )
    assert repair(notes) == ["Put api.md back into git from the folder's file."]
    assert found(notes) == []
    assert notes.read_section("api").overview == "We build REST."


def test_a_lost_overview_is_made_again_with_its_own_line_ends(book, notes):
    """The folder's file may have those of Windows, as git may lay it there."""
    name = book.git("rev-parse", "HEAD:api.md").stdout.strip()
    lose(book, name)
    file = book.folder / "api.md"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert repair(notes) == ["Put api.md back into git from the folder's file."]
    assert found(notes) == []
    assert book.git("cat-file", "-t", name).stdout == "blob\n"
    assert b"\r\n" in file.read_bytes()


def test_a_lost_commit_is_fetched_from_a_clone(book, notes, tmp_path):
    """Repair cannot make it again; the hint's command brings it back."""
    book.git("clone", "-q", "--no-local", str(book.folder), str(tmp_path / "clone"))
    book.git("remote", "add", "other", str(tmp_path / "clone"))
    path, content = lose(book, notes.list_entries("api")[1].hash)
    (problem,) = find_problems(notes)
    assert problem.what.startswith(f"git finds faults in the objects of {book.folder}: ")
    assert not problem.repairable
    assert repair(notes) == []
    assert "fetch --refetch REMOTE" in problem.hint
    book.git("fetch", "-q", "--refetch", "other")
    assert found(notes) == []
    assert not path.exists() or path.read_bytes() == content


def test_a_flipped_byte_of_an_object_is_named(book, notes):
    """Git checks every object against its name."""
    name = book.git("rev-parse", "HEAD~1:api.md").stdout.strip()
    path, content = lose(book, name)
    path.write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
    (problem,) = find_problems(notes)
    assert name in problem.what
    path.write_bytes(content)


def test_what_a_sync_left_that_was_cut_off(book, notes):
    """It is named once it is old, and removed."""
    folder = book.folder / ".git" / "commonplace-sync"
    (folder / "tmpabc").mkdir(parents=True)
    (folder / "tmpabc" / "ledger.db").write_bytes(b"x")
    book.git("update-ref", "refs/commonplace/sync/main/next/to", "HEAD")
    kept = "refs/commonplace/sync/next/clashes/0123456789abcdef"  # of a branch called `next`
    book.git("update-ref", kept, "HEAD")
    assert found(notes) == []
    old = time.time() - 600
    os.utime(folder, (old, old))
    assert found(notes) == [f"A sync of {book.folder} was cut off, and left 2 things."]
    assert repair(notes) == ["Removed what a sync had left that was cut off."]
    assert found(notes) == []
    assert list(folder.iterdir()) == []
    assert (
        book.git("for-each-ref", "--format=%(refname)", "refs/commonplace/").stdout == f"{kept}\n"
    )


def test_git_is_not_waited_for_without_end(book, notes, monkeypatch):
    """What was not checked is said; the rest is repaired."""
    monkeypatch.setattr("commonplace.journals.notebook.repair.FSCK_S", 0.0)
    change(book, notes, "DELETE FROM entries")
    (problem,) = find_problems(notes)
    assert problem.what.startswith(f"git fsck of {book.folder} did not end within 0 s")
    assert repair(notes) == [f"Read the history of {book.folder} into its ledger again."]
