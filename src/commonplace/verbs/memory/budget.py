"""How many tokens snippets have, and which of them fit a budget together.

Pure: never asks a model but by the function that counts for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.text import opening
from commonplace.search import policy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CUT = "..."
"""The sign of a snippet that was cut."""


def within_budget(snippets: Sequence[str], count: Callable[[str], int], budget: int) -> list[str]:
    """The first snippets that fit together; a first one that does not is cut."""
    kept: list[str] = []
    spent = 0
    # See `CountsTokens`; those without a bound are over the budget.
    at_most = [len(x) + 1 if x.isascii() else budget + 1 for x in snippets]
    for place, snippet in enumerate(snippets):
        # To count takes a tenth of a millisecond: it ends where the rest fits whatever it is.
        if spent + sum(at_most[place:]) <= budget:
            return list(snippets)
        spent += count_tokens(snippet, count, budget)
        if spent > budget:
            return kept or [_cut(snippet, count, budget)]
        kept.append(snippet)
    return kept


def count_tokens(text: str, count: Callable[[str], int], budget: int) -> int:
    """Tokens of a text; a tokenizer takes a long word for one, so characters count as well."""
    by_length = -(-len(text) // policy.MEMORY_TOKEN_CHARACTERS)
    return by_length if by_length > budget else max(by_length, count(text))


def _cut(text: str, count: Callable[[str], int], budget: int) -> str:
    """The longest beginning that fits with the sign of its being cut."""
    low, high = 0, min(len(text), budget * policy.MEMORY_TOKEN_CHARACTERS)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(text[:middle] + CUT, count, budget) <= budget:
            low = middle
        else:
            high = middle - 1
    return opening(text, low, "").rstrip() + CUT
