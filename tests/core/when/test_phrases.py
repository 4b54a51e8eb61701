"""Time phrases: each reads as one interval worked out by hand, or is refused with examples."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases
from tests.core.zones import (
    APIA,
    BEIRUT,
    CAIRO,
    DAY_IDS,
    DAYS,
    HAVANA,
    KATHMANDU,
    KIRITIMATI,
    LORD_HOWE,
    LOS_ANGELES,
    ZONES,
)

from commonplace.core.clock import day_interval, day_of, period
from commonplace.core.errors import Invalid
from commonplace.core.values import Interval
from commonplace.core.when.phrases import parse_since, parse_until, parse_when, read_interval


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


# A Saturday in week 47. The clocks of Los Angeles fell back on the 1st, from -07:00 to -08:00.
NOW = at("2026-11-21 15:19:45-08:00")


def instant(text: str, offset: str = "-08:00") -> datetime:
    """An instant as the tables write it: a date or a clock time, -08:00 unless it bears an offset."""
    text = re.sub(r"^([0-9-]{10})(?=$|[+-])", r"\1T00:00", text)
    return at(text if re.search(r"[+-]\d\d:\d\d$", text) else text + offset)


def read(phrase: str, now: datetime = NOW, zone=LOS_ANGELES) -> Interval:
    return parse_when(phrase, now=now, zone=zone)


def span(start: str, end: str) -> Interval:
    return Interval(start=instant(start) if start else None, end=instant(end) if end else None)


READINGS = [
    # Days
    ("today", "2026-11-21", "2026-11-22"),
    ("yesterday", "2026-11-20", "2026-11-21"),
    ("day before yesterday", "2026-11-19", "2026-11-20"),
    ("the day before yesterday", "2026-11-19", "2026-11-20"),
    ("1 day ago", "2026-11-20", "2026-11-21"),
    ("2 days ago", "2026-11-19", "2026-11-20"),
    ("a couple of days ago", "2026-11-19", "2026-11-20"),
    ("twelve days ago", "2026-11-09", "2026-11-10"),
    ("20 days ago", "2026-11-01-07:00", "2026-11-02"),
    ("monday", "2026-11-16", "2026-11-17"),
    ("on tuesday", "2026-11-17", "2026-11-18"),
    ("saturday", "2026-11-21", "2026-11-22"),
    ("Sun.", "2026-11-15", "2026-11-16"),
    ("last friday", "2026-11-20", "2026-11-21"),
    ("last saturday", "2026-11-14", "2026-11-15"),
    ("this wednesday", "2026-11-18", "2026-11-19"),
    ("two fridays ago", "2026-11-13", "2026-11-14"),
    ("2 saturdays ago", "2026-11-07", "2026-11-08"),
    ("2026-11-03", "2026-11-03", "2026-11-04"),
    ("2024-02-29", "2024-02-29", "2024-03-01"),
    ("2027-01-01", "2027-01-01", "2027-01-02"),
    ("2026-W46-3", "2026-11-11", "2026-11-12"),
    ("nov 3", "2026-11-03", "2026-11-04"),
    ("November 3rd", "2026-11-03", "2026-11-04"),
    ("3 Nov", "2026-11-03", "2026-11-04"),
    ("on the 3rd of november", "2026-11-03", "2026-11-04"),
    ("3 november 2025", "2025-11-03", "2025-11-04"),
    ("Nov. 3, 2025", "2025-11-03", "2025-11-04"),
    ("nov 3 last year", "2025-11-03", "2025-11-04"),
    ("november 22", "2025-11-22", "2025-11-23"),
    ("november 21", "2026-11-21", "2026-11-22"),
    ("dec 31", "2025-12-31", "2026-01-01"),
    ("feb 29", "2024-02-29", "2024-03-01"),
    ("Tuesday, November 3, 2026", "2026-11-03", "2026-11-04"),
    # Weeks, months, quarters, years
    ("this week", "2026-11-16", "2026-11-23"),
    ("last week", "2026-11-09", "2026-11-16"),
    ("a week ago", "2026-11-09", "2026-11-16"),
    ("three weeks ago", "2026-10-26-07:00", "2026-11-02"),
    ("2026-W46", "2026-11-09", "2026-11-16"),
    ("2026w01", "2025-12-29", "2026-01-05"),
    ("2020-W53", "2020-12-28", "2021-01-04"),
    ("2025-W01", "2024-12-30", "2025-01-06"),
    ("2026-W53", "2026-12-28", "2027-01-04"),
    ("the week of nov 3", "2026-11-02", "2026-11-09"),
    ("week of 2024-12-31", "2024-12-30", "2025-01-06"),
    ("this month", "2026-11-01-07:00", "2026-12-01"),
    ("last month", "2026-10-01-07:00", "2026-11-01-07:00"),
    ("previous month", "2026-10-01-07:00", "2026-11-01-07:00"),
    ("two months ago", "2026-09-01-07:00", "2026-10-01-07:00"),
    ("2026-11", "2026-11-01-07:00", "2026-12-01"),
    ("in February", "2026-02-01", "2026-03-01"),
    ("last February", "2026-02-01", "2026-03-01"),
    ("February 2025", "2025-02-01", "2025-03-01"),
    ("feb of 2024", "2024-02-01", "2024-03-01"),
    ("november", "2026-11-01-07:00", "2026-12-01"),
    ("last november", "2025-11-01-07:00", "2025-12-01"),
    ("this november", "2026-11-01-07:00", "2026-12-01"),
    ("december", "2025-12-01", "2026-01-01"),
    ("in december last year", "2025-12-01", "2026-01-01"),
    ("this quarter", "2026-10-01-07:00", "2027-01-01"),
    ("last quarter", "2026-07-01-07:00", "2026-10-01-07:00"),
    ("Q3 2025", "2025-07-01-07:00", "2025-10-01-07:00"),
    ("2025-Q1", "2025-01-01", "2025-04-01-07:00"),
    ("Q3", "2026-07-01-07:00", "2026-10-01-07:00"),
    ("q4", "2026-10-01-07:00", "2027-01-01"),
    ("last q4", "2025-10-01-07:00", "2026-01-01"),
    ("this year", "2026-01-01", "2027-01-01"),
    ("last year", "2025-01-01", "2026-01-01"),
    ("2 years ago", "2024-01-01", "2025-01-01"),
    ("in 2026", "2026-01-01", "2027-01-01"),
    ("spring", "2026-03-01", "2026-06-01-07:00"),
    ("last spring", "2026-03-01", "2026-06-01-07:00"),
    ("in the summer of 2025", "2025-06-01-07:00", "2025-09-01-07:00"),
    ("this autumn", "2026-09-01-07:00", "2026-12-01"),
    ("last fall", "2025-09-01-07:00", "2025-12-01"),
    ("winter", "2025-12-01", "2026-03-01"),
    ("winter 2024/25", "2024-12-01", "2025-03-01"),
    ("winter 2024", "2024-12-01", "2025-03-01"),
    ("the winter of 2025", "2025-12-01", "2026-03-01"),
    ("winter 2026/27", "2026-12-01", "2027-03-01"),
    ("in spring 2025", "2025-03-01", "2025-06-01-07:00"),
    ("this summer", "2026-06-01-07:00", "2026-09-01-07:00"),
    ("last weekend", "2026-11-14", "2026-11-16"),
    ("this weekend", "2026-11-21", "2026-11-23"),
    ("over the weekend", "2026-11-21", "2026-11-23"),
    ("two weekends ago", "2026-11-07", "2026-11-09"),
    # Up to this instant
    ("today so far", "2026-11-21", "2026-11-21 15:19:45"),
    ("this month so far", "2026-11-01-07:00", "2026-11-21 15:19:45"),
    ("week to date", "2026-11-16", "2026-11-21 15:19:45"),
    ("month to date", "2026-11-01-07:00", "2026-11-21 15:19:45"),
    ("quarter to date", "2026-10-01-07:00", "2026-11-21 15:19:45"),
    ("year to date", "2026-01-01", "2026-11-21 15:19:45"),
    ("last 3 hours", "2026-11-21 12:19:45", "2026-11-21 15:19:45"),
    ("in the past hour", "2026-11-21 14:19:45", "2026-11-21 15:19:45"),
    ("last 90 min", "2026-11-21 13:49:45", "2026-11-21 15:19:45"),
    ("last 24h", "2026-11-20 15:19:45", "2026-11-21 15:19:45"),
    ("past 7 days", "2026-11-14 15:19:45", "2026-11-21 15:19:45"),
    ("the last seven days", "2026-11-14 15:19:45", "2026-11-21 15:19:45"),
    ("past week", "2026-11-14 15:19:45", "2026-11-21 15:19:45"),
    ("in the last week", "2026-11-14 15:19:45", "2026-11-21 15:19:45"),
    ("last 2 weeks", "2026-11-07 15:19:45", "2026-11-21 15:19:45"),
    # 30 times 24 hours reach over the clock change; a month keeps the clock time.
    ("last 30 days", "2026-10-22 16:19:45-07:00", "2026-11-21 15:19:45"),
    ("past month", "2026-10-21 15:19:45-07:00", "2026-11-21 15:19:45"),
    ("past quarter", "2026-08-21 15:19:45-07:00", "2026-11-21 15:19:45"),
    ("past year", "2025-11-21 15:19:45", "2026-11-21 15:19:45"),
    # Times of day
    ("now?", "2026-11-21 15:19", "2026-11-21 15:20"),
    ("an hour ago", "2026-11-21 14:00", "2026-11-21 15:00"),
    ("half an hour ago", "2026-11-21 14:49", "2026-11-21 14:50"),
    ("10 seconds ago", "2026-11-21 15:19:35", "2026-11-21 15:19:36"),
    ("9am", "2026-11-21 09:00", "2026-11-21 10:00"),
    ("4 p.m.", "2026-11-20 16:00", "2026-11-20 17:00"),
    ("15:19", "2026-11-21 15:19", "2026-11-21 15:20"),
    ("15:20", "2026-11-20 15:20", "2026-11-20 15:21"),
    ("12am", "2026-11-21 00:00", "2026-11-21 01:00"),
    ("noon", "2026-11-21 12:00", "2026-11-21 13:00"),
    ("yesterday 9am", "2026-11-20 09:00", "2026-11-20 10:00"),
    ("yesterday at 15:30", "2026-11-20 15:30", "2026-11-20 15:31"),
    ("3pm yesterday", "2026-11-20 15:00", "2026-11-20 16:00"),
    ("at 9:30:05 on nov 3", "2026-11-03 09:30:05", "2026-11-03 09:30:06"),
    ("last friday at 5pm", "2026-11-20 17:00", "2026-11-20 18:00"),
    ("3 days ago at 9am", "2026-11-18 09:00", "2026-11-18 10:00"),
    ("2026-11-03 09:00", "2026-11-03 09:00", "2026-11-03 09:01"),
    ("2026-11-03T17:00:00Z", "2026-11-03 09:00", "2026-11-03 09:00:01"),
    ("2026-11-03T09:00:00.5+05:45", "2026-11-02 19:15:00.5", "2026-11-02 19:15:00.500001"),
    ("this morning", "2026-11-21 04:00", "2026-11-21 12:00"),
    ("this afternoon", "2026-11-21 12:00", "2026-11-21 18:00"),
    ("yesterday morning", "2026-11-20 04:00", "2026-11-20 12:00"),
    ("tuesday evening", "2026-11-17 18:00", "2026-11-18 00:00"),
    ("the morning of nov 3", "2026-11-03 04:00", "2026-11-03 12:00"),
    ("last night", "2026-11-20 18:00", "2026-11-21 06:00"),
    ("monday night", "2026-11-16 18:00", "2026-11-17 06:00"),
    # Ranges
    ("since monday", "2026-11-16", ""),
    ("since yesterday", "2026-11-20", ""),
    ("since 9am", "2026-11-21 09:00", ""),
    ("after nov 3", "2026-11-04", ""),
    ("after yesterday 9am", "2026-11-20 09:00", ""),
    ("before 2026-11-03", "", "2026-11-03"),
    ("before last week", "", "2026-11-09"),
    ("until monday", "", "2026-11-17"),
    ("up to yesterday 5pm", "", "2026-11-20 17:00"),
    ("2026-11-01..2026-11-07", "2026-11-01-07:00", "2026-11-08"),
    ("last week .. yesterday", "2026-11-09", "2026-11-21"),
    ("between nov 3 and nov 5", "2026-11-03", "2026-11-06"),
    ("between monday and friday", "2026-11-16", "2026-11-21"),
    ("from friday to monday", "2026-11-13", "2026-11-17"),
    ("from december to february", "2025-12-01", "2026-03-01"),
    ("from 9am to 11am", "2026-11-21 09:00", "2026-11-21 11:00"),
    ("9am to 5pm", "2026-11-20 09:00", "2026-11-20 17:00"),
    ("between 9am and 11am yesterday", "2026-11-20 09:00", "2026-11-20 11:00"),
    ("nov 3 to nov 5 2025", "2025-11-03", "2025-11-06"),
    ("since monday until yesterday", "2026-11-16", "2026-11-21"),
    ("2026-11-20 09:00..now", "2026-11-20 09:00", "2026-11-21 15:19:45"),
    # Two names of a kind
    ("in 2019 or 2020", "2019-01-01", "2021-01-01"),
    ("2020 and 2019", "2019-01-01", "2021-01-01"),
    ("in June and July 2022", "2022-06-01-07:00", "2022-08-01-07:00"),
    ("july and june", "2026-06-01-07:00", "2026-08-01-07:00"),
    ("july and june of 2022", "2022-06-01-07:00", "2022-08-01-07:00"),
    ("december and january", "2025-12-01", "2026-02-01"),
    ("december and january 2023", "2022-12-01", "2023-02-01"),
    ("november and december last year", "2025-11-01-07:00", "2026-01-01"),
    ("march 2024 or march 2025", "2024-03-01", "2025-04-01-07:00"),
    ("in Q3 or Q4 of 2024", "2024-07-01-07:00", "2025-01-01"),
    ("on monday and tuesday", "2026-11-16", "2026-11-18"),
    ("tuesday and monday", "2026-11-16", "2026-11-18"),
    ("friday and monday", "2026-11-13", "2026-11-17"),
    ("monday and friday", "2026-11-16", "2026-11-21"),
    ("the summer and autumn of 2025", "2025-06-01-07:00", "2025-12-01"),
    ("winter and spring 2026", "2025-12-01", "2026-06-01-07:00"),
    # As people type
    ("  YESTERDAY  ", "2026-11-20", "2026-11-21"),
    ("“last   week.”", "2026-11-09", "2026-11-16"),
    ("'nov\u00a03'!", "2026-11-03", "2026-11-04"),
]


@cases(("phrase", "start", "end"), READINGS)
def test_a_phrase_reads_as_its_interval(phrase, start, end):
    """On Saturday 2026-11-21 at 15:19:45 in Los Angeles."""
    assert read(phrase) == span(start, end)


OTHER_CLOCKS = [
    # The small hours: the night is still running, and no morning has begun.
    (LOS_ANGELES, "2026-11-21 03:00-08:00", "last night", "2026-11-20T18:00", "2026-11-21T06:00"),
    (LOS_ANGELES, "2026-11-21 03:00-08:00", "tonight", "2026-11-20T18:00", "2026-11-21T06:00"),
    (LOS_ANGELES, "2026-11-21 06:00-08:00", "last night", "2026-11-20T18:00", "2026-11-21T06:00"),
    (LOS_ANGELES, "2026-11-21 18:00-08:00", "tonight", "2026-11-21T18:00", "2026-11-22T06:00"),
    (LOS_ANGELES, "2026-11-21 20:00-08:00", "this evening", "2026-11-21T18:00", "2026-11-22T00:00"),
    # Weekends seen from their own days and from the Monday after.
    (LOS_ANGELES, "2026-11-22 12:00-08:00", "last weekend", "2026-11-14", "2026-11-16"),
    (LOS_ANGELES, "2026-11-23 12:00-08:00", "last weekend", "2026-11-21", "2026-11-23"),
    (LOS_ANGELES, "2026-11-23 12:00-08:00", "the weekend", "2026-11-21", "2026-11-23"),
    (LOS_ANGELES, "2026-11-25 12:00-08:00", "two weekends ago", "2026-11-14", "2026-11-16"),
    # A bare name is the latest that has begun, and today is one.
    (LOS_ANGELES, "2026-11-16 00:00-08:00", "monday", "2026-11-16", "2026-11-17"),
    (LOS_ANGELES, "2026-11-16 00:00-08:00", "last monday", "2026-11-09", "2026-11-10"),
    (LOS_ANGELES, "2026-01-15 12:00-08:00", "in february", "2025-02-01", "2025-03-01"),
    (LOS_ANGELES, "2026-02-15 12:00-08:00", "february", "2026-02-01", "2026-03-01"),
    (LOS_ANGELES, "2026-02-15 12:00-08:00", "last february", "2025-02-01", "2025-03-01"),
    (LOS_ANGELES, "2026-02-15 12:00-08:00", "this winter", "2025-12-01", "2026-03-01"),
    (LOS_ANGELES, "2026-02-15 12:00-08:00", "last winter", "2024-12-01", "2025-03-01"),
    (LOS_ANGELES, "2027-01-01 12:00-08:00", "this week", "2026-12-28", "2027-01-04"),
    (LOS_ANGELES, "2024-12-30 12:00-08:00", "last week", "2024-12-23", "2024-12-30"),
    (LOS_ANGELES, "2027-01-01 12:00-08:00", "last month", "2026-12-01", "2027-01-01"),
    (LOS_ANGELES, "2024-03-31 12:00-07:00", "past month", "2024-02-29T12:00", "2024-03-31T12:00-07:00"),
    (LOS_ANGELES, "2024-03-01 12:00-08:00", "yesterday", "2024-02-29", "2024-03-01"),
    # Both days of a clock change in Los Angeles: 23 and 25 hours.
    (LOS_ANGELES, "2026-03-08 12:00-07:00", "today", "2026-03-08", "2026-03-09-07:00"),
    (LOS_ANGELES, "2026-11-01 12:00-08:00", "today", "2026-11-01-07:00", "2026-11-02"),
    (LOS_ANGELES, "2026-11-02 12:00-08:00", "yesterday", "2026-11-01-07:00", "2026-11-02"),
    (LOS_ANGELES, "2026-11-01 12:00-08:00", "last night", "2026-10-31T18:00-07:00", "2026-11-01T06:00"),
    # 02:30 is skipped and moves to 03:30; 01:30 occurs twice and is the first.
    (LOS_ANGELES, "2026-03-08 12:00-07:00", "2:30am", "2026-03-08T03:30-07:00", "2026-03-08T03:31-07:00"),
    (LOS_ANGELES, "2026-03-09 12:00-07:00", "yesterday 2am", "2026-03-08T03:00-07:00", "2026-03-08T04:00-07:00"),
    (LOS_ANGELES, "2026-11-01 12:00-08:00", "1:30am", "2026-11-01T01:30-07:00", "2026-11-01T01:31-07:00"),
    (LOS_ANGELES, "2026-11-01 12:00-08:00", "1am", "2026-11-01T01:00-07:00", "2026-11-01T01:00-08:00"),
    (LOS_ANGELES, "2026-11-01 01:30-08:00", "an hour ago", "2026-11-01T01:00-07:00", "2026-11-01T01:00-08:00"),
    (LOS_ANGELES, "2026-11-01 12:00-08:00", "last 24 hours", "2026-10-31T13:00-07:00", "2026-11-01T12:00"),
    # +05:45 all year
    (KATHMANDU, "2026-11-21 00:10+05:45", "today", "2026-11-21T00:00+05:45", "2026-11-22T00:00+05:45"),
    (KATHMANDU, "2026-11-20 18:20+00:00", "yesterday", "2026-11-20T00:00+05:45", "2026-11-21T00:00+05:45"),
    (KATHMANDU, "2026-11-21 09:10+05:45", "an hour ago", "2026-11-21T08:00+05:45", "2026-11-21T09:00+05:45"),
    (KATHMANDU, "2026-11-21 09:10+05:45", "2026-11-21T00:00Z", "2026-11-21T05:45+05:45", "2026-11-21T05:46+05:45"),
    (KATHMANDU, "2026-11-21 09:10+05:45", "last year", "2025-01-01T00:00+05:45", "2026-01-01T00:00+05:45"),
    # Half an hour is skipped at 02:00, and repeated before 02:00.
    (LORD_HOWE, "2026-10-04 12:00+11:00", "today", "2026-10-04T00:00+10:30", "2026-10-05T00:00+11:00"),
    (LORD_HOWE, "2026-10-04 12:00+11:00", "2:15am", "2026-10-04T02:45+11:00", "2026-10-04T02:46+11:00"),
    (LORD_HOWE, "2026-04-05 12:00+10:30", "today", "2026-04-05T00:00+11:00", "2026-04-06T00:00+10:30"),
    (LORD_HOWE, "2026-04-05 12:00+10:30", "1:45am", "2026-04-05T01:45+11:00", "2026-04-05T01:46+11:00"),
    (LORD_HOWE, "2026-04-05 02:45+10:30", "1 hour ago", "2026-04-05T01:30+10:30", "2026-04-05T02:30+10:30"),
    # The first zone to begin a day
    (KIRITIMATI, "2026-11-21 10:00+00:00", "today", "2026-11-22T00:00+14:00", "2026-11-23T00:00+14:00"),
    (KIRITIMATI, "2026-11-21 09:59+00:00", "today", "2026-11-21T00:00+14:00", "2026-11-22T00:00+14:00"),
    # 2011-12-30 never was: the day before the 31st is the 29th, the Friday before it the 23rd.
    (APIA, "2011-12-31 12:00+14:00", "yesterday", "2011-12-29T00:00-10:00", "2011-12-31T00:00+14:00"),
    (APIA, "2011-12-31 12:00+14:00", "last friday", "2011-12-23T00:00-10:00", "2011-12-24T00:00-10:00"),
    (APIA, "2011-12-31 12:00+14:00", "dec 30", "2010-12-30T00:00-10:00", "2010-12-31T00:00-10:00"),
    (APIA, "2011-12-31 12:00+14:00", "this week", "2011-12-26T00:00-10:00", "2012-01-02T00:00+14:00"),
    (APIA, "2011-12-31 12:00+14:00", "last 48 hours", "2011-12-28T12:00-10:00", "2011-12-31T12:00+14:00"),
    # Midnight is skipped, or comes an hour later, after a second 23:00.
    (CAIRO, "2026-04-24 12:00+03:00", "today", "2026-04-24T01:00+03:00", "2026-04-25T00:00+03:00"),
    (CAIRO, "2026-04-24 12:00+03:00", "12am", "2026-04-24T01:00+03:00", "2026-04-24T02:00+03:00"),
    (CAIRO, "2026-10-30 12:00+02:00", "yesterday", "2026-10-29T00:00+03:00", "2026-10-30T00:00+02:00"),
    (CAIRO, "2026-10-30 12:00+02:00", "yesterday evening", "2026-10-29T18:00+03:00", "2026-10-30T00:00+02:00"),
    (BEIRUT, "2026-03-29 12:00+03:00", "today", "2026-03-29T01:00+03:00", "2026-03-30T00:00+03:00"),
    (BEIRUT, "2026-10-25 12:00+02:00", "last night", "2026-10-24T18:00+03:00", "2026-10-25T06:00+02:00"),
    (HAVANA, "2026-11-01 12:00-05:00", "today", "2026-11-01T00:00-04:00", "2026-11-02T00:00-05:00"),
    (UTC, "2026-11-21 23:59+00:00", "today", "2026-11-21T00:00+00:00", "2026-11-22T00:00+00:00"),
    (UTC, "2026-11-22 00:00+00:00", "yesterday", "2026-11-21T00:00+00:00", "2026-11-22T00:00+00:00"),
]  # fmt: skip


@cases(("zone", "now", "phrase", "start", "end"), OTHER_CLOCKS)
def test_a_phrase_reads_by_the_owners_clock(zone, now, phrase, start, end):
    """Other instants and zones, the days of a clock change and the turns of week and year among them."""
    assert read(phrase, at(now), zone) == span(start, end)


@cases("odd", [odd for odd in DAYS if odd.hours])
def test_a_date_is_its_local_day_in_every_zone(odd):
    """The written date of an odd day is that day; seen from within it, so is `today`."""
    day = Interval(start=odd.start, end=odd.end)
    assert read(odd.day.isoformat(), odd.end, odd.zone) == day
    assert read("today", odd.start, odd.zone) == day
    assert read("today", odd.end - timedelta(microseconds=1), odd.zone) == day


UNKNOWN = [
    "",
    " ",
    ".",
    "..",
    "?!",
    "soon",
    "recently",
    "last day",
    "few days ago",
    "last few days",
    "yesterday yesterday",
    "yesterday or so",
    "yesterday, today",
    "yesterday and today",
    "not yesterday",
    "over 3 days ago",
    "about 3 days ago",
    "-3 days ago",
    "1.5 hours ago",
    "1,000 days ago",
    "3",
    "9",
    "yesterday 9",
    "13pm",
    "0am",
    "9:5am",
    "yesterday midnight",
    "9am UTC",
    "9 o'clock",
    "nov 3 25",
    "11/03/2026",
    "03.11.2026",
    "20261103",
    "1530",
    "2026-1-3",
    "2026-W1",
    "last november 2025",
    "the 90s",
    "from monday",
    "since",
    "since since monday",
    "since last",
    "before after monday",
    "after monday to friday",
    "between monday",
    "between monday and",
    "between mon and tue and wed",
    "mon and tue and wed",
    "june 2022 and july",
    "2026 or 2027",
    "monday and june",
    "since june and july",
    "monday..",
    "..monday",
    "monday...friday",
    "monday..wednesday..friday",
    "yesterday...",
    "gestern",
    "昨日",
    "２ days ago",
    "٢ days ago",
    "\u202eyadretsey",
    "yes\0terday",
    "\ud800",
    "last 999999999999 days",
    "last " + "9" * 5_000 + " days",
    "a" * 10_000,
    "yesterday " * 1_000,
    "1 " * 99,
    "between " + "and " * 48,
]


@cases("phrase", UNKNOWN)
def test_what_is_not_wholly_understood_is_an_error_with_examples(phrase):
    """No guess, no word passed over; the message stays short and repeats what was asked."""
    with pytest.raises(Invalid) as refused:
        read(phrase)
    assert refused.value.message.startswith(f"Unknown time phrase: {phrase[:80]!r}"[:60])
    assert "yesterday" in refused.value.hint
    assert len(str(refused.value)) < 700


@cases(
    ("phrase", "reason"),
    [
        ("winter 2026", "Ambiguous"),  # the one that ended, or the one to come?
        ("winter last year", "Ambiguous"),
        ("nov 3 2025 to nov 5", "Ambiguous"),  # of which year?
        ("monday to 9am", "Ambiguous"),  # of which day?
        ("Monday, November 3, 2026", "Not a monday"),  # it was a Tuesday
        ("tomorrow", "lies ahead"),
        ("next week", "lies ahead"),
        ("in 3 days", "lies ahead"),
        ("since tomorrow", "lies ahead"),
        ("tomorrow..next week", "lies ahead"),
        ("0d", "no length"),
        ("this sunday", "lies ahead"),
        ("this evening", "lies ahead"),
        ("tonight", "lies ahead"),
        ("today 5pm", "lies ahead"),
        ("this december", "lies ahead"),
        # It still runs: nothing has been after it.
        ("after today", "lies ahead"),
        ("after nov 21", "lies ahead"),
        ("after november", "lies ahead"),
        ("after this week", "lies ahead"),
        ("today..yesterday", "ends before it begins"),
        ("2026-11-05..2026-11-03", "ends before it begins"),
        ("last 0 days", "no length"),
        ("0 days ago", "no length"),
        ("0000-01-01", "calendar"),
        ("9999-12-31", "calendar"),
        ("2025-W53", "calendar"),  # 2025 has 52
        ("2026-13", "calendar"),
        ("2026-02-29", "calendar"),
        ("nov 32", "No such day: 'nov 32'"),
        ("feb 30", "No such day"),
        ("31 february 9am", "No such day"),
        ("feb 29 2025", "No such day"),
        ("yesterday 25:00", "calendar"),
        ("last 999999999 days", "calendar"),
        ("999999999 days ago", "calendar"),
        ("9999 years ago", "calendar"),
        ("before 999999999 weeks ago", "calendar"),
    ],
)
def test_a_phrase_that_names_no_one_time_says_why(phrase, reason):
    """Understood, and still not readable as one span of time that has been."""
    with pytest.raises(Invalid, match=reason) as refused:
        read(phrase)
    assert refused.value.hint


def test_a_date_that_the_zone_skipped_is_an_error():
    """Apia went from 2011-12-29 to 2011-12-31."""
    for phrase in ("2011-12-30", "2011-12-30 9am", "2011-12-30T09:00", "dec 30 2011"):
        with pytest.raises(Invalid, match="No such day in Pacific/Apia: 2011-12-30"):
            read(phrase, zone=APIA)


def test_a_month_to_date_of_no_length_is_an_error():
    """At its first instant nothing of the month has passed."""
    with pytest.raises(Invalid, match="no length: 'month to date'"):
        read("month to date", at("2026-12-01 00:00-08:00"))


@cases(
    ("phrase", "since", "until"),
    [
        ("yesterday", "2026-11-20", "2026-11-21"),
        ("last week", "2026-11-09", "2026-11-16"),
        ("nov 3", "2026-11-03", "2026-11-04"),
        ("2026-11", "2026-11-01-07:00", "2026-12-01"),
        # Instants are exact on both sides.
        ("9am", "2026-11-21 09:00", "2026-11-21 09:00"),
        ("now", "2026-11-21 15:19:45", "2026-11-21 15:19:45"),
        ("3 hours ago", "2026-11-21 12:19:45", "2026-11-21 12:19:45"),
        ("2026-11-03T09:00", "2026-11-03 09:00", "2026-11-03 09:00"),
        ("yesterday at 15:30", "2026-11-20 15:30", "2026-11-20 15:30"),
        # A range has its own sides.
        ("last 3 hours", "2026-11-21 12:19:45", "2026-11-21 15:19:45"),
        ("nov 3..nov 5", "2026-11-03", "2026-11-06"),
    ],
)
def test_bounds_are_the_sides_of_the_phrase(phrase, since, until):
    """`since` is the start; `until` is the end, so that the whole day counts."""
    assert parse_since(phrase, now=NOW, zone=LOS_ANGELES) == instant(since)
    assert parse_until(phrase, now=NOW, zone=LOS_ANGELES) == instant(until)


def test_a_range_without_that_side_is_no_bound():
    """`since: before monday` has no beginning, `until: since monday` no end."""
    assert parse_since("since monday", now=NOW, zone=LOS_ANGELES) == instant("2026-11-16")
    assert parse_until("before monday", now=NOW, zone=LOS_ANGELES) == instant("2026-11-16")
    with pytest.raises(Invalid, match="No beginning in 'before monday'"):
        parse_since("before monday", now=NOW, zone=LOS_ANGELES)
    with pytest.raises(Invalid, match="No end in 'since monday'"):
        parse_until("since monday", now=NOW, zone=LOS_ANGELES)


@cases(
    ("when", "since", "until", "start", "end"),
    [
        ("yesterday", None, None, "2026-11-20", "2026-11-21"),
        (None, "monday", None, "2026-11-16", ""),
        (None, None, "monday", "", "2026-11-17"),
        (None, "nov 3", "nov 5", "2026-11-03", "2026-11-06"),
        (None, "yesterday 9am", "yesterday 5pm", "2026-11-20 09:00", "2026-11-20 17:00"),
        (None, "9am", "9am today", "2026-11-20 09:00", "2026-11-21 09:00"),
        # The latest Monday not after Friday is this week's; of Saturday it is the week before's.
        (None, "monday", "friday", "2026-11-16", "2026-11-21"),
        (None, "saturday", "friday", "2026-11-14", "2026-11-21"),
        ("last week", "2026-11-11", None, "2026-11-11", "2026-11-16"),
        ("last week", None, "2026-11-11", "2026-11-09", "2026-11-12"),
        ("2026", "nov 3", "yesterday", "2026-11-03", "2026-11-21"),
        ("since monday", None, "yesterday", "2026-11-16", "2026-11-21"),
    ],
)
def test_when_since_and_until_are_combined(when, since, until, start, end):
    """What all of them have in common."""
    got = read_interval(when=when, since=since, until=until, now=NOW, zone=LOS_ANGELES)
    assert got == span(start, end)


def test_no_time_argument_is_no_interval():
    """None, not an interval open on both sides."""
    assert read_interval(when=None, since=None, until=None, now=NOW, zone=LOS_ANGELES) is None


@cases(
    ("when", "since", "until", "named"),
    [
        (None, "today", "yesterday", "since 'today' and until 'yesterday'"),
        ("last week", "monday", None, "when 'last week' and since 'monday'"),
        ("today", None, "yesterday", "when 'today' and until 'yesterday'"),
        (None, "now", "now", "since 'now' and until 'now'"),
    ],
)
def test_arguments_without_a_common_time_are_named(when, since, until, named):
    """An empty or reversed interval is the caller's mistake, not an empty answer."""
    arguments = {"when": when, "since": since, "until": until}
    with pytest.raises(Invalid, match=re.escape(f"No time lies within {named}.")):
        read_interval(**arguments, now=NOW, zone=LOS_ANGELES)


def test_now_may_be_told_in_any_zone():
    """The instant counts, and every reading is in UTC."""
    readings = {
        read("last 3 hours", NOW.astimezone(zone))
        for zone in (UTC, KATHMANDU, ZoneInfo("Asia/Tokyo"))
    }
    assert len(readings) == 1
    assert readings.pop().start.tzinfo is UTC


nows = st.datetimes(at("1971-01-01"), at("2099-12-31"), timezones=st.just(UTC))
zones = st.sampled_from(ZONES)
PAST = [phrase for phrase, _, _ in READINGS if not re.search(r"\d{4}|before|until|up to", phrase)]


@given(st.sampled_from(PAST), nows, zones)
def test_what_is_told_from_now_has_begun_by_now(phrase, now, zone):
    """A reading is never empty and never begins after now, whatever the instant and the zone."""
    try:
        reading = read(phrase, now, zone)
    except Invalid as refused:
        assert re.search("ahead|before it begins|Ambiguous|no length", refused.message)  # noqa: PT017  either is right
        return
    assert reading.start <= now
    assert reading.end is None or reading.start < reading.end


@given(st.dates(date(2, 1, 1), date(9998, 12, 30)), nows, zones)
def test_a_written_date_is_that_day(day, now, zone):
    """Every date of the calendar, in every zone that had it."""
    expected = day_interval(day, zone)
    if expected.start < expected.end:
        assert read(day.isoformat(), now, zone) == expected


@given(nows, zones)
def test_calendar_phrases_are_periods(now, zone):
    """`today`, `this week`, `this month` and `this year` are the periods that hold now."""
    assert read("today", now, zone) == period(now, "day", zone)
    for level in ("week", "month", "year"):
        this = period(now, level, zone)
        assert read(f"this {level}", now, zone) == this
        assert read(f"last {level}", now, zone).end == this.start
        if this.start < now:
            assert read(f"{level} to date", now, zone) == Interval(start=this.start, end=now)


@given(nows, zones, st.sampled_from(["monday", "thursday", "sunday"]))
def test_a_weekday_is_within_the_last_seven_days(now, zone, weekday):
    """The latest such day, today included, and it falls on that weekday."""
    reading = read(weekday, now, zone)
    day = day_of(reading.start, zone)
    assert f"{day:%A}".lower() == weekday
    assert day_of(now, zone) - day <= timedelta(days=6 if zone != APIA else 13)


WORDS = [
    "last",
    "past",
    "this",
    "two",
    "3",
    "a",
    "couple",
    "of",
    "days",
    "weeks",
    "ago",
    "yesterday",
    "today",
    "monday",
    "november",
    "nov",
    "3",
    "2025",
    "q3",
    "since",
    "until",
    "between",
    "and",
    "from",
    "to",
    "..",
    "before",
    "after",
    "the",
    "week",
    "on",
    "at",
    "9am",
    "15:30",
    "morning",
    "night",
    "weekend",
    "2026-11-03",
    "2026-11",
    "spring",
    "winter",
    "so",
    "far",
    "date",
    "year",
    "couple",
    "half",
    "an",
    "hour",
    "noon",
    "now",
    ",",
    ".",
    "?",
]


@given(
    st.text(max_size=250) | st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), nows, zones
)
def test_any_text_reads_or_is_invalid(text, now, zone):
    """No text raises anything but Invalid, and what reads is a span of UTC time."""
    with suppress(Invalid):
        reading = read(text, now, zone)
        assert reading.start or reading.end
        assert not (reading.start and reading.end) or reading.start < reading.end
    with suppress(Invalid):
        bounds = read_interval(when=None, since=text, until=text, now=now, zone=zone)
        assert bounds.start < bounds.end


def test_every_odd_day_of_the_table_is_used():
    """The table of zones holds at least the days that the design names."""
    assert {odd.hours for odd in DAYS} == {0, 23, 23.5, 24, 24.5, 25}
    assert len(DAY_IDS) == len(set(DAY_IDS))
