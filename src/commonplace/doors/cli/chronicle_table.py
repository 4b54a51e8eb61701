"""How entries stand in a table on a terminal: time, id, tags, folder, message.

Never asks a journal: it is handed the facts a tool answered.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from commonplace.core.clock import render_interval
from commonplace.core.values import Answer, Interval
from commonplace.doors.cli.terminal_width import cells, cut
from commonplace.tools.answers import when_of
from commonplace.tools.chronicle.tools import NOTHING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

_HEAD = ("TIME", "ID", "TAGS", "FOLDER", "MESSAGE")
_UNKNOWN = {"", "unknown", "/"}
_SHORT_ID = 8
_NARROWEST = 20
_WIDEST_TAGS, _WIDEST_FOLDER = 30, 24


def as_table(answer: Answer, zone: tzinfo, width: int | None) -> Answer:
    """A list's or a search's answer with a table for its text, a line for each entry.

    width: the terminal's columns, None where no message is to be cut.
    """
    facts = answer.facts
    lines = [f"Time: {_interval(facts['interval'], zone)}"] if facts["interval"] else []
    if facts["entries"]:
        rows = [_HEAD, *(_row(entry, zone) for entry in facts["entries"])]
        lines += _aligned(rows, width)
    else:
        lines.append(NOTHING)
    if facts["cursor"]:
        lines += ["", f"More with --cursor {facts['cursor']}"]
    if facts["notes"]:
        lines += ["", *(f"Note: {note}" for note in facts["notes"])]
    return Answer(text="\n".join(lines), facts=facts)


def _row(entry: dict[str, Any], zone: tzinfo) -> tuple[str, ...]:
    folder = entry["directory"]
    return (
        when_of(datetime.fromisoformat(entry["at"]), zone),
        _short_id(entry["id"]),
        cut(", ".join(entry["tags"]), _WIDEST_TAGS) or "-",
        "-"
        if folder in _UNKNOWN
        else cut(folder.rstrip("/\\").replace("\\", "/").rpartition("/")[2], _WIDEST_FOLDER),
        " ".join(entry["message"].split()),
    )


def _short_id(identity: str) -> str:
    return identity[:_SHORT_ID]


def _interval(facts: dict[str, str | None], zone: tzinfo) -> str:
    sides = {
        name: datetime.fromisoformat(at) if at else None
        for name, at in (("start", facts["since"]), ("end", facts["until"]))
    }
    return render_interval(Interval(**sides), zone)


def _aligned(rows: Sequence[tuple[str, ...]], width: int | None) -> list[str]:
    widths = [max(cells(row[column]) for row in rows) for column in range(len(_HEAD) - 1)]
    rest = None if width is None else max(width - sum(widths) - 2 * len(widths), _NARROWEST)
    lines = []
    for row in rows:
        padded = (
            cell + " " * (size - cells(cell)) for cell, size in zip(row, widths, strict=False)
        )
        lines.append("  ".join([*padded, row[-1] if rest is None else cut(row[-1], rest)]))
    return lines
