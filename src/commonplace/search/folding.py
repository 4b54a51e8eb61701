"""Which of the hits are shown where no number of them was asked for: those that fit. Pure.

Never drops a hit for good, and never folds one that has a rare word of the question.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from commonplace.core.text import query_terms
from commonplace.search import policy as numbers
from commonplace.search.query_features import asks_said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.text import Term
    from commonplace.core.values import Hit

_SHORTEST, _ENDING = 4, 3
"""The shortest beginning of a word that is looked for, and the longest ending left out of it."""


class Fitting(NamedTuple):
    """What is shown of some hits, best first, and what is folded.

    Attributes:
        hits: What is shown.
        less: What fits less than these.
        turns: What was said in sessions of which enough is shown.
    """

    hits: tuple[Hit, ...]
    less: tuple[Hit, ...] = ()
    turns: tuple[Hit, ...] = ()

    @property
    def folded_refs(self) -> frozenset[str]:
        """The refs of all that is folded."""
        return frozenset(hit.doc.ref for hit in (*self.less, *self.turns))


def fitting(hits: Sequence[Hit], question: str, chance: float | None) -> Fitting:
    """The hits that fit, best first; all of them where few would be folded.

    Of what is likely about something else the best three are shown, of any other those whose score
    is not far below the best one's; and each that has a word of the question which few hits have,
    or none before it.
    """
    by_session = few_of_a_session(hits, question, numbers.TURNS_SHARE)
    kept = by_session.hits
    cut = _end(kept, is_weak=numbers.is_weak(chance))
    if len(kept) - cut < numbers.FOLDED_LEAST:
        return by_session
    has_rare = _with_rare_words(kept, question)
    shown = tuple(x for place, x in enumerate(kept) if place < cut or has_rare[place])
    less = tuple(x for place, x in enumerate(kept) if place >= cut and not has_rare[place])
    if len(less) < numbers.FOLDED_LEAST:
        return by_session
    return by_session._replace(hits=shown, less=less)


def less_likely(hits: Sequence[Hit], question: str, chance: float | None) -> frozenset[str]:
    """The refs of those among a list's hits that fit far less than the best, or are more turns."""
    return fitting(hits, question, chance).folded_refs


def few_of_a_session(hits: Sequence[Hit], question: str, share: float = math.inf) -> Fitting:
    """The hits with three turns of one session, unless the question asks for a session.

    It does where it asks what was said, or names one. A turn that has a rare word stays.

    share: Of the best score, from which further turns stay too; of a list, of any score, none does.
    """
    sessions = [hit.doc.session if hit.doc.kind == numbers.TURN else "" for hit in hits]
    counts = Counter(sessions)
    crowded = {
        session
        for session, count in counts.items()
        if session and count > numbers.TURNS_SHOWN and not _names(question, session)
    }
    if not crowded or asks_said(question):
        return Fitting(tuple(hits))
    has_rare = _with_rare_words(hits, question)
    counts.clear()
    least = share * hits[0].score
    shown: list[Hit] = []
    turns: list[Hit] = []
    for place, (hit, session) in enumerate(zip(hits, sessions, strict=True)):
        counts[session] += 1
        is_more = session in crowded and counts[session] > numbers.TURNS_SHOWN
        folds = is_more and hit.score < least and not has_rare[place]
        (turns if folds else shown).append(hit)
    return Fitting(tuple(shown), turns=tuple(turns))


def _names(question: str, session: str) -> bool:
    """Whether a question names a session by its id, or the beginning of it."""
    name = session.rpartition("/")[2]
    return len(name) >= numbers.SESSION_NAMED and name[: numbers.SESSION_NAMED] in question


def _with_rare_words(hits: Sequence[Hit], question: str) -> list[bool]:
    """Whether each hit has a word of the question that few hits have, or none before it."""
    rare = [False] * len(hits)
    texts = [hit.doc.said.casefold() for hit in hits]
    for term in query_terms(question):
        places = [place for place, text in enumerate(texts) if _has(text, term)]
        for place in places if len(places) <= numbers.RARE_HITS else places[:1]:
            rare[place] = True
    return rare


def _end(hits: Sequence[Hit], *, is_weak: bool) -> int:
    """How many of the hits are shown for their place."""
    if is_weak:
        return min(numbers.BEST_SHOWN, len(hits))
    for number in range(numbers.BEST_SHOWN, len(hits)):
        if hits[number].score < hits[0].score * numbers.FITTING_SHARE:
            return number
    return len(hits)


def _has(text: str, term: Term) -> bool:
    """Whether a text without case has a word of a question, in any of its forms."""
    word = term.text
    if not word.isascii():  # runs of CJK have no word's edge inside
        return word in text
    is_whole = not term.prefix and len(word) <= _SHORTEST
    if not term.prefix:
        word = word[: max(_SHORTEST, len(word) - _ENDING)]
    # No pattern: to compile one for each word takes longer than to look for the word.
    start = -1
    while (start := text.find(word, start + 1)) >= 0:
        end = start + len(word)
        beside = text[max(start - 1, 0) : start] + (text[end : end + 1] if is_whole else "")
        if not any(sign.isalnum() or sign == "_" for sign in beside):
            return True
    return False
