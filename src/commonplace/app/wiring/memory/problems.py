"""What `doctor` checks where memories are kept in Postgres: both roles, and what waits.

Repairs nothing: tables are the administrator's, and what waits is the worker's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.app.wiring.memory.schema import check_database, check_worker
from commonplace.core.errors import CommonplaceError
from commonplace.core.values import Problem
from commonplace.db.postgres.database import Postgres
from commonplace.journals.memory.postgres.backlog import MemoryBacklog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from commonplace.config.table import Settings
    from commonplace.db.postgres.database import Connection

LATE_S = 300.0
"""What waits for longer than this waits in vain: no worker is at it."""


def find_problems(settings: Settings) -> Iterator[Problem | str]:
    """What is wrong with the database that the settings name, and what is worth knowing."""
    if settings.database.url is None:
        return
    yield from _check_role(
        settings.database.url, check_database, lambda found: found.name + " answers."
    )
    if settings.database.worker_url is not None:
        yield from _check_role(settings.database.worker_url, check_worker, _describe_waiting)


def _check_role(
    url: str,
    check: Callable[[Connection, str], None],
    describe: Callable[[Postgres], str | Problem],
) -> Iterator[Problem | str]:
    database = None
    try:
        database = Postgres(url, check=check)
        with database.across():
            pass
        yield describe(database)
    except CommonplaceError as exc:
        yield Problem(what=exc.located, hint=exc.located_hint)
    finally:
        if database is not None:
            database.close()


def _describe_waiting(database: Postgres) -> str | Problem:
    waiting, oldest_s = MemoryBacklog(database).waiting()
    if waiting and oldest_s > LATE_S:
        return Problem(
            what=f"{waiting:,} records wait for the worker, for {oldest_s / 60:.0f} minutes.",
            hint="Run `commonplace memory worker`.",
        )
    return f"{waiting:,} records wait for the worker."
