"""What `doctor` says of a timeline's file, and what it mends there."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime

import pytest

from commonplace.core.errors import Unavailable
from commonplace.db.sqlite import connect, snapshot
from commonplace.journals.timeline.database import TimelineFile
from commonplace.journals.timeline.journal import TimelineJournal
from commonplace.journals.timeline.repair import find_problems, repair

AT = datetime(2025, 2, 4, 10, 15, tzinfo=UTC)


@pytest.fixture
def journal(tmp_path):
    made = TimelineJournal(tmp_path / "journal", owner="wren", zone=UTC, clock=lambda: AT)
    yield made
    made.close()


def problems(journal):
    return [(x.what.rpartition("/")[2], x.repairable) for x in find_problems(journal)]


def test_nothing_is_wrong_with_a_whole_file_or_with_none(journal):
    """Looking makes no file."""
    assert (problems(journal), repair(journal)) == ([], [])
    assert not journal.exists
    entry = journal.add("Fixed the gate").entry
    journal.add("Planted a tree")
    journal.update(entry.id, content="Painted the gate")
    journal.delete(entry.id)
    assert (problems(journal), repair(journal)) == ([], [])


def test_a_word_index_that_does_not_fit_is_made_anew(journal):
    """A program that wrote past the triggers leaves readers of the file with wrong words."""
    journal.add("Fixed the gate")
    with closing(sqlite3.connect(journal.database.path)) as conn, conn:
        conn.execute("DROP TRIGGER journal_fts_update")
        conn.execute("UPDATE journal_entries SET content = 'Painted the pier'")
    told = "journal.db has a word index that does not fit its entries."
    assert problems(journal) == [(told, True)]
    assert len(repair(journal)) == 1
    assert problems(journal) == []
    found = "SELECT rowid FROM journal_fts WHERE journal_fts MATCH 'pier'"
    with closing(sqlite3.connect(journal.database.path)) as conn:
        assert len(conn.execute(found).fetchall()) == 1


def test_a_file_that_is_no_database_is_named(journal):
    """Nothing is mended: whether there is a backup its owner knows."""
    journal.database.folder.mkdir()
    journal.database.path.write_bytes(b"no database" * 500)
    (problem,) = find_problems(journal)
    assert "journal.db is corrupt." in problem.what
    assert problem.hint.startswith("Restore it from a backup")
    assert repair(journal) == []
    assert journal.database.path.read_bytes() == b"no database" * 500


def test_what_could_not_be_erased_is_named_and_erased_later(journal):
    """A reader holds an older state: the entry is gone, and its bytes go when the reader has."""
    entry = journal.add("a zanzibarquartz gate").entry
    path = journal.database.path
    with closing(connect(path)) as reader, snapshot(reader):
        reader.execute("SELECT count(*) FROM journal_entries").fetchone()
        with journal.database.bare() as conn:
            conn.execute("PRAGMA busy_timeout = 100")
        with pytest.raises(Unavailable, match="remain"):
            journal.delete(entry.id)
    assert problems(journal) == [("journal.db may hold bytes of what was deleted.", True)]
    assert repair(journal) == [f"Erased from {path} what was deleted."]
    assert problems(journal) == []
    left = b"".join(each.read_bytes() for each in path.parent.iterdir())
    assert b"zanzibarquartz" not in left


def test_what_is_altered_while_another_erases_is_erased_later(journal):
    """The note of the second stays where the erasing of the first did not reach its entry."""
    first, second = (journal.add(text).entry for text in ("quokkarine", "zebrawoodish"))
    journal.update(first.id, content="plain")

    class Beside(TimelineFile):
        """A file that another process alters as soon as it is written again."""

        def erase(self):
            is_whole = super().erase()
            journal.update(second.id, content="bare")
            return is_whole

    other = TimelineJournal(journal.database.folder, owner="wren", zone=UTC, clock=lambda: AT)
    other.database.file = Beside(journal.database.folder)
    other.database.erase()
    other.close()
    assert journal.database.is_erasing()
    journal.database.erase()
    assert not journal.database.is_erasing()
