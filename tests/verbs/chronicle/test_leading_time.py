"""A time that stands before what is logged."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from commonplace.core.errors import Invalid
from commonplace.verbs.chronicle.leading_time import split_time

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "message", "at"),
    [
        ("yesterday 9am: fixed", "fixed", datetime(2026, 11, 17, 9, tzinfo=UTC)),
        ("2026-11-03 10:15: met Ana", "met Ana", datetime(2026, 11, 3, 10, 15, tzinfo=UTC)),
        ("9:30: stand-up: short", "stand-up: short", datetime(2026, 11, 18, 9, 30, tzinfo=UTC)),
        ("9am: stand-up", "stand-up", datetime(2026, 11, 18, 9, tzinfo=UTC)),
        ("last week: away", "away", datetime(2026, 11, 9, tzinfo=UTC)),
        ("now: x", "x", NOON),
        ("today: x", "x", NOON),
        ("this week: x", "x", NOON),
    ],
)
def test_times_in_front(text, message, at):
    """What stands before the colon and is past is the time; a day still running is now."""
    assert split_time(text, now=NOON, zone=UTC, otherwise="Or so.") == (message, at)


@pytest.mark.parametrize(
    "text",
    [
        "fix: the build",
        "fix:the build",
        "yesterday 9am:fixed",
        "yesterday: ",
        "2027-01-01: a plan",
        "since monday: busy",
        "before monday: busy",
        "spring: planted",
        "2026: a plan",
        "read 9:30: a novel",
        "tomorrow: rest",
        ": x",
        "no colon",
        "x" * 1000 + ": y",
    ],
)
def test_colons_of_the_message(text):
    """All else stays in the message."""
    assert split_time(text, now=NOON, zone=UTC, otherwise="Or so.") == (text, None)


@pytest.mark.parametrize(
    "phrase",
    [
        "31 february",
        "feb 29 2026",
        "2026-02-30",
        "yesterday at 9",
        "yesterday 9",
        "friday 13",
        "25:00",
        "friday nov 19 2026",
    ],
)
def test_a_time_that_cannot_be(phrase):
    """A day that its month has not, an hour that may be one of two: an error, never now."""
    with pytest.raises(Invalid) as failed:
        split_time(f"{phrase}: paid", now=NOON, zone=UTC, otherwise="Or so.")
    assert failed.value.hint.endswith(" Or so.")
