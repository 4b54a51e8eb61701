"""The port of summarisers: what a period is made of, what is counted in it, what comes back.

Never summarises and never reads a disk; journals and inference meet here, and `app` wires them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

from commonplace.core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Level
    from commonplace.core.values import Interval


class Measure(Struct, frozen=True, kw_only=True):
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


class Figures(Struct, frozen=True, kw_only=True):
    """What is counted from the rows of a period, never by a model; merges exactly.

    Attributes:
        hours: In how many hours of the clock one was written.
        first, last: When the earliest and the latest was written.
        measures, moods: What the entries' own metadata holds (productivity_score, sentiment);
            empty where none holds any.
        blockers, milestones: What entries name as such, each with when it was named last.

    The other mappings count entries by name.
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
    blockers: Mapping[str, datetime] = field(default_factory=dict)
    milestones: Mapping[str, datetime] = field(default_factory=dict)


_NUMBERS: Mapping[str, str] = {
    "hours_worked": "{:g} hours worked",
    "tasks_completed": "{:g} tasks completed",
    "tasks_in_progress": "{:g} tasks in progress",
    "productivity_score": "productivity {:g}",
    "sentiment": "sentiment {:.80}",
}


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


def last_named(
    named: Mapping[str, datetime], most: int | None = None
) -> list[tuple[str, datetime]]:
    """What entries named, each with when they did so last, oldest first; of many the last."""
    listed = sorted(named.items(), key=lambda x: (x[1], x[0]))
    return listed if most is None else listed[-most:]


def render_numbers(numbers: Mapping[str, Any]) -> str:
    """The numbers of a period in a line, `3.5 hours worked, productivity 7`; empty for none."""
    shown = []
    for name, said in _NUMBERS.items():
        if name in numbers:
            one = numbers[name] == 1
            shown.append((said.replace("s ", " ", 1) if one else said).format(numbers[name]))
    return ", ".join(shown)


_HOUR = re.compile(
    r"(?P<time>\[[^\]\n]+\]) [\d,]+ entr(?:y|ies)"
    r"(?P<names>(?:; (?:projects|tools): [^\n]*)?)\.(?=\n|$)"
)
_NAMED = re.compile(r"; (?:projects|tools): ")
_OF_AN_HOUR = re.compile(r"^(?:Figures: .*|Milestones:|Blockers:)$", re.MULTILINE)
_HEADING = re.compile(r"^\*\*(?:Figures\*\*: .*|[^*\n]+\*\*: ?)", re.MULTILINE)
_COUNTED = re.compile(r"^[\d,]+ entr(?:y|ies)(?: in [\d,]+ hours?)?(?:, .*\d)?\.$", re.MULTILINE)
_BLANK = re.compile(r"\n\s*\n")


def without_labels(text: str) -> str:
    """What a search reads of a summary: all but the words that every summary is laid out with.

    Else a question with one of them, such as "highlights", would find whichever summary is longest.
    """
    if text.startswith("**"):
        text = _HEADING.sub("", _COUNTED.sub("", text))
    else:
        text = _OF_AN_HOUR.sub("", text)
        if head := _HOUR.match(text):
            names = _NAMED.sub(", ", head["names"]).removeprefix(", ")
            named = f" {names}." if names else ""
            text = f"{head['time']}{named}{text[head.end() :]}"
    return _BLANK.sub("\n", text).strip()


def ranked(counts: Mapping[str, int], most: int | None = None) -> list[str]:
    """The names of counts, the most frequent first, then by name."""
    return sorted(counts, key=lambda name: (-counts[name], name))[:most]


class Point(Struct, frozen=True, kw_only=True):
    """A sentence worth keeping, as an entry has it: where it is from, when, and what it is.

    Attributes:
        decision: Whether the entry says that something was decided.
        weight: How much it counts, >= 0.
    """

    ref: str
    at: datetime
    text: str
    weight: float = 0.0
    decision: bool = False


class Item(Struct, frozen=True, kw_only=True):
    """One thing a rollup is made from: a raw entry, or the rollup of a smaller period.

    Attributes:
        text: What people read of it, a model's text where there is one. It is untrusted: what hands
            it to a model fences it.
        entries: The number of raw entries it stands for, itself included.
        points: What an extractive summary of it kept; empty for a raw entry.
        is_private: Whether some of it comes from the private journal, so that it goes to no model
            that is not on this machine.
    """

    ref: str
    at: datetime
    text: str
    kind: str = "raw"
    journal: str = "timeline"
    entries: int = 1
    points: tuple[Point, ...] = ()
    is_private: bool = False


class Material(Struct, frozen=True, kw_only=True):
    """All that a summary of one period is made from.

    Attributes:
        key: The period's own name (`2025-02-04T10`, `2025-02-04`, `2025-W06`, `2025-02`, `2025`).
        period: [start, end) in UTC.
        zone: The time zone that its bounds are in.
        items: Oldest first; never none where a summariser is asked.
        figures: Counted from rows; a summary repeats them, and invents no others.
        before: The period before it, to compare with; None where nothing is known of it.
    """

    owner: str
    level: Level
    key: str
    period: Interval
    zone: tzinfo
    items: tuple[Item, ...]
    figures: Figures
    before: PeriodBefore | None = None

    @property
    def is_private(self) -> bool:
        """Whether any of it comes from the private journal."""
        return any(item.is_private for item in self.items)


class PeriodBefore(Struct, frozen=True, kw_only=True):
    """The period before another of its level: what was counted, and what its summary quotes.

    A model's text of it is not here, which may tell of the one before that: so what was deleted
    is looked for in one period more, and no further.

    Attributes:
        material: Without items.
        points: What the extractive summary of it kept.
    """

    material: Material
    points: tuple[Point, ...]


class Summary(Struct, frozen=True, kw_only=True):
    """What a summariser gives back: the text, and what it cost.

    Attributes:
        generator: What wrote it, in the version it wrote it with (`extractive 3`,
            `<model> <prompt hash>`).
        points: What summaries of larger periods may quote; a model's summary leaves them empty, and
            those of the extractive summary stay.
        tokens_in, tokens_out: What the model read and wrote; 0 without a model.
        cost_usd: 0 without a model, None where no price is known.
    """

    text: str
    generator: str
    points: tuple[Point, ...] = ()
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = 0.0


class NoSummary(Invalid):
    """A model answered, and its answer is not a summary; spent: what that cost all the same."""

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
        """Known without asking a model; a text of another generator may be replaced by one of it.

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
        it was paid for): a failure of this period is counted, and after a few of them it
        is left alone until it changes.
        """
        ...


class Lineage(Protocol):
    """What knows which summaries an entry went into, so that one and the other are one hit."""

    def above(self, refs: Sequence[str]) -> Mapping[str, frozenset[str]]:
        """The refs of all summaries each of these went into, near and far; never raises."""
        ...
