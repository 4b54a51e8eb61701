"""A quick look into a SQLite database that may be another program's: read-only, hardly waiting.

Never writes, never creates a database, and imports nothing but `sqlite3`.
"""

from __future__ import annotations

import os
import sqlite3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

BUSY_S = 0.02

CACHE_KB = 256
"""Of a file that is read once hardly any page is asked for again; SQLite would keep 2 MB."""


def glance(path: str, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The rows of one query; none where the database is not there, or cannot be read now.

    Args:
        path: The database's file.
        query: One SELECT.
        values: What it binds, by name.
    """
    if not os.path.isfile(path):
        return []
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    try:
        conn = sqlite3.connect(f"file:{quoted}?mode=ro", uri=True, timeout=BUSY_S)
    except sqlite3.Error:
        return []
    try:
        conn.text_factory = _text
        conn.execute(f"PRAGMA cache_size = -{CACHE_KB}")
        return conn.execute(query, values).fetchall()
    except sqlite3.Error:
        return []
    finally:
        conn.close()


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
