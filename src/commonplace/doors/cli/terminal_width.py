"""Measures how many columns a text takes on a terminal, cuts it to a width, or wraps it."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from commonplace.core.text import shown_now

if TYPE_CHECKING:
    import os
    from typing import TextIO


def cells(text: str) -> int:
    """The columns a text takes: two for wide signs, none for those that combine."""
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        for sign in text
    )


def cut(text: str, width: int) -> str:
    """The text in so many columns, with an ellipsis where it was longer."""
    taken = fits = 0
    for at, sign in enumerate(text):
        taken += cells(sign)
        if taken > width:
            return text[:fits] + "…"
        if taken < width:
            fits = at + 1
    return text


def terminal_size() -> os.terminal_size:
    """The columns and lines of the terminal, or of `COLUMNS` and `LINES`; else 80 and 24."""
    import shutil  # 4 ms with what it imports, for a terminal alone

    return shutil.get_terminal_size()


def wrapped(line: str, stream: TextIO, *, indent: int = 0) -> str:
    """A line wrapped at words where a terminal is too narrow for it; unchanged off a terminal."""
    if not stream.isatty():
        return line
    return _wrapped_at_words(shown_now(line), terminal_size().columns, indent)


def wrapped_prose(text: str, columns: int) -> str:
    """A text of several lines, each wrapped at words below its own first word.

    What stands in a Markdown fence stays as it is: there a line's end means something.
    """
    lines = []
    is_fenced = False
    for line in text.split("\n"):
        is_fence = line.lstrip().startswith("```")
        keeps = is_fenced or is_fence
        is_fenced ^= is_fence
        lead = len(line) - len(line.lstrip()) + (2 if line.lstrip().startswith(("- ", "* ")) else 0)
        lines.append(line if keeps else _wrapped_at_words(line, columns, lead))
    return "\n".join(lines)


def _wrapped_at_words(line: str, columns: int, indent: int) -> str:
    """A line with a path wider than the terminal stays whole: wrapping would not help it."""
    longest = max(map(len, line.split()), default=0)
    if cells(line) <= columns or longest > columns - indent:
        return line
    import textwrap  # most commands never need it

    return textwrap.fill(
        line,
        columns,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
