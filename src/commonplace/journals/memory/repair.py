"""Owns what `doctor` says of a memory's file, and the little it may repair there.

Never alters a record: what is damaged is named, and its owner has a backup or has not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError, Corrupted
from commonplace.core.values import Problem
from commonplace.journals.memory.database import sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.journals.memory.journal import MemoryJournal

_BACKUP = "Restore it from a backup, or set it aside: a new one is begun then."


def find_problems(journal: MemoryJournal) -> Iterator[Problem]:
    """What is wrong with the file of one user's memory now; changes nothing."""
    path = journal.database.path
    try:
        pages = journal.database.ask("check_pages")
        if pages and pages[0][0] != "ok":
            yield Problem(what=f"{path} is damaged.", hint=_BACKUP)
            return
        if count := _count_unlisted(journal):
            yield Problem(
                what=f"{path} does not list {count:,} records among what changed: the index may"
                " hold them otherwise than they are.",
                hint="Repair lists them, and the next search files them.",
                repairable=True,
            )
        if journal.to_erase():
            yield Problem(
                what=f"{path} or the index may hold bytes of deleted records.",
                hint="Repair erases them.",
                repairable=True,
            )
    except Corrupted as exc:
        yield Problem(what=exc.located, hint=_BACKUP)
    except CommonplaceError as exc:
        yield Problem(what=exc.located, hint=exc.located_hint)


def list_unlisted(journal: MemoryJournal) -> list[str]:
    """List records among what changed that are missing there, and those that are gone.

    Returns:
        A sentence for each thing done.

    Raises:
        Unavailable: The file cannot be written.
    """
    try:
        count = _count_unlisted(journal)
    except Corrupted:
        return []  # `find_problems` names what is wrong
    if not count:
        return []
    owner = {"user_id": journal.owner}
    with journal.database.writing() as conn:
        conn.execute(sql()["list_gone"], owner)
        conn.execute(sql()["list_unlisted"], owner)
    return [f"Listed {count:,} records of {journal.database.path} for the index."]


def _count_unlisted(journal: MemoryJournal) -> int:
    rows = journal.database.ask("count_unlisted", user_id=journal.owner)
    return int(rows[0][0]) if rows else 0
