"""The timeline's verbs for people alone: zoom in, see trends, roll up what is due, delete.

Never offered to a model; decides nothing about periods, retention or models.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import render_instant, render_interval
from commonplace.core.errors import CommonplaceError, NotFound, Unavailable
from commonplace.core.fence import fenced, visible_line
from commonplace.core.rollups import LEVELS, MOST_FAILURES, ranked
from commonplace.core.text import opening
from commonplace.core.values import Interval
from commonplace.journals.timeline.entry import JOURNAL, NAMES, TYPES, find_rollup_key
from commonplace.journals.timeline.trends import counted
from commonplace.services.timeline.reading import read_period, read_within
from commonplace.services.timeline.zoom import node_lines, way_down, with_others
from commonplace.tools.answers import CAUTION
from commonplace.tools.renderer import Renderer
from commonplace.tools.timeline.lines import answer_of, interval_facts, state_of, time_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from commonplace.core.clock import Level
    from commonplace.core.ports import OpensRefs
    from commonplace.core.values import Answer, Page
    from commonplace.journals.timeline.entry import Entry
    from commonplace.journals.timeline.retention import LetGo
    from commonplace.journals.timeline.rewording import Rewording
    from commonplace.journals.timeline.rollups import DueLevel
    from commonplace.journals.timeline.trends import Trend, Trends
    from commonplace.services.timeline.service import TimelineDesk
    from commonplace.services.timeline.zoom import Node

_AT_ONCE = 200
_BAR = 24
_NAMES_SHOWN = 3
_PERIODS_SHOWN = 62
_DAYS: dict[Level, int] = {"day": 1, "week": 7, "month": 30, "year": 365}


class TimelineKeeping:
    """What people do with a timeline beside what a model may.

    rewording: makes what has a model put rollups into words, for one run; None without one.
    others: what opens the refs of other journals, by their names.
    """

    def __init__(
        self,
        desk: Callable[[], TimelineDesk],
        rewording: Callable[[], Rewording | None],
        others: Callable[[], Mapping[str, OpensRefs]] = dict,
    ) -> None:
        self._desk = desk
        self._rewording = rewording
        self._others = others

    def show(self, *, text: str, depth: int | None = None) -> Answer:
        """A period with the way down to each raw entry, or an entry with what is around it.

        text: `2026`, `2026-10`, `2026-W41`, `2026-10-07`, `2026-10-07 14`, a phrase such as `last
        week`, or a ref; blank for today. Raises: Invalid, NotFound, Unavailable.
        """
        desk = self._desk()
        name = text.strip() or "today"
        entry = self._entry_of(name)
        if entry is not None and not entry.level:
            renderer = Renderer(zone=desk.zone, place_of=lambda _journal, _scope: "")
            return renderer.page(desk.journal.pages().read_ref(entry.ref))
        if entry is not None:
            level, within = LEVELS[entry.level - 1], Interval(start=entry.start, end=entry.end)
        else:
            key = find_rollup_key(name.removeprefix(f"{JOURNAL}:"))
            level, within = read_period(desk, key or name)
        with suppress(Unavailable):
            desk.catch_up()  # what cannot be written now is told all the same
        found = desk.rollup(NAMES[level], within.start, partial=True)
        assert found is not None  # a period that goes on is computed
        node = with_others(way_down(desk, level, within, depth=depth), self._opened)
        return _shown(found, node, desk)

    def _entry_of(self, name: str) -> Entry | None:
        """The entry whose ref this is; None for a period's name, or its ref while none is stored.

        Raises: NotFound for another ref.
        """
        journal = self._desk().journal
        made_id = name.removeprefix(f"{JOURNAL}:")
        if made_id == name:
            return None
        found = journal.find(made_id)
        return found if found is not None or find_rollup_key(made_id) else journal.read(made_id)

    def trends(
        self, *, when: str = "", since: str = "", until: str = "", period: str = ""
    ) -> Answer:
        """How much was recorded in each period of a time, and of what; counted, never guessed."""
        from commonplace.services.timeline.service import parse_period

        desk = self._desk()
        within = read_within(desk, when=when, since=since, until=until)
        level = parse_period(period) if period else _fitting(desk, within)
        found = desk.trends(within or Interval(), level=level)
        lines = time_lines(within, desk.zone)
        told = any(x.figures.entries or x.expired for x in found.periods)
        lines += [*_trend_lines(found)] if told else ["No entries found."]
        facts = {"interval": interval_facts(within), **found.as_dict()}
        return answer_of(lines, facts)

    def status(self) -> Answer:
        """What is kept, what is due, and what retention and models would do."""
        desk = self._desk()
        rows = list(desk.journal.tallies())
        due = desk.rollups.list_due()
        lines = [f"Timeline of {opening(desk.journal.owner, 60)!r} in {desk.zone}"]
        lines += [*_tally_lines(rows, desk)] or ["Nothing is recorded yet."]
        lines += ["", _due_line(due, desk), f"Retention: {_retention(desk)}", self._model()]
        facts = {
            "owner": desk.journal.owner,
            "timezone": str(desk.zone),
            "entries": [
                {
                    "entry_type": kind,
                    "status": status,
                    "count": count,
                    "first": first.isoformat(),
                    "last": last.isoformat(),
                }
                for kind, status, count, first, last in rows
            ],
            "due": _due_facts(due),
            "retention": _retention_facts(desk),
        }
        return answer_of(lines, facts)

    def roll_up(self, *, tell: Callable[[int, int], None] | None = None) -> Answer:
        """Roll up all that is due, have models put it into words, let go of what is past its time.

        Raises: Unavailable; a model that fails is told in a note.
        """
        desk = self._desk()
        desk.feed()
        made = 0
        while some := desk.rollups.catch_up(most=_AT_ONCE):
            made += some
            if tell is not None:
                tell(made, sum(x.count for x in desk.rollups.list_due()))
        worded, notes = self._put_into_words(tell)
        more, gone = desk.run_due()
        made += more
        lines = [f"Rolled up {_periods(made)}." if made else "Nothing was due."]
        if worded:
            lines.append(f"A model put {_periods(worded['done'])} into words.")
        lines += _gone_lines(gone)
        desk.filing().refresh(1.0)
        facts = {"made": made, "model": worded, **_gone_facts(gone)}
        return answer_of(lines, facts, notes)

    def dry_run(self) -> Answer:
        """What `roll_up` would do now; nothing is made, let go of, or asked of a model."""
        desk = self._desk()
        due = desk.rollups.list_due()
        _, gone = desk.run_due(dry_run=True)
        lines = [_due_line(due, desk), *_gone_lines(gone, would=True), self._model()]
        return answer_of(lines, {"due": _due_facts(due), **_gone_facts(gone)})

    def rebuild(self, *, text: str) -> Answer:
        """Make a period and all it is made from anew, from the entries. Raises: as `show`."""
        desk = self._desk()
        level, within = read_period(desk, text)
        if not desk.list_entries(within, limit=1).entries:
            raise NotFound(f"Nothing is recorded in {render_interval(within, desk.zone)}.")
        assert within.start is not None
        made = desk.rollups.rebuild(level, within.start)
        desk.rollups.catch_up()
        desk.filing().refresh(1.0)
        lines = [f"Made {_periods(made)} anew, of {render_interval(within, desk.zone)}."]
        return answer_of(lines, {"made": made, "interval": interval_facts(within)})

    def delete(self, *, ref: str) -> Answer:
        """Delete an entry for good, and its text from every rollup, index and vector."""
        desk = self._desk()
        deleted, notes = desk.delete(ref.strip().removeprefix(f"{JOURNAL}:"))
        rollups = f"{deleted.rollups:,} {'summary' if deleted.rollups == 1 else 'summaries'}"
        lines = [f"Deleted {deleted.refs[0]}, and its text from {rollups}."]
        return answer_of(lines, {"refs": list(deleted.refs), "rollups": deleted.rollups}, notes)

    def import_memories(
        self, *, text: str, name: str, thread: str, tell: Callable[[int, int], None] | None = None
    ) -> Answer:
        """Bring in a memory system's memories from JSON lines, each once. Raises: Invalid."""
        from commonplace.journals.timeline.memories import (
            MemoryBackend,
        )

        desk = self._desk()
        done = MemoryBackend(desk.journal).import_memories(text, thread=thread, tell=tell)
        added, repeated = len(done.added), done.repeated
        lines = [f"{name}: {added:,} added, {repeated:,} already there."]
        if done.profile is not None:
            lines.append(f"The profile made of it: {done.profile.ref}")
        facts = {
            "added": added,
            "repeated": repeated,
            "profile": None if done.profile is None else done.profile.ref,
        }
        return answer_of(lines, facts)

    def _opened(self, ref: str) -> Page | None:
        """The entry of another journal under a ref; None where it cannot be opened now."""
        opener = self._others().get(ref.partition(":")[0])
        with suppress(CommonplaceError):
            return None if opener is None else opener.read_ref(ref)
        return None

    def _put_into_words(
        self, tell: Callable[[int, int], None] | None
    ) -> tuple[dict[str, Any] | None, list[str]]:
        """What models did, and notes on what they did not."""
        try:
            rewording = self._rewording()
            if rewording is None:
                return None, []
            done = rewording.run(tell=tell)
        except CommonplaceError as exc:
            return None, [f"No model was asked: {exc}"]
        notes = [done.stopped] if done.stopped else []
        if done.failed and not done.stopped:
            notes.append(f"The model gave no summary of use of {_periods(done.failed)}.")
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
        return facts, notes

    def _model(self) -> str:
        try:
            return f"Model: {'set' if self._rewording() is not None else 'none, by extraction'}"
        except CommonplaceError as exc:
            return f"Model: {exc}"


def _shown(found: Entry, node: Node, desk: TimelineDesk) -> Answer:
    zone = desk.zone
    lines = [f"{node.key}, {render_interval(Interval(start=found.start, end=found.end), zone)}"]
    lines.append(f"{found.ref}, {state_of(found)}")
    if found.content:
        lines += [CAUTION, fenced(found.content, found.ref)]
    else:
        lines.append("Nothing was recorded.")
    down = [*node_lines(node, zone)]
    if down:
        lines += ["", fenced("\n".join(down), "the way down")]
    if node.is_cut:
        lines.append("Further down: show one of these, or give --depth.")
    # A day has two: its week and its month.
    if above := desk.journal.above([found.ref]).get(found.ref):
        lines.append(f"Summed up in {', '.join(sorted(above))}")
    facts = {
        **found.as_dict(),
        "ref": found.ref,
        "period": node.key,
        "state": state_of(found),
        "down": node.as_dict()["down"],
    }
    return answer_of(lines, facts)


def _fitting(desk: TimelineDesk, within: Interval | None) -> Level:
    """The smallest level of which no more than two months' days are shown."""
    told = counted(desk.journal, within or Interval())
    if told is None:
        return "day"
    start, last = told
    end = min([last, *([within.end] if within and within.end else [])])
    days = (end - start).days + 1
    fitting = (level for level, each in _DAYS.items() if days / each <= _PERIODS_SHOWN)
    return next(fitting, "year")


def _trend_lines(found: Trends) -> Iterator[str]:
    most = max(1, *(x.figures.entries for x in found.periods))
    width = max(len(x.key) for x in found.periods)
    yield f"{'PERIOD':{width}}  ENTRIES  HOURS"
    for each in found.periods:
        yield _trend_line(each, width, most)
    total = found.total
    yield f"{'all':{width}}  {total.entries:>7,}  {total.hours:>5,}"
    if gone := sum(x.expired for x in found.periods):
        what = f"{gone:,} {found.level}{'s' if gone > 1 else ''}"
        yield f"Expired: {what}, which a larger period still counts."
    for label, counts in (("Projects", total.projects), ("Tags", total.tags)):
        if counts:
            names = ", ".join(f"{x} ({counts[x]:,})" for x in ranked(counts, 10))
            yield f"{label}: {visible_line(names)}"


def _trend_line(each: Trend, width: int, most: int) -> str:
    figures = each.figures
    if each.expired:
        return f"{each.key:{width}}  expired"
    bar = "▇" * -(-figures.entries * _BAR // most)
    return f"{each.key:{width}}  {figures.entries:>7,}  {figures.hours:>5,}  {bar}".rstrip()


def _tally_lines(rows: list[Any], desk: TimelineDesk) -> Iterator[str]:
    places = {kind: place for place, kind in enumerate(TYPES)}
    for kind, status, count, first, last in sorted(
        rows, key=lambda row: (places.get(row[0], len(places)), row[1])
    ):
        name = kind if status == "active" else f"{kind}, {status}"
        span = f"{render_instant(first, desk.zone)} to {render_instant(last, desk.zone)}"
        yield f"  {name:26} {count:>9,}  {span}"


def _due_line(due: list[DueLevel], desk: TimelineDesk) -> str:
    if not due:
        return "Due: nothing"
    told = ", ".join(f"{x.count:,} {x.level}{'' if x.count == 1 else 's'}" for x in due)
    return f"Due: {told}, since {render_instant(min(x.oldest for x in due), desk.zone)}"


def _due_facts(due: list[DueLevel]) -> list[dict[str, Any]]:
    return [{"level": x.level, "count": x.count, "oldest": x.oldest.isoformat()} for x in due]


def _retention(desk: TimelineDesk) -> str:
    if not desk.retention.is_on:
        return "off, nothing is let go of"
    kept = _retention_facts(desk)
    return ", ".join(f"{name} for {_days(hours)}" for name, hours in kept.items())


def _days(hours: float) -> str:
    return "1 day" if hours == 24 else f"{hours / 24:g} days"  # noqa: PLR2004


def _retention_facts(desk: TimelineDesk) -> dict[str, float]:
    """Hours that each level is kept; of what is kept for ever nothing."""
    return {name: each.total_seconds() / 3600 for name, each in desk.retention.keep.items()}


def _gone_lines(gone: LetGo, *, would: bool = False) -> list[str]:
    verbs = ("Would archive", "Would delete") if would else ("Archived", "Deleted")
    told = zip(
        (*verbs, "Kept, not covered yet:"), (gone.archived, gone.deleted, gone.kept), strict=True
    )
    return [f"{verb} {_counts(counts)}." for verb, counts in told if any(counts.values())]


def _gone_facts(gone: LetGo) -> dict[str, Any]:
    told = {"archived": gone.archived, "deleted": gone.deleted, "kept": gone.kept}
    return {
        name: {level: count for level, count in counts.items() if count}
        for name, counts in told.items()
    }


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)


def _periods(count: int) -> str:
    return f"{count:,} {'period' if count == 1 else 'periods'}"
