"""A database of the program that the design was first built in becomes ours, and nothing is lost."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC

import pytest
from tests.journals.timeline.world import World, at

from commonplace_testing import FrozenClock

# The schema of that program: a text key, no daily level, times that may be absent, an embedding.
SCHEMA = """
CREATE TABLE journal_entries (
    id TEXT PRIMARY KEY, thread_id TEXT NOT NULL, content TEXT NOT NULL, entry_type TEXT NOT NULL,
    timestamp TEXT NOT NULL, period_start TEXT, period_end TEXT, metadata JSON, embedding BLOB,
    parent_id TEXT, rollup_level INTEGER, status TEXT NOT NULL DEFAULT 'active',
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
    FOREIGN KEY (parent_id) REFERENCES journal_entries (id)
);
CREATE VIRTUAL TABLE journal_fts USING fts5 (
    content, content='journal_entries', content_rowid='rowid'
);
"""
RAW = [
    (
        "entry_abc123",
        "Created work_log table",
        "raw",
        "2025-02-04T10:15:30Z",
        '{"projects": ["sales"]}',
    ),
    ("entry_naive", "Inserted data", "raw", "2025-02-04T10:40:00.123456", None),
    ("entry_bad", "Odd metadata", "raw", "2025-02-04T12:00:00+00:00", "{not json"),
    ("entry_me", "Wren is a product manager", "profile_snapshot", "2025-02-04T09:00:00Z", "{}"),
]


@pytest.fixture
def original(tmp_path):
    folder = tmp_path / "journal"
    folder.mkdir()
    conn = sqlite3.connect(folder / "journal.db")
    conn.executescript(SCHEMA)

    def put(entry_id, content, kind, when, metadata, *, start=None, status="active", level=0):
        conn.execute(
            "INSERT INTO journal_entries VALUES (?, '', ?, ?, ?, ?, ?, ?, x'00', NULL, ?, ?, ?, ?)",
            (entry_id, content, kind, when, start, when, metadata, level, status, when, when),
        )

    for row in RAW:
        put(*row)
    put("unseen", "\u200b\ufeff", "raw", "2025-02-04T10:00:00Z", None)
    put("gone", "deleted text", "raw", "2025-02-04T10:00:00Z", None, status="deleted")
    put(
        "weekly_1",
        "Rollup of 3 activities: Created work_log table; Inserted data",
        "weekly_rollup",
        "2025-02-09T23:00:00Z",
        "{}",
        start="2025-02-03T00:00:00Z",
        level=2,
    )
    put(
        "weekly_0",
        "Rollup of 2 activities: Planned the quarter",
        "weekly_rollup",
        "2025-01-12T23:00:00Z",
        "{}",
        start="2025-01-06T00:00:00Z",
        level=2,
    )
    conn.commit()
    conn.close()
    return folder


def test_entries_keep_ids_times_and_metadata(original):
    """Naive times are UTC; what is no JSON is kept as text; deleted and blank ones stay behind."""
    world = World(original, clock=FrozenClock(at("2025-03-01T12:00")))
    found = {x.id: x for x in world.journal.list_entries(_all(), level=0).entries}
    assert found.keys() == {"entry_abc123", "entry_naive", "entry_bad", "entry_me", "weekly_0"}
    assert found["entry_naive"].at == at("2025-02-04T10:40:00.123456")
    assert found["entry_abc123"].metadata == {"projects": ["sales"]}
    assert found["entry_bad"].metadata == {"original_metadata": "{not json"}
    assert {x.thread_id for x in found.values()} == {"me"}
    assert world.journal.profile().content == "Wren is a product manager"
    world.close()


def test_rollups_are_made_anew_and_what_only_they_tell_is_kept(original):
    """One whose entries are there is not carried over; one whose entries are gone is all there is."""
    world = World(original, clock=FrozenClock(at("2025-03-01T12:00")))
    world.roll_up()
    week = world.read("week", "2025-02-04T00:00")
    assert (week.id, week.metadata["entries"]) == ("rollup_weekly_2025W06", 3)
    kept = world.journal.read("weekly_0")
    assert kept.metadata == {"original_type": "weekly_rollup"}
    assert "Planned the quarter" in world.read("month", "2025-01-12T00:00").content
    world.close()


def test_the_old_database_is_kept_as_it_was(original):
    """Byte for byte, beside ours; opening again changes nothing."""
    before = (original / "journal.db").read_bytes()
    for _ in range(2):
        world = World(original)
        world.add("fixed the gate")
        world.close()
    assert (original / "journal.original.db").read_bytes() == before
    names = {x.name for x in original.iterdir() if not x.name.startswith(".")}
    assert names <= {"journal.db", "journal.db-wal", "journal.db-shm", "journal.original.db"}


def test_a_takeover_that_broke_off_is_begun_again(original):
    """What was made so far is thrown away; the old file is still in its place."""
    half = original / "adopting"
    half.mkdir()
    (half / "journal.db").write_bytes(b"half a file")
    world = World(original)
    assert "entry_abc123" in world.shown()
    assert json.loads(
        world.rows("SELECT metadata FROM journal_entries WHERE id = 'entry_abc123'")[0][0]
    )
    world.close()


def _all():
    from commonplace.core.values import Interval

    return Interval(start=at("2000-01-01T00:00").astimezone(UTC))
