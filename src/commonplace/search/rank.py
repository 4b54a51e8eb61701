"""Ranking: raw figures of the legs in, ordered and scored hits out. Pure functions.

Never reads an index, a clock or a setting; every number comes from a policy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from commonplace.core.values import By, Candidate
    from commonplace.search.policy import Policy

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A candidate with its score in [0, 1], the share of each leg, and the refs folded into it."""

    candidate: Candidate
    score: float
    by: By
    meaning: float
    words: float
    also: tuple[str, ...] = ()


def rank(candidates: Sequence[Candidate], *, floor: float, policy: Policy) -> list[Ranked]:
    """Order candidates by meaning and words, each divided by its maximum, then added.

    floor: cosine under which a candidate is cut; one that a word matches is never cut.
    A candidate without a similarity, whose vector is not made yet, is judged by words alone.
    Ties: newer first, then by ref.
    """
    kept = [
        (c, similarity, c.words or 0.0)
        for c in candidates
        if (similarity := max(c.similarity or 0.0, 0.0)) >= floor or c.words is not None
    ]
    nearest = max((similarity for _, similarity, _ in kept), default=0.0)
    top_meaning = max(nearest, policy.clear) or 1.0
    top_words = max((figure for _, _, figure in kept), default=0.0) or 1.0
    ranked = [
        Ranked(
            candidate=one,
            score=(meaning := policy.meaning * (similarity / top_meaning) / policy.most)
            + (words := _words_weight(one, policy) * (figure / top_words) / policy.most),
            by=_by(one, floor),
            meaning=meaning,
            words=words,
        )
        for one, similarity, figure in kept
    ]
    # Sorted twice, since a time has no negative: ref ascending within newest first within score.
    ranked.sort(key=lambda r: r.candidate.doc.ref)
    ranked.sort(key=lambda r: (r.score, r.candidate.doc.at), reverse=True)
    return ranked


def _words_weight(candidate: Candidate, policy: Policy) -> float:
    return policy.most if candidate.similarity is None else policy.words


def _by(candidate: Candidate, floor: float) -> By:
    if candidate.words is None:
        return "meaning"
    return "both" if candidate.similarity is not None and candidate.similarity >= floor else "words"


def collapsed(ranked: Iterable[Ranked], *, limit: int, policy: Policy) -> list[Ranked]:
    """The best `limit`; near-duplicates fold into the best of them, which keeps their refs."""
    kept: list[Ranked] = []
    bags: list[frozenset[str]] = []
    also: list[list[str]] = []
    for one in ranked:
        bag = frozenset(_WORD.findall(one.candidate.doc.text.casefold()))
        twin = next(
            (i for i, other in enumerate(bags) if _alike(bag, other) >= policy.duplicate), None
        )
        if twin is not None:
            also[twin].append(one.candidate.doc.ref)
        elif len(kept) < limit:
            kept.append(one)
            bags.append(bag)
            also.append([])
        else:
            break
    return [replace(one, also=tuple(refs)) for one, refs in zip(kept, also, strict=True)]


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    # Entries without a word (emoji alone) are never taken for each other.
    return len(one & other) / len(one | other) if one and other else 0.0
