"""The worker of memory: files what waits in the outboxes of all users, words and vectors.

Never holds a transaction while it encodes, and works on a user's records as that user alone.
"""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from commonplace.core.errors import CommonplaceError
from commonplace.core.values import Put
from commonplace.search import policy
from commonplace.search.filing.batches import (
    encode_aside,
    encoded_of,
    groups_of,
    texts_of,
    unencoded_of,
)
from commonplace.search.filing.words_only import size_of
from commonplace.services.memory.election import Charge
from commonplace.services.memory.filing import LeasedRecords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from commonplace.core.memory import Backlog, ReadsNoted, Upkeep
    from commonplace.core.ports import Encoder, EncoderSlot, FilesForWorker
    from commonplace.core.values import Encoded, Unencoded
    from commonplace.search.filing.batches import Spans
    from commonplace.services.memory.filing import Task

_log = logging.getLogger(__name__)
_LOAD_S = 60.0
_ENDING_S = 1.0


class _Batch(NamedTuple):
    """What is to be encoded of what was leased, and whether anything was.

    encoder: None where there is none, or another one is in charge.
    """

    is_any: bool
    tasks: Sequence[Task]
    encoder: Encoder | None = None


class MemoryWorker:
    """Files what waits, of any user; several may work at once, in any number of processes.

    monotonic: tells when to hold what is leased.
    """

    def __init__(
        self,
        *,
        backlog: Backlog,
        upkeep: Upkeep,
        store_of: Callable[[str], ReadsNoted],
        index_of: Callable[[str], FilesForWorker],
        encoder: EncoderSlot,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backlog = backlog
        self._upkeep = upkeep
        self._charge = Charge(upkeep, encoder, monotonic=monotonic)
        self._lots = LeasedRecords(store_of=store_of, index_of=index_of)
        self._encoder = encoder
        self._monotonic = monotonic

    def run_once(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """File everything that waits, then tidy up; how much was filed.

        progress: called with (filed so far, 0): what is left is not counted. Raises: Unavailable.
        """
        self._encoder.get(_LOAD_S)
        with self._charge.taken():
            filed = self.work(progress=progress)
            self._tidy(threading.Event())
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
        """File what comes, until stop is set; a database that is away is waited for.

        Tidies up beside it, every so often: nothing waits for that.
        """
        with self._charge.taken(), _beside() as aside, self._tidying() as tidied:
            told = ""
            while not stop.is_set():
                is_idle = True
                if tidied.done():
                    tidied.result()
                try:
                    for _ in self._batches(aside, stop):
                        is_idle = False
                except CommonplaceError as exc:
                    # Once, not twice a second for as long as it lasts.
                    if str(exc) != told:
                        _log.warning("The worker of memory waits: %s", exc)
                    told = str(exc)
                else:
                    told = ""
                if is_idle:
                    stop.wait(policy.BACKLOG_POLL_S)

    @contextmanager
    def _tidying(self) -> Iterator[Future[None]]:
        """Tidy up in a thread meanwhile; holds what went wrong with it, if anything did."""
        told: Future[None] = Future()
        # Its own: a worker that fails ends without having been told to.
        ending = threading.Event()

        def tidy() -> None:
            try:
                while not ending.wait(policy.TIDY_EVERY_S):
                    self._tidy_in_turn(ending)
                told.set_result(None)
            except BaseException as exc:  # noqa: BLE001  told in the worker's own thread
                told.set_exception(exc)

        thread = threading.Thread(target=tidy, name="tidying", daemon=True)
        thread.start()
        try:
            yield told
        finally:
            ending.set()
            # A table that is being written anew stays as it was where nobody waits for it.
            thread.join(_ENDING_S)

    def _tidy_in_turn(self, ending: threading.Event) -> None:
        try:
            self._tidy(ending, every_s=policy.TIDY_EVERY_S / 2)
        except CommonplaceError as exc:
            _log.warning("Memory was not tidied up: %s", exc)

    def _tidy(self, ending: threading.Event, *, every_s: float = 0.0) -> None:
        """Tidy up, unless another process does, or has in that time."""
        with self._upkeep.tidying(every_s=every_s) as is_ours:
            if is_ours:
                self._upkeep.tidy()
                self._drop_former(ending)

    def _drop_former(self, ending: threading.Event) -> None:
        """Let go of the vectors of other models, once all are made anew and that was long ago."""
        encoder = None if ending.is_set() else self._charge.find()
        if encoder is None:
            return
        identity = encoder.identity
        users = self._upkeep.outlived(identity, kept_s=policy.FORMER_KEPT_S)
        are_all_done = bool(users)
        for user in users:
            # Asked anew each time: it tells the others that this one is in charge still.
            if ending.is_set() or self._charge.find() is None:
                return
            are_all_done &= self._lots.drop_previous(identity, user)
        if are_all_done:
            self._upkeep.cleared(identity)

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
                vectors: Mapping[str, Sequence[Encoded]] = {}
                if encoder is not None:
                    tasks, vectors = self._encode(encoder, tasks)
                if away is not None:
                    yield away.result()
                away = aside.submit(self._put_away, encoder, tasks, vectors)
        finally:
            last = 0 if away is None else away.result()
        if last:
            yield last

    def _fetch(self) -> _Batch:
        """Lease what waits, read it, and file its words; what is to be encoded of it."""
        encoder = self._charge.find()
        identity = "" if encoder is None else encoder.identity
        leased = self._backlog.lease(
            policy.BACKLOG_BATCH, encoder=identity, seconds=policy.BACKLOG_LEASE_S
        )
        tasks, unread = self._lots.read(leased)
        tasks, rest = _fitting(tasks)
        if rest or unread:
            self._backlog.give_back([*(task.noted for task in rest), *unread])
        filed = self._lots.file_words(tasks)
        return _Batch(is_any=bool(leased), tasks=filed, encoder=encoder)

    def _encode(
        self, encoder: Encoder, tasks: Sequence[Task]
    ) -> tuple[list[Task], dict[str, list[Encoded]]]:
        """Those that could be encoded, and their vectors by owner.

        They stay leased however long that takes. Raises: Unavailable, Invalid where none could be.
        """
        made: dict[str, list[Encoded]] = {}
        failed: dict[int, CommonplaceError] = {}
        groups = _made(encoder, tasks)
        held_at: float | None = None
        while True:
            now = self._monotonic()
            if held_at is None or now - held_at >= policy.BACKLOG_LEASE_S / 4:
                held_at = now
                self._charge.find()
                noted = [task.noted for task in tasks]
                self._backlog.hold(noted, seconds=policy.BACKLOG_LEASE_S)
            group = next(groups, None)
            if group is None:
                break
            for task, encoded in group:
                if isinstance(encoded, CommonplaceError):
                    failed[id(task)] = encoded
                else:
                    made.setdefault(task.noted.owner, []).append(encoded)
        left = [task for task in tasks if id(task) not in failed]
        if failed:
            why = next(iter(failed.values()))
            if not left:
                raise why
            _log.warning("%d records cannot be encoded, and wait: %s", len(failed), why)
        return left, made

    def _put_away(
        self,
        encoder: Encoder | None,
        tasks: Sequence[Task],
        vectors: Mapping[str, Sequence[Encoded]],
    ) -> int:
        """File vectors, then say what is done; how much."""
        identity = "" if encoder is None else encoder.identity
        failed = vectors.keys() - self._lots.file_vectors(identity, vectors)
        filed = [task.noted for task in tasks if task.noted.owner not in failed]
        if self._backlog.done(filed, encoder=identity):
            _log.debug("Something changed while it was filed; it waits again.")
        return len(filed)


def _beside() -> ThreadPoolExecutor:
    """One fetches while another puts away."""
    return ThreadPoolExecutor(max_workers=2, thread_name_prefix="backlog")


def _made(
    encoder: Encoder, tasks: Sequence[Task]
) -> Iterator[list[tuple[Task, Encoded | CommonplaceError]]]:
    """The vectors of these, each after its task, group by group, of all users together.

    The encoder is quicker the more are alike. Where a group fails each is tried alone.
    """
    docs = [(unencoded_of(task.change), task) for task in tasks if isinstance(task.change, Put)]
    # By place, not by ref: two users may have the same one.
    task_of = {id(doc): task for doc, task in docs}
    for group in groups_of(encoder, [doc for doc, _ in docs]):
        for some in _tried(encoder, group):
            yield [(task_of[id(doc)], one) for doc, one in some]


def _tried(
    encoder: Encoder, group: Sequence[tuple[Unencoded, Spans]]
) -> Iterator[list[tuple[Unencoded, Encoded | CommonplaceError]]]:
    """The vectors of a group's docs, or of one alone why there are none."""
    try:
        made = list(encoded_of(group, encode_aside(encoder, texts_of(group))))
    except CommonplaceError as exc:
        if len(group) == 1:
            yield [(group[0][0], exc)]
            return
        for each in group:
            yield from _tried(encoder, [each])
    else:
        yield [(doc, one) for (doc, _), one in zip(group, made, strict=True)]


def _fitting(tasks: Sequence[Task]) -> tuple[list[Task], list[Task]]:
    """As much as is encoded at a time, one at least, and the rest."""
    total = 0
    for number, task in enumerate(tasks):
        total += size_of(task.change)
        if number and total > policy.BACKLOG_CHARACTERS:
            return list(tasks[:number]), list(tasks[number:])
    return list(tasks), []
