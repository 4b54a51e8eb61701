"""Filing for a store whose saves leave the index to a worker: words at a search, vectors never.

Never writes truth, never raises into a write, and never waits for a model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from commonplace.core.errors import CommonplaceError
from commonplace.core.ports import Forgetting, OwnerIndex
from commonplace.core.values import Drop, Put
from commonplace.search import policy
from commonplace.search.filing.port import Deferred, Filed, Pending
from commonplace.search.filing.source_indexer import explain, log_failure
from commonplace_server.records.outbox import AppliesCurrent
from commonplace_server.worker import numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.core.values import AreCurrent, Change
    from commonplace_server.records.outbox import Outbox, OutboxLine


class FiledBySearches(OwnerIndex, AppliesCurrent, Protocol):
    """An index into which a search files, and notes in the same transaction what is filed."""


class WordFiling:
    """Keeps an owner's words behind a store that defers. Thread-safe; holds nothing.

    A save files nothing: the next search does, in this process or another one.

    Args:
        index: The words and vectors of the owner.
        store: Where the changes are noted that wait to be filed.
        read: Reads the changes that lines of the outbox stand for, as their records are now.
        note_filed: Makes what notes that these lines are filed, and asks which of them are
            unchanged since they were read.
        shows_paths: Whether a message may name a path or an address.
        quoting: As `Filing`'s.
    """

    def __init__(
        self,
        *,
        index: FiledBySearches,
        store: Outbox,
        read: Callable[[Sequence[OutboxLine]], Sequence[Change]],
        note_filed: Callable[[Sequence[OutboxLine]], AreCurrent],
        shows_paths: bool = True,
        quoting: Callable[[Sequence[str]], Sequence[str]] | None = None,
    ) -> None:
        self._quoting = quoting
        self._shows_paths = shows_paths
        self._note_filed = note_filed
        self._index = index
        self._store = store
        self._read = read

    def file(self, changes: Sequence[Change]) -> Deferred:
        """Nothing: the outbox has them."""
        return Deferred()

    def file_edited(self, changes: Sequence[Change]) -> Deferred:
        """Nothing, as `file`."""
        return Deferred()

    def forget(self, refs: Sequence[str]) -> Filed | Pending:
        """Take deleted entries out of the index, and what quoted them; never raises."""
        trouble = ""
        try:
            if self._quoting is not None:
                refs = [*refs, *self._quoting(refs)]
        except CommonplaceError as exc:
            log_failure("What quoted a deleted entry may hold words of it", exc)
            trouble = explain(exc, shows_paths=self._shows_paths)
        try:
            if isinstance(self._index, Forgetting):
                self._index.forget(refs)
            else:
                self._index.apply([Drop(ref) for ref in refs])
        except CommonplaceError as exc:
            log_failure("A deleted entry waits to leave the index", exc)
            return Pending(explain(exc, shows_paths=self._shows_paths))
        return Pending(trouble) if trouble else Filed()

    def refresh(self, wait_s: float) -> tuple[str, ...]:
        """File the words of what was saved, in this thread; a sentence for what is not done."""
        try:
            left = self._file_words(numbers.WORDS_AT_A_SEARCH)
        except CommonplaceError as exc:
            log_failure("Words wait to be filed", exc)
            return (
                f"Not everything can be found yet: {explain(exc, shows_paths=self._shows_paths)}",
            )
        return ("Not everything can be found yet: much was just saved.",) if left else ()

    def settle(self, identity: str, wait_s: float) -> tuple[str, ...]:
        """Nothing is waited for: vectors are the worker's."""
        return ()

    def catch_up(self) -> int:
        """File all words; how many records' were. Raises: Unavailable."""
        return self._file_words(None)

    def close(self) -> None:
        """Nothing is held."""

    def _file_words(self, most: int | None) -> int:
        """File what waits, at most about so much; without a limit how much was filed, else left."""
        filed = 0
        is_long = False
        while noted := self._store.unfiled(policy.ENCODE_BATCH_MOST):
            if most is not None and (filed >= most or is_long):
                return len(noted)
            changes = self._read_some(noted)
            hold = self._index.apply_current(changes, self._note_filed(noted[: len(changes)]))
            filed += len(changes)
            is_long = len(changes) < len(noted)
            if hold and not is_long and len(noted) < policy.ENCODE_BATCH_MOST:
                break  # what came since was saved while this search ran
        return filed if most is None else 0

    def _read_some(self, noted: Sequence[OutboxLine]) -> list[Change]:
        """What the first of these stand for, until it is as much as is filed at a time."""
        changes: list[Change] = []
        size = 0
        while len(changes) < len(noted) and size < numbers.WORD_CHARACTERS:
            begin = len(changes)
            changes += self._read(noted[begin : begin + numbers.READ_AT_ONCE])
            size += sum(map(size_of, changes[begin:]))
        return changes


def size_of(change: Change) -> int:
    """Characters of what a change puts into the index."""
    return len(change.doc.text) if isinstance(change, Put) else 0
