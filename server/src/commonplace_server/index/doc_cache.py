"""The docs of each user that a process keeps in memory, brought up to date by a change number.

Never ahead of the transaction it is read in, and never more than so many docs of all users.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.clock import micros
from commonplace.core.text import fold_name, storable
from commonplace.index.scoring.doc_order import updated_table
from commonplace.index.scoring.doc_table import COLUMNS, doc_table_of
from commonplace.index.sqlite.docs import SECOND_BITS, Facet
from commonplace_server.index.docs import terms_of
from commonplace_server.index.packed import ALL_TIME, FIRST, LAST, IdSpan, Sent
from commonplace_server.index.transaction import Longs, numbers
from commonplace_server.postgres.text_lists import Texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from psycopg import Cursor

    from commonplace.core.values import Filter, Interval
    from commonplace.index.scoring.doc_table import DocTable, Ids, Mask
    from commonplace.index.scoring.stems import Stem
    from commonplace_server.index.transaction import OwnerTransaction

CACHED_DOCS = 2_000_000
"""Docs that a process remembers, of all users together; 48 bytes each."""

CACHED_OWNERS = 5_000

_SECOND_US = 1_000_000


class CachedDocs(Struct, frozen=True, eq=False):
    """The docs of one user as of one change.

    Args:
        name: Tells these rows from others made later in their place.
        change: The last change that they hold.
        table: The docs.
        facets: By number.
        frequencies: In how many docs a word stood, and among how many docs that was counted.
        superseding: The docs that took another's place; None where that was not asked.
    """

    name: str
    change: int
    table: DocTable
    facets: Mapping[int, Facet]
    frequencies: dict[Stem, tuple[int, int]] = field(default_factory=dict)
    superseding: Ids | None = None


NO_DOCS = CachedDocs("", 0, doc_table_of(np.empty((len(COLUMNS), 0), dtype=np.int64)), {})


class DocCache:
    """The docs of each user, those last asked about. Thread-safe.

    Without it every search reads all docs of its user: 0.2 to 0.4 s for 100,000.
    """

    def __init__(self, *, docs: int = CACHED_DOCS, owners: int = CACHED_OWNERS) -> None:
        self._docs = docs
        self._owners = owners
        self._lock = threading.Lock()
        self._cached: OrderedDict[str, CachedDocs] = OrderedDict()
        self._total = 0

    def of(self, owner: str) -> CachedDocs:
        """The docs of a user as of the last search; NO_DOCS at first."""
        with self._lock:
            cached = self._cached.get(owner, NO_DOCS)
            if cached is not NO_DOCS:
                self._cached.move_to_end(owner)
            return cached

    def keep(self, owner: str, cached: CachedDocs) -> None:
        """Remember it, and evict the users who were not asked about for the longest.

        An older one as well: after a failover the database may have gone back.
        """
        with self._lock:
            before = self._cached.get(owner)
            self._total += len(cached.table) - (0 if before is None else len(before.table))
            self._cached[owner] = cached
            self._cached.move_to_end(owner)
            while len(self._cached) > self._owners or (
                self._total > self._docs and len(self._cached) > 1
            ):
                self._total -= len(self._cached.popitem(last=False)[1].table)

    def clear(self) -> None:
        """Forget all users."""
        with self._lock:
            self._cached.clear()
            self._total = 0


def query_changes(
    tx: OwnerTransaction, cached: CachedDocs, *, model: str
) -> Cursor[tuple[Any, ...]]:
    """Ask what came since, and what there is of a model."""
    return tx.query("read_changes", seen=cached.change, model=model)


def updated_docs(
    tx: OwnerTransaction, row: tuple[Any, ...], cached: CachedDocs
) -> CachedDocs | None:
    """The cached docs after an answer to `query_changes`; None where too much came since.

    Args:
        tx: The transaction of the user.
        row: The answer.
        cached: The docs before.
    """
    name, change, pruned, rows, dropped, facets = row[:6]
    if cached.change and (cached.name != name or not pruned <= cached.change <= change):
        return None
    if cached.change == change:
        return cached
    fresh, gone = numbers(rows, len(COLUMNS)), numbers(dropped, 1)[0]
    table = doc_table_of(fresh)
    if len(cached.table):
        table = updated_table(cached.table, np.union1d(fresh[0], gone), fresh, partial(_turns, tx))
    added = {
        number: Facet(journal, scope, kind, author, tuple(headings))
        for number, journal, scope, kind, author, headings in facets or ()
    }
    return CachedDocs(name, change, table, {**cached.facets, **added}, cached.frequencies)


def _turns(tx: OwnerTransaction, ids: Sequence[int]) -> dict[int, tuple[int, str]]:
    found = tx.query("list_turns", ids=Longs(ids))
    return {number: (turn, ref) for number, turn, ref in found.fetchall()}


def span_of(interval: Interval) -> IdSpan:
    """The span of an interval, to the second. Raises: Invalid for a bound without a time zone."""
    low = FIRST if interval.start is None else micros(interval.start) // _SECOND_US << SECOND_BITS
    high = LAST if interval.end is None else -(-micros(interval.end) // _SECOND_US) << SECOND_BITS
    return IdSpan(low, high)


def docs_by_then(tx: OwnerTransaction, cached: CachedDocs, where: Filter) -> CachedDocs:
    """The docs that were written before the instant of a filter, if it has one.

    What is remembered of words is of all docs: of these nothing is.
    """
    if where.written_before is None:
        return cached
    (sent,) = tx.query("list_written_later", before=micros(where.written_before)).fetchone() or (
        None,
    )
    later = numbers(sent, 1)[0]
    table = cached.table.taken(np.flatnonzero(~np.isin(cached.table.ids, later)))
    return replace(cached, table=table, frequencies={})


class FilteredDocs(Struct, frozen=True, eq=False):
    """The docs a search may look at, their span, and whether no doc at all is left out."""

    table: DocTable
    span: IdSpan
    is_whole: bool


def filtered_docs(tx: OwnerTransaction, cached: CachedDocs, where: Filter) -> FilteredDocs:
    """What a filter means for these docs. Raises: Invalid for a bound without a time zone."""
    span = span_of(where.interval)
    table = cached.table if span.all_time else cached.table.between(*span)
    masks = [*_timed(table, where.interval), *_tagged(tx, table, where)]
    facets = [number for number, facet in cached.facets.items() if _lets_in(where, facet)]
    if len(facets) < len(cached.facets):
        masks.append(table.bears(facets))
    if masks:
        table = table.taken(np.flatnonzero(np.logical_and.reduce(masks)))
    return FilteredDocs(table, span, len(table) == len(cached.table))


def _timed(table: DocTable, interval: Interval) -> Iterator[Mask]:
    """What bounds inside a second let in: there rows lie as they came."""
    if interval.start is not None and micros(interval.start) % _SECOND_US:
        yield table.at_us >= micros(interval.start)
    if interval.end is not None and micros(interval.end) % _SECOND_US:
        yield table.at_us < micros(interval.end)


def _lets_in(where: Filter, facet: Facet) -> bool:
    return (
        _is_among(facet.journal, where.journals)
        and _is_among(facet.kind, where.kinds)
        and _is_among(facet.scope, where.scopes)
        and (not where.headings or _has_heading(facet, where.headings))
    )


def _is_among(name: str, wanted: Sequence[str]) -> bool:
    return not wanted or name in {storable(each) for each in wanted}


def _has_heading(facet: Facet, wanted: Sequence[str]) -> bool:
    held = [storable(fold_name(heading)) for heading in facet.headings]
    return any(storable(fold_name(part)) in heading for part in wanted for heading in held)


def _tagged(tx: OwnerTransaction, table: DocTable, where: Filter) -> Iterator[Mask]:
    """What the tags and the refs of a filter let in."""
    if where.tags:
        yield np.isin(table.ids, _bearing(tx, where.tags))
    for tag in where.required_tags:
        yield np.isin(table.ids, _bearing(tx, (tag,)))
    if where.excluded_tags:
        yield ~np.isin(table.ids, _bearing(tx, where.excluded_tags))
    if where.excluded_refs:
        refs = Texts(storable(ref) for ref in where.excluded_refs)
        ((sent,),) = tx.query("list_named", refs=refs).fetchall()
        yield ~np.isin(table.ids, numbers(sent, 1)[0])


def _bearing(tx: OwnerTransaction, tags: Sequence[str]) -> Ids:
    """The docs that bear any of these tags."""
    terms = terms_of(tags)
    answer = tx.query("list_postings", terms=Texts(terms), **ALL_TIME._asdict())
    docs: Ids = Sent.of(answer).listed(terms, ALL_TIME)[1]
    return docs
