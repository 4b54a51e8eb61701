"""The worker of memory: files what waits in the outboxes of all users, words and vectors.

Never holds a transaction while it encodes, and works on a user's records as that user alone.
"""

from __future__ import annotations

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from commonplace.core.errors import CommonplaceError
from commonplace.core.ports import Forgetting
from commonplace.core.values import Drop, Put
from commonplace.journals.memory_entry import change_noted
from commonplace.search import policy
from commonplace.search.batches import encoded_of, groups_of, unencoded_of
from commonplace.search.word_filing import size_of

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

    from commonplace.core.memory import Backlog, Defers, Noted
    from commonplace.core.ports import Encoder, EncoderSlot, Index
    from commonplace.core.values import Change, Encoded

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
        return size_of(self.change)


class _Batch(NamedTuple):
    """What is to be encoded of what was leased, and whether anything was."""

    is_any: bool
    tasks: Sequence[_Task]


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

    def renew(self) -> int:
        """Have everything that is kept filed anew; how much it is. Raises: Unavailable."""
        return self._backlog.renew()

    def work(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """File everything that waits; how much was filed. Raises: Unavailable.

        While one batch is encoded, the one before is put away and the next one is fetched: neither
        the database nor the encoder waits for the other.
        """
        filed = 0
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="backlog") as aside:
            while True:
                step = 0
                for done in self._batches(aside):
                    step += done
                    if progress is not None:
                        progress(filed + step, 0)
                # What changed while it was filed waits again.
                if not step:
                    return filed
                filed += step

    def run(self, stop: threading.Event) -> None:
        """File what comes, until stop is set; a database that is away is waited for."""
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="backlog") as aside:
            while not stop.is_set():
                is_idle = True
                try:
                    for _ in self._batches(aside, stop):
                        is_idle = False
                    self._tidy_in_time()
                except CommonplaceError as exc:
                    _log.warning("The worker of memory waits: %s", exc)
                if is_idle:
                    stop.wait(policy.BACKLOG_POLL_S)

    def _tidy_in_time(self) -> None:
        if self._monotonic() - self._tidied_at >= policy.TIDY_EVERY_S:
            self._tidied_at = self._monotonic()
            self._backlog.tidy()

    def _batches(
        self, aside: ThreadPoolExecutor, stop: threading.Event | None = None
    ) -> Iterator[int]:
        """File batch by batch until nothing waits; how much each was."""
        encoder = self._encoder.get()
        fetched = aside.submit(self._fetch, encoder)
        away: Future[int] | None = None
        try:
            filed_at = self._monotonic()
            while (batch := fetched.result()).is_any:
                # What failed stays leased: by now the same would come round once more.
                is_stuck = self._monotonic() - filed_at >= policy.BACKLOG_LEASE_S / 2
                if (stop is not None and stop.is_set()) or (is_stuck and not batch.tasks):
                    fetched = aside.submit(_Batch, is_any=False, tasks=())
                else:
                    fetched = aside.submit(self._fetch, encoder)
                tasks = batch.tasks
                if not tasks:
                    continue
                filed_at = self._monotonic()
                vectors = [] if encoder is None else self._encode(encoder, tasks)
                if away is not None:
                    yield away.result()
                away = aside.submit(self._put_away, encoder, tasks, vectors)
        finally:
            last = 0 if away is None else away.result()
        if last:
            yield last

    def _fetch(self, encoder: Encoder | None) -> _Batch:
        """Lease what waits, read it, and file its words; what is to be encoded of it."""
        identity = "" if encoder is None else encoder.identity
        leased = self._backlog.lease(
            policy.BACKLOG_BATCH, encoder=identity, seconds=policy.BACKLOG_LEASE_S
        )
        tasks, unread = self._read(leased)
        tasks, rest = _fitting(tasks)
        if rest or unread:
            self._backlog.give_back([*(task.noted for task in rest), *unread])
        return _Batch(is_any=bool(leased), tasks=self._with_words(tasks))

    def _encode(self, encoder: Encoder, tasks: Sequence[_Task]) -> list[_Made]:
        """The vectors of these, which stay leased however long that takes."""
        made: list[_Made] = []
        groups = _made(encoder, tasks)
        held_at: float | None = None
        while True:
            now = self._monotonic()
            if held_at is None or now - held_at >= policy.BACKLOG_LEASE_S / 4:
                held_at = now
                noted = [task.noted for task in tasks]
                self._backlog.hold(noted, seconds=policy.BACKLOG_LEASE_S)
            group = next(groups, None)
            if group is None:
                return made
            made += group

    def _put_away(
        self, encoder: Encoder | None, tasks: Sequence[_Task], vectors: Sequence[_Made]
    ) -> int:
        """File vectors, then say what is done; how much."""
        failed: set[str] = set()
        identity = "" if encoder is None else encoder.identity
        for owner, mine in groupby(sorted(vectors, key=_made_of), key=_made_of):
            try:
                self._index.within(owner).put_vectors(identity, [each.encoded for each in mine])
            except CommonplaceError as exc:
                _log.warning("Vectors of a user cannot be filed: %s", exc)
                failed.add(owner)
        filed = [task.noted for task in tasks if task.noted.owner not in failed]
        if self._backlog.done(filed, encoder=identity):
            _log.debug("Something changed while it was filed; it waits again.")
        return len(filed)

    def _read(self, leased: Sequence[Noted]) -> tuple[list[_Task], list[Noted]]:
        """What the first of these stand for, until it is enough to encode; and the rest."""
        tasks: list[_Task] = []
        unread: list[Noted] = []
        size = 0
        for owner, mine in groupby(sorted(leased, key=_owner), key=_owner):
            noted = list(mine)
            try:
                while noted and size <= policy.BACKLOG_CHARACTERS:
                    some, noted = noted[: policy.READ_AT_ONCE], noted[policy.READ_AT_ONCE :]
                    changes = changes_noted(self._store_of(owner), some)
                    tasks += map(_Task, some, changes)
                    size += sum(map(size_of, changes))
            except CommonplaceError as exc:
                # What is leased and not done is tried again when the lease has run out.
                _log.warning("Records of a user cannot be read: %s", exc)
                continue
            unread += noted
        return tasks, unread

    def _with_words(self, tasks: Sequence[_Task]) -> list[_Task]:
        """Those whose words could be filed."""
        filed: list[_Task] = []
        for owner, mine in groupby(tasks, key=lambda task: task.noted.owner):
            of_owner = list(mine)
            try:
                self._file_words(owner, [task.change for task in of_owner])
            except CommonplaceError as exc:
                _log.warning("Words of a user cannot be filed: %s", exc)
                continue
            filed += of_owner
        return filed

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


class _Made(NamedTuple):
    """The vectors of one record, and whose it is."""

    owner: str
    encoded: Encoded


def _made_of(made: _Made) -> str:
    return made.owner


def _made(encoder: Encoder, tasks: Sequence[_Task]) -> Iterator[list[_Made]]:
    """The vectors of these group by group, of all users together.

    The encoder is quicker the more are alike.
    """
    docs = [
        (unencoded_of(task.change), task.noted.owner)
        for task in tasks
        if isinstance(task.change, Put)
    ]
    # By place, not by ref: two users may have the same one.
    owner_of = {id(doc): owner for doc, owner in docs}
    for group in groups_of(encoder, [doc for doc, _ in docs]):
        texts = [doc.text[start:end] for doc, spans in group for start, end in spans]
        made = encoded_of(group, encoder.encode_passages(texts))
        yield [_Made(owner_of[id(doc)], one) for (doc, _), one in zip(group, made, strict=True)]


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
