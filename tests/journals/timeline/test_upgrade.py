"""A file of schema 3, which kept a sum of what expired, becomes one that keeps a row of each."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from tests.journals.timeline.world import World, at

from commonplace.core.ids import new_id
from commonplace.db.migrate import list_migrations, migrate
from commonplace.db.sqlite import connect
from commonplace.journals.timeline.entry import pack_id, ref_of

# One has its time in its id; the id of the other was given by another program.
FIRST, OTHER, DELETED = new_id(at("2025-02-04T10:15"), bytes(10)), "entry-2", "entry-3"
POINTS = [
    [ref_of(FIRST), "2025-02-04T10:15:00+00:00", "Fixed the gate", 0.5, 0],
    [ref_of(OTHER), "2025-02-04T10:40:00+00:00", "Painted the gate", 0.5, 0],
    [ref_of(DELETED), "2025-02-04T10:50:00+00:00", "A zanzibarquartz gate", 0.5, 0],
]
FIGURES = {
    "entries": 3,
    "hours": 1,
    "first": "2025-02-04T10:15:00+00:00",
    "last": "2025-02-04T10:50:00+00:00",
    "projects": {"garden": 2, "boats": 1},
    "measures": {"hours_worked": [2, 5.0, 1.0, 4.0]},
}
ADD = """
INSERT INTO journal_entries (seq, id, thread_id, content, entry_type, timestamp, period_start,
    period_end, rollup_level, status, created_at, updated_at, tz, hash)
VALUES (5, 'rollup_daily_20250204', 'me', 'A zanzibarquartz gate', 'daily_rollup',
    '2025-02-04T23:59:59.999999Z', '2025-02-04T00:00:00.000000Z', '2025-02-05T00:00:00.000000Z',
    2, 'active', '2025-02-05T00:15:00.000000Z', '2025-02-05T00:15:00.000000Z', 'UTC', x'00')
"""


@pytest.fixture
def old(tmp_path):
    """A day that is there, made of an hour that expired, made of two entries that expired.

    A third was pinned, and deleted: the day counts and quotes it still.
    """
    path = tmp_path / "journal.db"
    with closing(connect(path)) as conn:
        known = list_migrations("commonplace.journals.timeline")[:3]
        migrate(conn, known, path=path)
        gone = [(1, FIRST, 1), (2, OTHER, 1), (3, DELETED, 0), (4, "rollup_hourly_20250204_10", 1)]
        for seq, entry_id, expired in gone:
            row = (seq, pack_id(entry_id), expired)
            conn.execute("INSERT INTO tombstones (seq, id, expired) VALUES (?, ?, ?)", row)
        conn.execute(ADD)
        points = json.dumps(POINTS)
        base = {"figures": FIGURES, "points": points, "text": "A gate.", "is_private": False}
        row = (json.dumps(FIGURES), points, json.dumps(base))
        conn.execute("INSERT INTO rollups VALUES (5, '', x'00', '', ?, ?, ?, 0, 0, '', '')", row)
        for rollup, source in ((4, 1), (4, 2), (5, 4)):
            conn.execute("INSERT INTO rollup_sources VALUES (?, ?, x'00')", (rollup, source))
        conn.execute("INSERT INTO series VALUES (0, 'UTC', '', '')")
        conn.execute("UPDATE state SET floor = 5")
    return tmp_path


def test_what_a_file_of_schema_3_knew_of_expired_entries_is_kept(old):
    """Names and numbers as many as there were, each at its time; what was deleted goes."""
    world = World(old)
    world.roll_up("2025-02-06T12:00")
    day = world.read("day", "2025-02-04T10:00")
    assert day.metadata["entries"] == 2
    assert day.metadata["projects"] == ["garden", "boats"]
    assert day.metadata["hours_worked"] == 5
    assert day.metadata["first"] == "2025-02-04T10:15:00.000000Z"
    assert "Fixed the gate" in day.content
    assert "Painted the gate" in day.content
    assert "zanzibarquartz" not in day.content
    assert world.shown(level=1) == []
    world.journal.delete(FIRST)
    world.roll_up()
    day = world.read("day", "2025-02-04T10:00")
    assert day.metadata["entries"] == 1
    assert "Fixed the gate" not in day.content
    world.close()
    left = b"".join(path.read_bytes() for path in old.glob("journal.db*"))
    assert b"zanzibarquartz" not in left
    assert b"Fixed the gate" not in left


def test_it_is_taken_over_once(old):
    """Another opening finds nothing to do."""
    for _ in range(2):
        world = World(old)
        assert world.rows("SELECT count(*) FROM expired") == [(2,)]
        assert world.rows("SELECT 1 FROM sqlite_schema WHERE name = 'old_bases'") == []
        world.close()
