"""Reads and files what a worker has leased: of many users at once, or of each alone if that fails.

Never encodes, and keeps nothing: what could not be done is for whoever leases it next.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from commonplace.core.errors import CommonplaceError, Lost
from commonplace.core.values import Filing, Put
from commonplace.journals.memory.entry import change_noted
from commonplace.journals.memory.postgres.unchanged import ask_in_charge, ask_unchanged
from commonplace.search import policy
from commonplace.search.filing.words_only import size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from commonplace.core.memory import Noted, ReadsNoted
    from commonplace.core.ports import FilesForAll
    from commonplace.core.values import Change, Encoded

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Task:
    """A line of the outbox and what the index is to hold of it."""

    noted: Noted
    change: Change

    @property
    def size(self) -> int:
        """Characters to encode."""
        return size_of(self.change)

    @property
    def has_words(self) -> bool:
        """Whether nothing of it but its vector is to be filed: a search has filed its words."""
        noted = self.noted
        return noted.has_words and not (noted.gone or noted.anew)

    @property
    def owner(self) -> str:
        """Whose it is."""
        return self.noted.owner


class Lots:
    """What a worker reads and files of several users together. Thread-safe."""

    def __init__(self, *, records: ReadsNoted, index: FilesForAll) -> None:
        self._records = records
        self._index = index

    def read(self, leased: Sequence[Noted]) -> tuple[list[Task], list[Noted]]:
        """What the first of these stand for, until it is enough to encode; and the rest."""
        tasks: list[Task] = []
        size, left = 0, sorted(leased, key=_owner)
        while left and size <= policy.BACKLOG_CHARACTERS:
            some, left = left[: policy.READ_AT_ONCE], left[policy.READ_AT_ONCE :]
            read: list[Task] = []
            lots = [list(mine) for _, mine in groupby(some, key=_owner)]
            done_for(lots, partial(self._read, read), "read")
            tasks += read
            size += sum(task.size for task in read)
        return tasks, left

    def file_words(self, tasks: Sequence[Task]) -> list[Task]:
        """Those whose words are filed, or taken out where they are to be."""
        filed = [task for task in tasks if task.has_words]
        lots = [
            list(mine)
            for _, mine in groupby((task for task in tasks if not task.has_words), key=_owner_of)
        ]
        for some in _lots_of(lots):
            for mine in done_for(some, self._file, "filed"):
                filed += mine
        return filed

    def file_vectors(self, identity: str, encoded: Mapping[str, Sequence[Encoded]]) -> set[str]:
        """File vectors by owner; whose could be."""
        filed: set[str] = set()
        for some in _lots_of(sorted(encoded.items())):
            filed |= dict(
                done_for(some, lambda lots: self._index.file_vectors(identity, dict(lots)), "filed")
            ).keys()
        return filed

    def drop_former(self, identity: str, owner: str) -> bool:
        """Let go of other encoders' vectors; whether they are gone, and this one in charge yet."""
        try:
            return self._index.drop_former(identity, owner, still=ask_in_charge(identity))
        except Lost:
            raise
        except CommonplaceError as exc:
            _log.warning("Former vectors of a user cannot be let go of: %s", exc)
            return False

    def _read(self, tasks: list[Task], lots: Sequence[Sequence[Noted]]) -> None:
        noted = [each for mine in lots for each in mine]
        tasks += map(Task, noted, changes_noted(self._records, noted))

    def _file(self, lots: Sequence[Sequence[Task]]) -> None:
        self._index.file([self._filing(mine) for mine in lots])

    def _filing(self, mine: Sequence[Task]) -> Filing:
        return Filing(
            owner=mine[0].owner,
            changes=[task.change for task in mine],
            anew=frozenset(_ref(task.change) for task in mine if task.noted.anew),
            still=ask_unchanged([task.noted for task in mine]),
        )


def changes_noted(records: ReadsNoted, noted: Sequence[Noted]) -> list[Change]:
    """What the index is to hold of what changed, as its records are now. Raises: Unavailable."""
    return [
        change_noted(each.kind, each.ref_id, record)
        for each, record in zip(noted, records.read(noted), strict=True)
    ]


def done_for(lots: Sequence[_T], act: Callable[[Sequence[_T]], object], what: str) -> Sequence[_T]:
    """The lots, one a user, that this could be done for: for all at once, else for each alone."""
    try:
        act(lots)
    except CommonplaceError as exc:
        # A server that is away is away for each.
        if len(lots) == 1 or isinstance(exc, Lost):
            _log.warning("What waits of %d users cannot be %s: %s", len(lots), what, exc)
            return ()
        return [each for each in lots if done_for([each], act, what)]
    return lots


def _lots_of(lots: Sequence[_T]) -> list[Sequence[_T]]:
    step = policy.FILED_TOGETHER
    return [lots[at : at + step] for at in range(0, len(lots), step)]


def _owner(noted: Noted) -> str:
    return noted.owner


def _owner_of(task: Task) -> str:
    return task.owner


def _ref(change: Change) -> str:
    return change.doc.ref if isinstance(change, Put) else change.ref
