"""The names of what is longer or shorter than a day (`last week`, `q3`, `yesterday 9am`).

Knows no ranges (`core.when` combines readings); never matches a part of a phrase.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from typing import cast

from msgspec.structs import replace

from commonplace.core.clock import (
    Unit,
    add_months,
    day_of,
    days_of,
    from_local,
    parse_instant,
    period,
    start_of_day,
    to_local,
)
from commonplace.core.errors import Invalid
from commonplace.core.when.days import (
    COUNT,
    DAY,
    DAY_RULES,
    MONTH,
    MONTHS,
    WHICH,
    YEAR,
    Reading,
    Rules,
    TimeContext,
    count_of,
    lived_day,
    match_rules,
    one_day,
    one_of,
    read_named,
    span_of,
)
from commonplace.core.when.feasts import FEAST_RULES
from commonplace.core.when.month_parts import PART_RULES

_CLOCK_UNITS = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": DAY,
    "week": 7 * DAY,
}
_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}
_UNITS = {
    word: unit
    for unit, words in {
        "second": "second seconds sec secs",
        "minute": "minute minutes min mins",
        "hour": "hour hours hr hrs h",
        "day": "day days d",
        "week": "week weeks wk wks w",
        "month": "month months",
        "quarter": "quarter quarters",
        "year": "year years yr yrs y",
    }.items()
    for word in words.split()
}
# Meteorological seasons of the northern hemisphere, by the month in which they begin.
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
# Local hours [from, to); past 24 is the next day. Night overlaps the small hours of morning.
_PARTS = {"morning": (4, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}

_UNIT = one_of("unit", _UNITS)
_AGO = rf"{COUNT} ?{_UNIT} ago"
_CALENDAR = r"(?P<unit>week|month|quarter|year)"
_PART = one_of("part", _PARTS)
_CLOCK = (
    r"(?:(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?)?"
    r" ?(?P<half>am|pm)?|(?P<noon>noon))"
)
_INSTANT = (
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})[t ][0-9]{2}:[0-9]{2}"
    r"(?P<second>:[0-9]{2}(?P<fraction>[.,][0-9]{1,30})?)?"
    r"(?P<offset> ?(?:z|[+-][0-9]{2}(?::?[0-9]{2})?))?"
)


def _read_month(found: re.Match[str], context: TimeContext) -> Reading | None:
    return _months(MONTHS[found["month"]], 1, found, context)


def _read_quarter(found: re.Match[str], context: TimeContext) -> Reading | None:
    return _months(int(found["quarter"]) * 3 - 2, 3, found, context)


def _read_season(found: re.Match[str], context: TimeContext) -> Reading | None:
    return _months(SEASONS[found["season"]], 3, found, context)


def _read_winter(found: re.Match[str], context: TimeContext) -> Reading | None:
    winter = None if found["that"] else _months(SEASONS["winter"], 3, found, context)
    # `winter 2026` before that December, who looks back, means the one that ends in 2026.
    if found["that"] or (found["year"] and winter and winter.start > context.now):
        raise Invalid(
            f"Ambiguous time phrase: {found[0]!r}.", hint="Name both years: winter 2025/26."
        )
    # A winter that runs began the year before.
    if found["which"] == "this" and context.today.month < SEASONS["spring"]:
        first = date(context.today.year - 1, SEASONS["winter"], 1)
        return span_of(first, add_months(first, 3), context)
    return winter


def _read_winter_of(found: re.Match[str], context: TimeContext) -> Reading | None:
    first = date(int(found["begun"]), SEASONS["winter"], 1)
    ended = add_months(first, 3)
    if not f"{ended.year:04d}".endswith(found["ended"]):
        return None
    return span_of(first, ended, context, dated=True)


def _months(month: int, length: int, found: re.Match[str], context: TimeContext) -> Reading | None:
    def bounds(year: int) -> tuple[date, date]:
        return date(year, month, 1), add_months(date(year, month, 1), length)

    return read_named(bounds, found, context)


# Weeks, months, quarters, years


def _read_iso_month(found: re.Match[str], context: TimeContext) -> Reading:
    first = date(int(found["year"]), int(found["number"]), 1)
    return span_of(first, add_months(first, 1), context, dated=True)


def _read_iso_week(found: re.Match[str], context: TimeContext) -> Reading:
    monday = date.fromisocalendar(int(found["year"]), int(found["week"]), 1)
    return span_of(monday, monday + 7 * DAY, context, dated=True)


def _read_year(found: re.Match[str], context: TimeContext) -> Reading:
    return span_of(*days_of(date(int(found[0]), 1, 1), "year"), context, dated=True)


def _read_week_of(found: re.Match[str], context: TimeContext) -> Reading | None:
    day = match_rules(DAY_RULES, found["rest"], context)
    if day is None or day.day is None:
        return None
    return span_of(*days_of(day.day, "week"), context, dated=day.dated)


def _calendar_back(unit: str, count: int, context: TimeContext) -> Reading:
    months = _MONTHS_IN.get(unit)
    day = add_months(context.today, -count * months) if months else context.today - count * 7 * DAY
    return span_of(*days_of(day, cast("Unit", unit)), context)


def _read_calendar(found: re.Match[str], context: TimeContext) -> Reading:
    return _calendar_back(found["unit"], {"this": 0, "next": -1}.get(found["back"], 1), context)


def _read_so_far(found: re.Match[str], context: TimeContext) -> Reading:
    unit = found.groupdict().get("unit") or "day"
    span = one_day(context.today, context) if unit == "day" else _calendar_back(unit, 0, context)
    if span.start == context.now:
        raise Invalid(
            f"Time phrase of no length: {found[0]!r}.", hint="Name the whole of it, or one before."
        )
    return replace(span, end=context.now, day=None)


def _read_weekend(found: re.Match[str], context: TimeContext) -> Reading:
    groups = found.groupdict()
    saturday = days_of(context.today, "week")[0] + 5 * DAY
    if groups.get("count"):
        saturday -= count_of(found) * 7 * DAY
    elif groups.get("which") == "last":
        saturday -= 7 * DAY
    elif not groups.get("which"):
        saturday = days_of(day_of(context.latest, context.zone), "week")[0] + 5 * DAY
        if start_of_day(saturday, context.zone) > context.latest:
            saturday -= 7 * DAY
    return span_of(saturday, saturday + 2 * DAY, context)


# Spans that are counted back from now


def _back(unit: str, count: int, context: TimeContext) -> datetime:
    if unit in _CLOCK_UNITS:
        return context.now - count * _CLOCK_UNITS[unit]
    return _shifted(unit, -count, context)


def _read_rolling(found: re.Match[str], context: TimeContext) -> Reading:
    count = count_of(found) if found.groupdict().get("count") else 1
    return Reading(start=_back(_UNITS[found["unit"]], count, context), end=context.now)


def _read_ago(found: re.Match[str], context: TimeContext) -> Reading:
    unit, count = _UNITS[found["unit"]], count_of(found)
    if unit not in {"second", "minute", "hour"}:
        return _calendar_back(unit, count, context)
    return _around(_back(unit, count, context), unit, context)


def _read_length(found: re.Match[str], context: TimeContext) -> Reading:
    rolling = _read_rolling(found, context)
    return replace(rolling, at=rolling.start)


def _read_in(found: re.Match[str], context: TimeContext) -> Reading:
    unit, count = _UNITS[found["unit"]], count_of(found)
    if unit == "day":
        return one_day(context.today + count * DAY, context)
    if unit not in _CLOCK_UNITS or unit == "week":
        return _calendar_back(unit, -count, context)
    return _around(_back(unit, -count, context), unit, context)


def ago_on_the_clock(text: str, context: TimeContext) -> datetime | None:
    """The instant that a length of time ends with `ago`; of days and longer at this time of day.

    None for any other text.
    """
    found = re.fullmatch(_AGO, text)
    return _shifted(_UNITS[found["unit"]], -count_of(found), context) if found else None


def ahead_on_the_clock(text: str, context: TimeContext) -> datetime | None:
    """The instant `in 3 days`, or `3 days`, from now: of days and longer at this time of day."""
    found = re.fullmatch(rf"(?:in )?{COUNT} ?{_UNIT}", text)
    return _shifted(_UNITS[found["unit"]], count_of(found), context) if found else None


def _shifted(unit: str, count: int, context: TimeContext) -> datetime:
    if unit in {"second", "minute", "hour"}:
        return context.now + count * _CLOCK_UNITS[unit]
    local = to_local(context.now, context.zone)
    if unit in _MONTHS_IN:
        day = add_months(local.date(), count * _MONTHS_IN[unit])
    else:
        day = local.date() + count * _CLOCK_UNITS[unit]
    return from_local(datetime.combine(day, local.time()), context.zone)


def _read_now(_: re.Match[str], context: TimeContext) -> Reading:
    return _around(context.now, "minute", context)


def _around(at: datetime, unit: str, context: TimeContext) -> Reading:
    if unit == "hour":
        hour = period(at, "hour", context.zone)
        return Reading(start=hour.start or at, end=hour.end or at, at=at)
    start = at.replace(second=0 if unit == "minute" else at.second, microsecond=0)
    return Reading(start=start, end=start + _CLOCK_UNITS[unit], at=at)


# Times of day


def _read_iso_instant(found: re.Match[str], context: TimeContext) -> Reading:
    if not found["offset"]:
        one_day(date.fromisoformat(found["date"]), context)
    at = parse_instant(found[0], context.zone)
    width = "second" if found["second"] else "minute"
    end = at + (timedelta(microseconds=1) if found["fraction"] else _CLOCK_UNITS[width])
    return Reading(start=at, end=end, at=at, dated=True)


def _clock_time(found: re.Match[str]) -> tuple[time, str] | None:
    if found["noon"]:
        return time(12), "hour"
    hour, half = int(found["hour"]), found["half"]
    if half:
        if not 1 <= hour <= 12:  # noqa: PLR2004  a clock face
            return None
        hour = hour % 12 + (12 if half == "pm" else 0)
    elif not found["minute"]:
        return None
    width = "second" if found["second"] else "minute" if found["minute"] else "hour"
    return time(hour, int(found["minute"] or 0), int(found["second"] or 0)), width


def _on_clock(day: date, clock: tuple[time, str], context: TimeContext, *, dated: bool) -> Reading:
    at = from_local(datetime.combine(day, clock[0]), context.zone)
    return Reading(start=at, end=at + _CLOCK_UNITS[clock[1]], at=at, dated=dated)


def _read_clock(found: re.Match[str], context: TimeContext) -> Reading | None:
    clock = _clock_time(found)
    if clock is None:
        return None
    day = day_of(context.latest, context.zone)
    while True:
        reading = _on_clock(lived_day(day, context).day or day, clock, context, dated=False)
        if reading.start <= context.latest:
            return reading
        day -= DAY


def _read_day_clock(found: re.Match[str], context: TimeContext) -> Reading | None:
    day = match_rules(DAY_RULES, found["rest"], context)
    clock = _clock_time(found) if day and day.day else None
    if clock is None or day is None or day.day is None:
        return None
    return _on_clock(day.day, clock, context, dated=day.dated)


def _part_of(day: date, part: str, context: TimeContext, *, dated: bool = False) -> Reading:
    first, last = (divmod(hour, 24) for hour in _PARTS[part])
    start, end = (
        from_local(datetime.combine(day + days * DAY, time(hour)), context.zone)
        if hour
        else start_of_day(day + days * DAY, context.zone)
        for days, hour in (first, last)
    )
    return Reading(start=start, end=end, dated=dated)


def _read_day_hour(found: re.Match[str], context: TimeContext) -> Reading | None:
    day = match_rules(DAY_RULES, found["rest"], context)
    if day is None or day.day is None:
        return None
    hour = int(found["hour"])
    if 1 <= hour <= 12:  # noqa: PLR2004  a clock face
        raise Invalid(f"Ambiguous time phrase: {found[0]!r}.", hint=f"Say {hour}am or {hour}pm.")
    return _on_clock(day.day, (time(hour), "hour"), context, dated=day.dated)


def _read_part_hour(found: re.Match[str], context: TimeContext) -> Reading | None:
    """`this morning at 9`: the one such hour of that morning; None where it has none."""
    part = match_rules(_PART_RULES, found["rest"], context)
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    if part is None or hour > 23:  # noqa: PLR2004  a day
        return None
    day = day_of(part.start, context.zone)
    clocks = [time(hour, minute)] + ([time(hour + 12, minute)] if 1 <= hour < 12 else [])  # noqa: PLR2004  a clock face
    width = "minute" if found["minute"] else "hour"
    within = [
        reading
        for clock in clocks
        if part.start
        <= (reading := _on_clock(day, (clock, width), context, dated=part.dated)).start
        < part.end
    ]
    return within[0] if len(within) == 1 else None


def _read_day_part(found: re.Match[str], context: TimeContext) -> Reading | None:
    day = match_rules(DAY_RULES, found["rest"], context)
    if day is None or day.day is None:
        return None
    return _part_of(day.day, found["part"], context, dated=day.dated)


def _read_this_part(found: re.Match[str], context: TimeContext) -> Reading:
    return _part_of(context.today, found["part"], context)


def _read_earlier_part(found: re.Match[str], context: TimeContext) -> Reading:
    part = _part_of(context.today, found["part"], context)
    return (
        part
        if part.end <= context.now or part.start >= context.now
        else replace(part, end=context.now)
    )


def _read_night(found: re.Match[str], context: TimeContext) -> Reading:
    yesterday = lived_day(context.today - DAY, context).day or context.today
    night = _part_of(yesterday, "night", context)
    if found[0] == "last night" or context.now < night.end:
        return night
    return _part_of(context.today, "night", context)


_PART_RULES: Rules = (
    (r"this (?P<part>morning|afternoon|evening)", _read_this_part),
    (rf"(?P<rest>.+) {_PART}", _read_day_part),
    (r"(?P<rest>.+) in the (?P<part>morning|afternoon|evening)", _read_day_part),
    (r"(?P<rest>.+) at (?P<part>night)", _read_day_part),
    (rf"{_PART} of (?:the )?(?P<rest>.+)", _read_day_part),
)
_RULES: Rules = (
    (r"now", _read_now),
    *DAY_RULES,
    (r"last night|tonight", _read_night),
    *_PART_RULES,
    (r"earlier this (?P<part>morning|afternoon|evening)", _read_earlier_part),
    *PART_RULES,
    (_INSTANT, _read_iso_instant),
    (_CLOCK, _read_clock),
    (rf"{_CLOCK} (?:on |of )?(?:the )?(?P<rest>.+)", _read_day_clock),
    (rf"(?P<rest>.+?)(?: at)? {_CLOCK}", _read_day_clock),
    (r"(?P<rest>.+) at (?P<hour>[0-9]{1,2})", _read_day_hour),
    (r"(?P<rest>.+) at (?P<hour>[0-9]{1,2})(?::(?P<minute>[0-9]{2}))?", _read_part_hour),
    (rf"(?P<back>this|last|previous|next) {_CALENDAR}", _read_calendar),
    (rf"(?:today|(?:this )?{_CALENDAR}) so far", _read_so_far),
    (rf"earlier (?:today|this {_CALENDAR})", _read_so_far),
    (rf"{_CALENDAR} to date", _read_so_far),
    (rf"(?:the )?(?:last|past) {COUNT} ?{_UNIT}", _read_rolling),
    (rf"(?:the last|(?:the |this )?past) {_UNIT}", _read_rolling),
    (r"last (?P<unit>hour|minute|second)", _read_rolling),
    (_AGO, _read_ago),
    (rf"{WHICH}weekend", _read_weekend),
    (rf"{COUNT} weekends? ago", _read_weekend),
    (r"week of (?:the )?(?P<rest>.+)", _read_week_of),
    (rf"{WHICH}{MONTH}{YEAR}", _read_month),
    (rf"{WHICH}q(?P<quarter>[1-4]){YEAR}", _read_quarter),
    (r"(?P<year>[0-9]{4})[ -]?q(?P<quarter>[1-4])", _read_quarter),
    (rf"{WHICH}(?P<season>spring|summer|autumn|fall){YEAR}", _read_season),
    (rf"{WHICH}winter{YEAR}", _read_winter),
    (r"winter (?:of )?(?P<begun>[0-9]{4})[/-](?P<ended>[0-9]{2}|[0-9]{4})", _read_winter_of),
    (r"(?P<year>[0-9]{4})-(?P<number>[0-9]{2})", _read_iso_month),
    (r"(?P<year>[0-9]{4})-?w(?P<week>[0-9]{2})", _read_iso_week),
    (r"(?:19|20)[0-9]{2}", _read_year),
)
_AHEAD_RULES: Rules = ((rf"in {COUNT} ?{_UNIT}", _read_in),)
_LENGTH_RULES: Rules = ((rf"{COUNT} ?{_UNIT}", _read_length),)


def read_phrase(text: str, context: TimeContext) -> Reading | None:
    """What a normalised phrase names, or None where it is none of ours.

    Raises Invalid for a phrase of ours that names nothing: 30 February, a season of two years, a
    date the zone skipped, and, unless it is given as an end, what is relative to now and has not
    begun.
    """
    bare = re.sub(r"^(?:(?:in|on|at|during) |(?:over|within) (?=the ))", "", text)
    reading = (
        (match_rules(_AHEAD_RULES, text, context) if context.given else None)
        or match_rules(FEAST_RULES, text, context)
        or match_rules(_RULES, bare, context)
        or match_rules(_RULES, bare.removeprefix("the "), context)
        or (match_rules(_LENGTH_RULES, bare, context) if context.given else None)
    )
    is_ahead = reading is not None and not reading.dated and reading.since > context.now
    if is_ahead and not (context.given and context.is_end):
        raise Invalid(
            f"Time phrase lies ahead: {text!r}.",
            hint="Name a time that has begun, or a date with its year.",
        )
    return reading
