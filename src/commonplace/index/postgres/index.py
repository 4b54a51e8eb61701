"""The index in Postgres: rows of many users, each guarded; words as rows, meaning by pgvector.

Never holds what cannot be made again from the journals, and never searches without an owner.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import Invalid, Unavailable
from commonplace.core.values import (
    Candidates,
    Counts,
    Doc,
    Drop,
    Since,
    Tally,
    Unencoded,
    said,
)
from commonplace.index.postgres.docs import apply_changes
from commonplace.index.postgres.held import HELD_CHUNKS, HeldVectors, read_held
from commonplace.index.postgres.known import (
    FIRST,
    NOTHING,
    KnownDocs,
    Remembered,
    ask_known,
    brought_up,
    reach_of,
    span_of,
)
from commonplace.index.postgres.meaning import Vectors, nearness
from commonplace.index.postgres.nearest import INDEXED_FROM, index_name
from commonplace.index.postgres.transaction import Asking, Longs
from commonplace.index.postgres.vectors import put_vectors
from commonplace.index.postgres.words import Sought
from commonplace.index.scoring.score import NO_COSINES, Measured, candidates_of
from commonplace.index.scoring.vectors import checked_query
from commonplace.index.sqlite.docs import doc_of, instant, plain, prefix_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from psycopg import Cursor

    from commonplace.core.values import Asked, Change, Encoded, Still
    from commonplace.db.postgres.database import Commit, Postgres
    from commonplace.index.scoring.score import Nearness

TABLES = (
    "wb_index",
    "wb_docs",
    "wb_dropped",
    "wb_shelves",
    "wb_words",
    "wb_embeddings",
    "wb_models",
    "wb_marks",
    "wb_leases",
)
"""What the migrations of the index make; row level security is forced on each."""

SERIES = "index"
"""The name of those migrations, which lie in `index/postgres/migrations`."""

# Docs whose vectors leave in one transaction, 0.08 s in which what is filed for their owner waits.
_PREVIOUS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Common:
    """What the indexes of all owners share; see `PostgresIndex`."""

    database: Postgres
    clock: Callable[[], float]
    indexed_from: int
    held_chunks: int
    remembered: Remembered = field(default_factory=Remembered)
    held: HeldVectors = field(default_factory=HeldVectors)


class PostgresIndex:
    """Indexes of all owners in one database; its owner closes that.

    clock: seconds since the epoch, for leases. indexed_from: docs in reach from which the nearest
    are asked of an index over the user's own vectors, where there is one. held_chunks: vectors up
    to which a user's are kept by the process.
    """

    def __init__(
        self,
        database: Postgres,
        *,
        clock: Callable[[], float] = time.time,
        indexed_from: int = INDEXED_FROM,
        held_chunks: int = HELD_CHUNKS,
    ) -> None:
        self._common = _Common(
            database=database, clock=clock, indexed_from=indexed_from, held_chunks=held_chunks
        )
        self._lock = threading.Lock()
        self._closed = False

    def within(self, owner: str) -> PostgresOwnerIndex:
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
        self._common.remembered.clear()
        self._common.held.clear()


class PostgresOwnerIndex:
    """The words and vectors of one owner; also leases, forgets and clears (see `core.ports`)."""

    def __init__(self, common: _Common, owner: str) -> None:
        self._common = common
        self._owner = owner

    @property
    def is_brief(self) -> bool:
        """Whether the docs are few; see `core.ports.Brief`."""
        return self._is_few(self._common.remembered.of(self._owner))

    def apply(
        self, changes: Sequence[Change], *, source: str = "", mark: str | None = None
    ) -> None:
        """Make these changes in one transaction; see the port. Raises: Unavailable, Invalid."""
        with self._within() as asking:
            if changes:
                apply_changes(asking, changes)
            if mark is not None:
                asking.ask("keep_mark", source=plain(source), mark=plain(mark))

    def since(self, source: str) -> Since:
        """What is known of a source; see the port. Raises: Unavailable."""
        with self._joined() as asking:
            found = asking.ask("read_mark", source=plain(source)).fetchone()
        return Since(mark=None if found is None else found[0], stamps=self._stamps)

    def unencoded(self, identity: str, limit: int) -> list[Unencoded]:
        """Docs without a vector of this encoder, newest first. Raises: Unavailable."""
        with self._joined() as asking:
            _, pending = self._counts(asking, identity)
            if pending <= 0 or limit <= 0:
                return []
            # No more than there are: the look for one that is not there goes through all docs.
            asked = {"model": plain(identity), "limit": min(limit, pending)}
            rows = asking.ask("list_unencoded", **asked).fetchall()
        # Inside one second rows lie as they came.
        rows.sort(key=lambda row: row[4], reverse=True)
        return [
            Unencoded(ref=ref, text=said(author, text), text_hash=digest)
            for ref, author, text, digest, _ in rows
        ]

    def put_vectors(self, identity: str, encoded: Sequence[Encoded]) -> None:
        """File vectors of present texts; see the port. Raises: Unavailable, Invalid."""
        if encoded:
            with self._within() as asking:
                put_vectors(asking, plain(identity), encoded)

    def apply_still(
        self, changes: Sequence[Change], still: Still, *, lost: frozenset[str] = frozenset()
    ) -> None:
        """Make those that still hold; see `core.ports.AppliesStill`. Raises: Unavailable."""
        with self._within() as asking:
            apply_changes(asking, changes, still=still, lost=lost)
            if any(isinstance(each, Drop) for each in changes):
                asking.ask("drop_bare_shelves")

    def drop_previous(self, identity: str, still: Still) -> bool:
        """Drop other encoders' vectors; see `core.ports.FilesForWorker`. Raises: Unavailable."""
        bound = {"model": plain(identity), "limit": _PREVIOUS_AT_ONCE}
        after: int | None = FIRST
        while after is not None:
            with self._within(commit="soon") as asking:
                # Nothing else files vectors of this owner from here on: what holds now holds to
                # the end.
                asking.ask("hold")
                if not all(asking.check(still)):
                    return False
                ((after,),) = asking.ask("drop_previous", after=after, **bound).fetchall()
        return True

    def candidates(self, asked: Asked) -> Candidates:
        """The best of both legs and around them; see the port. Raises: Unavailable, Invalid."""
        return candidates_of(self.measured(asked), asked)

    def measured(self, asked: Asked) -> Measured:
        """What there is to be weighed. Raises: Unavailable, Invalid."""
        # What is remembered is older than the transaction: it was read before this one begins.
        known = self._common.remembered.of(self._owner)
        sought = Sought(asked.words, known, span_of(asked.within.within))
        # Of large users it is asked while the question is encoded: no connection waits for that.
        with self._joined(last=not self._is_few(known)) as asking:
            model = plain(asked.identity)
            known, vectors, sent = self._looked(asking, known, model, sought.first)
            reach = reach_of(asking, known, asked.within)
            postings = sought.postings(asking, known, reach.roll, sent)
        self._common.remembered.keep(self._owner, known)
        vector = asked.vector()
        near: Nearness = NO_COSINES
        if vectors is not None and vector is not None:
            query = checked_query(vector, vectors.dimensions)
            near = nearness(self._joined, vectors, query, reach)
        shelves = known.shelves
        return Measured(
            roll=reach.roll,
            postings=postings,
            near=near,
            authors={number: on.author for number, on in shelves.items()},
            kinds={number: on.kind for number, on in shelves.items()},
            read=lambda keys: self._read(keys, known),
        )

    def counts(self, identity: str) -> Counts:
        """How much is held, and how much waits for this encoder; bytes are not counted.

        Raises: Unavailable.
        """
        with self._joined() as asking:
            docs, pending = self._counts(asking, identity)
        return Counts(docs=docs, pending=pending, bytes=0)

    def tally(self, identity: str) -> list[Tally]:
        """How much is held of each journal; see the port. Raises: Unavailable."""
        with self._joined() as asking:
            rows = asking.ask("tally", model=plain(identity)).fetchall()
        return [
            Tally(journal=journal, docs=docs, pending=pending, newest=instant(newest))
            for journal, docs, pending, newest in rows
        ]

    def former(self, identity: str) -> str:
        """Whose vectors answer while those of this encoder are made. Raises: Unavailable."""
        with self._joined() as asking:
            found = asking.ask("find_former", model=plain(identity)).fetchone()
        return "" if found is None else str(found[0])

    def take_lease(self, name: str, holder: str, ttl_s: float) -> bool:
        """Take or renew a lease; see the port. Raises: Unavailable."""
        now = self._common.clock()
        with self._within(commit="soon") as asking:
            lease = {"name": plain(name), "holder": plain(holder), "now": now, "until": now + ttl_s}
            return asking.ask("take_lease", **lease).rowcount == 1

    def drop_lease(self, name: str, holder: str) -> None:
        """Give a lease back, if it is the holder's. Raises: Unavailable."""
        with self._within(commit="soon") as asking:
            asking.ask("drop_lease", name=plain(name), holder=plain(holder))

    def forget(self, refs: Sequence[str]) -> None:
        """Drop these refs, and shelves on which nothing lies then.

        No query finds a word of them any more; their bytes leave the pages when the tables are
        vacuumed, which Postgres does by itself, and the worker at once. Raises: Unavailable.
        """
        with self._within() as asking:
            apply_changes(asking, [Drop(ref) for ref in refs])
            asking.ask("drop_bare_shelves")

    def clear(self) -> None:
        """Empty the index in one transaction; see the port. Raises: Unavailable."""
        with self._within() as asking:
            asking.ask("next_change")
            asking.ask("clear")

    @contextmanager
    def _within(self, *, commit: Commit = "synced") -> Iterator[Asking]:
        # Derived, and yet on the disk when it is committed: processes remember it by the number of
        # its change, which another one would have after a crash that lost it.
        with self._common.database.within(self._owner, commit=commit) as conn:
            yield Asking(conn, self._owner)

    @contextmanager
    def _joined(self, *, last: bool = False) -> Iterator[Asking]:
        """For questions alone. last: the next one comes after a wait for a model."""
        with self._common.database.joined(self._owner, last=last) as conn:
            yield Asking(conn, self._owner)

    def _is_few(self, known: KnownDocs) -> bool:
        """Whether they are of a small user, whose rows are kept."""
        return len(known.roll) <= self._common.held_chunks

    def _counts(self, asking: Asking, identity: str) -> tuple[int, int]:
        docs, pending = asking.ask("read_counts", model=plain(identity)).fetchone() or (0, 0)
        return docs, pending

    def _looked(
        self, asking: Asking, known: KnownDocs, model: str, words: Mapping[str, Any]
    ) -> tuple[KnownDocs, Vectors | None, bytes | None]:
        """What is known now, what there is of a model, and where these words stand."""
        index: Cursor[tuple[Any, ...]] | None = None
        if self._is_few(known):
            # To look into the catalog costs as much as the rest.
            position = asking.ask("read_position", model=model, **words).fetchone()
        else:
            with asking.at_once():
                asked = asking.ask("read_position", model=model, **words)
                index = self._ask_nearest(asking, model)
                position = asked.fetchone()
        if position is None:
            return NOTHING, None, None
        *found, sent = position[2:]
        if position[:2] != (known.name, known.change):
            known, found = self._followed(asking, known, model)
        return known, self._vectors(asking, known, model, found, index), sent

    def _followed(
        self, asking: Asking, known: KnownDocs, model: str
    ) -> tuple[KnownDocs, list[Any]]:
        """What is known after what came since; from nothing, where it is too late to follow."""
        for before in (known, NOTHING):
            row = ask_known(asking, before, model=model).fetchone()
            if row is None:  # they left this moment
                break
            if (now := brought_up(asking, row, before)) is not None:
                return now, [*row[6:]]
        return NOTHING, [None, 0, 0]

    def _ask_nearest(self, asking: Asking, model: str) -> Cursor[tuple[Any, ...]]:
        return asking.ask("has_nearest", index=index_name(self._owner, model))

    def _vectors(
        self,
        asking: Asking,
        known: KnownDocs,
        model: str,
        found: Sequence[Any],
        index: Cursor[tuple[Any, ...]] | None,
    ) -> Vectors | None:
        """The vectors of a model; those of a small user are kept until they change."""
        dimensions, chunks, change = found
        if dimensions is None or not model:
            return None
        if chunks > self._common.held_chunks:
            ((is_indexed,),) = (index or self._ask_nearest(asking, model)).fetchall()
            indexed_from = self._common.indexed_from if is_indexed else None
            return Vectors(model, dimensions, chunks, indexed_from)
        held = self._common.held.find(self._owner, model, name=known.name, change=change)
        if held is None:
            held = read_held(
                asking, name=known.name, change=change, model=model, dimensions=dimensions
            )
            self._common.held.keep(self._owner, model, held)
        return Vectors(model, dimensions, chunks, None, held)

    def _stamps(self, prefix: str) -> Mapping[str, str]:
        low = plain(prefix)
        with self._joined() as asking:
            return dict(asking.ask("list_stamps", low=low, high=prefix_end(low)).fetchall())

    def _read(self, keys: Sequence[int], known: KnownDocs) -> Mapping[int, Doc]:
        """The docs as they were when they were found."""
        if not keys:
            return {}
        with self._joined() as asking:
            rows = asking.ask("read_docs", ids=Longs(keys)).fetchall()
        # A shelf that came since the search is of a doc that the search did not see.
        docs = {
            row[0]: doc_of(row, on, tuple)
            for row in rows
            if (on := known.shelves.get(row[2])) is not None
        }
        return {key: docs[key] for key in keys if key in docs}
