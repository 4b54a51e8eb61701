"""claude-mem's database: what it observed in sessions, and its summaries of them.

Prompts are left out: sessions are imported whole, as transcripts.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from commonplace.core.importer import ForeignEntry, NotTaken, instant_of, text_in
from commonplace.core.text import opening
from commonplace.db.foreign import foreign_database

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import tzinfo

    from commonplace.core.importer import Into, Read

title = "claude-mem"
takes = "its claude-mem.db"
into: Into = "timeline"

_FILE = "claude-mem.db"
_NEEDS = ("id", "project", "created_at_epoch")
_SUMMARY = {
    "request": "Asked",
    "investigated": "Investigated",
    "learned": "Learned",
    "completed": "Completed",
    "next_steps": "Next",
    "notes": "Notes",
}


def find(home: str, environ: Mapping[str, str]) -> list[str]:
    """The database in claude-mem's own folder."""
    folder = environ.get("CLAUDE_MEM_DATA_DIR") or os.path.join(home, ".claude-mem")
    path = os.path.join(folder, _FILE)
    return [path] if os.path.isfile(path) else []


def read(path: str, *, zone: tzinfo) -> Iterator[Read]:
    """The observations and summaries of a database; see the port."""
    if os.path.isdir(path):
        path = os.path.join(path, _FILE)
    with foreign_database(path) as database:
        for row in database.table("observations", needs=_NEEDS, program=title):
            yield _observation(row, zone)
        if database.has_table("session_summaries"):
            for row in database.table("session_summaries", needs=_NEEDS, program=title):
                said = {name: text_in(row.get(column)).strip() for column, name in _SUMMARY.items()}
                lines = [f"{name}: {text}" for name, text in said.items() if text]
                yield _entry(row, "summary", "\n".join(lines), "session_summaries", zone)
        if count := database.count("user_prompts"):
            why = "prompts (import sessions with `commonplace import claude-code`)"
            yield NotTaken(why=why, count=count)


def _observation(row: dict[str, Any], zone: tzinfo) -> Read:
    head = text_in(row.get("title")).strip()
    facts = [f"- {fact}" for fact in _listed(row.get("facts")) if fact not in head]
    story = text_in(row.get("narrative")).strip() or text_in(row.get("text")).strip()
    parts = (head, text_in(row.get("subtitle")).strip(), story, "\n".join(facts))
    kind = text_in(row.get("type")) or "observation"
    return _entry(row, kind, "\n\n".join(x for x in parts if x), "observations", zone)


def _entry(row: dict[str, Any], kind: str, text: str, table: str, zone: tzinfo) -> Read:
    its_id = row["id"]
    where = f"row {opening(str(its_id), 20)} of {table}"
    if not text:
        return NotTaken(why="there is no text in it", where=where)
    try:
        at = instant_of(row["created_at_epoch"], zone)
    except ValueError as exc:
        return NotTaken(why="its created_at_epoch is not a time", where=f"{where}: {exc}")
    project = text_in(row.get("project"))
    session = text_in(row.get("memory_session_id")) or text_in(row.get("sdk_session_id"))
    return ForeignEntry(
        # Numbers begin again in another database: the instant tells two of one number apart.
        id=f"{table} {its_id} {row['created_at_epoch']}",
        text=text,
        at=at,
        where=where,
        kind=kind,
        tags=tuple(_listed(row.get("concepts"))),
        metadata={
            **({"projects": [project]} if project else {}),
            **({"session": session} if session else {}),
        },
    )


def _listed(value: object) -> list[str]:
    """The texts of a list that a column holds as JSON; none of anything else."""
    try:
        found = json.loads(text_in(value) or "[]")
    except (ValueError, RecursionError):
        return []
    return [x for x in found if isinstance(x, str) and x.strip()] if isinstance(found, list) else []
