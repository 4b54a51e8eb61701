"""What is read where a time is asked for and not in a text: lengths, ends that lie ahead, `ago`."""

from __future__ import annotations

import pytest
from tests.cases import cases
from tests.core.when.test_phrases import NOW, instant, read, span
from tests.core.zones import LOS_ANGELES

from commonplace.core.errors import Invalid
from commonplace.core.when.phrases import (
    parse_at,
    parse_named,
    parse_since,
    parse_until,
    read_interval,
)


@cases(
    ("phrase", "end"),
    [
        ("tomorrow", "2026-11-23"),
        ("the day after tomorrow", "2026-11-24"),
        ("tomorrow 9am", "2026-11-22 09:00"),
        ("tonight", "2026-11-22 06:00"),
        ("this sunday", "2026-11-23"),
        ("next week", "2026-11-30"),
        ("friday next week", "2026-11-28"),
        ("next month", "2027-01-01"),
        ("next quarter", "2027-04-01-07:00"),
        ("next year", "2028-01-01"),
        ("in 3 days", "2026-11-25"),
        ("in 2 weeks", "2026-12-07"),
        ("in 3 hours", "2026-11-21 18:19:45"),
        ("monday..tomorrow", "2026-11-23"),
        ("before next week", "2026-11-23"),
    ],
)
def test_an_end_may_lie_ahead(phrase, end):
    """Alone, as the end of a range, and behind until; a beginning may not, nor may words of a text."""
    assert parse_until(phrase, now=NOW, zone=LOS_ANGELES) == instant(end)
    if not phrase.startswith("before"):
        assert read_interval(
            when=None, since="monday", until=phrase, now=NOW, zone=LOS_ANGELES
        ) == span("2026-11-16", end)
    if ".." not in phrase and not phrase.startswith("before"):
        assert read(f"until {phrase}") == span("", end)
        for is_refused in (read, lambda x: parse_since(x, now=NOW, zone=LOS_ANGELES)):
            with pytest.raises(Invalid, match="lies ahead"):
                is_refused(phrase)
    with pytest.raises(Invalid):
        parse_named(f"until {phrase}", now=NOW, zone=LOS_ANGELES)


@cases(
    ("phrase", "start"),
    [
        ("7d", "2026-11-14 15:19:45"),
        ("7 days", "2026-11-14 15:19:45"),
        ("2w", "2026-11-07 15:19:45"),
        ("24h", "2026-11-20 15:19:45"),
        ("an hour", "2026-11-21 14:19:45"),
        ("30 min", "2026-11-21 14:49:45"),
        ("3 months", "2026-08-21 15:19:45-07:00"),
        ("1y", "2025-11-21 15:19:45"),
    ],
)
def test_a_length_counts_back_from_now(phrase, start):
    """As a time all of it, as either bound the instant so long ago; in a text it is no time."""
    assert read(phrase) == span(start, "2026-11-21 15:19:45")
    assert read(f"since {phrase}") == span(start, "")
    assert read(f"{phrase}..now") == span(start, "2026-11-21 15:19:45")
    for parse in (parse_since, parse_until):
        assert parse(phrase, now=NOW, zone=LOS_ANGELES) == instant(start)
    for text in (phrase, f"since {phrase}"):
        with pytest.raises(Invalid):
            parse_named(text, now=NOW, zone=LOS_ANGELES)


@cases(
    ("phrase", "expected"),
    [
        ("2 days ago", "2026-11-19 15:19:45"),
        ("20 days ago", "2026-11-01 15:19:45"),
        ("a couple of weeks ago", "2026-11-07 15:19:45"),
        ("3 weeks ago", "2026-10-31 15:19:45-07:00"),  # the same time on the clock of summer
        ("9 months ago", "2026-02-21 15:19:45"),
        ("a year ago", "2025-11-21 15:19:45"),
        ("3 hours ago", "2026-11-21 12:19:45"),
        ("7d", "2026-11-14 15:19:45"),
        ("yesterday", "2026-11-20"),
        ("yesterday 9am", "2026-11-20 09:00"),
    ],
)
def test_what_is_written_down_late_keeps_the_time_of_day(phrase, expected):
    """Of so many days ago; a day by its name is its beginning."""
    assert parse_at(phrase, now=NOW, zone=LOS_ANGELES) == instant(expected)
