"""The worker of memory: files what waits in the outboxes of all users, words and vectors.

Never holds a transaction while it encodes, and works on a user's records as that user alone.
"""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from commonplace.core.errors import CommonplaceError
from commonplace.core.ports import Forgetting, Outliving
from commonplace.core.values import Drop, Put
from commonplace.journals.memory_entry import change_noted
from commonplace.search import policy
from commonplace.search.batches import encoded_of, groups_of, unencoded_of
from commonplace.search.word_filing import size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

    from commonplace.core.memory import Backlog, Defers, Noted, Upkeep
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
    """What is to be encoded of what was leased, and whether anything was.

    encoder: None where there is none, or another one is in charge.
    """

    is_any: bool
    tasks: Sequence[_Task]
    encoder: Encoder | None = None


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
        upkeep: Upkeep,
        store_of: Callable[[str], Defers],
        index: Index,
        encoder: EncoderSlot,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backlog = backlog
        self._charge = _Charge(upkeep, monotonic)
        self._upkeep = upkeep
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
        with self._charge.taken():
            filed = self.work(progress=progress)
            self._tidy()
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
        with self._charge.taken(), _beside() as aside:
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
        with self._charge.taken(), _beside() as aside:
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
            self._tidy()

    def _tidy(self) -> None:
        self._tidied_at = self._monotonic()
        self._backlog.tidy()
        self._drop_former()

    def _drop_former(self) -> None:
        """Let go of the vectors of other models, once all are made anew and that was long ago."""
        encoder = self._charge.find(self._encoder)
        if encoder is None:
            return
        users = self._upkeep.outlived(encoder.identity, kept_s=policy.FORMER_KEPT_S)
        for user in users:
            index = self._index.within(user)
            if isinstance(index, Outliving):
                index.drop_former(encoder.identity)
        if users:
            self._upkeep.cleared(encoder.identity)

    def _batches(
        self, aside: ThreadPoolExecutor, stop: threading.Event | None = None
    ) -> Iterator[int]:
        """File batch by batch until nothing waits; how much each was."""
        fetched = aside.submit(self._fetch)
        away: Future[int] | None = None
        try:
            filed_at = self._monotonic()
            while (batch := fetched.result()).is_any:
                # What failed stays leased: by now the same would come round once more.
                is_stuck = self._monotonic() - filed_at >= policy.BACKLOG_LEASE_S / 2
                if (stop is not None and stop.is_set()) or (is_stuck and not batch.tasks):
                    fetched = aside.submit(_Batch, is_any=False, tasks=())
                else:
                    fetched = aside.submit(self._fetch)
                tasks, encoder = batch.tasks, batch.encoder
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

    def _fetch(self) -> _Batch:
        """Lease what waits, read it, and file its words; what is to be encoded of it."""
        encoder = self._charge.find(self._encoder)
        identity = "" if encoder is None else encoder.identity
        leased = self._backlog.lease(
            policy.BACKLOG_BATCH, encoder=identity, seconds=policy.BACKLOG_LEASE_S
        )
        tasks, unread = self._read(leased)
        tasks, rest = _fitting(tasks)
        if rest or unread:
            self._backlog.give_back([*(task.noted for task in rest), *unread])
        return _Batch(is_any=bool(leased), tasks=self._with_words(tasks), encoder=encoder)

    def _encode(self, encoder: Encoder, tasks: Sequence[_Task]) -> list[_Made]:
        """The vectors of these, which stay leased however long that takes."""
        made: list[_Made] = []
        groups = _made(encoder, tasks)
        held_at: float | None = None
        while True:
            now = self._monotonic()
            if held_at is None or now - held_at >= policy.BACKLOG_LEASE_S / 4:
                held_at = now
                self._charge.find(self._encoder)
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


class _Charge:
    """Whether this worker's encoder is the one that vectors are made with. Thread-safe."""

    def __init__(self, upkeep: Upkeep, monotonic: Callable[[], float]) -> None:
        self._upkeep = upkeep
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._takers = 0
        self._chosen = ""
        self._told: tuple[str, float] | None = None

    @contextmanager
    def taken(self) -> Iterator[None]:
        """A stretch of work, at the end of which another encoder may take over at once."""
        with self._lock:
            self._takers += 1
        try:
            yield
        finally:
            with self._lock:
                self._takers -= 1
                if not self._takers and self._told is not None:
                    self._told = None
                    # Told or not, it is held for a minute more at the most.
                    with suppress(CommonplaceError):
                        self._upkeep.leave()

    def find(self, slot: EncoderSlot) -> Encoder | None:
        """The encoder, if it is in charge; tells the others now and then that it is there.

        Raises: Unavailable.
        """
        encoder = slot.get()
        if encoder is None:
            return None
        identity = encoder.identity
        with self._lock:
            now = self._monotonic()
            told = self._told
            if told is None or told[0] != identity or now - told[1] >= policy.BACKLOG_LEASE_S / 4:
                chosen = self._upkeep.work_with(identity, seconds=policy.BACKLOG_LEASE_S)
                self._told = (identity, now)
                if chosen != self._chosen:
                    _tell_chosen(chosen, identity)
                self._chosen = chosen
            return encoder if self._chosen == identity else None


def _tell_chosen(chosen: str, mine: str) -> None:
    if chosen == mine:
        _log.info("Vectors are made with %s.", mine)
        return
    _log.warning(
        "Another worker is at work, and vectors are made with its model %s: this one, with %s,"
        " files words alone until none of those is left.",
        chosen,
        mine,
    )


def _beside() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="backlog")


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
