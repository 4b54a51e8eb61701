"""What the wording of a question says beyond its words: a time asked for, a name, the asker. Pure.

Never looks at entries, and holds no number: `policy` weighs what is found here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import Invalid
from commonplace.core.stop_words import STOP_WORDS, is_foreign
from commonplace.core.text import with_plain_apostrophes
from commonplace.search import policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.values import Intent

_ASKS_TIME = re.compile(
    r"\b(?:when|how long|how (?:many|much) (?:days?|weeks?|months?|years?|time)"
    r"|(?:what|which) (?:day|date|month|year|time|week|season))\b",
    re.IGNORECASE,
)
_ASKS_NUMBER = re.compile(
    r"\b(?:how (?:many|much|long|often|far|old|big|large|fast)|when"
    r"|(?:what|which) (?:day|date|month|year|time|number|amount|percentage|share|score)"
    r"|what (?:is|are) (?:\w+ ){1,4}?(?:time|deadline|date|number|score|rate|price|budget|size))\b",
    re.IGNORECASE,
)
_ASKS_NAME = re.compile(r"\b(?:who|whom|whose|where)\b", re.IGNORECASE)
_ASKS_SPAN = re.compile(r"\b(?:between|did it take)\b", re.IGNORECASE)
_SAYS_I = re.compile(r"\b(?:i|me|my|mine|we|us|our)\b", re.IGNORECASE)
# What asks for a task or for advice: then preferences and standing instructions matter.
_ASKS_TASK = re.compile(
    r"\b(?:can|could|would|will) you (?:please )?\w+|\bhelp (?:me|us|with)\b"
    r"|\bhow (?:should|do|would|can|could|might) (?:i|we|you)\b"
    r"|\b(?:what|which|where|who|when)\b[^.?!\n]*? (?:should|would|could) (?:i|we|you)\b"
    r"|\bdo you (?:think|suggest|recommend|advise)\b|\bwhat are (?:some|good|the best)\b"
    r"|\b(?:write|draft|compose|create|make|build|plan|suggest|recommend|show|give) (?:me|us)\b"
    r"|^\W*(?:please )?(?:write|draft|compose) (?:an?|my|our|some)\b"
    r"|\b(?:i'm|i am) (?:planning|about|going|looking|trying|working|starting)\b"
    r"|\bi (?:want|need) to\b",
    re.IGNORECASE,
)
# What asks for what there was, in the form of a task.
_ASKS_BACK = re.compile(
    r"\b(?:summar(?:y|i[sz]e)|recap|overview|order in which)\b.*\b(?:i|my|we|our)\b",
    re.IGNORECASE | re.DOTALL,
)
# What asks for what was said: then a session is what is looked for.
_ASKS_SAID = re.compile(
    r"\b(?:did|have|had|has) (?:i|we|you|he|she|they|claude|codex|the (?:user|assistant))"
    r"(?: ever)? (?:say|said|tell|told|ask(?:ed)?|talk(?:ed)?|discuss(?:ed)?|mention(?:ed)?"
    r"|suggest(?:ed)?)\b"
    r"|\b(?:i|we|you) (?:said|told|asked|talked|discussed|mentioned|suggested)\b"
    r"|\b(?:our|that|this|last|previous|earlier) (?:chat|conversation|session|discussion)s?\b",
    re.IGNORECASE,
)
# What asks how things stand now, and what of it was to be known before: not what happened once.
_ASKS_NOW = re.compile(
    r"^\W*(?:(?:so|and|then|please|(?:can|could|will|would) you|tell me|remind me|again|from|in|on"
    r"|at|to|by|for|until|with)\W+)*"
    r"(?:what|which|who|whose|where|when|how|is|are|am|do|does|has|have|should|may"
    r"|(?:can|will)(?! you\b))\b",
    re.IGNORECASE,
)
_ASKS_THEN = re.compile(
    r"\b(?:was|were|had|used to|ago|originally|happened)\b"
    r"|\bdid (?!(?:\w+ ){1,3}(?:decide|choose|pick|settle|agree|take|want|prefer)\b)",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
# What such a question holds beside words that mean nothing alone.
_ANYTHING = frozenset(
    """
    all anything done entries entry everything going happen happened happening happens latest list
    new newest news noted recent s show something up went whats work worked working written wrote
    """.split()
)
_NEWS = frozenset(("happen", "happened", "happening", "happens"))
_NEWS |= {"latest", "new", "newest", "news", "recent"}
_WANTED = frozenset(("any", "anything", "entries", "entry", "everything", "show", "what", "whats"))
# Of those words, what is a topic where nothing else is said: "work last week".
_TOPICS = frozenset(("list", "news", "work"))

_PLANNING = re.compile(
    r"\b(?:plan(?:s|ned|ning)?|to-?dos?|tasks?|agenda|schedule[ds]?|deadlines?|errands?|remind(?:er)?s?"
    r"|next steps?|(?:need|have|want|left|things) to do|should i do|get done)\b",
    re.IGNORECASE,
)
# What names the things that a user has to do.
_TODOS = re.compile(
    r"\b(?:left|have|need|want|got|yet|supposed|still|things?|anything) to (?:do|get done|finish)\b"
    r"|\bshould (?:i|we) do\b|\b(?:left to|to|still) be done\b|\bneeds? doing\b"
    r"|\b(?:open|remaining|outstanding|unfinished) (?:items?|things?)\b"
    r"|\bto-?dos?\b|\bto do list\b|\btasks?\b|\b(?:my|our) list\b|\berrands?\b|\bchores?\b"
    r"|(?:\bnot|n't)(?: \w+){0,2} (?:done|finished|completed)\b",
    re.IGNORECASE,
)
_IS_DONE = re.compile(r"\b(?:done|did|finished|completed?|closed|ticked)\b", re.IGNORECASE)
# What such a question holds beside them and words that mean nothing alone.
_OPEN = frozenset(
    """
    all anything else everything find get give got left list need next now open outstanding pending
    please remaining remains remind right see show soon still tell things today tomorrow tonight
    undone unfinished week yet
    """.split()
)
_JOURNALING = re.compile(
    r"\b(?:journal(?:s|ed|ing)?|diary|reflect(?:ion|ions|ing|ed)?|grateful|gratitude|thankful"
    r"|feel(?:s|ing|ings)?|felt|moods?|emotions?)\b",
    re.IGNORECASE,
)

# What says that words were heard wrong: outright, or by what was said in place of what was heard.
_MISHEARD = re.compile(
    r"\bmis-?(?:hears?|heard|hearing|understood you|quoted me|transcribed)\b"
    r"|\b(?:heard|hear|got|understood|wrote down|transcribed) (?:me|it|that|this|my \w+)"
    r" (?:all )?(?:wrong(?:ly)?|incorrectly)\b"
    r"|\b(?:that|this|it)(?:'s| is| was|s)? (?:not|n't) what i (?:said|asked|meant)\b"
    r"|\b(?:wasn't|isn't) what i (?:said|asked|meant)\b"
    r"|\bi (?:said|meant)\b[^.?!\n]{1,80}?(?:,| and| -) ?not\b"
    r"|\bi (?:never|did not|didn't) (?:say|ask for|mention)\b"
    r"|\bnot\b[^.?!\n]{1,80}?[,;:.-] ?i (?:said|meant)\b"
    r"|^\W*no\b\W{0,3}i (?:said|meant)\b"
    r"|\byou (?:heard|understood|wrote|transcribed|noted)\b[^.?!\n]{1,80}?"
    r"\b(?:wrong(?:ly)?|instead of|but i|when i)\b"
    r"|\bdid you (?:hear|catch|get) (?:me|that|what i said)"
    r"(?: (?:right|correctly))?\W*(?:[?.!,;]|$)",
    re.IGNORECASE,
)

OWN_AUTHOR = "user"
"""The author of what the owner of a conversation said, as against what an assistant did."""


class QueryFeatures(Struct, frozen=True):
    """What a question wants beyond its words: a time, what was said, a task, the asker's own.

    is_foreign: It is clearly in another language than English.
    """

    asks_time: bool = False
    asks_said: bool = False
    asks_task: bool = False
    asks_now: bool = False
    says_i: bool = False
    is_foreign: bool = False
    words: frozenset[str] = frozenset()

    def named(self, authors: Sequence[str]) -> int:
        """Which author the question names; -1 for none, or several."""
        found = [
            place
            for place, author in enumerate(authors)
            if (name := set(_WORD.findall(author.casefold()))) and name <= self.words
        ]
        return found[0] if len(found) == 1 else -1


def refuse_long(text: str) -> None:
    """Refuse a question that is a document, before anything is read from it. Raises: Invalid."""
    if len(text) > policy.MAX_QUERY_LENGTH:
        raise Invalid(
            f"Invalid query: it has {len(text):,} characters.",
            hint=f"Use at most {policy.MAX_QUERY_LENGTH:,}: a question, not a document.",
        )


def asks_for_all(text: str) -> bool:
    """Whether a question, its time taken out, asks for whatever there is: "what happened"."""
    words = set(_WORD.findall(text.casefold()))
    return words <= STOP_WORDS | _ANYTHING and (not words or not words <= _TOPICS)


def asks_for_news(text: str) -> bool:
    """Whether a question that names no time asks for the newest there is: "what's new"."""
    words = set(_WORD.findall(text.casefold()))
    return asks_for_all(text) and bool(words & _NEWS) and bool(words & _WANTED)


def read_todos(text: str) -> str | None:
    """What a question for open to-dos wants of them, in words; empty where it asks for them all.

    None for any other question, such as one for those that are done.
    """
    rest, found = _TODOS.subn(" ", with_plain_apostrophes(text))
    if not found or _IS_DONE.search(rest):
        return None
    words = _WORD.findall(rest.casefold())
    return " ".join(word for word in words if len(word) > 1 and word not in STOP_WORDS | _OPEN)


def read_intent(text: str) -> Intent | None:
    """What a question is asked for, read off its words; None where both or neither is named."""
    text = with_plain_apostrophes(text)
    plans = any(each.search(text) for each in (_PLANNING, _TODOS))
    if plans == (_JOURNALING.search(text) is not None):
        return None
    return "planning" if plans else "journaling"


def asks_said(question: str) -> bool:
    """Whether a question asks for what was said: "what did I say", "in our last session"."""
    return _ASKS_SAID.search(question) is not None


def asks_for_number(question: str) -> bool:
    """Whether a question asks for a quantity or a time: "how many sources", "what time"."""
    return _ASKS_NUMBER.search(question) is not None


def asks_for_name(question: str) -> bool:
    """Whether a question asks who or where."""
    return _ASKS_NAME.search(question) is not None


def asks_for_span(question: str) -> bool:
    """Whether a question asks how much lies between two things that happened."""
    return _ASKS_SPAN.search(question) is not None


def says_misheard(text: str) -> bool:
    """Whether a question says that words were heard wrong: "you misheard", "I said X, not Y"."""
    return _MISHEARD.search(with_plain_apostrophes(text)) is not None


def asks_task(text: str) -> bool:
    """Whether a question asks for a task or for advice: "write me a summary of this paper"."""
    text = with_plain_apostrophes(text)
    return _ASKS_TASK.search(text) is not None and _ASKS_BACK.search(text) is None


def read_features(question: str) -> QueryFeatures:
    """The features of a question."""
    return QueryFeatures(
        asks_time=_ASKS_TIME.search(question) is not None,
        asks_said=asks_said(question),
        asks_task=asks_task(question),
        asks_now=_ASKS_NOW.match(question) is not None and _ASKS_THEN.search(question) is None,
        says_i=_SAYS_I.search(question) is not None,
        is_foreign=is_foreign(question),
        words=frozenset(_WORD.findall(question.casefold())),
    )
