"""Several filings that a search waits for as for one.

Never files by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.values import Change
    from commonplace.search.filing.filing import Filed, Pending
    from commonplace.search.filing.port import Deferred, FilingPort


class MergedFiling:
    """Keeps several indexes behind their journals, so that one search may wait for all of them.

    The filings are closed by those who made them.

    Args:
        first: Takes what is written.
        others: Refreshed as well before a search.
    """

    def __init__(self, first: FilingPort, *others: FilingPort) -> None:
        self._first = first
        self._others = others

    def file(self, changes: Sequence[Change]) -> Filed | Pending | Deferred:
        """File into the first; never raises into the write."""
        return self._first.file(changes)

    def file_edited(self, changes: Sequence[Change]) -> Filed | Pending | Deferred:
        """File what was edited into the first; never raises into the write."""
        return self._first.file_edited(changes)

    def forget(self, refs: Sequence[str]) -> Filed | Pending:
        """Take deleted entries out of the first; never raises."""
        return self._first.forget(refs)

    def refresh(self, wait_s: float) -> tuple[str, ...]:
        """File what was written, waiting a while for each; a sentence for what is not done."""
        notes = (each.refresh(wait_s) for each in (self._first, *self._others))
        return tuple(dict.fromkeys(note for some in notes for note in some))

    def settle(self, identity: str, wait_s: float) -> tuple[str, ...]:
        """Wait a while for vectors that are being made; a sentence where some are missing."""
        notes = (each.settle(identity, wait_s) for each in (self._first, *self._others))
        return tuple(dict.fromkeys(note for some in notes for note in some))

    def catch_up(self) -> int:
        """File everything that can be filed here; how much was. Raises: Unavailable."""
        return sum(each.catch_up() for each in (self._first, *self._others))

    def close(self) -> None:
        """Nothing: see the class."""
