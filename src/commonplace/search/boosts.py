"""What a question leans to beyond its words: the asker's project, and preferences where a task is.

Never cuts, and holds no number: `policy` says how much each counts.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from commonplace.core.text import with_plain_apostrophes
from commonplace.search import policy

if TYPE_CHECKING:
    from commonplace.core.values import Candidates, Here, Mask, Numbers
    from commonplace.search.query_features import QueryFeatures

_WORD = re.compile(r"\w+")
# What states a preference or an instruction that holds from then on, at the beginning of a clause.
_STANDING = re.compile(
    r"(?:^|[.!?;:\n]|\bplease|\bsure (?:to|you)|\bshould|\bmust|\bto)\W*(?:always|never)\b"
    r"|\bfrom now on\b|\bgoing forward\b"
    r"|\bwhen(?:ever)? i (?:ask|say|tell|want|request)\b"
    r"|\bi(?:'d| would| really| strongly| always| generally| usually| much)*"
    r" (?:prefer|rather|favou?r)\b"
    r"|\bprefers\b|\b(?:my|our|(?:the )?user'?s?) preferences?\b"
    r"|\bstanding (?:rule|instruction)s?\b",
    re.IGNORECASE,
)
# One of them is in whatever that finds.
_STANDING_WORDS = (
    *("always", "never", "from now on", "going forward", "when i ", "whenever i "),
    *("prefer", "rather", "favor", "favour", "standing "),
)


class Boost(NamedTuple):
    """Candidates that count for more or for less, and by which factor."""

    mask: Mask
    factor: float


def of_elsewhere(found: Candidates, here: Here, features: QueryFeatures) -> Mask:
    """The candidates of other projects than the asker's; none where the question names one.

    What belongs to no project, such as the user's own notes, is not among them.
    """
    places = [here.place_of(scope) for scope in found.scopes]
    away = [n for n, x in enumerate(places) if os.path.isabs(x) and not here.holds(x)]
    if any(_names(features, places[number]) for number in away):
        away = []
    is_away = np.array([*(n in away for n in range(len(places))), False])  # the last: of no scope
    mask: Mask = is_away[found.scope]
    return mask


def _names(features: QueryFeatures, place: str) -> bool:
    """Whether a question names a folder by its last name."""
    name = {*_WORD.findall(re.split(r"[/\\]", place.rstrip("/\\"))[-1].casefold())}
    return bool(name) and name <= features.words


def states_standing(text: str) -> bool:
    """Whether a text states a preference, or an instruction for good: "always use tabs"."""
    head = with_plain_apostrophes(text[: policy.STANDING_LENGTH])
    # Each word by itself first, as `statements` does: a hundred texts take 1.9 ms in place of 9.7.
    folded = head.casefold()
    return any(word in folded for word in _STANDING_WORDS) and _STANDING.search(head) is not None


def of_standing(found: Candidates, rows: Numbers) -> Mask:
    """The candidates among some rows that state a preference or an instruction for good."""
    mask: Mask = np.zeros(len(found.keys), dtype=np.bool_)
    for row, doc in found.docs_at(rows.tolist()).items():
        mask[row] = states_standing(doc.text)
    return mask
