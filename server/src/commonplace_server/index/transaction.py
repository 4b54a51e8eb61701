"""One transaction of one user of the index in Postgres: named queries, the user bound to each.

Never opens a connection, and never lets a query run without its user.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from psycopg import adapters
from psycopg.adapt import Dumper
from psycopg.pq import Format

from commonplace.db.queries import read_queries
from commonplace_server.postgres.database import statement
from commonplace_server.postgres.text_lists import as_array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from psycopg import Cursor, sql

    from commonplace.core.values import AreCurrent, Vector
    from commonplace.index.scoring.doc_table import Ids
    from commonplace_server.postgres.database import Connection


_PREPARED = frozenset(
    {
        "read_position",
        "read_docs",
        "list_prefix_postings",
        "list_links",
        "read_changes",
        "plan_for_all",
    }
)
"""What each search asks: 2.5 ms of the database's processor in place of 4; see `Connection`.

The last two it asks after a write alone.
"""

_PARTS = ("rows", "blocks")
"""Queries that stand within others, which have their names in braces."""


@cache
def statements() -> Mapping[str, sql.SQL]:
    """The queries of the index, as the driver takes them."""
    found = read_queries("commonplace_server.index", "queries.sql")

    def whole(text: str) -> str:
        for name in _PARTS:
            text = text.replace(f"{{{name}}}", found[name])
        return text

    return {name: statement(whole(text)) for name, text in found.items()}


class OwnerTransaction:
    """The queries of one transaction of a user; user: whose rows it sees."""

    def __init__(self, conn: Connection, user: str) -> None:
        self.user = user
        self._conn = conn
        self._prepares = False

    @property
    def read_change(self) -> tuple[str, int] | None:
        """The name and change of the docs that a search read in it; None before it read any."""
        return self._conn.read_change

    @read_change.setter
    def read_change(self, change: tuple[str, int]) -> None:
        self._conn.read_change = change

    def plan_for_all(self) -> None:
        """Have the queries that follow planned for no user in particular.

        So a connection plans each once; see `Connection`.
        """
        if not self._conn.plans_for_all:
            self.query("plan_for_all")
            self._conn.plans_for_all = True
        self._prepares = True

    def query(self, name: str, /, **bound: Any) -> Cursor[tuple[Any, ...]]:
        """Run a query by its name; inside `pipelined` the answer comes when it is first read."""
        query, given = statements()[name], {"user": self.user, **bound}
        prepares = self._prepares or name in _PREPARED
        return self._conn.execute(query, given, binary=True, prepare=prepares)

    def query_composed(
        self, query: sql.SQL | sql.Composed, /, **bound: Any
    ) -> Cursor[tuple[Any, ...]]:
        """Run a query that was composed of names and numbers of ours."""
        return self._conn.execute(query, {"user": self.user, **bound}, binary=True)

    def check(self, are_current: AreCurrent) -> Callable[[], Sequence[bool]]:
        """Ask which changes still hold; the function returned reads the answer."""
        return are_current(self._conn)

    def each(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run a query for each row of values."""
        # The driver's own way of many waits for an answer in between.
        for row in rows:
            self.query(name, **row)

    @contextmanager
    def pipelined(self) -> Iterator[None]:
        """Send queries together: one round trip for all whose answers are not read in between."""
        if self._conn.pgconn.pipeline_status:
            # One inside another waits for all answers, at its beginning and at its end.
            yield
            return
        with self._conn.pipeline():
            yield


def numbers(sent: bytes | None, columns: int) -> Ids:
    """(columns, n) numbers out of what `int8send` gave, row after row."""
    if not sent:
        return np.empty((columns, 0), dtype=np.int64)
    return np.frombuffer(sent, dtype=">i8").reshape(-1, columns).T.astype(np.int64)


class Longs:
    """Whole numbers as a query takes a list of them, as `bigint[]`."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: Sequence[int] | Ids) -> None:
        self.numbers = np.asarray(numbers, dtype=np.int64)


class Uuids:
    """Ids of rows as a query takes a list of them, as `uuid[]`; numbers: (n,) of 16 bytes."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: NDArray[Any]) -> None:
        self.numbers = numbers


class Floats:
    """Vectors as a query takes them: all their numbers, one after the other, as `real[]`."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: Vector) -> None:
        self.numbers = numbers


class Blobs:
    """Bytes as a query takes a list of them, as `bytea[]`."""

    __slots__ = ("blobs",)

    def __init__(self, blobs: Sequence[bytes]) -> None:
        self.blobs = blobs


class _FloatsDumper(Dumper):
    """Sends them as they are: put into words, a vector costs 0.15 ms on both sides."""

    format = Format.BINARY
    oid = 1021

    def dump(self, obj: Floats) -> bytes:
        """An array of one dimension."""
        return _array(obj.numbers.ravel(), _FLOAT, 700)


class _BlobsDumper(Dumper):
    """Sends them as they are: put into words, each takes twice the room."""

    format = Format.BINARY
    oid = 1001

    def dump(self, obj: Blobs) -> bytes:
        """An array of one dimension."""
        cells = b"".join(len(each).to_bytes(4, "big") + each for each in obj.blobs)
        return as_array(cells, count=len(obj.blobs), oid=17)


class _LongsDumper(Dumper):
    """Sends them as they are: put into words, 4,000 numbers cost 1 ms on both sides."""

    format = Format.BINARY
    oid = 1016

    def dump(self, obj: Longs) -> bytes:
        """An array of one dimension."""
        return _array(obj.numbers, _LONG, 20)


class _UuidsDumper(Dumper):
    """Sends them as they are, likewise."""

    format = Format.BINARY
    oid = 2951

    def dump(self, obj: Uuids) -> bytes:
        """An array of one dimension."""
        return _array(obj.numbers, _UUID, 2950)


_UUID = np.dtype([("length", ">i4"), ("number", "V16")])
_FLOAT = np.dtype([("length", ">i4"), ("number", ">f4")])
_LONG = np.dtype([("length", ">i4"), ("number", ">i8")])


def _array(numbers: NDArray[Any], cell: np.dtype[Any], oid: int) -> bytes:
    """An array as Postgres takes it, each number after its length."""
    cells = np.empty(len(numbers), dtype=cell)
    cells["length"], cells["number"] = cell["number"].itemsize, numbers
    return as_array(cells.tobytes(), count=len(cells), oid=oid)


# Connections take over what is known when they are made, so it is known before any is.
adapters.register_dumper(Floats, _FloatsDumper)
adapters.register_dumper(Longs, _LongsDumper)
adapters.register_dumper(Blobs, _BlobsDumper)
adapters.register_dumper(Uuids, _UuidsDumper)
