"""How many columns a text takes on a terminal, and cutting it to so many.

Pure: never asks a terminal.
"""

from __future__ import annotations

import unicodedata


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
