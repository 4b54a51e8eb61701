"""The worker of memory: files what waits in the outboxes of all users, words and vectors.

Never holds a transaction while it encodes, and works on a user's records as that user alone.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.core.ports import Forgetting
from commonplace.core.values import Drop, Put
from commonplace.journals.memory_entry import change_noted
from commonplace.search import policy
from commonplace.search.batches import encoded_of, groups_of, unencoded_of

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from commonplace.core.memory import Backlog, Defers, Noted
    from commonplace.core.ports import Encoder, EncoderSlot, Index
    from commonplace.core.values import Change, Unencoded

_log = logging.getLogger(__name__)
_LOAD_S = 60.0


@dataclass(frozen=True, slots=True)
class _Task:
    """A line of the outbox and what the index is to hold of it."""

    noted: Noted
    change: Change

    @property
    def size(self) -> int:
        """Characters to encode."""
        return len(self.change.doc.text) if isinstance(self.change, Put) else 0


def changes_noted(store: Defers, noted: Sequence[Noted]) -> list[Change]:
    """What the index is to hold of what changed, as its records are now. Raises: Unavailable."""
    return [
        change_noted(each.kind, each.ref_id, record)
        for each, record in zip(noted, store.read(noted), strict=True)
    ]


class MemoryWorker:
    """Files what waits, of any user; several may work at once, in any number of processes.

    store_of: a user's records. monotonic: tells when to tidy up.
    """

    def __init__(
        self,
        *,
        backlog: Backlog,
        store_of: Callable[[str], Defers],
        index: Index,
        encoder: EncoderSlot,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backlog = backlog
        self._store_of = store_of
        self._index = index
        self._encoder = encoder
        self._monotonic = monotonic
        self._tidied_at = monotonic()

    def run_once(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """File everything that waits, then tidy up; how much was filed.

        progress: called with (filed so far, 0): what is left is not counted. Raises: Unavailable.
        """
        self._encoder.get(_LOAD_S)
        filed = self.work(progress=progress)
        self._backlog.tidy()
        self._tidied_at = self._monotonic()
        return filed

    def work(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """File everything that waits; how much was filed. Raises: Unavailable."""
        filed = 0
        while step := self._step():
            filed += step
            if progress is not None:
                progress(filed, 0)
        return filed

    def run(self, stop: threading.Event) -> None:
        """File what comes, until stop is set; a database that is away is waited for."""
        while not stop.is_set():
            try:
                is_idle = not self._step()
                if is_idle and self._monotonic() - self._tidied_at >= policy.TIDY_EVERY_S:
                    self._tidied_at = self._monotonic()
                    self._backlog.tidy()
            except CommonplaceError as exc:
                _log.warning("The worker of memory waits: %s", exc)
                is_idle = True
            if is_idle:
                stop.wait(policy.BACKLOG_POLL_S)

    def _step(self) -> int:
        """File one batch; how much of it was filed."""
        encoder = self._encoder.get()
        identity = "" if encoder is None else encoder.identity
        leased = self._backlog.lease(
            policy.BACKLOG_BATCH, encoder=identity, seconds=policy.BACKLOG_LEASE_S
        )
        if not leased:
            return 0
        tasks, rest = _fitting(self._read(leased))
        if rest:
            self._backlog.give_back([task.noted for task in rest])
        filed = self._file(tasks, encoder)
        if filed and self._backlog.done([task.noted for task in filed], encoder=identity):
            _log.debug("Something changed while it was filed; it waits again.")
        return len(filed)

    def _read(self, leased: Sequence[Noted]) -> list[_Task]:
        tasks: list[_Task] = []
        for owner, mine in groupby(sorted(leased, key=_owner), key=_owner):
            noted = list(mine)
            try:
                changes = changes_noted(self._store_of(owner), noted)
            except CommonplaceError as exc:
                # What is leased and not done is tried again when the lease has run out.
                _log.warning("Records of a user cannot be read: %s", exc)
                continue
            tasks += [_Task(each, change) for each, change in zip(noted, changes, strict=True)]
        return tasks

    def _file(self, tasks: Sequence[_Task], encoder: Encoder | None) -> list[_Task]:
        """File words, then vectors; those of which everything is filed."""
        filed: list[_Task] = []
        for owner, mine in groupby(tasks, key=lambda task: task.noted.owner):
            of_owner = list(mine)
            try:
                self._file_words(owner, [task.change for task in of_owner])
            except CommonplaceError as exc:
                _log.warning("Words of a user cannot be filed: %s", exc)
                continue
            filed += of_owner
        if encoder is None:
            return filed
        failed = self._file_vectors(encoder, filed)
        return [task for task in filed if task.noted.owner not in failed]

    def _file_words(self, owner: str, changes: Sequence[Change]) -> None:
        index = self._index.within(owner)
        puts = [change for change in changes if isinstance(change, Put)]
        drops = [change.ref for change in changes if isinstance(change, Drop)]
        if puts:
            index.apply(puts)
        if drops and isinstance(index, Forgetting):
            index.forget(drops)
        elif drops:
            index.apply([Drop(ref) for ref in drops])

    def _file_vectors(self, encoder: Encoder, tasks: Sequence[_Task]) -> set[str]:
        """Make the vectors of these, of all users together; the users whose could not be kept."""
        # By place, not by ref: two users may have the same one.
        docs: dict[int, Unencoded] = {}
        owner_of: dict[int, str] = {}
        for task in tasks:
            if isinstance(task.change, Put):
                doc = unencoded_of(task.change)
                docs[id(doc)], owner_of[id(doc)] = doc, task.noted.owner
        failed: set[str] = set()
        for group in groups_of(encoder, list(docs.values())):
            texts = [doc.text[start:end] for doc, spans in group for start, end in spans]
            made = list(encoded_of(group, encoder.encode_passages(texts)))
            pairs = [(owner_of[id(doc)], one) for (doc, _), one in zip(group, made, strict=True)]
            pairs.sort(key=lambda pair: pair[0])
            for owner, mine in groupby(pairs, key=lambda pair: pair[0]):
                try:
                    self._index.within(owner).put_vectors(
                        encoder.identity, [one for _, one in mine]
                    )
                except CommonplaceError as exc:
                    _log.warning("Vectors of a user cannot be filed: %s", exc)
                    failed.add(owner)
        return failed


def _owner(noted: Noted) -> str:
    return noted.owner


def _fitting(tasks: Sequence[_Task]) -> tuple[list[_Task], list[_Task]]:
    """As much as is encoded at a time, one at least, and the rest."""
    total = 0
    for number, task in enumerate(tasks):
        total += task.size
        if number and total > policy.BACKLOG_CHARACTERS:
            return list(tasks[:number]), list(tasks[number:])
    return list(tasks), []
