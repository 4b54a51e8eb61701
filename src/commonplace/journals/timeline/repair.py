"""Owns what `doctor` says of a timeline's file, and the little it may repair there.

Never alters an entry: what is damaged is named, and its owner has a backup or has not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError, Corrupted
from commonplace.core.text import counted_entries
from commonplace.core.values import Problem
from commonplace.journals.timeline.privacy_delete import erase, is_erasing
from commonplace.journals.timeline.queries import sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.journals.timeline.feed import Feeding
    from commonplace.journals.timeline.journal import TimelineJournal

_BACKUP = "Restore it from a backup, or set it aside: a new one is begun then."


def find_problems(journal: TimelineJournal, feeding: Feeding | None = None) -> Iterator[Problem]:
    """What is wrong with a timeline's file and its summaries now; changes nothing.

    feeding: what follows the journals whose entries count in the summaries.
    """
    path = journal.database.path
    try:
        with journal.database.reading() as conn:
            pages = "ok" if conn is None else conn.execute(sql()["check_pages"]).fetchone()[0]
        if pages != "ok":
            yield Problem(what=f"{path} is damaged.", hint=_BACKUP)
        elif not _words_fit(journal):
            yield Problem(
                what=f"{path} has a word index that does not fit its entries.",
                hint="Repair rebuilds it from the entries.",
                repairable=True,
            )
        elif is_erasing(journal.database):
            yield Problem(
                what=f"{path} may hold bytes of what was deleted.",
                hint="Repair erases them.",
                repairable=True,
            )
        elif journal.exists and feeding is not None and (count := feeding.count_outdated()):
            yield Problem(
                what=f"{path} may quote {counted_entries(count)} that another program deleted or"
                " changed.",
                hint="Repair takes them out of every summary.",
                repairable=True,
            )
    except Corrupted as exc:
        yield Problem(what=exc.located, hint=_BACKUP)
    except CommonplaceError as exc:
        yield Problem(what=exc.located, hint=exc.located_hint)


def repair(journal: TimelineJournal) -> list[str]:
    """Make the word index again where it does not fit, and erase what was deleted.

    A sentence for each thing done.

    Raises: Unavailable.
    """
    path, done = journal.database.path, []
    try:
        if not _words_fit(journal):
            with journal.database.writing() as conn:
                conn.execute(sql()["rebuild_words"])
            done.append(f"Rebuilt the word index of {path} from its entries.")
        if is_erasing(journal.database):
            erase(journal.database)
            done.append(f"Erased from {path} what was deleted.")
    except Corrupted:
        pass  # `find_problems` names what is wrong
    return done


def _words_fit(journal: TimelineJournal) -> bool:
    """Whether the words that readers of the file search are those of its entries."""
    if not journal.database.exists:
        return True
    try:
        # The check is written as an insert; it changes nothing, and is rolled back all the same.
        with journal.database.bare() as conn:
            conn.execute("BEGIN IMMEDIATE")
            try:
                conn.execute(sql()["check_words"])
            finally:
                conn.execute("ROLLBACK")
    except Corrupted:
        return False
    return True
