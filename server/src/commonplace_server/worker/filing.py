"""Reads and files what a worker has leased, as each user: what fails for one waits, alone.

Never encodes, and keeps nothing: what could not be done is for the next worker that leases it.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import Struct

from commonplace.core.errors import CommonplaceError, Lost
from commonplace.core.values import Put
from commonplace_server.records.outbox_checks import check_leads, check_unchanged
from commonplace_server.worker import numbers
from commonplace_server.worker.word_filing import size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from commonplace.core.values import AreCurrent, Change, Encoded
    from commonplace_server.records.outbox import OutboxLine
    from commonplace_server.records.upkeep import PackingLease
    from commonplace_server.worker.changes import ReadsChanges

_log = logging.getLogger(f"commonplace.{__name__}")
_T = TypeVar("_T")
_R = TypeVar("_R")


class FilesForWorker(Protocol):
    """The index of one owner as the worker of all owners fills it.

    Filing has two steps, both in one transaction: the first asks what is there, and returns a
    function that reads the answers and files. All owners are asked first: one wait is for all.
    """

    def ask_current(
        self,
        changes: Sequence[Change],
        are_current: AreCurrent,
        *,
        lost: frozenset[str] = frozenset(),
    ) -> Callable[[], None]:
        """File those changes that still hold; see `AppliesCurrent`. Raises: Unavailable."""
        ...

    def ask_vectors(self, identity: str, encoded: Sequence[Encoded]) -> Callable[[], None]:
        """File vectors of present texts; see `OwnerIndex`. Raises: Unavailable, Invalid."""
        ...

    def pack(self, *, tries: int = 1, until: datetime | None = None) -> None:
        """Make the index smaller, some docs at a time, and note it as done.

        Args:
            tries: Each after the first takes fewer docs at a time: the one before took too long.
            until: As long as the lease of it holds; None where nobody else packs.

        Raises:
            Unavailable.
        """
        ...

    def drop_previous(self, identity: str, are_current: AreCurrent) -> bool:
        """Drop other encoders' vectors of docs that have ones of this, some at a time.

        Args:
            identity: of the encoder whose vectors stay.
            are_current: asked before each step; the work ends where it says no.

        Returns:
            Whether it said yes to the end.

        Raises:
            Unavailable: the database does not answer.
            Conflict: another process changed the same rows.
        """
        ...


class Task(Struct, frozen=True):
    """A line of the outbox and what the index is to hold of it."""

    noted: OutboxLine
    change: Change

    @property
    def has_words(self) -> bool:
        """Whether nothing of it but its vector is to be filed: a search has filed its words."""
        noted = self.noted
        return noted.has_words and not (noted.gone or noted.is_lost)


class LeasedRecords:
    """What a worker reads and files of each user as that user. Thread-safe.

    Args:
        read_of: Opens what reads a user's changes.
        index_of: Opens the index of a user.
        of_many: Has what is read and written of several users be one transaction.
    """

    def __init__(
        self,
        *,
        read_of: Callable[[str], ReadsChanges],
        index_of: Callable[[str], FilesForWorker],
        of_many: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._read_of = read_of
        self._index_of = index_of
        self._of_many = of_many

    def read(self, leased: Sequence[OutboxLine]) -> tuple[list[Task], list[OutboxLine]]:
        """What the first of these stand for, until it is enough to encode; and the rest.

        Raises: Unavailable where the database is away.
        """
        tasks: list[Task] = []
        size, left = 0, sorted(leased, key=_owner_of_line)
        while left and size <= numbers.BACKLOG_CHARACTERS:
            some, left = left[: numbers.READ_AT_ONCE], left[numbers.READ_AT_ONCE :]
            lines = {owner: list(mine) for owner, mine in groupby(some, key=_owner_of_line)}
            changes = self._of_each(self._ask_changes, lines)
            read = [task for owner in changes for task in map(Task, lines[owner], changes[owner])]
            tasks += read
            size += sum(size_of(task.change) for task in read)
        return tasks, left

    def file_words(self, tasks: Sequence[Task]) -> list[Task]:
        """Those whose words are filed, or removed where they are to be.

        Raises: Unavailable where the database is away.
        """
        filed = [task for task in tasks if task.has_words]
        rest = (task for task in tasks if not task.has_words)
        of_each = {o: list(mine) for o, mine in groupby(rest, key=lambda task: task.noted.owner)}
        for owner in self._of_each(self._ask_words, of_each):
            filed += of_each[owner]
        return filed

    def file_vectors(self, identity: str, encoded: Mapping[str, Sequence[Encoded]]) -> set[str]:
        """File vectors by owner; whose could be. Raises: Unavailable where the database is away."""

        def ask(owner: str, mine: Sequence[Encoded]) -> Callable[[], None]:
            return self._index_of(owner).ask_vectors(identity, mine)

        return {*self._of_each(ask, encoded)}

    def pack(self, lease: PackingLease) -> None:
        """Make the index of a user smaller. Raises: Unavailable where the database is away."""
        failed = "The index of a user cannot be packed yet"
        with self._waiting_where_it_fails(failed):
            try:
                self._index_of(lease.owner).pack(tries=lease.tries, until=lease.until)
            except CommonplaceError:
                raise
            except Exception:  # noqa: BLE001  blocks that cannot be read: who is leased too goes on
                _log.exception(failed)

    def drop_previous(self, identity: str, owner: str) -> bool:
        """Drop other encoders' vectors; whether they are gone, and this one in the lead yet."""
        are_gone = False
        with self._waiting_where_it_fails():
            are_gone = self._index_of(owner).drop_previous(identity, check_leads(identity))
        return are_gone  # noqa: RET504  the context may end an error

    def _of_each(
        self, ask: Callable[[str, _T], Callable[[], _R]], given: Mapping[str, _T]
    ) -> dict[str, _R]:
        """What this gives for each user for whom it does not fail.

        Of some users in one transaction, all asked before any answer is read: 2.2 waits a record in
        place of 7.7, where each is another user's. Where that fails, one by one. In the order of
        their names, so that of two workers none waits for the other in a ring.
        """
        found: dict[str, _R] = {}
        owners = sorted(given)
        for start in range(0, len(owners), numbers.USERS_AT_ONCE):
            some = owners[start : start + numbers.USERS_AT_ONCE]
            found |= self._of_some(ask, {owner: given[owner] for owner in some})
        return found

    def _of_some(
        self, ask: Callable[[str, _T], Callable[[], _R]], given: Mapping[str, _T]
    ) -> dict[str, _R]:
        if len(given) > 1:
            try:
                return self._together(ask, given)
            except CommonplaceError as exc:
                self._look_after(exc)
                _log.debug("%d users are filed one by one: %s", len(given), exc)
        found: dict[str, _R] = {}
        for owner, mine in given.items():
            with self._waiting_where_it_fails():
                found |= self._together(ask, {owner: mine})
        return found

    def _together(
        self, ask: Callable[[str, _T], Callable[[], _R]], given: Mapping[str, _T]
    ) -> dict[str, _R]:
        with self._of_many():
            asked = {owner: ask(owner, mine) for owner, mine in given.items()}
            return {owner: finish() for owner, finish in asked.items()}

    @contextmanager
    def _waiting_where_it_fails(
        self, failed: str = "What waits of a user cannot be filed yet"
    ) -> Iterator[None]:
        """What fails for one user alone is logged, and waits."""
        try:
            yield
        except CommonplaceError as exc:
            self._look_after(exc)
            _log.warning("%s: %s", failed, exc)

    def _look_after(self, exc: CommonplaceError) -> None:
        """Raise where the database is away. One that was too slow for a user is not."""
        if isinstance(exc, Lost):
            with self._of_many():
                pass

    def _ask_changes(
        self, owner: str, mine: Sequence[OutboxLine]
    ) -> Callable[[], Sequence[Change]]:
        return self._read_of(owner).ask(mine)

    def _ask_words(self, owner: str, mine: Sequence[Task]) -> Callable[[], None]:
        return self._index_of(owner).ask_current(
            [task.change for task in mine],
            check_unchanged([task.noted for task in mine]),
            lost=frozenset(
                task.change.doc.ref if isinstance(task.change, Put) else task.change.ref
                for task in mine
                if task.noted.is_lost
            ),
        )


def _owner_of_line(noted: OutboxLine) -> str:
    return noted.owner
