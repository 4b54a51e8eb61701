"""What keeps an index behind a store, as those see it who write and who search.

Never opens anything: a protocol, and the answer of those who leave the index to others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.values import Change
    from commonplace.search.filing.filing import Filed, Pending


class Deferred(Struct, frozen=True):
    """The entry is filed by the next search, in this process or another; its vector may follow."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing must be known."""
        return ()


class FilingPort(Protocol):
    """What keeps an index behind a store, as those see it who write and who search."""

    def file(self, changes: Sequence[Change]) -> Filed | Pending | Deferred:
        """File what was just written; never raises into the write."""
        ...

    def file_edited(self, changes: Sequence[Change]) -> Filed | Pending | Deferred:
        """File what was just edited; never raises into the write."""
        ...

    def forget(self, refs: Sequence[str]) -> Filed | Pending:
        """Take deleted entries out of the index, every byte of their text; never raises."""
        ...

    def refresh(self, wait_s: float) -> tuple[str, ...]:
        """File what was written, waiting at most so long; a sentence for what is not done."""
        ...

    def settle(self, identity: str, wait_s: float) -> tuple[str, ...]:
        """Wait a while for vectors that are being made; a sentence where some are missing."""
        ...

    def catch_up(self) -> int:
        """File everything that can be filed here; how much was. Raises: Unavailable."""
        ...

    def close(self) -> None:
        """Let go of what works in the background; may be called twice."""
        ...
