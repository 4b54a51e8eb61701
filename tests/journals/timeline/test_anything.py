"""Whatever somebody does with a timeline, in any order, its rollups count what is there."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from datetime import timedelta
from pathlib import Path

from hypothesis import strategies as st
from tests.journals.timeline.world import World, at
from tests.sampled import sampled

from commonplace.core.clock import period
from commonplace.journals.timeline.expiry import apply_retention
from commonplace.journals.timeline.retention import parse_retention
from commonplace_testing import FrozenClock

ZONES = ("UTC", "Europe/Berlin", "America/Los_Angeles", "Australia/Lord_Howe", "Pacific/Apia")
BEGIN = at("2025-03-01T00:00")

minutes = st.integers(0, 60 * 24 * 40)
step = st.one_of(
    st.tuples(st.just("add"), minutes),
    st.tuples(st.just("now"), st.just(0)),
    st.tuples(st.just("delete"), st.integers(0, 50)),
    st.tuples(st.just("roll up"), st.integers(1, 9)),
    st.tuples(st.just("read"), st.integers(0, 60)),
    st.tuples(st.just("go on"), st.sampled_from([600, 3_600, 86_400, 9 * 86_400])),
)
moved = st.tuples(st.just("move"), minutes)
zoned = st.tuples(st.just("zone"), st.integers(0, len(ZONES) - 1))
let = st.tuples(st.just("let go"), st.just(0))


class Life:
    """A timeline that things are done with, and what should be in it."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp())
        self.world = World(self.folder, clock=FrozenClock(BEGIN))
        self.there = {}

    def do(self, what, number):
        world, now = self.world, self.world.clock.at
        known = list(self.there)
        match what:
            case "add" | "now":
                when = now - timedelta(minutes=number)
                entry = world.journal.add(f"did {len(known)}. Decided so.", at=when).entry
                self.there[entry.id] = when
            case "delete" if known:
                chosen = known[number % len(known)]
                world.journal.delete(chosen)
                del self.there[chosen]
            case "move" if known:
                when = now - timedelta(minutes=number)
                world.journal.update(known[number % len(known)], at=when)
                self.there[known[number % len(known)]] = when
            case "zone":
                world.journal.set_zone(ZONES[number])
            case "roll up":
                world.rollups.catch_up(most=number)
            case "read":
                level = ("hour", "day", "week", "month", "year")[number % 5]
                world.rollups.read(level, now - timedelta(days=number), partial=number % 2 == 0)
            case "go on":
                world.clock.advance(number)
            case "let go":
                apply_retention(world.rollups, parse_retention("design"))

    def end(self, levels):
        """A year later all is rolled up, every entry is counted once, and the words fit."""
        world = self.world
        world.clock.advance(500 * 86_400)
        world.rollups.catch_up()
        assert world.rollups.list_due() == []
        zone = world.journal.zone
        for level in levels:
            counts = Counter(period(when, level, zone).start for when in self.there.values())
            for start, count in counts.items():
                assert world.rollups.read(level, start).metadata["entries"] == count
        with world.journal.database.writing() as conn:
            check = "INSERT INTO journal_fts (journal_fts, rank) VALUES ('integrity-check', 1)"
            conn.connection.execute(check)
        assert world.rows("PRAGMA integrity_check") == [("ok",)]

    def close(self):
        self.world.close()
        shutil.rmtree(self.folder)


def live(steps, levels):
    life = Life()
    try:
        for what, number in steps:
            life.do(what, number)
        life.end(levels)
    finally:
        life.close()


@sampled(5, 30, steps=st.lists(st.one_of(step, moved, zoned), max_size=25))
def test_every_entry_is_counted_once_whatever_was_done(steps):
    """Added late, moved, deleted, with zones that change, and half of it rolled up in between."""
    live(steps, ("day", "week", "month", "year"))


@sampled(5, 30, steps=st.lists(st.one_of(step, let), max_size=25))
def test_what_retention_deleted_is_still_counted(steps):
    """Deleted, added late, and expired: the year counts all that was not deleted."""
    live(steps, ("year",))
