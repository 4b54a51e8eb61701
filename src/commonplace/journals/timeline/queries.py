"""Owns the timeline's queries by name, and which entry a row of them is.

Never opens a file, and never begins a transaction.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import parse_time
from commonplace.db.queries import read_queries
from commonplace.journals.timeline.entry import TimelineEntry

if TYPE_CHECKING:
    from collections.abc import Mapping


@cache
def sql() -> Mapping[str, str]:
    """The timeline's queries by name."""
    return read_queries("commonplace.journals.timeline", "queries.sql")


def entry_of(row: tuple[Any, ...]) -> TimelineEntry:
    """An entry from the columns that the queries read one in."""
    (seq, entry_id, thread_id, content, entry_type, timestamp, start, end, metadata) = row[:9]
    (level, status, created, updated, zone_name, digest, parent_id) = row[9:]
    return TimelineEntry(
        seq=seq,
        id=entry_id,
        thread_id=thread_id,
        content=content,
        entry_type=entry_type,
        at=parse_time(timestamp),
        start=parse_time(start),
        end=parse_time(end),
        metadata=json.loads(metadata),
        level=level,
        status=status,
        created=parse_time(created),
        updated=parse_time(updated),
        zone_name=zone_name,
        hash=digest,
        parent_id=parent_id,
    )
