"""A timeline whose servers are killed: nothing is lost, nothing is there or counted twice."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from datetime import timedelta
from functools import partial

import pytest
from server.tests.proof.deaths import asked_of, check_told, has_lines, kill_writers, wait_for
from server.tests.proof.memory_children import RECORDED_FROM
from server.tests.two_homes import settings_in
from tests.patience import until

from commonplace.app import Apps
from commonplace.app.process import ProcessContext
from commonplace.timeline import Timeline
from commonplace_testing import ReadySlot

DEATHS = 10
POINTS = range(0, 240, 9)
LEVELS = ("hourly", "daily", "weekly", "monthly")


def test_writers_are_killed_in_the_midst(world, database, children, tmp_path):
    """What was told to be done is so, once; every summary counts what is there."""
    told = kill_writers("record", DEATHS, database, children, tmp_path)
    with Timeline("ann", settings=world.settings, encoder=ReadySlot(None)) as mine:
        mine.roll_up()
        there = {x.ref: x.text for x in mine.list(kinds=["raw"], limit=10_000)}
        last = RECORDED_FROM + timedelta(minutes=1 + max(int(number) for _, number, _ in told))
        days = (last.date() - RECORDED_FROM.date()).days + 1
        counted = [
            mine.rollup("daily", RECORDED_FROM + timedelta(days=day)).metadata["entries"]
            for day in range(days)
        ]
    check_told(told, there, DEATHS)
    assert sum(counted) == len(there)


def test_workers_are_killed_in_the_midst(world, database, children, tmp_path):
    """While one records and rolls nothing up: what one had in hand another makes, and once."""
    told, home = tmp_path / "told", tmp_path / "server"
    told.touch()
    home.mkdir()
    asked = asked_of(database, home, told=str(told), first=0, rolls_up=False)
    writer = children.start("record", **asked)
    for number in range(1, DEATHS):
        child = children.start("work", **asked_of(database, home))
        until(partial(has_lines, told, 12 * number), "more is recorded")
        until(lambda: summaries_in(database), "a worker has made a summary")
        os.kill(child, signal.SIGKILL)
        wait_for(child)
    os.kill(writer, signal.SIGKILL)
    wait_for(writer)
    child = children.start("work", **asked_of(database, home))
    due = "SELECT count(*) FROM cp_due WHERE period_end < now() - interval '1 hour'"
    until(lambda: database.rows(due) == [(0,)], "all is rolled up")
    os.kill(child, signal.SIGKILL)
    wait_for(child)
    with Timeline("ann", settings=world.settings, encoder=ReadySlot(None)) as mine:
        there = mine.list(kinds=["raw"], limit=10_000)
    hours = (
        "SELECT sum((figures::json ->> 'entries')::int) FROM cp_rollups AS r JOIN cp_entries AS e"
    )
    where = "ON e.place = r.seq AND e.journal = 'timeline' AND e.level = 1 AND e.state = 'active'"
    assert database.rows(f"{hours} {where}") == [(len(there),)]


@pytest.mark.long
def test_what_expired_goes_though_workers_are_killed(world, database, children, tmp_path):
    """In the midst of it: all of it at last, and nothing else; what was summed up of it too."""
    home = tmp_path / "server"
    home.mkdir()
    with Timeline("ann", settings=world.settings, encoder=ReadySlot(None)) as mine:
        for number in range(4):
            at = RECORDED_FROM + timedelta(minutes=40 * number)
            mine.save_entry(f"harbour n{number}.", at=at)
        mine.roll_up()
        refs = [x.ref for x in mine.list(kinds=["raw"], limit=10)]
    ends = "INSERT INTO wb_times (user_id, kind, ref_id, expires_at) VALUES ('ann', 'timeline', %s, now())"
    is_left = "SELECT count(*) FROM wb_times"
    leased = "SELECT count(*) FROM cp_kept WHERE leased_by IS NOT NULL AND upkeep_at <= now()"
    for ref in refs[1:]:
        database.run(ends, ref.removeprefix("timeline:"))
        child = children.start("work", **asked_of(database, home))
        until(
            lambda: database.rows(leased) == [(1,)] or database.rows(is_left) == [(0,)],
            "it is begun",
        )
        os.kill(child, signal.SIGKILL)
        wait_for(child)
    child = children.start("work", **asked_of(database, home))
    until(lambda: database.rows(is_left) == [(0,)], "what expired is gone")
    os.kill(child, signal.SIGKILL)
    wait_for(child)
    with Timeline("ann", settings=world.settings, encoder=ReadySlot(None)) as mine:
        mine.roll_up()
        assert [x.ref for x in mine.list(kinds=["raw"], limit=10)] == refs[:1]
        assert mine.rollup("daily", RECORDED_FROM).metadata["entries"] == 1


def summaries_in(database):
    """How many summaries are kept."""
    return database.rows("SELECT count(*) FROM cp_rollups")[0][0]


def test_a_move_is_killed_at_every_step(world, database, children, tmp_path):
    """No entry is lost, none comes twice; summaries are what they were, and the file is empty."""
    shared = ProcessContext(settings_in(tmp_path), encoder=ReadySlot(None), serves_owners=True)
    with (
        closing(shared),
        closing(Apps(shared.settings, user_home=None, shared=shared)) as apps,
        apps.using("ann") as app,
    ):
        journal = app.timeline.journal
        for number in range(6):
            at = RECORDED_FROM + timedelta(minutes=40 * number)
            journal.add(f"harbour n{number}.", at=at, idempotency_key=f"k{number}")
        app.timeline.service().catch_up()
        path = journal.database.path
    with Timeline("ann", settings=shared.settings, encoder=ReadySlot(None)) as mine:
        was = everything(mine)
    for point in POINTS:
        child = children.start("move timeline", **asked_of(database, tmp_path, point=point))
        wait_for(child)
        with Timeline("ann", settings=world.settings, encoder=ReadySlot(None)) as mine:
            there = everything(mine)
        if not there[0]:
            assert b"harbour n0." in path.read_bytes()
        else:
            assert there == was
    wait_for(children.start("move timeline", **asked_of(database, tmp_path, point=10**9)))
    with Timeline("ann", settings=world.settings, encoder=ReadySlot(None)) as mine:
        assert everything(mine) == was
        assert mine.save_entry("another", idempotency_key="k3") in was[0]
    assert b"harbour" not in path.read_bytes()


def everything(timeline):
    """The texts of all entries by their refs, and of the summaries of the first of them."""
    texts = {entry.ref: entry.text for entry in timeline.list(kinds=["raw"])}
    summaries = [timeline.rollup(level, RECORDED_FROM).text for level in LEVELS]
    return texts, summaries
