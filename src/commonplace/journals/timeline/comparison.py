"""Owns how a period is compared with those before it, and by which rule something gains speed.

Pure; no number comes from a model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from commonplace.core.rollups import numbers_of, ranked
from commonplace.journals.timeline.figures import merged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from commonplace.core.clock import Level
    from commonplace.core.rollups import Figures
    from commonplace.journals.timeline.trends import Trend

Course: TypeAlias = Literal["accelerating", "steady", "slowing", "stalled", "new"]

MOST_BEFORE = 8
"""So many periods before one make its mean."""

_CHANGED = 0.1
_FASTER, _SLOWER, _FEWEST = 1.25, 0.75, 2
_PROJECTS = 10
_JUDGED = frozenset({"week", "month", "year"})
_ALWAYS, _MEAN = frozenset({"entries", "hours_active"}), "productivity_score"
_COUNTED: tuple[str, ...] = (
    *("entries", "hours_active", "hours_worked", "tasks_completed", "tasks_in_progress"),
    _MEAN,
)


class Compared(Struct, frozen=True, kw_only=True):
    """One number of a period beside those before it; None where nothing is known of it.

    Attributes:
        arrow: Of the period against the last one: up or down by a tenth at least, or neither;
            empty where there is none to compare with.
    """

    name: str
    now: float | None
    last: float | None
    mean: float | None

    @property
    def arrow(self) -> str:
        """`↑`, `↓` or `→`, or empty."""
        if self.now is None or self.last is None:
            return ""
        least = self.last * _CHANGED
        if self.now > self.last and self.now - self.last >= least:
            return "↑"
        return "↓" if self.now < self.last and self.last - self.now >= least else "→"


class Comparison(Struct, frozen=True, kw_only=True):
    """A period beside the last one and the mean of those before it.

    Attributes:
        now: The period.
        is_open: Whether it still goes on.
        last: The one before; where `now` goes on, up to the same time in it, if that is known.
        is_cut: Whether `last` is cut so.
        before: The periods before it, the newest first, whole; without those that have expired.
    """

    level: Level
    now: Trend
    is_open: bool
    last: Trend | None
    is_cut: bool
    before: tuple[Trend, ...]

    @property
    def rows(self) -> list[Compared]:
        """Each number that any of them has."""
        before = [x.figures for x in self._mean_of]
        last = () if self.last is None else (self.last.figures,)
        carried = {name for x in (self.now.figures, *last, *before) for name in x.measures}
        rows: list[Compared] = []
        for name in _COUNTED:
            known = [x for x in (_number(each, name) for each in before) if x is not None]
            row = Compared(
                name=name,
                now=_number(self.now.figures, name),
                last=_number(last[0], name) if last else None,
                mean=sum(known) / len(known) if known else None,
            )
            rows += [row] if name in _ALWAYS | carried else []
        return rows

    @property
    def judged(self) -> Trend | None:
        """The newest period that is over, whose course is said; None where none is."""
        found = self.before[:1] if self.is_open else (self.now,)
        return next(iter(found), None)

    @property
    def courses(self) -> Mapping[str, Course]:
        """Of all entries, under an empty name, and of the projects: by the newest whole period.

        None of hours and days: a Sunday without an entry says nothing of a project.
        """
        judged, before = self.judged, self.before[self.is_open :][:MOST_BEFORE]
        if judged is None or not before or self.level not in _JUDGED:
            return {}
        counts = [x.figures for x in before]
        found: dict[str, Course] = {}
        if any(x.entries for x in (judged.figures, *counts)):
            found[""] = course_of(judged.figures.entries, [x.entries for x in counts])
        for name in ranked(merged([judged.figures, *counts]).projects, _PROJECTS):
            now = judged.figures.projects.get(name, 0)
            found[name] = course_of(now, [x.projects.get(name, 0) for x in counts])
        return found

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON holds it."""
        return {
            "period": self.now.key,
            "goes_on": self.is_open,
            "last": None if self.last is None else self.last.key,
            "to_the_same_time": self.is_cut,
            "mean_of": self.mean_of,
            "figures": {
                x.name: {"now": x.now, "last": x.last, "mean": x.mean, "arrow": x.arrow}
                for x in self.rows
            },
            "course_by": None if self.judged is None else self.judged.key,
            "course": self.courses.get(""),
            "projects": {name: x for name, x in self.courses.items() if name},
        }

    @property
    def mean_of(self) -> int:
        """Of how many periods the mean is."""
        return len(self._mean_of)

    @property
    def _mean_of(self) -> tuple[Trend, ...]:
        return self.before[:MOST_BEFORE]


def course_of(now: int, before: Sequence[int]) -> Course:
    """Whether something gains speed, by its entries in the newest whole period and those before.

    Args:
        now: In the newest whole period.
        before: In those before it, the newest first; never none.
    """
    mean = sum(before) / len(before)
    if not now:
        return "stalled"
    if not mean:
        return "new"
    if now >= _FASTER * mean and now - mean >= _FEWEST and now >= before[0]:
        return "accelerating"
    if now <= _SLOWER * mean and mean - now >= _FEWEST and now <= before[0]:
        return "slowing"
    return "steady"


def _number(figures: Figures, name: str) -> float | None:
    """One number of a period; where nothing was recorded nothing was worked."""
    if name in _ALWAYS:
        return figures.entries if name == "entries" else figures.hours
    found = numbers_of(figures).get(name)
    if isinstance(found, float | int):
        return found
    return None if figures.entries or name == _MEAN else 0
