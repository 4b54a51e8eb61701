"""Bytes of files that may be databases in use: what is closed after reading, and what is not."""

from __future__ import annotations

import os
import sqlite3

import pytest

from commonplace.db.raw_files import RawFiles

pytestmark = pytest.mark.skipif(os.name == "nt", reason="files are locked by their handle there")


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "journal"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE t (x)")
    made.close()
    return str(path)


def test_a_database_stays_open_until_all_is_closed(database):
    """It is read from its beginning each time, by the one descriptor."""
    raw = RawFiles()
    with raw.opened(database) as first:
        assert first.read(6) == b"SQLite"
    with raw.opened(database) as again:
        assert again is first
        assert again.read(6) == b"SQLite"
    raw.close()
    raw.close()
    assert first.closed


def test_a_plain_file_is_closed(tmp_path):
    """At once."""
    (tmp_path / "a.md").write_text("a")
    raw = RawFiles()
    with raw.opened(str(tmp_path / "a.md")) as file:
        assert file.read() == b"a"
    assert file.closed


def test_a_database_that_was_removed_is_closed(tmp_path, database):
    """At the next look, so that its room on the disk is free."""
    raw = RawFiles()
    with raw.opened(database) as file:
        pass
    os.unlink(database)
    (tmp_path / "a.md").write_text("a")
    with raw.opened(str(tmp_path / "a.md")):
        assert file.closed
    raw.close()
