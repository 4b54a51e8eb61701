"""The timeline's verbs for people in words: what `verbs.timeline.keeping` returned, as answers.

Pure: never asks a journal or a clock. No tool is offered from here.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from commonplace.core.clock import local_date, render_instant, render_interval
from commonplace.core.fence import fenced, visible, visible_line
from commonplace.core.rollups import ranked
from commonplace.core.text import counted, opening
from commonplace.core.values import Interval
from commonplace.journals.timeline.entry import RAW, TYPES, label_of
from commonplace.verbs.answers import CAUTION, answer_of, interval_facts, time_lines
from commonplace.verbs.renderer import Renderer
from commonplace.verbs.timeline.keeping import ShownPeriod
from commonplace.verbs.timeline.lines import state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import tzinfo

    from commonplace.core.values import Answer, Page
    from commonplace.journals.timeline.expiry import RetentionResult
    from commonplace.journals.timeline.journal import Deleted
    from commonplace.journals.timeline.memories import ImportedMemories
    from commonplace.journals.timeline.retention import Retention
    from commonplace.journals.timeline.rollups import DueLevel
    from commonplace.journals.timeline.trends import Trends
    from commonplace.verbs.timeline.keeping import (
        DryRun,
        EntryTally,
        ModelState,
        Rebuilt,
        RolledUp,
        TimelineStatus,
        TrendsOf,
    )
    from commonplace.verbs.timeline.zoom import PeriodNode

_BAR = 24
_HOURS_A_DAY = 24
_NAMES_SHOWN = 10


def shown_answer(
    found: ShownPeriod | Page, zone: tzinfo, *, form: Literal["fenced", "plain"] = "fenced"
) -> Answer:
    """A period and what lies in it, or an entry and what is around it.

    Args:
        found: What is shown.
        zone: The user's, for its times.
        form: Of a period: `plain` without the fences that tell a model what is stored text, and
            with numbers in place of refs on the way down, in the order of the facts.
    """
    if not isinstance(found, ShownPeriod):
        return Renderer(zone=zone, place_of=lambda _journal, _scope: "").page(found)
    rollup, node = found.rollup, found.node
    lines = [f"{node.key}, {render_interval(Interval(start=rollup.start, end=rollup.end), zone)}"]
    lines.append(f"{rollup.ref}, {state_of(rollup)}")
    is_plain = form == "plain"
    if rollup.content and is_plain:
        lines += ["", visible(rollup.content)]
    elif rollup.content:
        lines += [CAUTION, fenced(rollup.content, rollup.ref)]
    else:
        lines.append("Nothing was recorded.")
    numbers = count(1)
    if down := [*_node_lines(node, zone, lambda ref: f"({next(numbers)})" if is_plain else ref)]:
        lines += ["", *(down if is_plain else [fenced("\n".join(down), "the way down")])]
    if node.is_cut:
        lines.append("Further down: show one of these, or give --depth.")
    if found.above:
        lines.append(f"Summed up in {', '.join(found.above)}")
    facts = {
        **rollup.as_dict(),
        "ref": rollup.ref,
        "period": node.key,
        "state": state_of(rollup),
        "down": [_node_facts(each) for each in node.down],
    }
    return answer_of(lines, facts)


def trends_answer(found: TrendsOf, zone: tzinfo) -> Answer:
    """Periods one below the other, each with a bar, and what was counted in all of them."""
    trends = found.trends
    lines = time_lines(found.interval, zone)
    is_any = any(x.figures.entries or x.expired for x in trends.periods)
    lines += [*_trend_lines(trends)] if is_any else ["No entries found."]
    return answer_of(lines, {"interval": interval_facts(found.interval), **trends.as_dict()})


def status_answer(status: TimelineStatus) -> Answer:
    """What is kept, what is due, and what retention and models would do."""
    zone = status.zone
    lines = [f"Timeline of {opening(status.owner, 60)!r} in {zone}"]
    lines += [*_tally_lines(status.tallies, zone)] or ["Nothing is recorded yet."]
    lines += ["", _due_line(status.due, zone)]
    lines += [f"Retention: {_retention(status.retention)}", _model_line(status.model)]
    facts = {
        "owner": status.owner,
        "timezone": str(zone),
        "entries": [
            {
                "entry_type": each.entry_type,
                "status": each.status,
                "count": each.count,
                "first": each.first.isoformat(),
                "last": each.last.isoformat(),
            }
            for each in status.tallies
        ],
        "due": _due_facts(status.due),
        "retention": _retention_facts(status.retention),
    }
    return answer_of(lines, facts)


def rolled_up_answer(done: RolledUp) -> Answer:
    """What was rolled up, put into words, archived and deleted."""
    lines = [f"Rolled up {_periods(done.made)}." if done.made else "Nothing was due."]
    model = None
    if done.reworded is not None:
        lines.append(f"A model put {_periods(done.reworded.done)} into words.")
        model = {
            "done": done.reworded.done,
            "failed": done.reworded.failed,
            "tokens": done.reworded.tokens,
            "cost_usd": done.reworded.cost_usd,
            "poisoned": done.reworded.poisoned,
        }
    lines += _retained_lines(done.retained, ("Archived", "Deleted"))
    facts = {"made": done.made, "model": model, **_retained_facts(done.retained)}
    return answer_of(lines, facts, done.notes)


def dry_run_answer(found: DryRun, zone: tzinfo) -> Answer:
    """What a run would do."""
    retained = _retained_lines(found.retained, ("Would archive", "Would delete"))
    lines = [_due_line(found.due, zone), *retained, _model_line(found.model)]
    return answer_of(lines, {"due": _due_facts(found.due), **_retained_facts(found.retained)})


def rebuilt_answer(done: Rebuilt, zone: tzinfo) -> Answer:
    """How many rollups were made again."""
    lines = [f"Made {_periods(done.made)} again, of {render_interval(done.interval, zone)}."]
    return answer_of(lines, {"made": done.made, "interval": interval_facts(done.interval)})


def deleted_answer(deleted: Deleted, notes: Sequence[str]) -> Answer:
    """An entry that is gone, and from how many rollups."""
    rollups = counted(deleted.rollups, "summary", "summaries")
    ref = visible_line(deleted.refs[0])
    facts = {"ref": ref, "refs": list(deleted.refs), "rollups": deleted.rollups}
    return answer_of([f"Deleted {ref}, and its text from {rollups}."], facts, notes)


def imported_answer(done: ImportedMemories, name: str) -> Answer:
    """What an import added. name: of the file."""
    lines = [f"{name}: {len(done.added):,} added, {done.repeated:,} already there."]
    if done.profile is not None:
        lines.append(f"The profile made of it: {done.profile.ref}")
    facts = {
        "added": len(done.added),
        "repeated": done.repeated,
        "profile": None if done.profile is None else done.profile.ref,
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


def _trend_lines(found: Trends) -> Iterator[str]:
    most = max(1, *(x.figures.entries for x in found.periods))
    width = max(len(x.key) for x in found.periods)
    yield f"{'PERIOD':{width}}  ENTRIES  HOURS"
    for each in found.periods:
        if each.expired:
            yield f"{each.key:{width}}  expired"
            continue
        entries, hours = each.figures.entries, each.figures.hours
        bar = "▇" * -(-entries * _BAR // most)
        yield f"{each.key:{width}}  {entries:>7,}  {hours:>5,}  {bar}".rstrip()
    total = found.total
    yield f"{'all':{width}}  {total.entries:>7,}  {total.hours:>5,}"
    if gone := sum(x.expired for x in found.periods):
        what = counted(gone, found.level, f"{found.level}s")
        yield f"Expired: {what}, which a larger period still counts."
    for label, counts in (("Projects", total.projects), ("Tags", total.tags)):
        if counts:
            names = ", ".join(f"{x} ({counts[x]:,})" for x in ranked(counts, _NAMES_SHOWN))
            yield f"{label}: {visible_line(names)}"


def _tally_lines(tallies: Sequence[EntryTally], zone: tzinfo) -> Iterator[str]:
    places = {kind: place for place, kind in enumerate(TYPES)}
    for each in sorted(tallies, key=lambda x: (places.get(x.entry_type, len(places)), x.status)):
        name = each.entry_type + ("" if each.status == "active" else f", {each.status}")
        span = f"{render_instant(each.first, zone)} to {render_instant(each.last, zone)}"
        yield f"  {name:26} {each.count:>9,}  {span}"


def _due_line(due: Sequence[DueLevel], zone: tzinfo) -> str:
    if not due:
        return "Due: nothing"
    counts = ", ".join(counted(x.count, x.level, f"{x.level}s") for x in due)
    return f"Due: {counts}, since {render_instant(min(x.oldest for x in due), zone)}"


def _due_facts(due: Sequence[DueLevel]) -> list[dict[str, Any]]:
    return [{"level": x.level, "count": x.count, "oldest": x.oldest.isoformat()} for x in due]


def _model_line(model: ModelState) -> str:
    return f"Model: {model.error or ('set' if model.is_set else 'none, by extraction')}"


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
