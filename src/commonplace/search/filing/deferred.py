"""Filing for a process that ends at once: what it writes is left to the next search or server.

Never writes truth, never waits for a model, and never opens an index for an entry that is new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.search.filing.port import Deferred

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.core.values import Change, Put
    from commonplace.search.filing.filing import Filed, Pending
    from commonplace.search.filing.port import FilingPort


class DeferredFiling:
    """Defers entries that are new, and the vectors of edited ones; all else is done at once.

    A command that logs a line waits for the journal alone. Where an entry is edited or deleted its
    earlier words leave the index at once, for which no model is needed.

    Args:
        open_filing: Returns the owner's filing, the same at each call.
    """

    def __init__(self, open_filing: Callable[[], FilingPort]) -> None:
        self._open_filing = open_filing
        self._is_open = False

    def file(self, changes: Sequence[Change]) -> Filed | Pending | Deferred:
        """Leave changes to the next search, which finds them by the journal's mark.

        What says that something changed is filed at once: it may take the place of an entry.
        """
        from commonplace.search import policy
        from commonplace.search.replacing import may_replace

        if may_replace(changes) is None:
            return Deferred()
        # What earlier commands wrote is not filed yet, and may be what it replaces.
        self._filing.refresh(policy.FILING_WAIT_S)
        return _passing(self._filing.file(changes))

    def file_edited(self, changes: Sequence[Change]) -> Filed | Pending | Deferred:
        """File the words of what was edited; never raises into the write."""
        return _passing(self._filing.file_edited(changes))

    def refile(self, changes: Sequence[Put]) -> Filed | Pending | Deferred:
        """File the words of entries that were edited; their old text leaves as a deleted one's."""
        left = self._filing.forget([change.doc.ref for change in changes])
        filed = self.file_edited(changes)
        return left if left.why else filed

    def close(self) -> None:
        """Close the filing, if it was opened."""
        if self._is_open:
            self._filing.close()

    @property
    def _filing(self) -> FilingPort:
        self._is_open = True
        return self._open_filing()

    def __getattr__(self, name: str) -> object:
        return getattr(self._filing, name)


def _passing(filed: Filed | Pending | Deferred) -> Filed | Pending | Deferred:
    """The same, but that a vector is missing is no news: the next search makes it."""
    from commonplace.search.filing.filing import Pending

    if isinstance(filed, Pending) and filed.by_words:
        return replace(filed, passing=True)
    return filed
