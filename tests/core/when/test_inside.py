"""Times inside questions: which words are read, what they name, and what of the question is left."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases
from tests.core.when.test_phrases import NOW, READINGS, at, span
from tests.core.zones import APIA, KATHMANDU, LOS_ANGELES, ZONES

from commonplace.core.when.inside import LONGEST_QUESTION, FoundWhen, find_when
from commonplace.core.when.phrases import parse_when


def find(text: str, now: datetime = NOW, zone=LOS_ANGELES) -> FoundWhen:
    return find_when(text, now=now, zone=zone)


READ = [
    # Alone
    ("why did we leave Postgres last spring", "why did we leave Postgres", "last spring", "2026-03-01", "2026-06-01-07:00"),
    ("what did I do yesterday", "what did I do", "yesterday", "2026-11-20", "2026-11-21"),
    ("yesterday I deployed the api", "I deployed the api", "yesterday", "2026-11-20", "2026-11-21"),
    ("what did I learn today about rust?", "what did I learn about rust?", "today", "2026-11-21", "2026-11-22"),
    ("what was I working on yesterday?", "what was I working on", "yesterday", "2026-11-20", "2026-11-21"),
    ("what did I talk about last week", "what did I talk about", "last week", "2026-11-09", "2026-11-16"),
    ("who did I talk to last week", "who did I talk to", "last week", "2026-11-09", "2026-11-16"),
    ("what about yesterday?", "what about", "yesterday", "2026-11-20", "2026-11-21"),
    ("how many times this week did I deploy", "how many times did I deploy", "this week", "2026-11-16", "2026-11-23"),
    ("how many days last week did I run", "how many days did I run", "last week", "2026-11-09", "2026-11-16"),
    ("what broke this summer", "what broke", "this summer", "2026-06-01-07:00", "2026-09-01-07:00"),
    ("what did we ship this fall?", "what did we ship", "this fall", "2026-09-01-07:00", "2026-12-01"),
    ("why was I angry last night", "why was I angry", "last night", "2026-11-20 18:00", "2026-11-21 06:00"),
    ("what did bo say this morning?", "what did bo say", "this morning", "2026-11-21 04:00", "2026-11-21 12:00"),
    ("deploys of the api, last month", "deploys of the api", "last month", "2026-10-01-07:00", "2026-11-01-07:00"),
    ("when did I deploy 3 days ago", "when did I deploy", "3 days ago", "2026-11-18", "2026-11-19"),
    ("3 days ago deploys failed", "deploys failed", "3 days ago", "2026-11-18", "2026-11-19"),
    ("a week ago we moved", "we moved", "a week ago", "2026-11-09", "2026-11-16"),
    ("two fridays ago, the outage", "the outage", "two fridays ago", "2026-11-13", "2026-11-14"),
    ("why did I write that the day before yesterday", "why did I write that", "the day before yesterday", "2026-11-19", "2026-11-20"),
    ("what did I do late last night", "what did I do late", "last night", "2026-11-20 18:00", "2026-11-21 06:00"),
    ("errors in the past 3 days", "errors", "in the past 3 days", "2026-11-18 15:19:45", "2026-11-21 15:19:45"),
    ("what did I do the last 2 weeks", "what did I do", "the last 2 weeks", "2026-11-07 15:19:45", "2026-11-21 15:19:45"),
    ("what did I do monday morning", "what did I do", "monday morning", "2026-11-16 04:00", "2026-11-16 12:00"),
    ("deploy nov 3", "deploy", "nov 3", "2026-11-03", "2026-11-04"),
    ("what happened Nov. 3, 2025?", "what happened", "Nov. 3, 2025", "2025-11-03", "2025-11-04"),
    ("deploy 2026-11-03", "deploy", "2026-11-03", "2026-11-03", "2026-11-04"),
    ("what did I think spring 2025", "what did I think", "spring 2025", "2025-03-01", "2025-06-01-07:00"),
    ("releases nov 1 to nov 15", "releases", "nov 1 to nov 15", "2026-11-01-07:00", "2026-11-16"),
    ("releases 2026-11-01..2026-11-07", "releases", "2026-11-01..2026-11-07", "2026-11-01-07:00", "2026-11-08"),
    ("昨日 yesterday", "昨日", "yesterday", "2026-11-20", "2026-11-21"),
    ("releases nov 1\u201315", "releases", "nov 1\u201315", "2026-11-01-07:00", "2026-11-16"),
    ("deploys mid-november", "deploys", "mid-november", "2026-11-11", "2026-11-21"),
    ("what did I fix earlier today", "what did I fix", "earlier today", "2026-11-21", "2026-11-21 15:19:45"),
    ("what did I fix yesterday at 9", "what did I fix at 9", "yesterday", "2026-11-20", "2026-11-21"),
    ("what did I fix this morning at 9", "what did I fix", "this morning at 9", "2026-11-21 09:00", "2026-11-21 10:00"),
    ("what did I fix monday last week", "what did I fix", "monday last week", "2026-11-09", "2026-11-10"),
    ("did I get up early last month", "did I get up early", "last month", "2026-10-01-07:00", "2026-11-01-07:00"),
    # After a preposition that goes with it
    ("what did I do in early november", "what did I do", "in early november", "2026-11-01-07:00", "2026-11-11"),
    ("what did we do in the last week of october", "what did we do", "in the last week of october", "2026-10-25-07:00", "2026-11-01-07:00"),
    ("why were we late at the end of october", "why were we late", "at the end of october", "2026-10-21-07:00", "2026-11-01-07:00"),
    ("what did I do in week 46", "what did I do", "in week 46", "2026-11-09", "2026-11-16"),
    ("what did I do from nov 1 to 15", "what did I do", "from nov 1 to 15", "2026-11-01-07:00", "2026-11-16"),
    ("what did I do between nov 1 and 15", "what did I do", "between nov 1 and 15", "2026-11-01-07:00", "2026-11-16"),
    ("in late 2025 we moved", "we moved", "in late 2025", "2025-09-01-07:00", "2026-01-01"),
    ("what did I decide about caching in October?", "what did I decide about caching", "in October", "2026-10-01-07:00", "2026-11-01-07:00"),
    ("in October, when did I deploy?", "when did I deploy?", "in October", "2026-10-01-07:00", "2026-11-01-07:00"),
    ("in october i felt tired", "i felt tired", "in october", "2026-10-01-07:00", "2026-11-01-07:00"),
    ("how was I in may", "how was I", "in may", "2026-05-01-07:00", "2026-06-01-07:00"),
    ("what did we plan in q3", "what did we plan", "in q3", "2026-07-01-07:00", "2026-10-01-07:00"),
    ("what did I learn in 2025", "what did I learn", "in 2025", "2025-01-01", "2026-01-01"),
    ("invoices in 2026-10", "invoices", "in 2026-10", "2026-10-01-07:00", "2026-11-01-07:00"),
    ("in spring 2025 we moved", "we moved", "in spring 2025", "2025-03-01", "2025-06-01-07:00"),
    ("what did I plan in winter 2024", "what did I plan", "in winter 2024", "2024-12-01", "2025-03-01"),
    ("what did we do in the spring", "what did we do", "in the spring", "2026-03-01", "2026-06-01-07:00"),
    ("why were we slow during the summer of 2025", "why were we slow", "during the summer of 2025", "2025-06-01-07:00", "2025-09-01-07:00"),
    ("what happened on 3 May 2025", "what happened", "on 3 May 2025", "2025-05-03-07:00", "2025-05-04-07:00"),
    ("on nov 3 deploy failed", "deploy failed", "on nov 3", "2026-11-03", "2026-11-04"),
    ("what did we do on the 3rd of november", "what did we do", "on the 3rd of november", "2026-11-03", "2026-11-04"),
    ("what did I do on Tuesday, November 3, 2026", "what did I do", "on Tuesday, November 3, 2026", "2026-11-03", "2026-11-04"),
    ("what did we say on monday about hiring", "what did we say about hiring", "on monday", "2026-11-16", "2026-11-17"),
    ("why did I leave on last friday", "why did I leave", "on last friday", "2026-11-20", "2026-11-21"),
    ("what did I read over the weekend", "what did I read", "over the weekend", "2026-11-21", "2026-11-23"),
    ("what did I read at 9am yesterday", "what did I read", "at 9am yesterday", "2026-11-20 09:00", "2026-11-20 10:00"),
    ("error at 2026-11-03T09:00-08:00 in the log", "error in the log", "at 2026-11-03T09:00-08:00", "2026-11-03 09:00", "2026-11-03 09:01"),
    ("what did I learn over the past month about rust", "what did I learn about rust", "over the past month", "2026-10-21 15:19:45-07:00", "2026-11-21 15:19:45"),
    ("what have we done for the last 3 weeks", "what have we done", "for the last 3 weeks", "2026-10-31 16:19:45-07:00", "2026-11-21 15:19:45"),
    ("deploys since monday", "deploys", "since monday", "2026-11-16", None),
    ("how many deploys since 9am", "how many deploys", "since 9am", "2026-11-21 09:00", None),
    ("what did I write since last week", "what did I write", "since last week", "2026-11-09", None),
    ("when did I run before 2026?", "when did I run", "before 2026", None, "2026-01-01"),
    ("moods after nov 3", "moods", "after nov 3", "2026-11-04", None),
    ("what did I know until yesterday", "what did I know", "until yesterday", None, "2026-11-21"),
    ("what broke between monday and wednesday?", "what broke", "between monday and wednesday", "2026-11-16", "2026-11-19"),
    ("what broke from monday to wednesday", "what broke", "from monday to wednesday", "2026-11-16", "2026-11-19"),
    ("between 9am and 11am yesterday, what broke", "what broke", "between 9am and 11am yesterday", "2026-11-20 09:00", "2026-11-20 11:00"),
    # Two times of a kind, parts and feasts
    ("what did we ship in 2019 or 2020?", "what did we ship", "in 2019 or 2020", "2019-01-01", "2021-01-01"),
    ("what broke in June and July 2022", "what broke", "in June and July 2022", "2022-06-01-07:00", "2022-08-01-07:00"),
    ("in Q3 or Q4 of 2024 we planned", "we planned", "in Q3 or Q4 of 2024", "2024-07-01-07:00", "2025-01-01"),
    ("what did I do on monday and tuesday", "what did I do", "on monday and tuesday", "2026-11-16", "2026-11-18"),
    ("in october and november", "", "in october and november", "2026-10-01-07:00", "2026-12-01"),
    ("notes from monday and tuesday", "notes", "from monday and tuesday", "2026-11-16", "2026-11-18"),
    ("how did we grow in the first quarter of 2022", "how did we grow", "in the first quarter of 2022", "2022-01-01", "2022-04-01-07:00"),
    ("releases first quarter of 2022", "releases", "first quarter of 2022", "2022-01-01", "2022-04-01-07:00"),
    ("what did I plan in the second half of 2023", "what did I plan", "in the second half of 2023", "2023-07-01-07:00", "2024-01-01"),
    ("what did I read over the summer", "what did I read", "over the summer", "2026-06-01-07:00", "2026-09-01-07:00"),
    ("over the summer of 2025 we moved", "we moved", "over the summer of 2025", "2025-06-01-07:00", "2025-09-01-07:00"),
    ("what did I cook around Christmas?", "what did I cook", "around Christmas", "2025-12-18", "2026-01-02"),
    ("who came over Easter", "who came", "over Easter", "2026-04-03-07:00", "2026-04-07-07:00"),
    ("where was I around New Year's, and why", "where was I and why", "around New Year's", "2025-12-25", "2026-01-09"),
    ("where was I on valentine’s day", "where was I", "on valentine’s day", "2026-02-14", "2026-02-15"),
    ("who came over thanksgiving last year", "who came", "over thanksgiving last year", "2025-11-27", "2025-12-01"),
    ("what have I bought since christmas", "what have I bought", "since christmas", "2025-12-25", None),
    ("how was christmas?", "how was", "christmas", "2025-12-25", "2025-12-26"),
    ("what did I do a couple of days ago", "what did I do", "a couple of days ago", "2026-11-19", "2026-11-20"),
    # A time that owns the thing, or the thing that is of the time
    ("yesterday's bug", "bug", "yesterday's", "2026-11-20", "2026-11-21"),
    ("what did Bo say at yesterday’s standup", "what did Bo say at standup", "yesterday’s", "2026-11-20", "2026-11-21"),
    ("monday's standup", "standup", "monday's", "2026-11-16", "2026-11-17"),
    ("who led last week's meeting", "who led meeting", "last week's", "2026-11-09", "2026-11-16"),
    ("the bug from yesterday", "the bug", "from yesterday", "2026-11-20", "2026-11-21"),
    ("the outage of last week", "the outage", "of last week", "2026-11-09", "2026-11-16"),
    # The time is what is asked about
    ("how did october go", "how did go", "october", "2026-10-01-07:00", "2026-11-01-07:00"),
    ("How did October go for us?", "How did go for us?", "October", "2026-10-01-07:00", "2026-11-01-07:00"),
    ("how was October?", "how was", "October", "2026-10-01-07:00", "2026-11-01-07:00"),
    ("what was october like", "what was like", "october", "2026-10-01-07:00", "2026-11-01-07:00"),
    ("how is november going", "how is going", "november", "2026-11-01-07:00", "2026-12-01"),
    ("how did last week go?", "how did go?", "last week", "2026-11-09", "2026-11-16"),
    ("how did q3 go", "how did go", "q3", "2026-07-01-07:00", "2026-10-01-07:00"),
    ("how did monday go", "how did go", "monday", "2026-11-16", "2026-11-17"),
    # The whole question
    ("last week", "", "last week", "2026-11-09", "2026-11-16"),
    ("October?", "", "October", "2026-10-01-07:00", "2026-11-01-07:00"),
    ("monday", "", "monday", "2026-11-16", "2026-11-17"),
    ("since monday", "", "since monday", "2026-11-16", None),
    ("monday to friday", "", "monday to friday", "2026-11-16", "2026-11-21"),
]  # fmt: skip


@cases(("question", "left", "phrase", "start", "end"), READ)
def test_a_time_is_read_out_of_a_question(question, left, phrase, start, end):
    """On Saturday 2026-11-21 at 15:19:45 in Los Angeles: the phrase as written, and what is left."""
    found = find(question)
    assert (found.text, found.phrase, found.interval) == (left, phrase, span(start, end))
    assert not found.vague


def test_a_day_by_or_as_of_which_something_is_so_is_that_day():
    """Vague: it is so on others too. Of a date that is not understood as a whole no part is read."""
    owned = find("what did she own by 7 November, 2022?")
    assert (owned.text, owned.phrase, owned.vague) == (
        "what did she own",
        "by 7 November, 2022",
        True,
    )
    assert owned.interval == span("2022-11-07", "2022-11-08")
    planned = find("what is his plan as of 27 March, 2022?")
    assert (planned.text, planned.phrase) == ("what is his plan", "as of 27 March, 2022")
    assert planned.interval == span("2022-03-27-07:00", "2022-03-28-07:00")
    assert find("what is worse than 7 November, 2022").interval is None


@cases(
    ("question", "text", "phrase"),
    [
        ("did we ship version 2 in october", "did we ship version 2", "in october"),
        ("what was done in sprint 14 in march 2022", "what was done in sprint 14", "in march 2022"),
        ("what was done for issue 7 on october 5", "what was done for issue 7", "on october 5"),
    ],
)
def test_a_number_before_a_month_with_its_preposition_is_no_day(question, text, phrase):
    """It belongs to what is asked for, and the time is read as without it."""
    read = find(question)
    assert (read.text, read.phrase) == (text, phrase)


@cases(
    ("question", "feast"),
    [
        ("what did I cook around Christmas", "christmas"),
        ("who came over thanksgiving last year", "thanksgiving"),
        ("where was I on New Year's Eve", "new year eve"),
        ("what did I cook last week", ""),
    ],
)
def test_the_feast_of_a_time_is_named(question, feast):
    """Entries are about it as well as of it: a search may look for its name."""
    assert find(question).feast == feast


LEFT = [
    # No time is named
    "",
    " ",
    "?",
    "why did we leave Postgres",
    "how did I feel before the release",
    "since the migration",
    "in 5 minutes the build failed",
    "in 3 days",
    "every monday",
    "at night",
    "day 3",
    "on second thought",
    "when did I last deploy",
    "in the second week",
    "the end of the project",
    "in week 3 of the project",
    "sprint week 46",
    "by the end of october",
    "open monday \u2013 friday",
    # Numbers
    "port 8080",
    "2025",
    "error 2002",
    "in 2002 lines",
    "crash after 2000 requests",
    "in 2000 ms",
    "upgrade from 2019 to 2022",
    "the difference between 2019 and 2021",
    "upgrade to postgres 17",
    "write about 24/7 support",
    "invoice 2026-11",
    "stripe api version 2024-06-20",
    "upgrade the api to 2024-06-20",
    # Names, verbs, and things that bear a time
    "may I use march madness",
    "in march madness",
    "christmas",
    "christmas card for Bo",
    "a gift for christmas",
    "on christmas trees",
    "in easter island",
    "new year's resolutions",
    "notes about christmas 2024",
    "may and june",
    "choose redis over may",
    "this may be a bug",
    "may",
    "spring",
    "bean wiring in spring",
    "beans in spring boot",
    "when did I last fall",
    "did I last march in a parade",
    "how did may go",
    "how did march go",
    "how was march madness",
    "how did april go",
    "how did october releases go",
    "how did september and october go",
    "how did the october release go",
    "how was october fest",
    "why did this fall",
    "which 3 may I use",
    "april's birthday",
    "the today page",
    "render today page",
    "bug in today page",
    "the last week tab",
    "bug on this week widget",
    "last week tonight",
    "on monday board",
    "monday standup",
    "nov 3 deploy",
    "the october release",
    "in october releases",
    'the song "yesterday"',
    "the song 'yesterday'",
    "the label `last week`",
    "a column named yesterday",
    "at the last minute",
    "last minute changes",
    "my last day at the office",
    "my last week at Acme",
    "the last week of the project",
    "in the last week before the release",
    "on the monday",
    "run the 9am job",
    # A clock time without its day may be every day's
    "the job at 9am",
    "no deploys after 5pm",
    "open between 9am and 5pm",
    # The time is what it is about, or what it is measured by
    "how do I feel about yesterday",
    "notes about last week",
    "the plan for last week",
    "because of last week",
    "compared to last week",
    "what changed compared to last week",
    "better than last year",
    "not yesterday",
    "everything except last week",
    "fixes for yesterday's bug",
    "since last week's release",
    "the release due on nov 30",
    "the invoice of nov 3",
    # Only a part of it is understood
    "yesterday and today",
    "what did I do yesterday or today",
    "yesterday and the day before",
    "on nov 3 and 5",
    "in 2026 or 2027",
    "around christmas or new year",
    "on monday and wednesday last week",
    "on monday or later",
    "from last week onwards",
    "last week until the release",
    "a week ago today",
    "more than 3 days ago",
    "two or 3 days ago",
    "two days before monday",
    "shortly before monday",
    "the week before last week",
    "this time last year",
    "the same week last year",
    # Of Monday, or since Monday?
    "notes from monday",
    "what did I do from last week",
    # Two times
    "what did I say last week, and again on nov 3",
    "what did I say in october about the outage on nov 3",
    # No time that has been
    "tomorrow",
    "next week",
    "what happened in 2030",
    "before 2030",
    "what should I do today",
    "what will happen this week",
    "tonight",
]


@cases("question", LEFT)
def test_what_may_be_no_time_is_left(question):
    """No word is taken, and no time is read; the question stays letter for letter."""
    assert find(question) == FoundWhen(text=question)


@cases(
    ("zone", "now", "question", "start", "end"),
    [
        # In the small hours the night is still running; the day has changed.
        (
            LOS_ANGELES,
            "2026-11-21 03:00-08:00",
            "what did I do last night",
            "2026-11-20 18:00",
            "2026-11-21 06:00",
        ),
        # 25 hours.
        (
            LOS_ANGELES,
            "2026-11-02 09:00-08:00",
            "what did I do yesterday",
            "2026-11-01-07:00",
            "2026-11-02",
        ),
        # +05:45: it is the 21st there.
        (
            KATHMANDU,
            "2026-11-20 18:20+00:00",
            "what did I do yesterday",
            "2026-11-20T00:00+05:45",
            "2026-11-21T00:00+05:45",
        ),
        # The 30th never was.
        (
            APIA,
            "2011-12-31 12:00+14:00",
            "what did I do yesterday",
            "2011-12-29T00:00-10:00",
            "2011-12-31T00:00+14:00",
        ),
    ],
)
def test_a_time_is_read_by_the_owners_clock(zone, now, question, start, end):
    """As `core.when` reads the phrase."""
    found = find(question, at(now), zone)
    assert (found.text, found.interval) == ("what did I do", span(start, end))


def test_a_winter_to_come_is_left():
    """`winter 2026` in November 2026 may be the one that ended or the one to come."""
    question = "what did I plan in winter 2026"
    assert find(question) == FoundWhen(text=question)


def test_a_long_text_is_left():
    """What is told rather than asked holds times of its own."""
    told = "word " * LONGEST_QUESTION + "yesterday"
    assert find(told) == FoundWhen(text=told)
    asked = "word " * (LONGEST_QUESTION - 1) + "yesterday"
    assert find(asked).phrase == "yesterday"


nows = st.datetimes(at("1971-01-01"), at("2099-12-31"), timezones=st.just(UTC))
zones = st.sampled_from(ZONES)
WORDS = (
    "what did I on in at the of from for about and to between since before until last this past week "
    "monday november may nov 3 3rd 2025 days ago yesterday today's q3 spring winter 9am noon morning "
    "2026-11-03 half a , . ? weekend so far should or few recently about around christmas new year's "
    "years back while over"
)


@given(
    st.text(max_size=200) | st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join),
    nows,
    zones,
)
def test_any_text_is_read_or_left(text, now, zone):
    """Nothing raises; what is read has begun; no word is added, moved or lost."""
    found = find(text, now, zone)
    if found.interval is None:
        assert found == FoundWhen(text=text)
        return
    assert found.interval.start is None or found.interval.start < now
    assert not found.vague or found.interval.end <= now
    assert (
        found.interval.end is None
        or found.interval.start is None
        or found.interval.start < found.interval.end
    )
    words = "".join(text.split())
    assert all(sign in words for sign in found.text.split() + found.phrase.split())
    assert len(found.text.split()) + len(found.phrase.split()) <= len(text.split())


ASKED = [
    phrase
    for phrase, _, _ in READINGS
    if phrase.startswith(("last ", "this ", "yesterday", "since ", "two ")) and ".." not in phrase
]  # fmt: skip


@given(
    st.sampled_from(ASKED), st.sampled_from(["why did I cry {}", "{} I cried", "{}, why did I cry"])
)
def test_a_phrase_means_inside_a_question_what_it_means_alone(phrase, question):
    """The same interval, wherever in the question it stands."""
    found = find(question.format(phrase))
    assert (found.phrase, found.interval) == (phrase, parse_when(phrase, now=NOW, zone=LOS_ANGELES))
