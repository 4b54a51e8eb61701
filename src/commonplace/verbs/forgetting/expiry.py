"""Lets entries expire: once their time has come, no reader sees them, and they are forgotten.

Never forgets because a clock alone says so, nor in an answer that only reads: the journals hide
what has expired until then.
"""

from __future__ import annotations

import math
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from commonplace.core.clock import micros
from commonplace.core.errors import CommonplaceError, Denied, NotFound, Unavailable
from commonplace.core.expiring import FORMER_HISTORY, revealed
from commonplace.core.present import AFTER_DOUBT
from commonplace.core.standstill import PROCESS
from commonplace.core.when.phrases import parse_ahead
from commonplace.verbs.times import naming

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import tzinfo

    from commonplace.core.clock import Clock
    from commonplace.core.present import Present
    from commonplace.core.time_book import TimeBook
    from commonplace.verbs.forgetting.ports import RewritesHistory
    from commonplace.verbs.forgetting.service import ForgettingService

_NEVER = {
    "notebook": (
        "it is an overview, whose history keeps what it was",
        "Let the entries of its section expire.",
    ),
    "transcripts": (
        "sessions are deleted whole, by transcripts.retain_days",
        "Write what is not to last into another journal.",
    ),
}


class KeepsEnds(Protocol):
    """A journal that keeps the times itself at which its entries expire, and then hides them."""

    def covers(self, ref: str) -> bool:
        """Whether a ref is that of an entry of this journal that may expire."""
        ...

    def note(self) -> None:
        """Copy the times into the book. Raises: Unavailable, Denied."""
        ...

    def set_end(self, ref: str, at: datetime | None) -> str:
        """Set when an entry expires, None for never; returns its whole ref.

        Raises: Invalid, NotFound, Conflict, Denied, Unavailable.
        """
        ...

    def find_end(self, ref: str) -> datetime | None:
        """When an entry expires, or has expired; None for never. Raises: as `set_end`."""
        ...

    def leave_out(self, refs: Sequence[str]) -> None:
        """Take what has expired out of all that was derived from it. Raises: Unavailable."""
        ...


class ExpiryService(Struct, frozen=True, kw_only=True):
    """Notes when the entries of one owner expire, and forgets those that have.

    Attributes:
        book: The times, by ref.
        ends: The notebook's, which stand in git; the book has a copy.
        forgetting: Opens the service that forgets; called only where an entry is due.
        is_away: Whether the folder that an entry lies in is not there, as of a disk taken out.
        unfile: Takes refs out of all that is derived from entries whose folder is away.
        hide_after: Notes elsewhere when an entry expires, None for never.
        present: Judges whether the clock may be believed.
        clock: The present.
        zone: The owner's, for phrases.
    """

    book: TimeBook
    ends: KeepsEnds
    forgetting: Callable[[], ForgettingService]
    is_away: Callable[[str], bool]
    unfile: Callable[[Sequence[str]], object]
    hide_after: Callable[[str, float | None], object]
    present: Present
    clock: Clock
    zone: tzinfo

    def read_time(self, phrase: str) -> datetime:
        """The future time that a phrase names. Raises: Invalid."""
        with naming("expires"):
            return parse_ahead(phrase, now=self.clock(), zone=self.zone)

    def expire(self, ref: str, at: datetime) -> str:
        """Set when an entry expires, in place of any earlier time; returns its whole ref.

        Raises: as `AmendService.read_kept_text`; Denied for an entry that cannot be forgotten;
            Conflict.
        """
        whole = self._ending(ref)
        if self.ends.covers(whole):
            return self.ends.set_end(whole, at)
        had_end = whole in self.book.find([whole])
        # Another process may be forgetting it by the end that it had.
        with self.forgetting().leaving(whole) if had_end else nullcontext():
            if had_end:
                self.forgetting().amend.read_kept_text(whole)
            self.book.keep(whole, micros(at) / 1e6)
            self.hide_after(whole, micros(at) / 1e6)
        return whole

    def _ending(self, ref: str) -> str:
        """The whole ref of an entry that may expire. Raises: as `expire`."""
        with revealed():
            found = self.forgetting().amend.read_kept_text(ref)
        whole = found.ref
        if self.ends.covers(whole):
            return whole
        if never := _NEVER.get(whole.partition(":")[0]):
            why, hint = never
            raise Denied(f"{whole} cannot expire: {why}.", hint=hint)
        if "delete" not in found.verbs:
            raise Denied(
                f"{whole} cannot expire: it is a summary, which follows what it is made from.",
                hint="Let the entries expire that it is made from.",
            )
        return whole

    def end_new(self, ref: str, at: datetime) -> None:
        """Set when an entry that was just written expires, also after a standstill.

        It is to have the end that was asked for with it. One that another process gave it while
        this one stood still stays. Raises: as `expire`; Unavailable then.
        """
        whole = self._ending(ref)
        with PROCESS.begun():
            if self.ends.covers(whole):
                if self.ends.find_end(whole) == at:  # it is written with the entry
                    self.ends.note()
                    return
            elif self.book.keep_first(whole, micros(at) / 1e6):
                self.hide_after(whole, micros(at) / 1e6)
                return
        self.expire(whole, at)

    def cancel(self, ref: str) -> bool:
        """Keep an entry for good; returns whether it would have expired.

        One of the notebook that has expired is shown again. Raises: Unavailable; as `expire`.
        """
        service = self.forgetting()
        with service.leaving(ref):
            if self.ends.covers(ref) and not self.is_away(ref):
                end = self.ends.find_end(ref)
                self.ends.set_end(ref, None)
                return end is not None
            was = ref in self.book.read()
            if was:
                self.book.drop([ref])
                self.hide_after(ref, None)
            return was and self._may_be_there(service, ref)

    def list_expiring(self) -> list[tuple[str, datetime]]:
        """The ref of each entry that expires, and when, the next first. Raises: Unavailable.

        What was deleted in another way is left out.
        """
        with suppress(CommonplaceError):  # of a notebook that cannot be read the copy is listed
            self.ends.note()
        service = self.forgetting()
        found = sorted(self.book.read().items(), key=lambda each: (each[1], each[0]))
        with revealed():
            return [
                (ref, datetime.fromtimestamp(at, UTC))
                for ref, at in found
                if self._may_be_there(service, ref)
            ]

    def sweep(self) -> tuple[str, ...]:
        """Forget what is due, where the clock may be believed; returns a note where it may not.

        An entry whose folder is away is forgotten when that is back.

        Raises:
            Unavailable: An entry that is due cannot be forgotten; all others that are due are.
        """
        now = self.clock()
        self.sweep_elsewhere()
        if not self.book.list_due_here(micros(now) / 1e6):
            return ()
        if not self.present.is_borne_out():
            return (f"What has expired is only hidden: {self.present.doubt()} {AFTER_DOUBT}",)
        with revealed():
            due, away = self._list_due(micros(now) / 1e6)
            if away:
                self.unfile(away)
            self._sweep(self.forgetting(), due)
        return ()

    def sweep_elsewhere(self) -> None:
        """Forget what is due on a server by its own clock too; called before any answer.

        Nothing there is hidden until it is forgotten. Raises: as `sweep`.
        """
        due = self.book.list_due_elsewhere(micros(self.clock()) / 1e6)
        if due:
            with revealed():
                self._sweep(self.forgetting(), due)

    def _sweep(self, service: ForgettingService, due: list[str]) -> None:
        if FORMER_HISTORY in due:
            due.remove(FORMER_HISTORY)
            if service.notebook.keeps_history:
                self._drop_history(service.notebook.history())
            else:
                self.book.drop([FORMER_HISTORY])
        try:
            self._forget(service, due)
        except CommonplaceError:
            # Together takes one pass over all journals; one by one, one failure stops no other.
            self._forget_each(service, due)

    def _list_due(self, now: float) -> tuple[list[str], list[str]]:
        """The refs of entries that are due here: those that can be reached, and those away now."""
        due = self.book.list_due_here(now)
        lost: list[str] = []
        if any(self.ends.covers(ref) for ref in due):
            try:
                self.ends.note()  # another clone may have set another time
            except CommonplaceError:
                lost = [ref for ref in due if self.ends.covers(ref)]
            due = self.book.list_due_here(now)
        away = [ref for ref in due if ref in lost or self.is_away(ref)]
        return [ref for ref in due if ref not in away], away

    def _drop_history(self, history: RewritesHistory) -> None:
        history.drop_expired(self.clock())
        if ends := history.list_ends():
            self.book.keep(FORMER_HISTORY, micros(ends[0]) / 1e6)
        else:
            self.book.drop([FORMER_HISTORY])

    def _forget_each(self, service: ForgettingService, due: Sequence[str]) -> None:
        failed: list[tuple[str, CommonplaceError]] = []
        for ref in due:
            try:
                self._forget(service, [ref])
            except CommonplaceError as exc:
                failed.append((ref, exc))
        if failed:
            ref, why = failed[0]
            raise Unavailable(
                f"{ref} has expired and cannot be forgotten: {why.args[0]}",
                hint=f"{why.hint} `commonplace expire {ref} --never` lets it stay.".strip(),
                place=why.place,
            ) from why

    def _forget(self, service: ForgettingService, due: Sequence[str]) -> None:
        """Forget entries, and what quotes them; those of the notebook are left out of all else."""
        while there := [ref for ref in self._still_due(due) if self._is_there(service, ref)]:

            def check(planned: Sequence[str] = there) -> None:
                if self._still_due(planned) != planned:
                    raise NotFound("Some of these have not expired any more.")

            try:
                service.delete(service.plan(there), check=check)
            except NotFound:
                continue  # another process was faster with some, or someone lets some stay
            break
        gone = self._still_due(due)
        self.ends.leave_out([ref for ref in gone if self.ends.covers(ref)])
        self.book.drop(gone, until=micros(self.clock()) / 1e6)

    def _still_due(self, refs: Sequence[str]) -> list[str]:
        """Those of these entries whose time has come as far as is noted by now."""
        now, times = micros(self.clock()) / 1e6, self.book.find(refs)
        return [ref for ref in refs if times.get(ref, math.inf) <= now]

    def _may_be_there(self, service: ForgettingService, ref: str) -> bool:
        return ref == FORMER_HISTORY or self.is_away(ref) or self._is_there(service, ref)

    def _is_there(self, service: ForgettingService, ref: str) -> bool:
        try:
            service.amend.read_kept_text(ref)
        except NotFound:
            return False
        except CommonplaceError:
            return True  # forgetting it raises the same error
        return True
