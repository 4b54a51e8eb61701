"""Filing for a process that ends at once: what it writes is left to the next search or server.

Never writes truth, and never opens an index for a write.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.core.values import Change
    from commonplace.search.filing.filing import Filing


@dataclass(frozen=True, slots=True)
class Deferred:
    """The entry is filed by the next search, in this process or another; its vector may follow."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing must be known."""
        return ()


class DeferredFiling:
    """Defers what is written; edits, deletions and searches are filed at once, as `Filing` does.

    A command that logs a line waits for the journal alone: it opens neither an index nor a model.

    Args:
        open_filing: Returns the owner's filing, the same at each call.
    """

    def __init__(self, open_filing: Callable[[], Filing]) -> None:
        self._open_filing = open_filing

    def file(self, _changes: Sequence[Change]) -> Deferred:
        """Leave changes to the next search, which finds them by the journal's mark."""
        return Deferred()

    def __getattr__(self, name: str) -> object:
        return getattr(self._open_filing(), name)
