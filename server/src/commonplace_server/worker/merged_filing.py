"""Several filings that a search waits for as for one.

Never files by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.search.filing.port import Refreshing


class MergedFiling:
    """Keeps several indexes behind their journals, so that one search may wait for all of them."""

    def __init__(self, *filings: Refreshing) -> None:
        self._filings = filings

    def refresh(self, wait_s: float) -> tuple[str, ...]:
        """File what was written, waiting a while for each; a sentence for what is not done."""
        notes = (each.refresh(wait_s) for each in self._filings)
        return tuple(dict.fromkeys(note for some in notes for note in some))

    def settle(self, identity: str, wait_s: float) -> tuple[str, ...]:
        """Wait a while for vectors that are being made; a sentence where some are missing."""
        notes = (each.settle(identity, wait_s) for each in self._filings)
        return tuple(dict.fromkeys(note for some in notes for note in some))
