"""The bench of chronicle: what it builds is chronicle's own, and it touches nobody else's."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from itertools import pairwise

import pytest
from bench.catching_up import Slice
from bench.chronicles import tag_figures
from bench.corpus import FIRST_DAY
from bench.figures import Figure, Spread, render_table
from bench.homes import Home
from bench.logs import copied, foreign_home, make_rows

from commonplace_testing import HashingEncoder


@pytest.fixture
def foreign(tmp_path):
    """A home with a log of 1,500 entries that no index has seen."""
    return foreign_home(tmp_path, 1_500)


def test_what_is_only_told_has_no_limit():
    """Filing is shown beside adding: it is never over, and its limit is a dash."""
    figure = Figure(
        name="filing",
        unit="ms",
        measured=Spread.of([900.0]),
        floor=None,
        limit=None,
        rule="no limit",
    )
    assert figure.ok
    assert figure.facts()["limit"] is None
    row = render_table([figure]).splitlines()[2]
    assert row.split() == ["filing", "ms", "900", "-", "-", "-", "no", "limit"]


def test_the_log_is_the_same_each_time_and_in_order():
    """Two runs measure the same entries, evenly over 400 days: of four, one every hundredth."""
    rows = list(make_rows(4))
    assert rows == list(make_rows(4))
    assert [b.instant - a.instant for a, b in pairwise(rows)] == [
        timedelta(days=100) // timedelta(microseconds=1) * 1000
    ] * 3


def test_a_foreign_log_is_chronicles_own(foreign):
    """The product lists what plain SQLite wrote, newest first, and chronicle's words fit."""
    with foreign.opened(encoder="absent") as app:
        events = app.chronicle.journal.list_events(limit=2_000).events
        assert app.chronicle.journal.problems() == []
    assert [x.id for x in reversed(events)] == [row.id for row in make_rows(1_500)]
    assert events[-1].at == FIRST_DAY
    with closing(sqlite3.connect(foreign.chronicle)) as database:
        database.execute("INSERT INTO entries_fts(entries_fts, rank) VALUES('integrity-check', 1)")


def test_a_kept_log_is_written_once_and_a_copy_keeps_its_age(foreign, tmp_path):
    """A second run finds it as it was; the copy has the same bytes and times, and so its mark."""
    before = foreign.chronicle.stat()
    again = foreign_home(tmp_path, 1_500)
    assert again.chronicle.stat().st_mtime_ns == before.st_mtime_ns
    copy = copied(foreign, tmp_path / "copy")
    assert copy.chronicle.stat().st_mtime_ns == before.st_mtime_ns
    assert copy.chronicle.read_bytes() == foreign.chronicle.read_bytes()


def test_nobody_elses_chronicle_is_measured(tmp_path, monkeypatch):
    """Whatever names the runner's own chronicle, the app of a home uses the home's."""
    monkeypatch.setenv("CHRONICLE_DB_PATH", str(tmp_path / "mine.db"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "my-data"))
    home = Home(tmp_path / "home").make()
    with home.opened(encoder="absent") as app:
        assert app.chronicle.journal.path == home.chronicle


def test_a_slice_ends_the_catch_up_and_tells_both_rates(foreign):
    """Of 1,500 entries at least 1,100 get a vector and not all; each piece has two rates."""
    with foreign.opened(encoder="absent") as app:
        part = Slice(HashingEncoder(), 1_100)
        part.run(app)
        pending = app.index.counts(HashingEncoder().identity).pending
    assert 1_100 <= part.made < 1_500
    assert pending == 1_500 - part.made
    assert part.rates
    assert len(part.rates) == len(part.alone)
    assert min(part.silence()) >= 0.0
    assert part.told[-1][2] == 1_500


def test_the_tags_reach_what_is_asked_of_them():
    """Precision of .9 and recall of .8 on sentences that the rules were not tuned on."""
    assert [figure.ok for figure in tag_figures()] == [True, True]
