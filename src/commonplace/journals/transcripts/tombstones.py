"""The lines of what was deleted for good: read here, written by the store.

Imports little: a hook reads it.
"""

from __future__ import annotations

import json

from commonplace.journals.transcripts.message import is_client, session_name, whole

TOMBSTONES = "deleted.jsonl"
"""The name of their file, beside the catalog."""

LAST = 10**9
"""Above the number of every message."""


def render_tombstones(tombstones: list[dict[str, str | int]]) -> bytes:
    """The lines of what is deleted: client, session, and for a message its id and its number."""
    return "".join(json.dumps(x, ensure_ascii=False) + "\n" for x in tombstones).encode()


def parse_tombstone(line: bytes) -> tuple[str, str, str, int] | None:
    """Client, session, id (empty for the whole session) and number; None for no tombstone."""
    try:
        found = json.loads(line)
        client, session, message_id = found["client"], found["session"], found.get("id", "")
        n = found.get("n", 0)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
    if not all(isinstance(x, str) for x in (client, session, message_id)):
        return None
    if not is_client(client) or session_name(session) != session:
        return None
    return client, session, whole(message_id), n if isinstance(n, int) and 0 <= n < LAST else 0
