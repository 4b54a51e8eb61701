"""The laws of rollups: whatever the order, the crashes and the processes, they are the same."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import strategies as st
from tests.core.zones import APIA, CAIRO, KIRITIMATI, LORD_HOWE, LOS_ANGELES
from tests.journals.timeline.world import World, at, key_of
from tests.patience import PATIENCE_S
from tests.sampled import sampled

from commonplace.core.clock import period, period_key
from commonplace.journals.timeline.due_periods import span_at
from commonplace.journals.timeline.entry import LEVELS, TimelineDraft
from commonplace_testing import FrozenClock

ZONES = (UTC, LOS_ANGELES, LORD_HOWE, CAIRO, KIRITIMATI, APIA)
# Around changes of clocks, the date line, a leap day and a year's end.
STARTS = [
    at("2024-02-28T20:00"),
    at("2024-12-29T00:00"),
    at("2026-03-07T22:00"),
    at("2026-10-31T20:00"),
    at("2011-12-28T12:00"),
]
events = st.lists(
    st.tuples(
        st.sampled_from(STARTS),
        st.integers(0, 80 * 60),
        st.sampled_from(["fixed the gate", "Decided to paint it. It took long.", "met the team"]),
        st.sampled_from(["sales", "garden"]),
    ),
    min_size=1,
    max_size=12,
)
LATER = datetime(2027, 6, 1, tzinfo=UTC)


def draft(number, event):
    start, minutes, text, project = event
    return TimelineDraft(
        content=f"{text} ({number})",
        at=start + timedelta(minutes=minutes),
        metadata={"projects": [project], "tags": ["work"]},
        key=key_of(f"{number}"),
    )


class Crash(Exception):
    """A process that ends in the middle of a rollup."""


class Crashing:
    """An extractive summariser that ends its process once, at a number of its calls."""

    def __init__(self, when):
        from commonplace.inference.language.extract import Extractive

        self._inner = Extractive()
        self.generator = self._inner.generator
        self._left = when

    def takes(self, material):
        return True

    def summarise(self, material):
        self._left -= 1
        if self._left == 0:
            raise Crash
        return self._inner.summarise(material)


def made(events, order, *, zone, crash_at=0, step=0, twice=False):
    """The rollups of events that came in some order, with a crash on the way."""
    folder = Path(tempfile.mkdtemp())
    clock = FrozenClock(LATER)
    world = World(folder, zone=zone, clock=clock)
    other = World(folder, zone=zone, clock=clock, summariser=Crashing(crash_at))
    try:
        for place, number in enumerate(order):
            world.journal.add_many([draft(number, events[number])] * (2 if twice else 1))
            if step and place % step == 0:
                try:
                    other.rollups.catch_up()
                except Crash:
                    world.rollups.catch_up(most=2)
        while world.rollups.catch_up():
            pass
        assert world.rollups.list_due() == []
        return world.told(), world.rows("SELECT count(*) FROM dirty")
    finally:
        world.close()
        other.close()
        shutil.rmtree(folder)


@sampled(
    3,
    12,
    events=events,
    random=st.randoms(use_true_random=False),
    zone=st.sampled_from(ZONES),
    crash_at=st.integers(1, 9),
)
def test_the_order_of_events_and_crashes_make_no_difference(events, random, zone, crash_at):
    """Any order, each event once or twice, killed anywhere: one and the same rollups."""
    order = list(range(len(events)))
    plain = made(events, order, zone=zone)
    random.shuffle(order)
    assert made(events, order, zone=zone, crash_at=crash_at, step=2, twice=True) == plain


@sampled(3, 12, events=events, zone=st.sampled_from(ZONES))
def test_days_sum_to_months_and_years(events, zone):
    """Every raw entry is counted once at each level, in the period that holds it."""
    told, _ = made(events, range(len(events)), zone=zone)
    counts = {name: json.loads(row[1])["entries"] for name, row in told.items()}
    for level, name in zip(LEVELS, ("hourly", "daily", "weekly", "monthly", "yearly"), strict=True):
        expected = Counter(
            period_key(period(draft(n, x).at, level, zone).start, level, zone)
            for n, x in enumerate(events)
        )
        found = {
            json.loads(told[each][1])["period"]: count
            for each, count in counts.items()
            if each.startswith(f"rollup_{name}")
        }
        assert found == dict(expected)


@sampled(3, 12, events=events, zone=st.sampled_from(ZONES))
def test_rebuilt_from_scratch_is_what_it_was(events, zone):
    """A year made again from its entries says the same, and nothing is left to do."""
    folder = Path(tempfile.mkdtemp())
    world = World(folder, zone=zone, clock=FrozenClock(LATER))
    try:
        world.journal.add_many([draft(n, x) for n, x in enumerate(events)])
        world.rollups.catch_up()
        before = world.told()
        times = [draft(n, x).at for n, x in enumerate(events)]
        world.rollups.rebuild("week", times[0])
        for when in {time.year: time for time in times}.values():
            world.rollups.rebuild("year", when)
        world.rollups.catch_up()
        assert world.told() == before
    finally:
        world.close()
        shutil.rmtree(folder)


@sampled(3, 12, events=events, gone=st.integers(0, 11), zone=st.sampled_from(ZONES))
def test_deleted_is_as_if_it_had_never_been(events, gone, zone):
    """Rollups after a deletion are those of a timeline without the entry."""
    gone %= len(events)
    folder = Path(tempfile.mkdtemp())
    world = World(folder, zone=zone, clock=FrozenClock(LATER))
    try:
        added = [world.journal.add_many([draft(n, x)])[0] for n, x in enumerate(events)]
        world.rollups.catch_up()
        world.journal.delete(added[gone].entry.id)
        world.rollups.catch_up()
        rest = [n for n in range(len(events)) if n != gone]
        assert world.told() == made(events, rest, zone=zone)[0]
    finally:
        world.close()
        shutil.rmtree(folder)


@sampled(3, 12, events=events, zone=st.sampled_from(ZONES))
def test_a_period_computed_while_it_is_open_says_what_its_rollup_will(events, zone):
    """Partial counts are those of the entries so far, whether or not smaller periods are rolled up."""
    folder = Path(tempfile.mkdtemp())
    world = World(folder, zone=zone, clock=FrozenClock(LATER))
    try:
        world.journal.add_many([draft(n, x) for n, x in enumerate(events)])
        when = draft(0, events[0]).at
        computed = world.rollups.compute(span_at(when, "year", world.journal.zone))
        world.rollups.catch_up()
        rolled = world.rollups.read("year", when)
        assert computed.content == rolled.content
        assert computed.metadata["entries"] == rolled.metadata["entries"]
        assert computed.metadata["hours_active"] == rolled.metadata["hours_active"]
    finally:
        world.close()
        shutil.rmtree(folder)


_BESIDE = """
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.journals.timeline.world import World, key_of
from commonplace.journals.timeline.entry import TimelineDraft
from commonplace_testing import FrozenClock

world = World(Path(sys.argv[1]), clock=FrozenClock(datetime(2026, 2, 1, tzinfo=UTC)))
for number in range(int(sys.argv[3]), 24, 2):
    at = datetime(2025, 2, 1, tzinfo=UTC) + timedelta(hours=7 * number)
    drafts = [TimelineDraft(content=f"entry {number}", at=at, key=key_of(str(number)))]
    world.journal.add_many(drafts)
    world.rollups.catch_up(most=3)
"""


def test_two_processes_that_add_and_roll_up_at_once_make_the_same(tmp_path):
    """As one process makes of the same entries."""
    root = str(Path(__file__).parents[3])
    folder = tmp_path / "beside"
    beside = [
        subprocess.Popen([sys.executable, "-c", _BESIDE, str(folder), root, str(first)])
        for first in (0, 1)
    ]
    assert [each.wait(timeout=PATIENCE_S) for each in beside] == [0, 0]
    world = World(folder, clock=FrozenClock(at("2026-02-01T00:00")))
    world.roll_up()
    alone = World(tmp_path / "alone", clock=world.clock)
    alone.journal.add_many(
        [
            TimelineDraft(
                content=f"entry {number}",
                at=at("2025-02-01T00:00") + timedelta(hours=7 * number),
                key=key_of(str(number)),
            )
            for number in range(24)
        ]
    )
    alone.roll_up()
    assert world.told() == alone.told()
    assert world.due_periods() == set()
    world.close()
    alone.close()


def test_the_slower_of_two_processes_throws_its_summary_away(tmp_path):
    """Each period has one rollup, and nobody waits for the other."""
    first = World(tmp_path)
    first.add("fixed the gate", "2025-02-04T10:15")
    second = first.again(summariser=Meanwhile(first.roll_up))
    first.clock.at = at("2025-02-04T12:00")
    assert second.rollups.catch_up() == 0
    assert first.shown(level=1) == ["rollup_hourly_20250204_10"]
    log = [json.loads(x) for x in (tmp_path / "rollups.log").read_text().splitlines()]
    assert [x["outcome"] for x in log] == ["stored", "discarded"]


class Meanwhile:
    """A summariser during whose work something else happens, once."""

    def __init__(self, happens):
        from commonplace.inference.language.extract import Extractive

        self._inner = Extractive()
        self.generator = self._inner.generator
        self._happens = happens

    def takes(self, material):
        return True

    def summarise(self, material):
        happens, self._happens = self._happens, lambda: None
        happens()
        return self._inner.summarise(material)


def test_what_is_added_while_a_period_is_summarised_is_not_lost(tmp_path):
    """The summary of what is no longer all is thrown away, and made again."""
    world = World(tmp_path)
    world.add("fixed the gate", "2025-02-04T10:15")
    other = world.again(
        summariser=Meanwhile(lambda: world.add("painted the gate", "2025-02-04T10:30"))
    )
    world.clock.at = at("2025-02-04T12:00")
    other.rollups.catch_up()
    assert other.read("hour", "2025-02-04T10:00").metadata["entries"] == 2
