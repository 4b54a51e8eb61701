"""What the timeline's figures stand on: the same entries each time, and a year in its own process."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC

import pytest
from bench.timelines import FIRST_DAY, Sizes, fill, live_a_year, roll_up_a_year, texts_of

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


@pytest.mark.design("003-12")
def test_what_retention_saves_is_measured_as_the_days_go_by(tmp_path):
    """Of 33 days of 40 entries a tenth of the text is left, and what is left is found."""
    sizes = Sizes(a_day=40, days=33, entries=0, adds=0, questions=0)
    lived = live_a_year(tmp_path / "lived", sizes)
    with closing(TimelineJournal(tmp_path / "all", owner="me", zone=UTC)) as journal:
        fill(journal, days=33, a_day=40, first=FIRST_DAY)
        ((written, count),) = texts_of(journal)
    assert count == 33 * 40
    # Each day has lines of its own.
    assert lived["written_mb"] == pytest.approx(written / 1e6, rel=0.1)
    assert lived["docs"] < count / 4
    assert lived["kept_mb"] < lived["written_mb"]
