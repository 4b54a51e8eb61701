"""What a rollup is made of: its material, the figures counted from rows, the port of summarisers.

Never summarises and never reads a disk; journals and inference meet here, and `app` wires them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from commonplace.core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import tzinfo

    from commonplace.core.clock import Level
    from commonplace.core.values import Interval

PeriodName: TypeAlias = Literal["hourly", "daily", "weekly", "monthly", "yearly"]

LEVELS: tuple[Level, ...] = ("hour", "day", "week", "month", "year")
"""Lowest first; a level's number is its place here, from 1: raw entries are level 0."""

PERIODS: Mapping[PeriodName, Level] = {
    "hourly": "hour",
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "yearly": "year",
}

MADE_FROM: Mapping[Level, Level | None] = {
    "hour": None,
    "day": "hour",
    "week": "day",
    "month": "day",
    "year": "month",
}
"""What each level is made from; None: raw entries. Weeks do not nest in months, nor in years."""

MOST_FAILURES = 3
"""After so many failed tries a summariser is not asked again until a period's material changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A number that entries themselves carry, merged: how often, its sum, least and most."""

    count: int
    total: float
    least: float
    most: float

    @property
    def mean(self) -> float:
        """Of all that carried it."""
        return self.total / self.count

    def merged(self, other: Measure) -> Measure:
        """Both together."""
        return Measure(
            count=self.count + other.count,
            total=self.total + other.total,
            least=min(self.least, other.least),
            most=max(self.most, other.most),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What is counted from the rows of a period, never told by a model; merges exactly.

    entries: raw entries. hours: in how many hours of the clock one was written. first, last: when
    the earliest and the latest was. The mappings count entries by name. measures and moods: what
    entries' own metadata holds (productivity_score, sentiment); empty where none does.
    """

    entries: int = 0
    hours: int = 0
    first: datetime | None = None
    last: datetime | None = None
    projects: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, int] = field(default_factory=dict)
    actions: Mapping[str, int] = field(default_factory=dict)
    tools: Mapping[str, int] = field(default_factory=dict)
    moods: Mapping[str, int] = field(default_factory=dict)
    measures: Mapping[str, Measure] = field(default_factory=dict)


def merged(figures: Iterable[Figures]) -> Figures:
    """The figures of several spans that share no entry and no hour; the order does not matter."""
    parts = list(figures)
    measures: dict[str, Measure] = {}
    for part in parts:
        for name, measure in part.measures.items():
            measures[name] = measures[name].merged(measure) if name in measures else measure
    return Figures(
        entries=sum(x.entries for x in parts),
        hours=sum(x.hours for x in parts),
        first=min((x.first for x in parts if x.first is not None), default=None),
        last=max((x.last for x in parts if x.last is not None), default=None),
        projects=_summed(x.projects for x in parts),
        tags=_summed(x.tags for x in parts),
        actions=_summed(x.actions for x in parts),
        tools=_summed(x.tools for x in parts),
        moods=_summed(x.moods for x in parts),
        measures=dict(sorted(measures.items())),
    )


def ranked(counts: Mapping[str, int], most: int | None = None) -> list[str]:
    """The names of counts, the most frequent first, then by name."""
    return sorted(counts, key=lambda name: (-counts[name], name))[:most]


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(sorted(total.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A sentence worth keeping, as an entry has it: where it is from, when, and what it is.

    decision: the entry says that something was decided. weight: how much it stands for, >= 0.
    """

    ref: str
    at: datetime
    text: str
    weight: float = 0.0
    decision: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing a rollup is made from: a raw entry, or the rollup of a smaller period.

    text: what people read of it, a model's text where there is one. It is untrusted: whoever hands
    it to a model fences it. entries: raw entries it stands for, itself included. points: what an
    extractive summary of it kept; empty for a raw entry. is_private: some of it comes from the
    private journal, and goes to no model that is not on this machine.
    """

    ref: str
    at: datetime
    text: str
    kind: str = "raw"
    journal: str = "timeline"
    entries: int = 1
    points: tuple[Point, ...] = ()
    is_private: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """All that a summary of one period is made from.

    key: the period's own name (`2025-02-04T10`, `2025-02-04`, `2025-W06`, `2025-02`, `2025`).
    period: [start, end) in UTC. zone: what cut it. items: oldest first; never none where a
    summariser is asked. figures: counted from rows; a summary repeats them, and invents no others.
    """

    owner: str
    level: Level
    key: str
    period: Interval
    zone: tzinfo
    items: tuple[Item, ...]
    figures: Figures

    @property
    def is_private(self) -> bool:
        """Whether any of it comes from the private journal."""
        return any(item.is_private for item in self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a summariser gives back: the text, and what it cost.

    generator: what wrote it and would write it so again (`extractive 2`, `<model> <prompt hash>`).
    points: what summaries of larger periods may quote; a model's summary leaves them empty, and
    those of the extractive summary stay. tokens_in, tokens_out, cost_usd: 0 without a model; cost
    None where no price is known.
    """

    text: str
    generator: str
    points: tuple[Point, ...] = ()
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = 0.0


class NoSummary(Invalid):
    """A model answered, and its answer is no summary; spent: what that cost all the same."""

    def __init__(self, message: str, *, hint: str = "", spent: Summary) -> None:
        super().__init__(message, hint=hint)
        self.spent = spent


class Summariser(Protocol):
    """What puts a period into words. Thread-safe; holds no lock and no transaction of a journal.

    Two kinds are wired: the extractive one, which never fails and whose text always stands first,
    and perhaps one by a model, whose text replaces it later. The journal calls either with no
    transaction open, and commits what comes back only if the material is still the same.
    """

    @property
    def generator(self) -> str:
        """Told without asking anything; a text of another generator may be replaced by one of it.

        For a model: its name and a hash of the prompt, so that a better prompt is a new one.
        """
        ...

    def takes(self, material: Material) -> bool:
        """Whether it may and should be asked: a level it has, and text that may go where it is."""
        ...

    def summarise(self, material: Material) -> Summary:
        """The period in words.

        Raises: Unavailable when it cannot answer now (no connection, overloaded): this run stops
        asking, and no failure is counted. Denied when a cap of tokens or cost is reached: likewise.
        Invalid when this material gets no whole answer (cut, refused, malformed; `NoSummary` where
        it was paid for): a failure of this period is counted, and after `MOST_FAILURES` of them it
        is left alone until it changes.
        """
        ...


class Lineage(Protocol):
    """What knows which summaries an entry went into, so that one and the other are one hit."""

    def above(self, refs: Sequence[str]) -> Mapping[str, frozenset[str]]:
        """The refs of all summaries each of these went into, near and far; never raises."""
        ...


def render_figures(figures: Figures) -> dict[str, Any]:
    """Figures as JSON holds them; `parse_figures` reads them back. Empty parts are left out."""
    counted = {
        name: dict(getattr(figures, name))
        for name in ("projects", "tags", "actions", "tools", "moods")
        if getattr(figures, name)
    }
    measures = {k: [m.count, m.total, m.least, m.most] for k, m in figures.measures.items()}
    return {
        "entries": figures.entries,
        "hours": figures.hours,
        **({"first": figures.first.isoformat()} if figures.first else {}),
        **({"last": figures.last.isoformat()} if figures.last else {}),
        **counted,
        **({"measures": measures} if measures else {}),
    }


def parse_figures(told: Mapping[str, Any]) -> Figures:
    """Figures from what `render_figures` wrote."""
    return Figures(
        entries=told["entries"],
        hours=told["hours"],
        first=datetime.fromisoformat(told["first"]) if "first" in told else None,
        last=datetime.fromisoformat(told["last"]) if "last" in told else None,
        **{x: told[x] for x in ("projects", "tags", "actions", "tools", "moods") if x in told},
        measures={
            name: Measure(count=count, total=total, least=least, most=most)
            for name, (count, total, least, most) in told.get("measures", {}).items()
        },
    )
