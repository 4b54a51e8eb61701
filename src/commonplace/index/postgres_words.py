"""The words of a question in Postgres: which of them tell, and how often each stands where.

Never hands a question's text to anything but a comparison of whole words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from commonplace.core.text import query_terms
from commonplace.index.docs import prefix_end
from commonplace.index.postgres_asking import numbers
from commonplace.index.postgres_docs import term_of
from commonplace.index.score import Posting
from commonplace.index.stems import stems
from commonplace.index.words import FEW, worth

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from psycopg import Cursor

    from commonplace.index.postgres_asking import Asking
    from commonplace.index.postgres_known import Known, Span
    from commonplace.index.roll import Ids, Roll
    from commonplace.index.stems import Stem

_DRIFT = 0.05
_MOST_KNOWN = 4096


class Sought:
    """The words of one question, from the first asking to their postings.

    known: as of an earlier search; what it tells decides what is asked first, not what is answered.
    """

    def __init__(self, question: str, known: Known, span: Span) -> None:
        self._stems = stems(query_terms(question))
        self._span = span
        self._begun: _Begun | None = None
        self._counts = self._remembered(known)
        self._chosen: list[Stem] | None = None
        docs = len(known.roll)
        if docs <= FEW:
            self._chosen = self._stems
        elif len(self._counts) == len(self._stems):
            self._chosen = self._worth(docs)

    def ask(self, asking: Asking) -> None:
        """Ask for the postings where it is known which words tell, else how common each is."""
        if self._chosen is not None:
            self._begun = _Begun(asking, "list", self._chosen, self._span)
        else:
            missing = [stem for stem in self._stems if stem not in self._counts]
            self._begun = _Begun(asking, "count", missing, self._span)

    def postings(self, asking: Asking, known: Known, roll: Roll) -> dict[Stem, Posting]:
        """Where the telling words stand in a roll; one posting for each word."""
        docs = len(known.roll)
        if self._begun is None:
            self.ask(asking)
        assert self._begun is not None
        if self._chosen is None:
            self._counts |= {s: int(x or 0) for s, x in self._begun.answers().items()}
            self._remember(known)
            self._chosen = self._worth(docs)
            with asking.at_once():
                self._begun = _Begun(asking, "list", self._chosen, self._span)
        found = {stem: numbers(sent, 3) for stem, sent in self._begun.answers().items()}
        chosen = self._chosen
        if docs > FEW and len(chosen) == len(self._stems):
            self._counts |= {stem: columns.shape[1] for stem, columns in found.items()}
            self._remember(known)
            chosen = self._worth(docs)
        return {stem: _posting(found[stem], roll) for stem in chosen}

    def _worth(self, docs: int) -> list[Stem]:
        return worth(self._stems, [self._counts[stem] for stem in self._stems], docs)

    def _remembered(self, known: Known) -> dict[Stem, int]:
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

    def _remember(self, known: Known) -> None:
        if self._span.all_time:
            if len(known.spreads) >= _MOST_KNOWN:
                known.spreads.clear()
            docs = len(known.roll)
            known.spreads.update({stem: (spread, docs) for stem, spread in self._counts.items()})


class _Begun:
    """Words that were asked about, in one query for all whole ones and one for each beginning."""

    def __init__(self, asking: Asking, what: str, asked: Sequence[Stem], span: Span) -> None:
        bounds = {"low": span.low, "high": span.high}
        self._asked = asked
        self._whole = [stem for stem in asked if not stem.prefix]
        self._rows: Cursor[tuple[Any, ...]] | None = None
        if self._whole:
            terms = [term_of(stem.token) for stem in self._whole]
            self._rows = asking.ask(f"{what}_postings", terms=terms, **bounds)
        self._beginnings = {
            stem: asking.ask(f"{what}_prefix_postings", **_ends(stem), **bounds)
            for stem in asked
            if stem.prefix
        }

    def answers(self) -> Mapping[Stem, Any]:
        """What was found of each word; None for one that stands nowhere."""
        found: dict[Stem, Any] = dict.fromkeys(self._asked)
        found |= {self._whole[number - 1]: told for number, told in self._rows or ()}
        return found | {s: rows.fetchall()[0][0] for s, rows in self._beginnings.items()}


def _ends(stem: Stem) -> dict[str, str | None]:
    return {"term": stem.token, "end": prefix_end(stem.token)}


def _posting(found: Ids, roll: Roll) -> Posting:
    docs, body, dated = found
    places = roll.places_of(docs)
    # A tag is no word of anybody's, and what is out of reach is not there.
    chosen = np.flatnonzero((places >= 0) & (body + dated > 0))
    order = chosen[np.argsort(places[chosen], kind="stable")]
    return Posting(places[order], body[order].astype(np.float32), dated[order].astype(np.float32))
