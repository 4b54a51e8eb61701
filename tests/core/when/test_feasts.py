"""Feasts: the latest that has been, its days, and the weeks around it, worked out by hand."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases
from tests.core.when.test_phrases import at, nows, read, span, zones
from tests.core.zones import LOS_ANGELES

from commonplace.core.clock import day_of
from commonplace.core.errors import Invalid

READINGS = [
    ("christmas", "2025-12-25", "2025-12-26"),
    ("on christmas day", "2025-12-25", "2025-12-26"),
    ("last xmas", "2025-12-25", "2025-12-26"),
    ("christmas eve", "2025-12-24", "2025-12-25"),
    ("Christmas 2023", "2023-12-25", "2023-12-26"),
    ("christmas last year", "2025-12-25", "2025-12-26"),
    ("over christmas", "2025-12-24", "2025-12-27"),
    ("at christmas", "2025-12-24", "2025-12-27"),
    ("around Christmas", "2025-12-18", "2026-01-02"),
    ("around christmas 2024", "2024-12-18", "2025-01-02"),
    ("easter", "2026-04-05-07:00", "2026-04-06-07:00"),
    ("over Easter", "2026-04-03-07:00", "2026-04-07-07:00"),
    ("during easter 2024", "2024-03-29-07:00", "2024-04-02-07:00"),
    ("around easter", "2026-03-29-07:00", "2026-04-13-07:00"),
    ("new year", "2026-01-01", "2026-01-02"),
    ("New Year's Eve", "2025-12-31", "2026-01-01"),
    ("new year\u2019s day 2024", "2024-01-01", "2024-01-02"),
    ("around New Year", "2025-12-25", "2026-01-09"),
    ("over new year's", "2025-12-31", "2026-01-03"),
    ("thanksgiving", "2025-11-27", "2025-11-28"),
    ("over thanksgiving", "2025-11-27", "2025-12-01"),
    ("thanksgiving 2023", "2023-11-23", "2023-11-24"),
    ("halloween", "2026-10-31-07:00", "2026-11-01-07:00"),
    ("around halloween", "2026-10-24-07:00", "2026-11-08"),
    ("on valentine's day", "2026-02-14", "2026-02-15"),
    ("valentines day 2025", "2025-02-14", "2025-02-15"),
    ("since christmas", "2025-12-25", ""),
    ("before easter", "", "2026-04-05-07:00"),
    ("between christmas and new year", "2025-12-25", "2026-01-02"),
]


@cases(("phrase", "start", "end"), READINGS)
def test_a_feast_reads_as_its_days(phrase, start, end):
    """On Saturday 2026-11-21 at 15:19:45 in Los Angeles."""
    assert read(phrase) == span(start, end)


@cases(
    ("now", "phrase", "start", "end"),
    [
        # The feast itself must have begun: what is around it is not enough.
        ("2026-12-24 23:59-08:00", "around christmas", "2025-12-18", "2026-01-02"),
        ("2026-12-25 00:00-08:00", "around christmas", "2026-12-18", "2027-01-02"),
        ("2026-12-25 12:00-08:00", "last christmas", "2025-12-25", "2025-12-26"),
        ("2026-12-31 12:00-08:00", "new year's eve", "2026-12-31", "2027-01-01"),
        ("2026-12-31 12:00-08:00", "new year", "2026-01-01", "2026-01-02"),
        ("2026-11-26 12:00-08:00", "thanksgiving", "2026-11-26", "2026-11-27"),
    ],
)
def test_a_feast_is_the_latest_that_has_been(now, phrase, start, end):
    """Seen from the day before it, from the day itself and after."""
    assert read(phrase, at(now)) == span(start, end)


# Among them the earliest and the latest there are, and both exceptions to the rule of epacts.
EASTERS = (
    *("1818-03-22", "1954-04-18", "1981-04-19", "2000-04-23", "2008-03-23", "2019-04-21"),
    *("2023-04-09", "2024-03-31", "2025-04-20", "2038-04-25", "2049-04-18"),
)


@cases("sunday", EASTERS)
def test_easter_is_found_in_any_year(sunday):
    """Source: published tables of the dates of Easter."""
    day = read(f"easter {sunday[:4]}", at("2060-01-01 00:00+00:00")).start
    assert day_of(day, LOS_ANGELES).isoformat() == sunday


@given(st.integers(1583, 4099), zones)
def test_easter_is_a_sunday_of_spring(year, zone):
    """From 22 March to 25 April."""
    day = day_of(read(f"easter {year}", zone=zone).start, zone)
    assert day.weekday() == 6
    assert date(year, 3, 22) <= day <= date(year, 4, 25)


@given(nows, st.integers(2000, 2090))
def test_thanksgiving_is_the_fourth_thursday(now, year):
    """Of November, from the 22nd to the 28th."""
    day = day_of(read(f"thanksgiving {year}", now).start, LOS_ANGELES)
    assert (day.month, day.weekday()) == (11, 3)
    assert 22 <= day.day <= 28


@cases("phrase", ["this christmas", "christmas 0", "about christmas", "easter 0000"])
def test_a_feast_to_come_or_without_a_date_is_an_error(phrase):
    """It says why, or gives examples."""
    with pytest.raises(Invalid) as refused:
        read(phrase)
    assert refused.value.hint
