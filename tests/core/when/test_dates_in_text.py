"""Days and months that a text names, brought to one spelling."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from commonplace.core.when.dates_in_text import days_named, find_written, with_days
from commonplace.core.when.phrases import parse_when

NOW = datetime(2026, 3, 28, 11, 30, tzinfo=UTC)


def spelled(text):
    """The days of a text in their one spelling."""
    return [day.spelled for day in days_named(text)]


@pytest.mark.parametrize(
    "text",
    [
        "the meeting of 2025-12-03",
        "at 2025-12-03T10:00",
        "2025/12/3.",
        "3 December 2025",
        "the 3rd of december, 2025",
        "Dec. 3rd, 2025",
        "on dec 3 2025",
        "3.12.2025",
    ],
)
def test_a_day_has_one_spelling(text):
    """By numbers or by the name of its month."""
    assert spelled(text) == ["20251203"]


def test_what_may_be_another_day_is_left():
    """Which of two numbers is the month, a month without its day, a day that is none."""
    assert spelled("5/6/2025, December 2025, 2025-13-40, 3 December, 12025-12-03") == []
    assert spelled("13/12/2025 or 12/13/2025") == ["20251213", "20251213"]


def test_all_days_of_a_text_are_read():
    """Side by side, and across a long text."""
    text = "from 1 May 2025 to 2025-05-03" + " and so on" * 50 + " till May 7, 2025"
    assert spelled(text) == ["20250501", "20250503", "20250507"]


def test_a_question_asks_for_a_day_in_one_spelling():
    """The words of its own stay beside it, but for numbers that stand in many texts."""
    assert with_days("the review of 2025-12-03, please") == (
        "the review of 2025 20251203 december, please"
    )
    assert with_days("of Dec. 3rd, 2025") == "of Dec. 3rd, 2025 20251203 december"
    assert with_days("of 3 December 2025") == "of 3 December 2025 20251203"
    assert with_days("no day at all") == "no day at all"


@pytest.mark.parametrize(
    ("phrase", "naming", "others"),
    [
        (
            "2025-12-03",
            ["by 3 Dec. 2025", "since 3.12.2025", "at 2025-12-03T10:00"],
            ["December 2025", "2025-12-04", "3/12/2025", "December 3"],
        ),
        (
            "december 2025",
            ["in Dec, 2025", "of 2025/12", "by 3 December 2025", "on 13.12.2025"],
            ["December", "2025-11", "12/2025", "12025-12"],
        ),
    ],
)
def test_a_text_names_a_day_or_a_month(phrase, naming, others):
    """Of a month a day of it will do; what may be another one will not."""
    written = find_written(parse_when(phrase, now=NOW, zone=UTC), UTC)
    assert [text for text in (*naming, *others) if written.is_in(text)] == naming


def test_a_day_and_a_month_are_searched_for_in_their_spellings():
    """By number and by name; no other time is written in one way."""
    times = ("2025-12-03", "december 2025", "last week", "before 2025")
    found = [find_written(parse_when(x, now=NOW, zone=UTC), UTC) for x in times]
    assert found == [
        ("2025-12-03 3 december 2025", "20251203"),
        ("2025-12 december 2025", "202512"),
        None,
        None,
    ]
