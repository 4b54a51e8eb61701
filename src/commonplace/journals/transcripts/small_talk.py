"""Tells what a person asks for from what a person says to be polite, or so that it goes on. Pure.

Never judges what a text is worth: only whether it could be the task of a session.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.journals.transcripts.message import Message

BEFORE_TASK = 10
"""The first things that a user said in a session among which its task is looked for."""

_GREETINGS = (
    r"hi|hello|hey|hiya|yo|howdy|greetings|good (?:morning|afternoon|evening|day)|hallo|moin|servus"
    r"|guten (?:morgen|tag|abend)|bonjour|bonsoir|salut|hola|buen[oa]s (?:d[ií]as|tardes|noches)"
    r"|ol[aá]|ciao|buongiorno|你好|こんにちは"
)
_TO_WHOM = r"there|again|all|everyone|team|claude|codex|gemini|assistant"
_SAYS_NOTHING = re.compile(
    rf"(?:\b(?:{_GREETINGS}|{_TO_WHOM}|how are you(?: doing)?|are you there"
    r"|ok(?:ay)?|k|thanks?(?: you)?|thx|ty|yes|yep|y|sure|fine|good|great|nice|perfect|cool"
    r"|done|right|go(?: on| ahead)?|continue|proceed|please|do it|lgtm|so much|a lot|it|that|looks)"
    r"\b|\W)*",
    re.IGNORECASE,
)
# A greeting ends with a mark or a line, or before a word that begins a question or a wish: the
# "Hello" of "Hello world in Rust" is none.
_GREETED = re.compile(
    rf"(?:(?:{_GREETINGS})(?:[ ,]+(?:{_TO_WHOM}))*"
    r"(?:\s*[,.!?;:\n\u2013\u2014-]\s*|\s+(?=(?:can|could|would|will|please|i|i'm|we|let's|what|why"
    r"|how|where|when|is|are|do|does)\b)))+",
    re.IGNORECASE,
)


def says_nothing(text: str) -> bool:
    """Whether a text holds no more than a greeting, thanks, or the wish that it goes on."""
    return _SAYS_NOTHING.fullmatch(text) is not None


def task_of(text: str) -> str:
    """A text from where it says what is wanted: without the greeting that it begins with."""
    text = text.lstrip()
    greeted = _GREETED.match(text)
    return (text[greeted.end() :].lstrip() if greeted else "") or text


def find_opening(first: Callable[[int], Sequence[Message]]) -> Message | None:
    """The first thing that a user said in a session that could be its task; see `SessionStore`.

    first: gives so many of the first things that the user said.
    """
    said: Sequence[Message] = ()
    for limit in (1, BEFORE_TASK):  # most begin with it, and a hook waits for this
        said = first(limit)
        own = (x for x in said if x.sidechain == said[0].sidechain)
        if task := next((x for x in own if not says_nothing(x.text)), None):
            return task
    return said[0] if said else None
