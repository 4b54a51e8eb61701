"""The laws that a notebook keeps, whatever keeps its sections and entries, as tests to subclass.

Never imported by the product itself.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commonplace.core.errors import Conflict, Invalid, NotFound
from commonplace.core.spaces import Member, at_work
from commonplace.journals.notebook.format import version_of
from commonplace.journals.notebook.merge import merge
from commonplace.journals.notebook.sections import OverviewConflict

if TYPE_CHECKING:
    from commonplace.journals.notebook.acts import NotebookActs
    from commonplace_testing import FrozenClock

NOW = datetime(2026, 11, 22, 9, 30, 15, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
NOTHING = "e3b0c44298fc"  # the first 12 hex of the sha256 of nothing
HOSTILE = [
    "'); DROP TABLE cp_entries; --",
    "\u202e",
    "%s {} \\u0000 %(owner)s",
    "work_context: no\n\nCommonplace: expire",
    "x" * 100_000,
]
NAMES = [
    "../etc",
    "a/../b",
    ".git/config",
    "-x",
    "a#b",
    "",
    "a//b",
    "con",
    "a\\b",
    "a.md",
    "\ud800",
]


class NotebookWorld(Protocol):
    """What a contract is run in: one storage, and a clock."""

    @property
    def clock(self) -> FrozenClock:
        """The clock of all that is opened."""
        ...

    def open(self, **settings: object) -> NotebookActs:
        """The notebook of one owner, as another process would open it; the world closes it."""
        ...


def summaries(notes, section="a", **page) -> list[str]:
    """The summaries of a page."""
    return [x.summary for x in notes.list_entries(section, **page)]


def refs(backlinks) -> list[str]:
    """Where links stand."""
    return [x.ref for x in backlinks.texts]


class NotebookContract:
    """The laws, as tests: subclass it and give a fixture named `world`."""

    def test_a_first_entry_makes_the_section(self, world):
        """It has no overview yet, and one entry."""
        made = world.open().write("p/api", "REST it is.\n\nSo.", work_context="designing an API")
        assert (made.entry_count, made.version, made.overview, made.notes) == (1, NOTHING, "", ())
        section = world.open().read_section("p/api")
        assert (section.overview, section.version, section.entry_count) == ("", NOTHING, 1)
        assert section.last_entry.id == made.entry.id
        read = world.open().read_entry(made.entry.ref)
        assert (read.summary, read.text) == ("REST it is.", "REST it is.\n\nSo.")
        assert (read.work_context, read.at, read.written) == ("designing an API", NOW, None)

    def test_an_entry_is_read_by_its_id(self, world):
        """In any case, and by its beginning; not under another section's name."""
        notes = world.open()
        entry = notes.write("a", "First.\n\n# Second\n", summary="One line").entry
        for mark in (entry.id, entry.id.upper(), entry.id[:13]):
            assert notes.read_entry(f"a#{mark}") == entry
        notes.write("b", "Elsewhere.")
        for wrong in (f"b#{entry.id}", "a#abcdef0", "a#HEAD", "a#--all", "a#%", f"a#{'f' * 40}"):
            with pytest.raises(NotFound):
                notes.read_entry(wrong)

    def test_an_overview_needs_to_be_read(self, world):
        """The loser is told both texts and both versions, and nothing of his is written."""
        notes = world.open()
        first = notes.write("a", "Begun.", overview="We know little.", base_version=NOTHING)
        assert first.version == version_of("We know little.")
        second = notes.write("a", "Learned.", overview="We know more.", base_version=first.version)
        for stale in (first.version, None, "0" * 12, ""):
            with pytest.raises(OverviewConflict) as told:
                notes.write("a", "Late.", overview="We know else.", base_version=stale)
            conflict = told.value
            assert (conflict.current, conflict.yours) == ("We know more.", "We know else.")
            assert (conflict.version, conflict.base_version) == (second.version, stale or "")
        assert summaries(notes) == ["Learned.", "Begun."]
        notes.write("a", "An entry alone always goes.")
        same = notes.write("a", "As it is.", overview="We know more.\n")
        assert (same.version, same.entry_count) == (second.version, 4)

    def test_the_same_key_is_one_entry(self, world):
        """In another notebook object, another section and with another text as well."""
        first = world.open().write("a", "Once.", idempotency_key="k1")
        again = world.open().write("b", "Twice?", overview="No.", idempotency_key="k1")
        assert (again.repeated, again.entry, again.entry_count) == (True, first.entry, 1)
        assert world.open().list_sections() == ["a"]

    def test_an_entry_may_be_back_dated(self, world):
        """Lists go by its own time; when it was written down stays known."""
        notes = world.open(zone=timezone(timedelta(hours=5, minutes=45)))
        notes.write("a", "Now.")
        made = notes.write("a", "Then.", at=datetime(2024, 2, 29, 20, 0, 0, 999, tzinfo=UTC))
        read = notes.read_entry(made.entry.ref)
        assert (read.at, read.written) == (datetime(2024, 2, 29, 20, tzinfo=UTC), NOW)
        assert summaries(notes) == ["Now.", "Then."]
        with pytest.raises(Invalid):
            notes.write("a", "Before 1970", at=datetime(1969, 12, 31, tzinfo=UTC))

    def test_entries_are_listed_in_pages_newest_first(self, world):
        """Start and length; of one instant the later written is the newer."""
        notes = world.open()
        for number in range(5):
            notes.write("a", f"Entry {number}")
        assert summaries(notes, start=1, length=2) == ["Entry 3", "Entry 2"]
        assert summaries(notes, start=5) == []
        with pytest.raises(NotFound):
            notes.list_entries("c")
        for start, length in [(-1, 10), (0, 0), (0, 1001)]:
            with pytest.raises(Invalid):
                notes.list_entries("a", start=start, length=length)

    def test_the_table_of_contents(self, world):
        """A folder without an overview is a group; what lies deeper than asked is not told."""
        notes = world.open()
        for section in ("p", "p/api/errors", "q", "q"):
            notes.write(section, "x")
        assert [(x.id, x.type, x.entry_count, x.below) for x in notes.toc()] == [
            ("p", "section", 1, 1),
            ("q", "section", 2, 0),
        ]
        (group,) = notes.toc("p", depth=2)
        assert (group.id, group.type, [x.id for x in group.subsections]) == (
            "p/api",
            "group",
            ["p/api/errors"],
        )
        with pytest.raises(NotFound):
            notes.node("r", depth=1)
        with pytest.raises(Invalid):
            notes.toc(depth=0)

    def test_a_moved_section_keeps_its_entries_and_its_old_address(self, world):
        """Former names lead there; a name that is, or was, another's is refused."""
        notes = world.open()
        made = notes.write("a", "Learned.", overview="We know.")
        notes.write("b", "Other.")
        assert notes.move("a", "c").pairs == (("a", "c"),)
        assert notes.read_section("c").overview == "We know."
        assert notes.read_entry(f"a#{made.entry.id}").ref == f"notebook:c#{made.entry.id}"
        with pytest.raises(NotFound, match="no section 'a'") as told:
            notes.read_section("a")
        assert "read c" in told.value.hint
        for wrong in ("b", "B"):
            with pytest.raises((Conflict, Invalid)):
                notes.move("c", wrong)
        with pytest.raises(NotFound):
            notes.move("nowhere", "d")

    def test_a_folder_of_sections_is_moved_whole(self, world):
        """All of it or, where one name is taken, nothing."""
        notes = world.open()
        for section in ("p/x", "p/y", "r/y"):
            notes.write(section, "x")
        with pytest.raises(Conflict):
            notes.move("p", "r")
        assert notes.list_sections() == ["p/x", "p/y", "r/y"]
        assert notes.move("p", "s").pairs == (("p/x", "s/x"), ("p/y", "s/y"))
        with pytest.raises(Invalid):
            notes.move("s", "s/t")

    @pytest.mark.parametrize("name", NAMES)
    def test_a_hostile_name_changes_nothing(self, world, name):
        """It is refused by name."""
        notes = world.open()
        notes.write("a", "x")
        with pytest.raises(Invalid):
            notes.write(name, "x")
        assert notes.list_sections() == ["a"]

    def test_a_name_that_differs_only_in_case_is_refused(self, world):
        """Some disks take both for one."""
        notes = world.open()
        notes.write("Zoo/ants", "x")
        for twin in ("zoo", "Zoo/Ants"):
            with pytest.raises(Invalid, match="only in case"):
                notes.write(twin, "x")

    @pytest.mark.parametrize("text", HOSTILE)
    def test_hostile_texts_come_back_as_they_were(self, world, text):
        """As entries, overviews and work contexts."""
        notes = world.open()
        made = notes.write("a", f"Say: {text}", overview=f"So: {text}")
        assert world.open().read_entry(made.entry.ref).text == f"Say: {text}"
        assert world.open().read_section("a").overview == f"So: {text}"
        with pytest.raises(Invalid):
            notes.write("a", "a\0b")

    def test_an_entry_takes_the_place_of_another_once(self, world):
        """The same again is the same entry; another text is a conflict."""
        notes = world.open()
        old = notes.write("a", "Five.", work_context="counting").entry
        new = notes.supersede(old.ref, "Six.")
        assert (new.entry.supersedes, new.entry.section) == (old.id, "a")
        assert new.entry.work_context == "counting"
        again = world.open().supersede(old.ref, "Six.")
        assert (again.repeated, again.entry.id) == (True, new.entry.id)
        with pytest.raises(Conflict):
            notes.supersede(old.ref, "Seven.")
        assert summaries(notes) == ["Six.", "Five."]

    def test_an_overview_is_told_what_was_replaced_since(self, world):
        """The entry that its writer read, with the end of the chain; written again it is silent."""
        notes = world.open()
        old = notes.write("a", "Five.").entry
        told = notes.write("a", "Told.", overview="Five of them.")
        middle = notes.supersede(old.ref, "Six.").entry
        new = notes.supersede(middle.ref, "Seven.").entry
        (found,) = notes.list_replaced_since("a")
        assert (found.former.ref, found.successor.ref) == (old.ref, new.ref)
        assert notes.list_replaced_since("a", before=NOW) == ()
        notes.replace_overview("a", "Seven of them.", base_version=told.version)
        assert notes.list_replaced_since("a") == ()

    def test_in_a_space_an_overview_names_who_put_it_in_place(self, world):
        """A section that has none yet names nobody, and an entry alone changes no author."""
        notes = world.open(owner="space:team")
        named = []
        with_overview = {"overview": "It is so.", "base_version": NOTHING}
        for name, more in (("ann", {}), ("bob", with_overview), ("cyd", {})):
            with at_work(Member(name=name, may_delete=False)):
                notes.write("a", f"By {name}.", **more)
            section = notes.read_section("a")
            named.append((section.author, section.last_entry.author))
        assert named == [("", "ann"), ("bob", "bob"), ("bob", "cyd")]
        mine = world.open()
        mine.write("b", "Mine.", overview="Mine too.", base_version=NOTHING)
        assert mine.read_section("b").author == ""

    def test_an_entry_that_was_taken_back_is_shown_no_more(self, world):
        """The overview that it came with leaves as well; it can be brought back."""
        notes = world.open()
        first = notes.write("a", "One.", overview="We know one.")
        second = notes.write("a", "Two.", overview="We know two.", base_version=first.version).entry
        assert notes.take_back(second.ref)[1]
        assert (summaries(notes), notes.read_section("a").overview) == (["One."], "We know one.")
        with pytest.raises(NotFound, match="was taken back"):
            notes.read_entry(second.ref)
        notes.bring_back(second.ref, overview="We know two.", base_version=first.version)
        assert (summaries(notes), notes.read_section("a").overview) == (
            ["Two.", "One."],
            "We know two.",
        )

    def test_what_was_replaced_or_written_over_is_not_taken_back(self, world):
        """The reader is told what took its place, or that the overview is another."""
        notes = world.open()
        first = notes.write("a", "One.", overview="We know one.")
        notes.replace_overview("a", "We know else.", base_version=first.version)
        with pytest.raises(Conflict, match="was changed since"):
            notes.take_back(first.entry.ref)
        notes.supersede(first.entry.ref, "Two.")
        with pytest.raises(Conflict, match="was replaced since"):
            notes.take_back(first.entry.ref)

    def test_an_entry_that_has_expired_is_in_no_answer(self, world):
        """Neither in lists nor counts nor beside its former; its end may be set away."""
        notes = world.open()
        old = notes.write("a", "Five.").entry
        notes.write("a", "Stays.", overview="See a#" + old.id)
        new = notes.supersede(old.ref, "Six.", expires=NOW + MINUTE).entry
        assert notes.read_entry(new.ref).expires == NOW + MINUTE
        world.clock.at += MINUTE
        assert summaries(notes) == ["Stays.", "Five."]
        assert notes.read_section("a").entry_count == 2
        with pytest.raises(NotFound, match="expired on 22 November 2026"):
            notes.read_entry(new.ref)
        assert notes.read_kept_entry(new.ref).text == "Six."
        again = notes.supersede(old.ref, "Seven.")
        assert (again.repeated, again.entry.id != new.id) == (False, True)
        assert notes.set_end(new.ref, None).expires is None
        assert notes.read_entry(new.ref).expires is None

    def test_links_are_known_from_both_sides(self, world):
        """Of sections and of entries, by the beginnings of ids and by former names."""
        notes = world.open()
        made = notes.write("a", "Learned.").entry
        by_id = notes.write("b", f"See a#{made.id}.").entry
        by_name = notes.write("b", "See [[a]].", overview="From [[a]] and `[[c]]`.").entry
        assert refs(notes.list_backlinks("a")) == ["notebook:b", by_name.ref]
        assert refs(notes.list_backlinks("a", made)) == [by_id.ref]
        assert refs(notes.list_backlinks("c")) == []
        notes.move("a", "d")
        assert refs(notes.list_backlinks("d")) == ["notebook:b", by_name.ref]
        assert notes.list_backlinks("d").count == 2

    def test_of_several_who_write_one_overview_one_does(self, world):
        """The others are told; every entry alone is there."""
        base = world.open().write("a", "Begun.", overview="Nothing.").version

        def write(number):
            notes = world.open()
            notes.write("a", f"Entry {number}.")
            try:
                notes.write("a", "Told.", overview=f"By {number}.", base_version=base)
            except OverviewConflict:
                return 0
            return 1

        with ThreadPoolExecutor(6) as pool:
            assert sum(pool.map(write, range(6))) == 1
        told = summaries(world.open(), length=100)
        assert sorted(told) == sorted(["Begun.", "Told.", *(f"Entry {x}." for x in range(6))])

    def check_that_writers_lose_nothing(self, world, turns):
        """Two who read, write and merge what they are told, in any order, keep every line."""
        section = f"s{world.next_number()}"
        both = world.open(), world.open()
        both[0].write(section, "Begun.", overview="# Both")
        read = [notes.read_section(section) for notes in both]
        for number, (who, does_read) in enumerate(turns):
            if does_read:
                read[who] = both[who].read_section(section)
                continue
            base = read[who]
            mine, version = f"{base.overview}\n\nLine {number}.", base.version
            try:
                made = both[who].write(section, "x", overview=mine, base_version=version)
            except OverviewConflict as exc:
                merged = merge(exc.current, exc.yours, base=base.overview).text
                made = both[who].write(section, "x", overview=merged, base_version=exc.version)
            read[who] = both[who].read_section(section)
            assert read[who].version == made.version
        lines = both[0].read_section(section).overview.splitlines()
        written = [f"Line {n}." for n, (_, does_read) in enumerate(turns) if not does_read]
        assert set(written) <= set(lines)

    def test_two_writers_of_one_overview_lose_nothing(self, world):
        """Whatever the order of their reading and writing."""
        turns = st.lists(st.tuples(st.integers(0, 1), st.booleans()), max_size=8)

        @settings(
            max_examples=world.examples,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=[HealthCheck.too_slow],
        )
        @given(turns)
        def check(order):
            self.check_that_writers_lose_nothing(world, order)

        check()
