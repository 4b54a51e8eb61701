"""A question about the log taken apart: what it is about, in which time, and what is wanted.

Reads no time itself: `core.when.inside` does, and leaves what only may be one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from commonplace.core.errors import Invalid
from commonplace.verbs.times import naming

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from commonplace.core.values import Interval

Wants: TypeAlias = Literal["best", "last", "first", "count"]

_COUNT = re.compile(r"^how (?:often|many times)\b(?: (?:did|have) (?:i|we))?\b", re.IGNORECASE)
_COUNT_OF = re.compile(
    r"^how many (.+?)(?: (?:did|have) (?:i|we)\b(?: (?:do|done|make|made|have|had)\b)?(.*))?$",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"^(?:(?:when|what (?:time|day|date)) (?:was it (?:that )?|did |have |was )?|have |did )?"
    r"(?:the )?(?:i|we)\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"^(?:(?:when|what) (?:was|is) )?\W*(?:(?:ever|the|my|our) )?"
    r"(last|latest|most recent(?:ly)?|first|earliest)\b(?: time\b(?: (?:that )?(?:i|we)\b)?)?",
    re.IGNORECASE,
)
# "when did I deploy last", "when was the api last deployed"
_ORDER_AFTER = re.compile(
    r"^(?:when (?:was|were|did) )?(.+) (last|most recently|first)( \w+)?$", re.IGNORECASE
)
# What only asks on: an entry that has none of it counts as well.
_FILLING = re.compile(
    r"^(?:(?:ever|already|actually) )+"
    r"|(?: (?:ever|already|yet|so far|in total|in all|altogether|overall))+$",
    re.IGNORECASE,
)


class AskedWhen(Struct, frozen=True, kw_only=True):
    """A question taken apart.

    Attributes:
        about: The activity in words.
        within: The time the question names, None for any.
        wants: Which of the entries about it.
    """

    about: str
    within: Interval | None
    wants: Wants


def read_question(what: str, *, now: datetime, zone: tzinfo) -> AskedWhen:
    """Take a question such as "when did I last deploy the api in October?" apart.

    Raises: Invalid for an empty one, or one that is a document.
    """
    # Their patterns take 8 ms to compile, and a log only writes.
    from commonplace.core.when.inside import FoundWhen, find_when
    from commonplace.search.query_features import refuse_long

    with naming("what"):
        refuse_long(what)
    text = _trimmed(what)
    if not text:
        raise Invalid("Invalid what: it is empty.", hint="Say what was done, such as 'deploy'.")
    found = find_when(text, now=now, zone=zone)
    if found.vague:  # its bounds are a guess, which must neither hide an entry nor be counted by
        found = FoundWhen(text=text)
    about, wants = _without_question(_trimmed(found.text))
    about = _FILLING.sub("", about).strip() or about
    return AskedWhen(about=about or text, within=found.interval, wants=wants)


def _without_question(text: str) -> tuple[str, Wants]:
    if found := _COUNT.match(text):
        return text[found.end() :].strip() or text, "count"
    if found := _COUNT_OF.match(text):
        return f"{found[1]}{found[2] or ''}", "count"
    asks_when = text.lower().startswith("when ")
    is_mine = _WHEN.match(text)
    if is_mine:
        text = text[is_mine.end() :].strip() or text
    if found := _ORDER.match(text):
        return text[found.end() :].strip() or text, _order(found[1])
    found = _ORDER_AFTER.match(text) if asks_when else None
    # "when did I leave my first job": that belongs to what was done.
    if found and not (is_mine and found[3]):
        return f"{found[1]}{found[3] or ''}", _order(found[2])
    return text, "best"


def _order(word: str) -> Wants:
    return "first" if word.lower() in {"first", "earliest"} else "last"


def _trimmed(text: str) -> str:
    return text.strip().rstrip("?!.,; ").strip()
