"""The finder: one question in, judged hits out.

Never writes, and never ranks: the index narrows and measures, `rank` decides.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.text import excerpt
from commonplace.core.values import Filter, Found, Hit
from commonplace.search import policy as numbers
from commonplace.search.rank import Ranked, collapsed, rank

if TYPE_CHECKING:
    from commonplace.core.ports import EncoderSlot, OwnerIndex
    from commonplace.core.values import Vector
    from commonplace.search.filing import Filing
    from commonplace.search.policy import Policy

_ENCODING_AT_ONCE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked: text, the candidates it may look at, how many hits, and by which policy.

    floor: cosine in [-1, 1] under which a hit by meaning alone is cut.
    """

    text: str
    within: Filter
    limit: int
    floor: float
    policy: Policy


class Finder:
    """Searches one owner's index; by words alone while there is no encoder, and says so."""

    def __init__(self, *, index: OwnerIndex, encoder: EncoderSlot, filing: Filing) -> None:
        self._index = index
        self._encoder = encoder
        self._filing = filing
        self._aside = ThreadPoolExecutor(max_workers=_ENCODING_AT_ONCE, thread_name_prefix="query")

    def find(self, question: Question) -> Found:
        """The best hits for a question, filters before everything.

        Raises: Invalid for a blank query, or one over 10,000 characters.
        """
        if not question.text.strip():
            raise Invalid(
                "The query is blank.", hint="Ask in words, such as 'database lock problems'."
            )
        if len(question.text) > numbers.MAX_QUERY_LENGTH:
            raise Invalid(
                f"The query has {len(question.text):,} characters.",
                hint=f"Use at most {numbers.MAX_QUERY_LENGTH:,}: a question, not a document.",
            )
        # Looking at the journals waits for the disk, encoding for the processor: side by side.
        encoding = self._aside.submit(_encoded, self._encoder, question.text)
        notes = self._filing.refresh(numbers.FILING_WAIT_S)
        vector, identity, why = encoding.result()
        if vector is None:
            notes = (*notes, f"Searched by words alone: {why}")
        else:
            notes = (*notes, *self._filing.settle(identity, numbers.VECTORS_WAIT_S))
        candidates = self._index.candidates(
            words=question.text,
            vector=vector,
            identity=identity,
            within=question.within,
            limit=question.policy.legs(question.limit),
        )
        floor = numbers.floor(question.floor, identity)
        ranked = rank(candidates, floor=floor, policy=question.policy)
        best = collapsed(ranked, limit=question.limit, policy=question.policy)
        return Found(hits=tuple(_hit(one, question.text) for one in best), notes=notes)


def _encoded(slot: EncoderSlot, text: str) -> tuple[Vector | None, str, str]:
    """The vector of a query and the encoder's identity; or None, and the reason at the end."""
    encoder = slot.get(numbers.ENCODER_WAIT_S)
    if encoder is None:
        return None, "", slot.reason()
    try:
        return encoder.encode_query(text), encoder.identity, ""
    except MemoryError:
        return None, encoder.identity, "There is not enough memory for the encoder."
    except CommonplaceError as exc:
        return None, encoder.identity, exc.message


def _hit(one: Ranked, query: str) -> Hit:
    return Hit(
        doc=one.candidate.doc,
        score=one.score,
        by=one.by,
        similarity=one.candidate.similarity,
        excerpt=excerpt(one.candidate.doc.text, query),
        legs={"meaning": one.meaning, "words": one.words},
        also=one.also,
    )
