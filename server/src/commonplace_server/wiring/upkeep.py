"""The wiring of a user's upkeep: by which settings it is due, and that it is done as that user.

Gives the worker's role no right: what is deleted, or shown to a model, is by the users' own role.
"""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError
from commonplace.journals.timeline.retention import parse_retention
from commonplace_server.duties import each_duty
from commonplace_server.postgres.servers import Servers
from commonplace_server.store.due_users import UpkeepSettings
from commonplace_server.wiring.servers import find_unlike, place_of
from commonplace_server.worker import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from commonplace.app import App, Apps
    from commonplace.config.table import Settings
    from commonplace.core.clock import Clock
    from commonplace.verbs.timeline.service import TimelineService
    from commonplace_server.postgres.database import Postgres
    from commonplace_server.store.due_users import DueUsers

OF_DELETING = ("timeline.retention", "transcripts.retain_days", "undo.keep_days")
"""The settings that a server must have announced as they are here, else nothing goes by age."""

_ANNOUNCED = "upkeep"
"""Under this name a worker says by which settings it does upkeep."""

_log = logging.getLogger(f"commonplace.{__name__}")


class UserUpkeep:
    """What is due of any user, done by their app; see `KeepsUp`.

    Args:
        apps: The apps of all users, whose settings say what is kept and which model is asked.
        database: Connected to as the worker's role.
        due: What that role is shown of users.
        clock: The present.
    """

    def __init__(self, apps: Apps, database: Postgres, due: DueUsers, clock: Clock) -> None:
        self._apps = apps
        self._servers = Servers(database)
        self._due = due
        self._clock = clock
        settings = apps.settings
        self._by = upkeep_settings(settings)
        self._unlike: Sequence[str] = ()

    def announce(self) -> None:
        """Have everybody be judged by the settings, if the upkeep before was by others.

        Where the database does not answer, it is done at the next start.
        """
        settings, by = self._apps.settings, self._by
        own = [settings.timeline.retention, by.session_days, by.undo_days, by.asks_model]
        with suppress(CommonplaceError):
            said = {_ANNOUNCED: json.dumps(own)}
            if self._servers.find_others(said):
                self._due.ask_for_all(self._clock())
            # Not before: who dies in between asks once more.
            self._servers.announce_settings(said, place_of(settings))

    def next_at(self, owner: str, *, after: datetime | None = None) -> datetime | None:
        """When it is due next, of what is kept otherwise here in a day at most; see the port."""
        # What waits for a language model is due at any time, hence at none that is later.
        now = self._clock() if after is None else after
        next_at = self._due.next_upkeep(owner, self._by, now, after=after)
        in_a_day = now + timedelta(seconds=numbers.UPKEEP_FAILED_S)
        if (next_at is None or next_at > in_a_day) and not self._retains():
            return in_a_day  # by the servers' settings it may be sooner
        return next_at

    def keep_up(self, owner: str) -> None:
        """Do some of it; see the port."""
        retains = self._retains()
        with self._apps.using(owner) as app, each_duty() as do:
            do(app.finish_forgetting)
            if retains:
                do(app.former.sweep)
            if owner == self._apps.settings.owner:
                return  # all else of theirs lies on the disk of some machine
            if retains:
                do(lambda: app.transcripts.service().retain_as_set())
            service = app.timeline.service()
            do(service.catch_up)
            do(lambda: _ask_model(app, service))
            if retains and service.retention.is_on:
                do(service.run_due)

    def close_idle(self) -> None:
        """Close the apps of users who need them no more; see the port."""
        self._apps.close_idle()

    def _retains(self) -> bool:
        """Whether the servers say that what this worker would delete by age is to go."""
        unlike = find_unlike(self._apps.settings, self._servers, OF_DELETING)
        if unlike and unlike != self._unlike:
            _log.warning(
                "Nothing is deleted by age here: the servers say otherwise, or nothing, of %s.",
                ", ".join(unlike),
            )
        self._unlike = unlike
        return not unlike


def upkeep_settings(settings: Settings) -> UpkeepSettings:
    """By what it is judged when the upkeep of a user is due, by a server as by a worker."""
    return UpkeepSettings(
        retention=parse_retention(settings.timeline.retention),
        session_days=settings.transcripts.retain_days,
        undo_days=settings.undo.keep_days,
        asks_model=settings.llm.background and settings.llm.url is not None,
    )


def _ask_model(app: App, service: TimelineService) -> None:
    if (models := app.timeline.background_model_texts(service)) is not None:
        models.run(within_s=numbers.UPKEEP_TURN_S)
