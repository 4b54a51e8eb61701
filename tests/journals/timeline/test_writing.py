"""How the timeline's file is written: many entries at once, and their metadata."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.journals.timeline.world import START, World, at

from commonplace.core.errors import Invalid
from commonplace.core.text import well_formed
from commonplace.journals.timeline.entry import TimelineDraft, render_metadata

TEXTS = st.text(max_size=4) | st.text(st.characters(categories=("Cs", "Cc")), max_size=2)


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path / "journal")
    yield made
    made.close()


def test_entries_of_one_write_mark_every_period_of_each_once(world):
    """Two hours of one day and one of the next: 3 hours, 2 days, 1 week, 1 month, 1 year."""
    times = ("2025-02-04T10:15", "2025-02-04T10:45", "2025-02-04T11:00", "2025-02-05T11:00")
    world.journal.add_many([TimelineDraft(content=f"at {when}", at=at(when)) for when in times])
    assert sorted(level for level, _ in world.due_periods()) == [1, 1, 1, 2, 2, 3, 4, 5]
    last = world.rows("SELECT max(seq) FROM journal_entries")[0][0]
    assert last == len(times)
    assert {mark for (mark,) in world.rows("SELECT mark FROM dirty")} == {last}


def test_entries_of_one_write_are_all_recorded_or_none(world):
    """The third is blank: neither the two before it nor their marks are there."""
    world.add("there")
    world.roll_up("2025-02-04T12:00")
    before = world.due_periods()
    drafts = [TimelineDraft(content=text, at=START) for text in ("one", "two", " ")]
    with pytest.raises(Invalid, match="blank"):
        world.journal.add_many(drafts)
    assert [
        x for (x,) in world.rows("SELECT content FROM journal_entries WHERE entry_type='raw'")
    ] == ["there"]
    assert world.due_periods() == before


def test_a_periods_end_is_not_held_over_to_the_next(world):
    """What was cut for the entry before is used only where it holds this one too."""
    for when in ("2025-01-31T23:59", "2025-02-01T00:00", "2025-01-31T23:59", "2026-02-01T00:00"):
        world.add(f"at {when}", when)
    months = {start for level, start in world.due_periods() if level == 4}
    assert months == {"2025-01-01T00:00", "2025-02-01T00:00", "2026-02-01T00:00"}
    weeks = {start for level, start in world.due_periods() if level == 3}
    assert weeks == {"2025-01-27T00:00", "2026-01-26T00:00"}


@pytest.mark.parametrize("another", [False, True], ids=["itself", "another"])
def test_what_was_rolled_up_since_the_last_add_is_marked_again(world, another):
    """Whether whoever adds has rolled it up itself, or another process did."""
    world.add("one", "2025-02-04T10:15")
    world.add("two", "2025-02-04T10:30")
    other = world.again() if another else world
    world.clock.at = at("2026-02-01T00:00")
    assert other.roll_up() == 5
    assert world.due_periods() == set()
    world.add("three", "2025-02-04T10:45")
    assert {level for level, _ in world.due_periods()} == {1, 2, 3, 4, 5}
    assert world.read("year", "2025-02-04T10:00").metadata["entries"] == 3
    other.close()


def test_an_hour_whose_first_entry_was_refused_is_marked_by_the_next(world):
    """What was rolled back is not taken for a mark that is there."""
    world.add("one", "2025-02-04T10:15")
    later = at("2025-02-04T11:15")
    with pytest.raises(Invalid, match="blank"):
        world.journal.add_many([TimelineDraft(content=text, at=later) for text in ("two", " ")])
    world.add("two", "2025-02-04T11:15")
    assert (1, "2025-02-04T11:00") in world.due_periods()


def test_a_zone_that_another_process_sets_cuts_what_is_added_next(world):
    """An hour in New York lies in the same hour, a day does not."""
    world.add("one", "2025-02-04T02:10")
    world.add("one more", "2025-02-04T02:20")
    other = world.again()
    other.journal.set_zone("America/New_York")
    world.add("two", "2025-02-04T02:30")
    days = world.rows("SELECT tz, period_start FROM dirty WHERE level = 2 ORDER BY 1")
    assert days == [
        ("America/New_York", "2025-02-03T05:00:00.000000Z"),
        ("UTC", "2025-02-04T00:00:00.000000Z"),
    ]
    other.close()


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"tags": ["b", "a"], "action": "deployed"},
        {"tags": ("b", "a")},
        {"tags": ["é"], "n": 1, "deep": {"x": [None, True, 1.5]}},
        {"surrogate": "\ud800"},
        {"list": [["a"]], "quote": 'a "b" \\ \n'},
    ],
    ids=str,
)
def test_an_added_entry_is_told_as_it_will_be_read(world, metadata):
    """Metadata as JSON gives it back, and no list that somebody may alter meanwhile."""
    told = world.journal.add("one", metadata=metadata).entry
    read = world.journal.read(told.id)
    assert told.metadata == read.metadata
    assert list(told.metadata) == list(read.metadata)
    for key, value in metadata.items():
        assert told.metadata[key] is not value or isinstance(value, str | int)


@given(st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS, max_size=3) | st.integers(), max_size=3))
def test_metadata_are_written_as_json_writes_them(metadata):
    """Keys in order, signs as they are; lone surrogates are none of UTF-8."""
    text = json.dumps(metadata, ensure_ascii=False, sort_keys=True)
    assert render_metadata(metadata) == well_formed(text)
