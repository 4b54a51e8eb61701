"""The index of the nearest that each user with many vectors has alone: made, and dropped again.

Never one for several users. Only the owner of the tables may make them, in no transaction.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from psycopg import sql

from commonplace_server.index.transaction import statements

if TYPE_CHECKING:
    from commonplace_server.postgres.database import Connection

INDEXED_FROM = 20_000
"""Vectors of one model from which a user's are indexed: reading them all takes 20 ms then."""

DROPPED_BELOW = 15_000
"""Vectors under which the index goes again; between both it stays as it is."""

PREFIX = "wb_near_"


class _Sized(NamedTuple):
    user: str
    model: str
    dimensions: int
    chunks: int


def index_name(user: str, model: str) -> str:
    """What the index of one user's vectors of one model is called; it does not show the user."""
    return PREFIX + hashlib.sha256(f"{user}\0{model}".encode()).hexdigest()[:24]


def maintain_nearest(
    conn: Connection, *, indexed_from: int = INDEXED_FROM, dropped_below: int = DROPPED_BELOW
) -> list[str]:
    """Make the indexes of the nearest that are wanted and drop the others.

    Searches and writes go on meanwhile. One process at a time does this: another one does nothing,
    as does a role that sees no vectors of any user. It may be stopped at any moment; the next call
    goes on.

    Args:
        conn: Of the tables' owner, in no transaction.
        indexed_from: Vectors of one model from which a user gets an index.
        dropped_below: Vectors under which it is dropped.

    Returns:
        A sentence for each thing done.
    """
    (is_ours,) = conn.execute(statements()["lock_nearest"]).fetchone() or (False,)
    if not is_ours:
        return []
    try:
        return _maintained(conn, indexed_from, dropped_below)
    finally:
        conn.execute(statements()["unlock_nearest"])


def _maintained(conn: Connection, indexed_from: int, dropped_below: int) -> list[str]:
    sized = [_Sized(*row) for row in conn.execute(statements()["list_sizes"]).fetchall()]
    there = dict(conn.execute(statements()["list_nearest_indexes"]).fetchall())
    if there and not sized:
        # Row level security lets the role see no sizes: to it, every index is one too many.
        return [f"Kept {len(there):,} indexes of the nearest: this role sees no vectors at all."]
    kept = {index_name(x.user, x.model) for x in sized if x.chunks >= dropped_below}
    # One that was broken off in the making is made again.
    done = [_drop(conn, name) for name, is_whole in there.items() if name in kept and not is_whole]
    for each in sized:
        name = index_name(each.user, each.model)
        if each.chunks >= indexed_from and not there.get(name, False):
            conn.execute(
                statements()["make_nearest"].format(
                    index=sql.Identifier(name),
                    dimensions=sql.Literal(each.dimensions),
                    user=sql.Literal(each.user),
                    model=sql.Literal(each.model),
                )
            )
            done.append(f"Made the index {name} over {each.chunks:,} vectors of {each.model}.")
    # Those of the former version too, once there is another in their place.
    return [*done, *(_drop(conn, name) for name in there if name not in kept)]


def _drop(conn: Connection, name: str) -> str:
    conn.execute(statements()["drop_nearest"].format(index=sql.Identifier(name)))
    return f"Dropped the index {name}."
