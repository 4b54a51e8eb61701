"""Filing: keeps one owner's index behind the journals, and makes the vectors that are missing.

Never writes truth, never raises into a write, and never holds a transaction while it encodes.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from contextlib import suppress
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Corrupted
from commonplace.core.expiring import nothing_hidden
from commonplace.core.leases import Lease
from commonplace.core.ports import Erasing, Forgetting, KeepsVectors
from commonplace.core.text import counted_entries
from commonplace.core.values import Drop, Put, Unencoded
from commonplace.search import policy
from commonplace.search.filing.batches import (
    Spans,
    encode_in_background,
    encoded_of,
    groups_of,
    is_cut,
    next_limit,
    texts_of,
    unencoded_of,
    will_be_cut,
)
from commonplace.search.filing.last_look import LastLook
from commonplace.search.filing.port import Filed, Pending
from commonplace.search.filing.source_indexer import (
    DAMAGED,
    BackgroundStep,
    SourceIndexer,
    explain,
    log_failure,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from commonplace.core.expiring import Hidden
    from commonplace.core.ports import Encoder, EncoderSlot, OwnerIndex, Source
    from commonplace.core.values import Change, Vector
    from commonplace.search.filing.port import FilingObserver

# What each entry of a group says, and its vector where one chunk holds all of it.
Whole: TypeAlias = "dict[str, tuple[str, Vector | None]]"
Elsewhere: TypeAlias = "Callable[[Sequence[str]], Iterable[tuple[OwnerIndex, Sequence[str]]]]"

_log = logging.getLogger(__name__)
_ENCODING = "encoding"
_PLACES_S = 1.0


class Behind(Struct, frozen=True, kw_only=True):
    """A journal of which not all is in the index, and why, as one sentence.

    Args:
        waiting: How many of its entries wait to be filed, as far as it is known.
    """

    journal: str
    why: str
    waiting: int = 0


class Filing:
    """Keeps an index behind its sources; background threads, started if needed, do long work.

    Each source has threads of its own: one that hangs or fails delays no other, and no search.
    Thread-safe. `close` it before the process ends.

    Args:
        sources: Looked at before each search; those that look in threads of their own begin first.
        holder: This process's name in leases.
        others: Sources that only the background looks at.
        quoting: Gives the refs of entries that quote some others, so that they are erased with
            them.
        elsewhere: Gives the indexes of others that follow the same sources, with those of some
            refs that are the same entries there: what is deleted here leaves them as well.
        observer: Hears of what other programs wrote.
        shows_paths: Whether a message may name a path of this machine.
        hidden: Gives the refs of what has expired, which leaves the index at once.
        expire: Called before what changed is filed: forgets what has expired.
        now: Seconds since the epoch.
        look_holds_s: How long a look at every entry holds where only our own programs write.
        on_proposal: Hears of each new entry that may take the place of another, by both refs.
    """

    def __init__(
        self,
        *,
        index: OwnerIndex,
        sources: Sequence[Source],
        encoder: EncoderSlot,
        holder: str,
        others: Sequence[Source] = (),
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        quoting: Callable[[Sequence[str]], Sequence[str]] | None = None,
        elsewhere: Elsewhere = lambda _refs: (),
        observer: FilingObserver | None = None,
        shows_paths: bool = True,
        hidden: Hidden = nothing_hidden,
        expire: Callable[[], object] | None = None,
        look_holds_s: float = 0.0,
        on_proposal: Callable[[str, str], object] = lambda _later, _former: None,
    ) -> None:
        self._index, self._sources, self._encoder = index, sources, encoder
        self._monotonic, self._now, self._shows_paths = monotonic, now, shows_paths
        self._lease = Lease(index, _ENCODING, holder, policy.LEASE_S)
        self._quoting, self._elsewhere, self._observer = quoting, elsewhere, observer
        self._hidden, self._expire, self._look_holds_s = hidden, expire, look_holds_s
        self._on_proposal = on_proposal
        self._expiring = threading.Lock()
        self._state = threading.Condition()
        self._over = threading.Condition()
        self._sweeping = threading.Lock()
        in_turn = sorted(sources, key=attrgetter("cheap_mark"))
        self._indexers = [self._new_indexer(source) for source in in_turn]
        self._others = [self._new_indexer(source) for source in others]
        self._behind: tuple[Behind, ...] = ()
        self.cut = 0
        """Entries encoded so far of which words alone find the end."""
        self._asked = self._done = 0
        self._background = self._all_made = self._closed = self._may_erase = False
        self._met_damage = False
        self._patient = True
        # `start` sweeps; a first search before it is not to share the processor with a sweep.
        self._swept_at = monotonic()
        self._worker: threading.Thread | None = None
        self._promised: deque[tuple[Encoder, Whole]] = deque()
        self._keeper = BackgroundStep(self._keep_promised, name="places", over=self._over)
        self._eraser = BackgroundStep(self._finish_killed, name="erasing", over=self._over)
        self._erase_at = -math.inf

    def _new_indexer(self, source: Source) -> SourceIndexer:
        return SourceIndexer(
            self._index,
            source,
            over=self._over,
            monotonic=self._monotonic,
            on_changes=self._note_changes,
            on_filed=self._note_filed,
            on_scanned=self._note_scanned,
            on_damage=self._note_damage,
            sweeping=self._sweeping,
            hidden=self._hidden,
            last_look=LastLook(source, self._index, holds_s=self._look_holds_s, now=self._now),
            shows_paths=self._shows_paths,
        )

    def file(self, changes: Sequence[Change]) -> Filed | Pending:
        """File what was just written, so that it is found at once; never raises into the write.

        With it, whose place the new entry may take.
        """
        from commonplace.search.replacing import find_replaceable, may_replace, proposal

        vectors: dict[str, Vector] = {}
        filed = self._file_aside(changes) or self._file_now(changes, vectors)
        fresh = may_replace(changes)
        if fresh is None:
            return filed
        try:
            made = vectors.get(fresh.ref)
            former = find_replaceable(self._index, self._encoder.get(), fresh, made)
            if former is None:
                return filed
            self._on_proposal(fresh.ref, former.ref)
            return replace(filed, proposal=proposal(former))
        except Exception as exc:  # noqa: BLE001  the write stands, whatever might be said of it
            log_failure("What an entry may replace was not looked for", exc)
            return filed

    def _file_aside(self, changes: Sequence[Change]) -> Pending | None:
        """Leave a new entry that is very long to the thread that follows its journal, if any does.

        A killed process leaves it to the next look, as it does whatever was not filed.
        """
        docs = [change.doc for change in changes if isinstance(change, Put)]
        if len(docs) < len(changes) or sum(len(x.text) for x in docs) <= policy.FILE_AT_ONCE:
            return None
        followed = {x.source.name: x for x in [*self._indexers, *self._others]}
        if not all(doc.ref.startswith(tuple(followed)) for doc in docs):
            return None
        self._background = True
        refs = [doc.ref for doc in docs]
        self._look_at([x for name, x in followed.items() if any(r.startswith(name) for r in refs)])
        encoder = self._encoder.get()
        cut = encoder is not None and any(will_be_cut(encoder, doc.text) for doc in docs)
        return self._pending("It is long, and is being filed.", passing=True, cut=cut)

    def file_edited(self, changes: Sequence[Change]) -> Filed | Pending:
        """File what was edited, as `file` does, and propose nothing."""
        return self._file_now(changes, {})

    def _file_now(self, changes: Sequence[Change], vectors: dict[str, Vector]) -> Filed | Pending:
        """File changes; `vectors` takes those of what one chunk holds whole, by their refs."""
        self._may_erase = True
        by_words = False
        try:
            self._index.apply(changes)
            by_words = True
            encoder = self._encoder.get()
            if encoder is None:
                return self._pending(self._encoder.reason(), passing=self._encoder.is_loading())
            docs = [unencoded_of(c) for c in changes if isinstance(c, Put) and c.doc.text.strip()]
            if sum(len(doc.text) for doc in docs) > policy.ENCODE_AT_ONCE:
                self._wake_worker()
                cut = any(will_be_cut(encoder, doc.text) for doc in docs)
                return self._pending("It is long, and is being encoded.", passing=True, cut=cut)
            for group in groups_of(encoder, docs):
                # Its place beside the entry is for others, and no writer waits for it.
                made = encoder.encode_passages(texts_of(group))
                whole = self._put_vectors(encoder, group, made)
                vectors |= {ref: one for ref, (_, one) in whole.items() if one is not None}
                self._promised.append((encoder, whole))
                self._keeper.ask()
        except Exception as exc:  # noqa: BLE001  the write stands, whatever happens to what is derived
            why = self._log_failure("An entry is written and waits to be filed", exc)
            return self._pending(why, by_words=by_words)
        return Filed()

    def _log_failure(self, what: str, exc: Exception) -> str:
        """Log what went wrong; returns it as a sentence for an answer.

        What `close` cut off did not fail: it waits, and the next process goes on with it.
        """
        if not self._closed:
            log_failure(what, exc)
        return explain(exc, shows_paths=self._shows_paths)

    def _pending(
        self, why: str, *, passing: bool = False, by_words: bool = True, cut: bool = False
    ) -> Pending:
        with self._state:
            self._all_made = False
        return Pending(why, passing=passing, by_words=by_words, cut=cut)

    def forget(self, refs: Sequence[str]) -> Filed | Pending:
        """Take deleted entries out of the index, every byte of their text; never raises."""
        trouble = ""
        try:
            if self._quoting is not None:
                refs = [*refs, *self._quoting(refs)]
        except Exception as exc:  # noqa: BLE001  as in file; the entry itself leaves all the same
            trouble = self._log_failure("What quoted a deleted entry may hold bytes of it", exc)
        try:
            for indexer in [*self._indexers, *self._others]:
                indexer.forget(refs)
            for index, gone in ((self._index, refs), *self._elsewhere(refs)):
                if isinstance(index, Forgetting):
                    index.forget(gone)
                else:
                    index.apply([Drop(ref) for ref in gone])
        except Exception as exc:  # noqa: BLE001  as in file
            return Pending(self._log_failure("A deleted entry waits to leave the index", exc))
        return Pending(trouble) if trouble else Filed()

    def refile(self, changes: Sequence[Put]) -> Filed | Pending:
        """File entries that were edited; their old text leaves as a deleted entry's does."""
        left = self.forget([change.doc.ref for change in changes])
        filed = self.file_edited(changes)
        return left if isinstance(left, Pending) else filed

    def start(self) -> None:
        """Look at everything once, in the background: entries, edits in place, missing vectors."""
        self._background = True
        self._sweep_aside()
        if not self._indexers:
            self._wake_worker()

    def wake(self) -> None:
        """Look for missing vectors now: the encoder is there."""
        self._wake_worker()

    def settle(self, identity: str, wait_s: float) -> tuple[str, ...]:
        """Wait a while for vectors that are being made; a sentence where some are still missing.

        A backlog longer than one wait is waited for once, not by every search; one that is sure to
        be longer is not waited for.
        """
        pending = self._waiting(identity)
        if not pending:
            return ()
        if self._worker is None and self._encoder.get() is not None:
            # What was filed before the encoder was there, and neither `start` nor `wake` called.
            self._wake_worker()
        if pending > policy.VECTORS_SOON:
            return (self._missing(pending),)
        with self._state:
            if self._worker is not None and self._patient:
                self._patient = self._state.wait_for(lambda: self._all_made, wait_s)
        pending = self._waiting(identity)
        return (self._missing(pending),) if pending else ()

    def _missing(self, pending: int) -> str:
        if pending == 1:
            return "1 entry waits for its vector; words find it."
        waiting = f"{pending:,} entries wait for their vector; words find them"
        if pending > policy.VECTORS_SOON and self._shows_paths:
            return f"{waiting}, and `commonplace reindex` makes the vectors now."
        return f"{waiting}."

    def _waiting(self, identity: str) -> int:
        """Entries without a vector; an empty place beside an entry is no search's need."""
        return 0 if self._all_made else self._index.counts(identity).pending

    def refresh(self, wait_s: float) -> tuple[str, ...]:
        """File what other programs wrote, waiting at most so long; a sentence for what is not done.

        A long filing is not waited for, since what is filed so far can be found, nor is a source
        that was silent throughout an earlier wait.
        """
        self._let_expire()
        # A process that was killed may have left some.
        self._background = self._may_erase = True
        turns = self._look_at(self._indexers)
        waited = [(indexer, turn) for indexer, turn in turns if not indexer.has_looked(turn)]

        def under_way(*, with_parts: bool) -> bool:
            return any(
                indexer.is_worth_waiting and (with_parts or not indexer.has_part)
                for indexer, turn in waited
                if not indexer.has_looked(turn)
            )

        soon_s = min(wait_s, policy.LONG_FILING_S)
        before: dict[SourceIndexer, tuple[int, int]] = {}
        if waited and not self._wait(lambda: not under_way(with_parts=True), soon_s):
            before = {indexer: indexer.activity for indexer, _ in waited}
            self._wait(lambda: not under_way(with_parts=False), wait_s - soon_s)
        late = [indexer for indexer, turn in waited if not indexer.has_looked(turn)]
        for indexer in late:
            if indexer.is_worth_waiting and not indexer.has_part:
                indexer.is_silent = True
                indexer.may_be_locked = before.get(indexer) == indexer.activity
        missing = [indexer for indexer in self._indexers if indexer in late or indexer.trouble]
        rest_s = policy.SWEEP_PAUSE * sum(indexer.sweep_s for indexer in self._indexers)
        if self._monotonic() - self._swept_at >= max(policy.SWEEP_EVERY_S, rest_s):
            self._sweep_aside()
        met, self._met_damage = self._met_damage, False
        return (*([DAMAGED] if met else []), *self._report_behind(missing))

    def _look_at(self, indexers: Sequence[SourceIndexer]) -> list[tuple[SourceIndexer, int]]:
        """Have sources checked against what the index knows of all; each with a turn to wait for.

        Read before any source is asked: what another process files by then is looked at again.
        """
        if not indexers:
            return []
        try:
            hidden, marks = self._hidden(), self._read_marks()
        except Exception as exc:  # noqa: BLE001  as in file; what follows meets it as well
            for indexer in indexers:
                indexer.fail(exc)
            return [(indexer, 0) for indexer in indexers]
        return [(x, x.look(marks.get(x.source.name), hidden)) for x in indexers]

    def _read_marks(self) -> Mapping[str, str]:
        try:
            return self._index.known().marks
        except Corrupted:  # the index is made again, empty
            self._note_damage()
            return {}

    def sweep(self) -> tuple[str, ...]:
        """File every change in words, edits in place included; a sentence for what cannot be done.

        Waits for each source as long as it makes progress, and no more for one that is silent.
        """
        self._let_expire()
        self._swept_at = self._monotonic()
        asked = [(indexer, indexer.sweep()) for indexer in self._indexers]
        looked = self._look_at(self._others)

        def under_way() -> list[SourceIndexer]:
            rest = [indexer for indexer, turn in asked if not indexer.has_swept(turn)]
            rest += [indexer for indexer, turn in looked if not indexer.has_looked(turn)]
            return [] if self._closed else [indexer for indexer in rest if not indexer.is_silent]

        while rest := under_way():
            before = [(indexer, indexer.activity) for indexer in rest]
            if not self._wait(partial(_has_progressed, before, under_way), policy.SILENT_S):
                for indexer in rest:
                    indexer.is_silent = indexer.may_be_locked = True
        return self._report_behind([x for x, _ in asked if x.is_silent or x.trouble])

    def _let_expire(self) -> None:
        """Have forgotten what has expired; what cannot be is hidden, and `doctor` names it."""
        # Forgetting files as well, and one thread is enough for it.
        if self._expire is None or not self._expiring.acquire(blocking=False):
            return
        try:
            self._expire()
        except CommonplaceError as exc:
            log_failure("Not everything that has expired is forgotten", exc)
        finally:
            self._expiring.release()

    def behind(self) -> tuple[Behind, ...]:
        """What of the sources is not in the index, as the last refresh or sweep found it."""
        return self._behind

    def _wait(self, is_over: Callable[[], bool], wait_s: float) -> bool:
        with self._over:
            return self._over.wait_for(lambda: self._closed or is_over(), wait_s)

    def _report_behind(self, indexers: list[SourceIndexer]) -> tuple[str, ...]:
        self._behind = tuple(
            Behind(journal=x.journal, why=x.why(), waiting=x.waiting) for x in indexers
        )
        return tuple(dict.fromkeys(each.why for each in self._behind))

    def _sweep_aside(self) -> None:
        self._swept_at = self._monotonic()
        for indexer in self._indexers:
            indexer.sweep(in_turn=True)
        self._look_at(self._others)
        if self._look_holds_s:  # else each source asks for it
            self._eraser.ask()

    def catch_up(self, progress: Callable[[int, int], None] | None = None) -> int:
        """File everything and make every missing vector, now, in this thread; how many were made.

        progress: called with (made so far, still to make); while words are filed none is made, and
        what is filed so far is still to make. Without an encoder only words are filed.
        Raises: Unavailable when the index or a journal cannot be used.
        """
        trouble = self._file_all(progress)
        encoder = self._encoder.get(timeout_s=60.0)
        made = self._encode_missing(encoder, progress) if encoder else 0
        self._erase()
        if trouble is not None:
            raise trouble
        return made

    def _file_all(self, progress: Callable[[int, int], None] | None) -> CommonplaceError | None:
        """File every change in this thread; the first error, after all that could be filed."""
        filed = 0
        trouble: CommonplaceError | None = None
        for indexer in [*self._indexers, *self._others]:
            try:
                for more in indexer.file(sweep=indexer in self._indexers):
                    filed += more
                    if progress is not None and filed:
                        progress(0, filed)
            except CommonplaceError as exc:  # the other journals are filed all the same
                trouble = trouble or exc
        return trouble

    def _finish_killed(self) -> None:
        """Do what a process that was killed has left undone in the index; never raises."""
        self._erase_aside()
        if not (self._look_holds_s and self._background and self._all_made):
            return
        try:
            encoder = self._encoder.get()
            if encoder is not None and self._index.counts(encoder.identity).pending:
                self._wake_worker()
        except Exception as exc:  # noqa: BLE001  as in file; the next pause tries again
            self._log_failure("Missing vectors were not looked for", exc)

    def _erase_aside(self) -> None:
        """Erase what is left of earlier texts, unless that would take too much of the time."""
        began = self._monotonic()
        if began >= self._erase_at:
            self._erase()
            took = self._monotonic() - began
            self._erase_at = self._monotonic() + took * policy.ERASING_PAUSE

    def _erase(self) -> None:
        self._may_erase = False
        try:
            if isinstance(self._index, Erasing):
                self._index.erase()
        except Exception as exc:  # noqa: BLE001  noted in the index: a later start tries again
            self._log_failure("Bytes of deleted or altered text remain in the index", exc)

    def finish(self, wait_s: float) -> None:
        """Let vectors be kept beside their entries and remains be erased; waits at most so long."""
        turns = [(step, step.turn) for step in (self._keeper, self._eraser)]
        self._wait(lambda: all(step.is_over(turn) for step, turn in turns), wait_s)

    def close(self, wait_s: float = 1.0) -> None:
        """Stop the background threads after the batch in hand, waiting at most so long at each."""
        self.finish(wait_s)
        if self._may_erase:
            self._erase_at = -math.inf
            turn = self._eraser.ask()
            self._wait(lambda: self._eraser.is_over(turn), wait_s)
        with self._state, self._over:
            self._closed = True
            self._state.notify_all()
            self._over.notify_all()
        deadline = time.monotonic() + wait_s
        self._keeper.close()
        self._eraser.close()
        indexers = [*self._indexers, *self._others]
        for indexer in indexers:
            indexer.close()
        if self._worker is not None and self._worker is not threading.current_thread():
            self._worker.join(wait_s)
            # A process that ends in the midst of a long text keeps no other from going on.
            with suppress(CommonplaceError):
                self._lease.drop()
        for indexer in indexers:
            indexer.join(max(deadline - time.monotonic(), 0.0))

    def _note_changes(self, changes: Sequence[Change]) -> None:
        if any(isinstance(change, Put) for change in changes):
            with self._state:
                self._all_made = False
        if self._observer is not None:
            self._observer.changed(changes)

    def _note_scanned(self, source: str) -> None:
        if self._observer is not None:
            self._observer.scanned(source)

    def _note_damage(self) -> None:
        self._met_damage = True

    def _note_filed(self, source: Source) -> None:
        self._may_erase = True
        self._eraser.ask()
        if self._background and (not self._all_made or isinstance(source, KeepsVectors)):
            self._wake_worker()

    def _wake_worker(self) -> None:
        """Have the worker look for missing vectors."""
        with self._state:
            self._asked += 1
            if self._worker is None and not self._closed:
                self._worker = threading.Thread(target=self._work, name="vectors", daemon=True)
                self._worker.start()
            self._state.notify_all()

    def _work(self) -> None:
        retry_s, longest_s = policy.RETRY_S
        while True:
            with self._state:
                self._state.wait_for(
                    lambda: self._closed or self._asked > self._done,
                    None if self._all_made else retry_s,
                )
                if self._closed:
                    return
                self._done = self._asked
            retry_s = policy.RETRY_S[0] if self._make_vectors() else min(retry_s * 2, longest_s)

    def _make_vectors(self) -> bool:
        """Whether nothing is left to make; False asks the worker to come back."""
        encoder = self._encoder.get()
        if encoder is None:
            return False
        try:
            made = self._encode_missing(encoder, None)
        except Exception as exc:  # noqa: BLE001  as in file; the worker tries again
            self._log_failure("Making vectors stopped", exc)
            return False
        if made:
            _log.info("Made the vectors of %s.", counted_entries(made))
        return self._all_made

    def _encode_missing(self, encoder: Encoder, progress: Callable[[int, int], None] | None) -> int:
        made = 0
        if not self._lease.take():
            # Another process is at it; whether it comes to the end is to be seen.
            self._all_made = False
            return made
        tried: set[str] = set()
        limit = policy.ENCODE_BATCH
        left, counted_at = 0, -math.inf
        try:
            while not self._interrupted(progress) and self._lease.take():
                docs = self._index.unencoded(encoder.identity, limit)
                if not docs:
                    if self._fill_places(encoder, tried, progress):
                        continue  # what was filed meanwhile comes first
                    break
                limit = next_limit(docs)
                if progress is not None and self._monotonic() - counted_at >= policy.COUNT_EVERY_S:
                    left = self._index.counts(encoder.identity).pending
                    counted_at = self._monotonic()
                for group in groups_of(encoder, docs):
                    vectors = encode_in_background(encoder, texts_of(group))
                    self._keep(encoder, self._put_vectors(encoder, group, vectors))
                    self.cut += sum(is_cut(doc.text, spans) for doc, spans in group)
                    made += len(group)
                    left -= len(group)
                    if progress is not None:
                        progress(made, max(left, 0))
                    if self._interrupted(progress) or not self._lease.take():
                        break
        finally:
            self._lease.drop()
        return made

    def _interrupted(self, progress: object) -> bool:
        # A caller who watches progress wants all of it; the worker lets words go first: side by
        # side both take three times as long, and until the words are filed nothing else finds them.
        waits = self._asked > self._done or any(x.is_busy for x in [*self._indexers, *self._others])
        return self._closed or (progress is None and waits)

    def _put_vectors(
        self, encoder: Encoder, group: Sequence[tuple[Unencoded, Spans]], vectors: Vector
    ) -> Whole:
        encoded = list(encoded_of(group, vectors))
        self._index.put_vectors(encoder.identity, encoded)
        return {
            doc.ref: (doc.text, one.vectors[0] if spans == ((0, len(doc.text)),) else None)
            for (doc, spans), one in zip(group, encoded, strict=True)
        }

    def _keep_promised(self) -> None:
        while self._promised:
            encoder, whole = self._promised.popleft()
            try:
                self._keep(encoder, whole)
            except Exception as exc:  # noqa: BLE001  as in file; a later sweep fills the place
                self._log_failure("A vector was not kept beside its entry", exc)

    def _keep(self, encoder: Encoder, whole: Whole) -> None:
        """Fill the places that journals keep beside these entries."""
        for source in self._keeping(encoder):
            for ref, text in source.wanting(list(whole)):
                known, vector = whole[ref]
                if vector is None or known != text:
                    vector = encode_in_background(encoder, [text])[0]
                source.keep(ref, vector, encoder.identity)

    def _fill_places(self, encoder: Encoder, tried: set[str], progress: object) -> bool:
        """Fill some places that journals keep for vectors; whether any was not tried before."""
        turn = self._keeper.turn  # what is just being kept is not to be encoded again
        self._wait(lambda: self._keeper.is_over(turn), _PLACES_S)
        before = len(tried)
        for source in self._keeping(encoder):
            fresh = (place for place in source.wanting() if place[0] not in tried)
            for ref, text in islice(fresh, policy.ENCODE_BATCH):
                tried.add(ref)
                source.keep(ref, encode_in_background(encoder, [text])[0], encoder.identity)
                if self._interrupted(progress):
                    return True
        if len(tried) > before:
            return True
        with self._state:
            self._all_made = self._patient = True
            self._state.notify_all()
        return False

    def _keeping(self, encoder: Encoder) -> list[KeepsVectors]:
        """The sources whose entries have a place for vectors of this encoder."""
        return [
            x for x in self._sources if isinstance(x, KeepsVectors) and x.keeps(encoder.identity)
        ]


def _has_progressed(
    before: list[tuple[SourceIndexer, tuple[int, int]]],
    under_way: Callable[[], list[SourceIndexer]],
) -> bool:
    return [(indexer, indexer.activity) for indexer in under_way()] != before
