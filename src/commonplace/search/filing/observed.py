"""Filing as verbs use it: opened at its first use, heard of by an observer, deferred if asked for.

Never files anything itself, and never lets a write wait for the observer but where text must go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.core.values import Put
from commonplace.search.filing.port import Deferred, Pending

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.core.values import Change
    from commonplace.search.filing.port import FilingObserver, FilingPort, Outcome


class ObservedFiling:
    """A filing whose observer hears of each write, edit and deletion.

    Args:
        open_filing: Returns the filing, the same at each call; called when it is first needed.
        defers: Whether new entries, and the vectors of edited ones, are left to the next search or
            server: a command that logs a line waits for the journal alone.
    """

    def __init__(
        self,
        open_filing: Callable[[], FilingPort],
        observer: FilingObserver,
        *,
        defers: bool = False,
    ) -> None:
        self._open_filing = open_filing
        self._observer = observer
        self._defers = defers
        self._is_open = False

    def file(self, changes: Sequence[Change]) -> Outcome:
        """File what was just written; what it supersedes leaves the observer's at once.

        What says that something changed is not deferred: it may take the place of an entry. A state
        that only differs from an earlier one is: to open an index takes a command too long.
        """
        docs = [change.doc for change in changes if isinstance(change, Put)]
        if former := [doc.supersedes for doc in docs if doc.supersedes]:
            self._observer.gone(former)
        self._observer.changed(changes)
        if self._defers:
            from commonplace.search.policy import FILING_WAIT_S
            from commonplace.search.replacing import may_replace
            from commonplace.search.statements import read_statement

            fresh = may_replace(changes)
            if fresh is None or not read_statement(fresh.own_text).changes:
                return Deferred()
            # What earlier commands wrote is not filed yet, and may be what it replaces.
            self._filing.refresh(FILING_WAIT_S)
        return self._passing(self._filing.file(changes))

    def file_edited(self, changes: Sequence[Change]) -> Outcome:
        """File what was just edited; what it said before leaves the observer's at once."""
        self._observer.gone(_refs_of(changes))
        self._observer.changed(changes)
        return self._passing(self._filing.file_edited(changes))

    def refile(self, changes: Sequence[Put]) -> Outcome:
        """File entries that were edited; their old text leaves as a deleted one's."""
        refs = _refs_of(changes)
        if former := [x.doc.supersedes for x in changes if x.doc.supersedes]:
            self._observer.gone(former)
        self._observer.changed(changes)
        left, why = self._forget(refs)
        filed = self._passing(self._filing.file_edited(changes))
        return Pending(why) if why else left if left.why else filed

    def forget(self, refs: Sequence[str]) -> Outcome:
        """Take deleted entries out of the index and of what the observer keeps; never raises."""
        left, why = self._forget(refs)
        return Pending(why) if why else left

    def _forget(self, refs: Sequence[str]) -> tuple[Outcome, str]:
        """Take refs out of the observer's and of the index; and why the former failed, or empty."""
        self._observer.gone(refs)
        left = self._filing.forget(refs)
        # Summaries that quoted them are gone by that alone: the observer may have read them since.
        return left, self._observer.gone(refs)

    def close(self) -> None:
        """Close the filing; one that defers only if it was opened."""
        if self._is_open or not self._defers:
            self._filing.close()

    def _passing(self, filed: Outcome) -> Outcome:
        """The same, but that a deferred vector is missing is no news: the next search makes it."""
        if self._defers and isinstance(filed, Pending) and filed.by_words:
            return replace(filed, passing=True)
        return filed

    @property
    def _filing(self) -> FilingPort:
        self._is_open = True
        return self._open_filing()

    def __getattr__(self, name: str) -> object:
        return getattr(self._filing, name)


def _refs_of(changes: Sequence[Change]) -> list[str]:
    return [change.doc.ref if isinstance(change, Put) else change.ref for change in changes]
