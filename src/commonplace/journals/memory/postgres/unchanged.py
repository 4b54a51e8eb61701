"""Tells inside another's transaction what holds still: of the outbox, and of who is in charge.

Never reads a record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.db.postgres.text_lists import Texts
from commonplace.journals.memory.postgres import upkeep as memory_upkeep
from commonplace.journals.memory.postgres.store import query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.core.memory import Noted
    from commonplace.db.postgres.database import Connection


def ask_unchanged(
    noted: Sequence[Noted],
) -> Callable[[Connection], Callable[[], list[bool]]]:
    """What asks a connection of their one user which of these changed no more, and tells it."""
    asked = {
        "user_id": noted[0].owner,
        "kinds": Texts([each.kind for each in noted]),
        "ids": Texts([each.ref_id for each in noted]),
    }

    def ask(conn: Connection) -> Callable[[], list[bool]]:
        found = conn.execute(query("last_changes"), asked, prepare=True)

        def tell() -> list[bool]:
            now = {(kind, ref_id): changes for kind, ref_id, changes in found.fetchall()}
            return [now.get((each.kind, each.ref_id)) == each.changes for each in noted]

        return tell

    return ask


def ask_in_charge(encoder: str) -> Callable[[Connection], Callable[[], list[bool]]]:
    """What asks a worker's connection whether former vectors may go still, and tells it."""

    def ask(conn: Connection) -> Callable[[], list[bool]]:
        found = conn.execute(memory_upkeep.query("is_whole_still"), {"encoder": encoder})
        return lambda: [bool(is_so) for (is_so,) in found.fetchall()]

    return ask
