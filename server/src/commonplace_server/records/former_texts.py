"""Owns the former texts of entries on Postgres: what edits replaced, beside the entries.

Never judges which are kept, or for how long, and never keeps one of an entry that is gone.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from commonplace.core.former_texts import parse_former, render_former
from commonplace.core.owner_folders import parse_owner
from commonplace.db.queries import read_queries
from commonplace_server.postgres.database import statement
from commonplace_server.postgres.text_lists import Texts
from commonplace_server.records.line_names import columns_of_refs, kinds_of, name_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import sql

    from commonplace.core.former_texts import FormerText
    from commonplace_server.postgres.database import Postgres


@cache
def query(name: str) -> sql.SQL:
    """One of the queries of former texts, for the driver."""
    return statement(read_queries("commonplace_server.records", "former_texts.sql")[name])


class MemoryFormerTexts:
    """Former texts of a user's entries; implements `core.former_texts.TakesOverFormerTexts`.

    Args:
        database: Shared by all users of the process; its owner closes it.
        owner: Whose entries.
        journal: Of which journal.
    """

    def __init__(self, database: Postgres, *, owner: str, journal: str = "memory") -> None:
        self._database = database
        self._owner = parse_owner(owner)
        self._kinds = kinds_of(journal)

    def list_ids(self) -> list[str]:
        """The ids of all, the newest edit first; see the port."""
        return [of for (of,) in self._ask("former_ids", kinds=Texts(self._kinds))]

    def find(self, ref: str = "") -> list[FormerText]:
        """Those of a record, or all; see the port."""
        if not ref:
            rows = self._ask("former_all", kinds=Texts(self._kinds))
        else:
            rows = self._ask("former_of", **_named(ref)) if name_of(ref) else []
        texts = (parse_former(content) for (content,) in rows)
        return [each for each in texts if each is not None]

    def write(self, former: FormerText) -> None:
        """Keep one, in place of the one of the same edit; see the port."""
        if name_of(former.ref):
            self._do(["keep"], **_kept(former))

    def take_over(self, former: FormerText) -> bool:
        """Keep one that lay elsewhere; see the port."""
        if not name_of(former.ref) or not self._ask("is_known", **_named(former.ref)):
            return False
        self._do(["keep"], **_kept(former))
        return True

    def remove(self, ids: Sequence[str]) -> None:
        """Erase those that are there; see the port."""
        if ids:
            self._do(["lock_removed", "remove"], ids=Texts(ids))

    def drop(self, refs: Sequence[str]) -> None:
        """Erase all of these records; see the port."""
        if named := [each for ref in refs if (each := name_of(ref))]:
            self._do(["lock_dropped", "drop"], **columns_of_refs(named))

    def _ask(self, name: str, **values: object) -> list[tuple[Any, ...]]:
        with self._database.shared_transaction(self._owner) as conn:
            return conn.execute(query(name), {"user_id": self._owner, **values}).fetchall()

    def _do(self, names: Sequence[str], **values: object) -> None:
        with self._database.owner_transaction(self._owner) as conn:
            for name in names:
                conn.execute(query(name), {"user_id": self._owner, **values})


def _named(ref: str) -> dict[str, str]:
    kind, ref_id = name_of(ref) or ("", "")
    return {"kind": kind, "ref_id": ref_id}


def _kept(former: FormerText) -> dict[str, str]:
    # Postgres keeps no NUL; JSON writes it as an escape.
    content = render_former(former).decode()
    return {"id": former.id, "content": content, **_named(former.ref)}
