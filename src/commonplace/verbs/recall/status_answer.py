"""What there is, as a table for people and as JSON for a host.

Never looks at a journal itself.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import render_instant
from commonplace.core.fence import visible_line
from commonplace.core.text import counted
from commonplace.core.values import Answer
from commonplace.verbs.private.recovery import gone_sentence
from commonplace.verbs.project_answers import project_facts, project_lines

if TYPE_CHECKING:
    from datetime import tzinfo

    from commonplace.verbs.recall.status import RecallStatus, StatusService
    from commonplace.verbs.transcripts.safety import Safety

_HEAD = ("JOURNAL", "ENTRIES", "PENDING", "LAST WRITE")
_MEGABYTE = 1_000_000


def status_page(service: StatusService) -> str:
    """The facts of `status_answer` as JSON."""
    return json.dumps(_facts(service.read()), ensure_ascii=False, indent=2)


def status_answer(service: StatusService) -> Answer:
    """A line for each journal, the index's size and the encoder's state."""
    status = service.read()
    return Answer("\n".join(_lines(status, service.zone)), lambda: _facts(status))


def _facts(status: RecallStatus) -> dict[str, Any]:
    return {
        "journals": [
            {
                "journal": each.name,
                "entries": each.entries,
                "summaries": each.summaries,
                "client_notes": each.client_notes,
                "pending": each.pending,
                "last_write": each.last_write.isoformat() if each.last_write else None,
                "trouble": each.trouble,
            }
            for each in status.journals
        ],
        "index": {"bytes": status.index_bytes, "trouble": status.index_trouble},
        "encoder": {
            "name": status.encoder.name,
            "identity": status.encoder.identity,
            "state": status.encoder.state,
            "why": status.encoder.why,
        },
        "project": project_facts(status.project) if status.project else None,
        "sessions": _session_facts(status.sessions),
        "imported": [
            {"program": x.program, "into": x.into, "entries": x.entries, "last": x.last}
            for x in status.imported
        ],
        "last_backup": status.last_backup
        and {"at": status.last_backup.at.isoformat(), "path": status.last_backup.path},
        "gone": status.gone
        and {"notes": status.gone.count, "since": status.gone.since.isoformat()},
        "notes": list(status.left_out),
    }


def _session_facts(sessions: Safety | None) -> dict[str, Any] | None:
    if sessions is None:
        return None
    return {
        "safe": sessions.safe,
        "waiting": sessions.waiting,
        "days_left": sessions.days_left,
        "left_out": [
            {"client": client, "why": kind.why, "kind": kind.kind, "count": count}
            for client, kind, count in sessions.left_out
        ],
    }


def _lines(status: RecallStatus, zone: tzinfo) -> list[str]:
    rows: list[tuple[str, ...]] = [_HEAD]
    for each in status.journals:
        newest = render_instant(each.last_write, zone) if each.last_write else "-"
        counts = ("?" if n is None else f"{n:,}" for n in (each.entries, each.pending))
        rows.append((each.name, *counts, newest))
    # Names and times to the left, numbers to the right.
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = [
        f"{name:{widths[0]}}  {entries:>{widths[1]}}  {pending:>{widths[2]}}  {newest}"
        for name, entries, pending, newest in rows
    ]
    lines += [
        f"{each.name} has {each.summaries:,} summaries besides."
        for each in status.journals
        if each.summaries
    ]
    for each in status.journals:
        if each.client_notes:
            notes_of = counted(each.client_notes, "note", "notes")
            lines.append(f"{each.name} has {notes_of} of the clients' own besides.")
    if any(each.pending for each in status.journals):
        until = "the next search" if status.encoder.state == "ready" else "the encoder is ready"
        lines.append(f"What is pending is found by words alone until {until}.")
    size = status.index_bytes
    lines += ["", f"Index    {'unknown' if size is None else f'{size / _MEGABYTE:.1f} MB'}"]
    encoder = status.encoder
    why = f": {encoder.why}" if encoder.why else ""
    lines.append(f"Encoder  {encoder.identity or encoder.name}, {encoder.state}{why}")
    if status.last_backup:
        made = status.last_backup
        where = f"in {made.path}" if made.path else "downloaded from the page"
        lines.append(visible_line(f"Backup   {render_instant(made.at, zone)}, {where}"))
    if status.gone:
        lines.append(gone_sentence(status.gone, zone))
    lines += (
        [visible_line(each) for each in project_lines(status.project)] if status.project else []
    )
    lines += [
        visible_line(f"Imported {x.entries:,} from {x.program} into {x.into}, last {x.last[:10]}")
        for x in status.imported
    ]
    if status.sessions and status.sessions.sentences:
        lines += ["", *status.sessions.sentences]
    wrong = [each.trouble for each in status.journals]
    wrong += [status.index_trouble, *status.left_out]
    notes = [f"Note: {visible_line(each)}" for each in dict.fromkeys(wrong) if each]
    return [*lines, *([""] if notes else []), *notes]
