"""Tells which lines of the outbox are as somebody has read them, inside another's transaction.

Never reads a record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.journals.memory_postgres import columns_of, query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.core.memory import Noted
    from commonplace.db.postgres import Connection


def ask_unchanged(
    noted: Sequence[Noted],
) -> Callable[[Connection], Callable[[], list[bool]]]:
    """What asks a connection of their one user which of these changed no more, and tells it."""
    asked = {"user_id": noted[0].owner, **columns_of(noted)}

    def ask(conn: Connection) -> Callable[[], list[bool]]:
        found = conn.execute(query("unchanged"), asked)
        return lambda: [bool(row[0]) for row in found.fetchall()]

    return ask
