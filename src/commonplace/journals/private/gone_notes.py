"""Owns how notes that are left in their copies alone are read, so that `forget` finds them.

Never brings one back, and never logs its text.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.core.values import Put
from commonplace.journals.private.places import read_entry
from commonplace.journals.private.source import JOURNAL, doc_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.core.expiring import Hidden
    from commonplace.core.values import Change, Since
    from commonplace.journals.private.journal import PrivateJournal

_log = logging.getLogger(__name__)


class GoneNotesSource:
    """The notes that are gone from their projects, each under its ref; a `Source` without an index.

    Args:
        journal: Of the owner who has the copies.
        hidden: Gives the refs of what has expired.
    """

    name = f"{JOURNAL}:gone"
    cheap_mark = False
    exact_mark = False

    def __init__(self, journal: PrivateJournal, hidden: Hidden) -> None:
        self._journal = journal
        self._hidden = hidden

    def mark(self) -> str:
        """An empty mark: all of it is read each time."""
        return ""

    def scan(self, since: Since) -> Iterator[Change]:
        """A put of each note; the proof of forgetting names a copy that cannot be read."""
        hidden = self._hidden()
        try:
            for _, place in self._journal.recovery.gone_places():
                if place.ref not in hidden:
                    yield Put(doc_of(read_entry(place, self._journal.zone), self._journal.zone))
        except CommonplaceError as exc:
            _log.warning("Copies of notes that are gone could not be read: %s", exc)
