"""What chronicle holds newest of one project, read without opening chronicle.

Never writes, and imports next to nothing: a hook asks it within its few milliseconds. Knows the
database of chronicle's newest layout alone; of older ones, and of a Markdown tree, it says nothing.
"""

from __future__ import annotations

import json
import os

from commonplace.core.brief_item import BriefItem
from commonplace.db.glance import glance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SURVEYED = 10_000
"""How many of the newest entries are looked at: 5 ms. No index of chronicle's holds the folder."""

LONGEST = 2_000
_SUPERSEDES = "supersedes:"

# The newest entries that were logged in a folder or below it, newest first.
_OF_FOLDERS = """
WITH folders (folder) AS MATERIALIZED (SELECT value FROM json_each(:folders))
SELECT DISTINCT
    id,
    coalesce(timestamp_unix_seconds, CAST(strftime('%s', timestamp) AS INTEGER)) AS at,
    substr(message, 1, :longest),
    tags,
    working_directory
FROM entries JOIN folders ON working_directory = folder
    OR (working_directory > folder || '/' AND working_directory < folder || '0')
WHERE entries.rowid > (SELECT max(rowid) FROM entries) - :surveyed
ORDER BY at DESC, entries.rowid DESC LIMIT :limit
"""


def find_database(named: str | None, environ: Mapping[str, str], home: str) -> str | None:
    """The path of chronicle's database, there or not; None for a tree, or a broken configuration.

    Args:
        named: What the settings name.
        environ: The environment's variables.
        home: The user's home folder; empty where there is none.
    """
    if named:
        return None if os.path.isdir(named) else named
    config = environ.get("XDG_CONFIG_HOME", "")
    config = config if os.path.isabs(config) else os.path.join(home, ".config")
    data = environ.get("XDG_DATA_HOME", "")
    data = data if os.path.isabs(data) else os.path.join(home, ".local", "share")
    folder = os.path.join(data, "chronicle")
    try:
        with open(os.path.join(config, "chronicle", "config.json"), "rb") as file:
            found = json.loads(file.read(1 << 20))
        if (found.get("backend") or "sqlite") != "sqlite":
            return None
        named = found.get("data_dir") or ""
        if named == "~" or named.startswith("~/"):
            named = os.path.join(home, named[2:])
        folder = named or folder
    except FileNotFoundError:
        pass
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return None
    return os.path.join(folder, "chronicle.db") if os.path.isabs(folder) else None


def list_recent(
    database: str, folders: Sequence[str], *, limit: int, is_of: Callable[[str], bool]
) -> list[BriefItem]:
    """The newest entries of a project that no later one took the place of, newest first.

    Args:
        database: The path of chronicle's database.
        folders: The project's, by each of its names.
        limit: The most entries.
        is_of: Whether a folder below those is of the project, and not of one that lies in it.
    """
    values = {
        "folders": json.dumps([folder.rstrip("/") for folder in folders]),
        "surveyed": SURVEYED,
        "longest": LONGEST,
        "limit": limit,
    }
    rows = glance(database, _OF_FOLDERS, values)
    items = [
        BriefItem(float(at), str(message), f"chronicle:{name}", "event", _parse_tags(tags))
        for name, at, message, tags, folder in rows
        if isinstance(at, (int, float)) and message and is_of(str(folder))
    ]
    links = (tag for item in items for tag in item.tags if tag.startswith(_SUPERSEDES))
    gone = {f"chronicle:{link.removeprefix(_SUPERSEDES)}" for link in links}
    return [item for item in items if item.ref not in gone]


def _parse_tags(text: object) -> tuple[str, ...]:
    try:
        found = json.loads(text) if isinstance(text, str) else ()
    except (ValueError, RecursionError):
        return ()
    return tuple(tag for tag in found if isinstance(tag, str)) if isinstance(found, list) else ()
