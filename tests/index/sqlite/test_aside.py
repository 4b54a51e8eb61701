"""A large index is examined by another process, which finds what this one would."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial

import psutil
import pytest

from commonplace.db.sqlite import connect
from commonplace.index.sqlite import aside
from commonplace_testing import a_doc

TWO = pytest.mark.skipif(aside.count_processors() == 1, reason="a second one has no processor")


@pytest.fixture
def mine(opened, law):
    """An index of one doc."""
    return law.filled(opened(), [a_doc("n:1", "harbour")])


@pytest.fixture
def large(mine, monkeypatch):
    """The same, taken for a large one."""
    monkeypatch.setattr(aside, "LEAST_BYTES", 0)
    return mine


def children() -> set[psutil.Process]:
    """The processes that this one began."""
    return set(psutil.Process().children())


def changed(folder, statement: str) -> None:
    """Change the file as no index does."""
    with closing(sqlite3.connect(folder / "index.db")) as conn, conn:
        conn.execute(statement)


@TWO
def test_another_process_examines_it_and_ends(large):
    """Of a whole index it finds nothing."""
    before = children()
    with large.finding_problems() as find:
        assert len(children() - before) == 1
        assert find() == []
    assert children() <= before


@TWO
def test_an_examination_that_is_broken_off_leaves_no_process(large):
    """As by Ctrl-C, which may reach this process alone."""
    before = children()
    with pytest.raises(KeyboardInterrupt), large.finding_problems():
        raise KeyboardInterrupt
    assert children() <= before


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DELETE FROM words_docsize", "The word index in"),
        ("UPDATE docs SET text = 'harbours'", "is corrupt"),
        ("PRAGMA user_version = 99", "has schema 99"),
    ],
)
def test_what_it_finds_is_what_is_found_here(large, folder, statement, said):
    """What it cannot say, as of an index of a newer program, this process finds."""
    changed(folder, statement)
    with large.finding_problems() as find:
        found = find()
    assert [said in problem.what for problem in found] == [True]
    assert found == large.problems()


def test_what_another_program_holds_is_no_fault(large, folder, monkeypatch):
    """As a second doctor does over a very large index: nothing is to be repaired."""
    monkeypatch.setattr("commonplace.index.sqlite.file.connect", partial(connect, busy_s=0))
    with closing(sqlite3.connect(folder / "index.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        (found,) = large.problems()
        assert "locked" in found.what
        assert not found.repairable
    assert large.problems() == []


@TWO
def test_a_process_that_gives_no_answer_is_ended(large, folder, monkeypatch, tmp_path, caplog):
    """It may hang: then this one finds it, and says so."""
    changed(folder, "DELETE FROM words_docsize")
    hangs = tmp_path / "python"
    hangs.write_text("#!/bin/sh\nexec tail -f /dev/null\n")
    hangs.chmod(0o700)
    monkeypatch.setattr("sys.executable", str(hangs))
    monkeypatch.setattr(aside, "DEADLINE_S", 0.0)
    before = children()
    with large.finding_problems() as find:
        assert find() == large.problems() != []
        assert "gave no answer" in caplog.text
    assert children() <= before


def test_without_another_process_this_one_finds_it(large, folder, monkeypatch):
    """As where Python itself lies inside a program."""
    changed(folder, "DELETE FROM words_docsize")
    monkeypatch.setattr("sys.executable", str(folder / "nothing"))
    with large.finding_problems() as find:
        assert find() == large.problems() != []


def test_a_small_index_begins_no_process(mine):
    """To examine it takes less time than a process does to start."""
    before = children()
    with mine.finding_problems() as find:
        assert children() <= before
        assert find() == []
