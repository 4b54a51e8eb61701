"""The words of a question in Postgres: which are rare enough to count, and where each stands.

Never hands a question's text to anything but a comparison of whole words.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from commonplace.index.scoring.score import Posting
from commonplace.index.scoring.stems import question_stems
from commonplace.index.sqlite.docs import prefix_end
from commonplace.index.sqlite.words import FEW, select_by_frequency
from commonplace_server.index.docs import term_of
from commonplace_server.index.packed import Sent
from commonplace_server.index.transaction import numbers
from commonplace_server.postgres.text_lists import Texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Cursor

    from commonplace.index.scoring.doc_table import DocTable, Ids
    from commonplace.index.scoring.stems import Stem
    from commonplace_server.index.doc_cache import CachedDocs
    from commonplace_server.index.packed import IdSpan
    from commonplace_server.index.transaction import OwnerTransaction

_DRIFT = 0.05
_MOST_KNOWN = 4096


class QueryWords:
    """The words of one question, from the first query to their postings.

    Args:
        question: Its text.
        cached: The docs as of an earlier search: they decide what is asked first, not the answer.
        span: The ids that the filter's time admits.
        is_past: Whether only docs of a past day count: every word is looked up then, and counted
            among those.
    """

    def __init__(
        self, question: str, cached: CachedDocs, span: IdSpan, *, is_past: bool = False
    ) -> None:
        self._stems = question_stems(question)
        self._span = span
        self._is_past = is_past
        self._counts: dict[Stem, int] = {}
        self._chosen = self._choose(cached)

    @property
    def first(self) -> dict[str, Any]:
        """What `read_position` is asked of them: the postings of whole words that count."""
        return _bound([] if self._chosen is None else _whole(self._chosen), self._span)

    def postings(
        self, tx: OwnerTransaction, cached: CachedDocs, table: DocTable, sent: Sent
    ) -> dict[Stem, Posting]:
        """Where the words that count stand in a doc table; one posting for each word.

        Args:
            tx: The transaction of the user.
            cached: The docs as of this transaction.
            table: The docs that the filter admits.
            sent: The answer to `first`.
        """
        docs = len(cached.table)
        chosen = self._chosen
        # By now others may be rare enough: much came since, or little is left.
        if chosen != self._stems and (chosen is None or chosen != self._choose(cached)):
            chosen = self._counted(tx, cached)
            if whole := _whole(chosen):
                sent = Sent.of(tx.query("list_postings", **_bound(whole, self._span)))
        occurrences = _listed(tx, chosen, self._span, sent)
        select_stems = chosen
        if docs > FEW and len(chosen) == len(self._stems):
            words = occurrences.words
            if self._is_past:
                words = words[cached.table.places_of(occurrences.docs) >= 0]
            frequencies = np.bincount(words, minlength=len(chosen)).tolist()
            self._counts |= dict(zip(chosen, frequencies, strict=True))
            self._cache_counts(cached)
            select_stems = self._select(docs)
        found = dict(zip(chosen, _postings(occurrences, len(chosen), table), strict=True))
        return {stem: found[stem] for stem in select_stems}

    def _choose(self, cached: CachedDocs) -> list[Stem] | None:
        """Those to be looked up among these docs; None where they are to be counted first."""
        docs = len(cached.table)
        self._counts = self._cached_counts(cached)
        if docs <= FEW:
            return self._stems
        return self._select(docs) if len(self._counts) == len(self._stems) else None

    def _counted(self, tx: OwnerTransaction, cached: CachedDocs) -> list[Stem]:
        """The same, once those are counted that are to be."""
        if (chosen := self._choose(cached)) is not None:
            return chosen
        missing = [stem for stem in self._stems if stem not in self._counts]
        self._counts |= _counted(tx, missing, self._span)
        self._cache_counts(cached)
        return self._select(len(cached.table))

    def _select(self, docs: int) -> list[Stem]:
        return select_by_frequency(self._stems, [self._counts[stem] for stem in self._stems], docs)

    def _cached_counts(self, cached: CachedDocs) -> dict[Stem, int]:
        """In how many docs words stood, where that was counted and little has changed since."""
        if not self._span.all_time:
            return {}
        docs = len(cached.table)
        found = {stem: cached.frequencies.get(stem, (0, -1)) for stem in self._stems}
        return {
            stem: frequency
            for stem, (frequency, among) in found.items()
            if among >= 0 and abs(docs - among) <= among * _DRIFT
        }

    def _cache_counts(self, cached: CachedDocs) -> None:
        if self._span.all_time:
            if len(cached.frequencies) >= _MOST_KNOWN:
                cached.frequencies.clear()
            docs = len(cached.table)
            cached.frequencies.update(
                {stem: (frequency, docs) for stem, frequency in self._counts.items()}
            )


def _whole(asked: Sequence[Stem]) -> list[Stem]:
    return [stem for stem in asked if not stem.prefix]


def _terms(whole: Sequence[Stem]) -> list[str]:
    return [term_of(stem.token) for stem in whole]


def _bound(whole: Sequence[Stem], span: IdSpan) -> dict[str, Any]:
    return {"terms": Texts(_terms(whole)), "low": span.low, "high": span.high}


def _counted(tx: OwnerTransaction, asked: Sequence[Stem], span: IdSpan) -> dict[Stem, int]:
    """In how many docs each word stands: one query for all whole ones, one for each beginning."""
    counts = dict.fromkeys(asked, 0)
    whole = _whole(asked)
    with tx.pipelined():
        rows = tx.query("count_postings", **_bound(whole, span)) if whole else None
        prefixed = _prefixed(tx, asked, span)
        if rows is not None:
            sent = Sent.of(rows)
            in_rows = np.zeros(len(whole) + 1, dtype=np.int64)
            number, count = numbers(sent.rows, 2)
            in_rows[number] = count
            packed = sent.packed(_terms(whole), span)[0]
            total = in_rows + np.bincount(packed, minlength=len(in_rows))
            counts |= dict(zip(whole, total[1:].tolist(), strict=True))
        for stem, found in prefixed.items():
            counts[stem] = len(np.unique(_beginning_so(found, stem, span)[1]))
    return counts


class _Occurrences(NamedTuple):
    """Where words stand, a row for each word and doc.

    Args:
        words: Places among the words that were asked for.
        docs: Ids.
        body: How often the word stands in the text.
        dated: How often in the date.
    """

    words: Ids
    docs: Ids
    body: Ids
    dated: Ids


def _listed(tx: OwnerTransaction, asked: Sequence[Stem], span: IdSpan, sent: Sent) -> _Occurrences:
    """Where these words stand.

    Args:
        tx: The transaction of the user.
        asked: The words.
        span: The ids that may be looked at.
        sent: The answer for all whole words, which are numbered from 1.
    """
    number, *rows = sent.listed(_terms(_whole(asked)), span)
    prefixed = _prefixed(tx, asked, span)
    if not prefixed:
        return _Occurrences(number - 1, *rows)
    places = np.array([at for at, stem in enumerate(asked) if not stem.prefix], dtype=np.int64)
    parts = [np.array([places[number - 1], *rows])]
    for at, stem in enumerate(asked):
        if stem.prefix:
            _, *found = _beginning_so(prefixed[stem], stem, span)
            parts.append(np.array([np.full(len(found[0]), at), *found]))
    return _Occurrences(*np.concatenate(parts, axis=1))


def _beginning_so(answer: Cursor[tuple[Any, ...]], stem: Stem, span: IdSpan) -> Ids:
    """Where any word stands that begins so: (4, n), a row for each doc."""
    found = Sent.of(answer).listed([stem.token], span, end=prefix_end(stem.token))
    docs, places = np.unique(found[1], return_inverse=True)
    together = np.zeros((4, len(docs)), dtype=np.int64)
    together[1] = docs
    np.add.at(together[2], places, found[2])
    np.add.at(together[3], places, found[3])
    return together


def _postings(occurrences: _Occurrences, asked: int, table: DocTable) -> list[Posting]:
    """The postings of each word in a table: all at once, as few words and many cost alike."""
    places = table.places_of(occurrences.docs)
    # A tag is not a word, and what is out of reach is not there.
    inside = np.flatnonzero((places >= 0) & (occurrences.body + occurrences.dated > 0))
    rows = inside[(occurrences.words[inside] * len(table) + places[inside]).argsort(kind="stable")]
    bounds = occurrences.words[rows].searchsorted(np.arange(asked + 1)).tolist()
    places = places[rows]
    body, dated = (
        occurrences.body[rows].astype(np.float32),
        occurrences.dated[rows].astype(np.float32),
    )
    return [
        Posting(places[start:end], body[start:end], dated[start:end])
        for start, end in itertools.pairwise(bounds)
    ]


def _prefixed(
    tx: OwnerTransaction, asked: Sequence[Stem], span: IdSpan
) -> dict[Stem, Cursor[tuple[Any, ...]]]:
    bounds = {"low": span.low, "high": span.high}
    return {
        stem: tx.query(
            "list_prefix_postings", term=stem.token, end=prefix_end(stem.token), **bounds
        )
        for stem in asked
        if stem.prefix
    }
