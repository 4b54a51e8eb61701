"""Parts of months, years, weeks and days: each reads as one interval worked out by hand, or not at all."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases
from tests.core.when.test_phrases import at, nows, read, span, zones
from tests.core.zones import CAIRO, LORD_HOWE, LOS_ANGELES

from commonplace.core.errors import Invalid

READINGS = [
    # Days
    ("monday last week", "2026-11-09", "2026-11-10"),
    ("on sunday of last week", "2026-11-15", "2026-11-16"),
    ("last week on friday", "2026-11-13", "2026-11-14"),
    ("friday this week", "2026-11-20", "2026-11-21"),
    ("last monday", "2026-11-16", "2026-11-17"),
    # Days of one month
    ("nov 1-15", "2026-11-01-07:00", "2026-11-16"),
    ("November 1 - 15, 2025", "2025-11-01-07:00", "2025-11-16"),
    ("nov 1\u201315", "2026-11-01-07:00", "2026-11-16"),
    ("nov 1 to 15", "2026-11-01-07:00", "2026-11-16"),
    ("from nov 1st until the 15th", "2026-11-01-07:00", "2026-11-16"),
    ("between nov 1 and 15", "2026-11-01-07:00", "2026-11-16"),
    ("1-15 nov", "2026-11-01-07:00", "2026-11-16"),
    ("between the 3rd and the 5th of november", "2026-11-03", "2026-11-06"),
    ("nov 3-3", "2026-11-03", "2026-11-04"),
    ("nov 21-30", "2026-11-21", "2026-12-01"),
    ("nov 22-30", "2025-11-22", "2025-12-01"),
    ("feb 28-29", "2024-02-28", "2024-03-01"),
    # Quarters and halves
    ("first quarter of 2022", "2022-01-01", "2022-04-01-07:00"),
    ("in the second quarter of 2022", "2022-04-01-07:00", "2022-07-01-07:00"),
    ("3rd quarter 2024", "2024-07-01-07:00", "2024-10-01-07:00"),
    ("the last quarter of 2025", "2025-10-01-07:00", "2026-01-01"),
    ("the fourth quarter of last year", "2025-10-01-07:00", "2026-01-01"),
    ("the first quarter of the year", "2026-01-01", "2026-04-01-07:00"),
    ("the second half of 2023", "2023-07-01-07:00", "2024-01-01"),
    ("first half of last year", "2025-01-01", "2025-07-01-07:00"),
    ("the second half of the year", "2026-07-01-07:00", "2027-01-01"),
    ("first half of november", "2026-11-01-07:00", "2026-11-16"),
    ("the last half of february 2024", "2024-02-16", "2024-03-01"),
    ("second half of last month", "2026-10-16-07:00", "2026-11-01-07:00"),
    # Parts of months and years
    ("early november", "2026-11-01-07:00", "2026-11-11"),
    ("mid november", "2026-11-11", "2026-11-21"),
    ("mid-November", "2026-11-11", "2026-11-21"),
    ("late november", "2026-11-21", "2026-12-01"),
    ("late october", "2026-10-21-07:00", "2026-11-01-07:00"),
    ("in early december", "2025-12-01", "2025-12-11"),
    ("late february 2024", "2024-02-21", "2024-03-01"),
    ("early last month", "2026-10-01-07:00", "2026-10-11-07:00"),
    ("the beginning of november 2025", "2025-11-01-07:00", "2025-11-11"),
    ("middle of october", "2026-10-11-07:00", "2026-10-21-07:00"),
    ("at the end of october", "2026-10-21-07:00", "2026-11-01-07:00"),
    ("end of last month", "2026-10-21-07:00", "2026-11-01-07:00"),
    ("the start of the month", "2026-11-01-07:00", "2026-11-11"),
    ("early 2025", "2025-01-01", "2025-05-01-07:00"),
    ("mid-2025", "2025-05-01-07:00", "2025-09-01-07:00"),
    ("late last year", "2025-09-01-07:00", "2026-01-01"),
    ("first week of october", "2026-10-01-07:00", "2026-10-08-07:00"),
    ("the 2nd week of november", "2026-11-08", "2026-11-15"),
    ("the fourth week of last month", "2026-10-22-07:00", "2026-10-29-07:00"),
    ("the last week of october", "2026-10-25-07:00", "2026-11-01-07:00"),
    ("last week of february 2024", "2024-02-23", "2024-03-01"),
    # Weeks by number
    ("week 46", "2026-11-09", "2026-11-16"),
    ("week 47", "2026-11-16", "2026-11-23"),
    ("week 48", "2025-11-24", "2025-12-01"),
    ("in week 1 of 2025", "2024-12-30", "2025-01-06"),
    ("week 53", "2020-12-28", "2021-01-04"),
    # Up to this instant
    ("earlier today", "2026-11-21", "2026-11-21 15:19:45"),
    ("earlier this week", "2026-11-16", "2026-11-21 15:19:45"),
    ("earlier this year", "2026-01-01", "2026-11-21 15:19:45"),
    ("this past week", "2026-11-14 15:19:45", "2026-11-21 15:19:45"),
    ("earlier this morning", "2026-11-21 04:00", "2026-11-21 12:00"),
    ("earlier this afternoon", "2026-11-21 12:00", "2026-11-21 15:19:45"),
    # Times of day
    ("monday morning", "2026-11-16 04:00", "2026-11-16 12:00"),
    ("yesterday in the evening", "2026-11-20 18:00", "2026-11-21 00:00"),
    ("monday at night", "2026-11-16 18:00", "2026-11-17 06:00"),
    ("yesterday at 15", "2026-11-20 15:00", "2026-11-20 16:00"),
    ("today at 0", "2026-11-21 00:00", "2026-11-21 01:00"),
    # The part of the day tells which of two hours it is.
    ("this morning at 9", "2026-11-21 09:00", "2026-11-21 10:00"),
    ("yesterday evening at 8", "2026-11-20 20:00", "2026-11-20 21:00"),
    ("monday afternoon at 2:30", "2026-11-16 14:30", "2026-11-16 14:31"),
    ("monday night at 8", "2026-11-16 20:00", "2026-11-16 21:00"),
    # Ranges
    # Before the end and after the beginning of a month are its edges; else the whole part counts.
    ("before the end of october", "", "2026-11-01-07:00"),
    ("until the end of october", "", "2026-11-01-07:00"),
    ("after the end of october", "2026-11-01-07:00", ""),
    ("since the end of october", "2026-10-21-07:00", ""),
    ("after the beginning of october", "2026-10-01-07:00", ""),
    ("before the beginning of october", "", "2026-10-01-07:00"),
    ("since the beginning of october", "2026-10-01-07:00", ""),
    ("after early november", "2026-11-11", ""),
    ("since week 46", "2026-11-09", ""),
    ("nov 1 to nov 15", "2026-11-01-07:00", "2026-11-16"),
    ("nov 1 - nov 15", "2026-11-01-07:00", "2026-11-16"),
    ("monday \u2013 wednesday", "2026-11-16", "2026-11-19"),
]


@cases(("phrase", "start", "end"), READINGS)
def test_a_part_reads_as_its_interval(phrase, start, end):
    """On Saturday 2026-11-21 at 15:19:45 in Los Angeles."""
    assert read(phrase) == span(start, end)


OTHER_CLOCKS = [
    # Week 1 of 2025 began in 2024; the part of a month waits for its first day.
    (LOS_ANGELES, "2024-12-30 12:00-08:00", "week 1", "2024-12-30", "2025-01-06"),
    (LOS_ANGELES, "2024-12-29 12:00-08:00", "week 1", "2024-01-01", "2024-01-08"),
    (LOS_ANGELES, "2027-01-03 12:00-08:00", "week 53", "2026-12-28", "2027-01-04"),
    (LOS_ANGELES, "2026-11-20 12:00-08:00", "late november", "2025-11-21", "2025-12-01"),
    (LOS_ANGELES, "2026-12-01 00:00-08:00", "end of november", "2026-11-21", "2026-12-01"),
    (LOS_ANGELES, "2026-01-15 12:00-08:00", "early last month", "2025-12-01", "2025-12-11"),
    # Parts over a clock change: 1 November has 25 hours; the zone's half hour and skipped midnight.
    (LOS_ANGELES, "2026-11-02 12:00-08:00", "first week of november", "2026-11-01-07:00", "2026-11-08"),
    (LOS_ANGELES, "2026-11-01 12:00-08:00", "earlier today", "2026-11-01-07:00", "2026-11-01T12:00"),
    (LOS_ANGELES, "2026-03-09 12:00-07:00", "yesterday at 0", "2026-03-08", "2026-03-08T01:00"),
    (LORD_HOWE, "2026-10-05 12:00+11:00", "oct 4-4", "2026-10-04T00:00+10:30", "2026-10-05T00:00+11:00"),
    (CAIRO, "2026-05-01 12:00+03:00", "apr 24-30", "2026-04-24T01:00+03:00", "2026-05-01T00:00+03:00"),
]  # fmt: skip


@cases(("zone", "now", "phrase", "start", "end"), OTHER_CLOCKS)
def test_a_part_reads_by_the_owners_clock(zone, now, phrase, start, end):
    """Other instants and zones, the turns of the year and the days of a clock change among them."""
    assert read(phrase, at(now), zone) == span(start, end)


UNKNOWN = [
    "a few days ago",
    "the other day",
    "ascension",
    "early monday",
    "early month",
    "late summer",
    "early last november",
    "end of the week",
    "fifth week of october",
    "week 0",
    "week 54",
    "week 460",
    "nov 0-3",
    "feb 25-30",
    "nov 1-15-20",
    "nov 1 and 15",
    "- 3 days ago",
    "this morning at 3",
    "yesterday morning at 15",
    "yesterday in the night",
    "end of october 2025 to",
    "the end",
    "mid",
]


@cases("phrase", UNKNOWN)
def test_what_names_no_clear_part_is_an_error_with_examples(phrase):
    """No guess how long `the other day` is ago, or when a week of an unnamed year was."""
    with pytest.raises(Invalid, match="Unknown time phrase") as refused:
        read(phrase)
    assert "yesterday" in refused.value.hint


@cases(
    ("phrase", "reason"),
    [
        ("sunday this week", "lies ahead"),
        ("end of this month", "lies ahead"),
        ("end of november", "lies ahead"),
        ("earlier this evening", "lies ahead"),
        ("yesterday at 9", "Ambiguous"),  # in the morning or in the evening?
        ("nov 3 at 12", "Ambiguous"),
        ("week 53 of 2025", "No such week"),  # 2025 has 52
        ("nov 15-1", "ends before it begins"),
        ("yesterday at 24", "calendar"),
    ],
)
def test_a_part_that_names_no_one_time_says_why(phrase, reason):
    """Understood, and still not readable as one span of time that has been."""
    with pytest.raises(Invalid, match=reason) as refused:
        read(phrase)
    assert refused.value.hint


def test_an_hour_that_may_be_two_asks_which():
    """The hint can be followed as it stands."""
    with pytest.raises(Invalid, match="Say 9am or 9pm"):
        read("yesterday at 9")
    assert read("yesterday at 9am") == span("2026-11-20 09:00", "2026-11-20 10:00")


MONTHS = ["january", "february", "march", "april", "july", "november", "december"]


@given(st.sampled_from(MONTHS), st.integers(1972, 2098), nows, zones)
def test_the_thirds_of_a_month_are_the_month(month, year, now, zone):
    """Early, mid and late follow on each other from the first to the last instant of the month."""
    early, mid, late = (
        read(f"{part} {month} {year}", now, zone) for part in ("early", "mid", "late")
    )
    whole = read(f"{month} {year}", now, zone)
    assert (early.start, early.end, mid.end, late.end) == (
        whole.start,
        mid.start,
        late.start,
        whole.end,
    )


@given(st.integers(1, 53), nows, zones)
def test_a_week_by_its_number_is_that_iso_week_and_has_begun(number, now, zone):
    """The latest one; in the very zone its first day is a Monday of that week."""
    reading = read(f"week {number}", now, zone)
    first = reading.start.astimezone(zone)
    assert reading.start <= now
    assert (first.isocalendar().week, first.isoweekday()) == (number, 1)


PAST = [phrase for phrase, _, _ in READINGS if not re.search(r"\d{4}|before|until", phrase)]


@given(st.sampled_from(PAST), nows, zones)
def test_a_part_told_from_now_has_begun_by_now(phrase, now, zone):
    """A reading is never empty and never begins after now, whatever the instant and the zone."""
    try:
        reading = read(phrase, now, zone)
    except Invalid as refused:
        assert re.search("ahead|before it begins|Ambiguous|no length|No such day", refused.message)  # noqa: PT017  either is right
        return
    assert reading.start <= now
    assert reading.end is None or reading.start < reading.end


WORDS = (
    "early mid late mid- end beginning of the week 46 nov october 2025 1-15 1 15 to - \u2013 last this "
    "month year first at 9 yesterday morning earlier today on friday between and until since before"
)


@given(st.lists(st.sampled_from(WORDS.split()), max_size=8).map(" ".join), nows, zones)
def test_any_parts_read_or_are_invalid(text, now, zone):
    """No text raises anything but Invalid, and what reads is a span of time."""
    try:
        reading = read(text, now, zone)
    except Invalid:
        return
    assert reading.start or reading.end
    assert not (reading.start and reading.end) or reading.start < reading.end
