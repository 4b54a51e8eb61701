"""The timeline's verbs for people alone: zoom in, see trends, roll up what is due, import.

Never offered to a model and never in words: `verbs.timeline.for_people` renders what they return.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.clock import find_period_key, render_interval
from commonplace.core.errors import CommonplaceError, NotFound, Unavailable
from commonplace.core.import_notes import NOT_NOTED
from commonplace.core.present import AFTER_DOUBT
from commonplace.core.text import counted
from commonplace.core.values import Interval
from commonplace.journals.timeline.entry import JOURNAL, LEVELS, NAMES, find_rollup_key
from commonplace.journals.timeline.pages import TimelinePages
from commonplace.journals.timeline.rewording import MOST_FAILURES
from commonplace.journals.timeline.stored import StoredRollups
from commonplace.journals.timeline.trends import counted_span
from commonplace.verbs.timeline.reading import parse_interval, read_period
from commonplace.verbs.timeline.service import parse_period
from commonplace.verbs.timeline.zoom import steps_down, way_down, with_others

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Level
    from commonplace.core.import_notes import NotesImport
    from commonplace.core.ports import OpensRefs
    from commonplace.core.values import Page
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.expiry import RetentionResult
    from commonplace.journals.timeline.journal import Deleted
    from commonplace.journals.timeline.memories import ImportedMemories
    from commonplace.journals.timeline.retention import Retention
    from commonplace.journals.timeline.rewording import Reworded, Rewording
    from commonplace.journals.timeline.rollups import DueLevel
    from commonplace.journals.timeline.stored import StoredPeriod
    from commonplace.journals.timeline.trends import Trends
    from commonplace.verbs.timeline.service import TimelineService
    from commonplace.verbs.timeline.zoom import PeriodNode

_AT_ONCE = 200
_PERIODS_SHOWN = 62
_DAYS: dict[Level, int] = {"day": 1, "week": 7, "month": 30, "year": 365}


class ShownPeriod(Struct, frozen=True, kw_only=True):
    """A period, the way down from it, and the refs of the rollups that it went into."""

    rollup: TimelineEntry
    node: PeriodNode
    above: tuple[str, ...]


class ShownStoredPeriod(Struct, frozen=True, kw_only=True):
    """The same as a page shows it, from what is stored; depth: how many steps down the way goes."""

    period: StoredPeriod
    node: PeriodNode
    depth: int
    above: tuple[str, ...]


class TrendsOf(Struct, frozen=True, kw_only=True):
    """The trends of a time; interval: as it was asked for, None for all there is."""

    interval: Interval | None
    trends: Trends


class EntryTally(Struct, frozen=True, kw_only=True):
    """How many entries of a type and a status there are; the time of the first and the last."""

    entry_type: str
    status: str
    count: int
    first: datetime
    last: datetime


class ModelState(Struct, frozen=True, kw_only=True):
    """Whether a model puts rollups into words; error: why the one that is set cannot."""

    is_set: bool
    error: str = ""


class TimelineStatus(Struct, frozen=True, kw_only=True):
    """What is kept of one owner's timeline, what is due, what retention and models would do."""

    owner: str
    zone: tzinfo
    tallies: tuple[EntryTally, ...]
    due: tuple[DueLevel, ...]
    retention: Retention
    model: ModelState


class RolledUp(Struct, frozen=True, kw_only=True):
    """What a run made: rollups, texts by a model (None without one), and what retention did."""

    made: int
    reworded: Reworded | None
    retained: RetentionResult
    notes: tuple[str, ...] = ()


class DryRun(Struct, frozen=True, kw_only=True):
    """What a run would do now."""

    due: tuple[DueLevel, ...]
    retained: RetentionResult
    model: ModelState


class Rebuilt(Struct, frozen=True, kw_only=True):
    """A time whose rollups were made again, and how many they are."""

    interval: Interval
    made: int


class TimelineKeeping:
    """What people do with a timeline beside what a model may.

    Args:
        service: opens one owner's timeline.
        rewording: makes what has a model put rollups into words, for one run; None without one.
        others: what opens the refs of other journals, by their names.
    """

    def __init__(
        self,
        service: Callable[[], TimelineService],
        rewording: Callable[[], Rewording | None],
        others: Callable[[], Mapping[str, OpensRefs]] = dict,
    ) -> None:
        self._service = service
        self._rewording = rewording
        self._others = others

    @property
    def zone(self) -> tzinfo:
        """The zone that cuts this owner's periods now."""
        return self._service().zone

    def show(self, *, text: str, depth: int | None = None) -> ShownPeriod | Page:
        """A period with the way down to each raw entry, or an entry with what is around it.

        Args:
            text: `2026`, `2026-10`, `2026-W41`, `2026-10-07`, `2026-10-07 14`, a phrase such as
                `last week`, or a ref; blank for today.
            depth: How many steps the way goes down; None for as many as a page of lines holds.

        Raises:
            Invalid, NotFound, Unavailable.
        """
        service = self._service()
        journal, name = service.journal, text.strip() or "today"
        entry = self._entry_of(name)
        if entry is not None and not entry.level:
            return TimelinePages(journal).read_ref(entry.ref)
        if entry is not None:
            level, interval = LEVELS[entry.level - 1], Interval(start=entry.start, end=entry.end)
        else:
            key = find_rollup_key(name.removeprefix(f"{JOURNAL}:"))
            level, interval = read_period(service, key or name)
        with suppress(Unavailable):
            service.catch_up()  # what cannot be written now is shown all the same
        found = service.rollup(NAMES[level], interval.start, partial=True)
        assert found is not None  # a period that goes on is computed
        node = with_others(way_down(journal, level, interval, depth=depth), self._opened)
        # A day has two above it: its week and its month.
        above = journal.above([found.ref]).get(found.ref, frozenset())
        return ShownPeriod(rollup=found, node=node, above=tuple(sorted(above)))

    def show_stored(self, key: str, *, depth: int, most_lines: int) -> ShownStoredPeriod | None:
        """A period as a page shows it; None where nothing was recorded, and for no period's key.

        Rolls nothing up and reads what is shown alone: a year of 20,000 entries that are not summed
        up takes 5 ms of the processor, in place of 4.5 s.

        Args:
            key: Of the period: `2026`, `2026-10`, `2026-W41`, `2026-10-07`, `2026-10-07T14`.
            depth: How many steps the way goes down.
            most_lines: The way ends higher up where it would have more lines than this.

        Raises:
            Unavailable.
        """
        service = self._service()
        stored = StoredRollups(service.rollups)
        named = find_period_key(key, service.zone)
        if named is None or named[1].start is None:
            return None
        found = stored.read(named[0], named[1].start)
        if found is None:
            return None
        way, reached = steps_down(
            service.journal, stored, found, depth=depth, most_lines=most_lines
        )
        above: frozenset[str] = frozenset()
        if found.rollup is not None:
            above = service.journal.above([found.rollup.ref]).get(found.rollup.ref, above)
        return ShownStoredPeriod(
            period=found,
            node=with_others(way, self._opened),
            depth=reached,
            above=tuple(sorted(above)),
        )

    def stored_trends(self, *, when: str = "", period: str = "") -> TrendsOf:
        """As `trends`, for a page: from what is stored, whatever is due."""
        service = self._service()
        interval = parse_interval(service, when=when)
        level = parse_period(period) if period else _fitting(service, interval or Interval())
        found = StoredRollups(service.rollups).list_trends(interval or Interval(), level)
        return TrendsOf(interval=interval, trends=found)

    def trends(
        self, *, when: str = "", since: str = "", until: str = "", period: str = ""
    ) -> TrendsOf:
        """How much was recorded in each period of a time, and of what; counted, never guessed."""
        service = self._service()
        interval = parse_interval(service, when=when, since=since, until=until)
        level = parse_period(period) if period else _fitting(service, interval or Interval())
        return TrendsOf(
            interval=interval, trends=service.trends(interval or Interval(), level=level)
        )

    def status(self) -> TimelineStatus:
        """What is kept, what is due, and what retention and models would do."""
        service = self._service()
        return TimelineStatus(
            owner=service.journal.owner,
            zone=service.zone,
            tallies=tuple(
                EntryTally(entry_type=kind, status=status, count=count, first=first, last=last)
                for kind, status, count, first, last in service.journal.tallies()
            ),
            due=tuple(service.rollups.list_due()),
            retention=service.retention,
            model=self._model(),
        )

    def roll_up(self, *, progress: Callable[[int, int], None] | None = None) -> RolledUp:
        """Roll up all that is due, have models put it into words, apply retention.

        progress: called with how many are done and how many are left. A model that fails is named
        in a note. Raises: Unavailable.
        """
        service = self._service()
        service.feed()
        made = 0
        while some := service.rollups.catch_up(most=_AT_ONCE):
            made += some
            if progress is not None:
                progress(made, sum(x.count for x in service.rollups.list_due()))
        reworded, notes = self._put_into_words(progress)
        more, retained = service.run_due()
        service.filing().refresh(1.0)
        if retained.doubt:
            notes = (*notes, retained.doubt, AFTER_DOUBT)
        return RolledUp(made=made + more, reworded=reworded, retained=retained, notes=notes)

    def dry_run(self) -> DryRun:
        """What `roll_up` would do now; nothing is made, deleted, or asked of a model."""
        service = self._service()
        due = tuple(service.rollups.list_due())
        _, retained = service.run_due(dry_run=True)
        return DryRun(due=due, retained=retained, model=self._model())

    def rebuild(self, *, text: str) -> Rebuilt:
        """Make a period and all it is made from again, from the entries. Raises: as `show`."""
        service = self._service()
        level, interval = read_period(service, text)
        if not service.list_entries(interval, limit=1).entries:
            raise NotFound(f"Nothing is recorded in {render_interval(interval, service.zone)}.")
        assert interval.start is not None
        made = service.rollups.rebuild(level, interval.start)
        service.rollups.catch_up()
        service.filing().refresh(1.0)
        return Rebuilt(interval=interval, made=made)

    def find_deletable(self, ref: str) -> TimelineEntry | None:
        """The entry under a ref or an id; None for one that is gone, which summaries may quote.

        Raises: NotFound where there never was one; Invalid, Unavailable.
        """
        journal = self._service().journal
        made_id = ref.strip().removeprefix(f"{JOURNAL}:")
        return None if journal.is_gone(made_id) else journal.read(made_id)

    def delete(self, *, ref: str) -> tuple[Deleted, tuple[str, ...]]:
        """Delete an entry for good, and its text from every rollup, index and vector.

        With notes on what is not done yet. Raises: Invalid, NotFound, Unavailable.
        """
        return self._service().delete(ref.strip().removeprefix(f"{JOURNAL}:"))

    def import_memories(
        self,
        *,
        text: str,
        thread: str,
        noting: NotesImport = NOT_NOTED,
        progress: Callable[[int, int], None] | None = None,
    ) -> ImportedMemories:
        """Bring in a memory system's memories from JSON lines, each once. Raises: Invalid.

        noting: takes what is added.
        """
        from commonplace.journals.timeline.memories import MemoryBackend

        backend = MemoryBackend(self._service().journal)
        return backend.import_memories(text, thread=thread, noting=noting, progress=progress)

    def _entry_of(self, name: str) -> TimelineEntry | None:
        """The entry whose ref this is; None for a period's name, or its ref while none is stored.

        Raises: NotFound for another ref.
        """
        journal = self._service().journal
        made_id = name.removeprefix(f"{JOURNAL}:")
        if made_id == name:
            return None
        found = journal.find(made_id)
        return found if found is not None or find_rollup_key(made_id) else journal.read(made_id)

    def _opened(self, ref: str) -> Page | None:
        """The entry of another journal under a ref; None where it cannot be opened now."""
        opener = self._others().get(ref.partition(":")[0])
        with suppress(CommonplaceError):
            return None if opener is None else opener.read_ref(ref)
        return None

    def _put_into_words(
        self, progress: Callable[[int, int], None] | None
    ) -> tuple[Reworded | None, tuple[str, ...]]:
        """What models did, and notes on what they did not."""
        try:
            rewording = self._rewording()
            if rewording is None:
                return None, ()
            done = rewording.run(progress=progress)
        except CommonplaceError as exc:
            return None, (f"No model was asked: {exc}",)
        notes = [done.stopped] if done.stopped else []
        if done.failed and not done.stopped:
            periods = counted(done.failed, "period", "periods")
            notes.append(f"The model gave no usable summary of {periods}.")
        if done.poisoned:
            named = ", ".join(done.poisoned[:5])
            notes.append(f"Left alone after {MOST_FAILURES} failures, until they change: {named}.")
        return done, tuple(notes)

    def _model(self) -> ModelState:
        try:
            return ModelState(is_set=self._rewording() is not None)
        except CommonplaceError as exc:
            return ModelState(is_set=True, error=str(exc))


def _fitting(service: TimelineService, interval: Interval) -> Level:
    """The smallest level of which no more than two months' days are shown."""
    span = counted_span(service.journal, interval)
    if span is None:
        return "day"
    start, last = span
    end = last if interval.end is None else min(last, interval.end)
    days = (end - start).days + 1
    fitting = (level for level, each in _DAYS.items() if days / each <= _PERIODS_SHOWN)
    return next(fitting, "year")
