"""The vectors that a process keeps of small users: never others than those of the rows, and bounded."""

from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commonplace.core.values import Drop, Put
from commonplace_server.index.index import TABLES, PostgresIndex
from commonplace_server.index.packing import PackSizes
from commonplace_server.index.transaction import OwnerTransaction
from commonplace_server.index.vector_cache import CachedVectors, VectorCache, read_vectors
from commonplace_server.postgres.database import Postgres, refuse_unguarded
from commonplace_testing import HashingEncoder, a_doc, encode_all

MODELS = ("one", "other")
STEPS = st.tuples(
    st.sampled_from(["put", "put", "drop", "drop", "encode", "encode", "pack", "clear", "back"]),
    st.integers(0, 3),
    st.integers(0, 2),
    st.sampled_from([(0,), (0, 1)]),
    st.sampled_from([MODELS[0], *MODELS]),
)


@pytest.fixture
def pool(database):
    made = Postgres(database.app_url, check=partial(refuse_unguarded, tables=TABLES))
    yield made
    made.close()


def an_encoder(identity):
    """One whose vectors are of a model of its own."""
    made = HashingEncoder()
    made.identity = identity
    return made


def do(mine, database, what, number, other):
    """One of all that moves, ends or undoes rows."""
    if what == "put":
        text = "storm " * 300 if other == 0 else f"sea {other}"  # the first is of two chunks
        mine.apply([Put(a_doc(f"n:{number}", text, minutes=number % 2 + other))])
    elif what == "drop":
        mine.apply([Drop(f"n:{number}")])
    elif what == "encode":
        encode_all(mine, an_encoder(MODELS[number % 2]))
    elif what == "pack":
        mine.pack()
    elif what == "clear":
        mine.clear()
    else:
        for table in TABLES:
            database.run(f"TRUNCATE {table}; INSERT INTO {table} TABLE before_{table}")


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(done=st.lists(STEPS, min_size=4, max_size=12))
def test_vectors_read_bit_by_bit_are_those_read_at_once(pool, database, done):
    """By two servers, one of which reads now and then; of one of two users, of either model."""
    index = PostgresIndex(pool, pack_sizes=PackSizes(least=1))
    mine, theirs = index.of_owner("me"), index.of_owner("you")
    for each in (theirs, mine):
        each.clear()
        each.apply([Put(a_doc(f"n:{number}", f"harbour {number}")) for number in range(3)])
        encode_all(each, an_encoder(MODELS[0]))
    for table in TABLES:
        database.run(
            f"DROP TABLE IF EXISTS before_{table}; CREATE TABLE before_{table} AS TABLE {table}"
        )
    held = {}
    for change, (what, number, other, servers, model) in enumerate(done):
        for server in servers:
            check_read(pool, held, server, model=model, change=change)
        do(mine, database, what, number, other)
        check_read(pool, held, 0, model=model, change=change)


def check_read(pool, held, server, **asked):
    """What a server holds after a reading is, byte for byte, what one reads that holds nothing."""
    with pool.owner_transaction("me") as conn:
        tx, asked = OwnerTransaction(conn, "me"), {**asked, "name": "n", "dimensions": 64}
        held[server] = read_vectors(tx, held.get(server), **asked)
        fresh = read_vectors(tx, None, **asked)
    for part in ("docs", "keys", "matrix"):
        assert getattr(held[server], part).tobytes() == getattr(fresh, part).tobytes()


def test_kept_vectors_are_bounded():
    """Those of the user who was not asked about for the longest go first."""

    def of(rows):
        keys, numbers = np.zeros(rows, dtype="V17"), np.zeros((rows, 8), dtype=np.float32)
        return CachedVectors("n", "m", 1, np.arange(rows), keys, numbers)

    def held():
        return [owner for owner in "abcd" if kept.of(owner) is not None]

    kept = VectorCache(most_bytes=32 * 10)
    for owner, rows in (("a", 4), ("b", 4), ("c", 4), ("b", 6)):
        kept.keep(owner, of(rows))
    assert held() == ["b", "c"]
    kept.drop("c")
    assert held() == ["b"]
    kept.keep("d", of(99))
    assert held() == []
