"""How well the label of a weak match tells questions that the entries answer from others.

Never files or ranks anything; chances come in as the finder gives them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from bench.retrieval_data import ANSWERABLE, OVERLAPS
from commonplace.search.policy import WEAK_CHANCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.retrieval_data import Archive, Asked


class Label(NamedTuple):
    """What the label makes of some questions.

    Args:
        label: Which questions.
        auc: How often one that is answered has the higher chance, of all pairs with one that is
            not.
        answered, others: How many there are of each.
        answered_weak, others_weak: The share of them that is called weak.
    """

    label: str
    auc: float
    answered: int
    answered_weak: float
    others: int
    others_weak: float

    @classmethod
    def of(cls, label: str, answered: Sequence[float], others: Sequence[float]) -> Label:
        """By the chances of questions that are answered, and of others; at least one of each."""
        return cls(
            label,
            auc(answered, others),
            len(answered),
            _weak_share(answered),
            len(others),
            _weak_share(others),
        )


def auc(answered: Sequence[float], others: Sequence[float]) -> float:
    """The share of all pairs in which the first is higher; equal ones count half."""
    higher = sum((one > other) + (one == other) / 2 for one in answered for other in others)
    return higher / (len(answered) * len(others))


def _weak_share(chances: Sequence[float]) -> float:
    return sum(chance < WEAK_CHANCE for chance in chances) / len(chances)


def render_labels(title: str, rows: Sequence[Label]) -> str:
    """A table in Markdown."""
    lines = [
        f"| {title} | AUC | answered, called weak | others, called weak |",
        "|---|---|---|---|",
        *(
            f"| {row.label} | {row.auc:.3f} | {row.answered_weak:.1%} of {row.answered}"
            f" | {row.others_weak:.1%} of {row.others} |"
            for row in rows
        ),
    ]
    return "\n".join(lines)


def own_questions(archives: Sequence[Archive]) -> Mapping[str, Sequence[Asked]]:
    """What each archive answers, by its name."""
    return {
        each.name: [one for one in each.asked if one.kind in (*ANSWERABLE, *OVERLAPS)]
        for each in archives
    }


def others_questions(archives: Sequence[Archive]) -> Mapping[str, Sequence[Asked]]:
    """Those of the next archive for each, with its own speakers' names in place of theirs."""
    own = own_questions(archives)
    following = [*archives[1:], *archives[:1]]
    return {
        one.name: [
            replace(each, text=_renamed(each.text, _speakers(other), _speakers(one)))
            for each in own[other.name]
        ]
        for one, other in zip(archives, following, strict=True)
    }


def _speakers(archive: Archive) -> list[str]:
    return [*dict.fromkeys(doc.author for doc in archive.docs if doc.author)]


def _renamed(text: str, theirs: Sequence[str], ours: Sequence[str]) -> str:
    names = dict(zip(theirs, ours, strict=False))
    if not names:
        return text
    pattern = rf"\b(?:{'|'.join(re.escape(name) for name in names)})\b"
    return re.sub(pattern, lambda found: names[found[0]], text)
