"""Owns what `doctor` says of a timeline's file, and the little it may repair there.

Never alters an entry: what is damaged is named, and its owner has a backup or has not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError, Corrupted
from commonplace.core.text import counted_entries
from commonplace.core.values import Problem
from commonplace.journals.timeline.database import TimelineDatabase
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
    file = file_of(journal)
    path = file.path
    try:
        with file.reading() as rows:
            pages = "ok" if rows is None else rows.run("check_pages").fetchone()[0]
        if pages != "ok":
            yield Problem(what=f"{path} is damaged.", hint=_BACKUP)
        elif not _words_fit(file):
            yield Problem(
                what=f"{path} has a word index that does not fit its entries.",
                hint="Repair rebuilds it from the entries.",
                repairable=True,
            )
        elif file.is_erasing():
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
    file, done = file_of(journal), []
    try:
        if not _words_fit(file):
            with file.writing() as rows:
                rows.run("rebuild_words")
            done.append(f"Rebuilt the word index of {file.path} from its entries.")
        if file.is_erasing():
            file.erase()
            done.append(f"Erased from {file.path} what was deleted.")
    except Corrupted:
        pass  # `find_problems` names what is wrong
    return done


def file_of(journal: TimelineJournal) -> TimelineDatabase:
    """The file of a timeline that lies in one."""
    assert isinstance(journal.database, TimelineDatabase)
    return journal.database


def _words_fit(file: TimelineDatabase) -> bool:
    """Whether the words that readers of the file search are those of its entries.

    What a disk damages there refuses each later write.
    """
    if not file.exists:
        return True
    try:
        # The check is written as an insert; it changes nothing, and is rolled back all the same.
        with file.bare() as conn:
            conn.execute("BEGIN IMMEDIATE")
            try:
                conn.execute(sql()["check_words"])
            finally:
                conn.execute("ROLLBACK")
    except Corrupted:
        return False
    return True
