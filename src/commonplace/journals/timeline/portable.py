"""Converts the timeline's entries into items of an export, and items into entries.

Exports summaries and never imports them: they are made again. Reads or writes no file of an export.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Mapping  # noqa: TC003  a struct reads it at run time
from datetime import datetime  # noqa: TC003  a struct reads it at run time
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from msgspec import field

from commonplace.core.clock import parse_time, render_time
from commonplace.core.errors import Invalid
from commonplace.core.import_notes import NOT_NOTED
from commonplace.core.portable import PortableItem, PortableSummary
from commonplace.core.text import opening
from commonplace.journals.timeline.entry import (
    JOURNAL,
    LEVELS,
    RAW,
    TimelineDraft,
    check_time,
    pack_id,
    ref_of,
    render_metadata,
    unpack_id,
)
from commonplace.journals.timeline.queries import entry_of
from commonplace.journals.timeline.rollup_input import parse_points, render_points

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.journal import TimelineJournal
    from commonplace.journals.timeline.ports import TimelineRows

_AT_ONCE = 500
_LONGEST_ID = 1000


class PortableMoment(PortableItem, frozen=True, kw_only=True, tag_field="kind", tag="entry"):
    """An entry that was recorded, or a snapshot of who the owner is.

    Attributes:
        content: What happened.
        type: raw or profile_snapshot.
        metadata: Any names and values.
        is_archived: Whether it is archived, and so in no search.
        created: When it was recorded.
        updated: When it was last changed.
    """

    content: str
    created: datetime
    updated: datetime
    type: Literal["raw", "profile_snapshot"] = "raw"
    metadata: Mapping[str, Any] = field(default_factory=dict)
    is_archived: bool = False

    def page_text(self) -> str:
        """What happened."""
        return self.content

    def page_facts(self) -> Mapping[str, str]:
        """Its type, unless it is raw, and its metadata."""
        shown = json.dumps(dict(self.metadata), ensure_ascii=False, sort_keys=True)
        return {
            "Type": "" if self.type == RAW else self.type,
            "Metadata": shown if self.metadata else "",
        }


class PortableExpired(PortableItem, frozen=True, kw_only=True, tag_field="kind", tag="expired"):
    """What is left of an entry that retention deleted: the values that summaries are made from.

    Attributes:
        facts: The values that summaries count.
        points: The sentences that summaries quote, with their weights.
        hash: The entry's hash, in hex, which summaries made from it keep.
    """

    facts: Mapping[str, Any] = field(default_factory=dict)
    points: tuple[Any, ...] = ()
    hash: str = ""

    def page_text(self) -> str:
        """A note that its text is gone."""
        return "(expired)"


class PortableTimeline:
    """Exports a timeline, and imports into an empty one. See `core.ports.Portable`."""

    journal = JOURNAL
    item_type: Any = PortableMoment | PortableExpired

    def __init__(self, timeline: TimelineJournal) -> None:
        self._timeline = timeline

    def is_empty(self) -> bool:
        """See `Portable.is_empty`."""
        return next(self.export_items(None), None) is None

    def export_items(self, since: datetime | None) -> Iterator[PortableItem]:
        """See `Portable.export_items`."""
        start = "" if since is None else render_time(since)
        entries = (
            (row[5], row[0], _item_of(entry_of(row))) for row in self._rows("all_raw", 5, start)
        )
        expired = (
            (row[2], row[0], _expired_of(row)) for row in self._rows("all_expired", 2, start)
        )
        yield from (each[2] for each in heapq.merge(entries, expired, key=lambda x: x[:2]))

    def export_summaries(self, since: datetime | None) -> Iterator[PortableSummary]:
        """See `ExportsSummaries.export_summaries`."""
        asked: dict[str, Any] = {"start": "" if since is None else render_time(since)}
        place: dict[str, Any] = {"after": "", "level": 0, "seq": 0}
        while True:
            rows = self._timeline.database.ask("all_rollups", **asked, **place, limit=_AT_ONCE)
            for seq, name, content, level, start, end, tz, generator in rows:
                yield PortableSummary(
                    ref=ref_of(name),
                    at=parse_time(start),
                    until=parse_time(end),
                    level=LEVELS[level - 1],
                    zone=tz,
                    text=content,
                    made_from=self._timeline.covers(seq),
                    made_by=generator,
                )
                place = {"after": start, "level": level, "seq": seq}
            if len(rows) < _AT_ONCE:
                return

    def check_item(self, item: PortableMoment | PortableExpired) -> None:
        """See `Portable.check_item`."""
        if isinstance(item, PortableMoment):
            _draft_of(item)
        else:
            _id_of(item), _hash_of(item), _points_of(item), check_time(item.at)

    def import_items(self, items: Iterator[Any], noting: NotesImport = NOT_NOTED) -> int:
        """See `Portable.import_items`."""
        added = 0
        while batch := list(islice(items, _AT_ONCE)):
            planned: dict[str, str] = {}
            with self._timeline.database.writing() as conn:
                adder = self._timeline.adder(conn, self._timeline.clock())
                for item in batch:
                    if self._is_known(conn, item):
                        continue
                    version = ""  # what is left of one that has expired has none
                    if isinstance(item, PortableMoment):
                        draft = _draft_of(item)
                        version = adder.row(draft, item.at, draft.id)["hash"].hex()
                    planned[item.ref] = version
                noting.put_planned(planned)
                added += self._write(conn, batch)
            noting.put_added(planned)
        return added

    def _is_known(self, conn: TimelineRows, item: PortableItem) -> bool:
        """Whether there is, or was, an entry under the ref of an item."""
        made_id = _id_of(item)
        return bool(
            conn.run("by_id", {"id": made_id}).fetchone()
            or conn.run("find_tombstone", {"id": pack_id(made_id)}).fetchone()
        )

    def _write(self, conn: TimelineRows, batch: Sequence[PortableMoment | PortableExpired]) -> int:
        now = self._timeline.clock()
        moments: list[PortableMoment] = []
        added = 0
        for item in batch:
            if isinstance(item, PortableMoment):
                moments.append(item)
                continue
            # Entries are numbered in the order of the items.
            added += self._add(conn, moments, now)
            moments = []
            added += self._bury(conn, item, now)
        return added + self._add(conn, moments, now)

    def _add(self, conn: TimelineRows, moments: Sequence[PortableMoment], now: datetime) -> int:
        if not moments:
            return 0
        adder = self._timeline.adder(conn, now)
        done = adder.add_all([_draft_of(item) for item in moments])
        for item, one in zip(moments, done, strict=True):
            if one.is_new:
                was = {
                    "id": one.entry.id,
                    "status": "archived" if item.is_archived else "active",
                    "created": render_time(item.created),
                    "updated": render_time(item.updated),
                }
                conn.run("note_as_it_was", was)
        return sum(one.is_new for one in done)

    def _bury(self, conn: TimelineRows, item: PortableExpired, now: datetime) -> int:
        packed = pack_id(_id_of(item))
        if conn.run("find_tombstone", {"id": packed}).fetchone():
            return 0
        at = check_time(item.at)
        seq = conn.run("take_number").fetchone()[0]
        conn.run("bury", {"seq": seq, "id": packed, "expired": True})
        left = {
            "timestamp": render_time(at),
            "seq": seq,
            "hash": _hash_of(item),
            "facts": render_metadata(item.facts),
            "points": _points_of(item),
        }
        conn.run("expire", left)
        due = self._timeline.due_periods
        due.mark_new(conn, [at], change=seq, zones=due.zones(conn, now))
        return 1

    def _rows(self, query: str, time: int, start: str) -> Iterator[tuple[Any, ...]]:
        timestamp, seq = start, -1
        while True:
            rows = self._timeline.database.ask(query, timestamp=timestamp, seq=seq, limit=_AT_ONCE)
            yield from rows
            if len(rows) < _AT_ONCE:
                return
            timestamp, seq = rows[-1][time], rows[-1][0]


def _item_of(entry: TimelineEntry) -> PortableMoment:
    return PortableMoment(
        ref=entry.ref,
        at=entry.at,
        content=entry.content,
        type="raw" if entry.entry_type == RAW else "profile_snapshot",
        metadata={name: entry.metadata[name] for name in sorted(entry.metadata)},
        supersedes=entry.supersedes,
        is_archived=entry.status == "archived",
        created=entry.created,
        updated=entry.updated,
    )


def _expired_of(row: tuple[Any, ...]) -> PortableExpired:
    _, packed, timestamp, facts, points, digest = row
    return PortableExpired(
        ref=ref_of(unpack_id(packed)),
        at=parse_time(timestamp),
        facts=json.loads(facts),
        points=tuple(json.loads(points)),
        hash=digest.hex(),
    )


def _draft_of(item: PortableMoment) -> TimelineDraft:
    return TimelineDraft(
        id=_id_of(item),
        content=item.content,
        entry_type=item.type,
        at=item.at,
        metadata=item.metadata,
    )


def _id_of(item: PortableItem) -> str:
    """The id of an item. Raises: Invalid."""
    if not item.id or len(item.id) > _LONGEST_ID or not item.id.isprintable():
        raise Invalid(
            f"Invalid ref: {opening(item.ref, 100)!a}.",
            hint="Use an export that was not changed by hand.",
        )
    return item.id


def _hash_of(item: PortableExpired) -> bytes:
    try:
        return bytes.fromhex(item.hash)
    except ValueError as exc:
        raise Invalid(
            f"Invalid hash of {opening(item.ref, 100)!a}.", hint="It is written in hex."
        ) from exc


def _points_of(item: PortableExpired) -> str:
    """The points as the database keeps them. Raises: Invalid."""
    try:
        return render_points(parse_points(json.dumps(item.points)))
    except (ValueError, TypeError, KeyError, AttributeError) as exc:
        raise Invalid(
            f"Invalid points of {opening(item.ref, 100)!a}.",
            hint="Use an export that was not changed by hand.",
        ) from exc
