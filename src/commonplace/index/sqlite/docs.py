"""Docs as rows: where each lies, what it shares with others, and how it becomes a Doc again.

Never ranks and never filters; callers hold the transaction.
"""

from __future__ import annotations

import json
import zlib
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from commonplace.core.clock import micros
from commonplace.core.errors import Corrupted, Invalid
from commonplace.core.text import (
    count_words,
    fold_name,
    names_time,
    storable,
    text_hash,
    well_formed,
)
from commonplace.core.values import Doc
from commonplace.db.sqlite import REPAIR_HINT

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    Reading: TypeAlias = Callable[[], AbstractContextManager[sqlite3.Connection]]
    """Opens one state of the tables."""

SECOND_BITS = 20
HEADING_SIGN = "\x1f"

# What `read_docs` reads of each doc; the sum is of these, but for numbers that stand for names.
_COLUMNS = (
    *("id", "ref", "facet", "at_us", "stamp", "tags", "text", "session", "dated", "covers"),
    *("written_us", "turn", "blank", "text_hash", "length", "timed", "sum"),
)
_SUMMED_NAMES = [x for x in _COLUMNS if x not in {"id", "facet", "session", "sum"}]
_SUMMED = itemgetter(*_SUMMED_NAMES)
_SUMMED_OF_ROW = itemgetter(*map(_COLUMNS.index, _SUMMED_NAMES))
_SESSION = _COLUMNS.index("session")
_COUNT = len(_SUMMED_NAMES)
_TAGS = _SUMMED_NAMES.index("tags")
_SEPARATOR = "\x1f"
_TEMPLATE = _SEPARATOR.join(["%s"] * _COUNT)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_NAMES = "[]"

Queries: TypeAlias = "Mapping[str, str]"


class Facet(NamedTuple):
    """What many docs have in common, and what filters ask for."""

    journal: str
    scope: str
    kind: str
    author: str
    headings: tuple[str, ...]


def instant(at_us: int) -> datetime:
    """The instant, aware UTC, of a count of microseconds since the epoch."""
    return _EPOCH + timedelta(microseconds=at_us)


def put_doc(conn: sqlite3.Connection, sql: Queries, doc: Doc) -> None:
    """File a doc in place of any with its ref; its vectors stay while its text does."""
    at_us = micros(doc.at)
    named = (storable(doc.journal), storable(doc.scope), storable(doc.kind), storable(doc.author))
    facet = Facet(*named, tuple(well_formed(heading) for heading in doc.headings))
    row = {
        "ref": well_formed(doc.ref),
        "facet": _facet_id(conn, sql, facet),
        "at_us": at_us,
        "written_us": at_us if doc.written is None else micros(doc.written),
        "turn": doc.turn,
        "blank": int(not doc.text.strip()),
        "text_hash": text_hash(doc.said),
        "stamp": well_formed(doc.stamp),
        "tags": _listed(doc.tags),
        "text": well_formed(doc.text),
        "session": _session(conn, sql, doc.session),
        "length": count_words(doc.text),
        "timed": int(names_time(doc.text)),
        "dated": well_formed(doc.dated),
        "covers": _listed(doc.covers),
    }
    row["sum"] = sum_of(_SUMMED(row), _words_of(facet), storable(doc.session))
    before = conn.execute(sql["find_doc"], row).fetchone()
    if before is None:
        row["id"] = _next_id(conn, sql, at_us)
        conn.execute(sql["add_doc"], row)
    else:
        _replace_doc(conn, sql, row, before)
    conn.executemany(sql["add_tag"], ({"tag": storable(x), "id": row["id"]} for x in doc.tags))


def drop_doc(
    conn: sqlite3.Connection, sql: Queries, ref: str, *, beside: Sequence[str] = ()
) -> None:
    """Take a doc out, if it is there.

    beside: Refs of docs that were put with it. Where one of them says all that it did, as an answer
        that a short question is filed with from then on, nothing of it is to be erased.
    """
    found = conn.execute(sql["find_doc"], {"ref": well_formed(ref)}).fetchone()
    if found is None:
        return
    asked = {"id": found[0], "beside": well_formed(json.dumps(beside, ensure_ascii=False))}
    stays = bool(beside) and conn.execute(sql["is_said_beside"], asked).fetchone()[0]
    conn.execute(sql["drop_doc"], {"id": found[0]})
    if not stays:
        conn.execute(sql["note_dropped_text"])


def load_facets(
    conn: sqlite3.Connection, sql: Queries, facets: dict[int, Facet], wanted: Iterable[int]
) -> None:
    """Add what is not known yet of the facets wanted."""
    if all(facet in facets or not facet for facet in wanted):
        return
    _load_newer(conn, sql, facets)


def _load_newer(conn: sqlite3.Connection, sql: Queries, facets: dict[int, Facet]) -> None:
    newer = conn.execute(sql["list_facets"], {"last": max(facets, default=0)})
    for number, journal, scope, kind, author, headings in newer:
        facets[number] = Facet(journal, scope, kind, author, tuple(json.loads(headings)))


def read_docs(
    conn: sqlite3.Connection, sql: Queries, facets: dict[int, Facet], ids: Iterable[int]
) -> dict[int, Doc]:
    """The docs of some ids, by id, but for those that have left.

    facets: Those known so far, by number; newer ones are added.
    Raises: Corrupted, where a doc is not as it was filed.
    """
    rows = _read_rows(conn, sql, facets, ids)
    return {row[0]: doc_of(row[:12], facet, _parse_list) for row, facet in rows}


def has_altered_docs(conn: sqlite3.Connection, sql: Queries) -> bool:
    """Whether a doc is not as it was filed, or `doc_tags` has others than its own.

    One pass in the order of the table, without making docs: 0.6 times as long as `read_docs`.
    """
    facets: dict[int, Facet] = {}
    _load_newer(conn, sql, facets)
    words = {number: _words_of(facet) for number, facet in facets.items()}
    for row in conn.execute(sql["list_sums"]):
        facet, session, kept, tags = row[_COUNT:]
        if kept != sum_of(row[:_COUNT], words[facet], session) or not _agree(row[_TAGS], tags):
            return True
    return bool(conn.execute(sql["count_orphan_tags"]).fetchone()[0])


def _read_rows(
    conn: sqlite3.Connection, sql: Queries, facets: dict[int, Facet], ids: Iterable[int]
) -> list[tuple[tuple[Any, ...], Facet]]:
    rows = conn.execute(sql["read_docs"], {"ids": json.dumps(sorted(ids))}).fetchall()
    load_facets(conn, sql, facets, {row[2] for row in rows})
    read = []
    for row in rows:
        facet = facets.get(row[2])
        summed = _SUMMED_OF_ROW(row)
        if facet is None or row[-1] != sum_of(summed, _words_of(facet), row[_SESSION]):
            raise Corrupted("A doc in the index is not as it was filed.", hint=REPAIR_HINT)
        read.append((row, facet))
    return read


def sum_of(columns: tuple[object, ...], words: str, session: str) -> int:
    """The crc32 of all that a doc is, so that a bit that flipped on the disk is noticed.

    words: What `_words_of` gives of its facet.
    """
    return zlib.crc32(f"{_TEMPLATE % columns}{_SEPARATOR}{words}{_SEPARATOR}{session}".encode())


def _words_of(facet: Facet) -> str:
    return _SEPARATOR.join([*facet[:4], *facet.headings])


def doc_of(row: Sequence[Any], facet: Facet, parse: Callable[[Any], tuple[str, ...]]) -> Doc:
    """A doc from the columns of `read_docs`. parse: Reads a list of names."""
    _, ref, _, at_us, stamp, tags, text, session, dated, covers, written_us, turn = row
    return Doc(
        ref=ref,
        journal=facet.journal,
        scope=facet.scope,
        at=instant(at_us),
        text=text,
        stamp=stamp,
        kind=facet.kind,
        headings=facet.headings,
        tags=parse(tags) if tags != _NO_NAMES else (),
        session=session,
        author=facet.author,
        dated=dated,
        covers=parse(covers) if covers != _NO_NAMES else (),
        written=None if written_us in {None, at_us} else instant(written_us),
        turn=turn,
    )


def prefix_end(prefix: str) -> str | None:
    """The least text above all that begin so; None when there is none."""
    for i in reversed(range(len(prefix))):
        if prefix[i] < "\U0010ffff":
            above = ord(prefix[i]) + 1
            return prefix[:i] + chr(0xE000 if 0xD800 <= above < 0xE000 else above)  # noqa: PLR2004  surrogates cannot be bound
    return None


def _replace_doc(
    conn: sqlite3.Connection,
    sql: Queries,
    row: dict[str, object],
    before: tuple[int, int, int, str, int, str],
) -> None:
    number, facet, at_us, digest, session, dated = before
    same_second = at_us // 1_000_000 == int(str(row["at_us"])) // 1_000_000
    same_text = digest == row["text_hash"]
    same_place = (facet, session, dated) == (row["facet"], row["session"], row["dated"])
    conn.execute(sql["drop_tags"], {"id": number})
    if same_text and same_second and same_place:
        row["id"] = number
        conn.execute(sql["restamp_doc"], row)
        return
    # Matrices remember where each vector's doc lies: a doc that moves gets new vector ids.
    kept = (
        conn.execute(sql["list_doc_vectors"], {"doc": number, "encoder": None}).fetchall()
        if same_text
        else []
    )
    # A turn of a session that others join is said still: nothing of it is to be erased.
    stays = same_text or conn.execute(sql["holds_no_more"], row | {"id": number}).fetchone()[0]
    conn.execute(sql["drop_doc"], {"id": number})
    if not stays or facet != row["facet"]:
        conn.execute(sql["note_dropped_text"])
    row["id"] = number if same_second else _next_id(conn, sql, int(str(row["at_us"])))
    conn.execute(sql["add_doc"], row)
    conn.executemany(sql["add_vector"], [(row["id"], *vector) for vector in kept])


def _next_id(conn: sqlite3.Connection, sql: Queries, at_us: int) -> int:
    low = at_us // 1_000_000 << SECOND_BITS
    span = {"low": low, "high": low + (1 << SECOND_BITS)}
    last = conn.execute(sql["last_of_second"], span).fetchone()[0]
    number = low if last is None else int(last) + 1
    if number >= span["high"]:
        raise Invalid(
            f"More than {1 << SECOND_BITS} entries lie in one second.",
            hint="Give entries times of their own.",
        )
    return number


def folded(headings: Sequence[str]) -> str:
    """Headings as a filter compares them."""
    return "".join(HEADING_SIGN + storable(fold_name(heading)) for heading in headings)


def _facet_id(conn: sqlite3.Connection, sql: Queries, facet: Facet) -> int:
    row = {
        **facet._asdict(),
        "headings": json.dumps(facet.headings),
        "folded": folded(facet.headings),
    }
    found = conn.execute(sql["find_facet"], row).fetchone()
    if found is not None:
        return int(found[0])
    return int(conn.execute(sql["add_facet"], row).lastrowid or 0)


def _session(conn: sqlite3.Connection, sql: Queries, name: str) -> int:
    if not name:
        return 0
    row = {"name": storable(name)}
    found = conn.execute(sql["find_session"], row).fetchone()
    return int(found[0] if found else conn.execute(sql["add_session"], row).lastrowid or 0)


def _listed(names: Sequence[str]) -> str:
    return json.dumps([well_formed(name) for name in names]) if names else _NO_NAMES


# Most docs have one of few lists: parsed each time, two tags of 100,000 docs take .8 s more.
@lru_cache(maxsize=1024)
def _agree(names: str, listed: str) -> bool:
    """Whether the tags of a doc are those that are looked up; each as JSON."""
    return set(map(storable, _parse_list(names))) == set(json.loads(listed))


def _parse_list(names: str) -> tuple[str, ...]:
    return tuple(json.loads(names))
