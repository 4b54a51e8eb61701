"""An urgent write goes before the next transaction of one that catches up."""

from __future__ import annotations

import os
import threading

import pytest
from tests.patience import PATIENCE_S

from commonplace.core.plain_files import open_plain, take_lock
from commonplace.core.values import Put
from commonplace.index.sqlite import priority
from commonplace.index.sqlite.index import SqliteIndex
from commonplace_testing import a_doc, look


@pytest.fixture
def indexes(tmp_path):
    """The same index, as two processes open it."""
    made = [SqliteIndex(lambda _owner: tmp_path / "index") for _ in range(2)]
    yield [each.of_owner("ada") for each in made]
    for each in made:
        each.close()


def filed(index):
    return sorted(look(index, "harbour", limit=9))


def test_a_filing_waits_for_an_urgent_write(indexes, tmp_path, monkeypatch):
    """In another process too; the urgent one is there first."""
    monkeypatch.setattr(priority, "GIVE_WAY_S", PATIENCE_S)
    waits = threading.Event()

    def take_and_tell(descriptor, *, waits_s, is_shared):
        if not is_shared:
            waits.set()
        return take_lock(descriptor, waits_s=waits_s, is_shared=is_shared)

    filing, writing = indexes
    writing.apply([])
    monkeypatch.setattr(priority, "take_lock", take_and_tell)
    caught_up = [Put(a_doc("n:foreign", "harbour"))]
    thread = threading.Thread(target=filing.apply, args=(caught_up,), kwargs={"source": "log"})
    with priority.prioritised(tmp_path / "index", is_urgent=True):
        thread.start()
        assert waits.wait(PATIENCE_S)
        writing.apply([Put(a_doc("n:own", "harbour"))])
        assert filed(writing) == ["n:own"]
    thread.join(PATIENCE_S)
    assert filed(writing) == ["n:foreign", "n:own"]


def test_a_filing_ends_beside_urgent_writes_without_end(indexes, tmp_path, monkeypatch):
    """It waits so long and no longer, and then writes as well."""
    monkeypatch.setattr(priority, "GIVE_WAY_S", 0.0)
    filing, writing = indexes
    writing.apply([])
    with priority.prioritised(tmp_path / "index", is_urgent=True):
        filing.apply([Put(a_doc("n:foreign", "harbour"))], source="log")
    assert filed(writing) == ["n:foreign"]


def test_where_no_file_can_be_made_all_is_written(indexes, tmp_path):
    """A lock is a courtesy: without it nothing fails."""
    filing, writing = indexes
    writing.apply([])
    (tmp_path / "index" / priority.FILE_NAME).unlink()
    (tmp_path / "index" / priority.FILE_NAME).mkdir()
    filing.apply([Put(a_doc("n:foreign", "harbour"))], source="log")
    writing.apply([Put(a_doc("n:own", "harbour"))])
    assert filed(writing) == ["n:foreign", "n:own"]


def test_a_process_forked_in_the_midst_of_a_write_keeps_no_priority(indexes, tmp_path, monkeypatch):
    """It has the file open as long as it lives, as a copy of the descriptor has; nobody waits."""
    copies = []

    def open_and_fork(*arguments):
        descriptor = open_plain(*arguments)
        copies.append(os.dup(descriptor))
        return descriptor

    monkeypatch.setattr(priority, "open_plain", open_and_fork)
    filing, writing = indexes
    writing.apply([Put(a_doc("n:own", "harbour"))])
    filing.apply([Put(a_doc("n:foreign", "harbour"))], source="log")
    other = open_plain(tmp_path / "index" / priority.FILE_NAME, os.O_RDWR)
    assert len(copies) == 2
    assert take_lock(other) is not False
    for each in (other, *copies):
        os.close(each)


def test_nothing_is_made_where_a_link_of_that_name_leads(indexes, tmp_path):
    """Nor is anything locked there: all is written without."""
    filing, writing = indexes
    writing.apply([])
    elsewhere, link = tmp_path / "elsewhere", tmp_path / "index" / priority.FILE_NAME
    link.unlink()
    link.symlink_to(elsewhere)
    filing.apply([Put(a_doc("n:foreign", "harbour"))], source="log")
    writing.apply([Put(a_doc("n:own", "harbour"))])
    assert filed(writing) == ["n:foreign", "n:own"]
    assert not elsewhere.exists()
