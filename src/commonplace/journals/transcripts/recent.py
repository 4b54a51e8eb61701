"""The newest sessions of a project, and how one went, read without opening the store.

Never writes, never makes the catalog again, and imports next to nothing: a hook asks it within its
few milliseconds. What the catalog does not know yet is not said.
"""

from __future__ import annotations

import json
import os

from commonplace.core.brief_item import BriefItem
from commonplace.db.glance import glance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

LONGEST = 64 * 1024
"""Bytes of a message that are read."""

SURVEYED = 30
"""The newest sessions in a project's folders that are looked at."""

SHOWN = 120
"""Characters that are shown of what a session began with, and of what was asked in it last."""

_CATALOG = "catalog.db"

# The newest sessions that were held in a folder or below it.
_OF_FOLDERS = """
WITH folders (folder) AS MATERIALIZED (SELECT value FROM json_each(:folders))
SELECT DISTINCT key, client, name, year, messages, CAST(strftime('%s', last_at) AS INTEGER), cwd
FROM sessions JOIN folders ON cwd = folder OR (cwd > folder || '/' AND cwd < folder || '0')
WHERE NOT (client = :client AND name = :session)
ORDER BY last_at DESC LIMIT :limit
"""

# One session by its name.
_NAMED = """
SELECT key, client, name, year, messages, CAST(strftime('%s', last_at) AS INTEGER)
FROM sessions WHERE client = :client AND name = :session
"""

# Where the first thing that was said in a role lies.
_FIRST = """
SELECT n, start, length, CAST(strftime('%s', at) AS INTEGER) FROM messages
WHERE session = :key AND role = :role AND has_text ORDER BY n LIMIT :limit
"""

# Where the last things that were said in a role lie.
_LAST = """
SELECT n, start, length, CAST(strftime('%s', at) AS INTEGER) FROM messages
WHERE session = :key AND role = :role AND has_text ORDER BY n DESC LIMIT :limit
"""


def list_sessions(
    folder: str,
    folders: Sequence[str],
    *,
    without: tuple[str, str],
    limit: int,
    is_of: Callable[[str], bool],
) -> list[BriefItem]:
    """The newest sessions of a project, each with how it began and what was asked in it last.

    Args:
        folder: Where transcripts are kept.
        folders: The project's, by each of its names.
        without: Client and id of a session that is left out.
        limit: The most sessions.
        is_of: Whether a folder below those is of the project, and not of one that lies in it.
    """
    items = []
    for row in _newest(folder, folders, without, limit, is_of):
        _, client, name, _, count, at, _ = row
        first = _said(folder, row, "user", _FIRST, 1)
        # A session may have gone on in another project, of which nothing is said here.
        last = _said(folder, row, "user", _LAST, 1, is_of=is_of)
        if not first:
            continue
        text = f"session of {count} messages, began with: {_opening(first[0].text)}"
        if last and last[0].ref != first[0].ref:
            text += f" | asked last: {_opening(last[0].text)}"
        items.append(BriefItem(float(at or 0), text, f"transcripts:{client}/{name}", "session"))
    return items


def list_turns(
    folder: str,
    folders: Sequence[str],
    *,
    session: tuple[str, str],
    limit: int,
    is_of: Callable[[str], bool],
) -> list[BriefItem]:
    """What was asked in a session: the first thing, then the last ones and the last answer.

    Args:
        folder: Where transcripts are kept.
        folders: The project's, whose newest session is meant where the named one is not kept.
        session: Client and id.
        limit: The most of the last things that were asked.
        is_of: As for `list_sessions`.
    """
    values = {"client": session[0], "session": session[1]}
    rows = glance(os.path.join(folder, _CATALOG), _NAMED, values)
    rows = rows or _newest(folder, folders, ("", ""), 1, is_of)
    if not rows:
        return []
    asked = [*_said(folder, rows[0], "user", _FIRST, 1)]
    asked += reversed(_said(folder, rows[0], "user", _LAST, limit))
    asked += _said(folder, rows[0], "assistant", _LAST, 1)
    return list({item.ref: item for item in asked}.values())


def _newest(
    folder: str,
    folders: Sequence[str],
    without: tuple[str, str],
    limit: int,
    is_of: Callable[[str], bool],
) -> list[tuple[Any, ...]]:
    values = {
        "folders": json.dumps([each.rstrip("/") for each in folders]),
        "client": without[0],
        "session": without[1],
        "limit": SURVEYED,
    }
    found = glance(os.path.join(folder, _CATALOG), _OF_FOLDERS, values)
    return [row for row in found if is_of(row[-1])][:limit]


def _said(
    folder: str,
    row: tuple[Any, ...],
    role: str,
    query: str,
    limit: int,
    *,
    is_of: Callable[[str], bool] | None = None,
) -> list[BriefItem]:
    """What was said in a role, as the query orders it; what a sub-agent said is left out."""
    key, client, name, year = row[:4]
    values = {"key": key, "role": role, "limit": limit}
    places = glance(os.path.join(folder, _CATALOG), query, values)
    path = os.path.join(folder, str(client), str(year), f"{name}.jsonl")
    items = []
    for n, start, length, at in places:
        found = _read(path, start, length)
        text = found.get("text")
        if is_of is not None and "cwd" in found and not is_of(str(found["cwd"])):
            continue
        if isinstance(text, str) and not found.get("sidechain") and found.get("n") == n:
            ref = f"transcripts:{client}/{name}#{n}"
            items.append(BriefItem(float(at or 0), f"{role}: {text}", ref, "turn"))
    return items


def _read(path: str, start: int, length: int) -> dict[str, Any]:
    """The line of a file at a place; empty where it does not stand there."""
    if length > LONGEST:
        return {}
    try:
        with open(path, "rb") as file:
            file.seek(start)
            found = json.loads(file.read(length))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _opening(text: str) -> str:
    words = " ".join(text.partition(": ")[2].split())
    return words if len(words) <= SHOWN else f"{words[:SHOWN].rsplit(' ', 1)[0]} ..."
