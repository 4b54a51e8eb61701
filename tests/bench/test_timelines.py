"""What the timeline's figures stand on: the same entries each time, and a year in its own process."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC

from bench.timelines import FIRST_DAY, fill, roll_up_a_year

from commonplace.core.values import Interval
from commonplace.journals.timeline.journal import TimelineJournal


def test_a_fill_is_the_same_each_time(tmp_path):
    """Two days of six entries each, evenly spread."""
    told = []
    for name in ("one", "two"):
        with closing(TimelineJournal(tmp_path / name, owner="me", zone=UTC)) as journal:
            fill(journal, days=2, a_day=6, first=FIRST_DAY)
            entries = journal.list_entries(Interval()).entries
            told.append([(x.at, x.content) for x in entries])
    assert told[0] == told[1]
    assert len(told[0]) == 12
    assert told[0][-1][0] == FIRST_DAY


def test_a_year_is_rolled_up_and_deleted_by_retention(tmp_path):
    """Every hour, day, week and month of 33 days; then less is kept than there was."""
    with closing(TimelineJournal(tmp_path, owner="me", zone=UTC)) as journal:
        fill(journal, days=33, a_day=8, first=FIRST_DAY)
    told = roll_up_a_year(tmp_path, 33)
    # 33 days from 1 January 2023, a Sunday: 5 weeks are over, and January is.
    assert told["made"] == 33 * 8 + 33 + 5 + 1
    assert told["kept_mb"] < told["size_mb"]
    assert told["peak_mb"] > 0
