"""Search by words: a question's terms, and how often each stands where.

Never hands a question's text to FTS5 raw, and never raises for any text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from commonplace.index.scoring.score import posting_of
from commonplace.index.scoring.stems import question_stems
from commonplace.index.sqlite.doc_table import read_column
from commonplace.index.sqlite.docs import prefix_end

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from commonplace.index.scoring.doc_table import DocTable
    from commonplace.index.scoring.score import Posting
    from commonplace.index.scoring.stems import Stem
    from commonplace.index.sqlite.docs import Queries
    from commonplace.index.sqlite.row_filter import RowFilter

# Terms that stand in many docs cost most and help least: past FEW docs, one in more than a
# quarter is left out, and so is what would make a search touch more than a tenth of all docs and
# more than TOUCHED_LEAST of them (20,000 cost 4 ms; of 1,000, journals lost .01 of R@10).
FEW = 1000
COMMON_SHARE = 0.25
TOUCHED_SHARE = 0.1
TOUCHED_LEAST = 20_000

_DRIFT = 0.05
_MOST_KNOWN = 4096


class DocFrequencies:
    """In how many docs each term stands: counted for a search, remembered while little changes.

    What is remembered holds for all time and is counted again once the index has grown by 5 %.
    Without it a search of 110,000 docs takes 156 ms instead of 142 on a busy machine.
    """

    def __init__(self) -> None:
        self._known: dict[Stem, tuple[int, int]] = {}

    def count(
        self, conn: sqlite3.Connection, sql: Queries, stem: Stem, row_filter: RowFilter, docs: int
    ) -> int:
        """In how many docs a stem stands, in the filter's span of time, of those there by then.

        row_filter: Its span of time counts, and what was written too late; nothing else.
        """
        if len(row_filter.later):
            return _count_by_then(conn, sql, stem, row_filter)
        known = self._known.get(stem) if row_filter.all_time else None
        if known is not None and abs(docs - known[1]) <= known[1] * _DRIFT:
            return known[0]
        bounds = {"match": _match(stem), "low": row_filter.low, "high": row_filter.high}
        frequency = int(conn.execute(sql["count_matches"], bounds).fetchone()[0])
        if row_filter.all_time:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[stem] = (frequency, docs)
        return frequency


def read_postings(  # noqa: PLR0917  what a count needs
    conn: sqlite3.Connection,
    sql: Queries,
    question: str,
    row_filter: RowFilter,
    table: DocTable,
    frequencies: DocFrequencies,
) -> dict[Stem, Posting]:
    """Where the words of a question stand that are rare enough to count, and how often.

    table: The docs that the filter lets in.
    """
    docs = int(conn.execute(sql["count_docs"]).fetchone()[0]) - len(row_filter.later)
    chosen = select_stems(conn, sql, question_stems(question), row_filter, frequencies, docs)
    return {
        stem: _posting(conn, sql, stem, row_filter, table, frequencies, docs) for stem in chosen
    }


def select_stems(  # noqa: PLR0917  what a count needs
    conn: sqlite3.Connection,
    sql: Queries,
    asked: list[Stem],
    row_filter: RowFilter,
    frequencies: DocFrequencies,
    docs: int,
) -> list[Stem]:
    """The stems worth a search, rarest first; the rarest of them however common it is."""
    if docs <= FEW:
        return asked
    counts = [frequencies.count(conn, sql, stem, row_filter, docs) for stem in asked]
    return select_by_frequency(asked, counts, docs)


def select_by_frequency(asked: Sequence[Stem], counts: Sequence[int], docs: int) -> list[Stem]:
    """The stems worth a search, rarest first. counts: In how many docs each of them stands."""
    counted = sorted((frequency, place) for place, frequency in enumerate(counts))
    # Words that stand nowhere cost nothing, and show how much of the question is not there.
    chosen = [asked[place] for frequency, place in counted if not frequency]
    touched = 0
    for frequency, place in counted[len(chosen) :]:
        if touched and (frequency > docs * COMMON_SHARE or touched + frequency > _most(docs)):
            break
        chosen.append(asked[place])
        touched += frequency
    return chosen


def _most(docs: int) -> int:
    return max(TOUCHED_LEAST, int(docs * TOUCHED_SHARE))


def _posting(  # noqa: PLR0917  what a count needs
    conn: sqlite3.Connection,
    sql: Queries,
    stem: Stem,
    row_filter: RowFilter,
    table: DocTable,
    frequencies: DocFrequencies,
    docs: int,
) -> Posting:
    asked: dict[str, object] = {"low": row_filter.low, "high": row_filter.high}
    if (
        not row_filter.all_time
        and docs > FEW
        and frequencies.count(conn, sql, stem, row_filter.in_any_time(), docs) > _most(docs)
    ):
        # Reading every place of such a word costs more than its count in each doc is worth.
        asked |= {"match": _match(stem)}
        name = "list_matches"
    else:
        asked |= {"term": stem.token, "end": prefix_end(stem.token)}
        name = "list_prefix_instances" if stem.prefix else "list_instances"
    return posting_of(read_column(conn, sql[name], asked), table)


def _count_by_then(
    conn: sqlite3.Connection, sql: Queries, stem: Stem, row_filter: RowFilter
) -> int:
    """As `count`, looked up doc by doc: a search that asks as of a past day is rare."""
    bounds = {"match": _match(stem), "low": row_filter.low, "high": row_filter.high}
    docs = read_column(conn, sql["list_matches"], bounds) >> 1
    return len(docs) - int(np.isin(docs, row_filter.later).sum())


def _match(stem: Stem) -> str:
    return '"' + stem.token.replace('"', '""') + '"' + ("*" if stem.prefix else "")
