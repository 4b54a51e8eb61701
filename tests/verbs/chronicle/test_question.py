"""Questions about the log: what they are about, in which time, and what is wanted of the matches."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases
from tests.verbs.chronicle_world import LOS_ANGELES, NOW

from commonplace.core.errors import Invalid
from commonplace.verbs.chronicle.question import read_question


def read(what):
    return read_question(what, now=NOW, zone=LOS_ANGELES)


@cases(
    ("what", "about", "wants"),
    [
        ("deploy the api", "deploy the api", "best"),
        ("when did I deploy the api?", "deploy the api", "best"),
        ("When did we deploy the api", "deploy the api", "best"),
        ("when was it that I deployed", "deployed", "best"),
        ("what day did I deploy?!", "deploy", "best"),
        ("did I ever deploy", "deploy", "best"),
        ("how many times have I ever been to Rome in total", "been to Rome", "count"),
        ("how often did I deploy so far?", "deploy", "count"),
        ("did I already deploy yet", "deploy", "best"),
        ("when did I last deploy the api?", "deploy the api", "last"),
        ("when was the last time I deployed", "deployed", "last"),
        ("what was the last time that we deployed", "deployed", "last"),
        ("the last time I deployed", "deployed", "last"),
        ("last time I deployed", "deployed", "last"),
        ("when have I last had lunch with Bo", "had lunch with Bo", "last"),
        ("last deploy", "deploy", "last"),
        ("the last deploy", "deploy", "last"),
        ("latest deploy", "deploy", "last"),
        ("my most recent deploy to prod", "deploy to prod", "last"),
        ("when was the last deploy?", "deploy", "last"),
        ("when was our first release", "release", "first"),
        ("when did I deploy last", "deploy", "last"),
        ("when did we deploy the api most recently", "deploy the api", "last"),
        ("when was the api last deployed", "the api deployed", "last"),
        ("the last time the api was deployed", "the api was deployed", "last"),
        ("when did I leave my first job", "leave my first job", "best"),
        ("deploy what came last", "deploy what came last", "best"),
        ("the first time I used rust", "used rust", "first"),
        ("when did I first use rust", "use rust", "first"),
        ("how many times did I restart redis", "restart redis", "count"),
        ("how often have I been to the gym", "been to the gym", "count"),
        ("how many deployments did we make", "deployments", "count"),
        ("how many bugs did I fix", "bugs fix", "count"),
        ("how many times", "how many times", "count"),
        ("when did I", "when did I", "best"),
        # A vague time is a guess, by which nothing is counted.
        ("how often did I deploy recently", "deploy recently", "count"),
        ("when did I deploy a few days ago", "deploy a few days ago", "best"),
    ],
)
def test_a_question_says_what_is_wanted(what, about, wants):
    """The activity is what remains without the words that only ask."""
    asked = read(what)
    assert (asked.about, asked.wants, asked.within) == (about, wants, None)


# The start and end of the time on the clock of Los Angeles.
TIMES = [
    ("when did I deploy yesterday", "deploy", "2026-11-20 00:00-08:00", "2026-11-21 00:00-08:00"),
    ("deploy in October?", "deploy", "2026-10-01 00:00-07:00", "2026-11-01 00:00-07:00"),
    (
        "in October, when did I deploy?",
        "deploy",
        "2026-10-01 00:00-07:00",
        "2026-11-01 00:00-07:00",
    ),
    (
        "how many times this week did I deploy",
        "deploy",
        "2026-11-16 00:00-08:00",
        "2026-11-23 00:00-08:00",
    ),
    (
        "how many deploys this month",
        "deploys",
        "2026-11-01 00:00-07:00",
        "2026-12-01 00:00-08:00",
    ),
    ("when did I deploy 3 days ago", "deploy", "2026-11-18 00:00-08:00", "2026-11-19 00:00-08:00"),
    ("when did I deploy on nov 3", "deploy", "2026-11-03 00:00-08:00", "2026-11-04 00:00-08:00"),
    ("when did I deploy nov 3", "deploy", "2026-11-03 00:00-08:00", "2026-11-04 00:00-08:00"),
    ("when did I deploy 2026-11-03", "deploy", "2026-11-03 00:00-08:00", "2026-11-04 00:00-08:00"),
    (
        "when did I last deploy 3 november 2025",
        "deploy",
        "2025-11-03 00:00-08:00",
        "2025-11-04 00:00-08:00",
    ),
    ("did I deploy in 2025", "deploy", "2025-01-01 00:00-08:00", "2026-01-01 00:00-08:00"),
    (
        "when did I deploy at 9am yesterday",
        "deploy",
        "2026-11-20 09:00-08:00",
        "2026-11-20 10:00-08:00",
    ),
    (
        "what broke between monday and wednesday",
        "what broke",
        "2026-11-16 00:00-08:00",
        "2026-11-19 00:00-08:00",
    ),
    ("how often did I run since monday", "run", "2026-11-16 00:00-08:00", None),
    ("when did I run before 2026", "run", None, "2026-01-01 00:00-08:00"),
]


@cases(("what", "about", "start", "end"), TIMES)
def test_time_words_inside_the_question_narrow_it(what, about, start, end):
    """Where ever they stand they are taken out, and read as `core.when` reads them."""
    asked = read(what)
    assert asked.about == about
    assert asked.within is not None
    assert asked.within.start == (start and datetime.fromisoformat(start))
    assert asked.within.end == (end and datetime.fromisoformat(end))


@cases(
    "what",
    [
        "fix port 8080",
        "see error 2002",
        "install python 3",
        "upgrade to postgres 17",
        "deploy v2.1.0",
        "run the 9am job",
        "read the today page",
        "leave my last day at the office",
        "fix the bug in the parser",
        "start the march plan",
        "write about 24/7 support",
        "sit down on the bench",
        "merge from main to develop",
    ],
)
def test_what_only_may_be_a_time_is_none(what):
    """A number or a name that belongs to the thing done never narrows the search."""
    asked = read(f"when did I {what}?")
    assert (asked.about, asked.within) == (what, None)


@cases("what", ["", " ", "?", " ?! ", "..."])
def test_an_empty_question_is_refused(what):
    """Nothing asked is an error that says what to give."""
    with pytest.raises(Invalid, match="Invalid what: it is empty"):
        read(what)


def test_time_alone_is_what_it_is_about():
    """A question of time words alone still has words to search for."""
    assert read("yesterday").about == "yesterday"


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(what):
    """No text raises anything but Invalid, and what is read is never blank."""
    try:
        asked = read(what)
    except Invalid:
        return
    assert asked.about.strip()
