"""Keeps the index behind one source, in threads of its own, so that it delays no other source.

Never judges and never makes a vector; a failure becomes a sentence, never an error of a search.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.core.digest import blake2b_hex
from commonplace.core.errors import CommonplaceError, Corrupted
from commonplace.core.expiring import nothing_hidden
from commonplace.core.ports import CountsEntries, ErasingSource
from commonplace.core.values import Put
from commonplace.search import policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from commonplace.core.expiring import Hidden
    from commonplace.core.ports import OwnerIndex, Source
    from commonplace.core.values import Change, Since
    from commonplace.search.filing.last_look import LastLook

_HIDING = "\nhiding "
_BEGUN = "\nbegun"
"""Behind the mark of a source of which more may be filed than that mark says."""

DAMAGED = "The index was damaged, and is made again from the journals."

_log = logging.getLogger(__name__)


class BackgroundStep:
    """A thread that does one thing each time it is asked; asked while busy, it does it once more.

    Args:
        name: Of the thread, which starts with the first call.
        over: Notified each time it is done.
    """

    def __init__(self, do: Callable[[], None], *, name: str, over: threading.Condition) -> None:
        self._do = do
        self._name = name
        self._over = over
        self._clock: int | None = None
        self._has_work = threading.Condition()
        self._asked = 0
        self._done = 0
        self._closed = False
        self._thread: threading.Thread | None = None

    def ask(self) -> int:
        """Have it done once more; the turn it will be done in."""
        with self._has_work:
            self._asked += 1
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._has_work.notify_all()
            return self._asked

    @property
    def turn(self) -> int:
        """The last turn asked for."""
        return self._asked

    def is_over(self, turn: int) -> bool:
        """Whether all that was asked up to this turn is done, or will never be."""
        return self._done >= turn or self._closed

    @property
    def computed_s(self) -> float:
        """The time of a processor that its thread took so far; 0 where the system cannot tell."""
        with suppress(OSError):  # it has ended
            return 0.0 if self._clock is None else time.clock_gettime(self._clock)
        return 0.0

    def close(self) -> None:
        """Begin nothing more."""
        with self._has_work:
            self._closed = True
            self._has_work.notify_all()

    def join(self, wait_s: float) -> None:
        """Wait at most so long for what is under way."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(wait_s)

    def _run(self) -> None:
        if sys.platform == "linux":
            self._clock = time.pthread_getcpuclockid(threading.get_ident())
        while True:
            with self._has_work:
                self._has_work.wait_for(lambda: self._closed or self._asked > self._done)
                if self._closed:
                    return
                turn = self._asked
            self._do()
            with self._over:
                self._done = turn
                self._over.notify_all()


class SourceIndexer:
    """Follows one source: one thread checks whether it moved on, another files what changed.

    Args:
        over: Notified whenever something ends or makes progress.
        on_filed: Called when its own thread has filed all there were, or has looked at every entry.
        on_scanned: Called with its name when a scan is over, whatever it found.
        on_damage: Called where the index proved damaged.
        sweeping: Held by the one source whose sweep has its turn.
        hidden: Gives the refs that the source leaves out though they are there.
        last_look: When every entry was looked at, and whether that still holds.
        shows_paths: Whether a message may name a path of this machine.
    """

    def __init__(
        self,
        index: OwnerIndex,
        source: Source,
        *,
        over: threading.Condition,
        monotonic: Callable[[], float],
        on_changes: Callable[[Sequence[Change]], None],
        on_filed: Callable[[Source], None],
        on_scanned: Callable[[str], None],
        on_damage: Callable[[], None],
        sweeping: threading.Lock,
        last_look: LastLook,
        hidden: Hidden = nothing_hidden,
        shows_paths: bool = True,
    ) -> None:
        self._shows_paths = shows_paths
        self.source, self._index = source, index
        self._over, self._monotonic = over, monotonic
        self._on_changes, self._on_filed = on_changes, on_filed
        self._on_scanned, self._on_damage = on_scanned, on_damage
        self._sweeping, self._hidden, self._last_look = sweeping, hidden, last_look
        self._looking = BackgroundStep(self._look, name=f"look {source.name}", over=over)
        self._filing = BackgroundStep(self._file, name=f"file {source.name}", over=over)
        self._sweep_asked = self._in_turn = self._is_long = self._closed = False
        self._behind = self._steps = 0
        self.sweep_s = 0.0  # of the last sweep that found nothing
        self._known: tuple[str | None, frozenset[str]] = None, frozenset()
        self._began = self._went_on_at = monotonic()
        self.trouble = ""
        """Why the last attempt to file what changed failed; empty where it did not."""
        self.has_part = False
        """Whether some of what changed is filed and the rest is not."""
        self.is_silent = self.may_be_locked = False
        """Set where it was waited for in vain, until more of it is filed; and did nothing then."""
        self.waiting = self.held = 0
        """How many entries wait to be filed in a long filing, of how many; 0 for not known."""
        self._applying = threading.Lock()
        self._forgotten: list[set[str]] = []

    @property
    def journal(self) -> str:
        """The journal its source is a part of."""
        return self.source.name.partition(":")[0]

    def look(self, known: str | None, hidden: frozenset[str]) -> int:
        """Check whether the source moved on, and have filed what changed; a turn to wait for.

        Where a mark is cheap the check runs in the caller's thread, and is over when this returns.

        Args:
            known: Its mark in the index, read just now.
            hidden: The refs that no source shows now.
        """
        self._known = known, hidden
        if self.source.cheap_mark:
            self._look()
            return 0
        return self._looking.ask()

    def fail(self, exc: Exception) -> None:
        """Note that nothing can be filed, as the index cannot even say how far it came."""
        self._end(exc)

    def has_looked(self, turn: int) -> bool:
        """Whether it was looked, and what was found is filed."""
        return self._looking.is_over(turn) and self._filing.is_over(self._behind)

    def sweep(self, *, in_turn: bool = False) -> int:
        """Have every entry looked at, edits in place included; a turn to wait for.

        in_turn: wait for the sweeps of other sources that are under way, which no search waits for,
            and look only where the last look does not hold any more.
        """
        if in_turn and self._last_look.holds():
            return 0
        self._sweep_asked, self._in_turn = True, in_turn
        return self._filing.ask()

    def has_swept(self, turn: int) -> bool:
        """Whether that is done."""
        return self._filing.is_over(turn)

    @property
    def is_worth_waiting(self) -> bool:
        """Whether it may be over soon: not where its filing proves long, nor where it is silent."""
        return not (self._is_long or self.is_silent)

    @property
    def is_busy(self) -> bool:
        """Whether it is in the midst of a long filing that goes on."""
        return self.has_part and self._monotonic() - self._went_on_at < policy.SILENT_S

    @property
    def activity(self) -> tuple[int, int]:
        """Steps, and hundredths of a second that it computed: equal while it does nothing."""
        threads = (self._looking, self._filing)
        return self._steps, sum(int(each.computed_s * 100) for each in threads)

    def why(self) -> str:
        """What a reader must know of this source now, as one sentence; empty for nothing."""
        if self.trouble:
            return f"Not every entry of {self.journal} could be filed: {self.trouble}"
        later = "a later search may find more."
        if self.is_silent and self.may_be_locked:
            return f"{self.journal} does not answer, it may be locked; {later}"
        if self.waiting:
            entries = f"{self.waiting:,} of {self.held:,} entries of {self.journal}"
            return f"{entries} {'is' if self.waiting == 1 else 'are'} not filed yet; {later}"
        return f"Entries of {self.journal} are still being filed; {later}"

    def close(self) -> None:
        """Begin nothing more; what is under way ends with the batch in hand."""
        self._closed = True
        self._looking.close()
        self._filing.close()

    def join(self, wait_s: float) -> None:
        """Wait at most so long for the filing under way."""
        self._filing.join(wait_s)

    def _look(self) -> None:
        try:
            known, hidden = self._known
            behind = known != self._mark(hidden)
        except Exception as exc:  # noqa: BLE001  a thread's last line: a dead one sees nothing
            self._end(exc)
            return
        if behind:
            # Before the look is over, so that a search that waits for it waits for this as well.
            self._behind = self._filing.ask()
        else:
            self._end(None)

    def _mark(self, hidden: frozenset[str]) -> str:
        """The source's mark, and after a line of its own what it leaves out: no write changes it.

        An entry that expires leaves the index by that, and one whose time is set anew comes back.
        """
        mark = self.source.mark()
        refs = sorted(x for x in hidden if x.startswith(f"{self.journal}:")) if hidden else ()
        return f"{mark}{_HIDING}{blake2b_hex(*map(str.encode, refs))}" if refs else mark

    def _file(self) -> None:
        sweep, self._sweep_asked = self._sweep_asked, False
        filed = 0
        # Two sweeps at once take the processor from every search; one that hangs delays no other
        # for longer than this.
        alone = sweep and self._in_turn and self._sweeping.acquire(timeout=policy.SILENT_S)
        began, end_look = self._monotonic(), self._last_look.begin()
        try:
            for put in self.file(sweep=sweep):
                filed += put
                if self._closed:
                    return
        except Exception as exc:  # noqa: BLE001  as in _look
            self._end(exc)
        else:
            self._end(None)
        finally:
            if alone:
                self._sweeping.release()
        if sweep and not self.trouble:
            end_look()
            if not filed:
                self.sweep_s = self._monotonic() - began
        if filed or sweep:
            self._on_filed(self.source)

    def _end(self, exc: Exception | None) -> None:
        before = self.trouble
        self.trouble = explain(exc, shows_paths=self._shows_paths) if exc else ""
        self.has_part = self._is_long = self.is_silent = False
        self.waiting = self.held = 0
        if exc and self.trouble != before and not self._closed:
            log_failure(f"{self.source.name} was not filed", exc)

    def forget(self, refs: Sequence[str]) -> None:
        """Leave these entries out of every scan under way, which may have read them before.

        Returns once no batch that could still hold them is being filed.
        """
        with self._applying:
            for forgotten in self._forgotten:
                forgotten.update(refs)

    def file(self, *, sweep: bool) -> Iterator[int]:
        """File what changed, in this thread, batch by batch; yields how many entries each one put.

        Raises: what the source and the index raise.
        """
        try:
            yield from self._file_changes(sweep=sweep)
        except Corrupted as exc:
            self._on_damage()
            log_failure(f"{self.source.name} is filed again", exc)
            yield from self._file_changes(sweep=sweep)

    def _file_changes(self, *, sweep: bool) -> Iterator[int]:
        forgotten: set[str] = set()
        with self._applying:
            self._forgotten.append(forgotten)
        try:
            (since, mark), has_put = self._begin(), False
            for put in self._file_scanned(since, mark, forgotten, sweep=sweep):
                has_put = has_put or put > 0
                yield put
            if has_put:
                since, now = self._begin()
                # Another process may have deleted what was read here and was not filed yet.
                if now != mark:
                    yield from self._file_scanned(since, now, forgotten, sweep=False)
        finally:
            self.has_part = self._is_long = False
            with self._applying:
                # By identity: sets of other scans may be equal.
                self._forgotten = [each for each in self._forgotten if each is not forgotten]

    def _begin(self) -> tuple[Since, str]:
        """What the index knows, and then the source's mark.

        Both are read before a scan: what is written during it makes the mark differ next time.
        """
        self._began = self._monotonic()
        return self._index.known().since(self.source.name), self._mark(self._hidden())

    def _file_scanned(
        self, since: Since, mark: str, forgotten: set[str], *, sweep: bool
    ) -> Iterator[int]:
        """File what a scan finds but for what is forgotten while it goes on."""
        # A filing that was killed filed more: a source that is again as it was, as a branch that is
        # reset, would count as known, with all that it lost.
        was_killed = (since.mark or "").endswith(_BEGUN)
        begun = None if since.mark is None else f"{since.mark.removesuffix(_BEGUN)}{_BEGUN}"
        known, _, hidden = (since.mark or "").removesuffix(_BEGUN).partition(_HIDING)
        now, _, hiding = mark.partition(_HIDING)
        sweep = sweep and not self.source.exact_mark
        if not sweep and since.mark == mark:
            return
        is_first = was_killed or since.mark is None
        is_counted = is_first and self._count(since)
        # Other entries are left out than before: each that is there, or not, is looked for.
        whole = sweep or is_first or hidden != hiding
        changes = iter(self.source.scan(replace(since, mark=None if whole else known, now=now)))
        has_left_out = is_last = False
        while not is_last:
            batch, is_last = self._next_batch(changes)
            if not batch:
                break
            is_counted = is_counted or (not is_last and self._count(since))
            if isinstance(self.source, ErasingSource):
                self.source.erase_remains()
            with self._applying:
                kept = [x for x in batch if not (isinstance(x, Put) and x.doc.ref in forgotten)]
                self._index.apply(kept, source=self.source.name, since=replace(since, mark=begun))
            self._on_changes(kept)
            has_left_out = has_left_out or len(kept) < len(batch)
            put = sum(isinstance(change, Put) for change in kept)
            self._go_on(put, is_last=is_last)
            yield put
        self._on_scanned(self.source.name)
        if not has_left_out:  # one that was edited may be left out as it is: the next look sees
            self._keep_mark(mark, since.mark, begun)

    def _count(self, since: Since) -> bool:
        """Note how much waits to be filed; whether the source can say so."""
        if not isinstance(self.source, CountsEntries):
            return False
        with suppress(CommonplaceError, OSError):
            self.held, filed = self.source.count(since)
            self.waiting = max(self.held - filed, 0)
        return True

    def _keep_mark(self, mark: str, since: str | None, begun: str | None) -> None:
        """Remember how far a scan came that began at `since`, whatever was filed beside it."""
        now = self._index.known().marks.get(self.source.name)
        if since is not None and now is None:
            return  # the index was emptied meanwhile: the next look files all of it
        if since is not None and now not in {since, begun, mark}:
            # Another process filed meanwhile, and saw more or less than this one: an entry may have
            # been filed after the other saw it go. What came since is looked at again.
            mark = since
        self._index.apply([], source=self.source.name, mark=mark)

    def _next_batch(self, changes: Iterator[Change]) -> tuple[list[Change], bool]:
        """So many changes as are filed at once, and whether they are the last; each is a step."""
        batch: list[Change] = []
        size = 0
        for change in changes:
            batch.append(change)
            self._steps += 1  # of long texts a batch takes seconds on a busy machine
            size += len(change.doc.text) if isinstance(change, Put) else 0
            if len(batch) >= policy.APPLY_BATCH or size >= policy.APPLY_CHARACTERS:
                return batch, False
        return batch, True

    def _go_on(self, put: int, *, is_last: bool) -> None:
        self._went_on_at = self._monotonic()
        took = self._went_on_at - self._began
        with self._over:
            self._steps += 1
            self.waiting = max(self.waiting - put, 0)
            self.has_part, self.is_silent = not is_last, False
            self._is_long = not is_last and took >= policy.LONG_FILING_S
            self._over.notify_all()


def explain(exc: Exception, *, shows_paths: bool) -> str:
    """What went wrong, as a sentence for an answer."""
    if isinstance(exc, CommonplaceError):
        return exc.explained(shows_paths=shows_paths)
    return "Memory ran out." if isinstance(exc, MemoryError) else "Internal error, see the log."


def log_failure(what: str, exc: Exception) -> None:
    """Log what went wrong, with its traceback where it is no error of ours."""
    if isinstance(exc, CommonplaceError):
        _log.warning("%s: %s", what, exc)
    else:
        _log.error("%s", what, exc_info=exc)
