"""Owns what `doctor` says of a memory's file.

Never alters a record: what is damaged is named, and its owner has a backup or has not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError, Corrupted
from commonplace.core.values import Problem

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
