"""The laws that the timeline keeps, whatever keeps its rows, as tests to subclass.

Never imported by the product itself.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import permutations
from threading import Barrier
from typing import TYPE_CHECKING, Protocol
from zoneinfo import ZoneInfo

import pytest
from tests.journals.timeline.world import START, OnePages, at

from commonplace.core.errors import Conflict, Invalid, NotFound
from commonplace.core.expiring import revealed
from commonplace.core.values import Interval
from commonplace.journals.timeline.expiry import apply_retention
from commonplace.journals.timeline.feed import Feeding
from commonplace.journals.timeline.memories import MemoryBackend
from commonplace.journals.timeline.period_reader import PeriodReader
from commonplace.journals.timeline.portable import PortableTimeline
from commonplace.journals.timeline.retention import parse_retention
from commonplace.journals.timeline.rollups import Rollups
from commonplace_testing import OneSource, a_doc

if TYPE_CHECKING:
    from commonplace.journals.timeline.journal import TimelineJournal
    from commonplace_testing import FrozenClock

HOUR = timedelta(hours=1)
ALWAYS = Interval()
HOSTILE = [
    "'); DROP TABLE cp_entries; --",
    "a\0b",
    "a \ud800 alone",
    "\u202eright to left",
    "line\r\nline\n\ttab",
    "%s {} \\u0000 %(owner)s :id",
    "x" * 100_000,
]


class TimelineWorld(Protocol):
    """What a contract is run in: one storage, and a clock."""

    @property
    def clock(self) -> FrozenClock:
        """The clock of all that is opened."""
        ...

    def open(self) -> TimelineJournal:
        """The timeline of one owner, as another process would open it; the world closes it."""
        ...

    def empty(self) -> TimelineJournal:
        """A timeline without entries, in another storage of the same kind."""
        ...

    def expire(self, ref: str) -> None:
        """Let an entry's time be over now."""
        ...


def rollups_of(journal: TimelineJournal, **more) -> Rollups:
    """What rolls it up, without a model."""
    from commonplace.inference.language.extract import Extractive

    return Rollups(journal, Extractive(), **more)


def told(journal: TimelineJournal) -> dict[str, tuple[object, ...]]:
    """What each summary says, counts and is made from, by its id."""
    found = [x for x in journal.list_entries(ALWAYS, limit=1000).entries if x.level]
    return {
        x.id: (x.content, dict(x.metadata), x.start, x.end, x.status, x.sources, x.parent_id)
        for x in journal.whole_of(found)
    }


def texts(journal: TimelineJournal, **asked) -> list[str]:
    """The texts of a list of entries."""
    return [x.content for x in journal.list_entries(ALWAYS, level=0, **asked).entries]


def at_once(acts) -> list[object]:
    """What each gives, all begun at once in threads of their own."""
    ready = Barrier(len(acts))

    def begun(act):
        ready.wait()
        return act()

    with ThreadPoolExecutor(len(acts)) as pool:
        return [*pool.map(begun, acts)]


class TimelineContract:
    """The laws, as tests: subclass it and give a fixture named `world`."""

    def test_what_one_adds_another_reads_at_once(self, world):
        """With its time, its type, its metadata and its hour."""
        one, two = world.open(), world.open()
        made = one.add(
            "fixed the gate", at=START, metadata={"tags": ["a"], "n": {"deep": [1, None]}}
        )
        read = two.read(made.entry.id)
        assert made.is_new
        assert (read.content, read.at, read.entry_type) == ("fixed the gate", START, "raw")
        assert read.metadata == {"tags": ["a"], "n": {"deep": [1, None]}}
        assert (read.start, read.end) == (at("2025-02-04T10:00"), at("2025-02-04T11:00"))
        assert (read.seq, read.hash) == (made.entry.seq, made.entry.hash)

    @pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
    def test_any_text_is_answered_as_it_is_read(self, world, text):
        """No text means anything but itself, in an entry, its metadata, its key and in what asks."""
        one = world.open()
        made = one.add(text, metadata={"source": text[:1000]}, idempotency_key="key").entry
        read = world.open().read(made.id)
        assert (read.content, read.metadata) == (made.content, made.metadata)
        with pytest.raises(NotFound):
            one.read(text)
        assert texts(one, types=["raw"]) == [made.content]

    def test_the_same_key_is_one_entry(self, world):
        """Also for eight who add it at once, and once it was deleted."""
        opened = [world.open() for _ in range(8)]
        added = at_once([lambda x=x: x.add("once", idempotency_key="k") for x in opened])
        assert len({x.entry.id for x in added}) == 1
        assert sorted(x.is_new for x in added) == [False] * 7 + [True]
        one = opened[0]
        one.delete(added[0].entry.id)
        again = one.add("once", idempotency_key="k")
        assert (again.is_new, again.entry.status, texts(one)) == (False, "deleted", [])
        one.release([added[0].entry.id])
        assert one.add("twice", idempotency_key="k").is_new
        assert texts(one) == ["twice"]

    def test_all_of_what_is_added_together_or_nothing(self, world):
        """One that is invalid leaves none."""
        from commonplace.journals.timeline.entry import TimelineDraft

        one = world.open()
        drafts = [TimelineDraft(content="good"), TimelineDraft(content=" ")]
        with pytest.raises(Invalid):
            one.add_many(drafts)
        assert texts(one) == []

    def test_pages_give_each_once_newest_first(self, world):
        """Those of one instant by their numbers, summaries among them by their ends."""
        one = world.open()
        for number in range(7):
            one.add(f"entry {number}", at=START + number // 2 * HOUR)
        world.clock.at = at("2025-02-06T00:00")
        rollups_of(one).catch_up()
        whole = [x.id for x in one.list_entries(ALWAYS, limit=100).entries]
        paged, cursor = [], ""
        while True:
            page = one.list_entries(ALWAYS, limit=3, cursor=cursor)
            paged += [x.id for x in page.entries]
            if not (cursor := page.cursor):
                break
        assert paged == whole
        assert len(whole) == len({*whole}) == 7 + 4 + 1
        assert texts(one) == [f"entry {number}" for number in reversed(range(7))]
        within = Interval(start=START + HOUR, end=START + 2 * HOUR)
        assert [x.content for x in one.list_entries(within, level=0).entries] == [
            "entry 3",
            "entry 2",
        ]
        assert [x.id for x in one.list_entries(within, level=2).entries] == [
            "rollup_daily_20250204"
        ]

    def test_an_edit_is_of_what_was_read(self, world):
        """Another version is a conflict; the summaries of both its times are made again."""
        from commonplace.journals.timeline.entry import version_of

        one, two = world.open(), world.open()
        old = one.add("the blue gate", at=START).entry
        world.clock.at = at("2025-04-01T10:00")
        rollups_of(one).catch_up()
        moved = one.update(
            old.id, content="the red gate", at=at("2025-03-05T09:00"), expected=version_of(old)
        )
        with pytest.raises(Conflict):
            two.update(old.id, content="the green gate", expected=version_of(old))
        assert two.read(old.id).content == "the red gate"
        assert version_of(two.read(old.id)) == version_of(moved)
        rollups_of(two).catch_up()
        said = {key: text for key, (text, *_) in told(one).items()}
        assert "red gate" in said["rollup_monthly_202503"]
        assert not any("blue" in text for text in said.values())

    def test_one_takes_the_place_of_another_once(self, world):
        """The same text twice is one, another text a conflict; a chain closes where one goes."""
        one = world.open()
        first = one.add("the code is 1", at=START).entry
        second = one.supersede(first.id, "the code is 2").entry
        assert not world.open().supersede(first.id, "the code is 2").is_new
        with pytest.raises(Conflict):
            one.supersede(first.id, "the code is 3")
        third = one.supersede(second.id, "the code is 4").entry
        assert one.find_successor(first) == second.ref
        one.delete(second.id)
        assert one.find_successor(first) == third.ref
        assert one.read(third.id).supersedes == first.ref

    def test_what_is_deleted_is_in_no_summary(self, world):
        """And its id is known to be gone, to every other one at once."""
        one, two = world.open(), world.open()
        gone = one.add("the quokka code is 4711", at=START).entry
        one.add("watered the plants", at=START + HOUR)
        world.clock.at = at("2026-02-01T10:00")
        rollups_of(one).catch_up()
        assert any("quokka" in text for text, *_ in told(one).values())
        done = two.delete(gone.id)
        assert not any("quokka" in text for text, *_ in told(one).values())
        assert gone.ref in done.refs
        with pytest.raises(NotFound, match="deleted"):
            one.read(gone.id)
        rollups_of(two).catch_up()
        year = one.read("rollup_yearly_2025")
        assert year.metadata["entries"] == 1
        assert not any("quokka" in text for text, *_ in told(one).values())

    def test_summaries_are_the_same_whichever_way_they_came_to_be(self, world):
        """In whichever order entries came, and how often it was rolled up between."""
        days = ["2024-12-31T23:30", "2025-01-01T00:10", "2025-01-30T10:00", "2025-02-02T10:00"]
        expected = None
        for order in [*permutations(days)][::5]:
            one = world.empty()
            for number, day in enumerate(order):
                one.add(f"worked on {day}", at=at(day), metadata={"hours_worked": 2})
                if number % 2:
                    world.clock.at = at("2025-02-03T00:30")
                    rollups_of(one).catch_up()
            world.clock.at = at("2026-03-01T10:00")
            rollups_of(one).catch_up()
            known = {key: (found[0], found[1]) for key, found in told(one).items()}
            expected = expected or known
            assert known == expected
            assert rollups_of(one).catch_up() == 0
        counts = {key: found[1]["entries"] for key, found in expected.items()}
        for level in ("hourly", "daily", "weekly", "monthly", "yearly"):
            assert sum(n for key, n in counts.items() if f"_{level}_" in key) == 4, level
        assert counts["rollup_weekly_2025W01"] == 2
        assert (counts["rollup_monthly_202412"], counts["rollup_monthly_202501"]) == (1, 2)

    def test_a_late_entry_touches_what_is_made_of_it_alone(self, world):
        """Of another month nothing is made again; of a period that goes on nothing is stored."""
        one, two = world.open(), world.open()
        for day in ("2025-01-10T10:00", "2025-02-04T09:00", "2025-03-05T10:00"):
            one.add(f"worked on {day}", at=at(day))
        world.clock.at = at("2025-03-06T00:30")
        rollups_of(one).catch_up()
        before = told(one)
        two.add("was late", at=at("2025-02-04T09:30"))
        assert one.read("rollup_daily_20250204").stale
        rollups_of(two).catch_up()
        after = told(one)
        assert {key for key in after if after[key] != before.get(key)} == {
            "rollup_hourly_20250204_09",
            "rollup_daily_20250204",
            "rollup_weekly_2025W06",
            "rollup_monthly_202502",
        }
        assert one.read("rollup_monthly_202502").metadata["entries"] == 2
        partial = rollups_of(one).read("year", START, partial=True)
        assert (partial.metadata["entries"], partial.partial) == (4, True)

    def test_several_who_roll_up_at_once_double_nothing(self, world):
        """Each period has one summary, all is made, and nothing is due afterwards."""
        one = world.open()
        for number in range(60):
            one.add(f"did {number}", at=START + number * 5 * HOUR)
        world.clock.at = at("2026-03-01T10:00")
        opened = [world.open() for _ in range(4)]
        made = at_once([rollups_of(x).catch_up for x in opened])
        found = told(one)
        assert rollups_of(one).catch_up() == 0
        counts = [(key, fact[1]["entries"]) for key, fact in found.items()]
        for level in ("hourly", "daily", "weekly", "monthly", "yearly"):
            assert sum(n for key, n in counts if f"_{level}_" in key) == 60, level
        assert sum(made) >= len(found)

    def test_who_adds_while_others_roll_up_is_counted_once(self, world):
        """Whichever commits first, nothing is lost between an addition and a summary."""
        one = world.open()
        world.clock.at = at("2026-03-01T10:00")
        adding, rolling = [world.open() for _ in range(2)], [world.open() for _ in range(2)]

        def add(journal, name):
            for number in range(15):
                journal.add(f"{name} {number}", at=START + number % 3 * HOUR)

        def roll_up(journal):
            for _ in range(6):
                rollups_of(journal).catch_up()

        at_once(
            [
                *[lambda x=x, n=n: add(x, f"adder {n}") for n, x in enumerate(adding)],
                *[lambda x=x: roll_up(x) for x in rolling],
            ]
        )
        rollups_of(one).catch_up()
        assert one.read("rollup_yearly_2025").metadata["entries"] == 30

    def test_retention_deletes_what_a_summary_covers_and_counts_it_for_good(self, world):
        """A late entry beside what has expired is counted once at each level."""
        one, two = world.open(), world.open()
        for number in range(3):
            one.add(f"did {number}", at=START + number * HOUR)
        kept = one.add("keep me", at=START, metadata={"pinned": True}).entry
        gone = one.list_entries(ALWAYS, level=0).entries[0]
        keep = parse_retention("raw=1d,hourly=2d")
        for day in (6, 20):
            world.clock.at = at(f"2025-03-{day:02}T10:00")
            apply_retention(rollups_of(two), keep)
        assert texts(one) == [kept.content]
        with pytest.raises(NotFound, match="expired"):
            one.read(gone.id)
        assert one.has_expired(gone.id)
        two.add("was late", at=START + 2 * HOUR)
        rollups_of(one).catch_up()
        for key in ("daily_20250204", "weekly_2025W06", "monthly_202502"):
            assert one.read(f"rollup_{key}").metadata["entries"] == 5, key
        one.delete(gone.id)
        rollups_of(two).catch_up()
        assert one.read("rollup_monthly_202502").metadata["entries"] == 4

    def test_a_run_of_retention_never_races_a_late_entry(self, world):
        """Of those that come while it runs none is lost, and none is counted twice."""
        one = world.open()
        for number in range(30):
            one.add(f"did {number}", at=START + number * HOUR)
        world.clock.at = at("2025-06-01T10:00")
        late, keep = [world.open() for _ in range(2)], parse_retention("raw=1d,hourly=2d,daily=3d")

        def add(journal, name):
            for number in range(10):
                journal.add(f"late {name} {number}", at=START + number * 3 * HOUR)

        def clean(journal):
            for _ in range(3):
                apply_retention(rollups_of(journal), keep)

        runs = [world.open() for _ in range(2)]
        at_once(
            [
                *[lambda x=x, n=n: add(x, n) for n, x in enumerate(late)],
                *[lambda x=x: clean(x) for x in runs],
            ]
        )
        world.clock.at = at("2025-07-01T10:00")
        clean(one)
        rollups_of(one).catch_up()
        assert one.read("rollup_monthly_202502").metadata["entries"] == 50

    def test_what_has_expired_is_in_no_answer(self, world):
        """Nor is a summary that quotes it, until it is forgotten; who writes sees it."""
        one = world.open()
        secret = one.add("the quokka code is 4711", at=START).entry
        one.add("watered the plants", at=at("2025-02-10T10:00"))
        world.clock.at = at("2025-03-05T10:00")
        rollups_of(one).catch_up()
        world.expire(secret.ref)
        shown = [x.content for x in one.list_entries(ALWAYS, limit=100).entries]
        assert "watered the plants" in shown
        assert not any("quokka" in text for text in shown)
        with pytest.raises(NotFound):
            one.read(secret.id)
        with revealed():
            assert one.read(secret.id).content == secret.content
        one.delete(secret.id)
        rollups_of(one).catch_up()
        assert one.read("rollup_monthly_202502").metadata["entries"] == 1

    def test_a_summary_that_is_hidden_awaits_no_model(self, world):
        """It is neither given to one nor counted among those that are left."""
        one = world.open()
        secret = one.add("the quokka code is 4711", at=START).entry
        one.add("watered the plants", at=at("2025-02-10T10:00"))
        world.clock.at = at("2025-03-05T10:00")
        rollups_of(one).catch_up()
        asked = {"levels": "[1, 2, 3, 4, 5]"}
        assert one.database.ask("count_upgradable", **asked) == [(7,)]
        world.expire(secret.ref)
        assert one.database.ask("count_upgradable", **asked) == [(len(told(one)),)] == [(3,)]

    def test_entries_of_other_journals_count_and_leave(self, world):
        """Linked, not copied: what is deleted there is in no summary here."""
        one = world.open()
        source = OneSource("chronicle", prefix="chronicle:")
        pages = {"chronicle": OnePages(source)}
        feeding = Feeding(one, sources=lambda: [source], openers=lambda: pages)
        rolling = rollups_of(one, feed=feeding)
        text = "Deployed the harbour api"
        source.put(a_doc("chronicle:1", text, journal="chronicle", at=START, tags=("ops",)))
        assert feeding.sync() == 1
        assert feeding.sync() == 0
        world.clock.at = at("2025-03-05T10:00")
        rolling.catch_up()
        day = world.open().read("rollup_daily_20250204")
        assert (day.metadata["entries"], day.metadata["tags"]) == (1, ["ops"])
        assert "harbour" in day.content
        assert day.ref in one.above(["chronicle:1"])["chronicle:1"]
        assert day.ref in feeding.forget(["chronicle:1"])
        assert not any("harbour" in said for said, *_ in told(one).values())
        rolling.catch_up()
        assert one.above(["chronicle:1"])["chronicle:1"] == frozenset()

    def test_what_has_expired_in_another_journal_is_quoted_in_no_answer(self, world):
        """Whatever numbers it and the entries here have."""
        one = world.open()
        source = OneSource("chronicle", prefix="chronicle:")
        pages = {"chronicle": OnePages(source)}
        feeding = Feeding(one, sources=lambda: [source], openers=lambda: pages)
        one.add("watered the plants", at=at("2025-02-10T10:00"))
        text = "Deployed the harbour api"
        source.put(a_doc("chronicle:1", text, journal="chronicle", at=START))
        feeding.sync()
        world.clock.at = at("2025-03-05T10:00")
        rollups_of(one, feed=feeding).catch_up()
        assert any("harbour" in said for said, *_ in told(one).values())
        world.expire("chronicle:1")
        told_now = [said for said, *_ in told(world.open()).values()]
        assert not any("harbour" in said for said in told_now)
        assert any("plants" in said for said in told_now)

    def test_another_zone_begins_a_series_of_its_own(self, world):
        """For all who open it; what the zone before had cut leaves when the new one has its own."""
        one, two = world.open(), world.open()
        one.add("worked late", at=at("2025-02-04T23:30"))
        world.clock.at = at("2025-02-20T10:00")
        rollups_of(one).catch_up()
        two.set_zone("Europe/Berlin")
        assert one.zone == ZoneInfo("Europe/Berlin")
        found = rollups_of(one).read("day", at("2025-02-04T23:30"))
        assert found.id == "rollup_daily_20250205@Europe/Berlin"
        with pytest.raises(Invalid):
            two.claim_zone("Asia/Tokyo")

    def test_memories_and_profiles(self, world):
        """The newest profile counts; memories are listed by their type."""
        one = world.open()
        backend = MemoryBackend(one)
        backend.create_memory("likes tea", "fact")
        backend.create_memory("is called Ann", "profile")
        backend.create_memory("is called Anna", "profile")
        one.add("fixed the gate")
        assert world.open().profile().content == "is called Anna"
        assert [x["content"] for x in backend.list_memories("fact")] == ["likes tea"]
        assert len(backend.list_memories()) == 3
        assert texts(one, types=["fact"]) == ["likes tea"]
        counted = {(kind, state): n for kind, state, n, *_ in one.count_types()}
        assert counted == {("raw", "active"): 2, ("profile_snapshot", "active"): 2}

    def test_an_export_is_imported_as_it_was(self, world):
        """Archived and expired entries with it, and the same summaries are made of it."""
        one = world.open()
        for number in range(3):
            one.add(f"did {number}", at=START + number * HOUR, metadata={"tags": [f"t{number}"]})
        for day in (6, 20):
            world.clock.at = at(f"2025-03-{day:02}T10:00")
            apply_retention(rollups_of(one), parse_retention("raw=1d"))
        more = one.add("did more", at=at("2025-03-20T09:00")).entry
        one.supersede(more.id, "did better")
        items = [*PortableTimeline(one).export_items(None)]
        other = world.empty()
        assert PortableTimeline(other).import_items(iter(items)) == len(items)
        assert [*PortableTimeline(other).export_items(None)] == items
        assert PortableTimeline(other).import_items(iter(items)) == 0
        for each in (one, other):
            rollups_of(each).catch_up()
        counted = [{key: x[1]["entries"] for key, x in told(each).items()} for each in (one, other)]
        assert counted[0] == counted[1]

    def test_trends_count_each_period(self, world):
        """Also those without an entry."""
        one = world.open()
        for day in (4, 4, 6):
            one.add("did it", at=at(f"2025-02-{day:02}T10:00"), metadata={"projects": ["a"]})
        world.clock.at = at("2025-02-08T10:00")
        rollups_of(one).catch_up()
        found = PeriodReader(rollups_of(world.open())).list_trends(ALWAYS, "day", computes="open")
        assert [x.figures.entries for x in found.periods] == [2, 0, 1]
        assert found.total.projects == {"a": 3}
