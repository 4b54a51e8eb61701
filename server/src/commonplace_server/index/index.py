"""The index in Postgres: rows of many users, each guarded; words as rows, meaning by pgvector.

Never holds what cannot be made again from the journals, and never searches without an owner.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.clock import micros
from commonplace.core.errors import Invalid, Unavailable
from commonplace.core.phrase import Phrase
from commonplace.core.refs import short_number, short_ref
from commonplace.core.text import storable
from commonplace.core.values import (
    Candidates,
    Counts,
    Doc,
    DocCount,
    Drop,
    KnownSources,
    Unencoded,
    said,
    superseding_tag,
)
from commonplace.index.scoring.links import links_on_the_way
from commonplace.index.scoring.score import NO_COSINES, Measured, candidates_of
from commonplace.index.scoring.vectors import checked_query
from commonplace.index.sqlite.docs import Facet, doc_of, instant, prefix_end
from commonplace_server.index.doc_cache import (
    NO_DOCS,
    CachedDocs,
    DocCache,
    docs_by_then,
    filtered_docs,
    query_changes,
    span_of,
    updated_docs,
)
from commonplace_server.index.docs import apply_changes, ask_changes, terms_of
from commonplace_server.index.meaning import Vectors, nearness
from commonplace_server.index.nearest import INDEXED_FROM, index_name
from commonplace_server.index.packed import ALL_TIME, FIRST, Sent
from commonplace_server.index.packing import SIZES, PackSizes, pack_some
from commonplace_server.index.transaction import Longs, OwnerTransaction
from commonplace_server.index.vector_cache import CACHED_CHUNKS, VectorCache, read_vectors
from commonplace_server.index.vectors import ask_vectors, put_vectors
from commonplace_server.index.words import QueryWords
from commonplace_server.postgres.text_lists import Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from psycopg import Cursor

    from commonplace.core.values import AreCurrent, Asked, Change, Encoded, Since
    from commonplace.index.scoring.doc_table import Ids
    from commonplace.index.scoring.score import Nearness
    from commonplace_server.postgres.database import Commit, Postgres

TABLES = (
    "wb_index",
    "wb_docs",
    "wb_dropped",
    "wb_facets",
    "wb_words",
    "wb_packed",
    "wb_embeddings",
    "wb_models",
    "wb_marks",
    "wb_leases",
)
"""What the migrations of the index make; row level security is forced on each."""

SERIES = "index"
"""The name of those migrations, which lie in `index/migrations`."""

# Of the columns that a doc is read from.
_TEXT = 6
# Docs whose vectors leave in one transaction, 0.08 s in which what is filed for their owner waits.
_PREVIOUS_AT_ONCE = 1_000


class _Common(Struct, frozen=True, kw_only=True):
    """What the indexes of all owners share; see `PostgresIndex`."""

    database: Postgres
    clock: Callable[[], float]
    indexed_from: int
    cached_chunks: int
    pack_sizes: PackSizes
    doc_cache: DocCache = field(default_factory=DocCache)
    vector_cache: VectorCache = field(default_factory=VectorCache)


class PostgresIndex:
    """Indexes of all owners in one database, which its owner closes.

    Args:
        database: The connections.
        clock: Seconds since the epoch, for leases.
        indexed_from: Docs to be looked at from which the user's own index of the nearest is asked.
        cached_chunks: Vectors up to which a user's are kept by the process.
        pack_sizes: Docs whose words are packed together.
    """

    def __init__(
        self,
        database: Postgres,
        *,
        clock: Callable[[], float] = time.time,
        indexed_from: int = INDEXED_FROM,
        cached_chunks: int = CACHED_CHUNKS,
        pack_sizes: PackSizes = SIZES,
    ) -> None:
        self._common = _Common(
            database=database,
            clock=clock,
            indexed_from=indexed_from,
            cached_chunks=cached_chunks,
            pack_sizes=pack_sizes,
        )
        self._lock = threading.Lock()
        self._closed = False

    def of_owner(self, owner: str) -> PostgresOwnerIndex:
        """The index of one owner. Raises: Invalid for no owner, Unavailable once closed."""
        if not owner:
            raise Invalid("No search without an owner.", hint="Name the owner.")
        with self._lock:
            if self._closed:
                raise Unavailable("The index is closed.", hint="Open it again.")
        return PostgresOwnerIndex(self._common, owner)

    def close(self) -> None:
        """Forget what is remembered; may be called twice."""
        with self._lock:
            self._closed = True
        self._common.doc_cache.clear()
        self._common.vector_cache.clear()


class PostgresOwnerIndex:
    """The words and vectors of one owner; also leases, forgets and clears (see `core.ports`)."""

    def __init__(self, common: _Common, owner: str) -> None:
        self._common = common
        self._owner = owner

    @property
    def faster_than_encoding(self) -> bool:
        """Whether the docs are few; see `core.ports.OwnerIndex`."""
        return self._is_small(self._common.doc_cache.of(self._owner))

    def apply(
        self,
        changes: Sequence[Change],
        *,
        source: str = "",
        mark: str | None = None,
        since: Since | None = None,
    ) -> None:
        """Make these changes in one transaction; see the port. Raises: Unavailable, Invalid."""
        with self._writing() as tx:
            if changes:
                apply_changes(tx, changes)
            if since is not None:
                take_back = "drop_mark" if since.mark is None else "take_back_mark"
                tx.query(
                    take_back, source=storable(source), mark=since.mark and storable(since.mark)
                )
            if mark is not None:
                tx.query("keep_mark", source=storable(source), mark=storable(mark))

    def known(self) -> KnownSources:
        """What is known of all sources; see the port. Raises: Unavailable."""
        with self._reading() as tx:
            marks = dict(tx.query("list_marks").fetchall())
        return KnownSources(marks=marks, stamps=self._stamps)

    def docs_holding(self, phrases: Sequence[Phrase]) -> list[Doc]:
        """All docs whose text contains the parts of one of these phrases; see `FindsTexts`.

        Every text of the owner is looked through on the server. Raises: Unavailable.
        """
        asked = [
            Phrase(parts=tuple(storable(part) for part in each.parts), inner=()) for each in phrases
        ]
        words = dict.fromkeys(max(each.parts, key=len) for each in asked)
        with self._reading() as tx:
            rows = tx.query("list_holding", words=Texts(words)).fetchall()
        return [
            doc_of(row, Facet(journal, scope, kind, author, tuple(headings)), tuple)
            for *row, journal, scope, kind, author, headings in rows
            if any(each.may_be_in(row[_TEXT]) for each in asked)
        ]

    def unencoded(self, identity: str, limit: int) -> list[Unencoded]:
        """Docs without a vector of this encoder, newest first. Raises: Unavailable."""
        with self._reading() as tx:
            _, pending = self._counts(tx, identity)
            if pending <= 0 or limit <= 0:
                return []
            # No more than there are: the look for one that is not there goes through all docs.
            asked = {"model": storable(identity), "limit": min(limit, pending)}
            rows = tx.query("list_unencoded", **asked).fetchall()
        # Inside one second rows lie as they came.
        rows.sort(key=lambda row: row[4], reverse=True)
        return [
            Unencoded(ref=ref, text=said(author, text), text_hash=digest)
            for ref, author, text, digest, _ in rows
        ]

    def put_vectors(self, identity: str, encoded: Sequence[Encoded]) -> None:
        """File vectors of present texts; see the port. Raises: Unavailable, Invalid."""
        if encoded:
            with self._writing() as tx:
                put_vectors(tx, storable(identity), encoded)

    def apply_current(
        self,
        changes: Sequence[Change],
        are_current: AreCurrent,
        *,
        lost: frozenset[str] = frozenset(),
    ) -> bool:
        """Make those that still hold; see `records.outbox.AppliesCurrent`. Raises: Unavailable."""
        with self._writing() as tx:
            hold = apply_changes(tx, changes, are_current=are_current, lost=lost)
            if any(isinstance(each, Drop) for each in changes):
                tx.query("drop_bare_facets")
        return hold

    def ask_current(
        self,
        changes: Sequence[Change],
        are_current: AreCurrent,
        *,
        lost: frozenset[str] = frozenset(),
    ) -> Callable[[], None]:
        """As `apply_current`, in two steps; see `worker.filing.FilesForWorker`."""
        with self._writing() as tx:
            file = ask_changes(tx, changes, are_current=are_current, lost=lost)

        def apply() -> None:
            with self._writing() as tx:
                file()
                if any(isinstance(each, Drop) for each in changes):
                    tx.query("drop_bare_facets")

        return apply

    def ask_vectors(self, identity: str, encoded: Sequence[Encoded]) -> Callable[[], None]:
        """As `put_vectors`, in two steps; see `worker.filing.FilesForWorker`."""
        with self._writing() as tx:
            file = ask_vectors(tx, storable(identity), encoded)

        def put() -> None:
            with self._writing():
                file()

        return put

    def pack(self, *, tries: int = 1, until: datetime | None = None) -> None:
        """Pack words and halve vectors; see `worker.filing.FilesForWorker`. Raises: Unavailable."""
        sizes = self._common.pack_sizes.after(tries)
        after: int | None = FIRST
        while after is not None:
            with self._writing(commit="soon") as tx:
                after = pack_some(tx, after, sizes)
        after = FIRST
        while after is not None:
            with self._writing(commit="soon") as tx:
                tx.query("hold")
                asked = {"after": after, "limit": sizes.halved}
                ((after,),) = tx.query("halve_vectors", **asked).fetchall()
                if after is not None:
                    tx.query("note_moved")
                elif until is not None:
                    tx.query("note_packed", until=until)

    def drop_previous(self, identity: str, are_current: AreCurrent) -> bool:
        """Drop other encoders' vectors; see `worker.filing.FilesForWorker`. Raises: Unavailable."""
        bound = {"model": storable(identity), "limit": _PREVIOUS_AT_ONCE}
        after: int | None = FIRST
        while after is not None:
            with self._writing(commit="soon") as tx:
                # Nothing else files vectors of this owner from here on: what holds now holds to
                # the end.
                tx.query("hold")
                if not all(tx.check(are_current)()):
                    return False
                ((after,),) = tx.query("drop_previous", after=after, **bound).fetchall()
        return True

    def candidates(self, asked: Asked) -> Candidates:
        """The best by words and by meaning, and around them; see the port.

        Raises: Unavailable, Invalid.
        """
        # What is remembered is older than the transaction: it was read before this one begins.
        cached = self._common.doc_cache.of(self._owner)
        is_past = asked.where.written_before is not None
        query_words = QueryWords(
            asked.words,
            NO_DOCS if is_past else cached,
            span_of(asked.where.interval),
            is_past=is_past,
        )
        # Of large users it is asked while the question is encoded: no connection waits for that.
        with self._reading(last=not self._is_small(cached)) as tx:
            model = storable(asked.identity)
            cached, vectors, sent = self._read_position(tx, cached, model, query_words.first)
            there = docs_by_then(tx, cached, asked.where)
            filtered = filtered_docs(tx, there, asked.where)
            postings = query_words.postings(tx, there, filtered.table, sent)
        self._common.doc_cache.keep(self._owner, cached)
        vector = asked.vector()
        near: Nearness = NO_COSINES
        if vectors is not None and vector is not None:
            query = checked_query(vector, vectors.dimensions)
            near = nearness(self._reading, vectors, query, filtered)
        facets = cached.facets
        measured = Measured(
            table=filtered.table,
            postings=postings,
            near=near,
            authors={number: facet.author for number, facet in facets.items()},
            kinds={number: facet.kind for number, facet in facets.items()},
            scopes={number: facet.scope for number, facet in facets.items()},
            read=lambda keys: self._read(keys, cached),
        )
        return candidates_of(measured, asked)

    def together(self) -> AbstractContextManager[None]:
        """What is asked inside it shares transactions; see `core.ports.AsksTogether`."""
        return self._common.database.together(self._owner)

    def counts(self, identity: str) -> Counts:
        """How much is held, and how much waits for this encoder. Raises: Unavailable."""
        with self._reading() as tx:
            docs, pending = self._counts(tx, identity)
        return Counts(docs=docs, pending=pending)

    def bytes_on_disk(self) -> int:
        """0: it has no files; see the port."""
        return 0

    def count_by_kind(self, identity: str) -> list[DocCount]:
        """How much is held of each kind of docs; see the port. Raises: Unavailable."""
        with self._reading() as tx:
            rows = tx.query("count_by_kind", model=storable(identity)).fetchall()
        return [
            DocCount(journal=journal, kind=kind, docs=docs, pending=pending, newest=instant(newest))
            for journal, kind, docs, pending, newest in rows
        ]

    def count_by_journal(self) -> dict[str, int]:
        """How many docs of each journal; see `core.ports.CountsJournals`. Raises: Unavailable."""
        with self._reading() as tx:
            return dict(tx.query("count_by_journal").fetchall())

    def scopes(self) -> list[tuple[str, str]]:
        """Where its docs were written; see `core.ports.ListsScopes`. Raises: Unavailable."""
        with self._reading() as tx:
            return [(journal, scope) for journal, scope in tx.query("list_scopes").fetchall()]

    def dates_of(self, refs: Sequence[str]) -> dict[str, datetime]:
        """When the docs of some refs were; see `core.ports.DatesRefs`. Raises: Unavailable."""
        with self._reading() as tx:
            rows = tx.query("list_dates", refs=Texts(storable(ref) for ref in refs)).fetchall()
        return {ref: instant(at_us) for ref, at_us in rows}

    def refs_behind(self, number: int) -> list[str]:
        """The refs of a short form; see `core.ports.FindsShortRefs`. Raises: Unavailable."""
        with self._reading() as tx:
            refs = [ref for (ref,) in tx.query("list_all_refs")]
        return [ref for ref in refs if short_number(short_ref(ref)) == number]

    def links_from(
        self, refs: Sequence[str], *, before: datetime | None = None
    ) -> list[tuple[str, str]]:
        """The links of the chains that refs begin; see `FollowsChains`. Raises: Unavailable."""
        with self._reading() as tx:
            docs = self._superseding(tx)
            if not len(docs):
                return []
            rows = tx.query(
                "list_links",
                lead=superseding_tag(""),
                ids=Longs(docs),
                before=None if before is None else micros(before),
            ).fetchall()
        return links_on_the_way(rows, [storable(ref) for ref in refs])

    def previous_encoder(self, identity: str) -> str:
        """Whose vectors answer while those of this encoder are made. Raises: Unavailable."""
        with self._reading() as tx:
            found = tx.query("find_previous_encoder", model=storable(identity)).fetchone()
        return "" if found is None else str(found[0])

    def take_lease(self, name: str, holder: str, ttl_s: float) -> bool:
        """Take or renew a lease; see the port. Raises: Unavailable."""
        now = self._common.clock()
        with self._writing(commit="soon") as tx:
            lease = {
                "name": storable(name),
                "holder": storable(holder),
                "now": now,
                "until": now + ttl_s,
            }
            return tx.query("take_lease", **lease).rowcount == 1

    def drop_lease(self, name: str, holder: str) -> None:
        """Give a lease back, if it is the holder's. Raises: Unavailable."""
        with self._writing(commit="soon") as tx:
            tx.query("drop_lease", name=storable(name), holder=storable(holder))

    def forget(self, refs: Sequence[str]) -> None:
        """Drop these refs, and facets on which nothing lies then.

        No query finds a word of them any more; their bytes leave the pages when the tables are
        vacuumed, which Postgres does by itself, and the worker at once. Raises: Unavailable.
        """
        with self._writing() as tx:
            apply_changes(tx, [Drop(ref) for ref in refs])
            tx.query("drop_bare_facets")

    def clear(self) -> None:
        """Empty the index in one transaction; see the port. Raises: Unavailable."""
        with self._writing() as tx:
            tx.query("next_change")
            tx.query("clear")

    @contextmanager
    def _writing(self, *, commit: Commit = "synced") -> Iterator[OwnerTransaction]:
        # Derived, and yet on the disk when it is committed: processes remember it by the number of
        # its change, which another one would have after a crash that lost it.
        with self._common.database.owner_transaction(self._owner, commit=commit) as conn:
            conn.read_change = None  # what was read in it before is of another change from here on
            yield OwnerTransaction(conn, self._owner)

    @contextmanager
    def _reading(self, *, last: bool = False) -> Iterator[OwnerTransaction]:
        """For questions alone. last: the next one comes after a wait for a model."""
        with self._common.database.shared_transaction(self._owner, last=last) as conn:
            yield OwnerTransaction(conn, self._owner)

    def _superseding(self, tx: OwnerTransaction) -> Ids:
        """The docs that took another's place; those of a search's own docs are kept with them."""
        cached = self._common.doc_cache.of(self._owner)
        if self._is_read(tx, cached) and cached.superseding is not None:
            return cached.superseding
        (term,) = terms_of([superseding_tag("")])
        end = prefix_end(term)
        answer = tx.query("list_prefix_postings", term=term, end=end, **ALL_TIME._asdict())
        docs: Ids = np.unique(Sent.of(answer).listed([term], ALL_TIME, end)[1])
        if self._is_read(tx, cached):
            self._common.doc_cache.keep(self._owner, replace(cached, superseding=docs))
        return docs

    def _is_read(self, tx: OwnerTransaction, cached: CachedDocs) -> bool:
        """Whether these are the docs that a search read in this transaction."""
        return tx.read_change == (cached.name, cached.change)

    def _is_small(self, cached: CachedDocs) -> bool:
        """Whether they are of a small user, whose rows are kept."""
        return len(cached.table) <= self._common.cached_chunks

    def _counts(self, tx: OwnerTransaction, identity: str) -> tuple[int, int]:
        docs, pending = tx.query("read_counts", model=storable(identity)).fetchone() or (0, 0)
        return docs, pending

    def _read_position(
        self, tx: OwnerTransaction, cached: CachedDocs, model: str, words: Mapping[str, Any]
    ) -> tuple[CachedDocs, Vectors | None, Sent]:
        """The docs as they are now, what there is of a model, and where these words stand.

        Args:
            tx: The transaction of the user.
            cached: The docs as of an earlier search.
            model: The encoder's identity.
            words: The words that are looked up, bound for the query.
        """
        if not model and not words["terms"].texts and self._is_read(tx, cached):
            return cached, None, Sent()
        index: Cursor[tuple[Any, ...]] | None = None
        if self._is_small(cached):
            # To look into the catalog costs as much as the rest.
            position = tx.query("read_position", model=model, **words).fetchone()
        else:
            with tx.pipelined():
                asked = tx.query("read_position", model=model, **words)
                index = self._ask_nearest(tx, model)
                position = asked.fetchone()
        if position is None:
            self._common.vector_cache.drop(self._owner)
            return NO_DOCS, None, Sent()
        found, sent = [*position[2:5]], Sent(*position[5:])
        if position[:2] != (cached.name, cached.change):
            cached, found = self._updated(tx, cached, model)
        tx.read_change = cached.name, cached.change
        return cached, self._vectors(tx, cached, model, found, index), sent

    def _updated(
        self, tx: OwnerTransaction, cached: CachedDocs, model: str
    ) -> tuple[CachedDocs, list[Any]]:
        """What is known after what came since; from nothing, where it is too late to follow."""
        for before in (cached, NO_DOCS):
            row = query_changes(tx, before, model=model).fetchone()
            if row is None:  # they left this moment
                break
            if (now := updated_docs(tx, row, before)) is not None:
                return now, [*row[6:]]
        return NO_DOCS, [None, 0, 0]

    def _ask_nearest(self, tx: OwnerTransaction, model: str) -> Cursor[tuple[Any, ...]]:
        return tx.query("has_nearest", index=index_name(self._owner, model))

    def _vectors(
        self,
        tx: OwnerTransaction,
        cached: CachedDocs,
        model: str,
        found: Sequence[Any],
        index: Cursor[tuple[Any, ...]] | None,
    ) -> Vectors | None:
        """The vectors of a model; those of a small user are kept until they change.

        Args:
            tx: The transaction of the user.
            cached: The docs as of this transaction.
            model: The encoder's identity; empty for none.
            found: Dimensions, number of vectors and their last change, as the query gave them.
            index: The answer whether there is an index of the nearest, where that was asked.
        """
        dimensions, chunks, change = found
        if not model:
            return None
        kept = self._common.vector_cache
        if dimensions is None or chunks > self._common.cached_chunks:
            kept.drop(self._owner)  # of what is forgotten nothing stays in memory
        if dimensions is None:
            return None
        if chunks > self._common.cached_chunks:
            ((is_indexed,),) = (index or self._ask_nearest(tx, model)).fetchall()
            indexed_from = self._common.indexed_from if is_indexed else None
            return Vectors(model, dimensions, chunks, indexed_from)
        vectors = kept.of(self._owner)
        asked = {"name": cached.name, "model": model, "change": change}
        if vectors is None or any(getattr(vectors, key) != asked[key] for key in asked):
            vectors = read_vectors(tx, vectors, dimensions=dimensions, **asked)
            kept.keep(self._owner, vectors)
        return Vectors(model, dimensions, chunks, None, vectors)

    def _stamps(self, prefix: str) -> Mapping[str, str]:
        low = storable(prefix)
        with self._reading() as tx:
            return dict(tx.query("list_stamps", low=low, high=prefix_end(low)).fetchall())

    def _read(self, keys: Sequence[int], cached: CachedDocs) -> Mapping[int, Doc]:
        """The docs as they were when they were found."""
        if not keys:
            return {}
        with self._reading() as tx:
            rows = tx.query("read_docs", ids=Longs(keys)).fetchall()
        # A facet that came since the search is of a doc that the search did not see.
        docs = {
            row[0]: doc_of(row, facet, tuple)
            for row in rows
            if (facet := cached.facets.get(row[2])) is not None
        }
        return {key: docs[key] for key in keys if key in docs}
