"""Owns what is counted of a period: from entries' metadata, merged exactly, as rows hold it.

Pure; no number comes from a model.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

from commonplace.core.rollups import Figures, Measure, ranked
from commonplace.journals.timeline.entry import names_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

COUNTED = (
    ("projects", "projects"),
    ("tags", "tags"),
    ("actions", "action"),
    ("tools", "tools_used"),
    ("moods", "sentiment"),
)
"""The parts of figures that count names, each with the key of an entry's metadata it counts."""

_PARTS = tuple(part for part, _ in COUNTED)
_MEASURES = ("productivity_score", "hours_worked", "tasks_completed", "tasks_in_progress")


def figures_of(entries: Iterable[tuple[datetime, Mapping[str, Any]]]) -> Figures:
    """What is counted of raw entries of one hour: (time, metadata) of each."""
    times: list[datetime] = []
    counts: dict[str, dict[str, int]] = {}
    measures: dict[str, Measure] = {}
    for at, metadata in entries:
        times.append(at)
        for part, key in COUNTED:
            for name in names_of(metadata, key):
                counted = counts.setdefault(part, {})
                counted[name] = counted.get(name, 0) + 1
        for name in _MEASURES:
            if (one := _measure(metadata.get(name))) is not None:
                measures[name] = measures[name].merged(one) if name in measures else one
    return Figures(
        entries=len(times),
        hours=1 if times else 0,
        first=min(times, default=None),
        last=max(times, default=None),
        **{part: dict(sorted(counted.items())) for part, counted in counts.items()},
        measures=dict(sorted(measures.items())),
    )


def counted_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What `figures_of` reads of an entry's metadata, and nothing else of it."""
    kept: dict[str, Any] = {key: list(names_of(metadata, key)) for _, key in COUNTED}
    kept |= {name: metadata.get(name) for name in _MEASURES if _measure(metadata.get(name))}
    return {key: value for key, value in kept.items() if value != []}


def _measure(value: object) -> Measure | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return Measure(count=1, total=value, least=value, most=value)


def merged(figures: Sequence[Figures]) -> Figures:
    """The figures of several spans that share no entry and no hour; the order does not matter."""
    measures: dict[str, Measure] = {}
    for each in figures:
        for name, measure in each.measures.items():
            measures[name] = measures[name].merged(measure) if name in measures else measure
    return Figures(
        entries=sum(x.entries for x in figures),
        hours=sum(x.hours for x in figures),
        first=min((x.first for x in figures if x.first is not None), default=None),
        last=max((x.last for x in figures if x.last is not None), default=None),
        **{part: _summed(getattr(x, part) for x in figures) for part in _PARTS},
        measures=dict(sorted(measures.items())),
    )


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(sorted(total.items()))


def numbers_of(figures: Figures) -> dict[str, float | str]:
    """What entries' own metadata held, in the design's keys: sums, a mean, the sentiment of most.

    Of several sentiments that are equally frequent it is `mixed`.
    """
    numbers: dict[str, float | str] = {
        name: round(measure.mean if name == "productivity_score" else measure.total, 6)
        for name, measure in figures.measures.items()
    }
    if moods := ranked(figures.moods, 2):
        is_mixed = len({figures.moods[name] for name in moods}) < len(moods)
        numbers["sentiment"] = "mixed" if is_mixed else moods[0]
    return numbers


def render_figures(figures: Figures) -> dict[str, Any]:
    """Figures as JSON holds them; `parse_figures` reads them back. Empty parts are left out."""
    counted = {part: dict(getattr(figures, part)) for part in _PARTS if getattr(figures, part)}
    measures = {k: [m.count, m.total, m.least, m.most] for k, m in figures.measures.items()}
    return {
        "entries": figures.entries,
        "hours": figures.hours,
        **({"first": figures.first.isoformat()} if figures.first else {}),
        **({"last": figures.last.isoformat()} if figures.last else {}),
        **counted,
        **({"measures": measures} if measures else {}),
    }


def parse_figures(stored: Mapping[str, Any]) -> Figures:
    """Figures from what `render_figures` wrote."""
    return Figures(
        entries=stored["entries"],
        hours=stored["hours"],
        first=datetime.fromisoformat(stored["first"]) if "first" in stored else None,
        last=datetime.fromisoformat(stored["last"]) if "last" in stored else None,
        **{part: stored[part] for part in _PARTS if part in stored},
        measures={
            name: Measure(count=count, total=total, least=least, most=most)
            for name, (count, total, least, most) in stored.get("measures", {}).items()
        },
    )
