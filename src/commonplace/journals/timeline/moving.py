"""Owns how a timeline moves from a file into the storage that takes its place, whole or not at all.

Never removes a row from the file that was not read back.
"""

from __future__ import annotations

from contextlib import closing, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import CommonplaceError, Unavailable
from commonplace.core.expiring import revealed
from commonplace.journals.timeline.entry import pack_id, ref_of, unpack_id
from commonplace.journals.timeline.portable import PortableTimeline
from commonplace.journals.timeline.repair import file_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from commonplace.core.portable import PortableItem
    from commonplace.journals.timeline.journal import TimelineJournal
    from commonplace.journals.timeline.ports import SharedTimeline, TimelineRows

    Tables: TypeAlias = Mapping[str, Sequence[tuple[Any, ...]]]

_AT_ONCE = 500

_COLUMNS: Mapping[str, str] = {
    "entries": "seq id content entry_type timestamp period_start period_end metadata rollup_level"
    " status created_at updated_at tz hash",
    "rollups": "seq period_key input_hash generator figures points is_private attempts tried"
    " claimed_until",
    "links": "rollup source hash",
    "due": "tz level period_start period_end mark",
    "gone": "seq id expired",
    "expired": "timestamp seq hash facts points",
    "fed": "seq ref journal timestamp hash stamp supersedes",
    "fed_marks": "journal mark",
    "series": "number tz since tzdata",
}
"""The columns that each query `moved_…` gives, and `take_…` takes."""


def move_timeline(
    files: TimelineJournal,
    there: TimelineJournal,
    store: SharedTimeline,
    *,
    unfile: Callable[[Sequence[str]], object],
) -> bool:
    """Move a timeline out of its file, which is closed; whether there was anything to move.

    Into one that is empty all goes as it is, summaries and what they were made from too. Into one
    with entries of its own only what was written goes, and its summaries are made again. May be
    called again, by several processes too: an entry that is there stays as it is there, and one
    that was deleted there does not come back.

    Args:
        files: The timeline in its file.
        there: The same owner's, over `store`.
        store: Where it goes.
        unfile: Takes refs out of what followed the file, before they leave it.

    Raises:
        Unavailable, Denied: Not all can be moved; then all stays.
    """
    if not files.exists:
        return False
    database = file_of(files)
    with closing(files), revealed():
        found = any(has for (has,) in database.ask("has_anything"))
        if found:
            with database.writing() as rows:
                tables = _read(rows)
                if not _take_over(files, tables, rows, store):
                    _merge(files, there, tables, store)
                unfile([ref_of(row[1]) for row in tables["entries"]])
                for each in ("state", *_COLUMNS, "changes"):
                    rows.run(f"leave_{each}")
        if database.is_erasing():
            with suppress(CommonplaceError):  # another process reads it: the next start erases
                database.erase()
    return found


def _read(rows: TimelineRows) -> Tables:
    return {name: [*map(_plain, rows.run(f"moved_{name}"))] for name in _COLUMNS}


def _plain(row: Iterable[Any]) -> tuple[Any, ...]:
    """A row as both storages can have it; a NUL in a text is none of Postgres'."""
    return tuple(x.replace("\0", "\ufffd") if isinstance(x, str) else x for x in row)


def _take_over(
    files: TimelineJournal, tables: Tables, rows: TimelineRows, store: SharedTimeline
) -> bool:
    """Write everything as it is, read it back, then keep it; False where there are entries."""
    numbers = [rows.run("last_change").fetchone()[0]]
    numbers += [row[0] for name in ("fed", "gone") for row in tables[name]]
    ((_, zone, _),) = files.database.ask("state")
    with store.taking_over() as taking:
        if taking.run("last_change").fetchone()[0]:
            return False
        for name, columns in _COLUMNS.items():
            named = columns.split()
            taking.run_each(
                f"take_{name}", (dict(zip(named, row, strict=True)) for row in tables[name])
            )
        taking.run("take_state", {"zone": zone, "seq": max(numbers)})
        if _compared(_read(taking)) != _compared(tables):
            raise _not_moved(files)
    return True


def _compared(tables: Tables) -> Tables:
    """Rows as they compare: a file packs the ids of what is gone."""
    gone = [(seq, unpack_id(name), bool(expired)) for seq, name, expired in tables["gone"]]
    return {**tables, "gone": gone}


def _merge(
    files: TimelineJournal, there: TimelineJournal, tables: Tables, store: SharedTimeline
) -> None:
    """Add what was written, and note what was deleted, unless it is known there."""
    portable = PortableTimeline(files)
    PortableTimeline(there).import_items(_missing(there, portable.export_items(None)))
    gone = [unpack_id(name) for _, name, expired in tables["gone"] if not expired]
    with store.taking_over() as rows:
        for name in gone:
            if not _is_known(rows, name):
                seq = rows.run("take_number").fetchone()[0]
                rows.run("bury", {"seq": seq, "id": pack_id(name), "expired": False})
    if any(_missing(there, portable.export_items(None))):
        raise _not_moved(files)


def _missing(there: TimelineJournal, items: Iterator[PortableItem]) -> Iterator[PortableItem]:
    """The items of which there is no entry, and never was."""
    while batch := [*islice(items, _AT_ONCE)]:
        with there.database.reading() as rows:
            missing = [x for x in batch if rows is None or not _is_known(rows, x.id)]
        yield from missing


def _is_known(rows: TimelineRows, entry_id: str) -> bool:
    """Whether there is, or was, an entry with an id."""
    return bool(
        rows.run("by_id", {"id": entry_id}).fetchone()
        or rows.run("find_tombstone", {"id": pack_id(entry_id)}).fetchone()
    )


def _not_moved(files: TimelineJournal) -> Unavailable:
    return Unavailable(
        "Not every entry of {place} could be moved into the database.",
        hint="Try again; what was moved is not moved twice.",
        place=file_of(files).path,
    )
