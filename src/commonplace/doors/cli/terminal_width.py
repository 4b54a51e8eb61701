"""Measures how many columns a text takes on a terminal, cuts it to a width, or wraps it."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from commonplace.core.text import shown_now

if TYPE_CHECKING:
    import os
    from typing import TextIO

_NAME = re.compile(r" *\S+(?: \S+){0,2} {2,}(?=\S)")
"""The first column of a table."""

_SIGN = re.compile(r" *(?:[-+*] )?")


def cells(text: str) -> int:
    """The columns a text takes: two for wide signs, none for those that combine."""
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        for sign in text
    )


def cut(text: str, width: int) -> str:
    """The text in so many columns; where it was longer, it ends with a word and an ellipsis."""
    end = _columns_end(text, width)
    if end == len(text):
        return text
    end = _columns_end(text, width - 1)
    word_end = _words_end(text, end)
    return text[: word_end if word_end > end // 2 else end].rstrip() + "…"


def fitting(text: str, width: int) -> str:
    """The words that fit into a line; a word that does not fit by itself is cut by its end."""
    end = _columns_end(text, width)
    return text[: _words_end(text, end) or end]


def _columns_end(text: str, width: int) -> int:
    """How many signs of a text fit into so many columns."""
    taken = 0
    for at, sign in enumerate(text):
        taken += cells(sign)
        if taken > width:
            return at
    return len(text)


def _words_end(text: str, end: int) -> int:
    """Where the last whole word before this place ends; 0 where none does."""
    if text[end : end + 1] in {"", " "}:
        return end
    return max(text.rfind(" ", 0, end), 0)


def terminal_size() -> os.terminal_size:
    """The columns and lines of the terminal, or of `COLUMNS` and `LINES`; else 80 and 24."""
    import shutil  # 4 ms with what it imports, for a terminal alone

    return shutil.get_terminal_size()


def wrapped(line: str, stream: TextIO) -> str:
    """A line wrapped at words where a terminal is too narrow for it; unchanged off a terminal."""
    if not stream.isatty():
        return line
    return wrapped_prose(shown_now(line), terminal_size().columns)


def wrapped_prose(text: str, columns: int) -> str:
    """A text of several lines, each wrapped at words below its own first word.

    A row of a table goes on below its second column. What stands in a Markdown fence stays as it
    is: there a line's end means something.
    """
    lines = []
    is_fenced = False
    for line in text.split("\n"):
        is_fence = line.lstrip().startswith("```")
        keeps = is_fenced or is_fence
        is_fenced ^= is_fence
        lines.append(line if keeps else _wrapped_at_words(line, columns))
    return "\n".join(lines)


def _wrapped_at_words(line: str, columns: int) -> str:
    """A line below itself; a word wider than the terminal, such as a path, stays whole."""
    if cells(line) <= columns:
        return line
    import textwrap  # most commands never need it

    lead = _lead_of(line, columns // 2)
    rest = textwrap.wrap(
        line[lead:], columns - lead, break_long_words=False, break_on_hyphens=False
    )
    return line[:lead] + f"\n{' ' * lead}".join(rest)


def _lead_of(line: str, most: int) -> int:
    """The columns before what is wrapped: spaces, a list's sign, or a name and two spaces."""
    for form in (_NAME, _SIGN):
        found = form.match(line)
        if found and found.end() <= most:
            return found.end()
    return 0
