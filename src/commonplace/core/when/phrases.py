"""English time phrases as half-open intervals in the owner's zone, looking back from now.

Never guesses: a phrase that is ambiguous, or understood only in part, is an error with examples.

Where a phrase could be read in several ways, this is how it is read (case, extra spaces, closing
punctuation, quotes around it, a leading in/on/at/during and, save in `the last week`, `the` do not
matter):

| phrase | read as |
|---|---|
| today, yesterday, 2 days ago, monday, nov 3 | that local day, midnight to midnight |
| monday, february, q3, nov 3, spring, 9am | the latest that is not ahead; today may be it |
| last friday, last february, last q3, last weekend | the latest that is wholly past |
| two fridays ago, two weekends ago | the one before the last |
| this wednesday, this weekend, this february | of this ISO week, of this year |
| this week, month, quarter, year | the whole of it, its rest included |
| last week, month, quarter, year | the previous ISO week, calendar month, … |
| past week, the last week, last 7 days | rolling, back from this instant; a day is 24 hours |
| past 3 months, last 2 years | rolling; the same date and clock time so many months before |
| 2 weeks, months, quarters, years ago | the whole ISO week, calendar month, … so many before this |
| 3 hours ago, 5 minutes ago | the hour (counted from local midnight), the minute that holds it |
| 9am, 15:30, 15:30:05, now | that hour, minute, second; as a bound the very instant |
| morning, afternoon, evening | 04:00 to 12:00, 12:00 to 18:00, 18:00 to midnight |
| last night | yesterday 18:00 to today 06:00; before 06:00 that is the night still running |
| tonight | today 18:00 to tomorrow 06:00; before 06:00 the night still running |
| monday night | that day's 18:00 to 06:00 of the day after |
| spring, summer, autumn, winter | northern: from 1 March, 1 June, 1 September, 1 December |
| winter 2025, winter 2025/26 | from December 2025; an error before it has begun (`winter 2026`) |
| month to date, this month so far, earlier this month | from its beginning to this instant |
| the week of nov 3 | the ISO week that holds the day |
| week 46 | the latest ISO week of that number that is not ahead |
| monday last week, last week on monday | of the previous ISO week |
| nov 1-15, nov 1 to 15 | both days and all between |
| early, mid, late november | days 1 to 10, 11 to 20, 21 to the last |
| early, mid, late 2025 | January to April, May to August, September to December |
| beginning, middle, end of november | as early, mid, late |
| first, second, third, fourth week of october | days 1-7, 8-14, 15-21, 22-28 |
| last week of october | its last seven days |
| first, second, third, fourth, last quarter of 2025 | its quarters |
| first, second half of 2025, of october | its halves; of a month days 1 to 15, and the rest |
| christmas, christmas eve, easter, new year, new year's eve | the latest that is not ahead |
| thanksgiving, halloween, valentine's day | the same |
| over, at, during christmas | a day more on either side; of easter from Good Friday to Monday |
| over thanksgiving | from its Thursday (of the United States) to Sunday |
| around christmas, around easter 2024 | 7 days more on either side |
| june and july 2022, 2019 or 2020, friday and monday | the shortest span that holds both |
| yesterday at 15, this morning at 9 | that hour; `yesterday at 9` could be one of two: an error |
| since x, after x | from the start of x on, from the end of x on |
| before x, until x | up to the start of x, up to the end of x |
| 7d, 2 weeks, 12h | that long back from now; as a bound the instant so long ago |
| tomorrow, next week, monday next week, in 3 days | as an end alone: to the end of it |
| before the end of october, after the beginning of it | up to its last instant, from its first |
| x..y, between x and y, from x to y | from the start of x to the end of y |

What is relative to now and has not begun (`tonight`, in the morning; `after today`) is
an error but as an end; a date with its year may lie ahead. Of `2 days ago` an entry that is written
down late (`parse_at`) gets the time of day that it is now.
A length alone (`7 days`), and an end that lies ahead, are read where a time is asked for, and not
in a text (`parse_named`): there they are rather what it is about.
What leaves its bounds open (`a few days ago`, `recently`, `about a week ago`) is an error: what is
cut away by a guess is not missed. `core.when.inside` reads it for a search that only leans to it.
A bare name on the left of a range is the latest not after the right side (`monday..friday` is one
week's); a bare name on the right that leaves a choice (`yesterday to 5pm`) is an error.
A clock time that a zone skips is moved forward by the gap, and one that occurs twice is its first.
"""

from __future__ import annotations

import re
import unicodedata
from contextlib import suppress
from datetime import UTC, timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.core.clock import within_calendar
from commonplace.core.errors import Invalid
from commonplace.core.text import opening
from commonplace.core.values import Interval
from commonplace.core.when.days import MONTHS, WEEKDAYS, Reading, TimeContext
from commonplace.core.when.spans import SEASONS, ago_on_the_clock, ahead_on_the_clock, read_phrase

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, tzinfo

LONGEST_PHRASE = 200

_TICK = timedelta(microseconds=1)
_QUOTES = "\"'`\u2018\u2019\u201c\u201d\u00ab\u00bb"
_TO = r" (?:to|until|till|through) "
_CLOSING = f"{_QUOTES}.,;:!?"
_OF_YEAR = r"(?: (?:of )?(?:[0-9]{4}|(?:last|this) year))?"
_TWO = tuple(
    rf"(?:(?:in|on|at|during|over) )?(?:the )?(?P<first>(?:{names})(?P<own>{_OF_YEAR}))"
    rf" (?:and|or) (?P<second>(?:{names})(?P<theirs>{_OF_YEAR}))"
    for names in (
        *("|".join(names) for names in (WEEKDAYS, MONTHS, SEASONS)),
        "q[1-4]",
        "(?:19|20)[0-9]{2}",
    )
)

_EXAMPLES = "Use one such as yesterday, last week, since monday, nov 3 or 2026-11-01..2026-11-07."
_AHEAD = "Use a future time such as in 30 days, tomorrow, in 2 hours or 2027-01-01."


def parse_when(phrase: str, *, now: datetime, zone: tzinfo) -> Interval:
    """The interval that a time phrase names. now: aware. Raises Invalid for any other text."""
    return _read_when(phrase, _context_of(now, zone))


def parse_named(phrase: str, *, now: datetime, zone: tzinfo) -> Interval:
    """As `parse_when`, for words in a text, of which `7 days` and `until tomorrow` are no time.

    Raises Invalid for any other text.
    """
    return _read_when(phrase, replace(_context_of(now, zone), given=False))


def parse_at(phrase: str, *, now: datetime, zone: tzinfo) -> datetime:
    """When something was that is written down now: `2 days ago` at this time; else `parse_since`.

    Raises as `parse_since`.
    """
    context = _context_of(now, zone)
    with within_calendar(phrase):
        return ago_on_the_clock(_normal(phrase), context) or _read_since(phrase, context)


def parse_ahead(phrase: str, *, now: datetime, zone: tzinfo) -> datetime:
    """The instant ahead that a phrase names: a length (`in 30 days`) counts from now.

    A day stands for its midnight, a date for its beginning; what else is longer than an instant
    (`next week`) for its end, as `parse_until` has it: what goes too early is lost.

    Raises Invalid for any other text, and for what is past.
    """
    context = replace(_context_of(now, zone), is_end=True)
    with within_calendar(phrase):
        text = _normal(phrase)
        at = ahead_on_the_clock(text, context)
        if at is None:
            reading = read_phrase(text, context)
            if reading is None:
                raise _unknown(phrase, hint=_AHEAD)
            at = reading.since if reading.dated or reading.day else reading.until
    if at <= now:
        raise Invalid(f"{_shown(phrase)} is past.", hint=_AHEAD)
    return at


def _read_when(phrase: str, context: TimeContext) -> Interval:
    return _read(phrase, context, lambda x: Interval(start=x.start, end=x.end))


def parse_since(phrase: str, *, now: datetime, zone: tzinfo) -> datetime:
    """The start of the phrase's interval; exact where it names an instant (`9am`, `3 hours ago`).

    Raises Invalid for any other text, and where there is no start (`before monday`).
    """
    return _read_since(phrase, _context_of(now, zone))


def parse_until(phrase: str, *, now: datetime, zone: tzinfo) -> datetime:
    """The end of the phrase's interval, so that the whole day counts; an instant is exact.

    Raises Invalid for any other text, and where there is no end (`since monday`).
    """
    return _read_until(phrase, _context_of(now, zone))


def read_interval(
    *, when: str | None, since: str | None, until: str | None, now: datetime, zone: tzinfo
) -> Interval | None:
    """The time that all the arguments given have in common; None where none is given.

    With both bounds a bare name in since (`monday`) is the latest not after until. Raises Invalid
    for a phrase that is none, and, naming the arguments, where they have no time in common.
    """
    context = _context_of(now, zone)
    whole = Interval() if when is None else parse_when(when, now=now, zone=zone)
    end = None if until is None else _read_until(until, context)
    start = (
        None
        if since is None
        else _read_since(since, context if end is None else _up_to(end, context))
    )
    named = {"when": when, "since": since, "until": until}
    given = [f"{name} {_shown(phrase)}" for name, phrase in named.items() if phrase is not None]
    if not given:
        return None
    common = Interval(
        start=max((at for at in (whole.start, start) if at is not None), default=None),
        end=min((at for at in (whole.end, end) if at is not None), default=None),
    )
    if common.start is not None and common.end is not None and common.start >= common.end:
        raise Invalid(
            f"No time lies within {' and '.join(given)}.",
            hint="Put since before until, or leave one out.",
        )
    return common


def _context_of(now: datetime, zone: tzinfo) -> TimeContext:
    at = now.astimezone(UTC)
    return TimeContext(now=at, zone=zone, latest=at, given=True)


def _up_to(end: datetime, context: TimeContext) -> TimeContext:
    return replace(context, latest=min(context.now, end - _TICK))


def _read_since(phrase: str, context: TimeContext) -> datetime:
    start = _read_bound(phrase, context).start
    if start is None:
        raise Invalid(f"No beginning in {_shown(phrase)}.", hint="Give it as until.")
    return start


def _read_until(phrase: str, context: TimeContext) -> datetime:
    end = _read_bound(phrase, replace(context, is_end=True)).end
    if end is None:
        raise Invalid(f"No end in {_shown(phrase)}.", hint="Give it as since.")
    return end


def _read_bound(phrase: str, context: TimeContext) -> Interval:
    return _read(phrase, context, lambda x: Interval(start=x.since, end=x.until))


def _read(phrase: str, context: TimeContext, span: Callable[[Reading], Interval]) -> Interval:
    text = _normal(phrase)
    with within_calendar(phrase):
        if reading := read_phrase(text, context):
            return span(reading)
        return _read_two(text, context) or _read_range(text, phrase, context)


def _read_two(text: str, context: TimeContext) -> Interval | None:
    """The shortest span that holds both of two names of a kind, such as two weekdays.

    None for any other text, and where one of the two has not begun.
    """
    found = next((x for pattern in _TWO if (x := re.fullmatch(pattern, text))), None)
    second = read_phrase(found["second"], context) if found else None
    if found is None or second is None or (found["own"] and not found["theirs"]):
        return None
    spans: list[tuple[datetime, datetime]] = []
    # `december and january` are of two years, `july and june` are of one.
    for name, side in (
        (found["first"], _up_to(second.end, context)),
        (found["first"] if found["own"] else found["first"] + found["theirs"], context),
    ):
        with suppress(Invalid):
            first = read_phrase(name, side)
            if first and max(first.start, second.start) <= context.now:
                spans.append((min(first.start, second.start), max(first.end, second.end)))
    if not spans:
        return None
    start, end = min(spans, key=lambda span: span[1] - span[0])
    return Interval(start=start, end=end)


def _read_range(text: str, phrase: str, context: TimeContext) -> Interval:
    def read(side: str, context: TimeContext) -> Reading:
        reading = read_phrase(side, context)
        if reading is None:
            raise _unknown(phrase)
        return reading

    one_side = re.fullmatch(r"(since|after|before|until|till|through|up to) (.+)", text)
    if one_side and not re.search(_TO, one_side[2]):
        is_end = one_side[1] not in {"since", "after"}
        side = read(one_side[2], replace(context, is_end=is_end))
        return _one_sided(one_side[1], side, phrase, context)
    context = replace(context, is_end=False)
    first, last = _two_sides(text, phrase)
    ending = read(last, replace(context, is_end=True))
    end = ending.until
    beginning = read(first, _up_to(end, context))
    start = beginning.since
    if start >= end:
        raise Invalid(
            f"Time phrase ends before it begins: {_shown(phrase)}.",
            hint="Put the earlier side first.",
        )
    # `nov 3 2025 to nov 5`, a year later: the same beginning, and an earlier end would do as well.
    earlier = read(last, replace(_up_to(ending.start, context), is_end=True)).until
    if start < earlier < end and read(first, _up_to(earlier, context)) == beginning:
        raise Invalid(
            f"Ambiguous time phrase: {_shown(phrase)}.", hint="Name the day or year of both sides."
        )
    return Interval(start=start, end=end)


def _one_sided(word: str, reading: Reading, phrase: str, context: TimeContext) -> Interval:
    match word:
        case "since":
            return Interval(start=reading.since)
        case "after":
            if reading.after > context.now and not reading.dated:
                raise Invalid(
                    f"Time phrase lies ahead: {_shown(phrase)}.",
                    hint="Use since, or name a time that has ended.",
                )
            return Interval(start=reading.after)
        case "before":
            return Interval(end=reading.before)
        case _:
            return Interval(end=reading.until)


def _two_sides(text: str, phrase: str) -> tuple[str, str]:
    if text.startswith("between "):
        sides = text.removeprefix("between ").split(" and ")
    elif ".." in text:
        sides = [side.strip() for side in text.split("..")]
    else:
        sides = re.split(_TO, re.sub(r"^(?:from|since) ", "", text))
    if len(sides) != 2 or not all(sides):  # noqa: PLR2004  a range has two sides
        raise _unknown(phrase)
    return sides[0], sides[1]


def _normal(phrase: str) -> str:
    """The phrase in lower case and single spaces, less the quotes around it and closing marks."""
    if len(phrase) > LONGEST_PHRASE:
        raise _unknown(phrase)
    text = " ".join(unicodedata.normalize("NFC", phrase).lower().split())
    # Dots at the end may be half of a range: they stay, and nothing reads them.
    closed = text if ".." in text[len(text.rstrip(_CLOSING)) :] else text.rstrip(_CLOSING)
    text = closed.lstrip(_QUOTES).strip()
    text = re.sub(r" ?[\u2013\u2014] ?| - ", " to ", text).replace(", ", " ")
    text = re.sub(r"\b([ap])\.m\b\.?", r"\1m", text)
    text = re.sub(r"(?<=[a-z])\.(?= )", "", text)
    text = re.sub(r"\b(new year|valentine)['\u2019]s\b", r"\1", text)
    text = re.sub(r"\b(?:a )?couple(?: of)?\b", "two", text)
    return re.sub(r"\bhalf an hour\b", "30 minutes", text)


def _shown(phrase: str) -> str:
    return repr(opening(phrase, 80))


def _unknown(phrase: str, *, hint: str = _EXAMPLES) -> Invalid:
    return Invalid(f"Unknown time phrase: {_shown(phrase)}.", hint=hint)
