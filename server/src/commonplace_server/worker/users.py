"""Looks at users of whom something changed, and keeps up those of whom something is due.

Decides when, and nothing about what: follows no journal and deletes nothing by itself.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from commonplace.core.errors import CommonplaceError
from commonplace_server.worker import numbers

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from commonplace.core.clock import Clock
    from commonplace_server.store.due_users import DueUsers, LeasedUser

_log = logging.getLogger(f"commonplace.{__name__}")


class KeepsUp(Protocol):
    """What a user's upkeep is: what is old or has expired goes, a language model is asked."""

    def next_at(self, owner: str, *, after: datetime | None = None) -> datetime | None:
        """When it is due next, None for never. Raises: Unavailable.

        after: Only what is due later than that counts.
        """
        ...

    def keep_up(self, owner: str) -> None:
        """Do some of it, if not all. Raises: CommonplaceError."""
        ...

    def close_idle(self) -> None:
        """Close what no user needs any more."""
        ...


class UserRounds:
    """Goes round users, of any home; several may at once, in any number of processes.

    Args:
        due: Who waits.
        follow: Notes what other journals of a user add to their timeline.
        upkeep: What is due of a user; None where this worker may do nothing of it.
        clock: The present.
    """

    def __init__(
        self,
        due: DueUsers,
        *,
        follow: Callable[[str], object],
        upkeep: KeepsUp | None,
        clock: Clock,
    ) -> None:
        self._due = due
        self._follow = follow
        self._upkeep = upkeep
        self._clock = clock

    def look(self, ending: threading.Event, *, rest_s: float = numbers.UNSEEN_REST_S) -> None:
        """Look at users of whom something changed, so long ago at least. Raises: Unavailable."""
        while not ending.is_set():
            users = self._due.lease_unseen(
                numbers.ROLLED_AT_ONCE, rest_s=rest_s, seconds=numbers.ROLLING_LEASE_S
            )
            if not users:
                return
            for user in users:
                with self._in_hand(user, ending) as is_ours:
                    if is_ours:
                        self._follow(user.owner)
                        now, rests = self._clock(), numbers.UPKEEP_REST_S
                        self._due.note_seen(user, now=now, rest_s=rests)

    def keep_up(self, ending: threading.Event) -> None:
        """Do what is due of users. Raises: Unavailable."""
        upkeep = self._upkeep
        while upkeep is not None and not ending.is_set():
            # One at a time: a language model may take minutes for it.
            users = self._due.lease_upkeep(1, now=self._clock(), seconds=numbers.UPKEEP_LEASE_S)
            if not users:
                upkeep.close_idle()
                return
            for user in users:
                with self._in_hand(user, ending) as is_ours:
                    if is_ours:
                        self._keep_up(user, upkeep)

    def _keep_up(self, user: LeasedUser, upkeep: KeepsUp) -> None:
        next_at, kept_up_at = upkeep.next_at(user.owner), None
        if next_at is not None and next_at <= self._clock():
            upkeep.keep_up(user.owner)
            next_at, kept_up_at = upkeep.next_at(user.owner), self._clock()
            if next_at is not None:
                pause = timedelta(seconds=numbers.UPKEEP_PAUSE_S)
                if next_at <= kept_up_at and not self._due.has_changed(user):
                    # What cannot be done, as where nothing bears out the clock, is tried once a
                    # day, and holds up nothing that is due before.
                    again = kept_up_at + timedelta(seconds=numbers.UPKEEP_FAILED_S)
                    later = upkeep.next_at(user.owner, after=kept_up_at)
                    next_at = again if later is None else min(again, later)
                next_at = max(next_at, kept_up_at + pause)
        self._due.note_upkeep(user, next_at=next_at, kept_up_at=kept_up_at)

    @contextmanager
    def _in_hand(self, user: LeasedUser, ending: threading.Event) -> Iterator[bool]:
        """Whether there is time for a user; what fails for one is tried later, and stops none."""
        try:
            yield not ending.is_set()
        except CommonplaceError as exc:
            _log.warning("One user was not kept up: %s", exc)
            self._put_off(user, numbers.ROLLING_FAILED_S)
        except Exception:  # noqa: BLE001  a fault of ours with one user's journals: others go on
            _log.exception("One user was not kept up")
            self._put_off(user, numbers.UPKEEP_REST_S)
        else:
            if ending.is_set():
                self._put_off(user, 0.0)

    def _put_off(self, user: LeasedUser, rest_s: float) -> None:
        with suppress(CommonplaceError):  # else the lease runs out by itself
            self._due.put_off(user, rest_s=rest_s)
