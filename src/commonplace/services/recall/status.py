"""What there is: each journal's entries, what is pending, the index and the encoder.

Never loads a model, and never lets one broken part hide the others.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import render_instant
from commonplace.core.errors import CommonplaceError
from commonplace.core.fence import visible_line
from commonplace.core.ports import Tallying
from commonplace.core.values import Answer
from commonplace.search import policy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from commonplace.core.values import EncoderState, Tally
    from commonplace.services.recall.service import RecallDesk

_HEAD = ("JOURNAL", "ENTRIES", "PENDING", "LAST WRITE")
_MEGABYTE = 1_000_000


def status_page(desk: RecallDesk) -> str:
    """The facts of `status` as JSON."""
    return json.dumps(dict(status(desk).facts), ensure_ascii=False, indent=2)


def status(desk: RecallDesk) -> Answer:
    """A line for each journal, the index's size and the encoder's state; never raises for a part.

    Entries are those the index knows after a look at the journals; pending: without a vector.
    """
    encoder = desk.encoder()
    trouble: dict[str, str] = {}
    tallies: dict[str, Tally] = {}
    size: int | None = None
    try:
        desk.filing.refresh(policy.FILING_WAIT_S)
        if isinstance(desk.index, Tallying):
            tallies = {each.journal: each for each in desk.index.tally(encoder.identity)}
        size = desk.index.counts(encoder.identity).bytes
    except CommonplaceError as exc:
        trouble["index"] = exc.summary
    trouble |= {each.journal: each.why for each in reversed(desk.filing.behind())}
    trouble |= desk.lost
    names = list(dict.fromkeys([*desk.journals, *desk.lost, *tallies]))
    facts = {
        "journals": [
            _journal_facts(name, tallies.get(name), trouble.get(name, ""), counted=size is not None)
            for name in names
        ],
        "index": {"bytes": size, "trouble": trouble.get("index", "")},
        "encoder": _encoder_facts(encoder),
        "notes": list(desk.left_out),
    }
    return Answer(text="\n".join(_lines(desk, facts, tallies)), facts=facts)


def _journal_facts(
    name: str, tally: Tally | None, trouble: str, *, counted: bool
) -> dict[str, Any]:
    nothing = 0 if counted else None
    return {
        "journal": name,
        "entries": nothing if tally is None else tally.docs,
        "pending": nothing if tally is None else tally.pending,
        "last_write": tally.newest.isoformat() if tally and tally.newest else None,
        "trouble": trouble,
    }


def _encoder_facts(encoder: EncoderState) -> dict[str, str]:
    return {
        "name": encoder.name,
        "identity": encoder.identity,
        "state": encoder.state,
        "why": encoder.why,
    }


def _lines(desk: RecallDesk, facts: Mapping[str, Any], tallies: Mapping[str, Tally]) -> list[str]:
    rows = [_HEAD]
    for row in facts["journals"]:
        tally = tallies.get(row["journal"])
        newest = render_instant(tally.newest, desk.zone) if tally and tally.newest else "-"
        counts = (_count(row[name]) for name in ("entries", "pending"))
        rows.append((row["journal"], *counts, newest))
    lines = _aligned(rows)
    size = facts["index"]["bytes"]
    lines += ["", f"Index    {'unknown' if size is None else f'{size / _MEGABYTE:.1f} MB'}"]
    encoder = facts["encoder"]
    why = f": {encoder['why']}" if encoder["why"] else ""
    lines.append(f"Encoder  {encoder['identity'] or encoder['name']}, {encoder['state']}{why}")
    told = [row["trouble"] for row in facts["journals"]] + [facts["index"]["trouble"]]
    told += facts["notes"]
    notes = [f"Note: {visible_line(each)}" for each in dict.fromkeys(told) if each]
    return [*lines, *([""] if notes else []), *notes]


def _count(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Names and times to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return [
        f"{name:{widths[0]}}  {entries:>{widths[1]}}  {pending:>{widths[2]}}  {newest}"
        for name, entries, pending, newest in rows
    ]
