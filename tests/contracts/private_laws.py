"""The laws that the private journal keeps, whatever keeps its entries, as tests to subclass.

Never imported by the product itself.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import TYPE_CHECKING, Protocol

import pytest

from commonplace.core.errors import CommonplaceError, Conflict, Denied, Invalid, NotFound
from commonplace.core.values import Interval
from commonplace.journals.private.copied import Copy

if TYPE_CHECKING:
    from commonplace.journals.private.ports import ThoughtStore
    from commonplace_testing import FrozenClock

NOW = datetime(2026, 11, 21, 23, 19, 45, 15_000, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOSTILE = [
    "'); DROP TABLE cp_entries; --",
    "\ud800 alone",
    "\u202e",
    "line\r\nline\n\ttab",
    "%s {} \\u0000 %(owner)s",
    "a\0b",
    "---\nat: x\n---\n",
    "x" * 100_000,
]
NO_REFS = [
    "",
    " ",
    "private:",
    "private:user",
    "private:user/",
    "private:user/../../etc/passwd.md",
    "/etc/passwd.md",
    "~/x.md",
    "private:user/2026-11-21/a\0b",
    "private:user/2026-11-21/%2e%2e/x",
    "user/2026-11-21/no",
    "private:user/2026-11-21/23-19-45-000000",
    "private:nobody/2026-11-21/23-19-45-000000",
    "x" * 5000,
]


class PrivateWorld(Protocol):
    """What a contract is run in: one storage, and a clock."""

    @property
    def clock(self) -> FrozenClock:
        """The clock of all that is opened."""
        ...

    def open(self) -> ThoughtStore:
        """The journal of one owner, as another process would open it."""
        ...

    def expire(self, ref: str) -> None:
        """Let an entry's time be over now."""
        ...


def said(journal, text, **given):
    """Write a reflection; its ref."""
    return journal.write({"reflections": text}, **given).refs[0]


def texts(journal, **asked):
    """The texts of a list."""
    return [x.text for x in journal.list_entries(limit=100, **asked)]


class PrivateContract:
    """The laws, as tests: subclass it and give a fixture named `world`."""

    def test_another_process_reads_what_was_written(self, world):
        """The file of the entry, byte for byte, its headings, time and links."""
        mine = world.open()
        written = mine.write({"feelings": "glad", "project_notes": "The gate is blue."})
        (entry,) = written.entries
        (there,) = world.open().list_entries(limit=5)
        assert there == world.open().read_entry(entry.ref)
        assert (there.ref, there.raw, there.version) == (entry.ref, entry.raw, entry.version)
        assert there.raw == (
            '---\ntitle: "11:19:45 PM - November 21, 2026"\ndate: 2026-11-21T23:19:45.015Z\n'
            "timestamp: 1795303185015\n---\n\n## Feelings\n\nglad\n\n"
            "## Project Notes\n\nThe gate is blue.\n"
        )
        assert there.ref.startswith("private:user/2026-11-21/23-19-45-015")
        assert (there.headings, there.at, there.scope) == (
            ("Feelings", "Project Notes"),
            NOW,
            "user",
        )

    @pytest.mark.parametrize("text", HOSTILE)
    def test_hostile_texts_stay_what_they_are(self, world, text):
        """Lone surrogates become U+FFFD; an edit and a deletion find them as well."""
        mine = world.open()
        ref = said(mine, text)
        entry = mine.read_entry(ref)
        assert text.replace("\ud800", "\ufffd").strip() in entry.raw
        edited = mine.edit(ref, f"## Reflections\n\n{text}2\n", expected=entry.version)
        assert mine.read_entry(ref) == edited
        mine.delete(ref, expected=edited.version)
        assert texts(mine) == []

    @pytest.mark.parametrize("ref", NO_REFS)
    def test_what_is_no_ref_is_refused(self, world, ref):
        """By name, wherever it is given."""
        mine = world.open()
        said(mine, "here")
        for act in (mine.read_entry, mine.open_written, mine.delete, lambda x: mine.edit(x, "a")):
            with pytest.raises((Invalid, Denied, NotFound)):
                act(ref)
        assert texts(mine) == ["here"]

    def test_nothing_is_not_written(self, world):
        """Nor what has no category, nor too much, nor out of the calendar."""
        mine = world.open()
        for thoughts in ({}, {"feelings": " "}, {"moods": "x"}, {"feelings": "x" * (11 << 20)}):
            with pytest.raises(Invalid):
                mine.write(thoughts)
        for at in (datetime(1969, 1, 1, tzinfo=UTC), datetime(2300, 1, 1, tzinfo=UTC)):
            with pytest.raises(Invalid):
                mine.write({"feelings": "x"}, at=at)
        ref = said(mine, "x")
        for act in (mine.edit, mine.supersede):
            with pytest.raises(Invalid):
                act(ref, " \n")
        assert texts(mine) == ["x"]

    def test_a_list_is_newest_first_and_bound_by_its_interval(self, world):
        """Half-open; of one instant what was written at once stands before what came later."""
        mine = world.open()
        for number in (3, 1, 2):
            said(mine, f"at {number}", at=NOW - number * MINUTE)
        world.clock.at = NOW + MINUTE
        said(mine, "later, of the same", at=NOW - MINUTE)
        assert texts(mine) == ["later, of the same", "at 1", "at 2", "at 3"]
        within = Interval(start=NOW - 2 * MINUTE, end=NOW - MINUTE)
        assert texts(mine, within=within) == ["at 2"]
        assert len(mine.list_entries(limit=2)) == 2
        assert mine.list_entries(limit=0) == []
        assert texts(mine, kind="user") == texts(mine, kind="project") == texts(mine)

    def test_an_entry_of_another_time_says_when_it_was_written(self, world):
        """Its time is the one that was given."""
        mine = world.open()
        entry = mine.read_entry(said(mine, "then", at=NOW - MINUTE))
        assert (entry.at, entry.written) == (NOW - MINUTE, NOW)

    def test_a_key_is_one_entry(self, world):
        """Also when the text and the time are others, in another process, and once it is gone."""
        mine = world.open()
        ref = said(mine, "first", idempotency_key="k\ud800")
        world.clock.at = NOW + MINUTE
        again = world.open().write({"reflections": "second"}, idempotency_key="k\ud800")
        assert (again.refs, again.repeated, again.at) == ((ref,), True, NOW)
        assert texts(mine) == ["first"]
        mine.delete(ref)
        gone = mine.write({"reflections": "third"}, idempotency_key="k\ud800")
        assert (gone.refs, gone.repeated, gone.entries) == ((ref,), True, ())
        assert texts(mine) == []

    def test_a_blank_key_is_none(self, world):
        """Two calls with it are two entries."""
        mine = world.open()
        assert said(mine, "a", idempotency_key=" ") != said(mine, "a", idempotency_key=" ")

    def test_many_who_write_at_once_lose_nothing(self, world):
        """Without a key each is an entry, with one key there is one."""
        start = Barrier(6)

        def write(number):
            mine = world.open()
            start.wait()
            return (
                said(mine, f"own {number}"),
                said(mine, f"shared {number}", idempotency_key="one"),
            )

        with ThreadPoolExecutor(6) as pool:
            refs = [*pool.map(write, range(6))]
        assert len({own for own, _ in refs}) == 6
        assert len({shared for _, shared in refs}) == 1
        assert len(texts(world.open())) == 7

    def test_an_edit_keeps_the_frontmatter_and_is_refused_over_another(self, world):
        """Unless the new text brings one."""
        mine = world.open()
        ref = said(mine, "before")
        was = mine.read_entry(ref)
        now = mine.edit(ref, "## Feelings\n\nafter\n", expected=was.version)
        assert now.at == was.at
        assert now.raw.startswith(was.raw.partition("## ")[0].rstrip("\n"))
        with pytest.raises(Conflict):
            world.open().edit(ref, "other", expected=was.version)
        with pytest.raises(Conflict):
            world.open().delete(ref, expected=was.version)
        mine.edit(ref, "---\ntimestamp: 1795303125015\n---\n\nwhole\n")
        assert world.open().read_entry(ref).at == NOW - MINUTE
        assert texts(mine) == ["whole"]

    def test_what_is_superseded_names_what_took_its_place(self, world):
        """Once: the same again writes nothing, another is refused by name."""
        mine = world.open()
        old = said(mine, "port 8000")
        former, written = mine.supersede(old, "## Reflections\n\nport 9000\n")
        (later,) = written.entries
        assert (former.superseded_by, later.supersedes) == (later.ref, old)
        assert mine.find_successor(mine.read_entry(old)) == later.ref
        assert mine.read_entry(old) == former
        again = world.open().supersede(old, "## Reflections\n\nport 9000\n")[1]
        assert (again.refs, again.repeated) == (written.refs, True)
        with pytest.raises(Conflict, match=later.ref):
            mine.supersede(old, "port 1")
        with pytest.raises(NotFound):
            mine.supersede("private:user/2026-11-21/00-00-00-000000", "port 1")

    def test_thoughts_take_the_place_of_an_entry(self, world):
        """Under their headings."""
        mine = world.open()
        old = said(mine, "port 8000")
        written = mine.supersede_by(old, {"technical_insights": "port 9000"})[1]
        assert written.entries[0].headings == ("Technical Insights",)

    def test_of_a_chain_the_middle_goes_and_the_ends_are_linked(self, world):
        """When the last goes, the one before holds again, byte for byte."""
        mine = world.open()
        first = said(mine, "one")
        untouched = mine.read_entry(first).raw
        second = mine.supersede(first, "two")[1].refs[0]
        third = mine.supersede(second, "three")[1].refs[0]
        mine.delete(second)
        assert mine.read_entry(first).superseded_by == third
        assert mine.read_entry(third).supersedes == first
        mine.delete(third)
        assert mine.read_entry(first).raw == untouched
        assert mine.supersede(first, "again")[1].repeated is False

    def test_a_mark_of_being_replaced_comes_and_goes(self, world):
        """And leaves the entry as it was."""
        mine = world.open()
        old, new = said(mine, "old"), said(mine, "new")
        raw = mine.read_entry(old).raw
        assert mine.mark_replaced(old, new).superseded_by == new
        assert mine.mark_replaced(old, "").raw == mine.read_entry(old).raw == raw

    def test_what_has_expired_is_read_by_nobody(self, world):
        """Nor listed, edited or replaced; what it had replaced stays so."""
        mine = world.open()
        ref = said(mine, "secret")
        later = mine.supersede(ref, "open")[1].refs[0]
        world.expire(later)
        assert texts(mine) == ["secret"]
        assert mine.find_successor(mine.read_entry(ref)) == later
        for act in (mine.read_entry, lambda x: mine.edit(x, "a"), lambda x: mine.supersede(x, "a")):
            with pytest.raises(NotFound):
                act(later)

    def test_a_copy_is_written_once_and_follows_its_original(self, world):
        """It is known when it is deleted; a released key writes again."""
        mine = world.open()
        copy = Copy(text="taken", at=NOW - MINUTE, program="diary", id="7")
        assert mine.find_copy("key") == "never"
        ref = mine.write_copy(copy, "key").refs[0]
        assert world.open().write_copy(copy, "key").repeated
        there = mine.find_copy("key")
        assert there.ref == ref == mine.find_written_copy("key").ref
        later = Copy(text="taken anew", at=NOW, program="diary", id="7")
        mine.update_copy(there, later)
        assert (texts(mine), mine.read_entry(ref).at) == (["taken anew"], NOW - MINUTE)
        mine.delete(ref)
        assert mine.find_copy("key") == "deleted here"
        assert mine.find_written_copy("key") is None
        mine.release_keys(["key"])
        assert mine.find_copy("key") == "never"

    def test_a_path_below_the_user_s_root_is_read(self, world):
        """As a list of paths once showed it."""
        mine = world.open()
        ref = said(mine, "here")
        assert mine.read_entry(ref.removeprefix("private:user/") + ".md").ref == ref

    def test_nothing_else_goes_wrong_by_a_name(self, world):
        """What is asked for with a name of nobody's is refused with a known error."""
        for ref in ("private:user/" + "é" * 300, "private:project@0123abcd/2026-11-21/x"):
            with pytest.raises(CommonplaceError):
                world.open().read_entry(ref)
