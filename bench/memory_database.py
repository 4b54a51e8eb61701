"""A real Postgres full of memories: many users with few records each, and one with very many.

Never measures. Words are filed by the product; vectors are mixed from real ones, since encoding
every record would take longer than all that is measured.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import psycopg
from examples.postgres import PostgresServer
from msgspec import Struct

from bench.corpus import FIRST_DAY, make_lines
from commonplace.core.text import text_hash
from commonplace.core.values import Encoded, Put
from commonplace.journals.memory.entry import change_of
from commonplace.journals.memory.records import ChatMessage
from commonplace_server.index.index import TABLES, PostgresIndex
from commonplace_server.index.nearest import maintain_nearest
from commonplace_server.postgres.database import Postgres, connect, refuse_unguarded
from commonplace_server.postgres.migrate import migrate_postgres
from commonplace_server.wiring.schema import list_series

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from commonplace.core.ports import Encoder
    from commonplace.core.values import Numbers, Vector
    from commonplace_server.postgres.database import Connection

LARGE = "large"
_POOL = 2000
_AT_ONCE = 500
_APART = timedelta(minutes=5)
_LOADING_S = 3600.0


class Filled(Struct, frozen=True):
    """A server with memories. vectors: of the large one's records, by their number."""

    server: PostgresServer
    vectors: Vector
    users: tuple[str, ...]
    rows: int

    def url(self, role: str) -> str:
        """The database's address for a role."""
        return self.server.url(role)

    def numbers_of(self, user: str) -> Numbers:
        """The numbers of a user's records: the large one has all."""
        count, users = len(self.vectors), len(self.users)
        if user == LARGE:
            return np.arange(count)
        return np.arange(self.users.index(user), min(count, users * self.rows), users)


def record_number(ref: str) -> int:
    """The number of a record among the large one's, by its ref."""
    return int(ref.rpartition("-")[2])


@contextmanager
def filled(
    folder: Path, encoder: Encoder, *, users: int, rows: int, large: int
) -> Iterator[Filled]:
    """A server with so many users; every record of the large one is one of a small one's too."""
    server = PostgresServer(folder, is_durable=True)
    server.start()
    try:
        migrate_postgres(server.url(), list_series())
        with psycopg.connect(server.url(), autocommit=True) as conn:
            conn.execute("ALTER SYSTEM SET shared_buffers = '512MB'")
            conn.execute("ALTER SYSTEM SET maintenance_work_mem = '256MB'")
        server.stop()
        server.start()
        vectors = _mixed(encoder, large)
        _file_large(server, encoder, vectors)
        names = tuple(f"user-{number:04}" for number in range(users))
        with connect(server.url(), deadline_s=_LOADING_S) as conn:
            _share_out(conn, users, rows)
            maintain_nearest(conn)
            conn.execute("VACUUM ANALYZE")
            # What the server writes out by itself takes from whoever is measured.
            conn.execute("CHECKPOINT")
        yield Filled(server, vectors, names, rows)
    finally:
        server.remove()


def _mixed(encoder: Encoder, count: int) -> Vector:
    """Vectors that lie as those of real texts do: between two real ones, and a little beside."""
    texts = list(islice(make_lines(seed=31), min(_POOL, count)))
    real = np.concatenate(
        [encoder.encode_passages(texts[at : at + 100]) for at in range(0, len(texts), 100)]
    )
    chance = np.random.default_rng(5)
    share = chance.uniform(0.0, 0.5, size=(count, 1))
    one, other = (real[chance.integers(len(texts), size=count)] for _ in range(2))
    made = (1 - share) * one + share * other + 0.01 * chance.standard_normal((count, real.shape[1]))
    unit: Vector = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _file_large(server: PostgresServer, encoder: Encoder, vectors: Vector) -> None:
    pool = Postgres(server.url("commonplace_app"), check=partial(refuse_unguarded, tables=TABLES))
    index = PostgresIndex(pool).of_owner(LARGE)
    lines = make_lines(seed=32)
    try:
        for start in range(0, len(vectors), _AT_ONCE):
            part = vectors[start : start + _AT_ONCE]
            puts = [_put(start + place, next(lines)) for place in range(len(part))]
            index.apply(puts)
            index.put_vectors(encoder.identity, _encoded(puts, part))
    finally:
        pool.close()


def _put(number: int, text: str) -> Put:
    record = ChatMessage(
        id=f"m-{number:07}",
        role="assistant" if number % 2 else "user",
        text=text,
        at=FIRST_DAY + _APART * number,
    )
    change = change_of(record)
    assert isinstance(change, Put)
    return change


def _encoded(puts: Sequence[Put], vectors: Vector) -> list[Encoded]:
    return [
        Encoded(
            ref=put.doc.ref,
            text_hash=text_hash(put.doc.said),
            spans=((0, len(put.doc.said)),),
            vectors=vector[np.newaxis],
        )
        for put, vector in zip(puts, vectors, strict=True)
    ]


def _share_out(conn: Connection, users: int, rows: int) -> None:
    """Give each small user a share of the large one's records, and every index row a record."""
    conn.execute(
        "CREATE TEMP TABLE shared AS SELECT id, 'user-' || lpad((n %% %s)::text, 4, '0') AS owner"
        " FROM (SELECT id, row_number() OVER (ORDER BY id) - 1 AS n FROM wb_docs) AS numbered"
        " WHERE n < %s",
        [users, users * rows],
    )
    conn.execute("CREATE UNIQUE INDEX ON shared (id)")
    conn.execute("ANALYZE shared")
    for table, by in (("wb_docs", "id"), ("wb_words", "doc"), ("wb_embeddings", "doc")):
        columns = [
            row[0]
            for row in conn.execute(
                "SELECT column_name::text FROM information_schema.columns"
                " WHERE table_name = %s AND column_name <> 'user_id' ORDER BY ordinal_position",
                [table],
            )
        ]
        listed = ", ".join(columns)
        there = ", ".join(f"t.{column}" for column in columns)
        conn.execute(
            f"INSERT INTO {table} (user_id, {listed}) SELECT s.owner, {there}"  # noqa: S608  names of ours
            f" FROM {table} AS t JOIN shared AS s ON s.id = t.{by} WHERE t.user_id = '{LARGE}'"
        )
    conn.execute(
        "INSERT INTO wb_facets SELECT DISTINCT s.owner, h.id, h.change, journal, scope, kind,"
        " author, headings FROM wb_facets AS h, shared AS s"
    )
    conn.execute(
        "INSERT INTO wb_index (user_id, change, docs, speaking)"
        " SELECT s.owner, max(i.change), count(*), count(*) FROM shared AS s, wb_index AS i"
        " WHERE i.user_id = 'large' GROUP BY s.owner"
    )
    conn.execute(
        "INSERT INTO wb_models SELECT s.owner, m.model_tag, m.dimensions, count(*), count(*)"
        " FROM shared AS s, wb_models AS m GROUP BY s.owner, m.model_tag, m.dimensions"
    )
    conn.execute(
        "INSERT INTO wb_message (user_id, id, role, content, created_at)"
        " SELECT user_id, split_part(ref, '/', 2), 'user', text,"
        " to_timestamp(at_us / 1000000.0) FROM wb_docs"
    )
    # They are in the index: nothing of them waits.
    conn.execute("TRUNCATE wb_outbox")
