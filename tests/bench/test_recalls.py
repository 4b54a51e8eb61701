"""The bench of recall: what it asks is large and mixed, and asked through the product."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

from bench.corpus import FIRST_DAY
from bench.figures import Spread
from bench.homes import Home
from bench.logs import write_log
from bench.million import FILTERS, filled_folder, make_docs, million_figures

from commonplace.core.values import Filter
from commonplace_testing import HashingEncoder


def test_a_log_may_begin_beside_the_thoughts(tmp_path):
    """Of two entries the first is 7 s late and the other 200 days later: no thought is at either."""
    home = Home(tmp_path).make()
    late = FIRST_DAY + timedelta(seconds=7)
    write_log(home, 2, first=late)
    with home.opened(encoder="absent") as app:
        times = [event.at for event in app.chronicle.journal.list_events(limit=9).events]
    assert times == [late + timedelta(days=200), late]


def test_the_million_is_of_five_journals_by_turns():
    """Evenly over 2,000 days; a day of a journal is a session. Two runs measure the same docs."""
    docs = list(make_docs(10_000))
    assert docs[:50] == list(islice(make_docs(10_000), 50))
    assert set(Counter(doc.journal for doc in docs).values()) == {2_000}
    assert {b.at - a.at for a, b in pairwise(docs)} == {timedelta(hours=4.8)}
    assert docs[0].at == datetime(2020, 1, 1, tzinfo=UTC)
    sessions = Counter(doc.session for doc in docs)
    assert sessions["chronicle/2020-01-01"] == 1
    assert len(sessions) == 10_000


def test_an_index_is_filled_once_and_asked_with_each_filter(tmp_path):
    """Every doc has its vector; a second run takes what is there."""
    encoder = HashingEncoder()
    questions = ["why did the parser stall", "which lock makes the cache slow"]
    figures = million_figures(tmp_path, encoder, questions, entries=1_000)
    assert [figure.name for figure in figures] == [
        f"warm recall, 1,000 entries{name}" for name in ("", ", a month", ", a journal")
    ]
    assert all(figure.measured.times == 2 for figure in figures)
    floor = figures[0].floor
    assert isinstance(floor, Spread)
    assert figures[0].limit == floor.median + 250
    before = sorted(tmp_path.rglob("*.matrix"))
    folder = filled_folder(tmp_path, 1_000, encoder)
    assert sorted(folder.glob("*.matrix")) == before
    assert FILTERS[""] == Filter()
