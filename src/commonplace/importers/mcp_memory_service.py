"""mcp-memory-service's database: the table of memories, whatever its vectors are kept in.

Its vectors are left where they are: what is imported is encoded by our own model.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from commonplace.core.importer import (
    ForeignEntry,
    NotTaken,
    instant_of,
    text_in,
    texts_in,
)
from commonplace.core.text import opening
from commonplace.db.foreign import foreign_database

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import tzinfo

    from commonplace.core.importer import Into, Read

title = "mcp-memory-service"
takes = "its sqlite_vec.db"
into: Into = "timeline"

_FILE = "sqlite_vec.db"
_NEEDS = ("content_hash", "content")
_FOLDERS = (
    (".local", "share", "mcp-memory"),
    ("Library", "Application Support", "mcp-memory"),
    ("AppData", "Local", "mcp-memory"),
)


def find(home: str, environ: Mapping[str, str]) -> list[str]:
    """The database that the service's variables name, else the one in its own folder."""
    named = environ.get("MCP_MEMORY_SQLITE_PATH") or environ.get("MCP_MEMORY_SQLITEVEC_PATH")
    paths = [named] if named else [os.path.join(home, *each, _FILE) for each in _FOLDERS]
    return [path for path in paths if os.path.isfile(path)]


def read(path: str, *, zone: tzinfo) -> Iterator[Read]:
    """The memories of a database; see the port."""
    if os.path.isdir(path):
        path = os.path.join(path, _FILE)
    with foreign_database(path) as database:
        for number, row in enumerate(database.table("memories", needs=_NEEDS, program=title), 1):
            yield _memory(row, f"row {number} of memories", zone)
        if count := database.count("memory_graph"):
            yield NotTaken(why="links between memories", count=count)


def _memory(row: dict[str, Any], where: str, zone: tzinfo) -> Read:
    if row.get("deleted_at") is not None:
        return NotTaken(why="deleted there", where=where)
    if row.get("superseded_by"):
        return NotTaken(why="replaced there by a newer memory", where=where)
    its_id, text = row["content_hash"], row["content"]
    if not (isinstance(its_id, str) and its_id):
        return NotTaken(why="its content_hash is not a text", where=where)
    if not isinstance(text, str):
        return NotTaken(why="its content is not a text", where=where)
    named = next((x for x in ("created_at", "created_at_iso") if row.get(x) is not None), "")
    try:
        at = instant_of(row[named], zone) if named else None
    except ValueError as exc:
        return NotTaken(why=f"its {named} is not a time", where=f"{where}: {exc}")
    return ForeignEntry(
        id=its_id,
        text=text,
        at=at,
        where=where,
        kind=opening(text_in(row.get("memory_type")), 100) or "memory",
        tags=texts_in(row.get("tags")),
        metadata=_metadata(row.get("metadata")),
        is_dated=at is not None,
    )


def _metadata(value: object) -> dict[str, Any]:
    try:
        found = json.loads(text_in(value) or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
