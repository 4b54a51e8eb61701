"""The words of a question in Postgres: which of them tell, and how often each stands where.

Never hands a question's text to anything but a comparison of whole words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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

    from commonplace.index.postgres_asking import Asking
    from commonplace.index.postgres_known import Known, Reach
    from commonplace.index.roll import Ids, Roll
    from commonplace.index.stems import Stem

_DRIFT = 0.05
_MOST_KNOWN = 4096


def read_postings(asking: Asking, question: str, known: Known, reach: Reach) -> list[Posting]:
    """Where the telling words of a question stand in reach, and how often; one for each word."""
    asked = stems(query_terms(question))
    docs = len(known.roll)
    if docs > FEW:
        counts = _counted(asking, asked, known, reach)
        asked = worth(asked, [counts[stem] for stem in asked], docs)
    bounds = {"low": reach.low, "high": reach.high}
    plain = [stem for stem in asked if not stem.prefix]
    found: dict[Stem, Ids] = {}
    with asking.at_once():
        rows = asking.ask("list_postings", terms=[term_of(x.token) for x in plain], **bounds)
        begun = {
            stem: asking.ask("list_prefix_postings", **_span(stem), **bounds)
            for stem in asked
            if stem.prefix
        }
        found |= {plain[number - 1]: numbers(sent, 3) for number, sent in rows}
        found |= {stem: numbers(sent, 3) for stem, rows in begun.items() for (sent,) in rows}
    nothing = numbers(None, 3)
    return [_posting(found.get(stem, nothing), reach.roll) for stem in asked]


def _posting(found: Ids, roll: Roll) -> Posting:
    docs, body, dated = found
    places = roll.places_of(docs)
    # A tag is no word of anybody's, and what is out of reach is not there.
    chosen = np.flatnonzero((places >= 0) & (body + dated > 0))
    order = chosen[np.argsort(places[chosen], kind="stable")]
    return Posting(places[order], body[order].astype(np.float32), dated[order].astype(np.float32))


def _counted(
    asking: Asking, asked: Sequence[Stem], known: Known, reach: Reach
) -> Mapping[Stem, int]:
    """In how many docs of the span each word stands; remembered while little changes."""
    docs = len(known.roll)
    counts: dict[Stem, int] = {}
    if reach.all_time:
        for stem in asked:
            spread, among = known.spreads.get(stem, (0, -1))
            if among >= 0 and abs(docs - among) <= among * _DRIFT:
                counts[stem] = spread
    wanted = [stem for stem in asked if stem not in counts]
    if not wanted:
        return counts
    bounds = {"low": reach.low, "high": reach.high}
    plain = [stem for stem in wanted if not stem.prefix]
    with asking.at_once():
        rows = asking.ask("count_postings", terms=[term_of(x.token) for x in plain], **bounds)
        begun = {
            stem: asking.ask("count_prefix_postings", **_span(stem), **bounds)
            for stem in wanted
            if stem.prefix
        }
        counts |= dict.fromkeys(wanted, 0)
        counts |= {plain[number - 1]: count for number, count in rows}
        counts |= {stem: count for stem, rows in begun.items() for (count,) in rows}
    if reach.all_time:
        if len(known.spreads) >= _MOST_KNOWN:
            known.spreads.clear()
        known.spreads.update({stem: (counts[stem], docs) for stem in wanted})
    return counts


def _span(stem: Stem) -> dict[str, str | None]:
    return {"term": stem.token, "end": prefix_end(stem.token)}
