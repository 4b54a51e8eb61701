"""A figure: what was measured, the floor beside it, the limit it must keep, and how it is shown.

Never measures anything.
"""

from __future__ import annotations

import json
import platform
import statistics
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Spread(NamedTuple):
    """Repetitions of one measurement, summed up."""

    median: float
    least: float
    most: float
    times: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of at least one value."""
        return cls(statistics.median(values), min(values), max(values), len(values))

    def __str__(self) -> str:
        """`12.3 (11.8..14.0)`, or the value alone where it was measured once."""
        if self.times == 1:
            return _short(self.median)
        return f"{_short(self.median)} ({_short(self.least)}..{_short(self.most)})"


class Figure(Struct, frozen=True, kw_only=True):
    """One figure of the table.

    limit: what the median may be at most, or at least where `at_least`; None for what is only told.
    rule: how the limit comes from the floor, in words. note: what a reader must know of how it was
    measured.
    """

    name: str
    unit: str
    measured: Spread
    floor: Spread | None
    limit: float | None
    rule: str
    at_least: bool = False
    note: str = ""

    @property
    def ok(self) -> bool:
        """Whether the limit is kept; what has none is never over it."""
        if self.limit is None:
            return True
        if self.at_least:
            return self.measured.median >= self.limit
        return self.measured.median <= self.limit

    @property
    def ratio(self) -> float | None:
        """Measured by floor; None without a floor."""
        return self.measured.median / self.floor.median if self.floor else None

    def facts(self) -> dict[str, Any]:
        """The figure as JSON holds it."""
        return {
            "name": self.name,
            "unit": self.unit,
            "measured": self.measured._asdict(),
            "floor": self.floor._asdict() if self.floor else None,
            "ratio": self.ratio,
            "limit": self.limit,
            "rule": self.rule,
            "ok": self.ok,
            "note": self.note,
        }


def render_table(figures: Sequence[Figure]) -> str:
    """The figures as a plain table, the notes below it."""
    head = ("figure", "unit", "measured", "floor", "ratio", "limit", "rule", "")
    rows = [
        (
            figure.name,
            figure.unit,
            str(figure.measured),
            str(figure.floor or "-"),
            "-" if figure.ratio is None else f"{figure.ratio:.2f}",
            _limit(figure),
            figure.rule,
            _verdict(figure),
        )
        for figure in figures
    ]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [head, tuple("-" * width for width in widths), *rows]
    ]
    notes = dict.fromkeys(f"* {f.name}: {f.note}" for f in figures if f.note)
    return "\n".join([*lines, "", "Measured and floor are medians (least..most).", *notes])


def write_json(figures: Sequence[Figure], path: Path, *, mode: str, seconds: float) -> None:
    """Write the figures with what they were measured on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    facts = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "mode": mode,
        "seconds": round(seconds, 1),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "figures": [figure.facts() for figure in figures],
    }
    path.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def _limit(figure: Figure) -> str:
    if figure.limit is None:
        return "-"
    return f"{'>=' if figure.at_least else '<='} {_short(figure.limit)}"


def _verdict(figure: Figure) -> str:
    if figure.limit is None:
        return ""
    return "ok" if figure.ok else "UNDER" if figure.at_least else "OVER"


def _short(value: float) -> str:
    """Three digits, or all before the point."""
    before = len(str(int(abs(value))))
    return f"{value:,.{max(0, 3 - before)}f}"
