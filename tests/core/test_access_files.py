"""Who used what of an owner's: lines in files of days, from which what is forgotten is taken."""

from __future__ import annotations

import json
import threading
from datetime import UTC, date, datetime, timedelta

import pytest
from tests.patience import PATIENCE_S

from commonplace.core.access_files import Access, AccessFiles

NOW = datetime(2026, 11, 28, 23, 30, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path):
    """Where ann's lie."""
    return tmp_path / "accesses"


def access(*refs, at=NOW):
    """A search of ann's, which showed these."""
    return Access(
        at=at,
        owner="ann",
        token="b7446d81",
        label="phone",
        tool="memory_search",
        outcome="ok",
        refs=refs,
    )


def lines(folder):
    """All that is noted, in order."""
    return [
        json.loads(line)
        for path in sorted(folder.iterdir())
        for line in path.read_text().splitlines()
    ]


def test_a_call_is_a_line_of_its_day(folder):
    """In UTC, readable by the user alone."""
    files = AccessFiles(folder)
    files.add(access("memory:todo/1"))
    files.add(access(at=NOW + timedelta(hours=1)))
    first, second = sorted((folder).iterdir())
    assert (first.name, second.name) == ("2026-11-28.jsonl", "2026-11-29.jsonl")
    assert first.stat().st_mode & 0o077 == 0
    assert lines(folder)[0] == {
        "at": "2026-11-28T23:30:00.000000Z",
        "owner": "ann",
        "token": "b7446d81",
        "label": "phone",
        "tool": "memory_search",
        "outcome": "ok",
        "refs": ["memory:todo/1"],
    }


def test_what_is_forgotten_goes_and_all_else_stays(folder):
    """That there was a call stays, and so does a line that was torn, byte for byte."""
    files = AccessFiles(folder)
    files.add(access("memory:todo/1", "memory:todo/2"))
    files.add(access("memory:todo/3"))
    path = folder / "2026-11-28.jsonl"
    path.write_bytes(path.read_bytes() + b'{"at": "20\n')
    before = path.read_bytes().splitlines()
    assert [*files.find({"memory:todo/4"})] == []
    assert [*files.find({"memory:todo/2"})] == [path]
    files.erase(path, {"memory:todo/2"})
    after = path.read_bytes().splitlines()
    assert json.loads(after[0])["refs"] == ["memory:todo/1"]
    assert after[1:] == before[1:]
    assert [*files.find({"memory:todo/2"})] == []


def test_no_line_is_lost_while_refs_are_taken_out(folder):
    """Each is added to the file as it is then."""
    files = AccessFiles(folder)
    files.add(access("memory:todo/1"))
    path = folder / "2026-11-28.jsonl"

    def add():
        for n in range(50):
            files.add(access(f"memory:todo/{n}"))

    adding = [threading.Thread(target=add) for _ in range(3)]
    for each in adding:
        each.start()
    for _ in range(20):
        files.erase(path, {"memory:todo/1"})
    for each in adding:
        each.join(PATIENCE_S)
    files.erase(path, {"memory:todo/1"})
    assert len(lines(folder)) == 151
    assert [*files.find({"memory:todo/1"})] == []


def test_old_days_go(folder):
    """Those before a day; the day itself stays."""
    files = AccessFiles(folder)
    files.drop_before(date(2026, 11, 28))
    for days in range(3):
        files.add(access(at=NOW - timedelta(days=days)))
    files.drop_before(date(2026, 11, 27))
    assert [x.name for x in sorted(folder.iterdir())] == ["2026-11-27.jsonl", "2026-11-28.jsonl"]
