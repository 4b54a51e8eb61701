"""The kit of answers: notes, times, intervals, cursors and the errors for wrong names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from tests.cases import cases

from commonplace.core.values import Interval
from commonplace.verbs.answers import (
    ago,
    answer_of,
    cursor_lines,
    either,
    first_refs,
    interval_facts,
    one_line,
    rounded,
    time_lines,
    time_of,
    tokens_of,
    unknown_name,
    when_of,
)

LOS_ANGELES = ZoneInfo("America/Los_Angeles")
NOW = datetime.fromisoformat("2026-11-21 15:19:45-08:00")


def test_notes_stand_below_the_text_and_among_the_facts():
    """A blank line apart, however the text ends; an answer without any has an empty list."""
    answer = answer_of(["a", "b\n"], {"count": 2}, ["one", "two"])
    assert answer.text == "a\nb\n\nNote: one\nNote: two"
    assert answer.facts == {"count": 2, "notes": ["one", "two"]}
    plain = answer_of(["a\n"], {})
    assert (plain.text, plain.facts) == ("a\n", {"notes": []})


def test_later_notes_follow_the_earlier_ones():
    """Without a second blank line."""
    answer = answer_of(["a"], {}, ["one"]).noting(["two"])
    assert answer.text == "a\n\nNote: one\nNote: two"
    assert answer.facts["notes"] == ["one", "two"]


# It is 15:19 on Saturday the 21st; the clocks had gone back on the 1st.
@cases(
    ("at", "words"),
    [
        ("2026-11-21 15:19:45-08:00", "just now"),
        ("2026-11-21 15:18:46-08:00", "just now"),
        ("2026-11-21 15:18:45-08:00", "1 minute ago"),
        ("2026-11-21 14:19:46-08:00", "59 minutes ago"),
        ("2026-11-21 14:19:45-08:00", "1 hour ago"),
        ("2026-11-20 15:19:46-08:00", "23 hours ago"),
        ("2026-11-20 15:19:45-08:00", "1 day ago"),
        ("2026-11-20 00:00-08:00", "1 day ago"),
        ("2026-11-19 23:59-08:00", "2 days ago"),  # 39 hours
        ("2026-11-14 23:00-08:00", "7 days ago"),
        ("2026-11-08 09:00-08:00", "13 days ago"),
        ("2026-11-07 23:00-08:00", "2 weeks ago"),
        ("2026-11-01 00:30-07:00", "about 3 weeks ago"),
        ("2026-09-27 12:00-07:00", "about 8 weeks ago"),
        ("2026-09-26 12:00-07:00", "about 2 months ago"),
        ("2026-09-21 12:00-07:00", "about 2 months ago"),
        ("2025-11-21 12:00-08:00", "about 12 months ago"),
        ("2025-06-21 12:00-07:00", "about 17 months ago"),
        ("2024-12-06 12:00-08:00", "about 23 months ago"),
        ("2024-12-05 12:00-08:00", "about 2 years ago"),
        ("2016-11-21 12:00-08:00", "about 10 years ago"),
        ("2026-11-21 15:19:50-08:00", "ahead"),
    ],
)
def test_an_age_counts_the_days_of_the_calendar(at, words):
    """In the owner's zone from a day on; what is longer is rounded, and says so."""
    assert ago(datetime.fromisoformat(at), NOW, LOS_ANGELES) == words


def test_an_age_over_midnight_is_of_the_clock_and_a_day_of_25_hours_is_one():
    """Half a minute ago is no day ago; what was done today is none either."""
    midnight = datetime.fromisoformat("2026-11-21 00:00:10-08:00")
    assert ago(midnight - timedelta(seconds=30), midnight, LOS_ANGELES) == "just now"
    late = datetime.fromisoformat("2026-11-01 23:50-08:00")
    assert ago(datetime.fromisoformat("2026-11-01 00:10-07:00"), late, LOS_ANGELES) == (
        "24 hours ago"
    )


def test_a_time_is_on_the_owners_clock():
    """To the minute; where the calendar of the zone ends, on UTC's."""
    assert when_of(NOW, LOS_ANGELES) == "2026-11-21 15:19"
    assert time_of(NOW, UTC) == "23:19"
    first = datetime(1, 1, 1, 3, 30, tzinfo=UTC)
    assert when_of(first, LOS_ANGELES) == "0001-01-01 03:30"


def test_a_time_that_was_kept_to_is_named():
    """With the words it was read from, cut and on one line; no time has no line."""
    span = Interval(start=datetime(2026, 11, 3, tzinfo=UTC), end=datetime(2026, 11, 4, tzinfo=UTC))
    line = "Time: 2026-11-03 00:00 to 2026-11-04 00:00 (UTC)"
    assert time_lines(span, UTC) == [line]
    assert time_lines(span, UTC, "3\nNov") == [f"{line}, read from '3<U+000A>Nov'"]
    assert time_lines(None, UTC, "x") == []
    since = {"since": "2026-11-03T00:00:00+00:00", "until": None}
    assert interval_facts(Interval(start=span.start)) == since
    assert interval_facts(None) is None


def test_a_cursor_is_named_where_there_is_more():
    """The last page names none."""
    assert cursor_lines("r10.20") == ["More with cursor r10.20"]
    assert cursor_lines("") == []


def test_stored_text_begins_no_line():
    """Its line breaks become spaces, its hidden signs visible."""
    assert one_line(" a\n- b\u202e ") == "a - b<U+202E>"


def test_five_refs_are_shown_and_the_rest_counted():
    """Each on its line."""
    assert first_refs(["a", "b\n"]) == ["a", "b<U+000A>"]
    assert first_refs([str(number) for number in range(7)]) == [*"01234", "and 2 more"]


def test_an_answer_costs_what_its_text_does():
    """Four bytes are a token, rounded up; a model is not given the facts."""
    assert tokens_of(answer_of(["x" * 400], {})) == 100
    assert tokens_of(answer_of(["界" * 3], {"text": "x" * 400})) == 3  # 9 bytes
    assert (rounded(0.12345), rounded(None)) == (0.123, None)


def test_an_unknown_name_has_its_neighbours():
    """The nearest one first, then all there are."""
    error = unknown_name("Unknown fruit: 'aple'.", "aple", ["apple", "pear", "plum"])
    assert error.message == "Unknown fruit: 'aple'."
    assert error.hint == "Did you mean apple? Use apple, pear or plum."
    assert either(["one"]) == "one"
