"""Letting go of detail: never before what covers it is there, fresh, and was read back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.cases import cases
from tests.journals.timeline.world import World, at

from commonplace.core.errors import Invalid, NotFound
from commonplace.journals.timeline.expiry import apply_retention
from commonplace.journals.timeline.retention import DESIGN, parse_retention
from commonplace.journals.timeline.source import TimelineSource

ALL = parse_retention("design")


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    yield made
    made.close()


def pass_over(world, until, retention=ALL, **more):
    world.clock.at = at(until)
    return apply_retention(world.rollups, retention, **more)


def statuses(world):
    query = (
        "SELECT entry_type, status, count(*) FROM journal_entries WHERE content <> '' GROUP BY 1, 2"
    )
    return {(kind.partition("_")[0], status): count for kind, status, count in world.rows(query)}


@pytest.mark.design("003-07")
def test_a_setting_names_the_design_and_what_differs():
    """Off, all of it, or level by level."""
    assert not parse_retention("off").is_on
    assert parse_retention("design").keep == DESIGN
    told = parse_retention("design, raw=30d, hourly=never")
    assert told.of(0) == timedelta(days=30)
    assert told.of(1) is None
    assert told.of(2) == timedelta(days=90)
    assert parse_retention("raw=2w").keep == {"raw": timedelta(days=14)}


@cases("wrong", ["on", "raw", "raw=", "raw=0d", "raw=5m", "all=1d", "raw=-1d"])
def test_a_setting_that_means_nothing_is_refused(wrong):
    """What is deleted by a slip of the pen is gone."""
    with pytest.raises(Invalid, match="retention"):
        parse_retention(wrong)


@pytest.mark.design("003-07")
def test_off_lets_go_of_nothing(world):
    """However old."""
    world.add("fixed the gate", "2025-02-04T10:15")
    done = pass_over(world, "2045-01-01T00:00", parse_retention("off"))
    assert (done.archived, done.deleted) == ({}, {})
    assert ("raw", "active") in statuses(world)


@pytest.mark.design("003-19")
def test_raw_entries_are_archived_then_deleted_and_told_of(world):
    """After 24 hours in no search; a week later gone, and its id says so."""
    entry = world.add("fixed the gate", "2025-02-04T10:15")
    pass_over(world, "2025-02-05T10:00")
    assert statuses(world)[("raw", "active")] == 1
    done = pass_over(world, "2025-02-05T11:00")
    assert done.archived["raw"] == 1
    assert world.journal.read(entry.id).status == "archived"
    assert entry.id not in world.shown()
    done = pass_over(world, "2025-02-12T11:00")
    assert done.deleted["raw"] == 1
    with pytest.raises(NotFound, match="expired"):
        world.journal.read(entry.id)
    hour = world.read("hour", "2025-02-04T10:00")
    assert (hour.sources, hour.stale, hour.metadata["entries"]) == ((entry.id,), False, 1)
    assert "fixed the gate" in hour.content


def test_what_an_entry_named_outlives_it(world):
    """Its blockers stay in a day that is made again since a late entry came to it."""
    world.add("fixed the gate", "2025-02-04T10:15", blockers=["no paint"])
    pass_over(world, "2025-02-05T11:00")
    assert pass_over(world, "2025-02-12T11:00").deleted["raw"] == 1
    world.add("painted it", "2025-02-04T12:15")
    world.roll_up()
    assert "• [10:15] no paint." in world.read("day", "2025-02-04T00:00").content


@pytest.mark.design("003-55")
def test_nothing_goes_while_what_covers_it_is_not_there(world):
    """After ten days of sleep the hour is rolled up first; where that fails nothing goes."""

    class Broken:
        generator = "broken"

        def takes(self, material):
            return True

        def summarise(self, material):
            raise Broken.Error

        class Error(Exception):
            pass

    world.add("fixed the gate", "2025-02-04T10:15")
    broken = world.again(summariser=Broken())
    with pytest.raises(Broken.Error):
        pass_over(broken, "2025-02-14T10:00")
    assert statuses(world) == {("raw", "active"): 1}
    done = pass_over(world, "2025-02-14T10:00", parse_retention("raw=24h"))
    assert done.archived["raw"] == 1
    assert ("hourly", "active") in statuses(world)


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE journal_entries SET content = 'x' WHERE rollup_level = 1",
        "UPDATE rollup_sources SET hash = x'00'",
        "DELETE FROM rollup_sources",
        "DELETE FROM journal_entries WHERE rollup_level = 1",
        "UPDATE journal_entries SET metadata = '{\"a\": 1}' WHERE rollup_level = 1",
        'UPDATE rollups SET figures = \'{"entries": 0, "hours": 0}\'',
    ],
)
def test_nothing_goes_when_what_covers_it_does_not_read_as_it_was_kept(world, harm):
    """A rollup that somebody touched, or that is not of this entry, covers nothing."""
    world.add("fixed the gate", "2025-02-04T10:15")
    world.roll_up("2025-02-14T10:00")
    with world.journal.database.writing() as conn:
        conn.connection.execute(harm)
    done = pass_over(world, "2025-02-14T10:00", parse_retention("raw=24h"))
    assert (done.archived, done.kept["raw"]) == ({"raw": 0}, 1)


def test_pinned_entries_and_profiles_stay(world):
    """Whatever their age."""
    world.add("keep this", "2025-02-04T10:15", pinned=True)
    world.journal.add("who I am", entry_type="profile_snapshot", at=at("2025-02-04T10:15"))
    world.add("fixed the gate", "2025-02-04T10:16")
    pass_over(world, "2025-06-01T00:00")
    pass_over(world, "2025-07-01T00:00")
    found = statuses(world)
    assert (found[("raw", "active")], found[("profile", "active")]) == (1, 1)


@pytest.mark.design("003-01", "003-02", "003-03", "003-04", "003-05", "003-06")
def test_each_level_goes_by_the_design_s_table(world):
    """24 hours, 48 hours, 90 days, a year, 7 years, and years for ever."""
    world.add("fixed the gate", "2025-02-04T10:15")
    levels = {"raw", "hourly", "daily", "weekly", "monthly", "yearly"}
    ends = {
        "2025-03-14T12:00": levels - {"raw", "hourly"},
        "2025-06-01T12:00": levels - {"raw", "hourly", "daily"},
        "2026-03-01T12:00": levels - {"raw", "hourly", "daily", "weekly"},
        "2032-03-20T12:00": {"yearly"},
        "2060-01-01T12:00": {"yearly"},
    }
    for when, left in ends.items():
        pass_over(world, when)
        pass_over(world, when)
        there = {kind for kind, _ in statuses(world)}
        # The year's rollup is made in January 2026.
        assert there - {"yearly"} == left - {"yearly"}
    year = world.read("year", "2025-02-04T10:00")
    assert year.metadata["entries"] == 1
    assert "fixed the gate" in year.content


def test_a_day_stays_until_its_week_and_its_month_cover_it(world):
    """It has two parents, and each must be there."""
    world.add("fixed the gate", "2025-02-28T10:15")
    keep = parse_retention("daily=1h")
    done = pass_over(world, "2025-03-01T12:00", keep)
    assert (done.archived["daily"], done.kept["daily"]) == (0, 1)
    done = pass_over(world, "2025-03-03T12:00", keep)
    assert done.archived["daily"] == 1


def test_a_week_across_two_months_is_covered_by_the_month_in_which_something_happened(world):
    """Nothing was written in January: no rollup of it will ever be, and none has to be."""
    world.add("fixed the gate", "2024-12-31T10:15")
    done = pass_over(world, "2025-02-20T12:00", parse_retention("weekly=1d"))
    assert (done.archived["weekly"], done.kept["weekly"]) == (1, 0)


def test_a_late_entry_is_added_to_what_is_known_of_expired_ones(world):
    """The hour still tells of what it was made from, and counts one more."""
    world.add("Decided to paint the gate", "2025-02-04T10:15", projects=["garden"])
    world.add("fixed the lock", "2025-02-04T10:40", projects=["garden"])
    pass_over(world, "2025-02-05T12:00", parse_retention("raw=24h"))
    pass_over(world, "2025-02-13T12:00", parse_retention("raw=24h"))
    assert statuses(world).get(("raw", "active")) is None
    assert world.roll_up() == 0
    world.add("remembered the harbour", "2025-02-04T10:50", projects=["boats"])
    world.roll_up()
    hour = world.read("hour", "2025-02-04T10:00")
    assert hour.metadata["entries"] == 3
    assert hour.metadata["projects"] == ["garden", "boats"]
    assert len(hour.sources) == 3
    for text in ("Decided to paint the gate", "fixed the lock", "remembered the harbour"):
        assert text in hour.content
    day = world.read("day", "2025-02-04T10:00")
    assert (day.metadata["entries"], day.metadata["hours_active"]) == (3, 1)


def test_an_entry_that_expired_can_still_be_forgotten(world, tmp_path):
    """Its words leave every rollup that tells of it."""
    entry = world.add("Decided on zanzibarquartz", "2025-02-04T10:15", projects=["zanzibarquartz"])
    world.add("fixed the lock", "2025-02-04T10:40")
    for when in ("2025-02-05T12:00", "2025-02-13T12:00"):
        pass_over(world, when, parse_retention("raw=24h"))
    assert "zanzibarquartz" in world.read("day", "2025-02-04T10:00").content
    world.journal.delete(entry.id)
    world.roll_up()
    assert "zanzibarquartz" not in world.read("day", "2025-02-04T10:00").content
    assert "zanzibarquartz" not in world.read("hour", "2025-02-04T10:00").content
    assert "fixed the lock" in world.read("hour", "2025-02-04T10:00").content
    assert world.read("month", "2025-02-04T10:00", partial=True).metadata["entries"] == 1
    assert b"zanzibarquartz" not in (tmp_path / "journal.db").read_bytes()


def test_trends_count_what_expired(world):
    """A month's figures stay when no entry, no hour and no day of it is left."""
    world.add("fixed the gate", "2025-02-04T10:15")
    world.add("painted it", "2025-03-04T10:15")
    for when in ("2025-03-06T12:00", "2025-03-20T12:00", "2025-07-01T12:00", "2025-07-09T12:00"):
        pass_over(world, when)
    assert world.shown(0) == world.shown(1) == world.shown(2) == []
    found = world.list_trends("month")
    assert [(x.key, x.figures.entries) for x in found.periods] == [("2025-02", 1), ("2025-03", 1)]
    assert not any(x.expired for x in found.periods)
    days = world.list_trends("day")
    assert [x.key for x in days.periods if x.expired] == ["2025-02-04", "2025-03-04"]
    assert len(days.periods) == 29
    assert next(x for x in days.as_dict()["periods"] if "expired" in x)["entries"] == 0


def test_more_hours_than_entries_are_none(world):
    """Of two hours that expired, one was that of an entry which is forgotten."""
    entry = world.add("fixed the gate", "2025-02-04T10:15")
    world.add("painted it", "2025-02-04T11:15")
    for when in ("2025-02-06T12:00", "2025-02-20T12:00"):
        pass_over(world, when)
    world.journal.delete(entry.id)
    world.roll_up()
    day = world.read("day", "2025-02-04T10:00").metadata
    assert (day["entries"], day["hours_active"]) == (1, 1)


def test_a_dry_run_only_tells(world):
    """Nothing is rolled up, archived or deleted."""
    world.add("fixed the gate", "2025-02-04T10:15")
    world.roll_up("2025-02-14T10:00")
    before = statuses(world)
    done = pass_over(world, "2025-02-14T10:00", dry_run=True)
    assert done.archived["raw"] == 1
    assert statuses(world) == before


def test_the_index_drops_what_is_archived(world):
    """Even one that knows the log only up to before it was pruned."""
    from commonplace.core.values import Drop, Since

    entry = world.add("fixed the gate", "2025-02-04T10:15")
    source = TimelineSource(world.journal)
    mark = source.mark()
    for when in ("2025-02-05T12:00", "2025-02-13T12:00"):
        pass_over(world, when, parse_retention("raw=24h"))
    stamps = {entry.ref: "known"}
    since = Since(mark=mark, stamps=lambda prefix: {k: v for k, v in stamps.items() if prefix in k})
    assert Drop(entry.ref) in list(source.scan(since))


BELOW = parse_retention("raw=24h,hourly=2d")


def expired_below(world, days=(6, 16, 27)):
    """Entries and hours are let go of, and all is rolled up that February is made into."""
    for day in days:
        pass_over(world, f"2025-02-{day:02}T12:00", BELOW)
    pass_over(world, "2026-01-02T12:00", BELOW)
    pass_over(world, "2026-01-10T12:00", BELOW)


LARGER = ("day", "week", "month", "year")


def counts(world, when="2025-02-04T10:00"):
    return {level: world.read(level, when).metadata["entries"] for level in LARGER}


def test_a_late_entry_beside_a_pinned_one_is_counted_once(world):
    """Two that are there, one of them pinned in an hour that expired, and one that comes: three."""
    world.add("a pinned gate", "2025-02-04T10:15", pinned=True)
    world.add("fixed the lock", "2025-02-04T10:40")
    expired_below(world)
    assert world.shown(level=1) == []
    assert counts(world) == dict.fromkeys(LARGER, 2)
    world.add("remembered the harbour", "2025-02-04T10:50")
    world.roll_up()
    assert counts(world) == dict.fromkeys(LARGER, 3)
    assert "remembered the harbour" in world.read("year", "2025-02-04T10:00").content


def test_a_pinned_entry_is_altered_moved_and_deleted_where_its_hour_expired(world):
    """Each summary says what it says now, and no earlier wording; then nothing of it."""
    pinned = world.add("a zanzibarquartz gate", "2025-02-04T10:15", pinned=True)
    world.add("fixed the lock", "2025-02-04T10:40")
    expired_below(world)
    world.journal.update(pinned.id, content="a green gate")
    world.roll_up()
    assert counts(world) == dict.fromkeys(LARGER, 2)
    for level in LARGER:
        content = world.read(level, "2025-02-04T10:00").content
        assert "green" in content
        assert "zanzibarquartz" not in content
    world.journal.update(pinned.id, at=at("2025-03-04T10:15"))
    world.roll_up()
    assert counts(world) == {"day": 1, "week": 1, "month": 1, "year": 2}
    world.journal.delete(pinned.id)
    world.roll_up()
    assert counts(world) == dict.fromkeys(LARGER, 1)
    assert "green" not in world.read("year", "2025-02-04T10:00").content


def test_an_hour_that_is_made_again_for_what_is_made_of_it_is_not_shown(world):
    """It expired once, and leaves again the next time."""
    world.add("fixed the lock", "2025-02-04T10:40")
    expired_below(world)
    world.add("remembered the harbour", "2025-02-04T12:50")
    world.roll_up()
    assert world.shown(level=1) == ["rollup_hourly_20250204_12"]
    assert world.read("day", "2025-02-04T10:00").metadata["coverage"]["present"] == 2
    pass_over(world, "2026-01-11T12:00", BELOW)
    assert world.shown(level=1) == []


def test_a_sentence_that_no_summary_quotes_any_more_is_deleted(world, tmp_path):
    """An hour quotes all of its entries, a day fewer; what is left of them goes with the hour."""
    words = [f"word{number}quartz" for number in range(20)]
    for number, word in enumerate(words):
        world.add(f"met {word}", f"2025-02-04T{number:02}:15")
    for day in (6, 12):
        pass_over(world, f"2025-02-{day:02}T23:00", parse_retention("raw=24h"))
    assert len(world.rows("SELECT 1 FROM expired WHERE points <> '[]'")) == 20
    expired_below(world)
    day = world.read("day", "2025-02-04T10:00").content
    quoted = [word for word in words if word in day]
    assert 0 < len(quoted) < 20
    left = " ".join(points for (points,) in world.rows("SELECT points FROM expired"))
    assert [word for word in words if word in left] == quoted


def test_another_zone_cuts_what_expired(world):
    """Its entries are counted in the days that they were in there."""
    world.add("fixed the lock", "2025-02-04T23:40")
    world.add("painted the gate", "2025-02-04T10:40")
    expired_below(world)
    world.journal.set_zone("Asia/Tokyo")
    assert world.read("day", "2025-02-04T12:00").metadata["entries"] == 1
    assert "fixed the lock" in world.read("day", "2025-02-04T23:00").content
