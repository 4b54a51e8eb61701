"""Search with two questions: what kind of work it was, and what was written; each has a cosine.

Never writes, and holds no number: `policy` does. Reads no journal: what an entry's two sides are is
told by whoever asks.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.text import text_hash
from commonplace.search import policy as numbers
from commonplace.search.finder import Question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from commonplace.core.ports import Encoder, EncoderSlot
    from commonplace.core.values import Doc, Filter, Found, Hit, Vector
    from commonplace.search.finder import Finder
    from commonplace.search.policy import Leaning

_LEAST_COSINE = -1.0
_ASIDE = 4
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """What of an entry is compared with which question, and when it was written."""

    context: str
    content: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoQuestions:
    """What is asked. work_context, content: one of them may be blank, and does not count then.

    min_score: combined cosine under which a hit by meaning alone is cut. salience_threshold: in
    [0, 1], the salience under which that bar begins to rise; 0 for never. now: aware.
    """

    work_context: str
    content: str
    within: Filter
    limit: int
    min_score: float
    salience_threshold: float
    leaning: Leaning
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SidedHit:
    """One entry that was found, with its cosines as they are.

    score: in [0, 1], the order shown. A cosine is None where its side was not asked for, or there
    is no encoder. matched: a word of a question stands in the entry.
    """

    doc: Doc
    sides: Sides
    score: float
    salience: float
    matched: bool
    work_context_score: float | None
    content_score: float | None
    combined_score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SidedFound:
    """Hits, best first, and sentences on what a reader must know."""

    hits: tuple[SidedHit, ...]
    notes: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class _Candidate:
    """words: its share of the score by words. known: the index's cosine with the content."""

    doc: Doc
    sides: Sides
    words: float = 0.0
    ranked: float = 0.0
    matched: bool = False
    known: float | None = None


def salience(age_days: float, leaning: Leaning) -> float:
    """How easily an entry still comes to mind, in [minimum_salience, 1]; 0.5 at one half-life."""
    faded = float(0.5 ** (max(age_days, 0.0) / leaning.half_life_days))
    return max(faded, leaning.minimum_salience)


def bar(min_score: float, fresh: float, threshold: float, leaning: Leaning) -> float:
    """The combined cosine that an entry of this salience needs.

    It is `min_score` down to the threshold, and rises evenly to `raised` more at the least one.
    """
    span = threshold - leaning.minimum_salience
    if fresh >= threshold or span <= 0:
        return min_score
    return min_score + leaning.raised * min((threshold - fresh) / span, 1.0)


class SidedFinder:
    """Finds entries by two questions at once; by words alone while there is no encoder.

    The index holds one vector a chunk of an entry, made of all it says. So the entries that either
    question brings up are candidates, and their two sides are encoded when they are asked about;
    the vectors are kept while the process lives. Thread-safe.
    """

    def __init__(self, *, finder: Finder, encoder: EncoderSlot) -> None:
        self._finder = finder
        self._encoder = encoder
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], Vector] = OrderedDict()
        self._aside = ThreadPoolExecutor(_ASIDE, thread_name_prefix="second question")

    def find(self, asked: TwoQuestions, *, sides: Callable[[Doc], Sides | None]) -> SidedFound:
        """The best entries. sides: of a doc; None for one that is gone.

        Raises: Invalid where both questions are blank, or one is too long.
        """
        if not asked.work_context.strip() and not asked.content.strip():
            raise Invalid(
                "Both questions are blank.", hint="Ask by work_context, by content, or by both."
            )
        candidates: dict[str, _Candidate] = {}
        notes: dict[str, None] = {}
        queries: dict[tuple[str, str], Vector] = {}
        for text, found in self._search(asked):
            _gather(found, candidates, sides, is_content=text is asked.content)
            notes |= dict.fromkeys(found.notes)
            if found.vector is not None:
                queries[found.identity, text] = found.vector
        hits, why = self._judged(asked, list(candidates.values()), queries)
        if why:
            notes[why] = None
        hits.sort(key=lambda hit: (-hit.score, -hit.sides.at.timestamp(), hit.doc.ref))
        return SidedFound(hits=tuple(hits[: asked.limit]), notes=tuple(notes))

    def _search(self, asked: TwoQuestions) -> list[tuple[str, Found]]:
        """What each question brings up, the content's first; two are asked side by side."""
        pool = max(
            min(numbers.NOTEBOOK_POOL * asked.limit, numbers.NOTEBOOK_POOL_MOST), asked.limit
        )
        questions = [
            Question(
                text=text,
                within=asked.within,
                limit=pool,
                floor=_LEAST_COSINE,
                policy=numbers.NOTEBOOK,
            )
            for text in (asked.content, asked.work_context)
            if text.strip()
        ]
        # Most of a search is spent where other threads may go on: in the index and in products.
        others = [self._aside.submit(self._finder.find, each) for each in questions[1:]]
        found = [self._finder.find(questions[0]), *(each.result() for each in others)]
        return [(each.text, one) for each, one in zip(questions, found, strict=True)]

    def _judged(
        self,
        asked: TwoQuestions,
        candidates: Sequence[_Candidate],
        queries: Mapping[tuple[str, str], Vector],
    ) -> tuple[list[SidedHit], str]:
        """The candidates that are hits, with their scores; and why there are no cosines, if so."""
        encoder = self._encoder.get()
        if encoder is None:
            return [_by_words(x, asked) for x in candidates if x.matched], ""
        try:
            contexts, contents = self._cosines(encoder, asked, candidates, queries)
        except MemoryError:
            why = "Searched by words alone: there is not enough memory for the encoder."
            return [_by_words(x, asked) for x in candidates if x.matched], why
        except CommonplaceError as exc:
            why = f"Searched by words alone: {exc.message}"
            return [_by_words(x, asked) for x in candidates if x.matched], why
        judged = [
            _hit(x, asked, context, content)
            for x, context, content in zip(candidates, contexts, contents, strict=True)
        ]
        return [hit for hit in judged if hit.matched or _is_near(hit, asked)], ""

    def _cosines(
        self,
        encoder: Encoder,
        asked: TwoQuestions,
        candidates: Sequence[_Candidate],
        queries: Mapping[tuple[str, str], Vector],
    ) -> tuple[list[float | None], list[float | None]]:
        """Of each candidate: its context with the one question, its content with the other.

        queries: the questions' vectors that are known, by the encoder and the text.
        """

        def query_of(text: str) -> Vector:
            known = queries.get((encoder.identity, text))
            return encoder.encode_query(text) if known is None else known

        none: list[float | None] = [None] * len(candidates)
        contexts, contents = none, none
        scale = numbers.scale_of(encoder.identity)
        by_context = bool(asked.work_context.strip())
        by_content = bool(asked.content.strip())
        chunks = [_chunks(encoder, x.sides.content) if by_content else [] for x in candidates]
        lines = [x.sides.context for x in candidates] if by_context else []
        kept = self._vectors(encoder, [*lines, *(part for each in chunks for part in each)])
        if by_context:
            query = query_of(asked.work_context)
            contexts = [
                scale.of(float(kept[line] @ query)) if line.strip() else None for line in lines
            ]
        if by_content:
            query = query_of(asked.content)
            contents = [
                _best(
                    [scale.of(float(kept[part] @ query)) for part in parts],
                    candidate.known,
                    len(parts),
                )
                for candidate, parts in zip(candidates, chunks, strict=True)
            ]
        return contexts, contents

    def _vectors(self, encoder: Encoder, texts: Iterable[str]) -> dict[str, Vector]:
        """The vectors of these texts; blank ones have none."""
        wanted = {text: (encoder.identity, text_hash(text)) for text in texts if text.strip()}
        with self._lock:
            found = {text: self._kept[key] for text, key in wanted.items() if key in self._kept}
            for text in found:
                self._kept.move_to_end(wanted[text])
        missing = sorted(wanted.keys() - found, key=lambda text: (len(text), text))
        if missing:
            made = encoder.encode_passages(missing)
            found |= dict(zip(missing, made, strict=True))
            with self._lock:
                self._kept.update((wanted[text], found[text]) for text in missing)
                while len(self._kept) > numbers.NOTEBOOK_VECTORS:
                    self._kept.popitem(last=False)
        return found


def _gather(
    found: Found,
    candidates: dict[str, _Candidate],
    sides: Callable[[Doc], Sides | None],
    *,
    is_content: bool,
) -> None:
    """Add what one question brought up."""
    for hit in found.hits:
        # Twins of one text are entries of their own.
        for ref in (hit.doc.ref, *hit.also):
            if ref not in candidates:
                doc = replace(hit.doc, ref=ref)
                own = sides(doc)
                if own is None:
                    continue
                candidates[ref] = _Candidate(doc=doc, sides=own)
            _note(candidates[ref], hit, is_content=is_content)


def _note(candidate: _Candidate, hit: Hit, *, is_content: bool) -> None:
    candidate.words = max(candidate.words, hit.legs.get("words", 0.0))
    candidate.ranked = max(candidate.ranked, hit.score)
    candidate.matched = candidate.matched or hit.by != "meaning"
    if is_content:
        candidate.known = hit.similarity


def _chunks(encoder: Encoder, text: str) -> list[str]:
    if not text.strip():
        return []
    return [text[start:end] for start, end in encoder.split(text, most=numbers.NOTEBOOK_CHUNKS)]


def _best(cosines: Sequence[float], known: float | None, parts: int) -> float | None:
    """The cosine of the nearest chunk; of chunks that were not encoded the index tells."""
    if parts == numbers.NOTEBOOK_CHUNKS and known is not None:
        cosines = [*cosines, known]
    return max(cosines, default=None)


def _is_near(hit: SidedHit, asked: TwoQuestions) -> bool:
    least = bar(asked.min_score, hit.salience, asked.salience_threshold, asked.leaning)
    return hit.combined_score is not None and hit.combined_score >= least


def _age(candidate: _Candidate, asked: TwoQuestions) -> float:
    return salience((asked.now - candidate.sides.at) / _DAY, asked.leaning)


def _by_words(candidate: _Candidate, asked: TwoQuestions) -> SidedHit:
    leaning, fresh = asked.leaning, _age(candidate, asked)
    return SidedHit(
        doc=candidate.doc,
        sides=candidate.sides,
        score=(candidate.ranked + leaning.fresh * fresh) / (1 + leaning.fresh),
        salience=fresh,
        matched=candidate.matched,
        work_context_score=None,
        content_score=None,
        combined_score=None,
    )


def _hit(
    candidate: _Candidate, asked: TwoQuestions, context: float | None, content: float | None
) -> SidedHit:
    leaning, fresh = asked.leaning, _age(candidate, asked)
    combined = _combined(asked, context, content)
    words = candidate.words / (numbers.NOTEBOOK.words / numbers.NOTEBOOK.most(leans_to_time=False))
    total = max(combined or 0.0, 0.0) + leaning.fresh * fresh + leaning.words * min(words, 1.0)
    return SidedHit(
        doc=candidate.doc,
        sides=candidate.sides,
        score=min(total / (1 + leaning.fresh + leaning.words), 1.0),
        salience=fresh,
        matched=candidate.matched,
        work_context_score=context,
        content_score=content,
        combined_score=combined,
    )


def _combined(asked: TwoQuestions, context: float | None, content: float | None) -> float | None:
    """The two cosines by their weights; a question that was not asked has none.

    A side that the entry does not have counts as 0: it is not what was asked for.
    """
    leaning = asked.leaning
    sides = [
        (leaning.context_weight, asked.work_context, context),
        (leaning.content_weight, asked.content, content),
    ]
    counted = [(weight, cosine or 0.0) for weight, text, cosine in sides if text.strip()]
    whole = sum(weight for weight, _ in counted)
    if whole <= 0:  # the one question that was asked has no weight: it is all there is
        return max(cosine for _, cosine in counted)
    return sum(weight * cosine for weight, cosine in counted) / whole
