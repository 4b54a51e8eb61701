"""The leg of a search that goes by words: a question as FTS5 reads it, and the figures it gives.

Never hands a question's text to FTS5 raw, and never raises for any text.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from commonplace.core.text import query_terms
from commonplace.index.matrix import best

if TYPE_CHECKING:
    import sqlite3

    from commonplace.core.text import Term
    from commonplace.index.docs import Queries
    from commonplace.index.reach import Reach

# Terms that stand in many docs cost most and tell least: past FEW docs, one in more than a
# quarter is left out, and so is what would make a search touch more than a tenth of all docs.
FEW = 1000
COMMON_SHARE = 0.25
TOUCHED_SHARE = 0.1
TOUCHED_LEAST = 1000

_DRIFT = 0.05
_MOST_KNOWN = 4096


class Spreads:
    """In how many docs each term stands: counted for a search, remembered while little changes.

    What is remembered holds for all time and is counted anew once the index has grown by 5 %.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int]] = {}

    def count(
        self, conn: sqlite3.Connection, sql: Queries, match: str, reach: Reach, docs: int
    ) -> int:
        """The docs in the span of time in which a quoted term stands. docs: how many there are."""
        known = self._known.get(match) if reach.all_time else None
        if known is not None and abs(docs - known[1]) <= known[1] * _DRIFT:
            return known[0]
        bounds = {"match": match, "low": reach.low, "high": reach.high}
        spread = int(conn.execute(sql["count_matches"], bounds).fetchone()[0])
        if reach.all_time:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[match] = (spread, docs)
        return spread


def words_figures(
    conn: sqlite3.Connection, sql: Queries, question: str, reach: Reach, spreads: Spreads
) -> dict[int, float]:
    """BM25, > 0, of every doc that a telling term of the question stands in, by id.

    Of docs in reach, but for their shelves: `best_by_words` looks at those of few.
    """
    terms = telling_terms(conn, sql, query_terms(question), reach, spreads)
    if not terms:
        return {}
    bounds = {
        "match": " OR ".join(_quoted(term) for term in terms),
        "low": reach.low,
        "high": reach.high,
    }
    figures = dict(conn.execute(sql["list_matches"], bounds).fetchall())
    docs = np.fromiter(figures, dtype=np.int64, count=len(figures))
    mask = reach.mask(docs, None)
    return figures if mask is None else {doc: figures[doc] for doc in docs[mask].tolist()}


def best_by_words(
    conn: sqlite3.Connection, sql: Queries, figures: dict[int, float], reach: Reach, limit: int
) -> list[int]:
    """The docs in reach with the highest figures, best first; of equals the newest."""
    docs = np.fromiter(figures.keys(), dtype=np.int64, count=len(figures))
    values = np.fromiter(figures.values(), dtype=np.float64, count=len(figures))
    if reach.shelves is None:
        return list(best(docs, values, limit))
    # Joining every match to its doc is what a filter would cost most; so from the best down.
    ordered = list(best(docs, values, len(docs)))
    shelves = frozenset(reach.shelves.tolist())
    found: list[int] = []
    start, step = 0, 2 * limit
    while len(found) < limit and start < len(ordered):
        part = ordered[start : start + step]
        on = dict(conn.execute(sql["list_doc_shelves"], {"ids": json.dumps(part)}).fetchall())
        found += [doc for doc in part if on.get(doc) in shelves]
        start, step = start + step, 2 * step
    return found[:limit]


def telling_terms(
    conn: sqlite3.Connection, sql: Queries, terms: list[Term], reach: Reach, spreads: Spreads
) -> list[Term]:
    """The terms worth a search, rarest first; the rarest of them however common it is."""
    docs = int(conn.execute(sql["count_docs"]).fetchone()[0])
    if docs <= FEW:
        return terms
    most = max(TOUCHED_LEAST, int(docs * TOUCHED_SHARE))
    counted = sorted(
        (spreads.count(conn, sql, _quoted(term), reach, docs), place)
        for place, term in enumerate(terms)
    )
    kept: list[Term] = []
    touched = 0
    for spread, place in counted:
        if kept and (spread > docs * COMMON_SHARE or touched + spread > most):
            break
        if spread:
            kept.append(terms[place])
            touched += spread
    return kept


def _quoted(term: Term) -> str:
    return '"' + term.text.replace('"', '""') + '"' + ("*" if term.prefix else "")
