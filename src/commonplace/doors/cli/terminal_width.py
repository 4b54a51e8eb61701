"""Measures how many columns a text takes on a terminal, cuts it to a width, and wraps it."""

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
    """A line wrapped at words where a terminal is too narrow for it; unchanged off a terminal.

    A line with a path wider than the terminal stays whole: wrapping would not help it.
    """
    if not stream.isatty():
        return line
    line = shown_now(line)
    columns = terminal_size().columns
    longest = max(map(len, line.split()), default=0)
    if len(line) <= columns or longest > columns - indent:
        return line
    import textwrap  # most commands never need it

    return textwrap.fill(
        line,
        columns,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
