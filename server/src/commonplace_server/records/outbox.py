"""What changed in a store and waits for the index: lines without a text, and who gives them.

Never says how a record changed: it is read again as it is now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.values import AreCurrent, Change


class OutboxLine(Struct, frozen=True, kw_only=True):
    """A record that changed, without saying how.

    Attributes:
        changes: How often it has changed by now.
        has_words: Whether the index has its words as of that change.
        is_lost: Whether some words may be missing, though the index seems to have them.
    """

    owner: str
    kind: str
    ref_id: str
    changes: int
    gone: bool
    has_words: bool = False
    is_lost: bool = False


class Outbox(Protocol):
    """A store whose saves leave the index to others: to the next search, and to a worker."""

    def unfiled(self, limit: int) -> list[OutboxLine]:
        """What changed and whose words no index has yet, oldest first. Raises: Unavailable."""
        ...


class AppliesCurrent(Protocol):
    """An index of an owner that leaves out what changed again before it had its turn."""

    def apply_current(
        self,
        changes: Sequence[Change],
        are_current: AreCurrent,
        *,
        lost: frozenset[str] = frozenset(),
    ) -> bool:
        """Make those changes that still hold once nothing else files; else as `OwnerIndex.apply`.

        Args:
            changes: Puts and drops.
            are_current: Which of them hold; what it notes is committed with them, or not at all.
            lost: Refs of which words may be missing, though the index seems to have them.

        Returns:
            Whether all of them held.
        """
        ...
