"""The timeline when things go wrong: killed processes, damaged files, and what must be forgotten."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
from tests.journals.timeline.world import World, at

from commonplace.core.errors import NotFound, Unavailable
from commonplace.core.values import Interval, Put, Since
from commonplace.journals.timeline.entry import FORM
from commonplace.journals.timeline.pages import TimelinePages
from commonplace.journals.timeline.source import TimelineSource

SECRET = "zanzibarquartz"


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    yield made
    made.close()


def files_with(folder, text):
    """The files in which the bytes of a text lie, in either case."""
    needle = text.encode().lower()
    found = (x for x in folder.rglob("*") if x.is_file() and needle in x.read_bytes().lower())
    return sorted(x.name for x in found)


_KILLED = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.journals.timeline.world import World
from commonplace.inference.language.extract import Extractive
from commonplace_testing import FrozenClock

class Killing(Extractive):
    def summarise(self, material):
        made = super().summarise(material)
        if material.level == sys.argv[3]:
            os.kill(os.getpid(), signal.SIGKILL)
        return made

World(
    Path(sys.argv[1]),
    clock=FrozenClock(datetime(2026, 2, 1, tzinfo=UTC)),
    summariser=Killing(),
).rollups.catch_up()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
@pytest.mark.parametrize("level", ["hour", "day", "week", "year"])
def test_killed_between_summary_and_commit_costs_that_summary_alone(world, tmp_path, level):
    """What was stored before stays, what was not is still due, and the end is the same."""
    for day in (4, 5, 12):
        world.add(f"fixed gate {day}", f"2025-02-{day:02d}T10:15")
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, str(tmp_path), root, level], capture_output=True, text=True
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    # 3 hours and days, 2 weeks, a month and a year.
    made = {"hour": 0, "day": 1, "week": 4, "year": 9}[level]
    assert len(world.told()) == made
    assert world.roll_up("2026-02-01T00:00") == 10 - made
    assert world.roll_up() == 0
    assert world.read("year", "2025-01-01T00:00").metadata["entries"] == 3
    assert world.rows("PRAGMA integrity_check") == [("ok",)]


def test_nothing_of_a_deleted_text_stays_in_any_file(world, tmp_path):
    """Neither in the entry, nor in five levels of rollups, words, journal file or log."""
    world.add("fixed the gate", "2025-02-04T10:10")
    entry = world.add(
        f"Decided on {SECRET} for the {SECRET} plan. {SECRET} it is.",
        "2025-02-04T10:15",
        projects=[SECRET],
        tags=[f"{SECRET}-tag"],
    )
    world.roll_up("2026-02-04T10:15")
    assert SECRET in world.read("year", "2025-02-04T10:00").content
    assert files_with(tmp_path, SECRET) != []
    deleted = world.journal.delete(entry.id)
    assert deleted.rollups == 5
    assert files_with(tmp_path, SECRET) == []
    world.roll_up()
    assert world.read("year", "2025-02-04T10:00").metadata["entries"] == 1
    assert files_with(tmp_path, SECRET) == []
    with pytest.raises(NotFound, match="it was deleted"):
        world.journal.read(entry.id)


def test_a_deleted_text_is_gone_from_pages_that_moved(world, tmp_path):
    """Rows among hundreds of others, altered and rolled up again, leave no copy behind."""
    for minute in range(40):
        for hour in range(8):
            world.add(f"entry {hour} {minute} " + "x" * 300, f"2025-02-04T{hour:02d}:{minute:02d}")
    entry = world.add(f"{SECRET} " + "y" * 300, "2025-02-04T03:30")
    world.roll_up("2025-02-06T00:00")
    world.journal.update(entry.id, content=f"{SECRET} again " + "z" * 700)
    world.roll_up()
    world.journal.delete(entry.id)
    assert files_with(tmp_path, SECRET) == []
    world.roll_up()
    assert world.rows("PRAGMA integrity_check") == [("ok",)]


def test_a_reader_that_keeps_the_old_state_is_told_of(world, tmp_path):
    """The text has left every answer; its bytes go once the reader is done and it is asked again."""
    entry = world.add(f"the {SECRET}", "2025-02-04T10:15")
    reader = world.again()
    with reader.journal.database.reading() as conn:
        conn.connection.execute("BEGIN")
        conn.connection.execute("SELECT count(*) FROM journal_entries").fetchone()
        with world.journal.database.bare() as own:
            own.execute("PRAGMA busy_timeout = 50")
        with pytest.raises(Unavailable, match="remains in the file"):
            world.journal.delete(entry.id)
        assert world.shown() == []
        conn.connection.execute("COMMIT")
    with pytest.raises(NotFound, match="it was deleted"):
        world.journal.delete(entry.id)
    assert files_with(tmp_path, SECRET) == []
    reader.close()


@pytest.mark.design("003-24", "003-25")
def test_the_words_for_readers_of_the_file_follow_every_change(world):
    """Active entries and no others; altered, archived and deleted ones leave no ghost."""
    first = world.add("green gate", "2025-02-04T10:15")
    second = world.add("blue harbour", "2025-02-04T10:16")

    def words(text):
        query = "SELECT rowid FROM journal_fts WHERE journal_fts MATCH ?"
        return [row[0] for row in world.rows(query, text)]

    assert (words("green"), words("harbour")) == ([first.seq], [second.seq])
    world.journal.update(first.id, content="red gate")
    assert (words("green"), words("red")) == ([], [first.seq])
    with world.journal.database.writing() as conn:
        conn.connection.execute(
            "UPDATE journal_entries SET status = 'archived' WHERE id = ?", (second.id,)
        )
    assert words("harbour") == []
    world.journal.delete(second.id)
    world.roll_up("2025-02-05T09:00")
    with world.journal.database.writing() as conn:
        check = "INSERT INTO journal_fts (journal_fts, rank) VALUES ('integrity-check', 1)"
        conn.connection.execute(check)


def test_threads_and_processes_add_at_once(world):
    """Every entry is there once, and every rollup tells of all."""
    others = [world.again() for _ in range(4)]

    def add(each, number):
        for minute in range(10):
            each.add(f"{number} {minute}", f"2025-02-04T10:{minute:02d}")
            each.rollups.catch_up()

    world.clock.at = at("2025-02-04T12:00")
    threads = [
        threading.Thread(target=add, args=(each, number)) for number, each in enumerate(others)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    world.roll_up()
    hour = world.read("hour", "2025-02-04T10:00")
    assert (hour.metadata["entries"], hour.stale) == (40, False)
    assert world.shown(level=1) == [hour.id]
    for each in others:
        each.close()


def test_the_index_is_told_of_every_change_once(world):
    """Puts of what is new or other, drops of what is gone; nothing twice."""
    source = TimelineSource(world.journal)
    stamps = {}

    def scan(mark):
        since = Since(
            mark=mark, stamps=lambda prefix: {k: v for k, v in stamps.items() if prefix in k}
        )
        changes = list(source.scan(since))
        for change in changes:
            if isinstance(change, Put):
                stamps[change.doc.ref] = change.doc.stamp
            else:
                del stamps[change.ref]
        return [x.doc.ref if isinstance(x, Put) else f"-{x.ref}" for x in changes]

    assert (source.mark(), scan("")) == ("", [])
    entry = world.add("fixed the gate", "2025-02-04T10:15")
    first = source.mark()
    assert scan("") == [entry.ref]
    assert scan(first) == []
    world.roll_up("2025-02-05T09:00")
    mark = source.mark()
    assert mark != first
    hour, day = "timeline:rollup_hourly_20250204_10", "timeline:rollup_daily_20250204"
    assert scan(first) == [day, hour]
    assert scan(None) == []
    world.journal.delete(entry.id)
    assert scan(mark) == [f"-{entry.ref}", f"-{day}", f"-{hour}"]
    assert stamps == {}


def test_what_was_filed_in_a_former_form_is_filed_again(world):
    """Summaries and facts, once; what is filed as it always was is not encoded again."""
    raw = world.add("fixed the gate", "2025-02-04T10:15", projects=["sales"])
    fact = world.add("likes tea", "2025-02-04T10:20", memory_type="fact")
    world.roll_up("2025-02-04T11:00")
    hour = world.read("hour", "2025-02-04T10:00")
    source = TimelineSource(world.journal)
    name, _, number = source.mark().partition(" ")
    former = f"{name.removesuffix(FORM)} {number}"
    stamps = {x.ref: x.hash.hex() for x in (raw, fact, hour)}
    changes = list(source.scan(Since(mark=former, stamps=lambda _: stamps)))
    assert {x.doc.ref: x.doc.text for x in changes} == {
        fact.ref: "likes tea",
        hour.ref: "[10:00-11:00] sales.\nfixed the gate.\nlikes tea.",
    }
    stamps |= {x.doc.ref: x.doc.stamp for x in changes}
    assert list(source.scan(Since(mark=former, stamps=lambda _: stamps))) == []


def test_a_rollup_s_doc_covers_what_it_was_made_from(world):
    """So that a search shows one of them, and the way to the other."""
    first = world.add("fixed the gate", "2025-02-04T10:15")
    second = world.add("painted it", "2025-02-04T10:45")
    world.roll_up("2025-02-05T09:00")
    hour = world.read("hour", "2025-02-04T10:00")
    (change,) = world.journal.docs([hour])
    assert change.doc.covers == (first.ref, second.ref)
    assert change.doc.dated == "10:00, 4 February 2025"
    above = world.journal.above([first.ref, "timeline:none", "chronicle:1"])
    day = "timeline:rollup_daily_20250204"
    assert above.pop(first.ref) == {hour.ref, day}
    assert above == {"timeline:none": frozenset(), "chronicle:1": frozenset()}


def test_a_ref_opens_with_the_ways_up_and_down(world):
    """An entry names the hour it went into, an hour its entries, each with its neighbours."""
    first = world.add("fixed the gate", "2025-02-04T10:15", tags=["work"])
    second = world.add("painted it", "2025-02-04T10:45")
    world.roll_up("2025-02-05T09:00")
    pages = TimelinePages(world.journal)
    page = pages.read_ref(first.ref)
    assert (page.before, page.after.ref, page.tags) == (None, second.ref, ("work",))
    assert page.rollup.ref == "timeline:rollup_hourly_20250204_10"
    hour = pages.read_ref(page.rollup.ref)
    assert [x.ref for x in hour.sources] == [first.ref, second.ref]
    assert hour.rollup.ref == "timeline:rollup_daily_20250204"


def test_another_program_s_file_is_refused(tmp_path):
    """And left as it is."""
    (tmp_path / "journal.db").write_bytes(b"not a database at all, but a letter" * 200)
    world = World(tmp_path)
    with pytest.raises(Unavailable, match=r"journal\.db"):
        world.add("fixed the gate")
    assert (tmp_path / "journal.db").read_bytes().startswith(b"not a database")


@pytest.mark.design("003-31")
def test_the_files_are_the_owner_s_alone(world, tmp_path):
    """What somebody did all day is nobody else's business."""
    world.add("fixed the gate", "2025-02-04T10:15")
    world.roll_up("2025-02-05T09:00")
    modes = {x.name: x.stat().st_mode & 0o777 for x in tmp_path.iterdir() if x.is_file()}
    assert set(modes.values()) == {0o600}
    assert {"journal.db", "rollups.log"} <= modes.keys()


def test_a_hundred_rows_are_listed_of_any_span(world):
    """Also with spans at the ends of the calendar."""
    world.add("fixed the gate", "2025-02-04T10:15")
    world.roll_up("2025-02-05T09:00")
    whole = Interval(start=at("0002-01-01T00:00"), end=at("9998-12-31T00:00"))
    assert len(world.journal.list_entries(whole).entries) == 3


def test_the_log_of_rollups_is_kept_to_three_files(world, tmp_path):
    """One that has a megabyte gives way; the one before the last is gone."""
    log, older, oldest = (tmp_path / f"rollups.log{end}" for end in ("", ".1", ".2"))
    log.write_bytes(b"b" * 1_000_000)
    older.write_bytes(b"a")
    oldest.write_bytes(b"gone")
    world.add("fixed the gate", "2025-02-04T10:15")
    world.roll_up("2025-02-05T09:00")
    assert [json.loads(x)["level"] for x in log.read_text().splitlines()] == ["hour", "day"]
    assert older.stat().st_size == 1_000_000
    assert oldest.read_bytes() == b"a"


def test_a_log_that_cannot_be_written_costs_no_rollup(world, tmp_path, caplog):
    """What is stored is stored; the trouble is named."""
    (tmp_path / "rollups.log").mkdir()
    world.add("fixed the gate", "2025-02-04T10:15")
    assert world.roll_up("2025-02-05T09:00") == 2
    assert "rollups.log cannot be written" in caplog.text


def test_a_period_is_told_while_nothing_can_be_written(world):
    """Another process holds the file: what is due is computed, and stored later."""
    world.add("fixed the gate", "2025-02-04T10:15")
    world.clock.at = at("2025-02-05T09:00")
    with world.journal.database.bare() as conn:
        conn.execute("PRAGMA busy_timeout = 20")
    other = world.again()
    with other.journal.database.writing():
        day = world.read("day", "2025-02-04T10:00")
        assert (day.metadata["entries"], day.metadata["partial"]) == (1, False)
        with pytest.raises(Unavailable, match="locked"):
            world.add("painted it")
    assert world.shown(level=2) == []
    assert world.read("day", "2025-02-04T10:00").metadata["entries"] == 1
    assert world.shown(level=2) == ["rollup_daily_20250204"]
    other.close()


@contextmanager
def no_room():
    """No file of this process can grow, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_is_read_by_whoever_comes_to_it(world):
    """No process has the file open: what is there is told, and written to once there is room."""
    world.add("fixed the gate", "2025-02-04T10:15")
    world.close()
    world.clock.at = at("2025-02-05T09:00")
    with no_room():
        other = world.again()
        for _ in range(2):
            assert other.read("day", "2025-02-04T10:00").metadata["entries"] == 1
            with pytest.raises(Unavailable):
                other.add("painted it", "2025-02-04T10:30")
    other.add("painted it", "2025-02-04T10:30")
    assert other.read("day", "2025-02-04T10:00").metadata["entries"] == 2
    other.close()
