"""A timeline in a folder of a test, its clock, and what its rollups say."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from commonplace.core.errors import NotFound
from commonplace.core.values import Interval, Page
from commonplace.inference.language.extract import Extractive
from commonplace.journals.timeline.journal import TimelineJournal
from commonplace.journals.timeline.period_reader import PeriodReader
from commonplace.journals.timeline.rollups import Rollups
from commonplace_testing import FrozenClock

if TYPE_CHECKING:
    from pathlib import Path

START = datetime(2025, 2, 4, 10, 15, 30, tzinfo=UTC)


def at(text: str) -> datetime:
    """`2025-02-04T10:15` in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


class World:
    """One owner's timeline; `again` opens the same file as another process would."""

    def __init__(self, folder: Path, *, zone=UTC, clock=None, owner="me", summariser=None, **more):
        self.folder = folder
        self.zone = zone
        self.clock = clock or FrozenClock(START)
        self.owner = owner
        self.journal = TimelineJournal(folder, owner=owner, zone=zone, clock=self.clock)
        self.rollups = Rollups(self.journal, summariser or Extractive(), **more)

    def again(self, **more):
        return World(self.folder, **{"zone": self.zone, "clock": self.clock, **more})

    def add(self, text, when=None, **metadata):
        added = self.journal.add(text, at=at(when) if when else None, metadata=metadata)
        return added.entry

    def roll_up(self, until=None):
        if until:
            self.clock.at = at(until)
        return self.rollups.catch_up()

    def read(self, level, when, **more):
        return self.rollups.read(level, at(when), **more)

    def list_trends(self, level):
        return PeriodReader(self.rollups).list_trends(Interval(), level, computes="due")

    def told(self):
        """What each rollup says and counts: what may not depend on the way it came to be."""
        rows = self.rows(
            "SELECT id, content, metadata, period_start, period_end, status FROM journal_entries "
            "WHERE rollup_level > 0 AND content <> '' ORDER BY id"
        )
        return {row[0]: row[1:] for row in rows}

    def shown(self, level=None):
        found = self.journal.list_entries(Interval(), level=level, limit=1000)
        return [x.id for x in found.entries]

    def rows(self, query, *values):
        with self.journal.database.reading() as conn:
            return [] if conn is None else conn.connection.execute(query, values).fetchall()

    def due_periods(self):
        """(level, start) of every period that is to be rolled up."""
        return set(self.rows("SELECT level, substr(period_start, 1, 16) FROM dirty"))

    def close(self):
        self.journal.close()


class OnePages:
    """What opens the refs of a source's docs."""

    kinds = ("entry",)
    ref_form = "x:<id>"

    def __init__(self, source):
        self.journal = source.name
        self._source = source

    def place_of(self, scope):
        return ""

    def read_ref(self, ref):
        doc = self._source.docs.get(ref)
        if doc is None:
            raise NotFound(f"No entry {ref}.")
        return Page(
            ref=ref,
            journal=doc.journal,
            scope="",
            kind=doc.kind,
            at=doc.at,
            text=doc.text,
            tags=doc.tags,
        )


def key_of(text: str) -> str:
    """An idempotency key of a text, so that ids are the same in every world."""
    return uuid.uuid5(uuid.NAMESPACE_OID, text).hex
