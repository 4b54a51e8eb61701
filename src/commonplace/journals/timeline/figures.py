"""Owns what is counted of a period: from entries' metadata, merged exactly, as rows hold it.

Pure; no number comes from a model.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

from commonplace.core.rollups import Figures, Measure, last_named
from commonplace.core.text import opening
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

NAMED = ("blockers", "milestones")
"""The parts that hold what entries name, and when they did so last; they are such lists, too."""

_MOST_NAMED = 100
_LONGEST_NAMED = 220
_LARGEST = 10**15
"""A number beyond it counts nothing that a person does, and sums of such are none in JSON."""

_PARTS = tuple(part for part, _ in COUNTED)
_MEASURES = ("productivity_score", "hours_worked", "tasks_completed", "tasks_in_progress")


def figures_of(entries: Iterable[tuple[datetime, Mapping[str, Any]]]) -> Figures:
    """What is counted of raw entries of one hour: (time, metadata) of each."""
    times: list[datetime] = []
    counts: dict[str, dict[str, int]] = {}
    measures: dict[str, Measure] = {}
    named: dict[str, list[Mapping[str, datetime]]] = {part: [] for part in NAMED}
    for at, metadata in entries:
        times.append(at)
        for part in NAMED:
            named[part].append(dict.fromkeys(_names(metadata, part), at))
        for part, key in COUNTED:
            for name in names_of(metadata, key):
                counted = counts.setdefault(part, {})
                counted[name] = counted.get(name, 0) + 1
        for name in _MEASURES:
            if (one := _measure(metadata.get(name))) is not None:
                measures[name] = measures[name].merged(one) if name in measures else one
    parts: dict[str, Any] = {x: dict(sorted(counted.items())) for x, counted in counts.items()}
    parts |= {part: _latest(found) for part, found in named.items()}
    return Figures(
        entries=len(times),
        hours=1 if times else 0,
        first=min(times, default=None),
        last=max(times, default=None),
        measures=dict(sorted(measures.items())),
        **parts,
    )


def _names(metadata: Mapping[str, Any], part: str) -> list[str]:
    return [opening(name, _LONGEST_NAMED) for name in names_of(metadata, part)]


def _latest(named: Iterable[Mapping[str, datetime]]) -> dict[str, datetime]:
    """What was named last of several lists, each once, in the order of time.

    The last 100 of a period are among the last 100 of its parts, in whichever order they merge.
    """
    last: dict[str, datetime] = {}
    for names in named:
        for name, at in names.items():
            last[name] = max(at, last.get(name, at))
    return dict(last_named(last, _MOST_NAMED))


def counted_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What `figures_of` reads of an entry's metadata, and nothing else of it."""
    kept: dict[str, Any] = {key: list(names_of(metadata, key)) for _, key in COUNTED}
    kept |= {part: _names(metadata, part) for part in NAMED}
    kept |= {name: metadata.get(name) for name in _MEASURES if _measure(metadata.get(name))}
    return {key: value for key, value in kept.items() if value != []}


def _measure(value: object) -> Measure | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > _LARGEST:
        return None
    return Measure(count=1, total=value, least=value, most=value)


def merged(figures: Sequence[Figures]) -> Figures:
    """The figures of several spans that share no entry and no hour; the order does not matter."""
    measures: dict[str, Measure] = {}
    for each in figures:
        for name, measure in each.measures.items():
            measures[name] = measures[name].merged(measure) if name in measures else measure
    parts: dict[str, Any] = {x: _summed(getattr(one, x) for one in figures) for x in _PARTS}
    parts |= {x: _latest(getattr(one, x) for one in figures) for x in NAMED}
    return Figures(
        entries=sum(x.entries for x in figures),
        hours=sum(x.hours for x in figures),
        first=min((x.first for x in figures if x.first is not None), default=None),
        last=max((x.last for x in figures if x.last is not None), default=None),
        measures=dict(sorted(measures.items())),
        **parts,
    )


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(sorted(total.items()))


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
        **{
            part: {name: at.isoformat() for name, at in found.items()}
            for part in NAMED
            if (found := getattr(figures, part))
        },
    }


def parse_figures(stored: Mapping[str, Any]) -> Figures:
    """Figures from what `render_figures` wrote."""
    parts: dict[str, Any] = {part: stored[part] for part in _PARTS if part in stored}
    parts |= {
        part: {name: datetime.fromisoformat(at) for name, at in stored[part].items()}
        for part in NAMED
        if part in stored
    }
    return Figures(
        entries=stored["entries"],
        hours=stored["hours"],
        first=datetime.fromisoformat(stored["first"]) if "first" in stored else None,
        last=datetime.fromisoformat(stored["last"]) if "last" in stored else None,
        measures={
            name: Measure(count=count, total=total, least=least, most=most)
            for name, (count, total, least, most) in stored.get("measures", {}).items()
        },
        **parts,
    )
