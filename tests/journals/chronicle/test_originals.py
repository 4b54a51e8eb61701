"""The copy that an upgrade leaves beside the database loses what is forgotten, and nothing else."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest
from tests.journals.chronicle.test_upgrade import OLD, make, opened, parts_in, path  # noqa: F401

from commonplace.journals.chronicle.originals import find_originals, take_out_of_originals


@pytest.mark.parametrize("generation", OLD)
def test_of_each_generation_one_entry_goes(generation, path):  # noqa: F811
    """Each is found by its id of now; the others stay as they are, and the copy can be opened."""
    chronicle = opened(make(generation, path))
    backup = chronicle.upgrade().backup
    for event in chronicle.list_events(limit=3).events:
        before = parts_in(backup)
        assert [*find_originals(path, [event])] == [backup]
        assert take_out_of_originals(path, [event]) == ()
        assert [*find_originals(path, [event])] == []
        assert len(parts_in(backup)) == len(before) - 1
        assert {x for x in before if x not in parts_in(backup)} <= {
            x for x in before if x[1] == event.message
        }
        with contextlib.closing(sqlite3.connect(backup)) as conn:
            assert conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if len(event.message) > 12 and sum(x[1] == event.message for x in before) == 1:
            assert event.message.encode() not in backup.read_bytes()
    assert [x.name for x in path.parent.iterdir() if "backup" in x.name] == [backup.name]


def test_what_is_no_copy_is_not_opened(path):  # noqa: F811
    """A file of another name beside the database, and one that is no database."""
    chronicle = opened(make("A", path))
    chronicle.upgrade()
    (event, *_) = chronicle.list_events(limit=1).events
    path.with_name("chronicle.db.backup-mine").write_bytes(path.read_bytes())
    path.with_name("chronicle.db.backup-20200101T000000Z").write_bytes(b"no database")
    assert len([*find_originals(path, [event])]) == 1
