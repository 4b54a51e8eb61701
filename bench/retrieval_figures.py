"""How good answers are: recall, MRR, nDCG, their means, and the intervals to trust them by.

Pure arithmetic; never asks a question.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    Values: TypeAlias = NDArray[np.float64]

BUDGETS = (500, 1_000)
"""Tokens of an answer within which the evidence is looked for."""

UNSEEN = (math.nan,) * len(BUDGETS)

MEASURES = (
    *("R@5", "R@10", "R@20", "MRR", "nDCG@10", "session R@10"),
    *(f"shown {tokens}" for tokens in BUDGETS),
)
SEED = 20_230_508
RESAMPLES = 2_000
DEPTH = 10
_SHOWN = ("R@10", "MRR")


class Outcome(Struct, frozen=True, kw_only=True):
    """A question's figures, in the order of MEASURES; folded: near-duplicates inside its hits."""

    archive: str
    kind: str
    figures: tuple[float, ...]
    folded: int = 0

    @classmethod
    def of(
        cls,
        *,
        archive: str,
        kind: str,
        gold: Sequence[int | None],
        sessions: float,
        shown: Sequence[float] = UNSEEN,
        folded: int = 0,
    ) -> Outcome:
        """The figures of one question.

        Args:
            archive: of the question.
            kind: of the question.
            gold: the rank of each entry that answers, from 1, None where it was not found.
            sessions: the share of their sessions that was found.
            shown: the share of their words that an answer shows within each of BUDGETS.
            folded: near-duplicates inside the hits.
        """
        ranks = [rank for rank in gold if rank is not None]
        figures = (
            *(sum(rank <= depth for rank in ranks) / len(gold) for depth in (5, 10, 20)),
            1 / min(ranks) if ranks else 0.0,
            ndcg(ranks, len(gold)),
            sessions,
            *shown,
        )
        return cls(archive=archive, kind=kind, figures=figures, folded=folded)


def ndcg(ranks: Iterable[int], count: int) -> float:
    """Gains discounted by log2(1 + rank) over the best that so many could give.

    Two entries folded into one hit share its rank, hence the bound of 1.
    """
    gained = sum(1 / math.log2(1 + rank) for rank in ranks if rank <= DEPTH)
    best = sum(1 / math.log2(1 + rank) for rank in range(1, min(count, DEPTH) + 1))
    return min(1.0, gained / best)


class Row(Struct, frozen=True, kw_only=True):
    """The means of some questions, and for each the 95 % intervals of two bootstraps.

    by_conversation: empty where there is only one.
    """

    label: str
    count: int
    means: dict[str, float]
    by_question: dict[str, tuple[float, float]]
    by_conversation: dict[str, tuple[float, float]]

    def facts(self) -> dict[str, Any]:
        """The row as JSON holds it."""
        return asdict(self)


def summed(outcomes: Sequence[Outcome], label: str, kinds: Sequence[str]) -> Row:
    """A row over the questions of these kinds; an average over questions, not over categories."""
    chosen = [one for one in outcomes if one.kind in kinds]
    values = np.array([one.figures for one in chosen], dtype=np.float64)
    values = values.reshape(len(chosen), len(MEASURES))
    names = [one.archive for one in chosen]
    by_question = _intervals(_resampled(values, range(len(chosen))))
    by_conversation = _intervals(_resampled(values, names)) if len(set(names)) > 1 else {}
    means = values.mean(axis=0) if chosen else np.full(len(MEASURES), np.nan)
    return Row(
        label=label,
        count=len(chosen),
        means=dict(zip(MEASURES, (round(float(mean), 6) for mean in means), strict=True)),
        by_question=by_question,
        by_conversation=by_conversation,
    )


def paired(ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> str:
    """How far R@10 / MRR of ours lie above theirs, with 95 % intervals over questions.

    Both hold the same questions in the same order.
    """
    pairs = [
        np.array(one.figures) - np.array(other.figures)
        for one, other in zip(ours, theirs, strict=True)
    ]
    values = np.array(pairs, dtype=np.float64).reshape(len(pairs), len(MEASURES))
    intervals = _intervals(_resampled(values, range(len(pairs))))
    means = dict(zip(MEASURES, values.mean(axis=0).tolist(), strict=True))
    return " / ".join(
        f"{means[name]:+.3f} ({intervals[name][0]:+.3f} to {intervals[name][1]:+.3f})"
        for name in _SHOWN
    )


def render_archives(
    measured: Mapping[str, Sequence[Outcome]], over: Mapping[str, str], kinds: Sequence[str]
) -> str:
    """R@10 / MRR of all archives and of each, as a table in Markdown.

    Args:
        measured: the same questions, in the same order, by what answered them.
        over: by what answered, what else its distance from is shown, where both are measured.
        kinds: of the questions that count.
    """
    chosen = {
        name: [one for one in outcomes if one.kind in kinds] for name, outcomes in measured.items()
    }
    over = {ours: theirs for ours, theirs in over.items() if {ours, theirs} <= measured.keys()}
    head = ["", "n", *chosen, *(f"{ours} over {theirs}" for ours, theirs in over.items())]
    lines = [head, ["---"] * len(head)]
    archives = dict.fromkeys(one.archive for one in next(iter(chosen.values())))
    for label, names in (("all", archives), *((name, (name,)) for name in archives)):
        part = {
            name: [one for one in outcomes if one.archive in names]
            for name, outcomes in chosen.items()
        }
        rows = [summed(outcomes, label, kinds) for outcomes in part.values()]
        figures = [" / ".join(f"{row.means[name]:.3f}" for name in _SHOWN) for row in rows]
        distances = [paired(part[ours], part[theirs]) for ours, theirs in over.items()]
        lines.append([label, f"{rows[0].count}", *figures, *distances])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _resampled(values: Values, groups: Iterable[object]) -> Values:
    """(RESAMPLES, measures): means over as many groups drawn with replacement, questions pooled."""
    names = list(groups)
    order = {name: place for place, name in enumerate(dict.fromkeys(names))}
    if not order:
        return np.full((1, len(MEASURES)), np.nan)
    sums = np.zeros((len(order), values.shape[1]))
    counts = np.zeros(len(order))
    for name, row in zip(names, values, strict=True):
        sums[order[name]] += row
        counts[order[name]] += 1
    drawn = np.random.default_rng(SEED).integers(len(order), size=(RESAMPLES, len(order)))
    weights = np.zeros((RESAMPLES, len(order)))
    np.add.at(weights, (np.arange(RESAMPLES)[:, np.newaxis], drawn), 1.0)
    means: Values = (weights @ sums) / (weights @ counts)[:, np.newaxis]
    return means


def _intervals(means: Values) -> dict[str, tuple[float, float]]:
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    pairs = zip(low.round(6).tolist(), high.round(6).tolist(), strict=True)
    return dict(zip(MEASURES, pairs, strict=True))


def render_rows(title: str, rows: Sequence[Row]) -> str:
    """A table of means; below it the intervals of the first row."""
    width = max(len(row.label) for row in rows)
    lines = [
        title,
        " " * width + "      n  " + "  ".join(name.rjust(7) for name in MEASURES),
        *(
            f"{row.label.ljust(width)}  {row.count:5d}  "
            + "  ".join(f"{row.means[name]:.3f}".rjust(max(7, len(name))) for name in MEASURES)
            for row in rows
        ),
    ]
    first = rows[0]
    for over, intervals in (
        ("questions", first.by_question),
        ("conversations", first.by_conversation),
    ):
        if not intervals:
            continue
        spans = "  ".join(
            f"{name} {intervals[name][0]:.3f}..{intervals[name][1]:.3f}"
            for name in ("R@10", "MRR", "nDCG@10")
        )
        lines.append(f"  {first.label}, 95 % over {over}: {spans}")
    return "\n".join(lines)
