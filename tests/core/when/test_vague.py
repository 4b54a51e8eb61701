"""Vague times in questions: wide intervals worked out by hand, for what only leans to them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases
from tests.core.when.test_feasts import READINGS as FEASTS
from tests.core.when.test_phrases import NOW, READINGS, nows, span, zones
from tests.core.zones import LOS_ANGELES

from commonplace.core.errors import Invalid
from commonplace.core.when.inside import FoundWhen, find_when
from commonplace.core.when.phrases import parse_since, parse_until, parse_when

NOW_TEXT = "2026-11-21 15:19:45"
PHRASES = [
    # The last days and weeks
    ("recently", "2026-10-22 16:19:45-07:00", NOW_TEXT),
    ("lately", "2026-10-22 16:19:45-07:00", NOW_TEXT),
    ("the other day", "2026-11-07", "2026-11-21"),
    ("not long ago", "2026-09-21 15:19:45-07:00", NOW_TEXT),
    ("not too long ago", "2026-09-21 15:19:45-07:00", NOW_TEXT),
    ("in the past few weeks", "2026-10-17 16:19:45-07:00", NOW_TEXT),
    ("over the last few days", "2026-11-16 15:19:45", NOW_TEXT),
    ("in the last few months", "2026-06-21 15:19:45-07:00", NOW_TEXT),
    ("in recent years", "2021-11-21 15:19:45", NOW_TEXT),
    # Long ago
    ("a while ago", "2025-11-21", "2026-11-08"),
    ("a while back", "2025-11-21", "2026-11-08"),
    ("quite a while ago", "2025-11-21", "2026-11-08"),
    ("some time ago", "2025-11-21", "2026-11-08"),
    ("years ago", "", "2025-01-01"),
    ("many years ago", "", "2025-01-01"),
    ("months ago", "2026-01-01", "2026-10-01-07:00"),
    ("weeks ago", "2026-09-07-07:00", "2026-11-09"),
    # From five to two of a unit
    ("a few minutes ago", "2026-11-21 15:14:45", "2026-11-21 15:17:45"),
    ("a few hours ago", "2026-11-21 10:19:45", "2026-11-21 13:19:45"),
    ("a few days ago", "2026-11-16", "2026-11-20"),
    ("a few days back", "2026-11-16", "2026-11-20"),
    ("several days ago", "2026-11-16", "2026-11-20"),
    ("a few weeks ago", "2026-10-12-07:00", "2026-11-09"),
    ("some weeks ago", "2026-10-12-07:00", "2026-11-09"),
    ("a few months ago", "2026-06-01-07:00", "2026-10-01-07:00"),
    ("a few years ago", "2021-01-01", "2025-01-01"),
    # So many, more or less
    ("about an hour ago", "2026-11-21 13:49:45", "2026-11-21 14:49:45"),
    ("about 3 days ago", "2026-11-17", "2026-11-20"),
    ("about a week ago", "2026-11-10", "2026-11-19"),
    ("roughly two weeks ago", "2026-11-03", "2026-11-12"),
    ("around 20 days ago", "2026-10-27-07:00", "2026-11-07"),
    ("about a month ago", "2026-10-07-07:00", "2026-11-07"),
    ("almost 6 months ago", "2026-04-10-07:00", "2026-07-10-07:00"),
    ("about a year ago", "2025-05-22-07:00", "2026-05-24-07:00"),
]


@cases(("phrase", "start", "end"), PHRASES)
def test_a_vague_time_in_a_question_is_a_wide_interval(phrase, start, end):
    """On Saturday 2026-11-21 at 15:19:45 in Los Angeles; the words around it stay."""
    for question in ("why did I cry {}", "why did I cry {}, and where"):
        found = find_when(question.format(phrase), now=NOW, zone=LOS_ANGELES)
        left = question.format("").replace(" , and", " and").strip()
        assert found == FoundWhen(text=left, phrase=phrase, interval=span(start, end), vague=True)


@cases(
    ("question", "phrase", "left"),
    [
        ("what have I been working on lately?", "lately", "what have I been working on"),
        ("what was I working on the other day", "the other day", "what was I working on"),
        ("what did I recently learn about rust", "recently", "what did I learn about rust"),
        ("recently I moved", "recently", "I moved"),
        ("The other day I saw a bug", "The other day", "I saw a bug"),
        ("about a week ago I fixed it", "about a week ago", "I fixed it"),
        ("a few days ago deploys failed", "a few days ago", "deploys failed"),
        ("the other day's bug", "the other day's", "bug"),
        ("notes from a few weeks ago", "from a few weeks ago", "notes"),
        ("what did I write about a month ago", "about a month ago", "what did I write"),
        ("A few days ago?", "A few days ago", ""),
        ("what did I hear of recently", "recently", "what did I hear of"),
    ],
)
def test_a_vague_time_stands_where_a_time_does(question, phrase, left):
    """At either end, after a preposition, before the thing, or between who did and what was done."""
    found = find_when(question, now=NOW, zone=LOS_ANGELES)
    assert (found.text, found.phrase, found.vague) == (left, phrase, True)


@cases(
    "question",
    [
        "the recently viewed page",
        "how recently did I deploy",
        "until recently",
        "more recently than May",
        "since a while ago",
        "once in a while",
        "the last few days of school",
        "twenty years ago I wrote a parser",
        "thousands of years ago",
        "two and a half years ago",
        "1.5 years ago",
        "more than 3 days ago",
        "about 0 days ago",
        "about 999999999 years ago",
        'the song "years ago"',
        "what did I get back",
        "a few days",
    ],
)
def test_what_is_only_like_a_vague_time_is_left(question):
    """A measure, a part of a name, a number that is not understood."""
    assert find_when(question, now=NOW, zone=LOS_ANGELES) == FoundWhen(text=question)


def test_a_plain_time_beside_a_vague_one_is_read():
    """It says more; two vague ones are two times."""
    question = "which cake did I make recently in May 2025"
    assert find_when(question, now=NOW, zone=LOS_ANGELES) == FoundWhen(
        text="which cake did I make recently",
        phrase="in May 2025",
        interval=span("2025-05-01-07:00", "2025-06-01-07:00"),
    )
    question = "what did I say a few days ago, and recently"
    assert find_when(question, now=NOW, zone=LOS_ANGELES) == FoundWhen(text=question)


@cases("phrase", [phrase for phrase, _, _ in PHRASES])
@cases("parse", [parse_when, parse_since, parse_until])
def test_what_cuts_takes_no_vague_time(parse, phrase):
    """`when`, `since` and `until` ask for a plain one, with examples."""
    with pytest.raises(Invalid, match="Unknown time phrase") as refused:
        parse(phrase, now=NOW, zone=LOS_ANGELES)
    assert "yesterday" in refused.value.hint


def test_a_plain_time_is_not_vague():
    """Not even a wide one."""
    for phrase in (
        "in 2019 or 2020",
        "around christmas",
        "a couple of days ago",
        "the past 3 weeks",
    ):
        found = find_when(f"why did I cry {phrase}", now=NOW, zone=LOS_ANGELES)
        assert (found.phrase, found.vague) == (phrase, False)


LOOKING_BACK = [
    *(phrase for phrase, _, _ in PHRASES),
    *(phrase for phrase, _, _ in FEASTS if not any(sign.isdigit() for sign in phrase)),
    *("on monday and tuesday", "in june and july", "in q3 or q4", "over the summer"),
    *("in december and january", "in the second half of last year", "in winter or spring"),
    *(phrase for phrase, _, _ in READINGS if phrase.startswith(("last ", "this "))),
]


@given(st.sampled_from(LOOKING_BACK), nows, zones)
def test_a_reading_holds_nothing_ahead_but_the_rest_of_what_runs(phrase, now, zone):
    """At any instant and in any zone; no word is added, moved or lost."""
    question = f"why did I cry {phrase}"
    found = find_when(question, now=now, zone=zone)
    assert f"{found.text} {found.phrase}".strip() == question
    if found.interval is None:
        assert not found.vague
        return
    start, end = found.interval.start, found.interval.end
    assert start is None or start <= now
    assert end is None or end <= now or (not found.vague and start is not None)
    assert start is None or end is None or start < end
