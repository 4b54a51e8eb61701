"""Search with two questions: what kind of work it was, and what was written; each has a cosine.

Never writes, and holds no number: `policy` does. Reads no journal: its caller says which texts of
an entry are compared.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.text import text_hash
from commonplace.core.values import Hit
from commonplace.search import policy as numbers
from commonplace.search.finder import SearchQuestion
from commonplace.search.later import in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from commonplace.core.ports import Encoder, EncoderSlot
    from commonplace.core.values import By, ChainLink, Doc, Filter, Found, Replacement, Vector
    from commonplace.search.finder import Finder
    from commonplace.search.policy import TwoQuestionWeights

_LEAST_COSINE = -1.0
_ASIDE = 4
_DAY = timedelta(days=1)


class ComparedTexts(Struct, frozen=True, kw_only=True):
    """The two texts of an entry that are compared with the two questions.

    Args:
        contexts: Compared with the work context; the nearest counts.
        content: Compared with the content.
    """

    contexts: tuple[str, ...]
    content: str
    at: datetime


class TwoQuestions(Struct, frozen=True, kw_only=True):
    """Two questions at once; one of them may be blank, and does not count then.

    Args:
        min_score: Combined cosine under which a hit by meaning alone is cut.
        salience_threshold: In [0, 1]: the salience under which that least cosine rises; 0 for
            never.
        now: Aware; from when ages are counted.
    """

    work_context: str
    content: str
    where: Filter
    limit: int
    min_score: float
    salience_threshold: float
    weights: TwoQuestionWeights
    now: datetime


class TwoQuestionHit(Struct, frozen=True, kw_only=True):
    """One entry that was found, with its cosines.

    Args:
        score: In [0, 1]; the order shown.
        salience: How easily it still comes to mind, in [0, 1].
        work_context_score: Cosine of its context; None where that was not asked, or without an
            encoder.
        content_score: Cosine of its content, likewise.
        combined_score: Both by their weights, likewise.
        replaces: The entry whose place it took; None for none.
        replaced_by: The entry that holds now in its place; None where it holds itself.
        later: The newest of the hits that speaks of the same and was later; None for none.
        replaced_since: Of an overview, the entries that were replaced after it was written.
    """

    doc: Doc
    compared: ComparedTexts
    score: float
    salience: float
    matched: bool
    work_context_score: float | None
    content_score: float | None
    combined_score: float | None
    replaces: ChainLink | None = None
    replaced_by: ChainLink | None = None
    later: ChainLink | None = None
    replaced_since: tuple[Replacement, ...] = ()

    @property
    def by(self) -> By:
        """Whether its words or its meaning were found, or both."""
        if not self.matched:
            return "meaning"
        return "words" if self.combined_score is None else "both"

    def as_hit(self, about: str) -> Hit:
        """The same as a hit of one question, by the cosine of its content."""
        return Hit(
            doc=self.doc,
            score=self.score,
            by=self.by,
            similarity=self.content_score,
            about=about,
            replaces=self.replaces,
            replaced_by=self.replaced_by,
            later=self.later,
            replaced_since=self.replaced_since,
        )


class TwoQuestionFound(Struct, frozen=True, kw_only=True):
    """Hits, best first, and sentences on what a reader must know."""

    hits: tuple[TwoQuestionHit, ...]
    notes: tuple[str, ...] = ()


class _Candidate(Struct, kw_only=True):
    """An entry that a question brought up.

    Args:
        words: The share of words in its score.
        ranked: Its score as the index ranked it.
        index_cosine: The cosine of its nearest chunk with the content.
        found: As the index gave it; None for a twin of that.
    """

    doc: Doc
    compared: ComparedTexts
    words: float = 0.0
    ranked: float = 0.0
    matched: bool = False
    index_cosine: float | None = None
    found: Hit | None = None


def salience(age_days: float, weights: TwoQuestionWeights) -> float:
    """How easily an entry still comes to mind, in [minimum_salience, 1]; 0.5 at one half-life."""
    faded = float(0.5 ** (max(age_days, 0.0) / weights.half_life_days))
    return max(faded, weights.minimum_salience)


def least_cosine(
    min_score: float, fresh: float, threshold: float, weights: TwoQuestionWeights
) -> float:
    """The combined cosine that an entry of this salience needs.

    It is `min_score` down to the threshold, and rises evenly to `raised` more at the least one.
    """
    span = threshold - weights.minimum_salience
    if fresh >= threshold or span <= 0:
        return min_score
    return min_score + weights.raised * min((threshold - fresh) / span, 1.0)


class TwoQuestionFinder:
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
        self._pool = ThreadPoolExecutor(_ASIDE, thread_name_prefix="second question")

    def find(
        self, asked: TwoQuestions, *, compared: Callable[[Doc], ComparedTexts | None]
    ) -> TwoQuestionFound:
        """The best entries for two questions.

        compared: Gives the two texts of a doc; None for one that is gone.
        Raises: Invalid, where both questions are blank, or one is too long.
        """
        if not asked.work_context.strip() and not asked.content.strip():
            raise Invalid(
                "Both questions are blank.", hint="Ask by work_context, by content, or by both."
            )
        candidates: dict[str, _Candidate] = {}
        notes: dict[str, None] = {}
        queries: dict[tuple[str, str], Vector] = {}
        for text, found in self._search(asked):
            _gather(found, candidates, compared, is_content=text is asked.content)
            notes |= dict.fromkeys(found.notes)
            if found.vector is not None:
                queries[found.identity, text] = found.vector
        hits, why = self._judged(asked, list(candidates.values()), queries)
        if why:
            notes[why] = None
        hits = [_in_chain(hit, candidates[hit.doc.ref].found) for hit in hits]
        hits.sort(key=lambda hit: (-hit.score, -hit.compared.at.timestamp(), hit.doc.ref))
        return TwoQuestionFound(hits=tuple(in_order(hits)[: asked.limit]), notes=tuple(notes))

    def _search(self, asked: TwoQuestions) -> list[tuple[str, Found]]:
        """What each question brings up, the content's first; two are asked side by side."""
        pool = max(
            min(numbers.NOTEBOOK_POOL * asked.limit, numbers.NOTEBOOK_POOL_MOST), asked.limit
        )
        questions = [
            SearchQuestion(
                text=text,
                where=asked.where,
                limit=pool,
                floor=_LEAST_COSINE,
                policy=numbers.NOTEBOOK,
            )
            for text in (asked.content, asked.work_context)
            if text.strip()
        ]
        # Most of a search is spent where other threads may go on: in the index and in products.
        others = [
            # In the call's context, so that its screen hides secrets before an excerpt is cut.
            self._pool.submit(copy_context().run, self._finder.find, each)
            for each in questions[1:]
        ]
        found = [self._finder.find(questions[0]), *(each.result() for each in others)]
        return [(each.text, one) for each, one in zip(questions, found, strict=True)]

    def _judged(
        self,
        asked: TwoQuestions,
        candidates: Sequence[_Candidate],
        queries: Mapping[tuple[str, str], Vector],
    ) -> tuple[list[TwoQuestionHit], str]:
        """The candidates that are hits, with their scores; and why there are no cosines, if so."""
        encoder, why = self._encoder.get(), ""
        if encoder is not None:
            try:
                cosines = self._cosines(encoder, asked, candidates, queries)
            except CommonplaceError as exc:
                why = f"Searched by words alone: {exc.message}"
            else:
                judged = [_hit(*each, asked) for each in zip(candidates, *cosines, strict=True)]
                return [hit for hit in judged if hit.matched or _is_near(hit, asked)], ""
        return [_hit(x, None, None, asked, by_words=True) for x in candidates if x.matched], why

    def _cosines(
        self,
        encoder: Encoder,
        asked: TwoQuestions,
        candidates: Sequence[_Candidate],
        queries: Mapping[tuple[str, str], Vector],
    ) -> tuple[list[float | None], list[float | None]]:
        """The cosines of each candidate's two texts with the two questions.

        queries: The vectors of questions that are known, by identity and text.
        """

        def query_of(text: str) -> Vector:
            known = queries.get((encoder.identity, text))
            return encoder.encode_query(text) if known is None else known

        none: list[float | None] = [None] * len(candidates)
        contexts, contents = none, none
        scale = numbers.scale_of(encoder.identity)
        by_context = bool(asked.work_context.strip())
        by_content = bool(asked.content.strip())
        # By content alone an entry is judged as a whole, as the index has encoded it.
        chunks = [
            _chunks(encoder, x.compared.content)
            if by_content and (by_context or x.index_cosine is None)
            else []
            for x in candidates
        ]
        lines = [x.compared.contexts if by_context else () for x in candidates]
        both = (*lines, *chunks)
        kept = self._vectors(encoder, [text for each in both for text in each])
        if by_context:
            query = query_of(asked.work_context)
            contexts = [
                max((scale.of(float(kept[x] @ query)) for x in each if x.strip()), default=None)
                for each in lines
            ]
        if by_content:
            query = query_of(asked.content)
            contents = [
                _best(
                    [scale.of(float(kept[part] @ query)) for part in parts],
                    candidate.index_cosine,
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
    compared: Callable[[Doc], ComparedTexts | None],
    *,
    is_content: bool,
) -> None:
    """Add what one question brought up."""
    for hit in found.hits:
        # Twins of one text are entries of their own.
        for ref in (hit.doc.ref, *hit.also):
            if ref not in candidates:
                doc = replace(hit.doc, ref=ref)
                own = compared(doc)
                if own is None:
                    continue
                candidates[ref] = _Candidate(doc=doc, compared=own)
            candidate = candidates[ref]
            candidate.found = hit if ref == hit.doc.ref else candidate.found
            candidate.words = max(candidate.words, hit.legs.get("words", 0.0))
            candidate.ranked = max(candidate.ranked, hit.score)
            candidate.matched = candidate.matched or hit.by != "meaning"
            if is_content:
                candidate.index_cosine = hit.similarity


def _in_chain(hit: TwoQuestionHit, found: Hit | None) -> TwoQuestionHit:
    """A hit with what it replaced, or lower with what took its place."""
    if found is None or not (found.replaces or found.replaced_by or found.later):
        return hit
    factor = numbers.SUPERSEDED_FACTOR if found.replaced_by else 1.0
    return replace(
        hit,
        score=hit.score * factor,
        replaces=found.replaces,
        replaced_by=found.replaced_by,
        later=found.later,
    )


def _chunks(encoder: Encoder, text: str) -> list[str]:
    if not text.strip():
        return []
    return [text[start:end] for start, end in encoder.split(text, most=numbers.NOTEBOOK_CHUNKS)]


def _best(cosines: Sequence[float], index_cosine: float | None, parts: int) -> float | None:
    """The cosine of the nearest chunk; the index knows those of chunks not encoded here."""
    if parts in {0, numbers.NOTEBOOK_CHUNKS} and index_cosine is not None:
        cosines = [*cosines, index_cosine]
    return max(cosines, default=None)


def _is_near(hit: TwoQuestionHit, asked: TwoQuestions) -> bool:
    least = least_cosine(asked.min_score, hit.salience, asked.salience_threshold, asked.weights)
    return hit.combined_score is not None and hit.combined_score >= least


def _hit(
    candidate: _Candidate,
    context: float | None,
    content: float | None,
    asked: TwoQuestions,
    *,
    by_words: bool = False,
) -> TwoQuestionHit:
    """The hit of a candidate with its cosines; one question has the index's order.

    by_words: Whether there are no cosines.
    """
    weights = asked.weights
    fresh = salience((asked.now - candidate.compared.at) / _DAY, weights)
    combined = None if by_words else _combined(asked, context, content)
    if by_words or not asked.work_context.strip():
        score = (candidate.ranked + weights.fresh * fresh) / (1 + weights.fresh)
    else:
        most = numbers.NOTEBOOK.words / numbers.NOTEBOOK.max_score(names_time=False)
        words = weights.words * min(candidate.words / most, 1.0)
        total = max(combined or 0.0, 0.0) + weights.fresh * fresh + words
        score = min(total / (1 + weights.fresh + weights.words), 1.0)
    return TwoQuestionHit(
        doc=candidate.doc,
        compared=candidate.compared,
        score=score,
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
    weights = asked.weights
    compared = [
        (weights.context_weight, asked.work_context, context),
        (weights.content_weight, asked.content, content),
    ]
    counted = [(weight, cosine or 0.0) for weight, text, cosine in compared if text.strip()]
    whole = sum(weight for weight, _ in counted)
    if whole <= 0:  # the one question that was asked has no weight: it is all there is
        return max(cosine for _, cosine in counted)
    return sum(weight * cosine for weight, cosine in counted) / whole
