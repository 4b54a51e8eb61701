"""Owns what the rows of memory are, whatever database holds them: records, calls, pages of a list.

Never asks a database.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import parse_time, render_time
from commonplace.core.errors import Invalid
from commonplace.core.ids import key_id, new_id
from commonplace.core.text import opening
from commonplace.journals.memory.entry import KEYS, render_flags
from commonplace.journals.memory.records import (
    Call,
    ChatMessage,
    Gratitude,
    JournalEntry,
    Preferences,
    Record,
    Records,
    Todo,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from commonplace.journals.memory.records import Kind, RecordDraft

MOST_LISTED = 1000

UNREADABLE = "unreadable"
"""The flag that holds the flags of preferences, as text, where they are not a JSON object."""

_LINKED = ("supersedes", "written", "id")
_FIELDS_READ: Mapping[Kind, tuple[Callable[..., Record], tuple[str, ...]]] = {
    "message": (ChatMessage, (*_LINKED, "role", "text", "at")),
    "journal": (JournalEntry, (*_LINKED, "title", "body", "is_draft", "at", "updated")),
    "todo": (Todo, (*_LINKED, "title", "done", "at", "updated")),
    "gratitude": (Gratitude, (*_LINKED, "text", "at", "updated")),
    "preference": (Preferences, ("language", "religion", "flags", "at", "updated")),
}
"""What each kind is made of, in the order in which its queries read it."""

_COLUMNS = {"text": "content", "at": "created_at", "updated": "updated_at", "written": "written_at"}
"""The columns that bear another name than the field."""

_TIMES = frozenset({"at", "updated", "written"})
_BEYOND = "9999-12-31T23:59:59.999999Z"


def record_of(
    kind: Kind, row: Sequence[Any], *, instant: Callable[[Any], datetime] = parse_time
) -> Record:
    """A record from the columns that the queries of its kind read it in.

    instant: from what a column of times gives.
    """
    make, names = _FIELDS_READ[kind]
    fields = dict(zip(names, row, strict=True))
    fields["at"] = instant(fields["at"])
    if kind != "message":
        fields["updated"] = instant(fields["updated"])
    if kind == "preference":
        fields["flags"] = _flags(fields["flags"])
    else:
        fields["written"] = instant(fields["written"]) if fields["written"] else None
    if boolean := {"journal": "is_draft", "todo": "done"}.get(kind):
        fields[boolean] = bool(fields[boolean])
    return make(**fields)


def _flags(text: str) -> dict[str, Any]:
    try:
        flags = json.loads(text)
    except (ValueError, RecursionError):
        flags = None
    # What another program left there is kept, and hides nothing else that is this user's.
    return flags if isinstance(flags, dict) else {UNREADABLE: text}


def row_of(record: Record, *, unwritten: str | None = "") -> dict[str, Any]:
    """The columns that the query which saves a record takes.

    unwritten: What stands for no time of writing of its own.
    """
    row: dict[str, Any] = {"id": record.id}
    for name in _FIELDS_READ[record.kind][1]:
        value = getattr(record, name)
        if name in _TIMES:
            value = unwritten if value is None else render_time(value)
        row[_COLUMNS.get(name, name)] = render_flags(value) if name == "flags" else value
    return row


def id_of(
    draft: RecordDraft, owner: str, *, now: datetime, random_bytes: Callable[[int], bytes]
) -> str:
    """The id of a new record: what its key stands for, else one in the order of time."""
    if draft.key:
        return key_id(KEYS, owner, f"{draft.kind} {draft.key}")
    return new_id(draft.at or now, random_bytes(10))


def page_values(limit: int, cursor: str) -> dict[str, Any]:
    """What the query of a list takes: where it begins, and one more than is shown.

    Raises: Invalid.
    """
    if not 1 <= limit <= MOST_LISTED:
        raise Invalid(f"Invalid limit: {limit}.", hint=f"Use 1 to {MOST_LISTED}.")
    before, slash, ref_id = cursor.partition("/")
    if cursor and (not slash or len(before) != len(_BEYOND) or not cursor.isascii()):
        raise Invalid(
            f"Invalid cursor: {opening(cursor, 60)!r}.", hint="Use the one a list has given."
        )
    return {"before": before or _BEYOND, "before_id": ref_id, "limit": limit + 1}


def page_of(records: Sequence[Record], limit: int) -> Records:
    """The records of a page, of which there is one more if another page follows."""
    last = records[limit - 1] if len(records) > limit else None
    return Records(
        records=tuple(records[:limit]), cursor=f"{render_time(last.at)}/{last.id}" if last else ""
    )


def row_of_call(call: Call, now: datetime) -> dict[str, Any]:
    """The columns that the query which logs a call takes."""
    return {
        "tool": call.tool,
        "status": call.status,
        "duration_ms": call.duration_ms,
        "top_k_effective": call.top_k_effective,
        "filters": json.dumps(dict(call.filters), ensure_ascii=False, sort_keys=True),
        "created_at": render_time(call.at or now),
    }


def call_of(row: tuple[Any, ...], *, instant: Callable[[Any], datetime] = parse_time) -> Call:
    """A call from the columns that the query of the log reads it in."""
    tool, status, duration_ms, top_k, filters, at = row
    return Call(
        tool=tool,
        status=status,
        duration_ms=duration_ms,
        top_k_effective=top_k,
        filters=json.loads(filters),
        at=instant(at),
    )
