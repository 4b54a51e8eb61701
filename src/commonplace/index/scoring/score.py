"""What docs are worth by words and by meaning, with the context their neighbours lend. Pure.

Never reads a database: a doc table, postings and cosines come in, columns of figures go out.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from msgspec import Struct

from commonplace.core.values import Candidates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from commonplace.core.values import Asked, Doc, Weighing
    from commonplace.index.scoring.doc_table import DocTable, Figures, Ids, Lending, Mask
    from commonplace.index.scoring.stems import Stem

# What two products over the same numbers may differ by, laid out differently.
_TIE_DECIMALS = 6

# Of a part that has places of its own, such as the time that a question leans to, so many of the
# newest docs are compared by meaning.
_INSIDE_MOST = 5_000


class Posting(NamedTuple):
    """Where one word stands.

    Args:
        places: Of the docs in a doc table, in order.
        body: How often it stands in the text of each.
        dated: How often in the date of each.
    """

    places: Ids
    body: Figures
    dated: Figures


def posting_of(found: Ids, table: DocTable) -> Posting:
    """The posting of one word in the docs of a table.

    found: A number for each time the word stands: its doc's id times two, plus 1 in its date.
    """
    if (found[1:] < found[:-1]).any():
        found = np.sort(found)
    docs, dated = found >> 1, found & 1
    # A word's docs come one after the other: each is looked up once.
    first = np.flatnonzero(np.diff(docs, prepend=docs[:1] - 1))
    places = table.places_of(docs[first])
    counts = np.diff(first, append=len(docs))
    in_date = np.add.reduceat(dated, first) if len(first) else counts
    order = np.argsort(places, kind="stable")
    order = order[np.searchsorted(places[order], 0) :]
    body = (counts - in_date)[order].astype(np.float32)
    return Posting(places[order], body, in_date[order].astype(np.float32))


class Nearness(Protocol):
    """How near docs are to a query, however that is found out."""

    def of(self, ids: Ids) -> Figures:
        """The best chunk of each doc, NaN for one that has none."""
        ...

    def nearest(self, limit: int) -> Ids:
        """The ids of the docs with the best chunks."""
        ...


class Cosines(Struct, frozen=True, eq=False):
    """Cosines of chunks with a query.

    Args:
        docs: (n,) ids in order.
        figures: (n,) cosines.
    """

    docs: Ids
    figures: Figures

    def of(self, ids: Ids) -> Figures:
        """The best chunk of each doc, NaN for one that has none."""
        first = self.docs.searchsorted(ids, side="left")
        counts = self.docs.searchsorted(ids, side="right") - first
        best = np.full(len(ids), np.nan, dtype=np.float32)
        for chunk in range(int(counts.max(initial=0))):
            has = np.flatnonzero(counts > chunk)
            best[has] = np.fmax(best[has], self.figures[first[has] + chunk])
        return best

    def nearest(self, limit: int) -> Ids:
        """The ids of the docs with the best chunks."""
        wanted = limit
        while wanted > 0 and len(self.docs):
            chosen = self.docs[top(self.figures, wanted)]
            # In order: the chunks of one doc stand side by side, and nothing need be sorted.
            distinct = np.concatenate([chosen[:1], chosen[1:][chosen[1:] != chosen[:-1]]])
            if len(distinct) >= limit or wanted >= len(self.docs):
                return distinct
            wanted *= 4  # many chunks of few docs: look further down
        return np.empty(0, dtype=np.int64)


def top(figures: Figures, limit: int) -> Ids:
    """Places of the highest figures, in order; of equal ones the last."""
    if limit >= len(figures):
        return np.arange(len(figures))
    if limit <= 0:
        return np.empty(0, dtype=np.int64)
    rounded = figures.round(_TIE_DECIMALS)
    least = np.partition(rounded, len(figures) - limit)[len(figures) - limit]
    better = np.flatnonzero(rounded > least)
    equal = np.flatnonzero(rounded == least)
    return np.sort(np.concatenate([better, equal[len(better) - limit :]]))


NO_COSINES = Cosines(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))


class Measured(Struct, frozen=True, kw_only=True, eq=False):
    """What an index knows of the docs that a search may look at, before any of them is weighed.

    Args:
        postings: Of each word that counts; their places are the table's.
    """

    table: DocTable
    postings: Mapping[Stem, Posting]
    near: Nearness
    authors: Mapping[int, str]
    kinds: Mapping[int, str]
    scopes: Mapping[int, str]
    read: Callable[[Sequence[int]], Mapping[int, Doc]]


def candidates_of(measured: Measured, asked: Asked) -> Candidates:
    """The best docs by words and by meaning and those around them, with all their figures."""
    weighing = asked.weighing
    table, cosines = measured.table, measured.near
    words = _Words(table, list(measured.postings.values()), weighing)
    places = _best_places(measured, words, asked)
    lending = table.lending(places, weighing)
    figures, matched, covered = words.figures(places, lending)
    similarity, nearness = _meaning(table, cosines, places, lending)
    of_docs = table.facets[places]
    facets = sorted({*of_docs.tolist()})
    of_places = np.array(facets, dtype=np.int64).searchsorted(of_docs)
    author, names = _named(facets, of_places, measured.authors)
    kind, of_kinds = _named(facets, of_places, measured.kinds)
    scope, of_scopes = _named(facets, of_places, measured.scopes)
    return Candidates(
        keys=table.ids[places],
        words=figures,
        matched=matched,
        covered=covered,
        similarity=similarity,
        nearness=nearness,
        at_us=table.at_us[places],
        timed=table.timed[places],
        lengths=table.lengths[places],
        author=author,
        authors=names,
        kind=kind,
        kinds=of_kinds,
        scope=scope,
        scopes=of_scopes,
        read=measured.read,
    )


def _best_places(measured: Measured, words: _Words, asked: Asked) -> Ids:
    """The places of the best docs by words and by meaning, and of those around them."""
    table, cosines = measured.table, measured.near
    if asked.newest:
        return np.arange(max(len(table) - asked.limit, 0), len(table))
    near = table.places_of(cosines.nearest(asked.limit))
    near = near[near >= 0]
    if len(near) == len(table):  # of a few docs each is a candidate
        return np.arange(len(table))
    best = [words.best(asked.limit), near]
    parts = [] if asked.preferred_time is None else [table.places_between(asked.preferred_time)]
    for inside in [*parts, *_without(asked.lower_kinds, measured)]:
        best.append(words.best(asked.limit, among=inside))
        newest = inside[-_INSIDE_MOST:]
        best.append(_nearest_of(newest, table, cosines, asked.limit))
    return table.around(np.unique(np.concatenate(best)), asked.weighing.around)


def _without(kinds: Sequence[str], measured: Measured) -> Iterator[Ids]:
    """The places of the docs of no such kind, where there are docs of both."""
    facets = [facet for facet, kind in measured.kinds.items() if kind in kinds]
    if facets:
        lower = measured.table.bears(facets)
        if lower.any() and not lower.all():
            yield np.flatnonzero(~lower)


def _nearest_of(places: Ids, table: DocTable, cosines: Nearness, limit: int) -> Ids:
    """Of some places those with the best chunks."""
    figures = cosines.of(table.ids[places])
    has = np.flatnonzero(~np.isnan(figures))
    return places[has[top(figures[has], limit)]]


def _named(
    facets: Sequence[int], of_places: Ids, names: Mapping[int, str]
) -> tuple[Ids, tuple[str, ...]]:
    """What the facet of each place is called.

    Args:
        facets: Those there are, sorted.
        of_places: (n,) where that of each place stands among them.
        names: Of facets; one without a name is missing.

    Returns:
        (n,) places in the names there are, -1 for none; the names.
    """
    on = [names.get(facet, "") for facet in facets]
    there = sorted({*on} - {""})
    place = np.array([there.index(name) if name else -1 for name in on], dtype=np.int64)
    return place[of_places], tuple(there)


def _meaning(
    table: DocTable, cosines: Nearness, places: Ids, lending: Lending
) -> tuple[Figures, Figures]:
    """The cosines of some places, plain and with what neighbours lend."""
    if cosines is NO_COSINES:
        nothing = np.full(len(places), np.nan, dtype=np.float32)
        return nothing, nothing
    if not lending.weights.size:
        alone = cosines.of(table.ids[places])
        return alone, alone
    lends = lending.weights > 0
    # Marked in a column as long as the table: sorting out thousands of places takes twice as long.
    wanted = np.zeros(len(table), dtype=np.bool_)
    wanted[places] = True
    wanted[lending.places[lends]] = True
    asked = np.flatnonzero(wanted)
    spots = np.empty(len(table), dtype=np.int64)
    spots[asked] = np.arange(len(asked))
    known = cosines.of(table.ids[asked])
    plain = known[spots[places]]
    lent = np.zeros_like(lending.weights)
    lent[lends] = known[spots[lending.places[lends]]]
    weights = np.where(lends & ~np.isnan(lent), lending.weights, 0.0)
    total = plain + (weights * np.nan_to_num(lent)).sum(axis=1)
    return plain, (total / (1.0 + weights.sum(axis=1))).astype(np.float32)


class _Words:
    """The words of one question over one doc table, weighed by BM25.

    Turns of a conversation and docs that stand alone are weighed each among their own: what is rare
    in the one is common in the other. A word's weight is its share of the question's idf there, so
    that both come out on one scale.
    """

    def __init__(self, table: DocTable, postings: Sequence[Posting], weighing: Weighing) -> None:
        self._docs = len(table)
        self._postings = postings
        self._weighing = weighing
        self._table = table
        self._is_turn = table.is_turn
        self._spread = np.array(
            [np.bincount(table.is_turn[each.places], minlength=2) for each in postings],
            dtype=np.float64,
        ).reshape(-1, 2)
        idf = np.log1p((table.populations - self._spread + 0.5) / (self._spread + 0.5))
        whole = idf.sum(axis=0) if len(idf) else np.ones(2)
        self._shares = (idf / whole).astype(np.float32)
        # Short questions are partly met by chance, and more so the more docs there are.
        rarity = np.log(np.maximum(table.populations / weighing.missing_doc_frequency, 1.0))
        self._missing = (weighing.missing * rarity / whole).astype(np.float32)
        bound = np.maximum(weighing.common_least, weighing.common * table.populations)
        self._is_lent = self._spread < bound

    @cached_property
    def _lengths(self) -> Figures:
        return self._table.relative_lengths(self._weighing)

    def best(self, limit: int, *, among: Ids | None = None) -> Ids:
        """The places with the highest figures without context, of all or some; perhaps twice."""
        if not self._postings:
            return np.empty(0, dtype=np.int64)
        if self._docs <= limit:
            return np.concatenate([each.places for each in self._postings])
        total = self._totals
        found = np.flatnonzero(total) if among is None else among[total[among] > 0]
        return found[top(total[found], limit)]

    @cached_property
    def _totals(self) -> Figures:
        total = np.zeros(self._docs, dtype=np.float32)
        for shares, each in zip(self._shares, self._postings, strict=True):
            count = each.body + each.dated
            weights = shares[self._is_turn[each.places]]
            total[each.places] += self._weight(weights, count, self._norms(each.places))
        return total

    def figures(self, places: Ids, lending: Lending) -> tuple[Figures, Mask, Figures]:
        """BM25 with context; whether a word stands in the text itself; how much of all is there."""
        total = np.zeros(len(places), dtype=np.float32)
        matched = np.zeros(len(places), dtype=np.bool_)
        covered = np.zeros(len(places), dtype=np.float32)
        if not self._postings:
            return total, matched, covered
        norms = self._norms(places)
        counts = np.zeros(self._docs, dtype=np.float32)
        is_turn = self._is_turn[places]
        for shares, is_lent, each in zip(self._shares, self._is_lent, self._postings, strict=True):
            counts[each.places] = each.body
            own = counts[places]
            here = own > 0
            count = own
            if is_lent[1] and lending.weights.size:  # docs that stand alone lend nothing
                count = own + (lending.weights * counts[lending.places]).sum(axis=1)
            counts[each.places] = each.dated
            dated = counts[places]
            count = count + dated
            counts[each.places] = 0
            weights = shares[is_turn]
            total += self._weight(weights, count, norms)
            matched |= here
            covered += np.where(here | (dated > 0), weights, 0)
        return total, matched, covered / (1 + self._missing[is_turn] * (1 - covered).clip(min=0))

    def _norms(self, places: Ids) -> Figures:
        """What makes a word count for less the longer the doc is that it stands in."""
        weighing = self._weighing
        b: Figures = np.array([weighing.b, weighing.b_turn], np.float32)[self._is_turn[places]]
        norms: Figures = (weighing.k1 * (1 - b + b * self._lengths[places])).astype(np.float32)
        return norms

    def _weight(self, shares: Figures, count: Figures, norms: Figures) -> Figures:
        weight: Figures = shares * count * (self._weighing.k1 + 1) / (count + norms)
        return weight
