"""What a shape of secrets is, and where a secret stands.

Values alone: reads no text.
"""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable


class Value(NamedTuple):
    """What stands where a secret would, for the judgement on it.

    Attributes:
        text: The value, without quotes, and without the signs that end a sentence.
        match: What was found, with what stands around it; where a name goes before, behind it.
        name: What the value is called, as it is written; empty where nothing is.
        start: Where in the text the shape begins, or its name.
    """

    text: str
    is_quoted: bool
    match: re.Match[str]
    name: str
    start: int


class Shape(NamedTuple):
    """A shape that secrets of one kind have.

    Attributes:
        kind: What it is, in words: `GitHub token`.
        hints: A text without one of these holds no such secret; in lower case where `named`.
        pattern: A regular expression of bounded repeats that begins where a hint does;
            the secret is its group `s`, or all of it; in quotes `d`, `e`, `q` or `b`.
        named: It goes by the name before it, in any case.
        then: What follows the name, where `pattern` is the name alone: one expression for many.
        beside: What a text must hold besides a hint; looked for first, once for all shapes with it.
        before: How far before a hint the secret may begin, where it does not begin with one.
        is_split: It may be short, or have blanks in it.
        judge: Says of what follows a name whether it is a secret; without one, all is.
        inner: What of the match is a secret, each, where it holds several: group `s`.
    """

    kind: str
    source: str
    hints: tuple[str, ...]
    pattern: str
    named: bool = False
    then: str = ""
    beside: str = ""
    before: int = 0
    is_split: bool = False
    judge: Callable[[Value], bool] | None = None
    inner: str = ""


class Span(NamedTuple):
    """Where a secret stands in a text, and what it is."""

    start: int
    end: int
    kind: str
