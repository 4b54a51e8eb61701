"""A time in front of what is logged, as in `yesterday 9am: fixed the build`.

Never guesses: what is no past time belongs to the message, and one that cannot be is refused.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from commonplace.core.errors import Invalid
from commonplace.core.when.phrases import parse_at, parse_named
from commonplace.verbs.times import NO_INSTANT

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from commonplace.core.values import Interval

_DAY_AT_LEAST, _DAY_AT_MOST = timedelta(hours=23), timedelta(hours=25)
_DAY_AND_NUMBER = re.compile(r"(.+) ([0-9]{1,2})")


class TimedMessage(NamedTuple):
    """A message, and the time that stood in front of it; None where there was none."""

    message: str
    at: datetime | None


def split_time(text: str, *, now: datetime, zone: tzinfo, otherwise: str) -> TimedMessage:
    """The message and, where `TIME: ` stands before it, its time.

    A day that is not over is now. A lone word for more than a day (`spring: planted`,
    `2026: a plan`) is rather a topic: it stays, as does what lies ahead or is no time.

    otherwise: What to do where the words of an error are meant as no time.

    Raises:
        Invalid: The time is none of the calendar, or could be one of two.
    """
    phrase, colon, message = text.partition(": ")
    if not colon or not message.strip() or not phrase.strip():
        return TimedMessage(text, None)
    read = _read(phrase, now, zone, otherwise)
    if read is None and (found := _DAY_AND_NUMBER.fullmatch(phrase)):
        day, hour = found.groups()
        if _read(f"{day} at {hour}", now, zone, otherwise):
            raise Invalid(f"Ambiguous time: {phrase!r}.", hint=f"Say {day} at {hour}. {otherwise}")
    if read is None:
        return TimedMessage(text, None)
    interval, at = read
    length = interval.end - interval.start if interval.start and interval.end else None
    if at > now or length is None or (length > _DAY_AT_MOST and len(phrase.split()) == 1):
        return TimedMessage(text, None)
    running = length >= _DAY_AT_LEAST and interval.holds(now)
    return TimedMessage(message.strip(), now if running else at)


def _read(
    phrase: str, now: datetime, zone: tzinfo, otherwise: str
) -> tuple[Interval, datetime] | None:
    """The time that a phrase names; None where it is no past one. Raises: as `split_time`."""
    try:
        return parse_named(phrase, now=now, zone=zone), parse_at(phrase, now=now, zone=zone)
    except Invalid as exc:
        if exc.message.startswith(NO_INSTANT):
            return None
        raise exc.extended("", hint=otherwise) from exc
