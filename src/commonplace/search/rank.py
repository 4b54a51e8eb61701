"""Ranking: columns of raw figures in, an order with scores out. Pure functions.

Never reads an index, a clock or a setting; every number comes from a policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from commonplace.core.clock import bounds_us
from commonplace.search import policy as numbers
from commonplace.search.query_features import OWN_AUTHOR

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from commonplace.core.values import Candidates, Interval, Mask, Numbers
    from commonplace.search.boosts import Boost
    from commonplace.search.policy import Likelihood, Policy
    from commonplace.search.query_features import QueryFeatures

    Scores = NDArray[np.float64]

# Scores that differ by less are equal: sums in another order differ by as much.
_TIE_DECIMALS = 6
_DAY_US = 86_400 * 1_000_000


class Ranking(NamedTuple):
    """An order of candidates, best first, and how each score came about.

    Args:
        rows: Rows of the candidates, best first.
        score: By row, in [0, 1]: the sum of meaning, words and priors.
        meaning: By row, the share of meaning in the score.
        words: By row, the share of words.
        near: By row, whether its cosine reaches the floor.
    """

    rows: Numbers
    score: Scores
    meaning: Scores
    words: Scores
    near: Mask


def rank(
    found: Candidates,
    *,
    floor: float,
    policy: Policy,
    features: QueryFeatures,
    fitting: Sequence[str] = (),
    preferred_time: Interval | None = None,
    boosts: Sequence[Boost] = (),
    now: datetime | None = None,
) -> Ranking:
    """Order candidates by meaning and words, each divided by its maximum, then added, with priors.

    A candidate whose vector is not made yet is judged by words alone. Ties: newer first.

    floor: Cosine under which one is cut, unless a word of the question stands in it.
    fitting: The kinds of entry that fit the time that is asked for.
    boosts: What else the question leans to.
    now: From when ages are counted, for a policy that weighs them.
    """
    known = ~np.isnan(found.similarity)
    near = np.maximum(found.similarity, 0.0) >= floor  # false for NaN
    kept = found.matched | near
    if policy.lent:
        kept |= ~known & (found.words > 0)
    meaning, words = _shares(found, known, kept, policy)
    score = _with_priors(meaning + words, found, policy, features)
    score = _with_kinds(score, found, policy, fitting)
    score = _with_lower_kinds(score, found, policy, features)
    if preferred_time is not None:
        score = score * np.where(_inside(found, preferred_time, policy), policy.inside, 1.0)
    if now is not None and (policy.recent or policy.preferred_kinds):
        score = score * _age_and_kind_factor(found, policy, now)
    most = policy.max_score(names_time=preferred_time is not None)
    score, most = _with_boosts(score, most, boosts)
    # Rounded once, for the order and for what is shown: equals in the one are equal in the other.
    score = (score / most).round(_TIE_DECIMALS)
    rows = np.flatnonzero(kept)
    order = np.lexsort((-rows, -score[rows]))
    return Ranking(rows[order], score, meaning / most, words / most, near)


def _shares(found: Candidates, known: Mask, kept: Mask, policy: Policy) -> tuple[Scores, Scores]:
    """What meaning and words give to the score of each candidate that is kept."""
    # In 64 bits: a full score is 1 then, and not a hair more.
    nearness = found.nearness.astype(np.float64)
    by_meaning = np.where(kept & known, nearness, 0.0).clip(min=0.0)
    by_words = np.where(kept, found.words.astype(np.float64), 0.0)
    top_meaning = max(float(by_meaning.max(initial=0.0)), policy.clear) or 1.0
    top_words = max(float(by_words.max(initial=0.0)), policy.clear_words) or 1.0
    weight = np.where(known, policy.words, policy.meaning + policy.words)
    return policy.meaning * by_meaning / top_meaning, weight * by_words / top_words


def demoted(ranking: Ranking, rows: Sequence[int], factor: float) -> Ranking:
    """The same order with some rows further down: their scores times a factor."""
    score = ranking.score.copy()
    score[list(rows)] = (score[list(rows)] * factor).round(_TIE_DECIMALS)
    order = np.lexsort((-ranking.rows, -score[ranking.rows]))
    return ranking._replace(rows=ranking.rows[order], score=score)


def _with_priors(
    score: Scores, found: Candidates, policy: Policy, features: QueryFeatures
) -> Scores:
    """Source: configuration A; in its order, each on what the one before it gave."""
    if policy.timed and features.asks_time:
        score = score + policy.timed * found.timed
    named = features.named(found.authors)
    if named >= 0:
        score = score * np.where(found.author == named, policy.named, 1.0)
    if features.says_i and OWN_AUTHOR in found.authors:
        own = found.authors.index(OWN_AUTHOR)
        score = score * np.where(found.author == own, policy.own, 1.0)
    return score


def _with_kinds(score: Scores, found: Candidates, policy: Policy, fitting: Sequence[str]) -> Scores:
    """Kinds that fit the time asked for count for more."""
    if fitting and policy.fitting != 1.0:
        fits = [place for place, kind in enumerate(found.kinds) if kind in fitting]
        score = score * np.where(np.isin(found.kind, fits), policy.fitting, 1.0)
    return score


def _with_lower_kinds(
    score: Scores, found: Candidates, policy: Policy, features: QueryFeatures
) -> Scores:
    """Kinds that nobody wrote on purpose count for less, unless what was said is asked for."""
    for kind, factor in () if features.asks_said else policy.lower_kinds:
        if kind in found.kinds:
            score = score * np.where(found.kind == found.kinds.index(kind), factor, 1.0)
    return score


def _with_boosts(score: Scores, most: float, boosts: Sequence[Boost]) -> tuple[Scores, float]:
    """The scores with each boost, and the most that they can be."""
    for each in boosts:
        score = score * np.where(each.mask, each.factor, 1.0)
        most *= max(each.factor, 1.0)
    return score, most


def _inside(found: Candidates, preferred_time: Interval, policy: Policy) -> Mask:
    """Whether each candidate lies in a time, or not far from it."""
    beside = policy.beside_days * _DAY_US
    start, end = bounds_us(preferred_time)
    inside: Mask = (found.at_us >= start - beside) & (found.at_us < end + beside)
    return inside


def _age_and_kind_factor(found: Candidates, policy: Policy, now: datetime) -> Scores:
    """The factor of each candidate by its age and its kind; one from ahead of now counts as new."""
    days = (now.timestamp() * 1e6 - found.at_us) / _DAY_US
    fresh: Scores = np.exp(-np.maximum(days, 0.0) / policy.recent_days)
    factor = 1.0 + policy.recent * fresh
    for preferred in policy.preferred_kinds:
        if preferred.kind in found.kinds:
            is_kind = found.kind == found.kinds.index(preferred.kind)
            more = (preferred.factor - 1.0) * (fresh if preferred.fades else 1.0)
            if preferred.within_days:
                is_kind &= days <= preferred.within_days
            factor = factor * np.where(is_kind, 1.0 + more, 1.0)
    return factor


def chance(found: Candidates, ranking: Ranking, likelihoods: Sequence[Likelihood]) -> float | None:
    """How likely the hits are about what was asked; None where no meaning is known."""
    similarity = found.similarity[~np.isnan(found.similarity)]
    if not len(similarity):
        return None
    best = ranking.rows[: numbers.CHANCE_HITS]
    backed = found.covered[best] * found.nearness[best]  # NaN without a vector: fmax skips it
    close = np.sort(similarity)[-numbers.CHANCE_HITS :]
    tenth = close[0] if len(close) == numbers.CHANCE_HITS else numbers.UNRELATED
    nearest = float(close[-1])
    seen = {"ahead": nearest - float(tenth), "backed": float(np.fmax.reduce(backed, initial=0.0))}
    return max(each.of(nearest=nearest, **seen) for each in likelihoods)
