"""The timeline's verbs for people alone: drill down, roll up what is due, import.

Offered to no model; each gives an answer, as a tool does.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from commonplace.core.clock import find_period_key, local_date, render_instant, render_interval
from commonplace.core.errors import CommonplaceError, Invalid, NotFound, Unavailable
from commonplace.core.fence import fenced, visible, visible_line
from commonplace.core.import_notes import NOT_NOTED
from commonplace.core.present import AFTER_DOUBT
from commonplace.core.text import counted, opening
from commonplace.journals.timeline.due_periods import span_at
from commonplace.journals.timeline.entry import (
    LEVELS,
    NAMES,
    RAW,
    TYPES,
    find_rollup_key,
    id_of,
    label_of,
    span_of,
)
from commonplace.journals.timeline.model_texts import MOST_FAILURES
from commonplace.journals.timeline.pages import TimelinePages
from commonplace.journals.timeline.period_reader import PeriodReader, StoredPeriod
from commonplace.verbs.answers import CAUTION, answer_of, interval_facts
from commonplace.verbs.renderer import Renderer
from commonplace.verbs.timeline.drill_down import drill_down, with_others
from commonplace.verbs.timeline.lines import figures_lines, state_of, when_of
from commonplace.verbs.timeline.reading import read_period, read_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from commonplace.core.import_notes import NotesImport
    from commonplace.core.ports import OpensRefs
    from commonplace.core.values import Answer
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.expiry import RetentionResult
    from commonplace.journals.timeline.model_texts import ModelTexts
    from commonplace.journals.timeline.retention import Retention
    from commonplace.journals.timeline.rollups import DueLevel
    from commonplace.verbs.timeline.drill_down import PeriodNode
    from commonplace.verbs.timeline.service import TimelineService

MOST_LINES = 400
"""Lines of a way down that goes as far as it may; where there would be more it ends higher up."""

MOST_STEPS = 20_000
"""The same where a depth is asked for."""

_AT_ONCE = 200
_HOURS_A_DAY = 24


class ShownPeriod(Struct, frozen=True, kw_only=True):
    """A period as a page shows it, from what is stored.

    Attributes:
        period: What is stored of it.
        rollup: Its summary; None where none is stored; while it goes on what it would be now.
        parts: What is stored of the periods that it is made from, oldest first.
    """

    period: StoredPeriod
    rollup: TimelineEntry | None
    parts: Sequence[StoredPeriod]


class TimelineCommands:
    """What people do with a timeline beside what a model may.

    Args:
        service: one owner's timeline.
        model_texts: makes what has a model put rollups into words, for one run; None without one.
        others: what opens the refs of other journals, by their names.
    """

    def __init__(
        self,
        service: TimelineService,
        model_texts: Callable[[], ModelTexts | None],
        others: Callable[[], Mapping[str, OpensRefs]] = dict,
    ) -> None:
        self._service = service
        self._model_texts = model_texts
        self._others = others

    def show(
        self, text: str, *, depth: int | None = None, form: Literal["fenced", "plain"] = "fenced"
    ) -> Answer:
        """A period with the way down to each raw entry, or an entry with what is around it.

        Args:
            text: `2026`, `2026-10`, `2026-W41`, `2026-10-07`, `2026-10-07 14`, a phrase such as
                `last week`, or a ref; blank for today.
            depth: How many steps the way goes down; None for as many as a page of lines holds.
            form: Of a period: `plain` without the fences that tell a model what is stored text,
                and with numbers in place of refs on the way down, in the order of the facts.

        Raises:
            Invalid, NotFound, Unavailable.
        """
        service, name = self._service, text.strip() or "today"
        journal, zone = service.journal, service.zone
        entry = self._entry_of(name)
        if entry is not None and not entry.level:
            page = TimelinePages(journal).read_ref(entry.ref)
            return Renderer(zone=zone, place_of=lambda _journal, _scope: "").page(page)
        if entry is None:
            level, interval = read_period(service, find_rollup_key(id_of(name)) or name)
        else:
            level, interval = LEVELS[entry.level - 1], span_of(entry)
        at = interval.start
        assert at is not None
        with suppress(Unavailable):
            service.catch_up()  # what cannot be written now is shown all the same
        found = service.rollup(NAMES[level], at, partial=True)
        assert found is not None  # a period that goes on is computed
        reader = PeriodReader(service.rollups)
        empty = StoredPeriod(span=span_at(at, level, zone), state="fresh")
        node = drill_down(
            journal,
            reader,
            reader.read(level, at) or empty,
            depth=len(LEVELS) if depth is None else depth,
            most_lines=MOST_LINES if depth is None else MOST_STEPS,
        )
        # A day has two above it: its week and its month.
        above = journal.above([found.ref]).get(found.ref, frozenset())
        node = with_others(node, self._others)
        return _shown_period(found, node, sorted(above), zone, is_plain=form == "plain")

    def is_other_time(self, text: str) -> bool:
        """Whether a text names a time that is not one hour, day, week, month or year."""
        with suppress(Invalid):
            return read_time(self._service, text)[0] is None
        return False

    def show_stored(self, key: str) -> ShownPeriod | None:
        """A period as a page shows it; None where nothing was recorded, and for no period's key.

        Rolls nothing up and reads what is shown alone: a year of 20,000 entries that are not summed
        up takes 5 ms of the processor, in place of 4.5 s.

        key: Of the period: `2026`, `2026-10`, `2026-W41`, `2026-10-07`, `2026-10-07T14`.

        Raises: Unavailable.
        """
        rollups = self._service.rollups
        named = find_period_key(key, self._service.zone)
        if named is None or named[1].start is None:
            return None
        reader = PeriodReader(rollups)
        period = reader.read(named[0], named[1].start)
        if period is None:
            return None
        rollup = period.rollup
        if period.state == "open":
            rollup = rollups.compute(period.span, smaller="open")
        return ShownPeriod(period=period, rollup=rollup, parts=reader.list_within(period.span))

    def status(self) -> Answer:
        """What is kept, what is due, and what retention and models would do."""
        service, zone = self._service, self._service.zone
        counts, due = [*service.journal.count_types()], service.rollups.list_due()
        retention = service.retention
        places = {kind: place for place, kind in enumerate(TYPES)}
        lines = [f"Timeline of {opening(service.journal.owner, 60)!r} in {zone}"]
        for kind, status, number, first, last in sorted(
            counts, key=lambda x: (places.get(x[0], len(places)), x[1])
        ):
            name = kind + ("" if status == "active" else f", {status}")
            span = f"{render_instant(first, zone)} to {render_instant(last, zone)}"
            lines.append(f"  {name:26} {number:>9,}  {span}")
        lines += [] if counts else ["Nothing is recorded yet."]
        lines += [
            "",
            _due_line(due, zone),
            f"Retention: {_retention(retention)}",
            self._model_line(),
        ]
        facts = {
            "owner": service.journal.owner,
            "timezone": str(zone),
            "entries": [
                {
                    "entry_type": kind,
                    "status": status,
                    "count": number,
                    "first": first.isoformat(),
                    "last": last.isoformat(),
                }
                for kind, status, number, first, last in counts
            ],
            "due": _due_facts(due),
            "retention": _retention_facts(retention),
        }
        return answer_of(lines, facts)

    def roll_up(self, *, progress: Callable[[int, int], None] | None = None) -> Answer:
        """Roll up all that is due, have models put it into words, apply retention.

        progress: called with how many are done and how many are left. A model that fails is named
        in a note. Raises: Unavailable.
        """
        service = self._service
        service.feed()
        made = 0
        while some := service.rollups.catch_up(most=_AT_ONCE):
            made += some
            if progress is not None:
                progress(made, sum(x.count for x in service.rollups.list_due()))
        model_lines, model, notes = self._put_into_words(progress)
        more, retained = service.run_due()
        service.filing().refresh(1.0)
        if retained.doubt:
            notes += [retained.doubt, AFTER_DOUBT]
        made += more
        lines = [f"Rolled up {_periods(made)}." if made else "Nothing was due.", *model_lines]
        lines += _retained_lines(retained, ("Archived", "Deleted"))
        return answer_of(lines, {"made": made, "model": model, **_retained_facts(retained)}, notes)

    def dry_run(self) -> Answer:
        """What `roll_up` would do now; nothing is made, deleted, or asked of a model."""
        service = self._service
        due = service.rollups.list_due()
        _, retained = service.run_due(dry_run=True)
        lines = [_due_line(due, service.zone)]
        lines += _retained_lines(retained, ("Would archive", "Would delete"))
        lines.append(self._model_line())
        return answer_of(lines, {"due": _due_facts(due), **_retained_facts(retained)})

    def rebuild(self, text: str) -> Answer:
        """Make a period and all it is made from again, from the entries. Raises: as `show`."""
        service = self._service
        level, interval = read_period(service, text)
        shown = render_interval(interval, service.zone)
        if not service.list_entries(interval, limit=1).entries:
            raise NotFound(f"Nothing is recorded in {shown}.")
        assert interval.start is not None
        made = service.rollups.rebuild(level, interval.start)
        service.rollups.catch_up()
        service.filing().refresh(1.0)
        facts = {"made": made, "interval": interval_facts(interval)}
        return answer_of([f"Made {_periods(made)} again, of {shown}."], facts)

    def import_memories(
        self,
        *,
        text: str,
        thread: str,
        name: str,
        noting: NotesImport = NOT_NOTED,
        progress: Callable[[int, int], None] | None = None,
    ) -> Answer:
        """Bring in a memory system's memories from JSON lines, each once. Raises: Invalid.

        Args:
            text: The lines.
            thread: Only those of one thread; blank for all.
            name: Of the file.
            noting: Takes what is added.
            progress: Called with how many are done and how many are left.
        """
        from commonplace.journals.timeline.memories import MemoryBackend

        backend = MemoryBackend(self._service.journal)
        done = backend.import_memories(text, thread=thread, noting=noting, progress=progress)
        lines = [f"{name}: {len(done.added):,} added, {done.repeated:,} already there."]
        if done.profile is not None:
            lines.append(f"The profile made of it: {done.profile.ref}")
        facts = {
            "added": len(done.added),
            "repeated": done.repeated,
            "profile": None if done.profile is None else done.profile.ref,
        }
        return answer_of(lines, facts)

    def _entry_of(self, name: str) -> TimelineEntry | None:
        """The entry whose ref this is; None for a period's name, or its ref while none is stored.

        Raises: NotFound for another ref.
        """
        journal = self._service.journal
        entry_id = id_of(name)
        if entry_id == name:
            return None
        found = journal.find(entry_id)
        return found if found is not None or find_rollup_key(entry_id) else journal.read(entry_id)

    def _put_into_words(
        self, progress: Callable[[int, int], None] | None
    ) -> tuple[list[str], dict[str, Any] | None, list[str]]:
        """What models did, as lines and as facts, and notes on what they did not."""
        try:
            model_texts = self._model_texts()
            if model_texts is None:
                return [], None, []
            done = model_texts.run(progress=progress)
        except CommonplaceError as exc:
            return [], None, [f"No model was asked: {exc}"]
        notes = [done.stopped] if done.stopped else []
        if done.failed and not done.stopped:
            notes.append(f"The model gave no usable summary of {_periods(done.failed)}.")
        if done.poisoned:
            named = ", ".join(done.poisoned[:5])
            notes.append(f"Left alone after {MOST_FAILURES} failures, until they change: {named}.")
        facts = {
            "done": done.done,
            "failed": done.failed,
            "tokens": done.tokens,
            "cost_usd": done.cost_usd,
            "poisoned": done.poisoned,
        }
        return [f"A model put {_periods(done.done)} into words."], facts, notes

    def _model_line(self) -> str:
        try:
            return f"Model: {'none, by extraction' if self._model_texts() is None else 'set'}"
        except CommonplaceError as exc:
            return f"Model: {exc}"


def _shown_period(
    rollup: TimelineEntry,
    node: PeriodNode,
    above: Sequence[str],
    zone: tzinfo,
    *,
    is_plain: bool,
) -> Answer:
    lines = [f"{node.key}, {when_of(rollup, zone)}"]
    lines.append(f"{rollup.ref}, {state_of(rollup)}")
    lines += figures_lines(rollup)
    if not rollup.content:
        lines.append("Nothing was recorded.")
    elif is_plain:
        lines += ["", visible(rollup.content)]
    else:
        lines += [CAUTION, fenced(rollup.content, rollup.ref)]
    numbers = count(1)
    if down := [*_node_lines(node, zone, lambda ref: f"({next(numbers)})" if is_plain else ref)]:
        lines += ["", *(down if is_plain else [fenced("\n".join(down), "the way down")])]
    if node.is_cut:
        lines.append("Further down: show one of these, or give --depth.")
    if above:
        lines.append(f"Summed up in {', '.join(above)}")
    facts = {
        **rollup.as_dict(),
        "ref": rollup.ref,
        "period": node.key,
        "state": state_of(rollup),
        "down": [_node_facts(each) for each in node.down],
    }
    return answer_of(lines, facts)


def _node_lines(
    node: PeriodNode, zone: tzinfo, name_ref: Callable[[str], str], *, indent: int = 0
) -> Iterator[str]:
    """What lies below a node, each in a line, deeper ones indented."""
    for each in node.down:
        ref = f"  {name_ref(each.ref)}" if each.ref else ""
        yield visible_line(f"{'  ' * indent}{_node_line(each, zone)}{ref}")
        yield from _node_lines(each, zone, name_ref, indent=indent + 1)
    if node.lost:
        yield f"{'  ' * indent}({node.lost:,} no longer kept)"


def _node_line(node: PeriodNode, zone: tzinfo) -> str:
    """`14:00  3 entries`, `2026-10-07 Wed  …`, or the first words of an entry."""
    if node.level is None:
        return f"{render_instant(node.at, zone)[-5:]}  {node.text}"
    match node.level:
        case "hour":
            name = node.key.partition("T")[2][:2] + ":00" + ("b" if node.key.endswith("b") else "")
        case "day":
            name = f"{node.key} {local_date(node.at, zone):%a}"
        case level:
            name = f"{node.key} {label_of(level, node.at, zone)}"
    if node.state == "unmade" and not node.count:
        return f"{name}  not summed up yet"
    return f"{name}  {counted(node.count, 'entry', 'entries')}"


def _node_facts(node: PeriodNode) -> dict[str, Any]:
    return {
        "level": node.level or RAW,
        "period": node.key or None,
        "timestamp": node.at.isoformat(),
        "ref": visible_line(node.ref) or None,
        "entries": node.count,
        "no_longer_kept": node.lost,
        "text": visible_line(node.text),
        "down": [_node_facts(each) for each in node.down],
    }


def _due_line(due: Sequence[DueLevel], zone: tzinfo) -> str:
    if not due:
        return "Due: nothing"
    counts = ", ".join(counted(x.count, x.level, f"{x.level}s") for x in due)
    return f"Due: {counts}, since {render_instant(min(x.oldest for x in due), zone)}"


def _due_facts(due: Sequence[DueLevel]) -> list[dict[str, Any]]:
    return [{"level": x.level, "count": x.count, "oldest": x.oldest.isoformat()} for x in due]


def _retention(retention: Retention) -> str:
    if not retention.is_on:
        return "off, nothing is deleted"
    kept = ((name, hours / _HOURS_A_DAY) for name, hours in _retention_facts(retention).items())
    return ", ".join(f"{name} for {days:g} {'day' if days == 1 else 'days'}" for name, days in kept)


def _retention_facts(retention: Retention) -> dict[str, float]:
    """Hours that each level is kept; of what is kept for ever nothing."""
    return {name: each.total_seconds() / 3600 for name, each in retention.keep.items()}


def _retained_lines(retained: RetentionResult, verbs: tuple[str, str]) -> list[str]:
    lines = []
    for verb, counts in (
        (verbs[0], retained.archived),
        (verbs[1], retained.deleted),
        ("Kept, not covered yet:", retained.kept),
    ):
        if any(counts.values()):
            named = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
            lines.append(f"{verb} {named}.")
    return lines


def _retained_facts(retained: RetentionResult) -> dict[str, Any]:
    parts = {"archived": retained.archived, "deleted": retained.deleted, "kept": retained.kept}
    return {
        name: {level: count for level, count in counts.items() if count}
        for name, counts in parts.items()
    }


def _periods(count: int) -> str:
    return counted(count, "period", "periods")
