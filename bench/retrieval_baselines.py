"""What anybody would build first over the same entries: FTS5's BM25, the cosine, their RRF.

Never uses the product's index or its judgement; the vectors come from the same encoder.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from bench.retrieval_figures import BUDGETS
from bench.retrieval_library import LIMIT, judged_refs, shown_share
from commonplace.core.text import TOKEN_BYTES, query_terms
from commonplace.search.policy import SHOWN_AROUND

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bench.retrieval_data import Archive
    from bench.retrieval_figures import Outcome
    from commonplace.core.ports import Encoder

RRF_K = 60
RRF_DEPTH = 100


def ask_baselines(
    archives: Sequence[Archive], encoder: Encoder | None
) -> Iterator[tuple[str, list[Outcome]]]:
    """(name, outcomes) of each baseline, over every question of every archive."""
    ranked: dict[str, list[Outcome]] = {}
    for archive in archives:
        refs = [doc.ref for doc in archive.docs]
        texts = {doc.ref: doc.text for doc in archive.docs}
        cosines = None if encoder is None else _Cosines(archive, encoder)
        with closing(_words(archive)) as conn:
            for one in archive.asked:
                found = {"FTS5": _by_words(conn, one.text)}
                if cosines is not None:
                    found["cosine"] = cosines.nearest(one.text)
                    found["RRF"] = _fused(found.values())
                gold = {ref: texts[ref] for ref in one.gold}
                for name, rows in found.items():
                    hits = [(refs[row],) for row in rows[:LIMIT]]
                    best = {refs[row]: texts[refs[row]] for row in rows}
                    shown = [shown_share(gold, _first(best, tokens)) for tokens in BUDGETS]
                    ranked.setdefault(name, []).append(judged_refs(one, hits, archive, shown))
    yield from ranked.items()


def _first(texts: Mapping[str, str], tokens: int) -> Mapping[str, str]:
    """Whole texts by ref, in their order, as many as fit into so many tokens; the last one cut.

    Each has its ref and its time beside it, as in an answer, by which it can be opened and judged.
    """
    left, shown = tokens * TOKEN_BYTES, {}
    for ref, text in texts.items():
        content = text.encode()
        left = max(left - SHOWN_AROUND, 0)
        shown[ref] = content[:left].decode(errors="ignore")
        if (left := left - len(content)) <= 0:
            break
    return shown


def _words(archive: Archive) -> sqlite3.Connection:
    conn = sqlite3.connect(":memory:")
    conn.execute("CREATE VIRTUAL TABLE words USING fts5 (body, tokenize = 'porter unicode61')")
    conn.executemany(
        "INSERT INTO words (rowid, body) VALUES (?, ?)",
        [(row, doc.said) for row, doc in enumerate(archive.docs)],
    )
    return conn


def _by_words(conn: sqlite3.Connection, question: str) -> list[int]:
    match = " OR ".join(f'"{term.text}"' for term in query_terms(question))
    sql = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words), rowid DESC LIMIT ?"
    return [row[0] for row in conn.execute(sql, (match, RRF_DEPTH))] if match else []


class _Cosines:
    """The vectors of an archive's entries, a row a chunk."""

    def __init__(self, archive: Archive, encoder: Encoder) -> None:
        self._encoder = encoder
        chunks = [
            (row, doc.said[start:end])
            for row, doc in enumerate(archive.docs)
            for start, end in encoder.split(doc.said)
        ]
        self._rows = np.array([row for row, _ in chunks])
        self._vectors = encoder.encode_passages([text for _, text in chunks])

    def nearest(self, question: str) -> list[int]:
        """The entries with the best chunks, best first."""
        cosines = self._vectors @ self._encoder.encode_query(question)
        rows = self._rows[np.argsort(-cosines, kind="stable")]
        return list(dict.fromkeys(rows.tolist()))[:RRF_DEPTH]


def _fused(rankings: Iterable[list[int]]) -> list[int]:
    """Reciprocal rank fusion: the sum of 1 / (60 + rank)."""
    scores: dict[int, float] = {}
    for rows in rankings:
        for rank, row in enumerate(rows, start=1):
            scores[row] = scores.get(row, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores, key=lambda row: (-scores[row], -row))
