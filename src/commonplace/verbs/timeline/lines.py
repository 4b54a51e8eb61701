"""The timeline in words: entries, rollups and lists as text for a model and as plain facts.

Pure but for whether a member of a space asks: never asks a journal or a clock. Stored text is
always fenced, and nothing is shortened without a sign of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commonplace.core.clock import render_instant, render_interval, render_time
from commonplace.core.fence import fenced, visible, visible_line
from commonplace.core.rollups import render_numbers
from commonplace.core.spaces import by_member, shown_author
from commonplace.core.text import excerpt, opening
from commonplace.journals.timeline.entry import (
    label_of,
    member_of,
    names_of,
    parse_level,
    ref_of,
    span_of,
)
from commonplace.verbs.answers import (
    CAUTION,
    answer_of,
    as_of_facts,
    as_of_lines,
    chain_facts,
    chain_lines,
    cursor_lines,
    explanation_facts,
    explanation_of,
    first_refs,
    interval_facts,
    less_facts,
    rounded,
    time_lines,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.values import Answer, Interval
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.verbs.timeline.finding import TimelineFound, TimelineHit

NOTHING = "No entries found."
MOST_SHOWN = 8000
"""Characters of stored text that a list shows, shared among its entries."""

SOURCES_SHOWN = 50
_SHORTEST, _LONGEST = 200, 2000
_NAMES_SHOWN = 20
_LONGEST_NAME = 80


def share_of(count: int) -> int:
    """How many characters of each of so many entries are shown."""
    return max(_SHORTEST, min(_LONGEST, MOST_SHOWN // max(count, 1)))


def state_of(entry: TimelineEntry) -> str:
    """What is true of a rollup: `partial`, `stale`, `empty` or `whole`; empty for what is none."""
    if not entry.level:
        return ""
    if entry.partial:
        return "partial"
    if entry.stale:
        return "stale"
    return "whole" if entry.content else "empty"


def when_of(entry: TimelineEntry, zone: tzinfo) -> str:
    """When it was: an instant, or the period that a rollup is of."""
    if entry.level:
        return render_interval(span_of(entry), zone)
    return render_instant(entry.at, zone)


def title_of(entry: TimelineEntry, zone: tzinfo) -> str:
    """The time of an entry in few words: `October 2026`, `2026-10-07 14:05`."""
    level = parse_level(entry.level)
    return label_of(level, entry.start, zone) if level else render_instant(entry.at, zone)


def label_line(entry: TimelineEntry, zone: tzinfo) -> str:
    """What the fence of an entry names: ref, time, type, and what is not as it seems."""
    state = state_of(entry)
    odd = f", {state}" if state in {"partial", "stale"} else ""
    by = by_member(member_of(entry.metadata))
    return f"{entry.ref} {title_of(entry, zone)} {entry.entry_type}{odd}{by}"


def entry_facts(entry: TimelineEntry, zone: tzinfo, text: str) -> dict[str, Any]:
    """An entry as plain data. text: as much of it as is shown."""
    member = member_of(entry.metadata)
    return {
        "ref": visible_line(entry.ref),
        "entry_type": entry.entry_type,
        "timestamp": render_time(entry.at),
        "when": when_of(entry, zone),
        "rollup_level": entry.level,
        "state": state_of(entry) or None,
        "entries": entry.metadata.get("entries") if entry.level else None,
        "projects": _names(entry, "projects"),
        "tags": _names(entry, "tags"),
        "text": visible(text),
        "cut": text != entry.content,
        **({"author": author} if (author := shown_author(member)) else {}),
    }


def _names(entry: TimelineEntry, key: str) -> list[str]:
    found = names_of(entry.metadata, key)
    return [visible_line(opening(name, _LONGEST_NAME)) for name in found[:_NAMES_SHOWN]]


def found_answer(
    found: TimelineFound, query: str, before: datetime | None, zone: tzinfo, *, explain: bool
) -> Answer:
    """What a search found, best first; of each the part that bears most words of the question.

    Args:
        found: What it found.
        query: The question.
        before: The instant as of which it was asked; None for the present.
        zone: In which times are shown.
        explain: Whether each hit says how its score came about.
    """
    share = share_of(len(found.hits))
    shown = [(hit, excerpt(hit.entry.content, query, share)) for hit in found.hits]
    lines = [*as_of_lines(before, zone), *time_lines(found.interval, zone, found.phrase)]
    if found.leans:
        lines[-1] += ": entries of that time count for more."
    lines += [CAUTION] if shown else [NOTHING]
    for number, (hit, text) in enumerate(shown, 1):
        score = "" if hit.score is None else f" [{hit.score:.3f}]"
        lines += ["", f"{number}.{score} {when_of(hit.entry, zone)}"]
        lines += [explanation_of(hit)] if explain else []
        lines += [*chain_lines(hit, zone), fenced(text, label_line(hit.entry, zone))]
        lines += [f"Same: {', '.join(first_refs(hit.also))}"] if hit.also else []
    return answer_of(
        lines,
        lambda: {
            "count": len(shown),
            "interval": interval_facts(found.interval),
            "read_from": opening(found.phrase, 120),
            "leans": found.leans,
            "results": _results(shown, found.less_likely(), zone, explain=explain),
            **as_of_facts(before),
        },
        found.notes,
    )


def _results(
    shown: Sequence[tuple[TimelineHit, str]], less: frozenset[str], zone: tzinfo, *, explain: bool
) -> list[dict[str, Any]]:
    """Hits as plain data, with the text that is shown of each."""
    return [
        {**_hit_facts(hit, zone, text, explain=explain), **less_facts(hit.ref, less)}
        for hit, text in shown
    ]


def _hit_facts(hit: TimelineHit, zone: tzinfo, text: str, *, explain: bool) -> dict[str, Any]:
    """A hit as plain data; its score is null where it was only listed."""
    return {
        **entry_facts(hit.entry, zone, text),
        "score": rounded(hit.score),
        **(explanation_facts(hit) if explain else {}),
        "also": first_refs(hit.also),
        **chain_facts(hit),
    }


def figures_lines(entry: TimelineEntry) -> list[str]:
    """A line of the numbers that entries of a rollup carried, where its own text has none."""
    said = render_numbers(entry.metadata)
    return [f"Figures: {visible_line(said)}"] if said and said not in entry.content else []


def list_answer(
    entries: Sequence[TimelineEntry],
    interval: Interval | None,
    *,
    cursor: str,
    zone: tzinfo,
    share: int | None = None,
) -> Answer:
    """Entries one below the other, each as whole as its share allows.

    Args:
        entries: In the order in which they are shown.
        interval: The time that was asked for, None for any.
        cursor: Of the next page; empty where this was the last.
        zone: In which times are shown.
        share: Characters of each; None for what a list of so many has room for.
    """
    share = share or share_of(len(entries))
    texts = [opening(entry.content, share) for entry in entries]
    lines = time_lines(interval, zone)
    lines += [CAUTION] if entries else [NOTHING]
    for entry, text in zip(entries, texts, strict=True):
        lines += ["", fenced(text, label_line(entry, zone))]
    lines += ["", *cursor_lines(cursor)] if cursor else []
    return answer_of(
        lines,
        lambda: {
            "count": len(entries),
            "interval": interval_facts(interval),
            "cursor": cursor,
            "entries": [entry_facts(x, zone, text) for x, text in zip(entries, texts, strict=True)],
        },
    )


def rollup_answer(entry: TimelineEntry, zone: tzinfo, notes: Sequence[str] = ()) -> Answer:
    """A rollup whole, how fresh it is, and the refs of what it was made from."""
    named = (name if ":" in name else ref_of(name) for name in entry.sources)
    refs = [visible_line(ref) for ref in named]
    lines = [f"Period: {label_line(entry, zone)}", f"Time: {when_of(entry, zone)}"]
    lines.append(f"State: {_freshness(entry, zone)}")
    if entry.content:
        # A sentiment may be any text, too.
        said = "\n".join([*figures_lines(entry), entry.content])
        lines += [CAUTION, fenced(said, entry.ref)]
    if refs:
        more = len(refs) - SOURCES_SHOWN
        shown = ", ".join([*refs[:SOURCES_SHOWN], *([f"and {more:,} more"] if more > 0 else [])])
        lines.append(f"Made from {len(refs):,}: {shown}")
    if entry.parent_id:
        lines.append(f"Summed up in: {ref_of(entry.parent_id)}")
    return answer_of(
        lines,
        lambda: {
            **entry_facts(entry, zone, entry.content),
            "period": entry.metadata.get("period", ""),
            "interval": interval_facts(span_of(entry)),
            "made_at": None if entry.partial else render_time(entry.updated),
            "made_from": refs[:SOURCES_SHOWN],
            "made_from_count": len(refs),
            "summed_up_in": ref_of(entry.parent_id) if entry.parent_id else None,
            "metadata": {
                key: _names(entry, key) if isinstance(value, list) else value
                for key, value in entry.metadata.items()
                if key not in {"source_entries", "period", "partial"}
            },
        },
        notes,
    )


def _freshness(entry: TimelineEntry, zone: tzinfo) -> str:
    made = f"made {render_instant(entry.updated, zone)} by {_maker(entry)}"
    match state_of(entry):
        case "partial":
            return f"partial: the period goes on; computed now by {_maker(entry)}"
        case "stale":
            return f"stale: something of it changed since it was {made}"
        case "empty":
            return "empty: nothing was recorded in this period"
        case _:
            return f"whole, {made}"


def _maker(entry: TimelineEntry) -> str:
    return visible_line(str(entry.metadata.get("llm_model") or "extraction, without a model"))
