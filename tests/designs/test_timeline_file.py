"""The timeline's file, as a program reads it that knows the design alone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from commonplace.timeline import Timeline
from commonplace_testing import FrozenClock

START = datetime(2024, 12, 30, 10, 15, tzinfo=UTC)


@pytest.fixture
def journal_db(tmp_path):
    """The database of an owner after two years, open as sqlite3 opens it."""
    clock = FrozenClock(START)
    with Timeline("alice", home=tmp_path, timezone="UTC", clock=clock) as timeline:
        timeline.save_entry("Created work_log table", metadata={"projects": ["sales"]})
        timeline.save_profile("Alice is a product manager")
        clock.at = START + timedelta(days=800)
        timeline.save_entry("Closed the books")
        timeline.roll_up()
    with closing(sqlite3.connect(tmp_path / "users" / "alice" / "journal" / "journal.db")) as made:
        yield made


@pytest.mark.design("003-15", "003-16", "003-17", "003-18", "003-20", "003-33")
def test_its_rows_have_the_designs_columns_types_and_levels(journal_db):
    """Raw and profile at 0, the hour at 1, the year at 5; times in UTC."""
    rows = journal_db.execute(
        "SELECT entry_type, rollup_level, min(timestamp), min(status) FROM journal_entries"
        " WHERE thread_id = 'alice' GROUP BY 1, 2 ORDER BY 2, 1"
    ).fetchall()
    assert [row[:2] for row in rows] == [
        *[("profile_snapshot", 0), ("raw", 0), ("hourly_rollup", 1), ("daily_rollup", 2)],
        *[("weekly_rollup", 3), ("monthly_rollup", 4), ("yearly_rollup", 5)],
    ]
    assert {row[3] for row in rows} == {"active"}
    assert datetime.fromisoformat(rows[1][2]) == START
    columns = {row[1] for row in journal_db.execute("PRAGMA table_info(journal_entries)")}
    assert columns >= {
        *("id", "thread_id", "content", "entry_type", "timestamp", "period_start", "period_end"),
        *("metadata", "rollup_level", "status", "created_at", "updated_at"),
    }


@pytest.mark.design("003-14", "003-24")
def test_its_words_are_searched_in_the_file_itself(journal_db):
    """`journal_fts`, by the very query of the design."""
    found = journal_db.execute(
        "SELECT content FROM journal_entries WHERE rowid IN"
        " (SELECT rowid FROM journal_fts WHERE journal_fts MATCH 'work_log') AND rollup_level = 0"
    ).fetchall()
    assert found == [("Created work_log table",)]


@pytest.mark.design("003-23", "003-86")
def test_the_most_common_question_goes_by_an_index(journal_db):
    """A thread's rows of a time and a level, newest first: no table is read through or sorted."""
    plan = journal_db.execute(
        "EXPLAIN QUERY PLAN SELECT * FROM journal_entries WHERE thread_id = 'alice'"
        " AND timestamp BETWEEN '2024' AND '2026' AND rollup_level = 0"
        " ORDER BY timestamp DESC LIMIT 10"
    ).fetchall()
    assert [row[3].partition(" (")[0] for row in plan] == [
        "SEARCH journal_entries USING INDEX journal_entries_time"
    ]
