"""What a prompt should hold of a journal: fenced blocks, whole within a budget of tokens.

Nothing is shortened without a sign of it; which entries stand in it, the journals' services decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import Invalid
from commonplace.core.fence import fenced
from commonplace.core.text import TOKEN_BYTES

if TYPE_CHECKING:
    from commonplace.core.values import Interval

FEWEST_TOKENS = 100
MOST_TOKENS = 100_000
_SHORTEST = 80


class Context(Struct, frozen=True, kw_only=True):
    """What a prompt should hold, whole within its budget; empty where nothing is kept.

    Attributes:
        refs: Of what stands in it.
        interval: The time that the question named.
        notes: Sentences on what the reader must know.
    """

    text: str
    refs: tuple[str, ...]
    tokens: int
    interval: Interval | None = None
    notes: tuple[str, ...] = ()


def check_budget(budget_tokens: int) -> None:
    """Raises: Invalid for a budget that no context fits in, and for one beyond all sense."""
    if not FEWEST_TOKENS <= budget_tokens <= MOST_TOKENS:
        raise Invalid(
            f"Invalid budget_tokens: {budget_tokens}.",
            hint=f"Use {FEWEST_TOKENS} to {MOST_TOKENS:,}.",
        )


class ContextBlocks:
    """Fenced texts within a number of tokens; an entry stands in them once.

    Args:
        budget_tokens: Four bytes each.
    """

    def __init__(self, budget_tokens: int) -> None:
        self._most = budget_tokens * TOKEN_BYTES
        self._blocks: list[str] = []
        self._used = 0
        self.refs: list[str] = []

    def put(self, ref: str, text: str, *, label: str, share: float = 1.0) -> None:
        """Add an entry, shortened to what is left of a share of the whole; or leave it out.

        Args:
            ref: Of the entry.
            text: What it says.
            label: The first line of its fence.
            share: How much of the whole may be used with it, in [0, 1].
        """
        left = int(self._most * share) - self._used
        if ref in self.refs or left < _SHORTEST:
            return
        block = fenced(text, label)
        while len(block.encode()) + 2 > left:
            over = len(block.encode()) + 2 - left
            if len(text) - over < _SHORTEST // 2:
                return
            text = text[: max(len(text) - over - 1, 1)].rstrip() + "…"
            block = fenced(text, label)
        self._blocks.append(block)
        self.refs.append(ref)
        self._used += len(block.encode()) + 2

    def context(self, *, interval: Interval | None, notes: tuple[str, ...]) -> Context:
        """All that was put, as one text.

        Args:
            interval: The time that the question named.
            notes: What the reader must know.
        """
        return Context(
            text="\n\n".join(self._blocks),
            refs=tuple(self.refs),
            tokens=-(-self._used // TOKEN_BYTES),
            interval=interval,
            notes=notes,
        )
