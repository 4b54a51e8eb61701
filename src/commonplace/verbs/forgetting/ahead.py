"""Reads phrases for future times: `in 30 days`, `tomorrow`, `2027-01-01`; a past one is an error.

All other phrases name a past time, since entries are of the past: see `core.when`.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

from commonplace.core.clock import (
    add_months,
    from_local,
    local_date,
    start_of_day,
    to_local,
    within_calendar,
)
from commonplace.core.errors import Invalid
from commonplace.core.when.phrases import parse_since

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

_CLOCK = {
    "minute": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "hour": timedelta(hours=1),
}
_DAYS = {"day": 1, "week": 7}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_IN = re.compile(
    r"(?:in )?(?P<count>an?|\d{1,6}) (?P<unit>minute|min|hour|day|week|month|quarter|year)s?"
)
_NEXT = {"tomorrow": "day", "next week": "week", "next month": "month", "next year": "year"}
_HINT = "Use a future time such as in 30 days, tomorrow, in 2 hours or 2027-01-01."


def parse_ahead(phrase: str, *, now: datetime, zone: tzinfo) -> datetime:
    """The future instant that a phrase names; a day stands for its midnight.

    A count starts now: `in 30 days` keeps the time of day, `next week` is 7 days from now.

    Raises:
        Invalid: The phrase is unknown, or the time is past.
    """
    text = " ".join(phrase.casefold().split())
    with within_calendar(phrase):
        if text == "tomorrow":
            at = start_of_day(local_date(now, zone) + timedelta(days=1), zone)
        elif text in _NEXT:
            at = _after(1, _NEXT[text], now, zone)
        elif found := _IN.fullmatch(text):
            count = 1 if found["count"].startswith("a") else int(found["count"])
            at = _after(count, found["unit"], now, zone)
        else:
            at = _dated(phrase, now, zone)
    if at <= now:
        raise Invalid(f"{phrase!r} is past.", hint=_HINT)
    return at


def _after(count: int, unit: str, now: datetime, zone: tzinfo) -> datetime:
    if unit in _CLOCK:
        return now + count * _CLOCK[unit]
    local = to_local(now, zone)
    if unit in _DAYS:
        day = local.date() + timedelta(days=count * _DAYS[unit])
    else:
        day = add_months(local.date(), count * _MONTHS[unit])
    return from_local(local.replace(tzinfo=None, year=day.year, month=day.month, day=day.day), zone)


def _dated(phrase: str, now: datetime, zone: tzinfo) -> datetime:
    try:
        return parse_since(phrase, now=now, zone=zone)
    except Invalid as exc:
        if exc.message.startswith("Unknown time phrase"):
            raise exc.as_kind(Invalid, hint=_HINT) from exc
        raise
