"""Instants, local days and periods: how the owner's zone cuts time."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.cases import cases
from tests.core.zones import (
    APIA,
    CAIRO,
    DAYS,
    KATHMANDU,
    LORD_HOWE,
    LOS_ANGELES,
    ST_JOHNS,
    ZONES,
)

from commonplace.core.clock import (
    add_months,
    day_interval,
    day_of,
    days_of,
    find_period_key,
    from_local,
    local_date,
    parse_instant,
    period,
    period_key,
    periods_in,
    render_date,
    render_instant,
    render_interval,
    start_of_day,
    utc_now,
)
from commonplace.core.errors import Invalid
from commonplace.core.values import Interval

LEVELS = ("hour", "day", "week", "month", "year")
TICK = timedelta(microseconds=1)
HOUR = timedelta(hours=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def between(start: str, end: str) -> Interval:
    return Interval(start=at(start), end=at(end))


instants = st.datetimes(at("1900-01-01"), at("2100-01-01"), timezones=st.just(UTC))
zones = st.sampled_from(ZONES)


@cases("odd", DAYS)
def test_a_day_runs_from_local_midnight_to_local_midnight(odd):
    """Days of 23 to 25 hours, of midnights that do not exist or occur twice, and of a skipped date."""
    span = day_interval(odd.day, odd.zone)
    assert span == Interval(start=odd.start, end=odd.end)
    assert (span.end - span.start) / HOUR == odd.hours


@cases("odd", [odd for odd in DAYS if odd.hours])
def test_every_instant_of_a_day_lies_in_its_period(odd):
    """The first and the last instant of an odd day have that day as their period, those beside do not."""
    span = Interval(start=odd.start, end=odd.end)
    for inside in (odd.start, odd.start + HOUR, odd.end - TICK):
        assert period(inside, "day", odd.zone) == span
        assert day_of(inside, odd.zone) == odd.day
    assert period(odd.start - TICK, "day", odd.zone).end == odd.start
    assert period(odd.end, "day", odd.zone).start == odd.end


@cases("odd", DAYS)
def test_hours_of_a_day_are_counted_from_its_midnight(odd):
    """Each hour is 60 minutes of elapsed time; what is left of a day's half hour is its last period."""
    lengths = []
    cut = odd.start
    while cut < odd.end:
        hour = period(cut, "hour", odd.zone)
        assert hour.start == cut
        lengths.append((hour.end - hour.start) / HOUR)
        cut = hour.end
    assert cut == odd.end
    assert lengths == [1.0] * int(odd.hours) + [0.5] * (odd.hours % 1 == 0.5)


def test_a_repeated_hour_is_two_periods():
    """01:30 before and after the clocks fall back in Los Angeles lies in different hours."""
    first = period(at("2026-11-01 01:30-07:00"), "hour", LOS_ANGELES)
    second = period(at("2026-11-01 01:30-08:00"), "hour", LOS_ANGELES)
    assert first == between("2026-11-01 08:00+00:00", "2026-11-01 09:00+00:00")
    assert second == between("2026-11-01 09:00+00:00", "2026-11-01 10:00+00:00")


def test_hours_in_kathmandu_begin_at_its_own_full_hours():
    """A zone of +05:45 has hours that begin at a quarter past in UTC."""
    hour = period(at("2026-11-21 09:59+05:45"), "hour", KATHMANDU)
    assert hour == between("2026-11-21 03:15+00:00", "2026-11-21 04:15+00:00")


def test_the_evening_that_repeats_over_midnight_belongs_to_the_day_that_has_begun():
    """At St John's 2006 the clocks fell back at 00:01: the second 23:30 is in the new day."""
    assert day_of(at("2006-10-28 23:30-02:30"), ST_JOHNS) == date(2006, 10, 28)
    assert day_of(at("2006-10-28 23:30-03:30"), ST_JOHNS) == date(2006, 10, 29)


@cases(
    ("day", "monday"),
    [
        ("2020-12-31", "2020-12-28"),  # 2020-W53
        ("2021-01-03", "2020-12-28"),  # its Sunday
        ("2024-12-30", "2024-12-30"),  # 2025-W01
        ("2027-01-01", "2026-12-28"),  # 2026-W53
        ("2024-02-29", "2024-02-26"),
    ],
)
def test_weeks_are_iso_weeks_over_the_turn_of_the_year(day, monday):
    """A week begins on Monday, whichever year its days are in."""
    first = date.fromisoformat(monday)
    assert days_of(date.fromisoformat(day), "week") == (first, first + timedelta(days=7))
    span = period(from_local(at(f"{day} 12:00"), LOS_ANGELES), "week", LOS_ANGELES)
    assert span == between(f"{monday} 00:00-08:00", f"{first + timedelta(days=7)} 00:00-08:00")


def test_months_and_years_are_cut_at_local_midnight():
    """A month with a clock change has unequal offsets at its ends; a year begins in the zone's time."""
    noon = at("2026-11-21 12:00-08:00")
    assert period(noon, "month", LOS_ANGELES) == between(
        "2026-11-01 00:00-07:00", "2026-12-01 00:00-08:00"
    )
    assert period(noon, "year", LOS_ANGELES) == between(
        "2026-01-01 00:00-08:00", "2027-01-01 00:00-08:00"
    )
    assert period(at("2024-02-29 23:59+00:00"), "month", UTC) == between(
        "2024-02-01 00:00+00:00", "2024-03-01 00:00+00:00"
    )
    assert period(at("2011-12-31 12:00+14:00"), "month", APIA) == between(
        "2011-12-01 00:00-10:00", "2012-01-01 00:00+14:00"
    )


@cases(
    ("day", "first", "after"),
    [
        ("2026-01-01", "2026-01-01", "2026-04-01"),
        ("2026-06-30", "2026-04-01", "2026-07-01"),
        ("2026-12-31", "2026-10-01", "2027-01-01"),
    ],
)
def test_quarters_begin_in_january_april_july_october(day, first, after):
    """Three months each."""
    bounds = tuple(date.fromisoformat(text) for text in (first, after))
    assert days_of(date.fromisoformat(day), "quarter") == bounds


@cases(
    ("day", "months", "expected"),
    [
        ("2024-01-31", 1, "2024-02-29"),
        ("2025-01-31", 1, "2025-02-28"),
        ("2026-03-31", -1, "2026-02-28"),
        ("2026-01-15", -1, "2025-12-15"),
        ("2026-11-30", 1, "2026-12-30"),
        ("2024-02-29", -12, "2023-02-28"),
        ("2026-12-31", 2, "2027-02-28"),
    ],
)
def test_a_month_on_keeps_the_day_or_takes_the_last(day, months, expected):
    """A shorter month gives its last day."""
    assert add_months(date.fromisoformat(day), months) == date.fromisoformat(expected)


@given(instants, zones, st.sampled_from(LEVELS))
@example(at("2011-12-30 09:59:59+00:00"), APIA, "day")
@example(at("2026-04-05 13:15+00:00"), LORD_HOWE, "hour")
@example(at("2026-04-23 21:59+00:00"), CAIRO, "week")
def test_periods_tile_time(instant, zone, level):
    """The period of an instant holds it, and ends where the next begins."""
    span = period(instant, level, zone)
    assert span.start <= instant < span.end
    assert period(span.start, level, zone) == span
    assert period(span.end - TICK, level, zone) == span
    assert period(span.end, level, zone).start == span.end
    assert period(span.start - TICK, level, zone).end == span.start


@given(instants, zones)
def test_hours_nest_in_days_and_days_in_weeks_months_and_years(instant, zone):
    """No hour crosses a midnight, no day the end of a week or a month."""
    hour, day = period(instant, "hour", zone), period(instant, "day", zone)
    assert day.start <= hour.start < hour.end <= day.end
    for level in ("week", "month", "year"):
        longer = period(instant, level, zone)
        assert longer.start <= day.start < day.end <= longer.end


@given(instants, zones)
def test_an_instant_survives_being_written_and_read(instant, zone):
    """ISO text in any zone, with its offset, is the same instant again."""
    assert parse_instant(instant.astimezone(zone).isoformat(), UTC) == instant


@cases(
    ("text", "expected"),
    [
        ("2026-11-21T23:19:45Z", "2026-11-21 23:19:45+00:00"),
        ("2026-11-21 23:19:45.015109Z", "2026-11-21 23:19:45.015109+00:00"),
        ("2026-11-21t23:19z", "2026-11-21 23:19+00:00"),
        ("2026-11-21T23:19:45+05:45", "2026-11-21 17:34:45+00:00"),
        ("2026-11-21T23:19:45 -0800", "2026-11-22 07:19:45+00:00"),
        ("2026-11-21T23:19:45-08", "2026-11-22 07:19:45+00:00"),
        ("1900-01-01T00:00:00-07:52:58", "1900-01-01 07:52:58+00:00"),
        ("2026-11-21T23:19:45,5Z", "2026-11-21 23:19:45.500000+00:00"),
        ("2026-11-21T23:19:45.123456789Z", "2026-11-21 23:19:45.123456+00:00"),
        ("2026-11-21 15:19", "2026-11-21 23:19+00:00"),  # on the owner's clock
        (" 2026-07-01 15:19:00 ", "2026-07-01 22:19+00:00"),
        ("2016-12-31T23:59:60Z", "2017-01-01 00:00+00:00"),  # the latest leap second
        ("2017-01-01T05:44:60.9+05:45", "2017-01-01 00:00+00:00"),
        ("2026-03-08 02:30", "2026-03-08 10:30+00:00"),  # skipped: 03:30 -07:00
        ("2026-11-01 01:30", "2026-11-01 08:30+00:00"),  # twice: the first, -07:00
    ],
)
def test_iso_text_is_read_as_an_instant(text, expected):
    """With Z or an offset exact, without on the clock of Los Angeles."""
    instant = parse_instant(text, LOS_ANGELES)
    assert instant == at(expected)
    assert instant.tzinfo is UTC


@cases(
    "text",
    [
        "",
        "yesterday",
        "2026-11-21",
        "2026-11-21T",
        "2026-11-21T23",
        "2026-11-21T24:00",
        "2026-11-21T23:60",
        "2026-11-21T23:19:61Z",
        "2026-02-30T12:00Z",
        "2026-13-01T12:00Z",
        "0000-01-01T12:00Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:60Z",
        "2026-11-21T23:19:45+24:00",
        "2026-11-21T23:19:45+05:60",
        "2026-11-21T23:19:45ZZ",
        "2026-11-21T23:19:45Z\0",
        "２０２６-11-21T23:19:45Z",
        "2026-11-21T23:19:45." + "9" * 10_000,
        "\u202e2026-11-21T23:19:45Z",
        "\ud800",
    ],
)
def test_other_text_is_no_instant(text):
    """A date alone, an impossible time and hostile text are refused in one line."""
    with pytest.raises(Invalid) as refused:
        parse_instant(text, LOS_ANGELES)
    assert len(str(refused.value)) < 300
    assert refused.value.hint


@given(st.text(max_size=60))
def test_any_text_is_an_instant_or_invalid(text):
    """Nothing but Invalid is ever raised."""
    with suppress(Invalid):
        assert parse_instant(text, LOS_ANGELES).tzinfo is UTC


def test_a_skipped_clock_time_moves_forward_by_the_gap():
    """02:15 on Lord Howe's spring day, of a gap of half an hour, is 02:45."""
    assert from_local(at("2026-10-04 02:15"), LORD_HOWE) == at("2026-10-04 02:45+11:00")


@cases("day", [date.min, date.max])
def test_the_ends_of_the_calendar_are_invalid_not_a_crash(day):
    """A day that begins or ends outside the years 1 to 9999 in UTC is refused."""
    with pytest.raises(Invalid, match=r"calendar"):
        day_interval(day, KATHMANDU)
    with pytest.raises(Invalid, match=r"calendar"):
        period(at("9999-12-31 23:00+00:00"), "day", KATHMANDU)


def test_instants_are_shown_to_the_minute_on_the_owners_clock():
    """Seconds are cut, not rounded; early years keep four digits."""
    assert render_instant(at("2026-11-22 07:19:59+00:00"), LOS_ANGELES) == "2026-11-21 23:19"
    assert render_instant(at("0099-01-01 00:00+00:00"), UTC) == "0099-01-01 00:00"


@cases(
    ("span", "shown"),
    [
        (Interval(), "any time"),
        (Interval(start=at("2026-11-16 08:00+00:00")), "after 2026-11-16 00:00 (UTC-08:00)"),
        (Interval(end=at("2026-07-01 07:00+00:00")), "before 2026-07-01 00:00 (UTC-07:00)"),
        (
            between("2026-11-03 08:00+00:00", "2026-11-04 08:00+00:00"),
            "2026-11-03 00:00 to 2026-11-04 00:00 (UTC-08:00)",
        ),
        (
            between("2026-11-01 07:00+00:00", "2026-11-02 08:00+00:00"),
            "2026-11-01 00:00 (UTC-07:00) to 2026-11-02 00:00 (UTC-08:00)",
        ),
        (
            between("2026-11-01 08:30+00:00", "2026-11-01 09:30+00:00"),
            "2026-11-01 01:30 (UTC-07:00) to 2026-11-01 01:30 (UTC-08:00)",
        ),
        (
            between("2026-11-21 20:19:45.5+00:00", "2026-11-21 23:19:45.5+00:00"),
            "2026-11-21 12:19:45 to 2026-11-21 15:19:45 (UTC-08:00)",
        ),
    ],
)
def test_intervals_are_shown_with_their_offset(span, shown):
    """A repeated hour can be told apart, and open sides say so."""
    assert render_interval(span, LOS_ANGELES) == shown


def test_an_interval_in_utc_says_utc():
    """An offset of nothing is written as the zone's name."""
    day = between("2026-11-03 00:00+00:00", "2026-11-04 00:00+00:00")
    assert render_interval(day, UTC) == "2026-11-03 00:00 to 2026-11-04 00:00 (UTC)"


@given(st.dates(date(1, 1, 2), date(9999, 12, 29)), zones)
def test_days_begin_in_order(day, zone):
    """A later date never begins before an earlier one."""
    assert start_of_day(day, zone) <= start_of_day(day + timedelta(days=1), zone)


def test_the_machines_clock_is_aware_utc():
    """`utc_now` bears its zone."""
    assert utc_now().tzinfo is UTC


def test_a_date_in_words_is_the_owners():
    """The zone says which date it is; where its calendar ends, UTC does."""
    assert render_date(local_date(at("2023-05-07T05:00Z"), LOS_ANGELES)) == "6 May 2023"
    assert render_date(local_date(at("2023-05-07T18:30Z"), KATHMANDU)) == "8 May 2023"
    first = datetime.min.replace(tzinfo=UTC)
    assert render_date(local_date(first, LOS_ANGELES)) == "1 January 1"


@cases("odd", DAYS)
def test_the_hours_of_a_day_fill_it_and_bear_names_of_their_own(odd):
    """As many as the day is long, the last one perhaps half; none of a skipped date."""
    hours = list(periods_in(day_interval(odd.day, odd.zone), "hour", odd.zone))
    assert len(hours) == -int(-odd.hours // 1)
    assert [x.end for x in hours[:-1]] == [x.start for x in hours[1:]]
    if hours:
        assert (hours[0].start, hours[-1].end) == (odd.start, odd.end)
    names = [period_key(x.start, "hour", odd.zone) for x in hours]
    assert len(set(names)) == len(names)
    assert all(x.startswith(odd.day.isoformat()) for x in names)


@cases(
    ("start", "level", "zone", "name"),
    [
        ("2025-02-04T10:00Z", "hour", UTC, "2025-02-04T10"),
        ("2025-02-04T00:00Z", "day", UTC, "2025-02-04"),
        ("2025-02-03T00:00Z", "week", UTC, "2025-W06"),
        ("2025-02-01T00:00Z", "month", UTC, "2025-02"),
        ("2025-01-01T00:00Z", "year", UTC, "2025"),
        # The Thursday decides: these weeks begin in the year before the one they are of.
        ("2020-12-28T00:00Z", "week", UTC, "2020-W53"),
        ("2024-12-30T00:00Z", "week", UTC, "2025-W01"),
        ("2026-12-28T00:00Z", "week", UTC, "2026-W53"),
        # Clocks fall back from 02:00 to 01:00 at 09:00 UTC, on the evening before in Cairo.
        ("2026-11-01T08:00Z", "hour", LOS_ANGELES, "2026-11-01T01"),
        ("2026-11-01T09:00Z", "hour", LOS_ANGELES, "2026-11-01T01b"),
        ("2026-10-29T21:00Z", "hour", CAIRO, "2026-10-29T23b"),
        # The first hour after the date that never was.
        ("2011-12-30T10:00Z", "hour", APIA, "2011-12-31T00"),
    ],
)
def test_a_period_is_named_by_the_zone_s_calendar(start, level, zone, name):
    """Once only, a repeated hour with a letter more."""
    assert period_key(at(start), level, zone) == name


def test_a_leap_year_has_366_days_in_12_months():
    """29 February is a day like any other."""
    year = period(at("2024-06-01T00:00Z"), "year", UTC)
    months = list(periods_in(year, "month", UTC))
    days = [list(periods_in(x, "day", UTC)) for x in months]
    assert [len(x) for x in days] == [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    assert period_key(at("2024-02-29T00:00Z"), "day", UTC) == "2024-02-29"


@given(
    instants,
    zones,
    st.sampled_from([("day", "hour"), ("week", "day"), ("month", "day"), ("year", "month")]),
)
def test_smaller_periods_fill_a_larger_one(when, zone, levels):
    """Without a gap or an overlap, in every zone."""
    large, small = levels
    whole = period(when, large, zone)
    parts = list(periods_in(whole, small, zone))
    assert (parts[0].start, parts[-1].end) == (whole.start, whole.end)
    assert [x.end for x in parts[:-1]] == [x.start for x in parts[1:]]


def test_an_open_span_has_no_periods():
    """It would have no end."""
    with pytest.raises(Invalid):
        list(periods_in(Interval(start=at("2025-01-01T00:00Z")), "day", UTC))


@given(when=instants, level=st.sampled_from(LEVELS), zone=zones)
@example(when=at("2026-10-25T00:30Z"), level="hour", zone=LOS_ANGELES)
@example(when=at("2026-11-01T09:30Z"), level="hour", zone=LOS_ANGELES)  # the repeated hour
@example(when=at("2011-12-29T12:00Z"), level="day", zone=APIA)
def test_a_period_s_name_leads_back_to_it(when, level, zone):
    """In every zone, the repeated hour and skipped dates included."""
    whole = period(when, level, zone)
    assert find_period_key(period_key(whole.start, level, zone), zone) == (level, whole)


@cases(
    ("text", "level", "start"),
    [
        ("2025", "year", "2025-01-01T00:00Z"),
        ("2025-02", "month", "2025-02-01T00:00Z"),
        ("2025-W06", "week", "2025-02-03T00:00Z"),
        ("2025w06", "week", "2025-02-03T00:00Z"),
        ("2020-W53", "week", "2020-12-28T00:00Z"),
        (" 2025-02-04 ", "day", "2025-02-04T00:00Z"),
        ("2025-02-04 10", "hour", "2025-02-04T10:00Z"),
        ("2025-02-04T10:00", "hour", "2025-02-04T10:00Z"),
    ],
)
def test_names_of_periods_are_read(text, level, start):
    """As people write them."""
    found = find_period_key(text, UTC)
    assert found is not None
    assert (found[0], found[1].start) == (level, at(start))


@cases("text", ["", "last week", "20250204", "2025-2", "2025-02-04 10:30", "١٢٣٤"])
def test_other_texts_are_no_names_of_periods(text):
    """They may be phrases, refs or nothing."""
    assert find_period_key(text, UTC) is None


@cases(
    ("text", "zone"),
    [
        ("2025-13", UTC),
        ("2025-02-30", UTC),
        ("2025-W53", UTC),
        ("2025-02-04 24", UTC),
        ("2025-02-04T10b", UTC),
        ("0000", UTC),
        ("2011-12-30", APIA),
        ("2026-03-08 02", LOS_ANGELES),
    ],
)
def test_names_in_no_calendar_are_refused(text, zone):
    """A date that does not exist, or that the zone skips, and hours likewise."""
    with pytest.raises(Invalid, match="calendar"):
        find_period_key(text, zone)


@cases("text", ["2026-13", "2026-02-30", "2026-W54"])
def test_a_name_in_no_calendar_tells_what_names_are_in_one(text):
    """Of a year that is near no years are told: the month, the day or the week is what is wrong."""
    with pytest.raises(Invalid) as caught:
        find_period_key(text, UTC)
    assert caught.value.hint.startswith("Use months from 01 to 12, days")
