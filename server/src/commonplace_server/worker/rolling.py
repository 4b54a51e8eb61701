"""Rolls up what is due in the timelines of all users, each as that user alone.

Never holds a transaction while it sums up, deletes nothing that anybody wrote, and asks no model.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from commonplace.core.errors import CommonplaceError
from commonplace.journals.timeline.due_periods import bounds
from commonplace_server.worker import numbers

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping, Sequence
    from datetime import timedelta

    from commonplace.core.clock import Clock
    from commonplace.journals.timeline.rollups import Rollups

_log = logging.getLogger(f"commonplace.{__name__}")


class LeasesTimelines(Protocol):
    """Whose timelines have something due, and who has which in hand."""

    def lease(self, limit: int, *, bounds: Mapping[str, str], seconds: float) -> Sequence[str]:
        """Take users of whom something is due. Raises: Unavailable."""
        ...

    def give_back(self, owner: str, *, rest_s: float) -> None:
        """Let any worker have a user again, after so long. Raises: Unavailable."""
        ...


class TimelineRolling:
    """Rolls up what is due, of any user; several may work at once, in any number of processes.

    Args:
        due: Whose is due.
        rollups_of: Opens a user's, once what other journals add is noted.
        grace: How much longer than its level says a period waits for late entries.
        clock: The present.
    """

    def __init__(
        self,
        due: LeasesTimelines,
        *,
        rollups_of: Callable[[str], Rollups],
        grace: timedelta,
        clock: Clock,
    ) -> None:
        self._due = due
        self._rollups_of = rollups_of
        self._grace = grace
        self._clock = clock

    def roll_up(self, ending: threading.Event, *, rest_s: float = numbers.ROLLING_REST_S) -> int:
        """Roll up what no other worker has in hand; how many summaries were made.

        rest_s: How long a user rests of whom more is due, so that others have their turn.

        Raises: Unavailable.
        """
        made = 0
        while not ending.is_set():
            until = bounds(self._clock(), self._grace)
            owners = self._due.lease(
                numbers.ROLLED_AT_ONCE, bounds=until, seconds=numbers.ROLLING_LEASE_S
            )
            if not owners:
                break
            for owner in owners:
                made += self._turn(owner, ending, rest_s)
        return made

    def _turn(self, owner: str, ending: threading.Event, rest_s: float) -> int:
        """Some of one user's; never raises, so that the others have their turn."""
        made = 0
        rests = numbers.ROLLING_FAILED_S
        try:
            if ending.is_set():
                rests = 0.0
                return 0
            rollups = self._rollups_of(owner)
            made = rollups.catch_up(most=numbers.ROLLED_OF_ONE, within_s=numbers.ROLLING_TURN_S)
            # What cannot be made, since a journal does not answer, is tried again later.
            rests = rest_s if made or not rollups.list_due() else rests
        except CommonplaceError as exc:
            _log.warning("The timeline of one user was not rolled up: %s", exc)
        finally:
            with suppress(CommonplaceError):  # else the lease runs out by itself
                self._due.give_back(owner, rest_s=rests)
        return made
