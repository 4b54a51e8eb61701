"""Entries of other journals count as activity: linked, never copied, and gone when they are gone."""

from __future__ import annotations

from datetime import UTC, timedelta

import pytest
from tests.journals.timeline.world import OnePages, World, at

from commonplace.core.errors import Unavailable
from commonplace.core.values import FROM_REPOSITORY, Interval, superseding_tags
from commonplace.journals.timeline.due_periods import span_at
from commonplace.journals.timeline.expiry import apply_retention
from commonplace.journals.timeline.feed import Feeding, list_fed
from commonplace.journals.timeline.repair import find_problems
from commonplace.journals.timeline.retention import parse_retention
from commonplace.journals.timeline.rollups import Rollups
from commonplace_testing import OneSource, a_doc


class Fed(World):
    """A timeline that a chronicle and a private journal feed."""

    def __init__(self, folder, **more):
        super().__init__(folder, **more)
        self.chronicle = OneSource("chronicle", prefix="chronicle:")
        self.private = OneSource("private", prefix="private:")
        self.pages = [OnePages(self.chronicle), OnePages(self.private)]
        self.feeding = Feeding(
            self.journal,
            sources=lambda: [self.chronicle, self.private],
            openers=lambda: {x.journal: x for x in self.pages},
        )
        self.rollups = Rollups(self.journal, self.rollups.extractive, feed=self.feeding)

    def log(self, ref, text, when, *, source=None, **rest):
        source = source or self.chronicle
        source.put(a_doc(ref, text, journal=source.name, at=at(when), **rest))


@pytest.fixture
def world(tmp_path):
    made = Fed(tmp_path, clock=None)
    made.clock.at = at("2025-03-10T12:00")
    yield made
    made.close()


def test_a_week_covers_all_that_was_written_anywhere(world):
    """Counted beside our own entries, quoted, and linked by their refs."""
    world.add("planned the quarter", "2025-02-04T10:00", tags=["work"])
    world.log("chronicle:1", "Deployed the harbour api", "2025-02-04T10:30", tags=("deploy",))
    world.log("private:a", "Felt relieved about it", "2025-02-05T21:00", source=world.private)
    assert world.feeding.sync() == 2
    world.roll_up()
    week = world.read("week", "2025-02-04T00:00")
    assert week.metadata["entries"] == 3
    assert week.metadata["tags"] == ["deploy", "work"]
    assert "Deployed the harbour api" in week.content
    hour = world.read("hour", "2025-02-04T10:00")
    assert "chronicle:1" in hour.sources
    assert world.journal.above(["chronicle:1"])["chronicle:1"] >= {week.ref, hour.ref}


def test_trends_count_them_where_nothing_else_was_recorded(world):
    """From the first of them to the last, also of today."""
    world.log("chronicle:1", "Deployed the harbour api", "2025-03-08T10:30")
    world.log("chronicle:2", "Rolled it back", "2025-03-10T11:30")
    world.feeding.sync()
    found = world.list_trends("day")
    assert [x.figures.entries for x in found.periods] == [1, 0, 1]


def test_nothing_of_them_is_copied(world):
    """A row of theirs holds a ref, a time and hashes."""
    world.log("chronicle:1", "Deployed the harbour api", "2025-02-04T10:30")
    world.feeding.sync()
    (row,) = world.rows("SELECT * FROM fed")
    assert not any("harbour" in str(x) for x in row)
    assert world.shown(level=0) == []


def test_again_with_nothing_new_nothing_is_due(world):
    """The mark tells so; and another mark alone makes nothing due either."""
    world.log("chronicle:1", "Deployed the api", "2025-02-04T10:30")
    world.feeding.sync()
    world.roll_up()
    assert world.feeding.sync() == 0
    world.log("chronicle:1", "Deployed the api", "2025-02-04T10:30", stamp="touched")
    assert world.feeding.sync() == 0
    assert world.roll_up() == 0


def test_an_altered_entry_alters_the_rollups_and_a_moved_one_both_days(world):
    """As an entry of ours does."""
    world.log("chronicle:1", "Deployed the api", "2025-02-04T10:30")
    world.feeding.sync()
    world.roll_up()
    world.log("chronicle:1", "Rolled the api back", "2025-02-11T10:30", stamp="2")
    assert world.feeding.sync() == 1
    world.roll_up()
    assert world.read("day", "2025-02-04T00:00").content == ""
    assert "Rolled the api back" in world.read("month", "2025-02-04T00:00").content
    assert world.read("month", "2025-02-04T00:00").metadata["entries"] == 1


def test_what_leaves_its_journal_leaves_every_rollup_and_every_byte(world, tmp_path):
    """At once, before anything is rolled up again."""
    world.log("private:a", "The zanzibarquartz secret", "2025-02-04T10:30", source=world.private)
    world.log("chronicle:1", "Deployed the api", "2025-02-04T10:40")
    world.feeding.sync()
    world.roll_up()
    assert "zanzibarquartz" in world.read("month", "2025-02-04T00:00").content
    world.private.drop("private:a")
    assert world.feeding.sync() == 1
    assert b"zanzibarquartz" not in (tmp_path / "journal.db").read_bytes()
    world.roll_up()
    month = world.read("month", "2025-02-04T00:00")
    assert month.metadata["entries"] == 1
    assert "zanzibarquartz" not in month.content


def test_rollups_of_private_text_are_marked_so(world):
    """At every level: no model that is elsewhere is shown them."""
    world.log("private:a", "Felt relieved", "2025-02-04T10:30", source=world.private)
    world.add("fixed the gate", "2025-02-11T10:00")
    world.feeding.sync()
    world.roll_up()
    rows = world.rows(
        "SELECT e.id FROM rollups AS r JOIN journal_entries AS e ON e.seq = r.seq "
        "WHERE r.is_private ORDER BY e.id"
    )
    assert [row[0] for row in rows] == [
        "rollup_daily_20250204",
        "rollup_hourly_20250204_10",
        "rollup_monthly_202502",
        "rollup_weekly_2025W06",
    ]


def test_a_journal_that_cannot_be_read_holds_up_no_other(world, caplog):
    """It is named once in the log, and read when it answers again."""

    def fail(since):
        raise Unavailable("locked")
        yield

    scan, world.chronicle.scan = world.chronicle.scan, fail
    world.log("chronicle:1", "Deployed the api", "2025-02-04T10:30")
    world.log("private:a", "Felt relieved", "2025-02-04T10:30", source=world.private)
    assert world.feeding.sync() == 1
    assert world.feeding.sync() == 0
    assert caplog.text.count("does not feed") == 1
    world.chronicle.scan = scan
    assert world.feeding.sync() == 1


def test_a_period_waits_for_a_journal_that_does_not_answer(world):
    """It stays due, and all others are made; nothing is told as whole that is not."""
    world.log("chronicle:1", "Deployed the api", "2025-02-04T10:30")
    world.add("fixed the gate", "2025-02-04T10:40")
    world.add("painted it", "2025-01-20T10:40")
    world.feeding.sync()

    class Locked(OnePages):
        def read_ref(self, ref):
            raise Unavailable("locked")

    answering, world.pages = world.pages, [Locked(world.chronicle)]
    # The hour, day, week and month of January.
    assert world.roll_up() == 4
    assert {x.level for x in world.rollups.list_due()} == {"hour", "day", "week", "month"}
    assert (
        world.rollups.compute(span_at(at("2025-02-04T10:30"), "day", world.journal.zone)).metadata[
            "entries"
        ]
        == 1
    )
    world.pages = answering
    assert world.roll_up() == 4
    assert world.read("month", "2025-02-04T00:00").metadata["entries"] == 2


def test_overviews_and_blank_entries_are_no_activity(world):
    """What describes a section is not what happened."""
    world.log("chronicle:o", "All about the api", "2025-02-04T10:30", kind="overview")
    world.log("chronicle:b", " ", "2025-02-04T10:30")
    assert world.feeding.sync() == 0
    assert world.journal.zone is UTC


def test_a_repository_s_word_is_no_activity(world):
    """Nor does what was fed stay once it is found to be that."""
    planted = ("private:a", "run the planted zebrafinch", "2025-02-04T10:00")
    world.log(*planted, source=world.private)
    assert world.feeding.sync() == 1
    world.log(*planted, source=world.private, tags=(FROM_REPOSITORY,), stamp="2")
    assert world.feeding.sync() == 1
    assert list_fed(world.journal, Interval(start=at("2025-01-01T00:00")), most=9) == []


def test_an_entry_at_an_end_of_the_calendar_is_in_no_period(world):
    """A log with such a time, or that comes to have one, stops no rollup."""
    world.log("chronicle:1", "Deployed", "2025-02-04T10:30")
    world.log("chronicle:2", "Long ago", "0001-01-01T00:00")
    world.feeding.sync()
    world.roll_up()
    assert world.read("day", "2025-02-04T00:00").metadata["entries"] == 1
    world.log("chronicle:1", "Deployed", "9999-12-31T10:30", stamp="moved")
    world.feeding.sync()
    world.roll_up()
    assert world.read("day", "2025-02-04T00:00").metadata["entries"] == 0


@pytest.mark.parametrize("keep", ["design", "raw=never,hourly=2d", "daily=1d"])
def test_what_leaves_its_journal_leaves_what_outlived_it(world, tmp_path, keep):
    """Retention has let go of hours and days below; the week counts and quotes what is left."""
    world.clock.at = at("2025-02-02T12:00")
    world.log("chronicle:1", "secret platypus meeting", "2025-02-01T23:06")
    world.log("chronicle:2", "Deployed the api", "2025-02-01T23:20")
    for day in (2, 12, 22, 32):
        world.clock.at = at("2025-02-01T12:00") + timedelta(days=day)
        world.feeding.sync()
        apply_retention(world.rollups, parse_retention(keep))
    assert "platypus" in world.read("week", "2025-02-01T00:00").content
    world.chronicle.drop("chronicle:1")
    world.feeding.forget(["chronicle:1"])
    assert b"platypus" not in (tmp_path / "journal.db").read_bytes()
    world.roll_up()
    for level in ("week", "month"):
        found = world.read(level, "2025-02-01T00:00")
        assert found.metadata["entries"] == 1
        assert "platypus" not in found.content
        assert "Deployed the api" in found.content


def test_what_leaves_another_way_is_named_for_the_index(world):
    """Each rollup whose text left, so that no word of it stays in any index."""
    world.log("chronicle:1", "secret platypus meeting", "2025-02-04T23:06")
    world.feeding.sync()
    world.roll_up()
    world.chronicle.drop("chronicle:1")
    told = []
    world.feeding.sync(forget=told.extend)
    assert told == [
        "timeline:rollup_daily_20250204",
        "timeline:rollup_hourly_20250204_23",
        "timeline:rollup_monthly_202502",
        "timeline:rollup_weekly_2025W06",
    ]


def test_what_another_program_deleted_or_changed_is_named_until_it_is_taken_out(world):
    """New entries and touched ones are no problem; nor is anything while nothing was noted yet."""

    def found():
        return [problem.what.partition(" may quote ")[2] for problem in problems()]

    def problems():
        return list(find_problems(world.journal, world.feeding))

    for ref in ("chronicle:1", "chronicle:2", "chronicle:3"):
        world.log(ref, f"Deployed the api {ref}", "2025-02-04T10:30")
    assert found() == []
    world.feeding.sync()
    world.roll_up()
    world.log("chronicle:4", "Rolled it back", "2025-02-04T10:40")
    world.log("chronicle:3", "Deployed the api chronicle:3", "2025-02-04T10:30", stamp="touched")
    assert found() == []
    world.chronicle.drop("chronicle:1")
    world.log("chronicle:2", "Deployed nothing", "2025-02-04T10:30", stamp="other")
    assert found() == ["2 entries that another program deleted or changed."]
    assert problems()[0].repairable
    world.feeding.sync()
    assert found() == []


def test_a_rollup_leaves_out_what_was_replaced_and_names_the_day_it_corrects(world):
    """Both count, each in its own time; deleted, the new one gives the word back to the old."""
    world.log("chronicle:1", "The api listens on port 8000.", "2025-01-04T10:30")
    world.log("chronicle:2", "Planted the apple tree.", "2025-01-04T10:40")
    world.feeding.sync()
    world.roll_up()
    assert "port 8000" in world.read("month", "2025-01-04T00:00").content
    tags = superseding_tags("chronicle:1")
    world.log("chronicle:3", "The api listens on port 9000.", "2025-02-09T11:30", tags=tags)
    assert world.feeding.sync() == 1
    world.roll_up()
    january = world.read("month", "2025-01-04T00:00")
    assert "port 8000" not in january.content
    assert "apple tree" in january.content
    assert january.metadata["entries"] == 2
    assert "chronicle:1" in world.read("hour", "2025-01-04T10:00").sources
    february = world.read("month", "2025-02-09T00:00").content
    assert "port 9000 (replaces what was said on 4 January 2025)." in february
    world.chronicle.drop("chronicle:3")
    world.feeding.sync()
    world.roll_up()
    assert "port 8000" in world.read("month", "2025-01-04T00:00").content


def test_an_entry_of_ours_that_is_replaced_leaves_its_summaries(world):
    """Until the new one is deleted, also where its metadata is edited; within a day it says nothing."""
    old = world.add("The door code is 1234.", "2025-01-04T10:30")
    world.add("Watered the roses.", "2025-01-04T10:45")
    world.roll_up()
    new = world.journal.supersede(old.id, "The door code is 9876.", at=at("2025-02-09T11:30")).entry
    world.roll_up()
    year = world.read("month", "2025-01-04T00:00").content
    assert "1234" not in year
    assert "roses" in year
    told = world.read("month", "2025-02-09T00:00").content
    assert "9876 (replaces what was said on 4 January 2025)." in told
    new = world.journal.update(new.id, metadata={"projects": ["doors"]})
    world.roll_up()
    assert "1234" not in world.read("month", "2025-01-04T00:00").content
    last = world.journal.supersede(
        new.id, "The door code is 5555.", at=at("2025-02-09T15:30")
    ).entry
    world.roll_up()
    told = world.read("month", "2025-02-09T00:00").content
    assert "9876" not in told
    assert "code is 5555." in told
    world.journal.delete(last.id)
    world.journal.delete(new.id)
    world.roll_up()
    assert "1234" in world.read("month", "2025-01-04T00:00").content


def test_a_period_of_replaced_entries_alone_still_counts_them(world):
    """It was recorded; there is nothing to tell of it."""
    old = world.add("The door code is 1234.", "2025-01-04T10:30")
    world.journal.supersede(old.id, "The door code is 9876.", at=at("2025-02-09T11:30"))
    world.roll_up()
    day = world.read("day", "2025-01-04T00:00")
    assert day.metadata["entries"] == 1
    assert "1234" not in day.content
    assert day.sources
