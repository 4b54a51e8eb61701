"""Owns deleting for privacy: an entry leaves, and so does its text from whatever was made from it.

The opposite of retention, which lets go of detail from below: this goes up, model's text included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.clock import parse_time, render_time
from commonplace.core.errors import Unavailable
from commonplace.journals.timeline.database import entry_of, sql
from commonplace.journals.timeline.entry import RAW, content_hash, pack_id, ref_of, unpack_id
from commonplace.journals.timeline.journal import Deleted
from commonplace.journals.timeline.marks import span_of_row

if TYPE_CHECKING:
    import sqlite3
    from datetime import datetime

    from commonplace.journals.timeline.journal import TimelineJournal


def delete(journal: TimelineJournal, entry_id: str) -> Deleted:
    """Delete an entry of its owner's; see `TimelineJournal.delete`."""
    above: list[tuple[int, str | bytes]] = []
    with journal.database.writing() as conn:
        gone = conn.execute(sql()["find_tombstone"], {"id": pack_id(entry_id)}).fetchone()
        # One that was deleted before is gone from every table, and perhaps not from every byte.
        if gone is None or gone[1]:
            above = _let_go(journal, conn, entry_id, expired=None if gone is None else gone[0])
    erase(journal)
    refs = [entry_id, *(unpack_id(name) for _, name in above if name)]
    return Deleted(refs=tuple(ref_of(name) for name in refs), rollups=len(above))


def _let_go(
    journal: TimelineJournal, conn: sqlite3.Connection, entry_id: str, *, expired: int | None
) -> list[tuple[int, str | bytes]]:
    """Take an entry and what was made of it out of every table; the rollups it went into."""
    now = journal.clock()
    entry = journal.own(conn, entry_id) if expired is None else None
    seq = entry.seq if entry is not None else expired
    above: list[tuple[int, str | bytes]] = conn.execute(sql()["above"], {"source": seq}).fetchall()
    if entry is not None:
        conn.execute(sql()["drop"], {"seq": seq})
        change = journal.note_change(conn, entry.seq)
        if entry.entry_type == RAW:
            journal.marks.mark(conn, entry.at, change=change, now=now)
    elif found := conn.execute(sql()["find_expired"], {"seq": seq}).fetchone():
        conn.execute(sql()["drop_expired"], {"timestamp": found[0], "seq": seq})
        change = journal.note_change(conn, 0)
        journal.marks.mark(conn, parse_time(found[0]), change=change, now=now)
    conn.execute(sql()["note_erasing"], {"erasing": True})
    conn.execute(sql()["bury"], {"seq": seq, "id": pack_id(entry_id), "expired": False})
    for each, _ in above:
        blank(journal, conn, each, now)
    conn.execute(sql()["unlink"], {"source": seq})
    return above


def erase(journal: TimelineJournal) -> None:
    """Leave nothing of what was deleted or altered in the journal file. Raises: Unavailable."""
    with journal.database.writing() as conn:
        conn.execute(sql()["merge_words"])
        change = conn.execute(sql()["last_change"]).fetchone()[0]
    if not journal.database.erase():
        raise Unavailable(
            "The timeline {place} is being read, so the bytes of what was deleted remain.",
            hint="Delete it again when other processes are done.",
            place=journal.database.path,
        )
    with journal.database.writing() as conn:
        # What another process deleted or altered since is not erased yet.
        if conn.execute(sql()["last_change"]).fetchone()[0] == change:
            conn.execute(sql()["note_erasing"], {"erasing": False})


def is_erasing(journal: TimelineJournal) -> bool:
    """Whether something was deleted, and its bytes may be left: a process ended, or another read.

    Raises: Unavailable.
    """
    return any(erasing for (erasing,) in journal.database.ask("erasing"))


def blank(journal: TimelineJournal, conn: sqlite3.Connection, seq: int, now: datetime) -> None:
    """Take all text out of a rollup, and mark it: it is made again from what is left."""
    row = conn.execute(sql()["by_seq"], {"seq": seq}).fetchone()
    if row is None:
        return  # it expired itself; what was made from it is above, too
    rollup = entry_of(row)
    conn.execute(sql()["note_erasing"], {"erasing": True})
    conn.execute(sql()["blank"], {"seq": seq})
    timestamp = render_time(rollup.at)
    blank = {
        "seq": seq,
        "content": "",
        "metadata": "{}",
        "now": render_time(now),
        "hash": content_hash("", "{}", rollup.entry_type, timestamp),
    }
    conn.execute(sql()["update_rollup"], blank)
    change = journal.note_change(conn, seq)
    start, end = (render_time(at) for at in (rollup.start, rollup.end))
    span = span_of_row(rollup.zone_name, rollup.level, start, end)
    journal.marks.mark_spans(conn, [span], change=change)
