"""Owns what trends are, and of which periods: counts from rows, never from a model.

Only reads.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commonplace.core.clock import parse_time, period_key, render_time
from commonplace.core.errors import Invalid
from commonplace.core.rollups import Figures, last_named, numbers_of, ranked
from commonplace.journals.timeline.due_periods import span_at
from commonplace.journals.timeline.figures import NAMED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from commonplace.core.clock import Level
    from commonplace.core.values import Interval
    from commonplace.journals.timeline.due_periods import PeriodSpan
    from commonplace.journals.timeline.journal import TimelineJournal
    from commonplace.journals.timeline.rollups import Rollups

MOST_PERIODS = 1000
_SHOWN = 10
_LATEST = datetime.max.replace(tzinfo=UTC)


class Trend(Struct, frozen=True, kw_only=True):
    """One period: what was counted in it.

    Attributes:
        expired: No more is kept of it.
        is_behind: Whether there are entries of it that `figures` does not count.
    """

    key: str
    start: datetime
    end: datetime
    figures: Figures
    expired: bool = False
    is_behind: bool = False


class Trends(Struct, frozen=True, kw_only=True):
    """Periods of one level, oldest first, those without an entry too; and all of them together."""

    level: Level
    periods: tuple[Trend, ...]
    total: Figures

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON holds it."""
        return {
            "level": self.level,
            "periods": [
                {
                    "period": x.key,
                    "start": x.start.isoformat(),
                    **_figures_dict(x.figures),
                    **({"expired": True} if x.expired else {}),
                }
                for x in self.periods
            ],
            "total": _figures_dict(self.total),
        }


def trend_of(
    span: PeriodSpan, figures: Figures, *, expired: bool = False, is_behind: bool = False
) -> Trend:
    """A period with what was counted in it."""
    return Trend(
        key=period_key(span.start, span.level, span.zone),
        start=span.start,
        end=span.end,
        figures=figures,
        expired=expired,
        is_behind=is_behind,
    )


def recorded_span(
    journal: TimelineJournal, until: datetime = _LATEST
) -> tuple[datetime, datetime] | None:
    """When the first and the last thing that is counted was, up to an instant; None for nothing.

    What other journals add counts, and so does what expired and stands in a summary.
    """
    for first, last in journal.database.ask("reach", until=render_time(until)):
        return (parse_time(first), parse_time(last)) if first and last else None
    return None


def counted_span(journal: TimelineJournal, interval: Interval) -> tuple[datetime, datetime] | None:
    """The first and the last time that trends of a span cover; None where nothing is recorded.

    What is still to come counts only where the span has an end.
    """
    reached = recorded_span(journal)
    if reached is None:
        return None
    first, last = reached
    if interval.end is None:
        last = max(first, min(last, journal.clock()))
    return first if interval.start is None else max(first, interval.start), last


def list_spans(rollups: Rollups, interval: Interval, level: Level) -> Iterator[PeriodSpan]:
    """The periods of a level that overlap a span and lie between the first entry and the last.

    Raises: Invalid where they are more than 1,000.
    """
    found = counted_span(rollups.journal, interval)
    if found is None:
        return
    zone: tzinfo = rollups.journal.zone
    at, last = found
    for _ in range(MOST_PERIODS):
        if at > last or (interval.end is not None and at >= interval.end):
            return
        span = span_at(at, level, zone)
        yield span
        at = span.end
    if at <= last and (interval.end is None or at < interval.end):
        raise Invalid(
            f"More than {MOST_PERIODS:,} periods of a {level}.",
            hint="Ask for a shorter time, or a larger period.",
        )


def _figures_dict(figures: Figures) -> dict[str, Any]:
    return {
        "entries": figures.entries,
        "hours_active": figures.hours,
        "projects": {name: figures.projects[name] for name in ranked(figures.projects, _SHOWN)},
        "tags": {name: figures.tags[name] for name in ranked(figures.tags, _SHOWN)},
        **numbers_of(figures),
        **{
            part: [name for name, _ in named]
            for part in NAMED
            if (named := last_named(getattr(figures, part)))
        },
    }
