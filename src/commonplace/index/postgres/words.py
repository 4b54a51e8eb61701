"""The words of a question in Postgres: which are rare enough to count, and where each stands.

Never hands a question's text to anything but a comparison of whole words.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from commonplace.core.text import query_terms
from commonplace.db.postgres.text_lists import Texts
from commonplace.index.postgres.docs import term_of
from commonplace.index.postgres.transaction import numbers
from commonplace.index.scoring.score import Posting
from commonplace.index.scoring.stems import stems
from commonplace.index.sqlite.docs import prefix_end
from commonplace.index.sqlite.words import FEW, worth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Cursor

    from commonplace.index.postgres.known import IdSpan, KnownDocs
    from commonplace.index.postgres.transaction import Asking
    from commonplace.index.scoring.doc_table import DocTable, Ids
    from commonplace.index.scoring.stems import Stem

_DRIFT = 0.05
_MOST_KNOWN = 4096


class Sought:
    """The words of one question, from what is asked first to their postings.

    known: as of an earlier search; what it says decides what is asked first, not what is answered.
    """

    def __init__(self, question: str, known: KnownDocs, span: IdSpan) -> None:
        self._stems = stems(query_terms(question))
        self._span = span
        self._counts: dict[Stem, int] = {}
        self._chosen = self._choose(known)

    @property
    def first(self) -> dict[str, Any]:
        """What `read_position` is asked of them: the postings of whole words that count."""
        return _bound([] if self._chosen is None else _whole(self._chosen), self._span)

    def postings(
        self, asking: Asking, known: KnownDocs, roll: DocTable, sent: bytes | None
    ) -> dict[Stem, Posting]:
        """Where the words that count stand in a roll; one posting for each word.

        sent: the answer to `first`.
        """
        docs = len(known.roll)
        chosen = self._chosen
        # By now others may be rare enough: much came since, or little is left.
        if chosen != self._stems and (chosen is None or chosen != self._choose(known)):
            chosen = self._counted(asking, known)
            if whole := _whole(chosen):
                sent = asking.ask("list_postings", **_bound(whole, self._span)).fetchall()[0][0]
        stands = _listed(asking, chosen, self._span, sent)
        telling = chosen
        if docs > FEW and len(chosen) == len(self._stems):
            spreads = np.bincount(stands.words, minlength=len(chosen)).tolist()
            self._counts |= dict(zip(chosen, spreads, strict=True))
            self._remember(known)
            telling = self._worth(docs)
        found = dict(zip(chosen, _postings(stands, len(chosen), roll), strict=True))
        return {stem: found[stem] for stem in telling}

    def _choose(self, known: KnownDocs) -> list[Stem] | None:
        """Those to be looked up among these docs; None where they are to be counted first."""
        docs = len(known.roll)
        self._counts = self._remembered(known)
        if docs <= FEW:
            return self._stems
        return self._worth(docs) if len(self._counts) == len(self._stems) else None

    def _counted(self, asking: Asking, known: KnownDocs) -> list[Stem]:
        """The same, once those are counted that are to be."""
        if (chosen := self._choose(known)) is not None:
            return chosen
        missing = [stem for stem in self._stems if stem not in self._counts]
        self._counts |= _counted(asking, missing, self._span)
        self._remember(known)
        return self._worth(len(known.roll))

    def _worth(self, docs: int) -> list[Stem]:
        return worth(self._stems, [self._counts[stem] for stem in self._stems], docs)

    def _remembered(self, known: KnownDocs) -> dict[Stem, int]:
        """In how many docs words stood, where that was counted and little has changed since."""
        if not self._span.all_time:
            return {}
        docs = len(known.roll)
        found = {stem: known.spreads.get(stem, (0, -1)) for stem in self._stems}
        return {
            stem: spread
            for stem, (spread, among) in found.items()
            if among >= 0 and abs(docs - among) <= among * _DRIFT
        }

    def _remember(self, known: KnownDocs) -> None:
        if self._span.all_time:
            if len(known.spreads) >= _MOST_KNOWN:
                known.spreads.clear()
            docs = len(known.roll)
            known.spreads.update({stem: (spread, docs) for stem, spread in self._counts.items()})


def _whole(asked: Sequence[Stem]) -> list[Stem]:
    return [stem for stem in asked if not stem.prefix]


def _bound(whole: Sequence[Stem], span: IdSpan) -> dict[str, Any]:
    terms = Texts([term_of(stem.token) for stem in whole])
    return {"terms": terms, "low": span.low, "high": span.high}


def _counted(asking: Asking, asked: Sequence[Stem], span: IdSpan) -> dict[Stem, int]:
    """In how many docs each word stands: one query for all whole ones, one for each beginning."""
    counts = dict.fromkeys(asked, 0)
    whole = _whole(asked)
    with asking.at_once():
        rows = asking.ask("count_postings", **_bound(whole, span)) if whole else ()
        begun = _beginnings(asking, "count_prefix_postings", asked, span)
        counts |= {whole[number - 1]: int(count) for number, count in rows}
        return counts | {stem: int(rows.fetchall()[0][0]) for stem, rows in begun.items()}


class _Stands(NamedTuple):
    """Where words stand, a row for each word and doc. words: places among those asked for."""

    words: Ids
    docs: Ids
    body: Ids
    dated: Ids


def _listed(asking: Asking, asked: Sequence[Stem], span: IdSpan, sent: bytes | None) -> _Stands:
    """Where these words stand. sent: of all whole ones, which are numbered from 1."""
    number, *rows = numbers(sent, 4)
    begun = _beginnings(asking, "list_prefix_postings", asked, span)
    if not begun:
        return _Stands(number - 1, *rows)
    places = np.array([at for at, stem in enumerate(asked) if not stem.prefix], dtype=np.int64)
    parts = [np.array([places[number - 1], *rows])]
    for at, stem in enumerate(asked):
        if stem.prefix:
            found = numbers(begun[stem].fetchall()[0][0], 3)
            parts.append(np.vstack([np.full(found.shape[1], at), found]))
    return _Stands(*np.concatenate(parts, axis=1))


def _postings(stands: _Stands, asked: int, roll: DocTable) -> list[Posting]:
    """The postings of each word in a roll: all at once, as few words and many cost alike."""
    places = roll.places_of(stands.docs)
    # A tag is not a word, and what is out of reach is not there.
    inside = np.flatnonzero((places >= 0) & (stands.body + stands.dated > 0))
    rows = inside[np.argsort(stands.words[inside] * len(roll) + places[inside], kind="stable")]
    bounds = np.searchsorted(stands.words[rows], np.arange(asked + 1)).tolist()
    places = places[rows]
    body, dated = stands.body[rows].astype(np.float32), stands.dated[rows].astype(np.float32)
    return [
        Posting(places[start:end], body[start:end], dated[start:end])
        for start, end in itertools.pairwise(bounds)
    ]


def _beginnings(
    asking: Asking, name: str, asked: Sequence[Stem], span: IdSpan
) -> dict[Stem, Cursor[tuple[Any, ...]]]:
    bounds = {"low": span.low, "high": span.high}
    return {stem: asking.ask(name, **_ends(stem), **bounds) for stem in asked if stem.prefix}


def _ends(stem: Stem) -> dict[str, str | None]:
    return {"term": stem.token, "end": prefix_end(stem.token)}
