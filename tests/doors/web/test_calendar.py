"""The calendar and the first page: how many entries each time has, and the way to each of them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from tests.doors.web.web_world import WebWorld, words_of
from tests.journals.transcripts.sessions import said
from tests.patience import PATIENCE_S

from commonplace.journals.timeline.entry import TimelineDraft


@pytest.fixture
def filled(world):
    """Three entries of April 2026, one of today."""
    for at in ("2026-04-10 09:00", "2026-04-10 09:30", "2026-04-12 23:59"):
        world.call("chronicle", "add_entry", message=f"worked at {at}", at=at)
    world.call("private", "process_thoughts", project_notes="a note of today")
    return world


def period(world, key, **query):
    return words_of(world.browser().get(f"/calendar/{key}", params=query))


def test_the_calendar_opens_at_this_month(browser):
    """And a typed date at its day."""
    assert browser.get("/calendar").headers["location"] == "/calendar/2026-11"
    typed = browser.get("/calendar", params={"on": "2026-04-10"})
    assert typed.headers["location"] == "/calendar/2026-04-10"


def test_each_level_counts_its_entries(filled):
    """From a year to an hour."""
    for key, name, count in (
        ("2026", "2026", "4 entries."),
        ("2026-04", "April 2026", "3 entries."),
        ("2026-W15", "Week 15 of 2026", "3 entries."),
        ("2026-04-10", "Friday, 10 April 2026", "2 entries."),
        ("2026-04-10T09", "Fri 10 Apr 2026, 09:00", "2 entries."),
        ("2026-05", "May 2026", "Nothing was written."),
    ):
        words = period(filled, key)
        assert name in words, key
        assert count in words, key


def test_a_month_is_a_table_of_weeks(filled):
    """April 2026 begins on a Wednesday; a day names what happened, for those who point at it."""
    page = filled.browser().get("/calendar/2026-04").text
    said = 'aria-label="Friday, 10 April 2026: 2. worked at 2026-04-10 09:00">10</a>'
    assert said in page
    assert re.search(r"W14</a></th>\s*<td></td>\s*<td></td>\s*<td", page)


def test_a_busy_day_takes_no_colour_from_the_others(world):
    """A shade is a quartile of the days that have something: 1, 2, 3 and 20 entries are four."""
    for day, count in ((1, 1), (2, 2), (3, 3), (4, 20)):
        for n in range(count):
            world.call("chronicle", "add_entry", message=f"part {n}", at=f"2026-04-{day:02} 09:00")
    page = world.browser().get("/calendar/2026-04").text
    for day in (1, 2, 3, 4):
        assert f'<td class="heat-{day}"><a href="/calendar/2026-04-{day:02}"' in page
    assert '<td class="heat-0"><a href="/calendar/2026-04-05"' in page
    chart = world.browser().get("/calendar/2026").text
    assert 'class="heat-3" x=' in chart


def test_the_way_down_is_rows(filled):
    """A year has its months, a month and a week their days: what has something, the last first."""
    assert "By month Apr chronicle: worked at 2026-04-10 09:00 3 entries" in period(
        filled, "2026", journal="chronicle"
    )
    days = "By day Sun 12 chronicle: worked at 2026-04-12 23:59 1 entry Fri 10 chronicle: worked at"
    assert days in period(filled, "2026-04")
    assert days in period(filled, "2026-W15")


def test_a_day_is_named_by_what_was_written_before_what_was_said(world):
    """Though the session began sooner."""
    turns = [
        said(1, "are the boats in?", id="u0", at="2026-04-10T08:00:00.000Z"),
        said(2, "all of them", id="u1", at="2026-04-10T08:00:01.000Z"),
    ]
    world.app.transcripts.store.append("claude-code", "s1", turns)
    world.app.filing.catch_up()
    assert "Fri 10 transcripts: are the boats in?" in period(world, "2026-04")
    world.call("chronicle", "add_entry", message="moved hosting", at="2026-04-10 09:00")
    assert "Fri 10 chronicle: moved hosting" in period(world, "2026-04")


def test_the_way_up_is_links(filled):
    """From an hour to its day, week, month and year."""
    page = filled.browser().get("/calendar/2026-04-10T09").text
    found = re.search(r'<p class="crumbs">(.*?)</p>', page)[1]
    keys = re.findall(r'href="/calendar/([^"]+)"', found)
    assert keys == ["2026", "2026-04", "2026-W15", "2026-04-10"]


def test_hours_with_nothing_are_one_line(filled):
    """Those that have something are headings with what was written in them."""
    words = period(filled, "2026-04-10")
    assert "09:00 2 09:30 chronicle: worked at 2026-04-10 09:30" in words
    assert "Nothing in the other 23 hours." in words
    assert "10:00" not in words


def test_what_has_expired_is_not_counted_and_names_nothing(world):
    """Though the index has it until it is forgotten."""
    world.call(
        "chronicle",
        "add_entry",
        message="the door code is 1234",
        at="2026-11-23",
        expires="in 1 hour",
    )
    assert "the door code" in period(world, "2026-11")
    world.clock.advance(2 * 3600)
    words = period(world, "2026-11")
    assert "the door code" not in words
    assert "Nothing was written." in words


def test_a_day_lists_its_entries(filled):
    """The newest first, each with a link."""
    words = period(filled, "2026-04-10")
    assert words.index("worked at 2026-04-10 09:30") < words.index("worked at 2026-04-10 09:00")


def test_a_day_without_entries_has_no_list_of_them(filled):
    """No heading stands over nothing."""
    words = period(filled, "2026-04-11")
    assert "Nothing was written." in words
    assert "By hour" not in words


def test_one_journal_alone(filled):
    """The others neither count nor are listed."""
    assert "Nothing was written in private." in period(filled, "2026-04", journal="private")
    assert "3 entries in chronicle." in period(filled, "2026-04", journal="chronicle")


def test_a_summary_is_whole_sentences(world):
    """Without what is counted in it, and with days as people say them, which lead to their pages."""
    for day in (6, 7):
        said = f"The harbour of day {day} is calm."
        world.call("timeline", "timeline_add", content=said, at=f"2026-10-0{day} 10:05")
    world.app.timeline_commands().roll_up()
    month = world.browser().get("/calendar/2026-10")
    words = words_of(month)
    shown = "In short 6 Oct The harbour of day 6 is calm. 7 Oct The harbour of day 7 is calm."
    assert shown in words
    assert "[2026-10" not in words
    assert 'class="time" href="/calendar/2026-10-06"' in month.text
    assert "In short 10:05 The harbour of day 6 is calm." in period(world, "2026-10-06")
    assert "In short The harbour of day 6 is calm." in period(world, "2026-10-06T10")
    assert "Oct timeline: The harbour of day 6 is calm." in period(world, "2026")


def test_there_is_one_total(world):
    """Of all that lies in a time; what its summary counted, of the timeline alone, is not shown."""
    for minute in ("05", "25"):
        at = f"2026-10-06 10:{minute}"
        world.call("timeline", "timeline_add", content=f"tests, {minute}", at=at)
    world.call("chronicle", "add_entry", message="deployed", at="2026-10-06 12:00")
    world.app.timeline_commands().roll_up()
    words = period(world, "2026-10-06")
    assert "nothing that it was made from has changed since" in words
    assert "3 entries." in words
    assert "2 entries" not in words


def test_a_summary_names_its_projects_and_tags(world):
    """As its entries do."""
    metadata = {"projects": ["sales"], "tags": ["work"]}
    at = datetime(2026, 10, 6, 10, tzinfo=UTC)
    world.app.timeline.service().add("tests", at=at, metadata=metadata)
    world.app.timeline_commands().roll_up()
    assert "Projects: sales. Tags: work." in period(world, "2026-10")


PERIODS = ["2026", "2025", "2025-03"]


@pytest.mark.parametrize("state", ["never made", "older than its entries"])
def test_a_page_of_what_is_due_reads_what_it_shows(world, state):
    """Twenty times the entries in the same hours cost SQLite no more, though no summary has them."""
    hours = [
        datetime(year, month, 6, 10, tzinfo=UTC) for year in (2025, 2026) for month in range(1, 10)
    ]
    add_to(world, hours, 2)
    if state != "never made":
        world.app.timeline_commands().roll_up()
        add_to(world, hours, 1)
    few = [steps_of_sqlite(world, key) for key in PERIODS]
    add_to(world, hours, 40)
    for key, before in zip(PERIODS, few, strict=True):
        assert 0 < steps_of_sqlite(world, key) < 1.1 * before, key


def add_to(world, hours, count):
    drafts = [TimelineDraft(content=f"tests {n}", at=at) for at in hours for n in range(count)]
    world.app.timeline.journal.add_many(drafts)


def steps_of_sqlite(world, key):
    """How many of its instructions a page of a period takes."""
    keeping, counted = world.app.timeline_commands(), []
    keeping.show_stored(key)
    with world.app.timeline.journal.database.reading() as conn:
        conn.connection.set_progress_handler(lambda: counted.append(1), 1)
        keeping.show_stored(key)
        conn.connection.set_progress_handler(None, 0)
    return len(counted)


DUE = [
    ("2026", "2 months of it are not summed up yet; commonplace rollup does it."),
    ("2026-09", "1 day of it is not summed up yet; commonplace rollup does it."),
    ("2026-10", "It is not summed up yet; commonplace rollup does it."),
    ("2026-10-06", "It is not summed up yet"),
    ("2026-10-06T10", "It is not summed up yet"),
]


def test_a_summary_that_is_due_is_named(words_only, monkeypatch):
    """Where pages may only read: in one line, however many there are."""
    world = WebWorld()
    for made, month in enumerate(("09", "09", "10")):
        at = f"2026-{month}-06 10:05"
        world.call("timeline", "timeline_add", content="tests were red", at=at)
        if not made:
            world.app.timeline.rollups.catch_up()
    world.close()
    monkeypatch.setenv("COMMONPLACE_READ_ONLY", "true")
    world = WebWorld()
    for key, told in DUE:
        words = period(world, key)
        assert told in words, key
        assert words.count("not summed up yet") == 1, key
    world.close()


def test_what_another_zone_cut_is_named_until_it_is_cut_again(world, monkeypatch):
    """No mark says that it is due; a page that may write has it made behind it."""
    world.call("timeline", "timeline_add", content="tests were red", at="2026-10-06 10:05")
    world.app.timeline_commands().roll_up()
    world.close()
    monkeypatch.setenv("COMMONPLACE_TIMEZONE", "Asia/Kathmandu")
    monkeypatch.setenv("COMMONPLACE_READ_ONLY", "true")
    reader = WebWorld()
    assert "1 month of it is not summed up yet" in period(reader, "2026")
    reader.close()
    monkeypatch.delenv("COMMONPLACE_READ_ONLY")
    writer = WebWorld()
    assert "October 2026" in period(writer, "2026-10")
    writer.app.timeline.catching_up.begin(wait_s=PATIENCE_S)
    assert "In short 6 Oct tests were red." in period(writer, "2026-10")
    assert "Oct timeline: tests were red. 1 entry" in period(writer, "2026")
    writer.close()


def test_what_is_due_is_rolled_up_behind_a_page(world):
    """By looking at it: the page after has the summary."""
    world.call("timeline", "timeline_add", content="tests were red", at="2026-10-06 10:05")
    assert "October 2026" in period(world, "2026")
    world.app.timeline.catching_up.begin(wait_s=PATIENCE_S)
    assert "nothing that it was made from has changed since" in period(world, "2026-10-06")


FIRST = ["0001", "0001-01", "0001-W01", "0001-01-01", "0001-01-01T00"]


def test_times_in_no_calendar(browser):
    """Say so; none is an error of the server."""
    odd = ("2026-13", "2026-02-30", "now", "26", "2026-W54", "0000", "9999", "2026-11-23T99", "é")
    for key in (*odd, *FIRST, "9998-12-31T23"):
        assert browser.get(f"/calendar/{key}").status_code in {200, 400}, key


def test_nothing_is_before_the_first_year(browser):
    """The calendar begins there, and says so by having no way back."""
    for key in FIRST:
        page = browser.get(f"/calendar/{key}")
        assert page.status_code == 200, key
        assert 'rel="prev"' not in page.text, key
        assert 'rel="next"' in page.text, key


def test_a_typed_date_that_is_none(browser):
    """Is named as it was typed; nothing of it leads to another page."""
    for typed in ("2026/04", "2026-04-10?x", "2026-04-10#x", "../search", "%2e"):
        led = browser.get("/calendar", params={"on": typed}).headers["location"]
        assert led.startswith("/calendar/"), typed
        assert led.count("/") == 2, typed
        assert browser.get(led).status_code in {400, 404}, typed


def test_the_first_page(filled):
    """A year at a glance, whose days lead to the calendar, and the last entries."""
    page = filled.browser().get("/")
    assert "4 entries" in page.text
    assert "a note of today" in words_of(page)
    assert 'href="/calendar/2026-04-10"' in page.text
    assert "<title>Friday, 10 April 2026: 2</title>" in page.text


def test_the_first_page_of_an_empty_home(browser):
    """Says how to begin."""
    assert "Nothing has been written yet." in words_of(browser.get("/"))


def test_a_journal_that_there_is_not_is_refused(filled):
    """In words, where an empty page would say that nothing was written."""
    for path in ("/calendar/2026", "/calendar/2026-04-10"):
        answer = filled.browser().get(path, params={"journal": "nope"})
        assert answer.status_code == 400, path
        assert "Unknown journal: 'nope'." in words_of(answer), path
