"""Tuning judged honestly: the best of a grid on all conversations but one, measured on that one.

Never changes the product's policy; people do, with this table before them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bench.retrieval_data import ANSWERABLE, OVERLAPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bench.retrieval_figures import Outcome

_RECALL, _MRR = 1, 3


class Mean(Struct, frozen=True):
    """R@10 and MRR of some questions; `worth`, their sum, is what a choice goes by."""

    recall: float
    mrr: float

    @property
    def worth(self) -> float:
        """Recall and MRR weigh the same."""
        return self.recall + self.mrr

    def __str__(self) -> str:
        """`.813 / .637`."""
        return f"{self.recall:.4f} / {self.mrr:.4f}"

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Mean:
        """Of the answerable questions among these; at least one."""
        chosen = [one.figures for one in outcomes if one.kind in (*ANSWERABLE, *OVERLAPS)]
        return cls(
            sum(each[_RECALL] for each in chosen) / len(chosen),
            sum(each[_MRR] for each in chosen) / len(chosen),
        )


def held_out(measured: Mapping[str, Sequence[Outcome]]) -> tuple[Mean, dict[str, str]]:
    """What a grid gives where nothing was tuned, and the label chosen for each conversation.

    For each conversation the label that is best on all the others answers it. measured: the same
    questions under each label.
    """
    chosen: dict[str, str] = {}
    answered: list[Outcome] = []
    for name in dict.fromkeys(one.archive for one in next(iter(measured.values()))):
        label = max(
            measured,
            key=lambda each: Mean.of(one for one in measured[each] if one.archive != name).worth,
        )
        chosen[name] = label
        answered += [one for one in measured[label] if one.archive == name]
    return Mean.of(answered), chosen


def render_sweep(title: str, measured: Mapping[str, Sequence[Outcome]]) -> str:
    """Every label with its figures, best first, and what the choice is worth held out."""
    means = {label: Mean.of(outcomes) for label, outcomes in measured.items()}
    lines = [f"{title}: R@10 / MRR over all conversations"]
    best_first = sorted(means, key=lambda each: means[each].worth, reverse=True)
    lines += [f"  {means[label]}  {label}" for label in best_first]
    held, chosen = held_out(measured)
    lines.append(f"  {held}  held out: the best on the others answers each conversation")
    lines += [f"    {name}: {label}" for name, label in chosen.items()]
    return "\n".join(lines)
