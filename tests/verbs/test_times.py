"""since, until and timeframe are real: counted by hand on a fixed log over DST days and year ends."""

from __future__ import annotations

from datetime import datetime

import pytest
from tests.cases import cases
from tests.verbs.chronicle_world import LOS_ANGELES, NOW, ChronicleWorld, messages

from commonplace.core.clock import render_interval
from commonplace.core.values import Interval

# In order of time. Los Angeles goes from -08:00 to -07:00 on 8 March and back on 1 November.
LOG = {
    "a": "2025-12-31 23:59:59-08:00",
    "b": "2026-01-01 00:00-08:00",
    "c": "2026-03-07 23:30-08:00",
    "d": "2026-03-08 00:30-08:00",
    "e": "2026-03-08 03:30-07:00",
    "f": "2026-03-08 23:59-07:00",
    "g": "2026-03-09 00:00-07:00",
    "h": "2026-10-31 23:30-07:00",
    "i": "2026-11-01 00:30-07:00",
    "j": "2026-11-01 01:30-07:00",
    "k": "2026-11-01 01:30-08:00",
    "l": "2026-11-01 23:59-08:00",
    "m": "2026-11-02 00:00-08:00",
    "n": "2026-11-20 09:00-08:00",
    "o": "2026-11-20 18:00-08:00",
    "p": "2026-11-21 08:00-08:00",
    "q": "2026-11-21 12:30-08:00",
    "r": "2026-11-21 15:10-08:00",
}
ALL = "".join(LOG)

FELL_BACK = "2026-11-01 12:00-08:00"
SPRANG_FORWARD = "2026-03-08 12:00-07:00"
NEW_YEAR = "2026-01-01 00:30-08:00"

TIMEFRAMES = [
    ("today", "pqr"),
    ("yesterday", "no"),
    ("this week", "nopqr"),
    ("last week", ""),
    ("2 weeks ago", "m"),
    ("3 weeks ago", "hijkl"),
    ("last 3 hours", "qr"),
    ("last 8 hours", "pqr"),
    ("last 24 hours", "opqr"),
    ("past 2 days", "nopqr"),
    ("last 10 minutes", "r"),
    ("last 5 minutes", ""),
    ("3 hours ago", "q"),
    ("2 hours ago", ""),
    ("this month", "ijklmnopqr"),
    ("month to date", "ijklmnopqr"),
    ("last month", "h"),
    ("november 1", "ijkl"),
    ("2026-11-01", "ijkl"),
    ("20 days ago", "ijkl"),
    ("19 days ago", "m"),
    ("october 31", "h"),
    ("march 7", "c"),
    ("march 8", "def"),
    ("2026-03-09", "g"),
    ("march", "cdefg"),
    ("the week of march 8", "cdef"),
    ("week of nov 1", "hijkl"),
    ("2026-W10", "cdef"),
    ("2026-W01", "ab"),
    ("2025", "a"),
    ("this year", ALL[1:]),
    ("last year", "a"),
    ("dec 31", "a"),
    ("jan 1", "b"),
    ("q1", "bcdefg"),
    ("q4 2025", "a"),
    ("q4", "hijklmnopqr"),
    ("spring", "cdefg"),
    ("summer", ""),
    ("this morning", "p"),
    ("this afternoon", "qr"),
    ("yesterday morning", "n"),
    ("yesterday evening", "o"),
    ("last night", "o"),
    ("last friday", "no"),
    ("saturday", "pqr"),
    ("last saturday", ""),
    ("2026-10-31..2026-11-01", "hijkl"),
    ("between march 7 and march 8", "cdef"),
    ("from december 31 to january 1", "ab"),
    ("since november 20", "nopqr"),
    ("after november 20", "pqr"),
    ("before 2026", "a"),
    ("until november 1", ALL[: ALL.index("m")]),
    ("today", "ijkl", FELL_BACK),
    ("yesterday", "h", FELL_BACK),
    ("last 12 hours", "jk", FELL_BACK),
    ("last 13 hours", "ijk", FELL_BACK),
    ("last 24 hours", "hijk", FELL_BACK),
    ("this month", "ijklmnopqr", FELL_BACK),
    ("today", "def", SPRANG_FORWARD),
    ("yesterday", "c", SPRANG_FORWARD),
    ("last 11 hours", "de", SPRANG_FORWARD),
    ("last 12 hours", "cde", SPRANG_FORWARD),
    ("this week", "cdef", SPRANG_FORWARD),
    ("today", "b", NEW_YEAR),
    ("yesterday", "a", NEW_YEAR),
    ("last 60 minutes", "ab", NEW_YEAR),
    ("this week", "ab", NEW_YEAR),
    ("last night", "ab", NEW_YEAR),
    ("last month", "a", NEW_YEAR),
    ("last quarter", "a", NEW_YEAR),
]

BOUNDS = [
    ({"since": "2026-11-21"}, "pqr"),
    ({"since": "yesterday"}, "nopqr"),
    ({"since": "monday"}, "nopqr"),
    ({"since": "9am"}, "qr"),
    ({"since": "3 hours ago"}, "qr"),
    ({"since": "last 24 hours"}, "opqr"),
    ({"since": "2026-11-01T01:30:00-07:00"}, ALL[ALL.index("j") :]),
    ({"since": "2026-11-01T01:30:00-08:00"}, ALL[ALL.index("k") :]),
    # What occurs twice is its first, what is skipped is moved on by the gap.
    ({"since": "2026-11-01 01:30"}, ALL[ALL.index("j") :]),
    ({"since": "2026-03-08 02:30"}, ALL[ALL.index("e") :]),
    ({"until": "2026-11-01"}, ALL[: ALL.index("m")]),
    ({"until": "2026-10-31"}, ALL[: ALL.index("i")]),
    ({"until": "2026-11-01T01:30:00-07:00"}, ALL[: ALL.index("j")]),
    ({"until": "yesterday"}, ALL[: ALL.index("p")]),
    ({"until": "march 8"}, ALL[: ALL.index("g")]),
    ({"until": "last year"}, "a"),
    ({"since": "march 8", "until": "march 8"}, "def"),
    ({"since": "november 1", "until": "november 2"}, "ijklm"),
    ({"since": "dec 31", "until": "jan 1"}, "ab"),
    ({"since": "friday", "until": "friday"}, "no"),
    ({"since": "last year", "until": "last month"}, ALL[: ALL.index("i")]),
]


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    """The fixed log, which no test here changes."""
    home, project = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("project")
    world = ChronicleWorld(home, project)
    world.log(*((at, f"entry {name}") for name, at in LOG.items()))
    yield world
    world.close()


def told(answer):
    """The names of the entries in an answer, oldest first."""
    names = {message.split()[1]: None for message in messages(answer)}
    assert len(names) == answer.facts["count"]
    return "".join(sorted(names))


def assert_shown(answer, expected):
    """The interval read is in the text and the facts, and divides the log as it should."""
    bounds = [answer.facts["interval"][side] for side in ("since", "until")]
    start, end = (bound and datetime.fromisoformat(bound) for bound in bounds)
    interval = Interval(start=start, end=end)
    assert answer.text.startswith(f"Time: {render_interval(interval, LOS_ANGELES)}\n")
    inside = [name for name, at in LOG.items() if interval.holds(datetime.fromisoformat(at))]
    assert "".join(inside) == expected


@cases("case", TIMEFRAMES)
def test_a_timeframe_tells_just_its_entries(logged, case):
    """what_was_i_doing counts what lies in the interval it shows, and nothing else."""
    phrase, expected, *now = case
    logged.clock.at = datetime.fromisoformat(now[0]) if now else NOW
    answer = logged("what_was_i_doing", timeframe=phrase)
    assert told(answer) == expected
    assert_shown(answer, expected)


@cases("text", ["", "entry"])
@cases(("bounds", "expected"), BOUNDS)
def test_since_and_until_bound_a_search(logged, text, bounds, expected):
    """search_entries finds just what lies between them, with a text and without."""
    logged.clock.at = NOW
    answer = logged("search_entries", text=text, limit=100, **bounds)
    assert told(answer) == expected
    assert_shown(answer, expected)


def test_the_interval_is_shown_on_the_owners_clock(logged):
    """The day the clocks fell back has its own offset on each side."""
    logged.clock.at = NOW
    answer = logged("search_entries", since="november 1", until="november 1")
    head = "Time: 2026-11-01 00:00 (UTC-07:00) to 2026-11-02 00:00 (UTC-08:00)\n"
    assert answer.text.startswith(head)
    assert answer.facts["interval"] == {
        "since": "2026-11-01T07:00:00+00:00",
        "until": "2026-11-02T08:00:00+00:00",
    }
