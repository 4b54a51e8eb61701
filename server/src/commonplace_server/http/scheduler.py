"""The scheduler of a server: rolls up what is due, and deletes sessions that are kept no longer.

Decides nothing about periods: rows of the timeline say what is due. Never holds up an answer for
long.
"""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.core.owner_folders import folder_owner
from commonplace.core.standstill import PROCESS
from commonplace.core.time_book import EXPIRING
from commonplace.verbs.timeline.commands import TimelineCommands
from commonplace_server.background import Background
from commonplace_server.duties import each_duty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from commonplace.app import App
    from commonplace.core.clock import Clock
    from commonplace.doors.owner_apps import OwnerApps

_log = logging.getLogger(f"commonplace.{__name__}")

TURN_S = 2.0
"""How long one owner's turn may take; then the other owners have theirs."""

TURN_MOST = 400
QUARTER = timedelta(minutes=15)
"""Hours end on the quarters of an hour, in every zone there is."""

_LATE = timedelta(seconds=2)
_LOOK_S = 30.0  # a machine that slept finds out within this


class RollupScheduler(Background):
    """Rolls up each period when it becomes due, and at the start all that is due already.

    Args:
        apps: The apps of all owners.
        users: The folder of all owners' folders.
        grace: How much longer a period waits for late entries.
        clock: Gives the time.
        has_due: Whether anything of an owner's is due that lies in a database.
    """

    def __init__(
        self,
        apps: OwnerApps,
        *,
        users: Path,
        grace: timedelta,
        clock: Clock,
        has_due: Callable[[str], bool] = lambda _: False,
    ) -> None:
        super().__init__("rollup scheduler")
        self._apps = apps
        self._users = users
        self._grace = grace
        self._clock = clock
        self._has_due = has_due

    def roll_up(self) -> int:
        """Roll up all that is due now, owners in turns; returns how many rollups were made."""
        made = 0
        said: set[tuple[str, str]] = set()
        waiting = [*self.list_owners()]
        while waiting and not self._stopping.is_set():
            left = []
            for owner in waiting:
                if self._stopping.is_set():
                    break
                some, is_done = self._turn(owner, said)
                made += some
                if not is_done:
                    left.append(owner)
            waiting = left
        return made

    def list_owners(self) -> Iterator[str]:
        """The owners that have a timeline, sessions, or entries that expire."""
        try:
            folders = sorted(os.listdir(self._users))
        except FileNotFoundError:
            return
        for name in folders:
            folder = self._users / name
            is_there = os.path.isfile(folder / "journal" / "journal.db")
            is_there |= any(os.path.isdir(folder / x) for x in ("transcripts", EXPIRING))
            try:
                owner = folder_owner(folder)
                if is_there or self._has_due(owner):
                    yield owner
            except CommonplaceError as exc:
                _log.warning("Nothing is rolled up there: %s", exc)

    def next_at(self, now: datetime) -> datetime:
        """When a period may next become due, in any zone."""
        midnight = datetime(now.year, now.month, now.day, tzinfo=UTC)
        past = now.astimezone(UTC) - self._grace - midnight
        return midnight + (past // QUARTER + 1) * QUARTER + self._grace

    def _turn(self, owner: str, said: set[tuple[str, str]]) -> tuple[int, bool]:
        """Let what has expired and old sessions of one owner go, and roll up some periods.

        Args:
            owner: Whose turn it is.
            said: What was logged of whom: what fails is tried again at each turn.

        Returns:
            How many rollups were made, and whether nothing more is due.
        """
        rolled_up: list[tuple[int, bool]] = []
        try:
            # Another server of this home may see to it while this one stands still.
            with PROCESS.begun(), self._apps.using(owner) as app:
                do_due_work(app, rolled_up.append)
        except Exception as exc:  # noqa: BLE001  a thread's last line: the others still have their turn
            if (fault := (owner, str(exc))) not in said:
                said.add(fault)
                log = _log.warning if isinstance(exc, CommonplaceError) else _log.exception
                log("Not all that is due of one owner was done: %s", exc)
        return rolled_up[0] if rolled_up else (0, True)

    def _run(self) -> None:
        while not self._stopping.is_set():
            next_at = self.next_at(self._clock())
            self.roll_up()
            while not self._stopping.is_set() and self._clock() < next_at + _LATE:
                self._stopping.wait(_LOOK_S)


def do_due_work(app: App, rolled_up: Callable[[tuple[int, bool]], object]) -> None:
    """Do some of what is due of one owner; see `RollupScheduler._turn`.

    rolled_up: Called with what the turn gives, whatever else of it fails.
    Raises: What failed first.
    """
    with each_duty() as do:
        do(app.sweep_expired)
        do(lambda: app.transcripts.service().retain_as_set())
        do(lambda: rolled_up(_roll_up(app)))


def _roll_up(app: App) -> tuple[int, bool]:
    service = app.timeline.service()
    service.feed()
    made = service.rollups.catch_up(most=TURN_MOST, within_s=TURN_S)
    if made and service.rollups.list_due():
        return made, False
    settings = app.settings
    if made or settings.llm.background or settings.timeline.retention != "off":
        # All is made: retention has its part, as at `commonplace rollup --due`, and so have models
        # where the settings let a server ask them.
        TimelineCommands(
            service, model_texts=lambda: app.timeline.background_model_texts(service)
        ).roll_up()
    return made, True
