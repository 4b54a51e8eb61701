"""The calendar and the first page: how many entries each time has, and the way to each of them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from tests.doors.web.web_world import WebWorld, words_of
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
    """April 2026 begins on a Wednesday; a day says its number and its entries."""
    page = filled.browser().get("/calendar/2026-04").text
    assert 'title="Friday, 10 April 2026: 2">10 <small>2</small>' in page
    assert re.search(r"W14</a></th>\s*<td></td>\s*<td></td>\s*<td", page)


def test_a_day_lists_its_entries(filled):
    """The newest first, each with a link."""
    words = period(filled, "2026-04-10")
    assert words.index("worked at 2026-04-10 09:30") < words.index("worked at 2026-04-10 09:00")


def test_a_day_without_entries_has_no_list_of_them(filled):
    """No heading stands over nothing."""
    words = period(filled, "2026-04-11")
    assert "Nothing was written." in words
    assert "Entries" not in words


def test_one_journal_alone(filled):
    """The others neither count nor are listed."""
    assert "Nothing was written in private." in period(filled, "2026-04", journal="private")
    assert "3 entries in chronicle." in period(filled, "2026-04", journal="chronicle")


def test_a_summary_with_both_ways(world):
    """What it was made from, and what it went into; summaries are not counted as entries."""
    for minute in ("05", "25"):
        world.call(
            "timeline", "timeline_add", content=f"tests, {minute}", at=f"2026-10-06 10:{minute}"
        )
    world.app.timeline_commands().roll_up()
    words = period(world, "2026-10-06")
    assert "2 entries." in words
    assert "nothing that it was made from has changed since" in words
    assert "went into October 2026" in words
    assert "made from Tue 6 Oct 2026, 10:00 2 entries" in words
    world.call("timeline", "timeline_add", content="late", at="2026-10-06 11:00")
    assert "3 entries." in period(world, "2026-10-06")


def test_a_summary_names_its_projects_and_tags(world):
    """As its entries do."""
    metadata = {"projects": ["sales"], "tags": ["work"]}
    at = datetime(2026, 10, 6, 10, tzinfo=UTC)
    world.app.timeline.service().add("tests", at=at, metadata=metadata)
    world.app.timeline_commands().roll_up()
    assert "Projects: sales. Tags: work." in period(world, "2026-10")


def test_the_way_down_goes_several_steps(world):
    """From a month to the entries of an hour, a step at a time."""
    world.call("timeline", "timeline_add", content="tests were red", at="2026-10-06 10:05")
    world.app.timeline_commands().roll_up()
    one = world.browser().get("/calendar/2026-10")
    assert "One step further down" in words_of(one)
    assert "Tue 6 Oct 2026, 10:00" not in words_of(one)
    three = words_of(world.browser().get("/calendar/2026-10?steps=3"))
    assert "Tue 6 Oct 2026, 10:00" in three
    assert "One step less" in three
    assert "tests were red" in three.partition("What it was made from")[2]
    assert world.browser().get("/calendar/2026-10?steps=99").status_code == 400


def test_a_page_of_steps_counts_as_the_whole_way_does(world):
    """Whatever is over and whatever goes on, at each depth, though it reads only what it shows."""
    for day in ("10-06", "10-07", "11-02", "11-22", "11-23"):
        for hour in ("08", "09"):
            at = f"2026-{day} {hour}:10"
            world.call("timeline", "timeline_add", content=f"tests, {at}", at=at)
    commands = world.app.timeline_commands()
    commands.roll_up()

    def lines(node):
        return [(each.key or each.ref, each.count, lines(each)) for each in node.down]

    def told(down):
        return [(x["period"] or x["ref"], x["entries"], told(x["down"])) for x in down]

    for key in ("2026", "2026-10", "2026-11", "2026-W48", "2026-11-23", "2026-11-23T09"):
        for depth in (1, 2, 3, 4):
            whole = commands.show(key, depth=depth)
            page = commands.show_stored(key, depth=depth, most_lines=400)
            assert lines(page.node) == told(whole.facts["down"]), (key, depth)
            assert page.node.is_cut == ("Further down:" in whole.text), (key, depth)
            assert page.rollup.content == whole.facts["content"], (key, depth)


def test_the_way_down_ends_before_it_has_too_many_lines(world):
    """At the last step that fits; each time on it leads further."""
    for minute in ("05", "25"):
        world.call(
            "timeline", "timeline_add", content=f"tests, {minute}", at=f"2026-10-06 10:{minute}"
        )
    keeping = world.app.timeline_commands()
    keeping.roll_up()
    whole = keeping.show_stored("2026-10", depth=3, most_lines=4)
    assert whole.depth == 3
    assert not whole.node.is_cut
    shown = keeping.show_stored("2026-10", depth=3, most_lines=3)
    assert shown.depth == 2
    assert shown.node.is_cut
    assert [len(month.down) for month in (shown.node, *shown.node.down)] == [1, 1]


PERIODS = [("2026", 1), ("2026", 4), ("2025", 1), ("2025-03", 2)]


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
    few = [steps_of_sqlite(world, key, depth) for key, depth in PERIODS]
    add_to(world, hours, 40)
    for (key, depth), before in zip(PERIODS, few, strict=True):
        assert 0 < steps_of_sqlite(world, key, depth) < 1.1 * before, (key, depth)


def add_to(world, hours, count):
    drafts = [TimelineDraft(content=f"tests {n}", at=at) for at in hours for n in range(count)]
    world.app.timeline.journal.add_many(drafts)


def steps_of_sqlite(world, key, depth):
    """How many of its instructions a page of a period takes."""
    keeping, counted = world.app.timeline_commands(), []
    keeping.show_stored(key, depth=depth, most_lines=40)
    with world.app.timeline.journal.database.reading() as conn:
        conn.set_progress_handler(lambda: counted.append(1), 1)
        keeping.show_stored(key, depth=depth, most_lines=40)
        conn.set_progress_handler(None, 0)
    return len(counted)


DUE = [
    ("2026", "Some of it is not summed up yet, or has changed since"),
    ("2026", "September 2026 1 entry when it was last summed up"),
    ("2026", "October 2026 not summed up yet"),
    ("2026-09", "older than its entries"),
    ("2026-10", "It is not summed up yet."),
    ("2026-10-06", "Tue 6 Oct 2026, 10:00 not summed up yet"),
    ("2026-10-06?steps=2", "tests were red"),
]


def test_a_summary_that_is_due_is_named(words_only, monkeypatch):
    """Where pages may only read: as older than its entries, or as not made yet."""
    world = WebWorld()
    for made, month in enumerate(("09", "09", "10")):
        at = f"2026-{month}-06 10:05"
        world.call("timeline", "timeline_add", content="tests were red", at=at)
        if not made:
            world.app.timeline.rollups.catch_up()
    world.close()
    monkeypatch.setenv("COMMONPLACE_READ_ONLY", "true")
    world = WebWorld()
    for key, said in DUE:
        assert said in period(world, key), key
    world.close()


def test_what_another_zone_cut_is_named_until_it_is_cut_again(world, monkeypatch):
    """No mark says that it is due; a page that may write has it made behind it."""
    world.call("timeline", "timeline_add", content="tests were red", at="2026-10-06 10:05")
    world.app.timeline_commands().roll_up()
    world.close()
    monkeypatch.setenv("COMMONPLACE_TIMEZONE", "Asia/Kathmandu")
    monkeypatch.setenv("COMMONPLACE_READ_ONLY", "true")
    reader = WebWorld()
    assert "October 2026 not summed up yet" in period(reader, "2026")
    assert "Some of it is not summed up yet" in period(reader, "2026")
    reader.close()
    monkeypatch.delenv("COMMONPLACE_READ_ONLY")
    writer = WebWorld()
    assert "October 2026" in period(writer, "2026-10")
    writer.app.timeline.catching_up.begin(wait_s=PATIENCE_S)
    assert "tests were red" in period(writer, "2026-10")
    assert "October 2026 1 entry" in period(writer, "2026")
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
