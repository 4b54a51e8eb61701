"""How memory is shown: hits, records and lists as text for a model and as plain facts.

Pure: never asks a store or a clock. Stored text is always fenced, and nothing is shortened without
a sign of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from commonplace.core.clock import render_instant
from commonplace.core.fence import fenced, visible, visible_line
from commonplace.core.text import opening
from commonplace.journals.memory.entry import render_flags, snippet_of, version_of
from commonplace.journals.memory.records import (
    ChatMessage,
    Gratitude,
    JournalEntry,
    Preferences,
    Record,
    Todo,
    ref_of,
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
    interval_facts,
    less_facts,
    time_lines,
)
from commonplace.verbs.memory.finding import TOOL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import tzinfo

    from commonplace.core.values import Answer
    from commonplace.journals.memory.records import Kind, Records, Saved
    from commonplace.verbs.memory.finding import MemoryFound, MemoryHit, MemoryStats

NOTHING = "No memories found."
_LISTED = 1000


def found_answer(found: MemoryFound, *, explain: bool, card: bool) -> Answer:
    """What a search found.

    Args:
        found: What it found.
        explain: Whether each hit says how its score came about.
        card: Whether a card for those who look into all of that is part of it.
    """
    zone = found.zone
    lines = [*as_of_lines(found.before, zone), *time_lines(found.interval, zone)]
    lines += ["Open to-dos, newest first."] if found.todos else []
    lines += [CAUTION] if found.hits else [NOTHING]
    for number, hit in enumerate(found.hits, 1):
        head = f"{number}. [{hit.score:.3f}] {state_of(hit.entry, zone)}"
        lines += ["", head, *([explanation_of(hit)] if explain else [])]
        lines += chain_lines(hit, zone)
        lines.append(fenced(hit.snippet, hit.ref))
    if found.left_out:
        lines += ["", f"{found.left_out} more left out to stay within the budget of tokens."]
    return answer_of(lines, lambda: _facts(found, explain=explain, card=card), found.notes)


def _facts(found: MemoryFound, *, explain: bool, card: bool) -> dict[str, Any]:
    less = found.less_likely()
    results = [
        {**hit_facts(hit, explain=explain), **less_facts(hit.ref, less)} for hit in found.hits
    ]
    interval = interval_facts(found.interval)
    payload = {
        "status": "ok",
        "results": results,
        "duration_ms": found.duration_ms,
        **as_of_facts(found.before),
        **({} if interval is None else {"interval": interval}),
    }
    # The payload is the design's, which knows no time; the JSON of every search has one.
    facts = {"payload": payload, "left_out": found.left_out, "interval": interval}
    return {**facts, "card": _card(found, results)} if card else facts


def _card(found: MemoryFound, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The card of the memory design, section 6."""
    return {
        "status": "ok",
        "type": "card",
        "title": "Memory hits",
        "body": "Top results attached." if results else NOTHING,
        "meta": {"kind": "info"},
        "persisted_ids": {},
        "diagnostics": {
            "tool": TOOL,
            "duration_ms": found.duration_ms,
            "top_k_effective": found.top_k,
            "intent": found.intent,
            "tokens": found.tokens,
            "results": list(results),
        },
    }


def hit_facts(hit: MemoryHit, *, explain: bool) -> dict[str, Any]:
    """A hit as the payload has it. explain: whether it says how its score came about."""
    record = hit.entry
    facts = {
        "kind": record.kind,
        "ref_id": record.id,
        "ref": hit.ref,
        "snippet": visible(hit.snippet),
        "score": round(hit.score, 3),
        **(explanation_facts(hit) if explain else {}),
        "created_at": record.at.isoformat(),
        "cut": hit.cut,
        **chain_facts(hit),
    }
    return {**facts, "done": record.done} if isinstance(record, Todo) else facts


def state_of(record: Record, zone: tzinfo) -> str:
    """A record's kind and time, and what is not to be seen in its text."""
    odd = ""
    if isinstance(record, JournalEntry) and record.is_draft:
        odd = ", draft"
    if isinstance(record, Todo):
        odd = ", done" if record.done else ", not done"
    return f"{record.kind}{odd}, {render_instant(record.at, zone)}"


def record_facts(record: Record) -> dict[str, Any]:
    """A record as plain data; long texts are shortened, with a sign of it."""
    facts: dict[str, Any] = {
        "kind": record.kind,
        "ref_id": record.id,
        "ref": ref_of(record.kind, record.id),
        "created_at": record.at.isoformat(),
    }
    match record:
        case ChatMessage():
            return {**facts, "role": record.role, "text": _shown(record.text)}
        case JournalEntry():
            facts |= {"title": _shown(record.title), "body": _shown(record.body)}
            facts |= {"is_draft": record.is_draft}
        case Todo():
            facts |= {"title": _shown(record.title), "done": record.done}
        case Gratitude():
            facts |= {"text": _shown(record.text)}
        case Preferences():
            flags = render_flags(record.flags)
            facts |= {"text": _shown(record.text), "language": visible(record.language)}
            facts |= {"religion": None if record.religion is None else visible(record.religion)}
            facts |= {"flags": dict(record.flags) if len(flags) <= _LISTED else _shown(flags)}
        case _:
            assert_never(record)
    return {**facts, "updated_at": record.updated.isoformat()}


def _shown(text: str) -> str:
    return visible(opening(text, _LISTED))


def saved_answer(saved: Saved, kind: Kind, zone: tzinfo, notes: Sequence[str]) -> Answer:
    """That a record is kept, and under which ref."""
    ref = visible_line(ref_of(kind, saved.ref_id))
    facts: dict[str, Any] = {
        "kind": kind,
        "ref_id": saved.ref_id,
        "ref": ref,
        "is_new": saved.is_new,
    }
    if saved.record is None:
        line = f"{ref} was saved before and is deleted: nothing was added."
        return answer_of([line], {**facts, "created_at": None})
    facts |= {"created_at": saved.record.at.isoformat(), "text": saved.record.text}
    facts |= {"done": saved.record.done} if isinstance(saved.record, Todo) else {}
    line = f"{'Saved' if saved.is_new else 'Now saved:'} {ref} ({state_of(saved.record, zone)})."
    version = {saved.record.ref: version_of(saved.record)}
    return answer_of([line], facts, notes, written=version)


def list_answer(listed: Records, kind: Kind, zone: tzinfo) -> Answer:
    """Records of a kind, newest first."""
    lines = [CAUTION] if listed.records else [f"No {kind} is kept."]
    for record in listed.records:
        shown = opening(snippet_of(record), _LISTED)
        lines += ["", state_of(record, zone), fenced(shown, ref_of(kind, record.id))]
    lines += ["", *cursor_lines(listed.cursor)] if listed.cursor else []
    return answer_of(
        lines,
        lambda: {
            "kind": kind,
            "count": len(listed.records),
            "records": [record_facts(record) for record in listed.records],
            "cursor": visible_line(listed.cursor),
        },
    )


def stats_answer(stats: MemoryStats, zone: tzinfo) -> Answer:
    """How much is kept, and how much of it can be found."""
    lines = []
    for each in stats.kinds:
        drafts = f", {each.drafts} of them drafts" if each.drafts else ""
        newest = f", the newest {render_instant(each.newest, zone)}" if each.newest else ""
        lines.append(f"{each.kind}: {each.records}{drafts}{newest}")
    lines.append(f"Can be found: {stats.found}, {stats.pending} of them by words alone so far.")
    return answer_of(
        lines,
        lambda: {
            "kinds": {
                each.kind: {
                    "records": each.records,
                    "drafts": each.drafts,
                    "newest": each.newest.isoformat() if each.newest else None,
                }
                for each in stats.kinds
            },
            "found": stats.found,
            "pending": stats.pending,
        },
    )
