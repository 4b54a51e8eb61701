"""An index in memory: the same answers as the one on disk, for tests and for what lives briefly.

Never touches a file, and never lets one owner see another's docs.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.clock import micros
from commonplace.core.errors import Invalid
from commonplace.core.refs import short_number, short_ref
from commonplace.core.text import (
    count_words,
    fold_name,
    names_time,
    query_terms,
    text_hash,
    well_formed,
)
from commonplace.core.values import Counts, Doc, DocCount, Drop, KnownSources, Put, Unencoded
from commonplace.index.scoring.doc_table import doc_table_of
from commonplace.index.scoring.links import links_on_the_way
from commonplace.index.scoring.score import NO_COSINES, Cosines, Measured, Posting, candidates_of
from commonplace.index.scoring.stems import stems, tokens
from commonplace.index.scoring.vectors import checked_passages, checked_query

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from commonplace.core.values import Asked, Candidates, Change, Encoded, Filter, Since, Vector
    from commonplace.index.scoring.doc_table import DocTable
    from commonplace.index.scoring.stems import Stem


class MemoryIndex:
    """Indexes of all owners, gone when the object is.

    clock: seconds since the epoch, for leases.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._owners: dict[str, MemoryOwnerIndex] = {}

    def of_owner(self, owner: str) -> MemoryOwnerIndex:
        """The index of one owner, empty at first. Raises: Invalid for no owner."""
        if not owner:
            raise Invalid("No search without an owner.", hint="Name the owner.")
        with self._lock:
            return self._owners.setdefault(owner, MemoryOwnerIndex(clock=self._clock))

    def close(self) -> None:
        """Let go of everything held."""
        with self._lock:
            self._owners.clear()


class _IndexedDoc(Struct):
    """One doc with what was derived from it.

    Args:
        doc: The doc.
        hash: Of what it says.
        body: How often each word stands in its text.
        dated: How often each word stands in its date.
        vectors: Its chunks' vectors, by the encoder's identity.
    """

    doc: Doc
    hash: str
    body: Mapping[str, int]
    dated: Mapping[str, int]
    vectors: dict[str, Vector] = field(default_factory=dict)


class MemoryOwnerIndex:
    """The words and vectors of one owner, in dictionaries. Thread-safe."""

    faster_than_encoding = False

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._held: dict[str, _IndexedDoc] = {}
        self._marks: dict[str, str] = {}
        self._leases: dict[str, tuple[str, float]] = {}

    def apply(
        self,
        changes: Sequence[Change],
        *,
        source: str = "",
        mark: str | None = None,
        since: Since | None = None,
    ) -> None:
        """Make these changes at once; see the port. Raises: Invalid."""
        for change in changes:
            if isinstance(change, Put):
                micros(change.doc.at)
                micros(change.doc.written or change.doc.at)
        with self._lock:
            for change in changes:
                if isinstance(change, Drop):
                    self._held.pop(well_formed(change.ref), None)
                else:
                    doc = change.doc
                    self._put(replace(doc, ref=well_formed(doc.ref), text=well_formed(doc.text)))
            if since is not None and source in self._marks:
                if since.mark is None:
                    del self._marks[source]
                else:
                    self._marks[source] = since.mark
            if mark is not None:
                self._marks[source] = mark

    def known(self) -> KnownSources:
        """What is known of all sources; see the port."""
        with self._lock:
            return KnownSources(marks={**self._marks}, stamps=self._stamps)

    def unencoded(self, identity: str, limit: int) -> list[Unencoded]:
        """Docs without a vector of this encoder, newest first; see the port."""
        with self._lock:
            return [
                Unencoded(ref=each.doc.ref, text=each.doc.said, text_hash=each.hash)
                for each in self._pending(identity)[: max(limit, 0)]
            ]

    def put_vectors(self, identity: str, encoded: Sequence[Encoded]) -> None:
        """File vectors of present texts; see the port. Raises: Invalid."""
        with self._lock:
            for each in encoded:
                vectors = checked_passages(each, self._dimensions(identity))
                held = self._held.get(well_formed(each.ref))
                if held is not None and held.hash == each.text_hash:
                    held.vectors[identity] = vectors.copy()

    def candidates(self, asked: Asked) -> Candidates:
        """The best by words, by meaning, and around them; see the port."""
        vector = asked.vector()
        with self._lock:
            let_in = [each for each in self._held.values() if _lets_in(asked.where, each.doc)]
            let_in.sort(key=lambda each: (each.doc.at, each.doc.turn, each.doc.ref))
            cosines = self._cosines(vector, asked.identity, let_in)
        table, facets = _doc_table(let_in)
        docs = {key: each.doc for key, each in enumerate(let_in)}
        measured = Measured(
            table=table,
            postings={stem: _posting(stem, let_in) for stem in stems(query_terms(asked.words))},
            near=cosines,
            authors={number: author for number, (author, _, _) in enumerate(facets)},
            kinds={number: kind for number, (_, kind, _) in enumerate(facets)},
            scopes={number: scope for number, (_, _, scope) in enumerate(facets)},
            read=lambda keys: {key: docs[key] for key in keys},
        )
        return candidates_of(measured, asked)

    def counts(self, identity: str) -> Counts:
        """How much is held; see the port."""
        with self._lock:
            return Counts(docs=len(self._held), pending=len(self._pending(identity)))

    def bytes_on_disk(self) -> int:
        """0: it has no files; see the port."""
        return 0

    def count_by_journal(self) -> dict[str, int]:
        """How many docs of each journal there are; see the port."""
        with self._lock:
            return Counter(each.doc.journal for each in self._held.values())

    def scopes(self) -> list[tuple[str, str]]:
        """Where its docs were written; see the port."""
        with self._lock:
            return sorted({(each.doc.journal, each.doc.scope) for each in self._held.values()})

    def count_by_kind(self, identity: str) -> list[DocCount]:
        """How much is held of each kind of docs; see the port."""
        with self._lock:
            pending = Counter((x.doc.journal, x.doc.kind) for x in self._pending(identity))
            held: dict[tuple[str, str], list[datetime]] = {}
            for each in self._held.values():
                held.setdefault((each.doc.journal, each.doc.kind), []).append(each.doc.at)
        return [
            DocCount(
                journal=name[0],
                kind=name[1],
                docs=len(times),
                pending=pending[name],
                newest=max(times),
            )
            for name, times in sorted(held.items())
        ]

    def dates_of(self, refs: Sequence[str]) -> dict[str, datetime]:
        """When the docs of some refs were; see `core.ports.DatesRefs`."""
        with self._lock:
            return {ref: self._held[ref].doc.at for ref in refs if ref in self._held}

    def refs_behind(self, number: int) -> list[str]:
        """The refs of a short form; see `core.ports.FindsShortRefs`."""
        with self._lock:
            return [ref for ref in sorted(self._held) if short_number(short_ref(ref)) == number]

    def links_from(
        self, refs: Sequence[str], *, before: datetime | None = None
    ) -> list[tuple[str, str]]:
        """The links of the chains that refs begin; see `core.ports.FollowsChains`."""
        with self._lock:
            docs = [each.doc for each in self._held.values()]
        docs.sort(key=lambda x: (x.at, x.ref))
        links = [
            (doc.supersedes, doc.ref)
            for doc in docs
            if doc.supersedes and (before is None or (doc.written or doc.at) < before)
        ]
        return links_on_the_way(links, refs)

    def previous_encoder(self, identity: str) -> str:
        """Whose vectors answer while those of this encoder are made; see the port."""
        with self._lock:
            waiting = [each for each in self._held.values() if identity not in each.vectors]
            held = Counter(other for each in waiting for other in each.vectors)
        return min(held, key=lambda other: (-held[other], other), default="")

    def take_lease(self, name: str, holder: str, ttl_s: float) -> bool:
        """Take or renew a lease; see the port."""
        with self._lock:
            other, until = self._leases.get(name, (holder, 0.0))
            if other != holder and until > self._clock():
                return False
            self._leases[name] = (holder, self._clock() + ttl_s)
            return True

    def drop_lease(self, name: str, holder: str) -> None:
        """Give a lease back, if it is the holder's."""
        with self._lock:
            if self._leases.get(name, ("", 0.0))[0] == holder:
                del self._leases[name]

    def forget(self, refs: Sequence[str]) -> None:
        """Drop these refs; nothing of them stays."""
        self.apply([Drop(ref) for ref in refs])

    def clear(self) -> None:
        """Drop everything but leases; see the port."""
        with self._lock:
            self._held.clear()
            self._marks.clear()

    def _put(self, doc: Doc) -> None:
        digest = text_hash(doc.said)
        said, dated = (Counter(each) for each in tokens([doc.said, doc.dated]))
        before = self._held.get(doc.ref)
        if before is not None and before.hash == digest:
            before.doc, before.dated = doc, dated
            return
        self._held[doc.ref] = _IndexedDoc(doc, digest, said, dated)

    def _stamps(self, prefix: str) -> Mapping[str, str]:
        with self._lock:
            return {r: h.doc.stamp for r, h in self._held.items() if r.startswith(prefix)}

    def _pending(self, identity: str) -> list[_IndexedDoc]:
        waiting = [
            h for h in self._held.values() if identity not in h.vectors and h.doc.text.strip()
        ]
        return sorted(waiting, key=lambda each: each.doc.at, reverse=True)

    def _dimensions(self, identity: str) -> int | None:
        known = (h.vectors[identity] for h in self._held.values() if identity in h.vectors)
        first = next(known, None)
        return None if first is None else first.shape[1]

    def _cosines(
        self, vector: Vector | None, identity: str, let_in: Sequence[_IndexedDoc]
    ) -> Cosines:
        if vector is None:
            return NO_COSINES
        query = checked_query(vector, self._dimensions(identity))
        found = [
            (key, float(vector @ query))
            for key, each in enumerate(let_in)
            for vector in each.vectors.get(identity, ())
        ]
        keys, figures = zip(*found, strict=True) if found else ((), ())
        return Cosines(np.array(keys, dtype=np.int64), np.array(figures, dtype=np.float32))


def _doc_table(held: Sequence[_IndexedDoc]) -> tuple[DocTable, list[tuple[str, str, str]]]:
    """The doc table of some docs in order; author, kind and scope of what lies on each facet."""
    on = [(each.doc.author, each.doc.kind, each.doc.scope) for each in held]
    facets = sorted({*on})
    sessions = sorted({each.doc.session for each in held} - {""})
    columns = [
        range(len(held)),
        [micros(each.doc.at) for each in held],
        [facets.index(each) for each in on],
        [sessions.index(each.doc.session) + 1 if each.doc.session else 0 for each in held],
        [count_words(each.doc.text) for each in held],
        [names_time(each.doc.text) for each in held],
    ]
    return doc_table_of(np.array(columns, dtype=np.int64)), facets


def _posting(stem: Stem, held: Sequence[_IndexedDoc]) -> Posting:
    counts = [(_count(each.body, stem), _count(each.dated, stem)) for each in held]
    places = [place for place, count in enumerate(counts) if any(count)]
    found = np.array([counts[place] for place in places], dtype=np.float32).reshape(-1, 2)
    return Posting(np.array(places, dtype=np.int64), found[:, 0], found[:, 1])


def _lets_in(where: Filter, doc: Doc) -> bool:
    sought = [fold_name(heading) for heading in where.headings]
    held = [fold_name(heading) for heading in doc.headings]
    return (
        where.interval.holds(doc.at)
        and (where.written_before is None or (doc.written or doc.at) < where.written_before)
        and (not where.journals or doc.journal in where.journals)
        and (not where.kinds or doc.kind in where.kinds)
        and (not where.scopes or doc.scope in where.scopes)
        and (not sought or any(part in heading for part in sought for heading in held))
        and (not where.tags or any(tag in where.tags for tag in doc.tags))
        and all(tag in doc.tags for tag in where.required_tags)
        and not any(tag in doc.tags for tag in where.excluded_tags)
        and doc.ref not in where.excluded_refs
    )


def _count(counts: Mapping[str, int], stem: Stem) -> int:
    if stem.prefix:
        return sum(n for token, n in counts.items() if token.startswith(stem.token))
    return counts.get(stem.token, 0)
