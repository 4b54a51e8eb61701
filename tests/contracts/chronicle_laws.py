"""The laws that chronicle keeps, whatever keeps its entries, as tests to subclass.

Never imported by the product itself.
"""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import TYPE_CHECKING, Protocol

import pytest

from commonplace.core.errors import Conflict, Invalid, NotFound
from commonplace.core.expiring import revealed
from commonplace.core.project_folders import find_folders
from commonplace.core.values import Interval
from commonplace.journals.chronicle.event import Event
from commonplace.journals.chronicle.portable import PortableChronicle

if TYPE_CHECKING:
    from commonplace.journals.chronicle.journal import ChronicleJournal
    from commonplace_testing import FrozenClock

NOW = datetime(2026, 11, 21, 23, 19, 45, 15_000, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
EVERYTHING = -(10**21), 0
HOSTILE = [
    "'); DROP TABLE cp_entries; --",
    "a\0b",
    "\ud800 alone",
    "\u202e",
    "line\r\nline\n\ttab",
    "%s {} \\u0000 %(owner)s",
    "x" * 100_000,
]


class ChronicleWorld(Protocol):
    """What a contract is run in: one storage, and a clock."""

    @property
    def clock(self) -> FrozenClock:
        """The clock of all that is opened."""
        ...

    def open(self, **settings: object) -> ChronicleJournal:
        """The chronicle of one owner, as another process would open it; the world closes it."""
        ...

    def empty(self) -> ChronicleJournal:
        """A chronicle without entries, in another storage of the same kind."""
        ...

    def expire(self, ref: str) -> None:
        """Let an entry's time be over now."""
        ...


def messages(chronicle: ChronicleJournal, **asked) -> list[str]:
    """The messages of a page."""
    return [x.message for x in chronicle.list_events(**asked).events]


def exported(chronicle: ChronicleJournal) -> list[object]:
    """All that an export has of it."""
    return list(PortableChronicle(chronicle).export_items(None))


def at_once(act, each):
    """What it gives for each, all in threads of their own."""
    with ThreadPoolExecutor(len(each)) as pool:
        return list(pool.map(act, each))


class ChronicleContract:
    """The laws, as tests: subclass it and give a fixture named `world`."""

    def test_another_process_reads_what_was_written(self, world):
        """The entry as it was answered: message, tags, time, who and where."""
        mine = world.open()
        event = mine.add_event("shipped <it> & more", tags=["a<b", "Größe"], directory="/srv").event
        assert world.open().read_event(event.ref) == event
        assert (event.message, event.tags, event.directory) == (
            "shipped <it> & more",
            ("a<b", "Größe"),
            "/srv",
        )

    @pytest.mark.parametrize("message", HOSTILE)
    def test_hostile_texts_stay_what_they_are(self, world, message):
        """In message and tags; NUL and lone surrogates become U+FFFD."""
        mine = world.open()
        added = mine.add_event(message, tags=[message[:90]]).event
        expected = message.replace("\0", "\ufffd").replace("\ud800", "\ufffd").strip()
        assert mine.read_event(added.id) == added
        assert added.message == expected
        assert messages(mine, tags=[f"+{added.tags[0]}"]) == [expected]
        assert [x.ref for x in mine.list_mentions("nothing of it")] == []
        assert mine.delete_event(added.id).id == added.id
        assert messages(mine) == []

    def test_pages_follow_one_another(self, world):
        """By instant, the later written of one instant first, however they were written."""
        mine = world.open()
        for number in range(12):
            mine.add_event(f"m{number}", at=NOW + (number * 5 % 4) * MINUTE)
        expected = [f"m{n}" for n in sorted(range(12), key=lambda n: (n * 5 % 4, n), reverse=True)]
        seen, cursor = [], ""
        while True:
            page = mine.list_events(limit=5, cursor=cursor)
            seen += [event.message for event in page.events]
            if not (cursor := page.cursor):
                break
        assert seen == expected

    def test_a_list_is_bound_by_its_interval(self, world):
        """Half-open, to the microsecond; the calendar's ends are in it."""
        mine = world.open()
        second = timedelta(microseconds=1)
        first = datetime(1, 1, 2, tzinfo=UTC)
        last = datetime(9999, 12, 30, tzinfo=UTC)
        for at in (first, NOW, NOW + second, last):
            mine.add_event(str(at.microsecond or at.year), at=at)
        assert messages(mine, within=Interval(start=NOW, end=NOW + second)) == ["15000"]
        assert messages(mine, within=Interval(start=NOW)) == ["9999", "15001", "15000"]
        assert messages(mine, within=Interval(end=NOW)) == ["1"]
        assert len(messages(mine)) == 4

    def test_tags_choose_entries_in_any_case(self, world):
        """Plain ones any of, `+` required, `-` excluded; counted by frequency, then name."""
        mine = world.open()
        for number, tags in enumerate([["Work", "go"], ["work"], ["WORK", "rust"], ["rust"], []]):
            mine.add_event(f"m{number}", tags=tags, at=NOW + number * MINUTE)
        assert messages(mine, tags=["work"]) == ["m2", "m1", "m0"]
        assert messages(mine, tags=["go", "RUST"]) == ["m3", "m2", "m0"]
        assert messages(mine, tags=["+work", "+rust"]) == ["m2"]
        assert messages(mine, tags=["work", "-rust"]) == ["m1", "m0"]
        assert messages(mine, tags=["-work"]) == ["m4", "m3"]
        assert messages(mine, tags=["nobody's"]) == []
        counted = [(x.tag, x.count) for x in mine.list_tags()]
        assert counted == [("WORK", 3), ("rust", 2), ("go", 1)]
        assert mine.list_tags()[0].spellings == ("WORK", "Work", "work")
        with pytest.raises(Invalid, match="Invalid tags"):
            mine.list_events(tags=["+"])

    def test_tags_are_trimmed_and_told_apart_by_more_than_case(self, world):
        """Empty ones go, the first spelling of equal ones stays."""
        event = world.open().add_event("x", tags=[" Work ", "", "work", "a  b", "A b", " \t"]).event
        assert event.tags == ("Work", "a b")

    def test_entries_of_one_folder_are_listed_alone(self, world):
        """Just that folder, not those below it."""
        mine = world.open()
        mine.add_event("above", directory="/srv")
        mine.add_event("below", directory="/srv/pond")
        assert messages(mine, directory="/srv/pond") == ["below"]
        assert messages(mine, directory="/srv") == ["above"]

    def test_the_same_key_is_one_entry(self, world):
        """The first call's, of another process too; a plain call is always one more."""
        mine = world.open()
        first = mine.add_event("once", idempotency_key="k")
        again = world.open().add_event("once more", idempotency_key="k")
        assert (first.repeated, again.repeated) == (False, True)
        assert again.event == first.event
        assert not mine.add_event("once").repeated
        assert len(mine.list_events().events) == 2
        assert uuid.UUID(first.event.id)

    def test_two_who_log_the_same_at_once_log_it_once(self, world):
        """Of several threads, each with a chronicle of its own, one writes; so with a key."""
        opened = [world.open() for _ in range(4)]
        span = Interval(start=NOW - MINUTE, end=NOW + MINUTE)
        begin = Barrier(len(opened))

        def log(mine):
            begin.wait()
            same = mine.remember_event("done", within=span, is_same=lambda x: x.message == "done")
            return same.repeated, mine.add_event("keyed", idempotency_key="k").repeated

        repeated = at_once(log, opened)
        assert sorted(x for x, _ in repeated) == [False, True, True, True]
        assert sorted(x for _, x in repeated) == [False, True, True, True]
        assert sorted(messages(opened[0])) == ["done", "keyed"]

    def test_an_entry_is_found_by_the_beginning_of_its_id(self, world):
        """One that only it has; several are named; a prefix never reads as a pattern."""
        ids = iter(["aaaa-1", "aaab-2", "bbbb-3"])
        mine = world.open(new_id=lambda: next(ids))
        for message in "xyz":
            mine.add_event(message)
        assert mine.read_event("b").message == "z"
        assert mine.read_event("chronicle:AAAB").message == "y"
        with pytest.raises(Invalid, match="Several entries"):
            mine.read_event("aaa")
        for nothing in ("zzz", "aaaa-1-more", "%", "a_", "'", "bbbb-3\U0010ffff"):
            with pytest.raises((NotFound, Invalid)):
                mine.read_event(nothing)

    def test_an_edit_changes_what_it_names_and_nothing_else(self, world):
        """The stamp tells a newer version: what was read before it is not written over."""
        mine, other = world.open(), world.open()
        old = mine.add_event("sent", tags=["post"], at=NOW - MINUTE, directory="/srv").event
        new = other.edit_event(old.ref, message="sent it", expected=old.stamp)
        assert new.stamp != old.stamp
        assert (new.message, new.tags, new.at, new.directory) == (
            "sent it",
            old.tags,
            old.at,
            "/srv",
        )
        with pytest.raises(Conflict, match="has changed since"):
            mine.edit_event(old.ref, message="lost", expected=old.stamp)
        with pytest.raises(Conflict, match="has changed since"):
            mine.delete_event(old.ref, expected=old.stamp)
        moved = mine.edit_event(old.ref, at=NOW, tags=["mail"], directory="/home")
        assert (moved.at, moved.tags, moved.directory) == (NOW, ("mail",), "/home")
        assert other.read_event(old.ref) == moved
        assert messages(mine, tags=["post"]) == []
        with pytest.raises(NotFound):
            mine.edit_event("chronicle:nobody", message="x")

    def test_an_entry_is_superseded_once(self, world):
        """Both stay and are linked; the same again is that entry, another a conflict."""
        mine, other = world.open(), world.open()
        old = mine.add_event("on Monday", tags=["plan"], directory="/srv").event
        new = mine.supersede_event(old.ref, "on Tuesday").event
        assert (new.supersedes, new.own_tags, new.at) == (old.ref, ["plan"], old.at)
        assert new.directory == "/srv"
        again = other.supersede_event(old.ref, "on Tuesday")
        assert (again.repeated, again.event) == (True, new)
        with pytest.raises(Conflict, match="superseded"):
            other.supersede_event(old.ref, "on Friday")
        assert other.find_successors([old, new]) == {old.id: new}
        assert [x.tag for x in mine.list_tags()] == ["plan"]

    def test_two_who_supersede_at_once_do_it_once(self, world):
        """One is refused; nothing of it is left."""
        old = world.open().add_event("on Monday").event
        opened = [world.open() for _ in range(4)]
        begin = Barrier(len(opened))

        def supersede(mine):
            begin.wait()
            try:
                return mine.supersede_event(old.ref, f"day {opened.index(mine)}").repeated
            except Conflict:
                return True

        assert sorted(at_once(supersede, opened)) == [False, True, True, True]
        assert len(messages(opened[0])) == 2

    def test_what_replaced_a_deleted_entry_replaces_the_one_before(self, world):
        """However many of a chain go, one by one or together."""
        for together in (False, True):
            mine = world.empty() if together else world.open()
            first = mine.add_event("one").event
            second = mine.supersede_event(first.ref, "two").event
            third = mine.supersede_event(second.ref, "three").event
            fourth = mine.supersede_event(third.ref, "four").event
            if together:
                gone = mine.delete_many({x.ref: x.stamp for x in (second, third)})
                assert {x.ref for x in gone} == {second.ref, third.ref}
            else:
                mine.delete_event(third.ref)
                mine.delete_event(second.ref)
            assert mine.read_event(fourth.ref).supersedes == first.ref
            assert mine.find_successor(first).id == fourth.id

    def test_many_are_deleted_unless_they_changed(self, world):
        """By the stamps that were read; what is gone is told."""
        mine = world.open()
        kept, gone = (mine.add_event(x).event for x in ("kept", "gone"))
        mine.edit_event(kept.ref, message="kept, and edited")
        stamps = {kept.ref: kept.stamp, gone.ref: gone.stamp, "chronicle:none": "0" * 16}
        assert [x.ref for x in mine.delete_many(stamps)] == [gone.ref]
        assert messages(mine) == ["kept, and edited"]

    def test_every_entry_that_bears_the_words_is_mentioned(self, world):
        """In any form of a word, in message or tags, newest first, inside the interval."""
        mine = world.open()
        for number, (message, tags) in enumerate(
            [
                ("deployed the server", []),
                ("deploying again", ["server"]),
                ("deployed elsewhere", []),
                ("Größe of the café", []),
                ("部署服务器", []),
            ]
        ):
            mine.add_event(message, tags=tags, at=NOW + number * MINUTE)
        found = [mine.read_event(x.ref).message for x in mine.list_mentions("server deploy")]
        assert found == ["deploying again", "deployed the server"]
        within = Interval(end=NOW + MINUTE)
        assert len(mine.list_mentions("deploys", within=within)) == 1
        assert len(mine.list_mentions("cafe")) == 1
        assert len(mine.list_mentions("服务")) == 1

    def test_neighbours_are_those_in_time(self, world):
        """Of one instant the order of writing counts; None at either end."""
        mine = world.open()
        made = [mine.add_event(f"m{n}", at=NOW + n // 2 * MINUTE).event for n in range(4)]
        for number, event in enumerate(made):
            before, after = mine.read_around(event)
            assert before == (made[number - 1] if number else None)
            assert after == (made[number + 1] if number < 3 else None)

    def test_a_projects_newest_are_those_that_hold(self, world):
        """In its folder or below it, less what another took the place of."""
        mine = world.open()
        old = mine.add_event("old", directory="/srv/a").event
        mine.supersede_event(old.ref, "new")
        mine.add_event("below", directory="/srv/a/b", at=NOW + MINUTE)
        mine.add_event("beside", directory="/srv/ab")
        project = find_folders("/srv/a", "")
        assert [x.message for x in mine.list_newest(project, limit=9)] == ["below", "new"]

    def test_what_was_written_later_says_when(self, world):
        """An entry of another day, to the second; its own time is nothing to be said."""
        mine = world.open()
        now = world.clock.at
        past = mine.add_event("back then", at=NOW - timedelta(days=9)).event
        written = mine.read_event(past.ref).written
        assert written.replace(microsecond=0) == now.replace(microsecond=0)
        assert mine.add_event("now").event.written is None

    def test_an_import_adds_each_entry_once(self, world):
        """What is there stays as it is; an entry without a UUID gets an id that follows from it."""
        mine = world.open()
        there = mine.add_event("there", at=NOW).event
        given = [
            Event(id=there.id, at=NOW, message="another text"),
            Event(id=str(uuid.UUID(int=7)), at=NOW + MINUTE, message="new", tags=("a", "b")),
            Event(id="12", at=NOW - MINUTE, nanos=7, message="numbered", hostname="otter"),
        ]
        assert mine.import_events(given) == 2
        assert mine.import_events(given) == 0
        assert messages(mine) == ["new", "there", "numbered"]
        numbered = mine.list_events().events[-1]
        assert (numbered.at, numbered.nanos, numbered.hostname) == (NOW - MINUTE, 7, "otter")
        assert mine.list_events().events[0].tags == ("a", "b")

    def test_an_export_comes_back_as_it_was(self, world):
        """Into an empty chronicle: the same items, which are given again by its own export."""
        mine, other = world.open(), world.empty()
        old = mine.add_event("on Monday", tags=["plan", "Ä"], at=NOW - 9 * MINUTE).event
        mine.supersede_event(old.ref, "on Tuesday", at=NOW)
        mine.import_events([Event(id=str(uuid.UUID(int=9)), at=NOW, nanos=789, message="exact")])
        items = exported(mine)
        into = PortableChronicle(other)
        assert into.is_empty()
        assert into.import_items(iter(items)) == 3
        assert not into.is_empty()
        assert exported(other) == items
        assert into.import_items(iter(items)) == 0

    def test_nobody_sees_what_has_expired(self, world):
        """Not in a list, by its ref, as a neighbour, by its words or tags; who forgets it does."""
        mine = world.open()
        gone = mine.add_event("secret words", tags=["hush"]).event
        later = mine.add_event("later", at=NOW + MINUTE).event
        world.expire(gone.ref)
        assert messages(mine) == ["later"]
        with pytest.raises(NotFound):
            mine.read_event(gone.ref)
        assert mine.read_events([gone.ref, later.ref]).keys() == {later.ref}
        assert mine.read_around(later) == (None, None)
        assert mine.list_mentions("secret") == []
        assert mine.list_tags() == []
        assert len(exported(mine)) == 1
        with revealed():
            assert mine.read_event(gone.ref) == gone
            assert mine.delete_event(gone.ref, expected=gone.stamp) == gone
        assert messages(world.open()) == ["later"]
