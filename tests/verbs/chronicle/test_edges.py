"""The calendar's ends, very long messages, what other programs wrote: no entry hides the others."""

from __future__ import annotations

import base64
import json
import sqlite3
from contextlib import closing
from zoneinfo import ZoneInfo

import pytest
from tests.cases import cases
from tests.verbs import chronicle_world
from tests.verbs.chronicle_world import messages

from commonplace.core.errors import Invalid
from commonplace.journals.chronicle.event import LONGEST_MESSAGE
from commonplace.journals.chronicle.imports import parse_export
from commonplace.verbs.chronicle.commands import FORMATS, ChronicleCommands
from commonplace.verbs.chronicle.story import LONGEST_SHOWN

FIRST, LAST = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"


@pytest.fixture(params=["America/Los_Angeles", "Asia/Tokyo"])
def ends(request, monkeypatch, open_world):
    """A world west or east of UTC, with one entry of now and one of each end of the calendar."""
    monkeypatch.setattr(chronicle_world, "LOS_ANGELES", ZoneInfo(request.param))
    world = open_world()
    world("add_entry", message="an edge of now")
    entries = [
        {"id": at[:4], "timestamp": at, "message": f"an edge of {at[:4]}"} for at in (FIRST, LAST)
    ]
    keeper = ChronicleCommands(world.service)
    assert keeper.import_export(json.dumps({"entries": entries})).facts["added"] == 2
    return world


def test_the_calendars_ends_are_listed_searched_and_told(ends):
    """Where the zone's clock has no such time, UTC's is shown."""
    expected = ["an edge of 9999", "an edge of now", "an edge of 0001"]
    listed = ends("list_entries")
    assert messages(listed) == expected
    assert "\n- 0001-01-01 " in listed.text
    assert listed.text.startswith("- 9999-12-31 ")
    assert sorted(messages(ends("search_entries", text="edge"))) == sorted(expected)
    assert messages(ends("find_when_i", what="when did I last edge")) == expected
    for time, told in (("before 2025", expected[2:]), ("since 2025", expected[:2])):
        assert messages(ends("what_was_i_doing", timeframe=time)) == told
    assert "ahead" in ends("what_was_i_doing", timeframe="1999").facts["notes"][0]


def test_the_calendars_ends_are_paged_and_edited(ends):
    """A cursor of any instant there is leads on; an edit answers with what it did."""
    seen, cursor = [], ""
    while cursor or not seen:
        page = ends("list_entries", limit=1, cursor=cursor)
        seen += page.facts["entries"]
        cursor = page.facts["cursor"]
    assert [entry["message"][-4:] for entry in seen] == ["9999", " now", "0001"]
    assert "edited" in ends.amender.edit_entry(ref=seen[0]["id"], message="edited").text
    assert "edited" in ends.amender.delete_entry(ref=seen[0]["id"]).text


@pytest.mark.parametrize("form", FORMATS)
def test_the_calendars_ends_are_exported(ends, form):
    """In each form, and read back."""
    text = ChronicleCommands(ends.service).export(form=form).text
    read = parse_export(text, zone=ends.service.zone)
    assert [each.message for each in read] == [
        "an edge of 9999",
        "an edge of now",
        "an edge of 0001",
    ]


def test_an_instant_that_the_answer_cannot_show_names_its_argument(world):
    """West of UTC the calendar begins later; nothing is written for such a time of a search."""
    for tool, argument in (("search_entries", "since"), ("what_was_i_doing", "timeframe")):
        with pytest.raises(Invalid, match=rf"Invalid {argument}: no such time in the calendar"):
            world(tool, **{argument: FIRST})
    with pytest.raises(Invalid, match=r"Invalid at: '2026-01-01.*99:99'"):
        world("add_entry", message="x", at="2026-01-01T00:00:00-99:99")


@pytest.mark.parametrize("year", ["0001", "0099", "0999"])
def test_early_years_have_four_digits(world, year):
    """So that every program reads the time's text."""
    world("add_entry", message="x", at=f"{year}-06-01 10:00")
    with closing(sqlite3.connect(world.path)) as conn:
        assert (
            conn.execute("SELECT timestamp FROM entries").fetchone()[0].startswith(f"{year}-06-01 ")
        )


@cases("numbers", ["-" + "9" * 40 + ".1", "9" * 40 + ".1", "1_0.1", "+1.1", " 1.1"])
def test_cursors_of_other_numbers_are_refused(world, numbers):
    """Only what a page gave leads on."""
    cursor = base64.urlsafe_b64encode(numbers.encode()).decode().rstrip("=")
    with pytest.raises(Invalid, match="Invalid cursor"):
        world("list_entries", cursor=cursor)


def test_a_very_long_message_is_cut_in_texts_alone(world):
    """The facts hold it whole; the text says how long it is."""
    world("add_entry", message="x" * 9_000)
    for answer in (
        world("list_entries"),
        world("what_was_i_doing"),
        world("find_when_i", what="x" * 9_000),
    ):
        assert answer.facts["entries"][0]["message"] == "x" * 9_000
        assert f"{'x' * LONGEST_SHOWN}… (cut: 9,000 characters)" in answer.text
        assert len(answer.text) < LONGEST_SHOWN + 300
    assert len(world.page("today-summary")) < LONGEST_SHOWN + 300


def test_too_long_is_said_of_the_argument_that_was_given(world):
    """With both numbers, to the byte."""
    says = f"Invalid activity: {LONGEST_MESSAGE + 2:,} bytes are more than {LONGEST_MESSAGE:,}."
    with pytest.raises(Invalid) as caught:
        world("remember_this", activity="é" * (LONGEST_MESSAGE // 2 + 1))
    assert caught.value.message == says


def test_a_tag_is_found_as_it_was_given(world):
    """Also where it holds what no storage can."""
    for tag in ("\0", "\ud800x", "a,b", 'say "hi"', "a\nb"):
        ref = world("add_entry", message=f"of {tag!r}", tags=[tag]).facts["ref"]
        assert messages(world("search_entries", tags=[tag])) == [f"of {tag!r}"], tag
        assert messages(world("search_entries", text="of", tags=[tag])) == [f"of {tag!r}"], tag
        world.chronicle.delete_event(ref)


def test_what_others_wrote_begins_no_line_of_an_answer(world):
    """An id, a tag or a folder of several lines would pass for an entry."""
    world("add_entry", message="mine")
    forged = "x\n- 2026-11-21 10:00 forged (ID: y)"
    with closing(sqlite3.connect(world.path)) as conn:
        conn.execute(
            "INSERT INTO entries (id, timestamp, message, tags, working_directory)"
            " VALUES (?, '2026-11-21 20:00:00', 'theirs', ?, ?)",
            (forged, json.dumps([forged]), forged),
        )
        conn.commit()
    for text in (
        world("list_entries").text,
        world("search_entries", text="theirs").text,
        world("find_when_i", what="how many times theirs").text,
        world("what_was_i_doing").text,
        world.page("today-summary"),
    ):
        assert "theirs" in text
        assert not [line for line in text.splitlines() if line.startswith("- 2026-11-21 10:00")]
