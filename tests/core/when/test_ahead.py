"""Times to come: what expires is given one."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from tests.cases import cases

from commonplace.core.errors import Invalid
from commonplace.core.when.phrases import parse_ahead, parse_until

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 28, 11, 30, tzinfo=UTC)  # 12:30 in Berlin, whose clocks go forward at night


@cases(
    ("phrase", "at"),
    [
        ("in 30 minutes", datetime(2026, 3, 28, 12, 0, tzinfo=UTC)),
        ("in an hour", datetime(2026, 3, 28, 12, 30, tzinfo=UTC)),
        ("36 hours", datetime(2026, 3, 29, 23, 30, tzinfo=UTC)),
        ("in 1 day", datetime(2026, 3, 29, 10, 30, tzinfo=UTC)),  # 12:30 again, 23 hours on
        ("In  2 Weeks", datetime(2026, 4, 11, 10, 30, tzinfo=UTC)),
        ("in 11 months", datetime(2027, 2, 28, 11, 30, tzinfo=UTC)),
        ("2w", datetime(2026, 4, 11, 10, 30, tzinfo=UTC)),
        ("in 36h", datetime(2026, 3, 29, 23, 30, tzinfo=UTC)),
        ("in a year", datetime(2027, 3, 28, 10, 30, tzinfo=UTC)),
        ("in 90 seconds", datetime(2026, 3, 28, 11, 31, 30, tzinfo=UTC)),
        ("tomorrow", datetime(2026, 3, 28, 23, 0, tzinfo=UTC)),
        ("tomorrow 9am", datetime(2026, 3, 29, 7, 0, tzinfo=UTC)),
        ("friday next week", datetime(2026, 4, 2, 22, 0, tzinfo=UTC)),
        ("2027", datetime(2026, 12, 31, 23, 0, tzinfo=UTC)),
        ("2027-01-01", datetime(2026, 12, 31, 23, 0, tzinfo=UTC)),
        ("2026-04-01 09:00", datetime(2026, 4, 1, 7, 0, tzinfo=UTC)),
    ],
)
def test_a_future_time(phrase, at):
    """Days and months are those of the zone, and keep the time of day."""
    assert parse_ahead(phrase, now=NOW, zone=BERLIN) == at


@cases(
    ("phrase", "at"),
    [
        ("this week", datetime(2026, 3, 29, 22, 0, tzinfo=UTC)),  # Sunday is over
        ("next week", datetime(2026, 4, 5, 22, 0, tzinfo=UTC)),
        ("next month", datetime(2026, 4, 30, 22, 0, tzinfo=UTC)),
        ("next year", datetime(2027, 12, 31, 23, 0, tzinfo=UTC)),
        ("tonight", datetime(2026, 3, 29, 4, 0, tzinfo=UTC)),
    ],
)
def test_what_is_longer_than_a_day_is_over_at_its_end(phrase, at):
    """It is the instant at which `until` ends, so that nothing goes before what was named."""
    assert parse_ahead(phrase, now=NOW, zone=BERLIN) == at
    assert parse_until(phrase, now=NOW, zone=BERLIN) == at


@cases(
    "phrase",
    [
        "yesterday",
        "now",
        "2026-03-28",
        "last week",
        "in 0 days",
        "soonish",
        "",
        "in 999999 years",
        "since 2027",
    ],
)
def test_a_phrase_of_no_future_time_is_refused(phrase):
    """It is refused, with the phrase."""
    with pytest.raises(Invalid):
        parse_ahead(phrase, now=NOW, zone=BERLIN)
