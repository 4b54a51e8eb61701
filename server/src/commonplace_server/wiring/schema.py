"""The tables of memories in Postgres: how they are made, and which connections are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.errors import Invalid
from commonplace.db.migrate import list_migrations
from commonplace_server.index import index
from commonplace_server.postgres import servers
from commonplace_server.postgres.database import refuse_unguarded
from commonplace_server.postgres.migrate import (
    list_missing,
    migrate_postgres,
    refuse_other_schema,
)
from commonplace_server.records import store as records
from commonplace_server.records.backlog import refuse_other_role
from commonplace_server.state import tables as state
from commonplace_server.store import entries
from commonplace_server.wiring.addresses import address_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from commonplace.config.table import Settings
    from commonplace.db.migrate import Migration
    from commonplace_server.postgres.database import Connection


def migrate(settings: Settings) -> list[str]:
    """Make or renew the tables, as their owner; what was applied. Raises: Invalid, Denied."""
    return migrate_postgres(_owner_of_tables(settings), list_series())


def list_pending(settings: Settings) -> list[str]:
    """What `migrate` would apply; changes nothing. Raises: Invalid, Unavailable."""
    return list_missing(_owner_of_tables(settings), list_series())


def _owner_of_tables(settings: Settings) -> str:
    if settings.database.admin_url is None:
        raise Invalid(
            "The owner of the database is not named.", hint="Set COMMONPLACE_DATABASE_ADMIN_URL."
        )
    return address_in(settings, "admin_url")


def list_series() -> Mapping[str, Sequence[Migration]]:
    """All migrations, in the order in which they are applied."""
    return {
        records.SERIES: records.list_record_migrations(),
        entries.SERIES: list_migrations("commonplace_server.store"),
        index.SERIES: list_migrations("commonplace_server.index"),
        state.SERIES: list_migrations("commonplace_server.state"),
    }


def check_database(conn: Connection, name: str) -> None:
    """Refuse a database or a role that memory is not safe with. Raises: Denied, Unavailable."""
    refuse_other_schema(conn, name, list_series())
    tables = (*records.TABLES, *entries.TABLES, *index.TABLES, *servers.TABLES, *state.TABLES)
    refuse_unguarded(conn, name, tables=tables)


def check_worker(conn: Connection, name: str) -> None:
    """Likewise for the worker, whose role must be shown what waits."""
    check_database(conn, name)
    refuse_other_role(conn)
