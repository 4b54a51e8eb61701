"""What is asked of the outbox inside a transaction of the index: what still holds, who leads.

Never reads a record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace_server.records import upkeep
from commonplace_server.records.store import columns_of, query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.core.values import AreCurrent
    from commonplace_server.postgres.database import Connection
    from commonplace_server.records.outbox import OutboxLine


def check_unchanged(lines: Sequence[OutboxLine]) -> AreCurrent:
    """What asks, by a connection of their one user, which of these records changed no more."""
    return _check("last_changes", lines)


def note_filed(lines: Sequence[OutboxLine]) -> AreCurrent:
    """What notes likewise that the words of these lines are filed, and asks which are unchanged.

    In the transaction that files them: apart, each took a commit and .4 ms of the database more.
    """
    return _check("filed", lines)


def _check(name: str, lines: Sequence[OutboxLine]) -> AreCurrent:
    asked = {"user_id": lines[0].owner, **columns_of(lines)}

    def check(conn: Connection) -> Callable[[], list[bool]]:
        found = conn.execute(query(name), asked, prepare=True)

        def read() -> list[bool]:
            now = {(kind, ref_id): changes for kind, ref_id, changes in found.fetchall()}
            return [now.get((each.kind, each.ref_id)) == each.changes for each in lines]

        return read

    return check


def check_leads(encoder: str) -> AreCurrent:
    """What asks, by a worker's connection, whether other encoders' vectors may still go."""

    def check(conn: Connection) -> Callable[[], list[bool]]:
        found = conn.execute(upkeep.query("is_whole_still"), {"encoder": encoder})
        return lambda: [bool(is_so) for (is_so,) in found.fetchall()]

    return check
