"""An index in memory: the same answers as the one on disk, for tests and for what lives briefly.

Never touches a file, and never lets one owner see another's docs.
"""

from __future__ import annotations

import math
import re
import threading
import time
import unicodedata
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from commonplace.core.errors import Invalid
from commonplace.core.text import fold_name, query_terms, text_hash, well_formed, words_text
from commonplace.core.values import Candidate, Counts, Doc, Drop, Put, Since, Unencoded
from commonplace.index.docs import micros
from commonplace.index.vectors import checked_passages, checked_query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from commonplace.core.text import Term
    from commonplace.core.values import Change, Encoded, Filter, Vector

# Those of SQLite's bm25(), so that both backends order alike.
_K1, _B, _LEAST_IDF = 1.2, 0.75, 1e-6
_TOKEN = re.compile(r"[^\W_]+")


class MemoryIndex:
    """Indexes of all owners, gone when the object is.

    clock: seconds since the epoch, for leases. Needs the extra `testing` (a stemmer).
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._owners: dict[str, MemoryOwnerIndex] = {}

    def within(self, owner: str) -> MemoryOwnerIndex:
        """The index of one owner, empty at first. Raises: Invalid for no owner."""
        if not owner:
            raise Invalid("No search without an owner.", hint="Name the owner.")
        with self._lock:
            return self._owners.setdefault(owner, MemoryOwnerIndex(clock=self._clock))

    def close(self) -> None:
        """Let go of everything held."""
        with self._lock:
            self._owners.clear()


@dataclass(slots=True)
class _Held:
    """One doc with what was derived from it."""

    doc: Doc
    hash: str
    tokens: list[str]
    vectors: dict[str, Vector] = field(default_factory=dict)


class MemoryOwnerIndex:
    """The words and vectors of one owner, in dictionaries. Thread-safe."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._held: dict[str, _Held] = {}
        self._marks: dict[str, str] = {}
        self._leases: dict[str, tuple[str, float]] = {}
        self._stem = _porter()

    def apply(
        self, changes: Sequence[Change], *, source: str = "", mark: str | None = None
    ) -> None:
        """Make these changes at once; see the port. Raises: Invalid."""
        for change in changes:
            if isinstance(change, Put):
                micros(change.doc.at)
        with self._lock:
            for change in changes:
                if isinstance(change, Drop):
                    self._held.pop(well_formed(change.ref), None)
                else:
                    self._put(_stored(change.doc))
            if mark is not None:
                self._marks[source] = mark

    def since(self, source: str) -> Since:
        """What is known of a source; see the port."""
        with self._lock:
            return Since(mark=self._marks.get(source), stamps=self._stamps)

    def unencoded(self, identity: str, limit: int) -> list[Unencoded]:
        """Docs without a vector of this encoder, newest first; see the port."""
        with self._lock:
            return [
                Unencoded(ref=each.doc.ref, text=each.doc.text, text_hash=each.hash)
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

    def candidates(
        self, *, words: str, vector: Vector | None, identity: str, within: Filter, limit: int
    ) -> list[Candidate]:
        """The best by words and the best by meaning of what the filter lets in; see the port."""
        with self._lock:
            let_in = {ref: each for ref, each in self._held.items() if _lets_in(within, each.doc)}
            by_words = self._by_words(query_terms(words), let_in)
            by_meaning = self._by_meaning(vector, identity, let_in)
            found = {*_best(by_words, limit), *_best(by_meaning, limit)}
            return [
                Candidate(
                    doc=let_in[ref].doc, words=by_words.get(ref), similarity=by_meaning.get(ref)
                )
                for ref in found
            ]

    def counts(self, identity: str) -> Counts:
        """How much is held; bytes on disk are 0."""
        with self._lock:
            return Counts(docs=len(self._held), pending=len(self._pending(identity)), bytes=0)

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
        digest = text_hash(doc.text)
        before = self._held.get(doc.ref)
        if before is not None and before.hash == digest:
            before.doc = doc
            return
        self._held[doc.ref] = _Held(doc, digest, self._tokens(words_text(doc.text).casefold()))

    def _stamps(self, prefix: str) -> Mapping[str, str]:
        with self._lock:
            return {r: h.doc.stamp for r, h in self._held.items() if r.startswith(prefix)}

    def _pending(self, identity: str) -> list[_Held]:
        waiting = [
            h for h in self._held.values() if identity not in h.vectors and h.doc.text.strip()
        ]
        return sorted(waiting, key=lambda each: each.doc.at, reverse=True)

    def _dimensions(self, identity: str) -> int | None:
        known = (h.vectors[identity] for h in self._held.values() if identity in h.vectors)
        first = next(known, None)
        return None if first is None else first.shape[1]

    def _tokens(self, text: str) -> list[str]:
        plain = "".join(
            c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn"
        )
        return [self._stem(token) for token in _TOKEN.findall(unicodedata.normalize("NFC", plain))]

    def _by_words(self, terms: list[Term], let_in: dict[str, _Held]) -> dict[str, float]:
        scores: dict[str, float] = {}
        average = sum(len(h.tokens) for h in self._held.values()) / (len(self._held) or 1)
        for term in terms:
            phrase = self._tokens(term.text)
            counts = {r: _count(h.tokens, phrase, term) for r, h in self._held.items()}
            having = sum(1 for count in counts.values() if count)
            rest = len(self._held) - having
            idf = max(math.log((rest + 0.5) / (having + 0.5)), _LEAST_IDF)
            for ref, held in let_in.items():
                if counts[ref]:
                    length = 1 - _B + _B * len(held.tokens) / (average or 1)
                    part = counts[ref] * (_K1 + 1) / (counts[ref] + _K1 * length)
                    scores[ref] = scores.get(ref, 0.0) + idf * part
        return scores

    def _by_meaning(
        self, vector: Vector | None, identity: str, let_in: dict[str, _Held]
    ) -> dict[str, float]:
        if vector is None:
            return {}
        query = checked_query(vector, self._dimensions(identity))
        return {
            ref: float(np.max(held.vectors[identity] @ query))
            for ref, held in let_in.items()
            if identity in held.vectors
        }


def _porter() -> Callable[[str], str]:
    # The extra `testing` brings it, and only this backend needs it.
    import snowballstemmer  # type: ignore[import-untyped]  # noqa: PLC0415  no stubs; see above

    stem: Callable[[str], str] = snowballstemmer.stemmer("porter").stemWord
    return stem


def _stored(doc: Doc) -> Doc:
    return replace(doc, ref=well_formed(doc.ref), text=well_formed(doc.text))


def _lets_in(within: Filter, doc: Doc) -> bool:
    sought = [fold_name(heading) for heading in within.headings]
    held = [fold_name(heading) for heading in doc.headings]
    return (
        within.within.holds(doc.at)
        and (not within.journals or doc.journal in within.journals)
        and (not within.kinds or doc.kind in within.kinds)
        and (not within.scopes or doc.scope in within.scopes)
        and (not sought or any(part in heading for part in sought for heading in held))
        and (not within.tags or any(tag in within.tags for tag in doc.tags))
        and all(tag in doc.tags for tag in within.required_tags)
        and not any(tag in doc.tags for tag in within.excluded_tags)
    )


def _count(tokens: list[str], phrase: list[str], term: Term) -> int:
    if not phrase:
        return 0
    if term.prefix and len(phrase) == 1:
        return sum(1 for token in tokens if token.startswith(phrase[0]))
    if len(phrase) == 1:
        return tokens.count(phrase[0])
    starts = range(len(tokens) - len(phrase) + 1)
    return sum(1 for i in starts if tokens[i : i + len(phrase)] == phrase)


def _best(scores: Mapping[str, float], limit: int) -> Iterable[str]:
    return sorted(scores, key=lambda ref: (-scores[ref], ref))[: max(limit, 0)]
