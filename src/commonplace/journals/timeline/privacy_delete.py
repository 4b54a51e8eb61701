"""Owns deleting for privacy: an entry leaves, and so does its text from all that was made from it.

The opposite of retention, which deletes detail from below: this goes up, model's text included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from commonplace.core.clock import parse_time, render_time
from commonplace.journals.timeline.due_periods import note_change, span_of_row
from commonplace.journals.timeline.entry import RAW, content_hash, pack_id
from commonplace.journals.timeline.queries import entry_of

if TYPE_CHECKING:
    from datetime import datetime

    from commonplace.journals.timeline.due_periods import DuePeriods
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.ports import TimelineRows


Rollup: TypeAlias = tuple[int, str | bytes]
"""The number of a rollup, and its id or the packed id of its tombstone."""


def remove(
    conn: TimelineRows,
    due_periods: DuePeriods,
    entry_id: str,
    entry: TimelineEntry | int,
    *,
    now: datetime,
    blanked: set[int] | None = None,
) -> list[Rollup]:
    """Take an entry, and what was made of it, out of every table.

    Args:
        conn: In a transaction.
        due_periods: What is to be made again.
        entry_id: Of the entry.
        entry: What its row holds; its number alone where retention has deleted it already.
        now: The present.
        blanked: The rollups that this transaction has blanked already; more are put in.

    Returns:
        The rollups it went into, near and far, and those a model compared with them: all are
        blank now, and due.
    """
    seq = entry if isinstance(entry, int) else entry.seq
    at: datetime | None = None
    above: list[Rollup] = conn.run("above", {"source": seq}).fetchall()
    if not isinstance(entry, int):
        conn.run("drop", {"seq": seq})
        change = note_change(conn, seq)
        if entry.entry_type == RAW:
            at = entry.at
            due_periods.mark(conn, at, change=change, now=now)
    elif found := conn.run("find_expired", {"seq": seq}).fetchone():
        conn.run("drop_expired", {"timestamp": found[0], "seq": seq})
        at = parse_time(found[0])
        due_periods.mark(conn, at, change=note_change(conn, 0), now=now)
    conn.run("note_erasing", {"erasing": True})
    conn.run("bury", {"seq": seq, "id": pack_id(entry_id), "expired": False})
    known = set() if blanked is None else blanked
    for rollup in {rollup for rollup, _ in above} - known:
        blank(conn, due_periods, rollup, now)
        known.add(rollup)
    if at is not None:
        above += blank_compared(conn, due_periods, at, now, known)
    conn.run("unlink", {"source": seq})
    return above


def blank_compared(
    conn: TimelineRows,
    due_periods: DuePeriods,
    at: datetime,
    now: datetime,
    blanked: set[int] | None = None,
) -> list[Rollup]:
    """Blank what models wrote of the periods after those that hold an instant; the rollups.

    They were shown these to compare with, and may tell of them; so may what is made from them. The
    periods after them were not: a model is shown only what was kept of entries.

    Args:
        conn: In a transaction.
        due_periods: What is to be made again.
        at: The time of an entry that is another one now, or gone.
        now: The present.
        blanked: As `remove` takes it.
    """
    found: list[Rollup] = []
    for asked in due_periods.after(conn, at, now):
        for rollup in conn.run("model_text", asked).fetchall():
            found.append(rollup)
            found += conn.run("above", {"source": rollup[0]}).fetchall()
    known = set() if blanked is None else blanked
    for seq in {seq for seq, _ in found} - known:
        blank(conn, due_periods, seq, now)
        known.add(seq)
    return found


def blank(conn: TimelineRows, due_periods: DuePeriods, seq: int, now: datetime) -> None:
    """Take all text out of a rollup, and mark it: it is made again from what is left."""
    row = conn.run("by_seq", {"seq": seq}).fetchone()
    if row is None:
        return  # it expired itself; what was made from it is above, too
    rollup = entry_of(row)
    conn.run("note_erasing", {"erasing": True})
    conn.run("blank", {"seq": seq})
    timestamp = render_time(rollup.at)
    blank = {
        "seq": seq,
        "content": "",
        "metadata": "{}",
        "now": render_time(now),
        "hash": content_hash("", "{}", rollup.entry_type, timestamp),
    }
    conn.run("update_rollup", blank)
    change = note_change(conn, seq)
    start, end = (render_time(at) for at in (rollup.start, rollup.end))
    span = span_of_row(rollup.zone_name, rollup.level, start, end)
    due_periods.mark_spans(conn, [span], change=change)
