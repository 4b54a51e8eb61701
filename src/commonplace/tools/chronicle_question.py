"""A question about the log taken apart: what it is about, in which time, and what is wanted.

Never guesses a time from a word that only may be one: it must stand after a preposition, or alone.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from commonplace.core.errors import Invalid
from commonplace.core.when import parse_when

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
_ORDER = re.compile(r"^\W*(?:ever )?(last|first)(?: time)?\b", re.IGNORECASE)
_LATEST = re.compile(
    r"^(?:(?:when|what) (?:was|is) )?(?:the |my |our )?(last|first) time (?:that )?(?:i|we)\b",
    re.IGNORECASE,
)

# What may begin a phrase of time inside a question; "may" or "march" alone may be something else.
_OPENERS = frozenset(
    "in on at during since before after between from until this last past yesterday today".split()  # noqa: SIM905  reads better than 17 quoted words
)
# After these a word of time names a thing: "the today page", "my last day at the office".
_NAMING = frozenset("a an the my our your his her its their of".split())  # noqa: SIM905  as above
_LONGEST_TIME = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedWhen:
    """about: the activity in words. within: the time the question names, None for any."""

    about: str
    within: Interval | None
    wants: Wants


def read_question(what: str, *, now: datetime, zone: tzinfo) -> AskedWhen:
    """Take a question such as "when did I last deploy the api in October?" apart.

    Raises: Invalid for an empty one.
    """
    text = _trimmed(what)
    if not text:
        raise Invalid("Invalid what: it is empty.", hint="Say what was done, such as 'deploy'.")
    asked, within = _without_time(text, now, zone)
    about, wants = _without_question(asked)
    return AskedWhen(about=about or text, within=within, wants=wants)


def _without_question(text: str) -> tuple[str, Wants]:
    if found := _COUNT.match(text):
        return text[found.end() :].strip() or text, "count"
    if found := _COUNT_OF.match(text):
        return f"{found[1]}{found[2] or ''}", "count"
    if found := _LATEST.match(text):
        return text[found.end() :].strip() or text, _order(found[1])
    if found := _WHEN.match(text):
        text = text[found.end() :].strip() or text
    if found := _ORDER.match(text):
        return text[found.end() :].strip() or text, _order(found[1])
    return text, "best"


def _order(word: str) -> Wants:
    return "last" if word.lower() == "last" else "first"


def _without_time(text: str, now: datetime, zone: tzinfo) -> tuple[str, Interval | None]:
    """The text without its longest phrase of time, the last of equally long ones, and its span."""
    words = text.split()
    for length in range(min(_LONGEST_TIME, len(words)), 0, -1):
        for first in range(len(words) - length, -1, -1):
            before, phrase, after = words[:first], words[first:][:length], words[first + length :]
            if not _may_be_time(before, phrase, after):
                continue
            with suppress(Invalid):
                within = parse_when(" ".join(phrase), now=now, zone=zone)
                return _trimmed(" ".join([*before, *after])), within
    return text, None


def _may_be_time(before: list[str], phrase: list[str], after: list[str]) -> bool:
    """Whether a phrase stands where a time would; "port 8080" and "the 9am job" do not."""
    if phrase[0].lower() in _OPENERS:
        return not after or not before or before[-1].lower() not in _NAMING
    dated = any(word[:1].isdigit() for word in phrase)
    return not after and dated and not (len(phrase) == 1 and phrase[0].isdigit())


def _trimmed(text: str) -> str:
    return text.strip().rstrip("?!.,; ").strip()
