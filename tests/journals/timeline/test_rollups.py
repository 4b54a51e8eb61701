"""Rolling up: which periods, when, from what; after sleep, late entries, and clocks set back."""

from __future__ import annotations

import itertools
import json
from datetime import UTC, timedelta
from zoneinfo import ZoneInfo

import pytest
from tests.cases import cases
from tests.core.zones import APIA, BEIRUT, CAIRO, DAYS, KIRITIMATI, LOS_ANGELES
from tests.journals.timeline.world import World, at

from commonplace.core.clock import period_key, periods_in
from commonplace.core.errors import Invalid, NotFound
from commonplace.core.values import Interval
from commonplace.journals.timeline.due_periods import span_at
from commonplace.journals.timeline.pages import TimelinePages
from commonplace.journals.timeline.queries import sql
from commonplace_testing import FrozenClock

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    yield made
    made.close()


def test_nothing_is_made_before_the_first_write(tmp_path):
    """Reading an absent timeline leaves no file."""
    world = World(tmp_path / "journal")
    assert world.roll_up() == 0
    assert world.shown() == []
    assert world.read("day", "2025-02-04T10:00") is None
    assert world.read("day", "2025-02-01T10:00").content == ""
    assert world.read("year", "2025-02-01T10:00", partial=True).metadata["entries"] == 0
    assert world.journal.profile() is None
    assert not (tmp_path / "journal").exists()


def test_an_entry_marks_its_five_periods_in_the_same_transaction(world):
    """Hour, day, ISO week, month and year: no more, no less."""
    world.add("fixed the gate", "2025-02-04T10:15")
    assert world.due_periods() == {
        (1, "2025-02-04T10:00"),
        (2, "2025-02-04T00:00"),
        (3, "2025-02-03T00:00"),
        (4, "2025-02-01T00:00"),
        (5, "2025-01-01T00:00"),
    }


@pytest.mark.design("003-46", "003-47", "003-48", "003-49", "003-50")
@cases(
    ("now", "due"),
    [
        ("2025-02-28T23:59:59", 0),
        ("2025-03-01T00:00", 1),
        ("2025-03-01T00:04:59", 1),
        ("2025-03-01T00:05", 2),
        ("2025-03-01T00:15", 3),
        ("2025-03-03T00:09", 3),
        ("2025-03-03T00:10", 4),
        ("2026-01-01T00:59", 4),
        ("2026-01-01T01:00", 5),
    ],
)
def test_periods_become_due_when_the_design_says(tmp_path, now, due):
    """:00, 00:05, Monday 00:10, the 1st 00:15, 1 January 01:00; whoever asks later finds them."""
    world = World(tmp_path)
    world.add("fixed the gate", "2025-02-28T23:15")
    assert world.roll_up(now) == due
    world.close()


def test_grace_waits_longer(tmp_path):
    """Entries that come late, from another machine say, are counted the first time."""
    world = World(tmp_path, grace=timedelta(minutes=30))
    world.add("fixed the gate", "2025-02-04T10:15")
    assert world.roll_up("2025-02-04T11:29") == 0
    assert world.roll_up("2025-02-04T11:30") == 1
    world.close()


def test_after_ten_days_of_sleep_all_is_made_and_again_nothing(world):
    """Nobody was awake at midnight; what is due is read from rows."""
    for day in (4, 5, 9):
        world.add("fixed the gate", f"2025-02-{day:02d}T10:15")
    # 3 hours, 3 days, the week of the 3rd to the 9th.
    assert world.roll_up("2025-02-15T09:00") == 7
    assert world.roll_up() == 0
    assert world.again().roll_up() == 0
    assert world.read("week", "2025-02-04T00:00").metadata["entries"] == 3


def test_a_late_entry_of_13_months_ago_touches_exactly_its_ancestors(world):
    """Five rollups are other ones, and no more; the others are not even written again."""
    for month in range(1, 13):
        for day in (3, 17):
            world.add(f"fixed gate {month} {day}", f"2024-{month:02d}-{day:02d}T10:15")
    world.roll_up("2025-03-10T09:00")
    before = dict(world.rows("SELECT id, hex(hash) FROM journal_entries WHERE rollup_level > 0"))
    known = world.rows(sql()["last_change"])[0][0]
    world.add("Remembered the harbour", "2024-02-17T10:40")
    assert world.roll_up() == 5
    after = dict(world.rows("SELECT id, hex(hash) FROM journal_entries WHERE rollup_level > 0"))
    touched = {x for x in after if before.get(x) != after[x]}
    assert touched == {
        "rollup_hourly_20240217_10",
        "rollup_daily_20240217",
        "rollup_weekly_2024W07",
        "rollup_monthly_202402",
        "rollup_yearly_2024",
    }
    with world.journal.database.reading() as conn:
        assert len(conn.run("changed_since", {"seq": known}).fetchall()) == 6
    assert "harbour" in world.read("month", "2024-02-01T00:00").content


def test_a_clock_set_back_loses_nothing(world):
    """What was rolled up stays; what is added then is rolled up when its period is over again."""
    world.add("fixed the gate", "2025-02-04T10:15")
    assert world.roll_up("2025-02-04T11:00") == 1
    world.clock.at = at("2025-02-04T10:20")
    assert world.read("hour", "2025-02-04T10:00").metadata["entries"] == 1
    world.journal.add("painted it")
    assert world.roll_up() == 0
    assert world.read("hour", "2025-02-04T10:00") is None
    assert world.roll_up("2025-02-04T11:00") == 1
    assert world.read("hour", "2025-02-04T10:00").metadata["entries"] == 2


def test_an_open_period_is_computed_from_what_is_closed_and_what_is_not(world):
    """Rolled up hours, hours that are due, and the hour that goes on."""
    for when in ("08:10", "09:10", "10:10", "10:20"):
        world.add(f"at {when}", f"2025-02-04T{when}")
    world.roll_up("2025-02-04T09:00")
    world.clock.at = at("2025-02-04T10:30")
    day = world.read("day", "2025-02-04T00:00", partial=True)
    assert (day.partial, day.metadata["entries"], day.metadata["hours_active"]) == (True, 4, 3)
    assert len(day.sources) == 4
    assert day.sources[0] == "rollup_hourly_20250204_08"
    assert world.rows("SELECT count(*) FROM journal_entries WHERE rollup_level > 1") == [(0,)]


def test_making_a_period_anew_leaves_open_what_goes_on(world):
    """The hour and the day that are over, and not the day, week, month and year of now."""
    for when in ("2025-02-03T08:10", "2025-02-04T10:10"):
        world.add(f"at {when}", when)
    world.clock.at = at("2025-02-04T10:30")
    assert world.rollups.rebuild("year", at("2025-02-04T00:00")) == 2
    made = ["rollup_daily_20250203", "rollup_hourly_20250203_08"]
    assert sorted(world.told()) == made
    assert world.rollups.rebuild("month", at("2025-02-04T00:00")) == 2
    assert sorted(world.told()) == made
    assert world.read("year", "2025-02-04T00:00") is None


def test_a_closed_period_that_is_due_is_made_when_it_is_read(world):
    """With all that it is made from; nothing else need have run."""
    world.add("fixed the gate", "2025-02-04T10:15")
    world.clock.at = at("2026-02-01T00:00")
    year = world.read("year", "2025-02-04T10:15")
    assert (year.metadata["entries"], year.stale) == (1, False)
    assert len(world.shown(level=1)) == 1


@pytest.mark.design("003-53")
def test_days_without_entries_are_recorded_as_empty(world):
    """A month's rows tell each of its days: rolled up, or nothing happened."""
    world.add("fixed the gate", "2024-02-04T10:15")
    world.roll_up("2024-03-01T09:00")
    days = world.rows(
        "SELECT count(*), sum(content = '') FROM journal_entries WHERE rollup_level = 2"
    )
    # With the last three of January, which are in the week of the first of February.
    assert days == [(32, 31)]
    assert world.shown(level=2) == ["rollup_daily_20240204"]
    month = world.read("month", "2024-02-01T00:00")
    assert month.metadata["coverage"] == {"present": 1, "expected": 29}


def test_what_was_empty_is_filled_by_a_late_entry(world):
    """The row of nothing becomes the row of something, under the same id."""
    world.add("fixed the gate", "2024-02-04T10:15")
    world.roll_up("2024-03-01T09:00")
    world.add("painted it", "2024-02-06T10:15")
    world.roll_up()
    assert world.shown(level=2) == ["rollup_daily_20240206", "rollup_daily_20240204"]


@pytest.mark.design("003-45")
def test_weeks_are_iso_and_in_no_month(world):
    """31 December 2024 is in week 1 of 2025; its month is December, its year 2024."""
    world.add("new year's eve", "2024-12-31T23:00")
    world.add("new year", "2025-01-01T10:00")
    world.roll_up("2026-01-02T09:00")
    assert world.read("week", "2025-01-01T00:00").id == "rollup_weekly_2025W01"
    assert world.read("week", "2025-01-01T00:00").metadata["entries"] == 2
    assert world.read("month", "2024-12-31T00:00").metadata["entries"] == 1
    assert world.read("year", "2024-12-31T00:00").metadata["entries"] == 1
    assert world.read("year", "2025-01-01T00:00").sources == ("rollup_monthly_202501",)


@cases(
    ("when", "week"),
    [
        ("2021-01-03T12:00", "rollup_weekly_2020W53"),
        ("2024-12-30T12:00", "rollup_weekly_2025W01"),
        ("2027-01-01T12:00", "rollup_weekly_2026W53"),
    ],
)
def test_weeks_at_the_turn_of_the_year(tmp_path, when, week):
    """The Thursday decides which year a week is of."""
    world = World(tmp_path, clock=FrozenClock(at("2027-02-01T00:00")))
    world.add("fixed the gate", when)
    assert world.read("week", when).id == week
    world.close()


def in_part(day):
    """Days of 24 hours, and a second one of the same kind, are tried in the long part alone."""
    is_odd = day.hours != 24 and day.zone is not BEIRUT
    marks = () if is_odd else pytest.mark.long
    return pytest.param(day, marks=marks, id=f"{day.zone}-{day.day}")


@pytest.mark.design("003-52")
@pytest.mark.parametrize("odd", [in_part(day) for day in DAYS if day.hours])
def test_each_hour_of_an_odd_day_is_its_own(tmp_path, odd):
    """An entry in each hour of days of 23 to 25 hours: as many rollups, one day, and no other."""
    world = World(tmp_path, zone=odd.zone, clock=FrozenClock(odd.end + timedelta(days=400)))
    hours = list(periods_in(Interval(start=odd.start, end=odd.end), "hour", odd.zone))
    for hour in hours:
        world.journal.add("again", at=hour.start + (hour.end - hour.start) / 2)
    world.roll_up()
    assert len(world.shown(level=1)) == len(hours) == -int(-odd.hours // 1)
    (day,) = world.shown(level=2)
    assert day == f"rollup_daily_{odd.day:%Y%m%d}"
    found = world.rollups.read("day", odd.start)
    assert found.metadata["entries"] == found.metadata["hours_active"] == len(hours)
    assert found.metadata["coverage"] == {"present": len(hours), "expected": len(hours)}
    world.close()


def test_the_repeated_hour_is_two(tmp_path):
    """Los Angeles, 1 November 2026: 01:30 twice, an hour apart."""
    world = World(tmp_path, zone=LOS_ANGELES, clock=FrozenClock(at("2026-12-01T12:00")))
    world.add("first", "2026-11-01T08:30")
    world.add("second", "2026-11-01T09:30")
    world.roll_up()
    assert world.shown(level=1) == ["rollup_hourly_20261101_01b", "rollup_hourly_20261101_01"]
    world.close()


@pytest.mark.parametrize("zone", [KIRITIMATI, APIA, CAIRO])
def test_the_skipped_date_and_far_zones_hold_their_entries(tmp_path, zone):
    """What happened around the date line in 2011 is counted once, in the days that were."""
    world = World(tmp_path, zone=zone, clock=FrozenClock(at("2012-03-01T12:00")))
    for hours in range(0, 72, 3):
        world.journal.add("again", at=at("2011-12-28T20:30") + timedelta(hours=hours))
    world.roll_up()
    assert ("rollup_daily_20111230" in world.shown(level=2)) == (zone is not APIA)
    month = world.rollups.read("month", at("2011-12-29T12:00"))
    after = world.rollups.read("month", at("2012-01-10T12:00"))
    counted = month.metadata["entries"] + (after.metadata["entries"] if after else 0)
    assert counted == 24
    world.close()


def test_another_zone_begins_a_series_of_its_own_lazily(world):
    """The old one stays until the new one has its own; ids of the later zone bear its name."""
    world.add("late in the evening", "2025-02-04T23:30")
    world.roll_up("2025-02-06T09:00")
    world.journal.set_zone("Europe/Berlin")
    assert world.shown(level=2) == ["rollup_daily_20250204"]
    day = world.read("day", "2025-02-04T23:30")
    assert day.id == "rollup_daily_20250205@Europe/Berlin"
    assert day.metadata["entries"] == 1
    # The 4th of February in Berlin is empty, and takes the place of the old zone's when it is due.
    world.add("at noon", "2025-02-04T12:00")
    world.roll_up()
    assert world.shown(level=2) == [
        "rollup_daily_20250205@Europe/Berlin",
        "rollup_daily_20250204@Europe/Berlin",
    ]


def test_a_zone_that_comes_back_goes_on_with_its_series(world):
    """The first zone's ids never bear its name."""
    world.add("first", "2025-02-04T12:00")
    world.roll_up("2025-02-06T09:00")
    world.journal.set_zone("Europe/Berlin")
    world.add("second", "2025-02-04T12:30")
    world.roll_up()
    world.journal.set_zone("UTC")
    world.add("third", "2025-02-04T12:45")
    world.roll_up()
    day = world.read("day", "2025-02-04T12:00")
    assert (day.id, day.metadata["entries"]) == ("rollup_daily_20250204", 3)
    assert world.shown(level=2) == ["rollup_daily_20250204"]


@cases("name", ["Atlantis", "localtime", "posixrules", "Factory", "right/UTC", "posix/UTC", "../x"])
def test_an_unknown_zone_is_refused(world, name):
    """So is what lies beside the zones and is none of them; the zone is kept that was."""
    with pytest.raises(Invalid, match=name):
        world.journal.set_zone(name)
    assert world.journal.zone is UTC


@pytest.mark.design("003-39", "003-40", "003-44")
def test_numbers_that_entries_carry_are_merged_and_none_are_invented(world):
    """Hours are added up, scores are averaged, moods are told where somebody told one."""
    world.add("a", "2025-02-04T10:15", hours_worked=2, productivity_score=8, sentiment="positive")
    world.add("b", "2025-02-04T14:15", hours_worked=1.5, productivity_score=6)
    world.add("c", "2025-02-05T14:15")
    world.roll_up("2025-02-07T00:00")
    first = world.read("day", "2025-02-04T00:00").metadata
    assert (first["hours_worked"], first["productivity_score"]) == (3.5, 7.0)
    assert first["sentiment"] == "positive"
    second = world.read("day", "2025-02-05T00:00").metadata
    assert not {"hours_worked", "productivity_score", "sentiment"} & second.keys()


@pytest.mark.parametrize("huge", [1e308, -1e308, 10**400, 10**15 + 1], ids=range(4))
def test_a_number_that_counts_nothing_holds_up_no_summary(world, huge):
    """Its entry keeps it; a sum of such numbers is none that JSON holds."""
    carried = {"hours_worked": huge, "productivity_score": huge}
    entries = [world.add("a", f"2025-02-04T{hour}:15", **carried) for hour in (10, 10, 14)]
    world.add("b", "2025-02-04T10:20", hours_worked=2)
    world.add("c", "2025-02-05T10:20", tasks_completed=10**15)
    world.roll_up("2026-02-07T00:00")
    read = world.read("week", "2025-02-04T00:00").metadata
    assert (read["entries"], read["hours_worked"], read["tasks_completed"]) == (5, 2, 10**15)
    assert "productivity_score" not in read
    assert world.journal.read(entries[0].id).metadata["hours_worked"] == huge


def test_of_many_blockers_the_last_hundred_are_carried_upwards(world):
    """The same ones in every level, however late they were recorded; a longer one is cut."""
    for hour in (12, 10, 11):
        named = [f"{hour} {number:02} {'x' * 300}" for number in range(60)]
        world.add("Stuck", f"2025-02-04T{hour}:15", blockers=named)
    world.roll_up("2026-02-07T00:00")
    for level in ("day", "week", "month", "year"):
        kept = world.read(level, "2025-02-04T00:00").metadata["blockers"]
        assert [x[:5] for x in kept] == [f"12 {number:02}" for number in range(10, 60)]
        assert {len(x) for x in kept} == {223}
    ((figures,),) = world.rows("SELECT figures FROM rollups WHERE period_key = '2025'")
    assert len(json.loads(figures)["blockers"]) == 100


@pytest.mark.design("003-32")
def test_metadata_of_any_shape_is_kept_and_what_is_no_name_is_not_counted(world):
    """What somebody else's program wrote may be anything that JSON holds."""
    odd = {"projects": [1, None, " a  b ", "a b"], "tags": "one", "action": {"x": 1}}
    entry = world.journal.add("odd", metadata=odd).entry
    assert world.journal.read(entry.id).metadata == odd
    world.add("a number", tags=5)
    pages = TimelinePages(world.journal)
    assert [pages.read_ref(f"timeline:{x}").tags for x in world.shown(0)] == [(), ("one",)]
    told = world.rollups.compute(span_at(entry.at, "hour", world.journal.zone)).metadata
    assert (told["projects"], told["tags"], told["actions_taken"]) == (["a b"], ["one"], [])


@cases(
    "wrong",
    [
        {"content": " \n"},
        {"content": "x" * 1_100_000},
        {"content": "x", "entry_type": "daily_rollup"},
        {"content": "x", "entry_type": "fact"},
        {"content": "x", "metadata": {"x": float("nan")}},
        {"content": "x", "metadata": {"x": object()}},
        {"content": "x", "metadata": ["projects"]},
        {"content": "x", "metadata": {"x": "y" * 70_000}},
        {"content": "x", "idempotency_key": "y" * 501},
        {"content": "x", "at": at("2025-02-04T10:00").replace(tzinfo=None)},
        {"content": "x", "at": at("9999-12-31T23:00")},
    ],
)
def test_what_cannot_be_kept_is_refused_and_nothing_of_it_stays(world, wrong):
    """Before anything is written."""
    with pytest.raises(Invalid):
        world.journal.add(**wrong)
    assert world.shown() == []
    assert world.due_periods() == set()


def test_the_same_key_twice_is_one_entry(world):
    """The first; also when it was deleted since."""
    first = world.journal.add("fixed the gate", idempotency_key="k")
    again = world.journal.add("another text", idempotency_key="k")
    assert (first.is_new, again.is_new, again.entry.id) == (True, False, first.entry.id)
    assert again.entry.content == "fixed the gate"
    world.journal.delete(first.entry.id)
    gone = world.journal.add("fixed the gate", idempotency_key="k")
    assert (gone.is_new, gone.entry.status) == (False, "deleted")
    assert world.shown() == []


def test_a_batch_is_whole_or_not_at_all(world):
    """One entry that cannot be kept takes the others with it."""
    from commonplace.journals.timeline.entry import TimelineDraft

    with pytest.raises(Invalid):
        world.journal.add_many([TimelineDraft(content="one"), TimelineDraft(content=" ")])
    assert world.shown() == []


def test_an_entry_moved_in_time_is_due_where_it_was_and_where_it_is(world):
    """Both days' rollups follow."""
    entry = world.add("fixed the gate", "2025-02-04T10:15")
    world.add("painted it", "2025-02-04T10:20")
    world.roll_up("2025-03-01T00:00")
    world.journal.update(entry.id, at=at("2025-02-11T09:00"))
    world.roll_up()
    assert world.read("day", "2025-02-04T00:00").metadata["entries"] == 1
    assert world.read("day", "2025-02-11T00:00").metadata["entries"] == 1


def test_a_rollup_cannot_be_altered_or_deleted(world):
    """It follows what it is made from."""
    world.add("fixed the gate", "2025-02-04T10:15")
    world.roll_up("2025-02-04T12:00")
    with pytest.raises(Invalid, match="rollup"):
        world.journal.update("rollup_hourly_20250204_10", content="other")
    with pytest.raises(Invalid, match="rollup"):
        world.journal.delete("rollup_hourly_20250204_10")
    with pytest.raises(NotFound):
        world.journal.delete("nothing")


def test_lists_are_newest_first_and_go_on_where_they_ended(world):
    """Every entry once, whatever the length of a page, rollups at the end of their periods."""
    for minute in range(0, 50, 7):
        world.add(f"at {minute}", f"2025-02-04T10:{minute:02d}")
    world.roll_up("2025-02-10T09:00")
    whole = world.journal.list_entries(Interval(), limit=1000).entries
    assert [x.entry_type for x in whole][:3] == ["weekly_rollup", "daily_rollup", "hourly_rollup"]
    for limit in (1, 3, 4):
        found, cursor = [], ""
        while True:
            page = world.journal.list_entries(Interval(), limit=limit, cursor=cursor)
            found += page.entries
            if not (cursor := page.cursor):
                break
        assert [x.id for x in found] == [x.id for x in whole]


def test_a_list_holds_what_overlaps(world):
    """A month that began before and a week that ends after; half-open on both sides."""
    world.add("fixed the gate", "2025-02-04T10:15")
    world.roll_up("2025-03-10T09:00")

    def listed(start, end):
        found = world.journal.list_entries(Interval(start=at(start), end=at(end))).entries
        return {x.entry_type.partition("_")[0] for x in found}

    assert listed("2025-02-04T10:15", "2025-02-04T10:16") == {
        *("raw", "hourly", "daily", "weekly", "monthly")
    }
    assert listed("2025-02-04T11:00", "2025-02-04T12:00") == {"daily", "weekly", "monthly"}
    assert listed("2025-02-28T12:00", "2025-03-02T00:00") == {"monthly"}
    assert listed("2025-03-01T00:00", "2025-03-02T00:00") == set()


@pytest.mark.design("003-30")
def test_the_log_tells_what_was_made_from_how_much_and_no_text(world, tmp_path):
    """One line a rollup; nothing of an entry stands in it."""
    world.add("The secret harbour", "2025-02-04T10:15", projects=["hidden"])
    world.roll_up("2025-02-05T09:00")
    text = (tmp_path / "rollups.log").read_text()
    lines = [json.loads(x) for x in text.splitlines()]
    assert [(x["level"], x["period"], x["inputs"], x["outcome"]) for x in lines] == [
        ("hour", "2025-02-04T10", 1, "stored"),
        ("day", "2025-02-04", 1, "stored"),
    ]
    assert lines[0]["generator"] == "extractive 3"
    assert "harbour" not in text
    assert "hidden" not in text


def test_catching_up_stops_when_its_time_is_up(world):
    """What is left stays due, and is told."""
    for day in range(1, 20):
        world.add("again", f"2025-02-{day:02d}T10:15")
    world.clock.at = at("2025-03-10T09:00")
    assert world.rollups.catch_up(most=5) == 5
    assert world.rollups.catch_up(within_s=0.0) == 1
    due = {x.level: x.count for x in world.rollups.list_due()}
    assert sum(due.values()) == 19 + 19 + 4 + 1 - 6
    assert period_key(world.rollups.list_due()[0].oldest, "hour", UTC).startswith("2025-02-0")


def test_a_busy_machine_comes_to_the_end_step_by_step(tmp_path):
    """Where a look alone takes longer than a step may, each step makes one: none says all is done."""
    world = World(tmp_path, monotonic=itertools.count().__next__)
    world.add("again", "2025-02-04T10:15")
    world.clock.at = at("2026-03-10T09:00")
    steps = iter(lambda: world.rollups.catch_up(within_s=0.05), 0)
    assert [*steps] == [1] * 5
    assert world.rollups.list_due() == []
    world.close()


def test_an_edit_that_leaves_the_text_of_the_hour_reaches_the_year(world):
    """Tags, actions and numbers stand in no line of an hour, and in each larger summary."""
    entry = world.add("fixed the gate", "2024-02-04T10:15", tags=["garden"], action="fix")
    world.add("painted it", "2024-02-04T10:20", tags=["garden", "paint"], action="paint")
    world.roll_up("2025-02-05T12:00")
    assert "paint" in world.read("year", "2024-02-04T10:00").content
    world.journal.update(entry.id, metadata={"tags": ["paint"], "action": "paint"})
    world.roll_up()
    for level in ("day", "week", "month", "year"):
        content = world.read(level, "2024-02-04T10:00").content
        assert "**Tags**: paint (2), garden" in content
        assert "**Actions**: paint (2)" in content
