"""Owns how entries of the notebook expire: the journal keeps the time, no answer shows them after.

Never rewrites git's history: that still holds what has expired, until a person asks for it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.clock import micros
from commonplace.core.errors import NotFound
from commonplace.core.expiring import put_journal
from commonplace.journals.notebook.format import JOURNAL
from commonplace.journals.notebook.names import parse_address

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from commonplace.core.time_book import TimeBook
    from commonplace.journals.notebook.journal import NotebookJournal
    from commonplace.journals.notebook.shared import SharedNotebook


class NotebookEnds(Struct, frozen=True, kw_only=True):
    """When the entries of one owner's notebook expire; see `verbs.forgetting.expiry.KeepsEnds`.

    Attributes:
        notebook: The journal, there or not.
        book: Has a copy of the times, by which the sweep knows without git what is due.
        replaced: Notes which entries were replaced by one that has expired.
        unfile: Takes refs out of the index.
    """

    notebook: NotebookJournal | SharedNotebook
    book: TimeBook
    replaced: TimeBook
    unfile: Callable[[Sequence[str]], object]

    def covers(self, ref: str) -> bool:
        """Whether a ref is that of an entry of the notebook."""
        return ref.startswith(f"{JOURNAL}:") and "#" in ref

    def is_away(self, ref: str) -> bool:
        """Whether it is, and there is no notebook now, as on a disk that was taken out."""
        return self.covers(ref) and not self.notebook.exists

    def note(self) -> None:
        """Copy the times of the entries that expire out of git, where other clones set them too.

        With them which entries were replaced by one that has expired.
        """
        in_git = self.notebook.in_git
        if in_git is None or not in_git.exists:
            return  # in a database they stand where the book reads them
        ledger, branches = in_git.ledger, in_git.branches
        lines = branches.list_ends() if branches.catch_up() else []
        lines += ledger.list_ends()
        ends = {x.ref: x.expires.timestamp() for x in lines if x.expires}
        put_journal(self.book, JOURNAL, ends)
        left = {ref: micros(at) / 1e6 for ref, at in ledger.list_left_replaced().items()}
        self.replaced.keep_all(left)

    def set_end(self, ref: str, at: datetime | None) -> str:
        """Set when an entry expires, None for never; returns its whole ref."""
        entry = self.notebook.set_end(parse_address(ref), at)
        self.note()
        return entry.ref

    def find_end(self, ref: str) -> datetime | None:
        """When an entry expires, or has expired; None for never."""
        return self.notebook.read_kept_entry(parse_address(ref)).expires

    def leave_out(self, refs: Sequence[str]) -> None:
        """Take entries that have expired out of the index and of the ledger."""
        in_git = self.notebook.in_git
        if in_git is None or not refs:
            return  # from a database they are gone
        self.note()
        lines = []
        for ref in refs:
            with suppress(NotFound):  # forgotten since, and out of the history
                lines.append(in_git.find_line(parse_address(ref)))
        # A section that was moved since gives its entries other refs.
        self.unfile(list(dict.fromkeys([*refs, *(line.ref for line in lines)])))
        ids = [line.id for line in lines]
        in_git.ledger.sweep(ids)
        in_git.ledger.sweep_others(ids)
