"""The doc table and what is read from the tables for it: numbers worked out by hand."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from msgspec.structs import replace

from commonplace.core.values import Interval
from commonplace.index.scoring.doc_table import COLUMNS, DocTable, doc_table_of
from commonplace.index.scoring.score import posting_of
from commonplace.index.sqlite.doc_table import read_column, read_columns
from commonplace_testing import ALONE, TOGETHER

SECOND = 1 << 20


@pytest.fixture
def table():
    """Five docs of three seconds; of the first second the later id is the earlier instant."""
    ids = [SECOND + 1, SECOND, 2 * SECOND, 2 * SECOND + 1, 3 * SECOND]
    at_us = [1_000_000, 1_500_000, 2_000_000, 2_000_001, 3_000_000]
    columns = [ids, at_us, [1, 2, 1, 2, 1], [7, 7, 7, 8, 0], [10, 20, 30, 40, 90], [0] * 5]
    return doc_table_of(np.array(columns, dtype=np.int64))


@pytest.fixture
def conn():
    """A database of two columns: (-5, 1), (2 ** 60, 2), (0, 3)."""
    with closing(sqlite3.connect(":memory:")) as conn:
        conn.execute("CREATE TABLE t (a INTEGER, b INTEGER)")
        conn.executemany("INSERT INTO t VALUES (?, ?)", [(-5, 1), (2**60, 2), (0, 3)])
        yield conn


def test_columns_come_whole_and_in_step(conn):
    """Negative and large numbers too; a row of one column stands interval it does in the other."""
    a, b = read_columns(conn, "SELECT group_concat(a), group_concat(b) FROM t")
    assert (a.tolist(), b.tolist()) == ([-5, 2**60, 0], [1, 2, 3])
    assert (a.dtype, b.dtype) == (np.int64, np.int64)


def test_a_column_of_nothing_is_empty(conn):
    """No row, and nothing to read a number from."""
    found = read_column(conn, "SELECT group_concat(a) FROM t WHERE b > :most", {"most": 9})
    assert found.tolist() == []
    assert found.dtype == np.int64


def test_a_span_of_time_is_a_roll_of_its_own(table):
    """Seconds 1 and 2 alone: places count from 0, and who is not there is at -1."""
    part = table.between(SECOND, 3 * SECOND)
    assert part.ids.tolist() == [SECOND + 1, SECOND, 2 * SECOND, 2 * SECOND + 1]
    assert part.places_of(np.array([SECOND, 3 * SECOND, 2 * SECOND])).tolist() == [1, -1, 2]
    later = table.between(2 * SECOND, 9 * SECOND)
    assert later.places_of(np.array([SECOND, 2 * SECOND, 3 * SECOND])).tolist() == [-1, 0, 2]


def test_a_span_and_a_choice_of_the_same_docs_are_alike(table):
    """Both are as if there were no other docs."""
    span = table.between(2 * SECOND, 4 * SECOND)
    choice = table.taken(np.flatnonzero(table.ids >= 2 * SECOND))
    for name in COLUMNS:
        assert getattr(span, name).tolist() == getattr(choice, name).tolist()
    sought = table.ids
    assert span.places_of(sought).tolist() == choice.places_of(sought).tolist()


def test_a_short_doc_counts_as_longer_and_a_turn_as_longer_still(table):
    """Of 10, 20, 30 and 40 words in a session the mean is 30 with 25 at least, 25 with none.

    The one of 90 that stands alone is as long as the mean of its kind, which is itself.
    """
    turns = table.relative_lengths(replace(ALONE, shortest=1, shortest_turn=25))
    assert (turns[:4] * 30).round(4).tolist() == [25, 25, 30, 40]
    plain = table.relative_lengths(replace(ALONE, shortest=100, shortest_turn=0))
    assert (plain[:4] * 25).round(4).tolist() == [10, 20, 30, 40]
    assert turns[4] == plain[4] == 1.0


def test_the_docs_of_a_time_stand_side_by_side(table):
    """From 1.5 s to before 3 s: the second to the fourth."""
    second = timedelta(seconds=1)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    interval = Interval(start=epoch + 1.5 * second, end=epoch + 3 * second)
    assert table.places_between(interval).tolist() == [1, 2, 3]
    assert table.places_between(Interval()).tolist() == [0, 1, 2, 3, 4]


def test_a_posting_tells_places_in_order_with_how_often_in_text_and_date(table):
    """Twice in the first doc's text, in another's text and date; one that is not there is not."""
    gone = 9 * SECOND
    found = [2 * SECOND * 2, 2 * SECOND * 2 + 1, 2 * (SECOND + 1), 2 * (SECOND + 1), 2 * gone]
    for chosen in (found, sorted(found)):
        posting = posting_of(np.array(chosen, dtype=np.int64), table)
        assert posting.places.tolist() == [0, 2]
        assert posting.body.tolist() == [2.0, 1.0]
        assert posting.dated.tolist() == [0.0, 1.0]
    nowhere = posting_of(np.array([2 * gone], dtype=np.int64), table)
    assert nowhere.places.tolist() == []


def test_an_entry_of_a_whole_book_lends_nothing_and_overflows_nothing():
    """A session of one entry of 100,000 words: no neighbour, no weight, no warning."""
    column = np.array([1], dtype=np.int64)
    book = DocTable(column, column, column, column, np.array([100_000]), np.array([False]))
    assert not book.lending(np.array([0]), TOGETHER).weights.any()


def test_a_long_reply_lends_to_the_question_before_it():
    """600 words lie too far to lend; .2 of what is right behind a turn counts all the same."""
    turns = [1, 2, 3]
    chat = doc_table_of(
        np.array([turns, [0, 1, 2], [1, 1, 1], [7, 7, 7], [10, 600, 600], [0, 0, 0]])
    )
    weighing = replace(TOGETHER, following=0.2)
    places = np.array([0, 1])
    assert not chat.lending(places[:1], TOGETHER).weights.any()
    lent = chat.lending(places, weighing)
    given = [
        {int(other): round(float(w), 4) for other, w in zip(others, weights, strict=True) if w}
        for others, weights in zip(lent.places, lent.weights, strict=True)
    ]
    # The question lends the reply .5 e^(-5/80); the next reply .2, the one after that nothing.
    assert given == [{1: 0.2}, {0: 0.4697, 2: 0.2}]


@pytest.mark.parametrize("facets", [[], [2], [2, 1], [-7, 2, 1 << 62], [3]])
def test_the_docs_of_some_facets_are_told_apart(table, facets):
    """Of none, one, all, and of some that no doc has, however large their numbers."""
    assert table.bears(facets).tolist() == [facet in facets for facet in (1, 2, 1, 2, 1)]
