"""Which primaries another has replaced: each promotion begins a timeline of a higher number.

Never judges a standby, nor a service that does not say where its log is.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import psycopg
from psycopg import sql

from commonplace.core.errors import Lost
from commonplace.db.queries import read_queries

UNKNOWN = 0, 0
"""The timeline of what is not judged."""

_newest: dict[int, int] = {}
"""The highest timeline that this process has seen, by the database's own number."""

_noting = threading.Lock()


def find_timeline(conn: psycopg.Connection[Any], name: str, place: str) -> tuple[int, int]:
    """The database's number and the timeline of a new connection, closed if that was replaced.

    One that was frozen and goes on, or that nobody has ended, answers what is asked from before.
    Asked once a connection: behind a pooler that may lead elsewhere later. Raises: Lost.
    """
    try:
        row = conn.execute(_query()).fetchone()
    except (psycopg.ProgrammingError, psycopg.NotSupportedError):
        return UNKNOWN
    if row is None or row[1] is None:
        return UNKNOWN
    system, timeline = row
    with _noting:
        _newest[system] = max(timeline, _newest.get(system, 0))
    if is_replaced((system, timeline)):
        conn.close()
        raise Lost(
            f"{name} at {{place}} was replaced by another.",
            place=place,
            hint="Try again in a moment; restart the server if the database was restored.",
        )
    return system, timeline


def is_replaced(timeline: tuple[int, int]) -> bool:
    """Whether the primary of a later timeline of the same database was seen."""
    return timeline[1] < _newest.get(timeline[0], 0)


@cache
def _query() -> sql.SQL:
    return sql.SQL(read_queries("commonplace_server.postgres", "queries.sql")["timeline"])
