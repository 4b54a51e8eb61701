"""Filing for a store whose saves leave the index to a worker: words at a search, vectors never.

Never writes truth, never raises into a write, and never waits for a model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from commonplace.core.errors import CommonplaceError
from commonplace.core.ports import AppliesStill, Forgetting
from commonplace.core.values import Drop, Put
from commonplace.search import policy
from commonplace.search.filing.filing import Filed, Pending
from commonplace.search.filing.source_indexer import explain, log_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.core.outbox import Outbox, OutboxLine
    from commonplace.core.ports import OwnerIndex
    from commonplace.core.values import Change, Still


class Files(Protocol):
    """What keeps an index behind a store, as those see it who write and who search."""

    def file(self, changes: Sequence[Change]) -> Filed | Pending | Later:
        """File what was just written; never raises into the write."""
        ...

    def forget(self, refs: Sequence[str]) -> Filed | Pending:
        """Take deleted entries out of the index, every byte of their text; never raises."""
        ...

    def refresh(self, wait_s: float) -> tuple[str, ...]:
        """File what was written, waiting at most so long; tells what is not done."""
        ...

    def settle(self, identity: str, wait_s: float) -> tuple[str, ...]:
        """Wait at most so long for vectors that are being made; tells how many are missing."""
        ...

    def catch_up(self) -> int:
        """File everything that can be filed here; how much was. Raises: Unavailable."""
        ...

    def close(self) -> None:
        """Let go of what works in the background; may be called twice."""
        ...


@dataclass(frozen=True, slots=True)
class Later:
    """The entry will be found by whoever searches next; its vector is made by a worker."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing must be known."""
        return ()


class WordFiling:
    """Keeps an owner's words behind a store that defers. Thread-safe; holds nothing.

    A save files nothing: the next search does, in this process or another one. read: the changes
    that lines of the outbox stand for, as their records are now. still: tells which are unchanged
    since. shows_paths: whether what went wrong may name a path or an address.
    """

    def __init__(
        self,
        *,
        index: OwnerIndex,
        store: Outbox,
        read: Callable[[Sequence[OutboxLine]], Sequence[Change]],
        still: Callable[[Sequence[OutboxLine]], Still],
        shows_paths: bool = True,
    ) -> None:
        self._shows_paths = shows_paths
        self._still = still
        self._index = index
        self._store = store
        self._read = read

    def file(self, changes: Sequence[Change]) -> Later:  # noqa: ARG002  the outbox has them
        """Nothing: the outbox has them."""
        return Later()

    def forget(self, refs: Sequence[str]) -> Filed | Pending:
        """Take deleted entries out of the index; never raises."""
        try:
            if isinstance(self._index, Forgetting):
                self._index.forget(refs)
            else:
                self._index.apply([Drop(ref) for ref in refs])
        except CommonplaceError as exc:
            log_failure("A deleted entry waits to leave the index", exc)
            return Pending(explain(exc, shows_paths=self._shows_paths))
        return Filed()

    def refresh(self, wait_s: float) -> tuple[str, ...]:  # noqa: ARG002  each step is short
        """File the words of what was saved, in this thread; tells what is not done."""
        try:
            left = self._file_words(policy.WORDS_AT_A_SEARCH)
        except CommonplaceError as exc:
            log_failure("Words wait to be filed", exc)
            return (
                f"Not everything can be found yet: {explain(exc, shows_paths=self._shows_paths)}",
            )
        return ("Not everything can be found yet: much was just saved.",) if left else ()

    def settle(self, identity: str, wait_s: float) -> tuple[str, ...]:  # noqa: ARG002  as above
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
            if isinstance(self._index, AppliesStill):
                self._index.apply_still(changes, self._still(noted[: len(changes)]))
            else:
                self._index.apply(changes)
            self._store.filed(noted[: len(changes)])
            filed += len(changes)
            is_long = len(changes) < len(noted)
        return filed if most is None else 0

    def _read_some(self, noted: Sequence[OutboxLine]) -> list[Change]:
        """What the first of these stand for, until it is as much as is filed at a time."""
        changes: list[Change] = []
        size = 0
        while len(changes) < len(noted) and size < policy.WORD_CHARACTERS:
            begin = len(changes)
            changes += self._read(noted[begin : begin + policy.READ_AT_ONCE])
            size += sum(map(size_of, changes[begin:]))
        return changes


def size_of(change: Change) -> int:
    """Characters of what a change puts into the index."""
    return len(change.doc.text) if isinstance(change, Put) else 0
