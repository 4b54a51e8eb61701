"""What a shape of secrets is, and where a secret stands.

Values alone: reads no text.
"""

from __future__ import annotations

from typing import NamedTuple


class Shape(NamedTuple):
    """A shape that secrets of one kind have.

    Attributes:
        kind: What it is, in words: `GitHub token`.
        source: Who published the shape.
        hints: A text without one of these holds no such secret; in lower case where `named`.
        pattern: A regular expression of bounded repeats that begins where a hint does;
            the secret is its group `s`, or all of it.
        named: It goes by the name before it, in any case, so that what follows is judged too.
        before: How far before a hint the secret may begin, where it does not begin with one.
        is_split: It may be short, or have blanks in it.
    """

    kind: str
    source: str
    hints: tuple[str, ...]
    pattern: str
    named: bool = False
    before: int = 0
    is_split: bool = False


class Span(NamedTuple):
    """Where a secret stands in a text, and what it is."""

    start: int
    end: int
    kind: str
