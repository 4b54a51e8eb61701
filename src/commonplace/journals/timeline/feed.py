"""Owns how entries of other journals count as raw activity of the timeline: linked, never copied.

Never keeps a text of theirs but what a rollup quotes; what leaves its journal leaves every rollup.
"""

from __future__ import annotations

import hashlib
import logging
from contextlib import suppress
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from commonplace.core.brief_item import OWN
from commonplace.core.clock import parse_time, render_time
from commonplace.core.errors import CommonplaceError, Denied, Invalid, NotFound
from commonplace.core.text import body_of, opening, screening
from commonplace.core.values import Put, Since
from commonplace.journals.timeline.due_periods import note_change
from commonplace.journals.timeline.entry import LATEST, is_within_calendar, ref_of, unpack_id
from commonplace.journals.timeline.privacy_delete import blank, blank_compared
from commonplace.journals.timeline.rollup_input import FedEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from commonplace.core.ports import OpensRefs, Source
    from commonplace.core.values import Change, Doc, Interval, Page
    from commonplace.journals.timeline.journal import TimelineJournal
    from commonplace.journals.timeline.ports import TimelineRows

KINDS = frozenset({"entry", "event"})
"""What of other journals is activity: an overview of a notebook's section is not."""

_SAID, _BY = "turn", "user"
"""Of what was said in sessions only what the user said is activity: it names what was asked for,
and is a handful of entries a session, where the answers would be hundreds."""

PRIVATE = "private"
_AT_ONCE = 200
_LONGEST_SAID = 2000
"""Characters of something said that a rollup reads: what was pasted below is no activity."""

_log = logging.getLogger(__name__)


class _FeedChanges(Struct):
    """What a run changed.

    Attributes:
        blanked: Rollups that quoted what is another entry now, or none.
    """

    changed: int = 0
    blanked: set[str] = field(default_factory=set)


def list_fed(
    journal: TimelineJournal, interval: Interval, *, most: int
) -> list[tuple[datetime, str]]:
    """When and under which ref other journals add to a span, oldest first; of many the newest."""
    assert interval.start is not None
    end = LATEST if interval.end is None else interval.end
    asked = {"start": render_time(interval.start), "end": render_time(end)}
    rows = journal.database.ask("fed_within", **asked)
    return [(parse_time(row[3]), row[1]) for row in rows[-most:]]


class Feeding:
    """Follows the sources of other journals, and opens their entries for rollups.

    Implements `rollup_input.Feed`.

    Args:
        journal: the timeline that they feed.
        sources: the sources of the journals that feed it.
        openers: what opens refs, by the name of the journal.
    """

    def __init__(
        self,
        journal: TimelineJournal,
        *,
        sources: Callable[[], Sequence[Source]],
        openers: Callable[[], Mapping[str, OpensRefs]],
    ) -> None:
        self._journal = journal
        self._sources = sources
        self._openers = openers
        self._reported: set[str] = set()

    def sync(self, *, forget: Callable[[list[str]], object] | None = None) -> int:
        """Note what other journals have more, other or no more; how many entries changed.

        Every period that holds one of them is due again. A journal that cannot be read is passed
        over, and logged once.

        Args:
            forget: Called with the refs of rollups whose text left, to take it from the index.

        Raises: Unavailable where the timeline itself cannot be written.
        """
        done = _FeedChanges()
        for source in self._sources():
            mark = source.mark()
            known = self._journal.database.ask("fed_mark", source=source.name)
            if known and known[0][0] == mark:
                continue
            since = Since(mark=known[0][0] if known else None, stamps=self._stamps)
            try:
                changes = iter(source.scan(since))
                while batch := list(islice(changes, _AT_ONCE)):
                    self._note(batch, done)
            except CommonplaceError as exc:
                if source.name not in self._reported:
                    self._reported.add(source.name)
                    _log.warning("%s does not feed the timeline: %s", source.name, exc)
                continue
            with self._journal.database.writing() as conn:
                conn.run("set_fed_mark", {"source": source.name, "mark": mark})
        if done.blanked:
            with suppress(CommonplaceError):
                self._journal.database.erase()
            if forget is not None:
                forget(sorted(done.blanked))
        return done.changed

    def count_outdated(self) -> int:
        """How many entries that rollups may quote are gone or changed, and not noted yet.

        A journal that cannot be read is passed over. Raises: Unavailable for the timeline itself.
        """
        count = 0
        for source in self._sources():
            known = self._journal.database.ask("fed_mark", source=source.name)
            if not known or known[0][0] == source.mark():
                continue
            with suppress(CommonplaceError):
                for change in source.scan(Since(mark=known[0][0], stamps=self._stamps)):
                    ref = change.doc.ref if isinstance(change, Put) else change.ref
                    old = self._journal.database.ask("find_fed", ref=ref)
                    is_same = isinstance(change, Put) and old and old[0][2] == _hash(change.doc)
                    count += bool(old) and not is_same
        return count

    def read(self, refs: Sequence[str]) -> dict[str, FedEntry]:
        """The entries under these refs; see the port. Raises: Unavailable."""
        openers = self._openers()
        found: dict[str, FedEntry] = {}
        for ref in refs:
            name = ref.partition(":")[0]
            with suppress(NotFound, Invalid, Denied):
                if name in openers:
                    page = openers[name].read_ref(ref)
                    found[ref] = FedEntry(
                        text=self._text_of(page),
                        metadata=_metadata_of(page),
                        is_private=name == PRIVATE,
                    )
        return found

    def forget(self, refs: Sequence[str]) -> list[str]:
        """Take deleted entries out of every rollup, bytes included; the refs of those rollups.

        They are due again. Does not ask the entries' journals. Raises: Unavailable.
        """
        if not self._journal.exists:
            return []
        done = _FeedChanges()
        with self._journal.database.writing() as conn:
            gone = [self._drop(conn, ref, done) for ref in refs]
        if any(gone):
            self._journal.database.erase()
        return sorted(done.blanked)

    def _stamps(self, prefix: str) -> Mapping[str, str]:
        asked = {"low": prefix, "high": f"{prefix}\U0010ffff"}
        return dict(self._journal.database.ask("fed_stamps", **asked))

    def _note(self, changes: Sequence[Change], done: _FeedChanges) -> None:
        with self._journal.database.writing() as conn:
            for change in changes:
                if not isinstance(change, Put):
                    done.changed += self._drop(conn, change.ref, done)
                elif change.doc.word != OWN or not is_within_calendar(change.doc.at):
                    # What lies at an end of the calendar is in no period.
                    done.changed += self._drop(conn, change.doc.ref, done)
                elif _is_activity(change.doc):
                    done.changed += self._put(conn, change.doc, done)

    def _put(self, conn: TimelineRows, doc: Doc, done: _FeedChanges) -> bool:
        digest = _hash(doc)
        old = conn.run("find_fed", {"ref": doc.ref}).fetchone()
        row = {
            "ref": doc.ref,
            "journal": doc.journal,
            "timestamp": render_time(doc.at),
            "hash": digest,
            "stamp": doc.stamp,
            "supersedes": doc.supersedes,
        }
        conn.run("put_fed", row)
        before = old[3] if old else ""
        if before != doc.supersedes:
            self._mark_replaced(conn, before, doc.supersedes)
        if old is not None and old[2] == digest:
            return bool(before != doc.supersedes)
        if old is not None:
            self._blank_rollups_above(conn, old, done)
        now = self._journal.clock()
        # A change of no entry of ours: its number marks what is due again, as every change's does.
        change = note_change(conn, 0)
        for at in {doc.at, *([parse_time(old[1])] if old else [])}:
            self._journal.due_periods.mark(conn, at, change=change, now=now)
        return True

    def _drop(self, conn: TimelineRows, ref: str, done: _FeedChanges) -> bool:
        old = conn.run("find_fed", {"ref": ref}).fetchone()
        if old is None:
            return False
        self._blank_rollups_above(conn, old, done)
        conn.run("unlink", {"source": -old[0]})
        conn.run("drop_fed", {"seq": old[0]})
        self._mark_replaced(conn, old[3])
        change = note_change(conn, 0)
        now = self._journal.clock()
        self._journal.due_periods.mark(conn, parse_time(old[1]), change=change, now=now)
        return True

    def _mark_replaced(self, conn: TimelineRows, *refs: str) -> None:
        """Mark the periods of these entries as due: they were replaced, or hold again."""
        for ref in refs:
            found = conn.run("find_fed", {"ref": ref}).fetchone() if ref else None
            if found is not None:
                change, now = note_change(conn, 0), self._journal.clock()
                at, due_periods = parse_time(found[1]), self._journal.due_periods
                due_periods.mark(conn, at, change=change, now=now)
                blank_compared(conn, due_periods, at, now)

    def _blank_rollups_above(
        self, conn: TimelineRows, fed: tuple[Any, ...], done: _FeedChanges
    ) -> None:
        """What a rollup quoted of an entry that is another one now, or none, leaves it at once."""
        now, due_periods = self._journal.clock(), self._journal.due_periods
        above = conn.run("above", {"source": -fed[0]}).fetchall()
        for rollup, _ in above:
            blank(conn, due_periods, rollup, now)
        above += blank_compared(conn, due_periods, parse_time(fed[1]), now, {x for x, _ in above})
        for _, name in above:
            if name:
                done.blanked.add(ref_of(unpack_id(name)))

    def _text_of(self, page: Page) -> str:
        with screening(self._journal.screen.shown):
            return opening(page.text, _LONGEST_SAID) if page.kind == _SAID else body_of(page.text)


def _metadata_of(page: Page) -> dict[str, list[str]]:
    """What figures count: tags, and of something said the project, which it cannot say itself."""
    named = {"tags": list(page.tags)}
    if page.kind == _SAID:
        named["projects"] = [PurePath(page.scope).name]
    return {name: found for name, names in named.items() if (found := [x for x in names if x])}


def _is_activity(doc: Doc) -> bool:
    counts = doc.kind in KINDS or (doc.kind == _SAID and doc.author == _BY)
    return counts and bool(doc.text.strip())


def _hash(doc: Doc) -> bytes:
    said = "\n".join((doc.at.isoformat(), *doc.tags, doc.said))
    return hashlib.sha256(said.encode("utf-8", "replace")).digest()[:8]
