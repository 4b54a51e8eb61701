"""The sessions of clients of the older protocols, in the database of all servers.

Never holds the id of a session, only its hash, nor anything that was asked or answered in it but
which versions of overviews were shown.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import retried
from commonplace.db.queries import read_queries
from commonplace_server.postgres.database import statement

if TYPE_CHECKING:
    from psycopg import sql

    from commonplace_server.postgres.database import Postgres


class SessionDatabase:
    """The sessions of all users of a database. Thread-safe.

    Args:
        database: Its owner closes it.
        most: How many a token may have.
        idle_s: How long one may be idle.
    """

    def __init__(self, database: Postgres, *, most: int, idle_s: float) -> None:
        self._database = database
        self._most = most
        self._idle = timedelta(seconds=idle_s)

    def keep(self, owner: str, token_id: str, session_id: bytes, opening: str) -> None:
        """Keep a session that has begun. Raises: Unavailable.

        opening: what its client said first.
        """
        given = self._given(owner, token_id, session_id)

        def keep() -> None:
            with self._database.owner_transaction(owner, commit="soon") as conn:
                conn.execute(_query("keep"), {**given, "opening": opening})
                conn.execute(_query("trim"), given)

        retried(keep)

    def find(self, owner: str, token_id: str, session_id: bytes) -> str | None:
        """What the client of an open session said first; None where it is over, or another's."""
        given = self._given(owner, token_id, session_id)

        def find() -> str | None:
            with self._database.owner_transaction(owner, commit="soon") as conn:
                row = conn.execute(_query("find"), given).fetchone()
                if row is not None and row[1]:
                    conn.execute(_query("used"), given)
            return None if row is None else str(row[0])

        return retried(find)

    def end(self, owner: str, token_id: str, session_id: bytes) -> None:
        """Have a session be over on every server; may be called twice. Raises: Unavailable."""
        given = self._given(owner, token_id, session_id)

        def end() -> None:
            with self._database.owner_transaction(owner) as conn:
                conn.execute(_query("end"), given)

        retried(end)

    def note_read(
        self, owner: str, token_id: str, session_id: bytes, section: str, version: str
    ) -> None:
        """Note which version of a section's overview was shown in it. Raises: Unavailable."""
        given = self._given(owner, token_id, session_id)
        given |= {"section": _digest(section.encode()), "version": version}

        def note() -> None:
            with self._database.owner_transaction(owner, commit="soon") as conn:
                conn.execute(_query("note_read"), given)

        retried(note)

    def last_read(self, owner: str, token_id: str, session_id: bytes, section: str) -> str:
        """The version that any server showed last; empty where none did. Raises: Unavailable."""
        given = self._given(owner, token_id, session_id)
        given["section"] = _digest(section.encode())

        def find() -> str:
            with self._database.owner_transaction(owner) as conn:
                row = conn.execute(_query("last_read"), given).fetchone()
            return "" if row is None else str(row[0])

        return retried(find)

    def _given(self, owner: str, token_id: str, session_id: bytes) -> dict[str, Any]:
        return {
            "owner": owner,
            "token_id": token_id,
            "digest": _digest(session_id),
            "idle": self._idle,
            "most": self._most,
        }


def _digest(named: bytes) -> str:
    return hashlib.sha256(named).hexdigest()


@cache
def _query(name: str) -> sql.SQL:
    return statement(read_queries("commonplace_server.state", "sessions.sql")[name])
