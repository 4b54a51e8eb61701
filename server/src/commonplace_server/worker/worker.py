"""The worker of memory: files what waits in the outboxes of all users, words and vectors.

Never holds a transaction while it encodes, and works on a user's records as that user alone.
"""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from commonplace.core.errors import CommonplaceError
from commonplace.core.values import Put
from commonplace.search.filing.batches import (
    encode_in_background,
    encoded_of,
    groups_of,
    texts_of,
    unencoded_of,
)
from commonplace_server.worker import numbers
from commonplace_server.worker.filing import LeasedRecords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from commonplace.core.ports import Encoder, EncoderSlot
    from commonplace.core.values import Encoded, Unencoded
    from commonplace.search.filing.batches import Spans
    from commonplace_server.records.backlog import MemoryBacklog
    from commonplace_server.records.upkeep import MemoryUpkeep
    from commonplace_server.worker.changes import ReadsChanges
    from commonplace_server.worker.filing import FilesForWorker, Task
    from commonplace_server.worker.rolling import TimelineRolling
    from commonplace_server.worker.users import UserRounds

_log = logging.getLogger(f"commonplace.{__name__}")
_LOAD_S = 60.0
_ENDING_S = 1.0


class _Lead(NamedTuple):
    """Whose vectors are made. identity: of the own encoder; asked_at: when the lease was asked."""

    identity: str
    chosen: str
    asked_at: float


class MemoryWorker:
    """Files what waits, of any user; several may work at once, in any number of processes.

    Args:
        backlog: What waits.
        upkeep: What the workers of one database agree on.
        read_of: Opens what reads a user's changes.
        index_of: Opens the index of a user.
        of_many: Has what is read and written of several users be one transaction.
        encoder: Makes the vectors, where it is in the lead.
        rolling: Rolls up what is due in timelines; None for nothing.
        users: Goes round users of whom something changed or is due; None for nobody.
        monotonic: Counts the seconds of leases.
    """

    def __init__(
        self,
        *,
        backlog: MemoryBacklog,
        upkeep: MemoryUpkeep,
        read_of: Callable[[str], ReadsChanges],
        index_of: Callable[[str], FilesForWorker],
        of_many: Callable[[], AbstractContextManager[None]],
        encoder: EncoderSlot,
        rolling: TimelineRolling | None = None,
        users: UserRounds | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backlog = backlog
        self._upkeep = upkeep
        self._records = LeasedRecords(read_of=read_of, index_of=index_of, of_many=of_many)
        self._encoder = encoder
        self._rolling = rolling
        self._users = users
        self._monotonic = monotonic
        self._lead: _Lead | None = None

    def run_once(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Do what is due of users, file what waits, pack, then vacuum; how much was filed.

        progress: called with (filed so far, 0): what is left is not counted. Raises: Unavailable.
        """
        self._encoder.get(_LOAD_S)
        if self._users is not None:
            self._users.look(threading.Event(), rest_s=0.0)
        if self._rolling is not None:
            self._rolling.roll_up(threading.Event(), rest_s=0.0)
        if self._users is not None:
            # The new summaries may be what a language model waits for.
            self._users.look(threading.Event(), rest_s=0.0)
            self._users.keep_up(threading.Event())
        with self._at_work():
            filed = self._work(progress)
            self._pack(threading.Event())
            self._vacuum(threading.Event())
        return filed

    def renew(self) -> int:
        """Have everything that is kept filed again; how much it is. Raises: Unavailable."""
        return self._backlog.renew()

    def work(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """File everything that waits; how much was filed. Raises: Unavailable."""
        with self._at_work():
            return self._work(progress)

    def run(self, stop: threading.Event) -> None:
        """File what comes, until stop is set; a database that is away is waited for.

        Rolls up, looks at users, keeps them up, vacuums and packs in threads of their own, every
        so often: nothing waits for that.
        """
        with self._at_work(), ExitStack() as running:
            faults = [running.enter_context(each) for each in self._in_threads()]
            warned = ""
            while not stop.is_set():
                for each in faults:
                    if each.done():
                        each.result()
                filed: int | None = None
                try:
                    filed = self._file_batch()
                except CommonplaceError as exc:
                    # Once, not twice a second for as long as it lasts.
                    if str(exc) != warned:
                        _log.warning("The worker of memory waits: %s", exc)
                    warned = str(exc)
                else:
                    warned = ""
                if filed is None:
                    stop.wait(numbers.BACKLOG_POLL_S)

    def _work(self, progress: Callable[[int, int], None] | None) -> int:
        filed, filed_at = 0, self._monotonic()
        while (step := self._file_batch()) is not None:
            filed += step
            now = self._monotonic()
            if step:
                filed_at = now
                if progress is not None:
                    progress(filed, 0)
            elif now - filed_at >= numbers.BACKLOG_LEASE_S / 2:
                # What failed stays leased: after that the same would come round once more.
                break
        return filed

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """A stretch of work, at the end of which another encoder may take over at once."""
        try:
            yield
        finally:
            lead, self._lead = self._lead, None
            if lead is not None:
                # Where that fails, it is held for a minute more at the most.
                with suppress(CommonplaceError):
                    self._upkeep.release_lead(lead.identity)

    def _find_encoder(self) -> Encoder | None:
        """The encoder, if it is in the lead; renews its lease now and then. Raises: Unavailable."""
        encoder = self._encoder.get()
        if encoder is None:
            return None
        identity, now, lead = encoder.identity, self._monotonic(), self._lead
        is_due = lead is None or now - lead.asked_at >= numbers.BACKLOG_LEASE_S / 4
        if lead is None or is_due or lead.identity != identity:
            chosen = self._upkeep.take_lead(identity, seconds=numbers.BACKLOG_LEASE_S)
            if lead is None or lead.chosen != chosen:
                _log_chosen(chosen, identity)
            self._lead = lead = _Lead(identity, chosen, now)
        return encoder if lead.chosen == identity else None

    def _in_threads(self) -> Iterator[AbstractContextManager[Future[None]]]:
        """What goes on beside the filing, each in a thread of its own; see `_repeating`."""
        vacuum = partial(self._vacuum, every_s=numbers.VACUUM_EVERY_S / 2)
        failed = "Memory was not vacuumed"
        yield _repeating("vacuuming", vacuum, failed, every_s=numbers.VACUUM_EVERY_S)
        if self._rolling is not None:
            roll_up, failed = self._rolling.roll_up, "Timelines were not rolled up"
            yield _repeating("rolling up", roll_up, failed, every_s=numbers.ROLLING_POLL_S)
        if self._users is not None:
            look, failed = self._users.look, "Users of whom something changed were not looked at"
            yield _repeating("looking", look, failed, every_s=numbers.UPKEEP_POLL_S)
            # Apart: a language model is slow, and looks may never end.
            keep_up, failed = self._users.keep_up, "What is due of users was not done"
            yield _repeating("upkeep", keep_up, failed, every_s=numbers.UPKEEP_POLL_S)
        failed = "Words were not packed"
        yield _repeating("packing", self._pack, failed, every_s=numbers.PACKING_POLL_S)

    def _vacuum(self, ending: threading.Event, *, every_s: float = 0.0) -> None:
        """Vacuum, unless another process does, or has in that time."""
        with self._upkeep.vacuuming(every_s=every_s) as is_ours:
            if is_ours:
                self._upkeep.vacuum()
                self._drop_previous(ending)

    def _pack(self, ending: threading.Event) -> None:
        """Pack the words of those of whom some are due, whom no other worker has in hand."""
        while leased := self._upkeep.lease_packing(
            numbers.PACKED_AT_ONCE, every_s=numbers.PACK_EVERY_S, seconds=numbers.PACKING_LEASE_S
        ):
            for lease in leased:
                if ending.is_set():
                    return
                self._records.pack(lease)

    def _drop_previous(self, ending: threading.Event) -> None:
        """Drop the vectors of other models, once all are made again and that was long ago."""
        encoder = None if ending.is_set() else self._find_encoder()
        if encoder is None:
            return
        identity = encoder.identity
        users = self._upkeep.find_outdated(identity, kept_s=numbers.PREVIOUS_KEPT_S)
        are_all_done = bool(users)
        for user in users:
            # Asked each time: it renews the lease.
            if ending.is_set() or self._find_encoder() is None:
                return
            are_all_done &= self._records.drop_previous(identity, user)
        if are_all_done:
            self._upkeep.note_cleared(identity)

    def _file_batch(self) -> int | None:
        """File some of what waits; how much, None where nothing waits. Raises: Unavailable.

        Words first, then vectors, then it is noted as done: what breaks off is leased again.
        """
        encoder = self._find_encoder()
        identity = "" if encoder is None else encoder.identity
        leased = self._backlog.lease(
            numbers.BACKLOG_BATCH, encoder=identity, seconds=numbers.BACKLOG_LEASE_S
        )
        if not leased:
            return None
        tasks, unread = self._records.read(leased)
        if unread:
            self._backlog.give_back(unread)
        tasks = self._records.file_words(tasks)
        if not tasks:
            return 0
        if encoder is not None:
            tasks, vectors = self._encode(encoder, tasks)
            failed = vectors.keys() - self._records.file_vectors(identity, vectors)
            tasks = [task for task in tasks if task.noted.owner not in failed]
        if self._backlog.done([task.noted for task in tasks], encoder=identity):
            _log.debug("Some records changed while they were filed; they wait again.")
        return len(tasks)

    def _encode(
        self, encoder: Encoder, tasks: Sequence[Task]
    ) -> tuple[list[Task], dict[str, list[Encoded]]]:
        """Those that could be encoded, and their vectors by owner.

        They stay leased however long that takes. Raises: Unavailable, Invalid where none could be.
        """
        made: dict[str, list[Encoded]] = {}
        failed: dict[int, CommonplaceError] = {}
        groups = _encoded_groups(encoder, tasks)
        held_at: float | None = None
        while True:
            now = self._monotonic()
            if held_at is None or now - held_at >= numbers.BACKLOG_LEASE_S / 4:
                held_at = now
                self._find_encoder()
                noted = [task.noted for task in tasks]
                self._backlog.hold(noted, seconds=numbers.BACKLOG_LEASE_S)
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


@contextmanager
def _repeating(
    name: str, act: Callable[[threading.Event], object], failed: str, *, every_s: float
) -> Iterator[Future[None]]:
    """Do something in a thread every so often; holds the error that ended it, if one did.

    name: of the thread; act: is handed what is set at the end; failed: what is logged where it
    cannot be done.
    """
    fault: Future[None] = Future()
    # Its own: a worker that fails ends without its stop being set.
    ending = threading.Event()

    def repeat() -> None:
        warned = ""
        try:
            while not ending.wait(every_s):
                try:
                    act(ending)
                    warned = ""
                except CommonplaceError as exc:
                    if str(exc) != warned:
                        _log.warning("%s: %s", failed, exc)
                    warned = str(exc)
            fault.set_result(None)
        except BaseException as exc:  # noqa: BLE001  raised in the worker's own thread
            fault.set_exception(exc)

    thread = threading.Thread(target=repeat, name=name, daemon=True)
    thread.start()
    try:
        yield fault
    finally:
        ending.set()
        # A table that is being rewritten stays as it was where nothing waits for it.
        thread.join(_ENDING_S)


def _log_chosen(chosen: str, mine: str) -> None:
    if chosen == mine:
        _log.info("Vectors are made with %s.", mine)
        return
    _log.warning(
        "Another worker is at work, and vectors are made with its model %s: this one, with %s,"
        " files words alone until none of those is left.",
        chosen,
        mine,
    )


def _encoded_groups(
    encoder: Encoder, tasks: Sequence[Task]
) -> Iterator[list[tuple[Task, Encoded | CommonplaceError]]]:
    """The vectors of these, each after its task, group by group, of all users together.

    The encoder is quicker the more are alike. Where a group fails each is tried alone.
    """
    docs = [(unencoded_of(task.change), task) for task in tasks if isinstance(task.change, Put)]
    # By place, not by ref: two users may have the same one.
    task_of = {id(doc): task for doc, task in docs}
    for group in groups_of(encoder, [doc for doc, _ in docs]):
        for some in _try_group(encoder, group):
            yield [(task_of[id(doc)], one) for doc, one in some]


def _try_group(
    encoder: Encoder, group: Sequence[tuple[Unencoded, Spans]]
) -> Iterator[list[tuple[Unencoded, Encoded | CommonplaceError]]]:
    """The vectors of a group's docs, or of one alone why there are none."""
    try:
        made = list(encoded_of(group, encode_in_background(encoder, texts_of(group))))
    except CommonplaceError as exc:
        if len(group) == 1:
            yield [(group[0][0], exc)]
            return
        for each in group:
            yield from _try_group(encoder, [each])
    else:
        yield [(doc, one) for (doc, _), one in zip(group, made, strict=True)]
