"""Owns which generation of chronicle made a database, and how a row of each becomes an entry.

Never changes a database but by `complete`, and never takes other programs' tables for it.
"""

from __future__ import annotations

import heapq
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from commonplace.core.errors import Invalid
from commonplace.core.text import opening
from commonplace.db.queries import read_queries
from commonplace.journals.chronicle.event import (
    Event,
    folded_tags,
    parse_tags,
    stamp_of,
    written_apart,
)
from commonplace.journals.chronicle.times import (
    SECOND_NS,
    columns_of,
    from_instant,
    instant_of,
    parse_created,
    parse_timestamp,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from commonplace.journals.chronicle.event import EventDraft, EventQuery

Generation: TypeAlias = Literal["new", "A", "B", "D1", "D2"]
Row: TypeAlias = tuple[Any, ...]

SQL: Mapping[str, str] = read_queries("commonplace.journals.chronicle", "queries.sql")
UPDATE_SCOPE = "AFTER UPDATE OF message, tags"

_READING = {
    "A": "read_with_tag_rows",
    "B": "read_with_tag_rows",
    "D1": "read_without_instants",
    "D2": "read_with_columns",
}
_OLD_COLUMNS = frozenset({"id", "timestamp", "message", "hostname", "username"}) | {
    "working_directory",
    "created_at",
}
_COLUMNS = _OLD_COLUMNS | {"tags", "updated_at"}
_INSTANTS = frozenset({"timestamp_unix_seconds", "timestamp_nanosecond"})
_WHOLE = frozenset(
    ("index", name)
    for name in ("idx_entries_id", "idx_entries_timestamp", "idx_entries_timestamp_instant")
) | frozenset(
    [("table", "entries_fts"), *(("trigger", f"entries_{name}") for name in ("ai", "ad", "au"))]
)
_WORDS = frozenset({"entries_fts", "entries_ai", "entries_ad", "entries_au"})
_TRACES_OF_D = frozenset({("index", "idx_entries_id"), ("index", "idx_entries_timestamp")})
# Ids of the first generation were numbers; they become these, so that an old number is still found.
_NUMBERED = uuid.UUID("6c1d6c62-3b3a-5c0e-9d0a-0f3a5f1f5d11")


class Unreadable(Exception):
    """A row that holds no entry; the argument says why, without a word of the entry."""


class TimedRow(NamedTuple):
    """A row with what orders it."""

    instant: int
    place: int
    row: Row


class Layout(Struct, frozen=True, kw_only=True):
    """What a database is.

    Attributes:
        whole: Nothing of its generation is missing.
        half_upgraded: An older generation that a newer chronicle began to change and could not.
    """

    generation: Generation
    whole: bool = True
    half_upgraded: bool = False

    @property
    def is_current(self) -> bool:
        """Whether it is used as it is; an older one is read only to be upgraded."""
        return self.generation in {"new", "D1", "D2"}

    def reading(self, rest: str) -> str:
        """The query that reads its rows, with the named clause at its end."""
        return f"{SQL[_READING[self.generation]]}\n{SQL[rest] if rest else ''}"


def detect(conn: sqlite3.Connection, path: Path) -> Layout:
    """The layout of an open database. Raises Invalid where it is not chronicle's."""
    objects = {
        (text_of(kind), text_of(name)): text_of(sql) for kind, name, sql in _list_objects(conn)
    }
    if not objects:
        return Layout(generation="new")
    columns = _columns(conn, "entries")
    if columns.keys() >= _COLUMNS:
        if not columns.keys() >= _INSTANTS:
            return Layout(generation="D1", whole=False)
        scoped = UPDATE_SCOPE in objects.get(("trigger", "entries_au"), "")
        return Layout(generation="D2", whole=scoped and objects.keys() >= _WHOLE)
    if columns.keys() >= _OLD_COLUMNS and _columns(conn, "tags").keys() >= {"entry_id", "tag"}:
        return Layout(
            generation="A" if columns["id"] == "INTEGER" else "B",
            half_upgraded=bool(_TRACES_OF_D & objects.keys())
            or not _INSTANTS.isdisjoint(columns)
            or UPDATE_SCOPE in objects.get(("trigger", "entries_au"), ""),
        )
    missing = sorted(_COLUMNS - columns.keys()) if columns else []
    why = f"its table entries lacks {', '.join(missing)}" if missing else "it has no table entries"
    raise Invalid(
        f"The file {{place}} is a database, but not chronicle's: {why}.",
        hint="Check CHRONICLE_DB_PATH, or name a file that does not exist yet.",
        place=path,
    )


def _list_objects(conn: sqlite3.Connection) -> Iterable[Row]:
    return conn.execute(SQL["list_objects"])


def _columns(conn: sqlite3.Connection, table: str) -> dict[str, str]:
    found = conn.execute(SQL["list_columns"], {"name": table})
    return {text_of(name): text_of(kind) for name, kind in found}


def complete(conn: sqlite3.Connection) -> None:
    """Make the newest layout of an empty database or of a D1, inside the caller's transaction.

    What is there stays as it is, but for the update trigger that fires too often; entries without
    the instant that their text names get it.
    """
    before = {text_of(name) for _, name, _ in _list_objects(conn)}
    conn.execute(SQL["create_entries"])
    columns = _columns(conn, "entries")
    if "timestamp_unix_seconds" not in columns:
        conn.execute(SQL["add_seconds_column"])
    if "timestamp_nanosecond" not in columns:
        conn.execute(SQL["add_nanosecond_column"])
    for name in ("id_index", "timestamp_index", "words", "insert_trigger", "delete_trigger"):
        conn.execute(SQL[f"create_{name}"])
    triggers = {text_of(name): text_of(sql) for _, name, sql in _list_objects(conn)}
    if UPDATE_SCOPE not in triggers.get("entries_au", ""):
        conn.execute(SQL["drop_update_trigger"])
        conn.execute(SQL["create_update_trigger"])
    fill_instants(conn)
    conn.execute(SQL["create_instant_index"])
    if "entries" in before and not before >= _WORDS:
        conn.execute(SQL["rebuild_words"])


def fill_instants(conn: sqlite3.Connection) -> int:
    """Give each entry without an instant the one that its text names; how many got theirs."""
    missing = list(_missing_instants(conn))
    conn.executemany(SQL["set_instant"], missing)
    return len(missing)


def count_missing_instants(conn: sqlite3.Connection) -> int:
    """How many entries without an instant have a text that names one."""
    return sum(1 for _ in _missing_instants(conn))


def _missing_instants(conn: sqlite3.Connection) -> Iterator[dict[str, int]]:
    for rowid, text in conn.execute(SQL["list_without_instant"]):
        try:
            seconds, nanosecond = columns_of(parse_timestamp(text_of(text)))
        except Invalid:
            continue
        yield {"rowid": rowid, "seconds": seconds, "nanosecond": nanosecond}


def numbered_id(number: int, created_at: str, hostname: str) -> str:
    """The id that an entry of the first generation gets in the newest; the same every time.

    It follows from what no version of chronicle ever edits.
    """
    return str(uuid.uuid5(_NUMBERED, f"{number} {created_at} {hostname}"))


def admits(question: EventQuery, row: Row) -> bool:
    """Whether a row is in the folder and has the tags that are asked for."""
    here = question.directory is None or text_of(row[8]) == question.directory
    return here and (not question.tags or question.tags.admits(folded_tags(text_of(row[9]))))


def is_numbered(row: Row) -> bool:
    """Whether a row's id is what its number of the first generation became."""
    return text_of(row[4]) == numbered_id(row[0], text_of(row[10]), text_of(row[6]))


def instant_in(row: Row) -> int:
    """A row's instant in nanoseconds; from its columns, else from its text. Raises Unreadable."""
    if not row[4]:
        raise Unreadable("It has no id.")
    instant = instant_of(row[1], row[2])
    if instant is None:
        try:
            instant = parse_timestamp(text_of(row[3]))
        except Invalid as exc:
            raise Unreadable(exc.message) from exc
    return instant


def seen_of(row: Row) -> tuple[int, str]:
    """A row's instant and stamp. Raises Unreadable."""
    instant = instant_in(row)
    try:
        return instant, stamp_of(instant, row[4:10])
    except TypeError:  # some column is NULL
        return instant, stamp_of(instant, [x or b"" for x in row[4:10]])


def event_of(row: Row) -> Event:
    """A row as an entry. Raises Unreadable."""
    instant, stamp = seen_of(row)
    identity, message, hostname, username, directory, tags = (text_of(x) for x in row[4:10])
    created = parse_created(text_of(row[10]))
    return Event(
        id=identity,
        at=from_instant(instant),
        nanos=instant % 1000,
        message=message,
        tags=parse_tags(tags),
        hostname=hostname,
        username=username,
        directory=directory,
        stamp=stamp,
        place=row[0],
        written=None if created is None else written_apart(instant, created),
    )


def readable_events(rows: Iterable[Row]) -> Iterator[Event]:
    """The rows as entries, less those that hold none."""
    for row in rows:
        with suppress(Unreadable, OverflowError):
            yield event_of(row)


def written(draft: EventDraft, tags: str, place: int) -> Event:
    """What `event_of` reads back of an entry that was just written. tags: as its column has them.

    Not read back: that is a tenth of what an add costs on a fast disk.
    """
    parts = draft.id, draft.message, draft.hostname, draft.username, draft.directory, tags
    return Event(
        id=draft.id,
        at=from_instant(draft.instant),
        nanos=draft.instant % 1000,
        message=draft.message,
        tags=draft.tags,
        hostname=draft.hostname,
        username=draft.username,
        directory=draft.directory,
        stamp=stamp_of(draft.instant, [part.encode() for part in parts]),
        place=place,
        written=written_apart(draft.instant, draft.written // SECOND_NS * SECOND_NS),
    )


def newest_first(conn: sqlite3.Connection, layout: Layout, below: int) -> Iterator[TimedRow]:
    """The rows before an instant (nanoseconds), newest first; reads no more than is asked for.

    Rows that are no entries are passed over, the first few that come may lie past the instant. Of
    a D1, which the next write completes, all rows are read.
    """
    if layout.generation == "D1":
        yield from sorted(_timed(conn.execute(layout.reading(""))), key=_order)
        return
    without_instant = sorted(_timed(conn.execute(layout.reading("without_instant"))), key=_order)
    bound = {"seconds": (below - 1) // SECOND_NS}
    rest = _timed(conn.execute(layout.reading("newest_by_instant"), bound))
    yield from heapq.merge(rest, without_instant, key=_order) if without_instant else rest


def oldest_first(conn: sqlite3.Connection, layout: Layout, above: int) -> Iterator[TimedRow]:
    """The rows from an instant on (nanoseconds), oldest first; as `newest_first` otherwise."""
    if layout.generation == "D1":
        yield from sorted(_timed(conn.execute(layout.reading(""))))
        return
    without_instant = sorted(_timed(conn.execute(layout.reading("without_instant"))))
    bound = {"seconds": above // SECOND_NS}
    yield from heapq.merge(
        _timed(conn.execute(layout.reading("oldest_by_instant"), bound)), without_instant
    )


def _order(timed: TimedRow) -> tuple[int, int]:
    return -timed.instant, -timed.place


def _timed(rows: Iterable[Row]) -> Iterator[TimedRow]:
    for row in rows:
        with suppress(Unreadable):
            yield TimedRow(instant_in(row), row[0], row)


def id_of(row: Row) -> str:
    """A row's id, readable or not; empty for one without."""
    return text_of(row[4])


def label_of(row: Row) -> str:
    """How an unreadable row is named to its owner: by its id, or else by its number."""
    return repr(opening(text_of(row[4]), 40)) if row[4] else f"number {row[0]}"


def text_of(value: object) -> str:
    """A column as text: connections hand texts over as bytes, since some are not UTF-8."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)
