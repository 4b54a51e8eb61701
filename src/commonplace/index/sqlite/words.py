"""The leg of a search that goes by words: a question's terms, and how often each stands where.

Never hands a question's text to FTS5 raw, and never raises for any text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.text import query_terms
from commonplace.index.scoring.score import posting_of
from commonplace.index.scoring.stems import stems
from commonplace.index.sqlite.columns import read_column
from commonplace.index.sqlite.docs import prefix_end
from commonplace.index.sqlite.reach import EVERYTHING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from commonplace.index.scoring.doc_table import DocTable
    from commonplace.index.scoring.score import Posting
    from commonplace.index.scoring.stems import Stem
    from commonplace.index.sqlite.docs import Queries
    from commonplace.index.sqlite.reach import Reach

# Terms that stand in many docs cost most and tell least: past FEW docs, one in more than a
# quarter is left out, and so is what would make a search touch more than a tenth of all docs and
# more than TOUCHED_LEAST of them (20,000 cost 4 ms; of 1,000, journals lost .01 of R@10).
FEW = 1000
COMMON_SHARE = 0.25
TOUCHED_SHARE = 0.1
TOUCHED_LEAST = 20_000

_DRIFT = 0.05
_MOST_KNOWN = 4096


class Spreads:
    """In how many docs each term stands: counted for a search, remembered while little changes.

    What is remembered holds for all time and is counted anew once the index has grown by 5 %.
    """

    def __init__(self) -> None:
        self._known: dict[Stem, tuple[int, int]] = {}

    def count(
        self, conn: sqlite3.Connection, sql: Queries, stem: Stem, reach: Reach, docs: int
    ) -> int:
        """The docs in the span of time in which a stem stands. docs: how many there are."""
        known = self._known.get(stem) if reach.all_time else None
        if known is not None and abs(docs - known[1]) <= known[1] * _DRIFT:
            return known[0]
        bounds = {"match": _match(stem), "low": reach.low, "high": reach.high}
        spread = int(conn.execute(sql["count_matches"], bounds).fetchone()[0])
        if reach.all_time:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[stem] = (spread, docs)
        return spread


def read_postings(  # noqa: PLR0917  what a count needs
    conn: sqlite3.Connection,
    sql: Queries,
    question: str,
    reach: Reach,
    roll: DocTable,
    spreads: Spreads,
) -> dict[Stem, Posting]:
    """Where the telling words of a question stand in a roll, and how often; one for each word.

    roll: of the docs in reach.
    """
    docs = int(conn.execute(sql["count_docs"]).fetchone()[0])
    told = telling(conn, sql, stems(query_terms(question)), reach, spreads, docs)
    return {stem: _posting(conn, sql, stem, reach, roll, spreads, docs) for stem in told}


def telling(  # noqa: PLR0917  what a count needs
    conn: sqlite3.Connection,
    sql: Queries,
    asked: list[Stem],
    reach: Reach,
    spreads: Spreads,
    docs: int,
) -> list[Stem]:
    """The stems worth a search, rarest first; the rarest of them however common it is."""
    if docs <= FEW:
        return asked
    counts = [spreads.count(conn, sql, stem, reach, docs) for stem in asked]
    return worth(asked, counts, docs)


def worth(asked: Sequence[Stem], counts: Sequence[int], docs: int) -> list[Stem]:
    """The stems worth a search, rarest first. counts: in how many docs each stands, of all docs."""
    counted = sorted((spread, place) for place, spread in enumerate(counts))
    # Words that stand nowhere cost nothing, and tell how much of the question is not there.
    told = [asked[place] for spread, place in counted if not spread]
    touched = 0
    for spread, place in counted[len(told) :]:
        if touched and (spread > docs * COMMON_SHARE or touched + spread > _most(docs)):
            break
        told.append(asked[place])
        touched += spread
    return told


def _most(docs: int) -> int:
    return max(TOUCHED_LEAST, int(docs * TOUCHED_SHARE))


def _posting(  # noqa: PLR0917  what a count needs
    conn: sqlite3.Connection,
    sql: Queries,
    stem: Stem,
    reach: Reach,
    roll: DocTable,
    spreads: Spreads,
    docs: int,
) -> Posting:
    asked: dict[str, object] = {"low": reach.low, "high": reach.high}
    if not reach.all_time and docs > FEW and _is_everywhere(conn, sql, stem, spreads, docs):
        # Reading every place of such a word costs more than how often it stands in a doc tells.
        asked |= {"match": _match(stem)}
        name = "list_matches"
    else:
        asked |= {"term": stem.token, "end": prefix_end(stem.token)}
        name = "list_prefix_instances" if stem.prefix else "list_instances"
    return posting_of(read_column(conn, sql[name], asked), roll)


def _is_everywhere(
    conn: sqlite3.Connection, sql: Queries, stem: Stem, spreads: Spreads, docs: int
) -> bool:
    return spreads.count(conn, sql, stem, EVERYTHING, docs) > _most(docs)


def _match(stem: Stem) -> str:
    return '"' + stem.token.replace('"', '""') + '"' + ("*" if stem.prefix else "")
