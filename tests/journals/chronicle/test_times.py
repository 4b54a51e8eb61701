"""Every spelling of time that a version of chronicle left behind means the instant it meant there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases

from commonplace.core.errors import Invalid
from commonplace.journals.chronicle.times import (
    columns_of,
    from_instant,
    instant_of,
    parse_timestamp,
    render_local,
    render_utc,
    to_instant,
)

CHICAGO = ZoneInfo("America/Chicago")
# 2026-02-01T15:30:00Z, by `date -u -d 2026-02-01T15:30:00Z +%s`.
NOON = 1_769_959_800

SPELLINGS = {
    "2026-02-01 15:30:00": 0,  # SQLite's CURRENT_TIMESTAMP is UTC
    "2026-02-01T15:30:00Z": 0,
    "2026-02-01T15:30:00.123456789Z": 123_456_789,
    "2026-02-01T09:30:00-06:00": 0,
    "2026-02-01T09:30:00.5-06:00": 500_000_000,
    "2026-02-01 09:30:00-06:00": 0,
    "2026-02-01 09:30:00.25-06:00": 250_000_000,
    "2026-02-01 09:30:00 -0600": 0,
    "2026-02-01 09:30:00.123456789 -0600 CST": 123_456_789,
    "2026-02-01 15:30:00 +0000 UTC": 0,
    "2026-02-01 15:30:00.5 +0000 UTC m=+0.012345678": 500_000_000,
    "2026-02-01 09:30:00.1 -0600 CST m=-3600.000000001": 100_000_000,
    "2026-02-01 12:30:00 -0300 -03": 0,
    "2026-02-01 21:00:00 +0530 IST": 0,
    "2026-02-01 15:30:00.1234567891234 +0000 UTC": 123_456_789,
}

NO_TIMES = (
    *("", "now", "2026-02-01", "2026-02-01 15:30", "1769959800", "2026-02-30 00:00:00"),
    *("2026-13-01 00:00:00", "2026-02-01 25:00:00", "2026-02-01 15:30:61", " 2026-02-01 15:30:00"),
    *("2026-02-01 15:30:00 CST", "2026-02-01 15:30:00 -9900", "0001-01-01 00:00:00 +0100"),
    *("9999-12-31 23:59:59 -0100", "２０２６-02-01 15:30:00", "2026-02-01 15:30:00\n", "\0"),
)


@cases(("text", "nanosecond"), SPELLINGS.items())
def test_each_spelling_is_its_instant(text, nanosecond):
    """Nanoseconds are kept; without an offset it is UTC; names of zones say nothing."""
    assert parse_timestamp(text) == NOON * 10**9 + nanosecond


@cases("text", NO_TIMES)
def test_what_is_no_time_is_refused(text):
    """A row with such a time is passed over, never dated to the present as the original does."""
    with pytest.raises(Invalid):
        parse_timestamp(text)


def test_a_time_is_written_as_chronicle_writes_it():
    """Local, with offset and abbreviation; the fraction trimmed; both seasons."""
    summer = to_instant(datetime(2026, 9, 1, 14, 30, tzinfo=UTC)) + 123_456_789
    assert render_local(summer, CHICAGO) == "2026-09-01 09:30:00.123456789 -0500 CDT"
    assert render_local(NOON * 10**9, CHICAGO) == "2026-02-01 09:30:00 -0600 CST"
    assert render_local(NOON * 10**9 + 500_000_000, UTC) == "2026-02-01 15:30:00.5 +0000 UTC"
    assert render_utc(NOON * 10**9 + 10) == "2026-02-01T15:30:00.00000001Z"
    assert columns_of(summer) == (1_788_273_000, 123_456_789)


def test_a_zone_without_a_name_is_written_as_go_writes_it():
    """Hours alone, or hours and minutes; never a word with a colon."""
    at = NOON * 10**9
    assert render_local(at, timezone(timedelta(hours=-6))) == "2026-02-01 09:30:00 -0600 -06"
    assert render_local(at, timezone(timedelta(hours=5, minutes=30))).endswith(" +0530 +0530")
    assert render_local(at, ZoneInfo("America/Sao_Paulo")).endswith(" -0300 -03")


def test_the_columns_decide_where_they_can():
    """Seconds that are no number name nothing; nanoseconds out of range count as none."""
    assert instant_of(NOON, 5) == NOON * 10**9 + 5
    assert instant_of(NOON, None) == instant_of(NOON, 10**9) == instant_of(NOON, -1) == NOON * 10**9
    assert instant_of(None, 5) is instant_of(b"x", 5) is instant_of(10**18, 5) is None


def test_a_naive_time_is_refused():
    """A caller names its zone."""
    with pytest.raises(Invalid, match="Invalid at"):
        to_instant(datetime(2026, 2, 1))  # noqa: DTZ001  the refused one


@given(
    at=st.datetimes(
        min_value=datetime(1950, 1, 1),  # noqa: DTZ001  hypothesis wants naive bounds
        max_value=datetime(2199, 1, 1),  # noqa: DTZ001  as above
        timezones=st.just(UTC),
    ),
    nanos=st.integers(0, 999),
    zone=st.sampled_from(["America/Chicago", "Europe/Berlin", "Asia/Kolkata", "Pacific/Apia"]),
)
def test_what_is_written_is_read_again(at, nanos, zone):
    """Both spellings keep the nanosecond, over every change of clocks."""
    instant = to_instant(at) + nanos
    assert parse_timestamp(render_local(instant, ZoneInfo(zone))) == instant
    assert parse_timestamp(render_utc(instant)) == instant
    assert from_instant(instant) == at
    assert instant_of(*columns_of(instant)) == instant
