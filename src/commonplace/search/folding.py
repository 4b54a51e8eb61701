"""Which of the hits are shown where no number of them was asked for: those that fit. Pure.

Never drops a hit for good, and never folds one that alone has a word of the question.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from commonplace.core.text import query_terms
from commonplace.search import policy as numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from commonplace.core.values import Found, Hit

_SHORTEST, _ENDING = 4, 3
"""The shortest beginning of a word that is looked for, and the longest ending left out of it."""


def fitting(found: Found, question: str) -> tuple[Hit, ...]:
    """The hits that fit, best first; all of them where few would be folded.

    Of what is likely about something else the best three are shown, of any other those whose score
    is not far below the best one's; and each that has a word of the question which no hit before
    it has.
    """
    hits = found.hits
    cut = _end(hits, is_weak=found.chance is not None and found.chance < numbers.FOLDING_CHANCE)
    if len(hits) - cut < numbers.FOLDED_LEAST:
        return hits
    missing = [*_beginnings(question)]
    shown = []
    for number, hit in enumerate(hits):
        text = hit.doc.said.casefold()
        has = [word for word in missing if word.search(text)]
        if number < cut or has:
            shown.append(hit)
            missing = [word for word in missing if word not in has]
    return tuple(shown) if len(hits) - len(shown) >= numbers.FOLDED_LEAST else hits


def _end(hits: Sequence[Hit], *, is_weak: bool) -> int:
    """How many of the hits are shown for their place."""
    if is_weak:
        return min(numbers.BEST_SHOWN, len(hits))
    for number in range(numbers.BEST_SHOWN, len(hits)):
        if hits[number].score < hits[0].score * numbers.FITTING_SHARE:
            return number
    return len(hits)


def _beginnings(question: str) -> Iterator[re.Pattern[str]]:
    """What finds the words of a question in a text without case, in any of their forms."""
    for term in query_terms(question):
        word = term.text
        if not word.isascii():  # runs of CJK have no word's edge inside
            yield re.compile(re.escape(word))
        elif len(word) <= _SHORTEST:
            yield re.compile(rf"\b{re.escape(word)}\b")
        else:
            yield re.compile(rf"\b{re.escape(word[: max(_SHORTEST, len(word) - _ENDING)])}")
