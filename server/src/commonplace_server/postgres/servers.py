"""Owns what the servers of one database agree on, and what a look at it finds.

Never holds a text or an owner.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.db.queries import read_queries
from commonplace_server.postgres.database import statement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from psycopg import sql

    from commonplace_server.postgres.database import Connection, Postgres

TABLES = ("cp_served_home", "cp_revoked_tokens", "cp_settings")


class ServedHome(Struct, frozen=True, kw_only=True):
    """The home whose journals on disk are served beside a database.

    Attributes:
        id: Its own.
        place: Where it is, for people.
    """

    id: str
    place: str


class OtherSetting(Struct, frozen=True, kw_only=True):
    """A setting that another server or worker of the database has otherwise.

    Attributes:
        name: Of the setting.
        value: What it is there, as JSON.
        place: Where that process is, for people.
    """

    name: str
    value: str
    place: str


class DatabaseState(Struct, frozen=True, kw_only=True):
    """What a database is found to be, looked at once.

    Attributes:
        served: The home whose journals are served; None before any was.
        is_read_only: Whether nothing can be written, as on a standby.
        at: What time it is there.
        others: The settings that who began last has otherwise than who looks.
    """

    served: ServedHome | None
    is_read_only: bool
    at: datetime
    others: Sequence[OtherSetting]


class Servers:
    """What the servers of one database agree on. Thread-safe.

    Args:
        database: Its owner closes it.
    """

    def __init__(self, database: Postgres) -> None:
        self._database = database
        self.name, self.place = database.name, database.place

    def read_state(
        self, own: Mapping[str, str], *, deadline_s: float | None = None
    ) -> DatabaseState:
        """Look at the database. Raises: Unavailable, Denied.

        own: the settings of who looks, as JSON, by name.
        """
        with self._database.across(deadline_s=deadline_s) as conn:
            return _read_state(conn, own)

    def find_others(self, own: Mapping[str, str]) -> Sequence[OtherSetting]:
        """Which of these settings who announced them last has otherwise.

        May be asked by a worker too. Raises: Unavailable, Denied.
        """
        with self._database.across() as conn:
            return _read_others(conn, own)

    def find_unlike(self, own: Mapping[str, str]) -> Sequence[str]:
        """Which of these settings who announced them last has otherwise, or nobody announced.

        May be asked by a worker too. Raises: Unavailable, Denied.
        """
        with self._database.across() as conn:
            return [str(x[0]) for x in conn.execute(_query("unlike_settings"), _asked(own))]

    def claim(self, home: ServedHome, *, instead: bool = False) -> ServedHome:
        """Make a home the one whose journals are served, unless another is; gives the one that is.

        Args:
            home: Who asks.
            instead: Whether it takes the place of another.

        Raises:
            Unavailable, Denied.
        """
        asked = {"home": home.id, "place": home.place, "instead": instead}
        with self._database.across() as conn:
            conn.execute(_query("claim"), asked)
            served, *_ = _read_served(conn)
        assert served is not None  # of two who ask at once, one is
        return served

    def announce_settings(self, own: Mapping[str, str], place: str) -> Sequence[OtherSetting]:
        """Put these settings in place of what was announced last; gives what was other.

        Args:
            own: The values, as JSON, by name.
            place: Where this process is, for people.

        Raises:
            Unavailable, Denied.
        """
        with self._database.across() as conn:
            others = _read_others(conn, own)
            conn.execute(_query("announce_settings"), {**_asked(own), "place": place})
        return others


def _read_served(conn: Connection) -> tuple[ServedHome | None, bool, datetime]:
    row = conn.execute(_query("state")).fetchone()
    assert row is not None
    home, place, is_read_only, at = row
    served = None if home is None else ServedHome(id=str(home), place=str(place))
    return served, is_read_only, at


def _read_state(conn: Connection, own: Mapping[str, str]) -> DatabaseState:
    served, is_read_only, at = _read_served(conn)
    others = _read_others(conn, own)
    return DatabaseState(served=served, is_read_only=is_read_only, at=at, others=others)


def _read_others(conn: Connection, own: Mapping[str, str]) -> list[OtherSetting]:
    rows = conn.execute(_query("other_settings"), _asked(own)).fetchall()
    return [OtherSetting(name=x[0], value=x[1], place=x[2]) for x in rows]


def _asked(own: Mapping[str, str]) -> dict[str, object]:
    return {"names": [*own], "values": [*own.values()]}


@cache
def _query(name: str) -> sql.SQL:
    return statement(read_queries("commonplace_server.postgres", "servers.sql")[name])
