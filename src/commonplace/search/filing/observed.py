"""Filing that tells an observer what changed: what is kept beside the index follows the journals.

Never files anything itself, and never lets a write wait for the observer but where text must go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.values import Put

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.core.values import Change
    from commonplace.search.filing.filing import Filed, Pending
    from commonplace.search.filing.observer import FilingObserver
    from commonplace.search.filing.port import Deferred, FilingPort


class ObservedFiling:
    """A filing whose observer hears of each write, edit and deletion.

    Args:
        open_filing: Returns the filing, the same at each call; called when it is first needed.
        observer: Hears of it.
    """

    def __init__(self, open_filing: Callable[[], FilingPort], observer: FilingObserver) -> None:
        self._open_filing = open_filing
        self._observer = observer

    def file(self, changes: Sequence[Change]) -> Filed | Pending | Deferred:
        """File what was just written; what it supersedes leaves the observer's at once."""
        docs = [change.doc for change in changes if isinstance(change, Put)]
        if former := [doc.supersedes for doc in docs if doc.supersedes]:
            self._observer.gone(former)
        self._observer.changed(changes)
        return self._open_filing().file(changes)

    def file_edited(self, changes: Sequence[Change]) -> Filed | Pending | Deferred:
        """File what was just edited; what it said before leaves the observer's at once."""
        self._observer.gone(_refs_of(changes))
        self._observer.changed(changes)
        return self._open_filing().file_edited(changes)

    def refile(self, changes: Sequence[Put]) -> Filed | Pending | Deferred:
        """File entries that were edited; their old text leaves as a deleted one's."""
        why = self._observer.gone(_refs_of(changes))
        self._observer.changed(changes)
        return _troubled(self._open_filing().refile(changes), why)  # type: ignore[attr-defined]  # of those that have it

    def forget(self, refs: Sequence[str]) -> Filed | Pending | Deferred:
        """Take deleted entries out of the index and of what the observer keeps; never raises."""
        why = self._observer.gone(refs)
        return _troubled(self._open_filing().forget(refs), why)

    def __getattr__(self, name: str) -> object:
        return getattr(self._open_filing(), name)


def _refs_of(changes: Sequence[Change]) -> list[str]:
    return [change.doc.ref if isinstance(change, Put) else change.ref for change in changes]


def _troubled(filed: Filed | Pending | Deferred, why: str) -> Filed | Pending | Deferred:
    """The same, with what must be known of the observer's failure."""
    if not why:
        return filed
    from commonplace.search.filing.filing import Pending

    return Pending(why)
