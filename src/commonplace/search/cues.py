"""What the wording of a question says beyond its words: a time asked for, a name, the asker. Pure.

Never looks at entries, and holds no number: `policy` weighs what is found here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from commonplace.core.text import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.values import Intent

_ASKS_TIME = re.compile(
    r"\b(?:when|how long|how (?:many|much) (?:days?|weeks?|months?|years?|time)"
    r"|(?:what|which) (?:day|date|month|year|time|week|season))\b",
    re.IGNORECASE,
)
_SAYS_I = re.compile(r"\b(?:i|me|my|mine|we|us|our)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
# What such a question holds beside words that mean nothing alone.
_ANYTHING = frozenset(
    """
    all anything entries entry everything going happen happened happening happens list new news
    noted show something went work worked written wrote
    """.split()  # noqa: SIM905  a list of quoted words reads worse
)

_PLANNING = re.compile(
    r"\b(?:plan(?:s|ned|ning)?|to-?dos?|tasks?|agenda|schedule[ds]?|deadlines?|errands?|remind(?:er)?s?"
    r"|next steps?|(?:need|have|want|left|things) to do|should i do|get done)\b",
    re.IGNORECASE,
)
_JOURNALING = re.compile(
    r"\b(?:journal(?:s|ed|ing)?|diary|reflect(?:ion|ions|ing|ed)?|grateful|gratitude|thankful"
    r"|feel(?:s|ing|ings)?|felt|moods?|emotions?)\b",
    re.IGNORECASE,
)

OWN_AUTHOR = "user"
"""The author of what the owner of a conversation said, as against what an assistant did."""


@dataclass(frozen=True, slots=True)
class Cues:
    """asks_time: the question wants a time. says_i: it is about the asker. words: folded."""

    asks_time: bool = False
    says_i: bool = False
    words: frozenset[str] = frozenset()

    def named(self, authors: Sequence[str]) -> int:
        """Which author the question names; -1 for none, or several."""
        found = [
            place
            for place, author in enumerate(authors)
            if (name := set(_WORD.findall(author.casefold()))) and name <= self.words
        ]
        return found[0] if len(found) == 1 else -1


def asks_for_all(text: str) -> bool:
    """Whether a question, its time taken out, asks for whatever there is: "what happened"."""
    return set(_WORD.findall(text.casefold())) <= STOP_WORDS | _ANYTHING


def read_intent(text: str) -> Intent | None:
    """What a question is asked for, read off its words; None where both or neither is named."""
    plans = _PLANNING.search(text) is not None
    if plans == (_JOURNALING.search(text) is not None):
        return None
    return "planning" if plans else "journaling"


def read_cues(question: str) -> Cues:
    """The cues of a question."""
    return Cues(
        asks_time=_ASKS_TIME.search(question) is not None,
        says_i=_SAYS_I.search(question) is not None,
        words=frozenset(_WORD.findall(question.casefold())),
    )
