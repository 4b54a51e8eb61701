"""Owns what `doctor` says of chronicle's storage, and the little it may mend there.

Never alters what an entry says: a broken one is named, and its owner decides.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from commonplace.core.errors import CommonplaceError, Corrupted
from commonplace.core.text import counted_entries
from commonplace.core.values import Problem
from commonplace.journals.chronicle.database import UPGRADE_HINT
from commonplace.journals.chronicle.layouts import (
    SQL,
    complete,
    count_missing_instants,
    fill_instants,
)
from commonplace.journals.chronicle.markdown_tree import ChronicleTree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.journals.chronicle.database import ChronicleDatabase
    from commonplace.journals.chronicle.examined_stamps import ExaminedStamps
    from commonplace.journals.chronicle.layouts import Layout

_NAMED = 5
_REPAIR_HINT = "Repair adds it, as the newest chronicle does when it opens the file."


def find_problems(
    store: ChronicleDatabase | ChronicleTree, examined: ExaminedStamps
) -> Iterator[Problem]:
    """What is wrong with a storage now; reads every entry, changes nothing."""
    try:
        if not isinstance(store, ChronicleTree):
            layout = store.layout()
            if layout.generation == "new":
                return
            yield from _problems_of_layout(store, layout)
            if not layout.is_current:
                return
        yield from _unreadable(store, examined)
    except CommonplaceError as exc:
        yield Problem(what=exc.located, hint=exc.located_hint)


def _problems_of_layout(store: ChronicleDatabase, layout: Layout) -> Iterator[Problem]:
    with store.examining() as (conn, _):
        pages = conn.execute(SQL["check_pages"]).fetchone()[0]
        missing = 0
        if layout.generation == "D2":
            missing = count_missing_instants(conn)
    if pages != b"ok":
        yield Problem(
            what=f"{store.path} is damaged.", hint="Restore it from a backup of before the damage."
        )
    if layout.half_upgraded:
        yield Problem(
            what=f"{store.path} was half-upgraded by a newer chronicle, which cannot finish.",
            hint=UPGRADE_HINT,
        )
    elif not layout.is_current:
        yield Problem(
            what=f"{store.path} is of an older chronicle: it must be upgraded before it can be"
            " used.",
            hint=UPGRADE_HINT,
        )
    elif not layout.whole:
        yield Problem(
            what=f"{store.path} lacks columns, an index or a trigger of the newest layout.",
            hint=_REPAIR_HINT,
            repairable=True,
        )
    if missing:
        yield Problem(
            what=f"{counted_entries(missing)} of {store.path} without the instant that the time"
            " names.",
            hint=_REPAIR_HINT,
            repairable=True,
        )
    if layout.generation == "D2" and layout.whole and not _words_fit(store):
        yield Problem(
            what=f"{store.path} has a word index that does not fit its entries.",
            hint="Repair builds it again from the entries.",
            repairable=True,
        )


def _words_fit(store: ChronicleDatabase) -> bool:
    """Whether chronicle's own word index is right; a file nobody may write to is not asked.

    What a disk damages there, or a version without its triggers left out, refuses each deletion.
    """
    if not os.access(store.path, os.W_OK) or not os.access(store.path.parent, os.W_OK):
        return True
    try:
        # The check is written as an insert, which changes nothing, but is refused to readers.
        with store.connection_to_write() as conn:
            conn.execute("BEGIN IMMEDIATE")
            try:
                conn.execute(SQL["check_words"])
            finally:
                conn.execute("ROLLBACK")
    except Corrupted:
        return False
    return True


def _unreadable(
    store: ChronicleDatabase | ChronicleTree, examined: ExaminedStamps
) -> Iterator[Problem]:
    reasons = examined.read().unreadable
    for label, why in reasons[:_NAMED]:
        yield Problem(
            what=f"The entry {label} of {store.path} cannot be read: {why}",
            hint="Mend it with the program that wrote it, or delete it.",
        )
    if len(reasons) > _NAMED:
        rest = Counter(why for _, why in reasons[_NAMED:])
        others = "; ".join(f"{count} times: {why}" for why, count in rest.most_common(_NAMED))
        yield Problem(what=f"More entries of {store.path} cannot be read: {others}")


def repair(store: ChronicleDatabase | ChronicleTree) -> list[str]:
    """Add what a database of the newest generations lacks; a sentence for each thing done.

    Raises: Invalid, Denied, Unavailable.
    """
    if isinstance(store, ChronicleTree):
        return []
    layout = store.layout()
    if not layout.is_current or layout.generation == "new":
        return []
    done = []
    words_fit = not layout.whole or _words_fit(store)
    with store.writing() as conn:
        if not layout.whole:
            complete(conn)
            done.append(f"Added to {store.path} what the newest chronicle has.")
        filled = fill_instants(conn)
        if filled:
            done.append(
                f"Gave {counted_entries(filled)} of {store.path} the instant that the time names."
            )
        if not words_fit or not layout.whole:
            conn.execute(SQL["rebuild_words"])
    if not words_fit:
        done.append(f"Built the word index of {store.path} again.")
    return done
