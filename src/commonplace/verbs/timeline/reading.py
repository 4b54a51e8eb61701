"""How a period or a time of the timeline is read from what a person or a model wrote.

Never asks a journal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.clock import find_period_key, period, render_interval
from commonplace.core.errors import Invalid
from commonplace.core.text import nearest, opening
from commonplace.core.values import Interval
from commonplace.core.when.phrases import parse_when
from commonplace.journals.timeline.entry import JOURNAL, LEVELS, PERIODS
from commonplace.verbs.times import naming, read_span

if TYPE_CHECKING:
    from commonplace.core.clock import Level
    from commonplace.verbs.times import Clocked


def find_id(text: str) -> str:
    """The id in a ref of the timeline; empty for any other text."""
    journal, _, entry_id = text.strip().partition(":")
    return entry_id if journal == JOURNAL else ""


def parse_interval(
    service: Clocked,
    *,
    when: str = "",
    since: str = "",
    until: str = "",
    names: tuple[str, str] = ("since", "until"),
) -> Interval | None:
    """The time that the phrases have in common; None where none is given; see `read_span`.

    Alone, `when` may be any period's name (`2026-10-07 14`), as answers show it.
    Raises: Invalid, naming the argument.
    """
    when, since, until = when.strip(), since.strip(), until.strip()
    if when and not (since or until):
        with naming("when"):
            key = find_period_key(when, service.zone)
        if key is not None:
            return key[1]
    return read_span(service, since, until, when=when, names=names)


def read_named(service: Clocked, text: str, *, argument: str = "at") -> Interval:
    """The time that names a period: its name (`2026-W41`, `2026-10-07 14`), or a phrase.

    Raises: Invalid, naming the argument, also for what has no beginning or has not begun.
    """
    now, zone = service.clock(), service.zone
    with naming(argument):
        key = find_period_key(text, zone)
        found = parse_when(text, now=now, zone=zone) if key is None else key[1]
        if found.start is None:
            raise Invalid(f"No beginning in {opening(text, 80)!r}.", hint="Name a period.")
        render_interval(found, zone)
        if found.start > now:
            raise Invalid(f"{opening(text, 80)!r} lies ahead.", hint="Name a time that has begun.")
    return found


def read_time(service: Clocked, text: str) -> tuple[Level | None, Interval]:
    """The time that a text names, by a period's name or by a phrase such as `last week`.

    The level is None where it is not one hour, day, week, month or year. Raises: Invalid.
    """
    with naming("period"):
        key = find_period_key(text, service.zone)
    named = read_named(service, text, argument="period")
    if key is not None:
        return key
    assert named.start is not None
    levels = (each for each in LEVELS if period(named.start, each, service.zone) == named)
    return next(levels, None), named


def read_period(service: Clocked, text: str) -> tuple[Level, Interval]:
    """The one period that a text names; see `read_time`. Raises: Invalid, also for another time."""
    level, named = read_time(service, text)
    if level is not None:
        return level, named
    raise Invalid(
        f"Invalid period: {opening(text, 60)!r} is not one hour, day, week, month or year.",
        hint="Use one such as 2026, 2026-10, 2026-W41, 2026-10-07, '2026-10-07 14' or last week.",
    )


def parse_period(text: str) -> Level:
    """The level of `hourly`, `daily`, `weekly`, `monthly` or `yearly`. Raises: Invalid."""
    for name, level in PERIODS.items():
        if text.strip().lower() in {name, f"{name}_rollup", level}:
            return level
    near = nearest(text, list(PERIODS))
    guess = f"Did you mean {near}? " if near else ""
    raise Invalid(
        f"Invalid period: {opening(text, 60)!r}.", hint=f"{guess}Use one of {', '.join(PERIODS)}."
    )
