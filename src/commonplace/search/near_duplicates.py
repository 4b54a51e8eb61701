"""What of a ranking is shown: like hits folded into one, each journal given its place.

Never scores and never reorders: hits come out in the order they were ranked in.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from msgspec import Struct, field

from commonplace.search import policy as numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from commonplace.core.values import Candidates, Doc
    from commonplace.search.policy import Policy
    from commonplace.search.rank import Ranking

Above: TypeAlias = "Callable[[Sequence[str]], Mapping[str, frozenset[str]]]"

# Of a date or a version the order of its parts counts. No character is read twice.
_WORD = re.compile(r"[^\W\d]++(?:\d(?:[.,:/-]?\w)*+)?|\d(?:[.,:/-]?\w)*+")
# Mean characters of a word, with what stands behind it.
_WORD_LENGTH = 6


class Shown(Struct):
    """A doc to be shown.

    Args:
        row: The row among the candidates of the best of its like, by which it is placed.
        own_row: Its own row.
        bag: Its words.
        related: Refs of the summaries that it went into, near and far, and of what it sums up.
        also: Refs of its near-duplicates.
    """

    doc: Doc
    row: int
    bag: frozenset[str]
    own_row: int
    related: frozenset[str] = frozenset()
    also: list[str] = field(default_factory=list)


def without_duplicates(
    found: Candidates,
    ranking: Ranking,
    *,
    limit: int,
    policy: Policy,
    above: Above | None = None,
    room: int = 0,
) -> list[Shown]:
    """The best hits, of which no two say the same; about as many docs are read as that needs.

    A near-duplicate leaves its ref with the best of its like, and so do a summary and what it was
    made from. A journal whose best hit comes near the best of all gets a place.

    above: Gives the summaries that each ref went into.
    room: Characters that the hits may fill before the limit is reached; 0 for any number.
    """
    kept: list[Shown] = []
    passed: list[Shown] = []
    kinds: Counter[str] = Counter()
    judged: set[int] = set()
    least = numbers.RECALL_LEAST if room else limit
    aside = min(limit, least)
    about = _about(found, ranking, limit=limit, least=least, room=room)
    about += aside if policy.diverse else 1  # what is looked at when enough are kept
    filled = 0
    # An eighth and two more, since some say the same.
    for one in _read(found, ranking, first=about + about // 8 + 2, above=above):
        if (same := _same(one, kept, policy)) is not None:
            filled -= _size_of(same.doc)
            same.also.append(_fold(one, same, policy))
            filled += _size_of(same.doc)
            judged.add(one.row)
        elif policy.per_kind and kinds[one.doc.kind] >= policy.per_kind:
            continue
        elif len(kept) < limit and (len(kept) < least or filled < room):
            kept.append(one)
            filled += _size_of(one.doc)
            kinds[one.doc.kind] += 1
        elif policy.diverse and len(passed) < aside:
            passed.append(one)
        else:
            break
    if not policy.diverse:
        return kept
    judged.update([one.row for one in (*kept, *passed)])
    written = _without_lower(found, ranking, policy, aside)
    written = [row for row in written if row not in judged]
    others = ranking._replace(rows=np.array(written, dtype=ranking.rows.dtype))
    passed += [
        one
        for one in _read(found, others, first=aside, above=above)
        if _same(one, kept, policy) is None
    ]
    return _diverse(kept, passed, ranking, policy)


def _about(found: Candidates, ranking: Ranking, *, limit: int, least: int, room: int) -> int:
    """How many hits are likely to be shown, by how long they are."""
    if not room or least >= limit:
        return max(limit, 1)
    best = found.lengths[ranking.rows[:limit]] * _WORD_LENGTH
    filled = np.cumsum(np.minimum(best, numbers.SHOWN_LENGTH) + numbers.SHOWN_AROUND)
    return max(least, int(np.searchsorted(filled, room)) + 1)


def _fold(one: Shown, same: Shown, policy: Policy) -> str:
    """Of two that say the same the ref that is named beside: what was written stands for both."""
    names = dict(policy.lower_kinds)
    if same.doc.kind in names and one.doc.kind not in names:
        ref = same.doc.ref
        same.doc, same.own_row = one.doc, one.own_row
        same.related |= one.related
        return ref
    return one.doc.ref


def _size_of(doc: Doc) -> int:
    """Characters of an answer that a hit fills, about."""
    return min(len(doc.text), numbers.SHOWN_LENGTH) + numbers.SHOWN_AROUND


def _without_lower(
    found: Candidates, ranking: Ranking, policy: Policy, limit: int
) -> Sequence[int]:
    """The rows of the best of what no kind with a hundred times as much pushes back; may be none.

    Of those hundreds may rank before it.
    """
    names = dict(policy.lower_kinds)
    lower = [place for place, name in enumerate(found.kinds) if name in names]
    if not lower:
        return ()
    written = ~np.isin(found.kind[ranking.rows], lower)
    return [int(row) for row in ranking.rows[written][:limit]]


def _read(
    found: Candidates, ranking: Ranking, *, first: int, above: Above | None
) -> Iterator[Shown]:
    """The docs in their order: so many are read at first, then each time as many as all before."""
    start, end = 0, max(first, 1)
    while start < len(ranking.rows):
        docs = found.docs_at(ranking.rows[start:end].tolist())
        went_into = above([x.ref for x in docs.values()]) if above else {}
        for row, doc in docs.items():
            bag = frozenset(_WORD.findall(doc.text.casefold()))
            related = went_into.get(doc.ref, frozenset()).union(doc.covers)
            yield Shown(doc, row, bag, row, related)
        start, end = end, 2 * end


def _same(one: Shown, kept: list[Shown], policy: Policy) -> Shown | None:
    ref, related, bag = one.doc.ref, one.related, one.bag
    share, size = policy.duplicate, len(bag)
    least = share * size
    for other in kept:
        if ref in other.related or other.doc.ref in related:
            return other
        # Entries without a word (emoji alone) are never taken for each other.
        others = len(other.bag)
        if size and least <= others and share * others <= size:
            both = len(bag & other.bag)
            if both / (size + others - both) >= share:
                return other
    return None


def _diverse(
    kept: list[Shown], passed: list[Shown], ranking: Ranking, policy: Policy
) -> list[Shown]:
    """With the best of each journal that has none among the kept, for the last of the others."""
    if not kept:
        return kept
    least = policy.diverse * ranking.score[kept[0].row]
    if kept[0].doc.kind in dict(policy.lower_kinds):
        least *= numbers.PLACE_BESIDE_TURNS
    journals = [one.doc.journal for one in kept]
    for one in passed:
        if one.doc.journal in journals or ranking.score[one.row] < least:
            continue
        crowded = next((x for x in reversed(journals) if journals.count(x) > 1), None)
        if crowded is None:
            break
        place = len(journals) - 1 - journals[::-1].index(crowded)
        del kept[place], journals[place]
        kept.append(one)
        journals.append(one.doc.journal)
    return kept
