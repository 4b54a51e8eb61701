"""`commonplace reindex`: the index made again from the journals alone."""

from __future__ import annotations

import os
import shutil

import pytest
from tests.doors.terminal import facts, hits, on_terminal, opened_app, run, write

from commonplace.doors.cli import calls


@pytest.fixture
def index(tmp_path):
    """The folder of the index."""
    return tmp_path / "home" / ".local" / "share" / "commonplace" / "users" / "me" / "index"


def test_a_deleted_index_is_found_again(index, known_weights):
    """Everything is found as before, by meaning and by words."""
    refs = [write("The database is locked."), write("A quiet harbour."), write("Bread rises.")]
    assert hits("harbour")[0] == refs[1]
    shutil.rmtree(index)
    done = run("reindex")
    assert (done.exit_code, done.stdout) == (0, "Filed 3 entries and made the vectors of 3.\n")
    assert done.stderr == ""
    assert hits("trouble with SQL transactions")[0] == refs[0]
    assert hits("harbour")[0] == refs[1]


def test_an_index_in_use_is_made_anew(index, known_weights):
    """Vectors and all; what left the journal is gone; the entry that came is there."""
    write("A quiet harbour.")
    write("Soon gone.")
    journal = next(p for p in index.parents if p.name == "home") / ".private-journal"
    gone = next(p for p in journal.rglob("*.md") if "Soon gone" in p.read_text())
    hits("harbour")  # files both
    gone.unlink()
    app = opened_app()
    try:
        assert app.index.counts("").docs == 2
        found = facts("reindex")
        assert found == {"entries": 1, "encoded": 1, "pending": 0, "cut": 0, "why": ""}
        assert app.index.counts("").docs == 1
    finally:
        app.close()
    assert hits("gone", "--floor", "1") == []


def test_without_weights_words_are_filed(no_weights):
    """That is no failure: it says why, and what is found meanwhile."""
    ref = write("A quiet harbour.")
    done = run("reindex")
    assert done.exit_code == 0
    assert done.stdout.startswith("Filed 1 entry by their words alone. ")
    assert "`commonplace model fetch`" in done.stdout
    assert hits("harbour") == [ref]
    found = facts("reindex")
    assert (found["entries"], found["encoded"], found["pending"]) == (1, 0, 1)


def test_a_torn_index_is_made_anew(no_weights, index):
    """Reindexing is a cure too."""
    ref = write("A quiet harbour.")
    assert hits("harbour") == [ref]
    for path in index.glob("index.db-*"):
        path.unlink()
    (index / "index.db").write_bytes(b"x" * 30_000)
    assert facts("reindex")["entries"] == 1
    assert hits("harbour") == [ref]


def test_nothing_to_file(no_weights):
    """An empty journal gives an empty index."""
    assert facts("reindex")["entries"] == 0


def test_while_another_process_makes_vectors(known_weights, monkeypatch):
    """The words are filed, the vectors left to the other; it says how many wait."""
    monkeypatch.setattr(calls, "VECTORS_WAIT_S", 0.0)  # it makes none while we look
    write("A quiet harbour.")
    app = opened_app()
    try:
        assert app.index.take_lease("encoding", "another", 600.0)
        done = run("reindex")
    finally:
        app.close()
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "Filed 1 entry and made the vectors of 0.",
        "1 entry still waits for a vector. Another process is making vectors now.",
    ]


@pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty, which Windows has not")
def test_progress_is_shown_on_a_terminal(known_weights):
    """A bar on stderr; stdout holds the answer alone."""
    write("A quiet harbour.")
    code, out, shown = on_terminal("reindex", env={"TERM": "xterm"})
    assert (code, out) == (0, "Filed 1 entry and made the vectors of 1.\n")
    assert "Making vectors" in shown
    assert "1/1" in shown
