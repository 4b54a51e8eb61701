"""Owns what is read of periods: what is stored of them, whether it is up to date, their trends.

Never rolls up. Reads raw entries of the hour that goes on alone, unless what is due is to be
computed: else the cost is that of the periods that are shown.
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from commonplace.core.clock import parse_time, render_time
from commonplace.core.rollups import Figures
from commonplace.journals.timeline.comparison import MOST_BEFORE, Comparison
from commonplace.journals.timeline.due_periods import MADE_FROM, is_open, smaller_of, span_at
from commonplace.journals.timeline.figures import merged, parse_figures
from commonplace.journals.timeline.queries import entry_of
from commonplace.journals.timeline.rollup_input import has_raw
from commonplace.journals.timeline.trends import Trend, Trends, list_spans, recorded_span, trend_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from typing import Any

    from commonplace.core.clock import Level
    from commonplace.core.values import Interval
    from commonplace.journals.timeline.due_periods import PeriodSpan
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.ports import TimelineRows
    from commonplace.journals.timeline.rollups import Computed, Rollups

_TICK = timedelta(microseconds=1)

PeriodState: TypeAlias = Literal["fresh", "older", "open", "unmade", "expired"]
"""Of a period's summary: up to date, or older than its entries; or not there, since the period goes
on, since it was not made yet, or since retention deleted it."""


class StoredPeriod(Struct, frozen=True, kw_only=True):
    """What is stored of a period.

    Attributes:
        rollup: None where none is stored, or where the period goes on.
        count: Entries it stands for, as far as they are counted.
        is_behind: Whether there are entries of it that no summary knows.
    """

    span: PeriodSpan
    state: PeriodState
    rollup: TimelineEntry | None = None
    count: int = 0
    is_behind: bool = False


class PeriodReader:
    """Reads what is stored of the periods of one owner's timeline."""

    def __init__(self, rollups: Rollups) -> None:
        self._rollups = rollups
        self._journal = rollups.journal

    def read(self, level: Level, at: datetime) -> StoredPeriod | None:
        """What is stored of the period that holds an instant; None where nothing was recorded.

        Raises: Unavailable.
        """
        with self._journal.database.reading() as conn:
            if conn is None:
                return None
            span = span_at(at, level, self._journal.due_periods.zone(conn))
            row = self._rollups.rows.find(conn, span)
            found = None if row is None or not row.content else self._journal.whole(conn, row)
            if found is not None and not (found.stale and self._is_open(span)):
                return StoredPeriod(
                    span=span,
                    state="older" if found.stale else "fresh",
                    rollup=found,
                    count=count_of(found),
                    is_behind=found.stale,
                )
            return self._without_rollup(conn, span) if has_raw(conn, span) else None

    def list_within(self, span: PeriodSpan) -> list[StoredPeriod]:
        """The periods that one is made from in which anything lies, oldest first; none of an hour.

        Raises: Unavailable.
        """
        with self._journal.database.reading() as conn:
            if conn is None:
                return []
            with conn.snapshot():
                return [*self._within(conn, span)]

    def list_trends(self, interval: Interval, level: Level, *, computes: Computed) -> Trends:
        """The periods of a level that overlap a span, from the first entry to the last, or to now.

        computes: `due`: all that is not rolled up; `open`: what goes on, the rest is named as
        behind. Raises: Invalid where there are more than 1,000 periods; Unavailable.
        """
        spans = [*list_spans(self._rollups, interval, level)]
        periods = self._trends_of(spans, computes)
        total = merged([each.figures for each in periods])
        return Trends(level=level, periods=tuple(periods), total=total)

    def compare(self, level: Level, at: datetime, *, computes: Computed) -> Comparison | None:
        """The period that holds an instant beside those before it; None where nothing is recorded.

        Those before the first entry do not count. computes: as `list_trends` takes it. Raises:
        Unavailable.
        """
        recorded, zone = recorded_span(self._journal), self._journal.zone
        if recorded is None:
            return None
        spans = [span_at(at, level, zone)]
        while len(spans) < MOST_BEFORE + 2 and spans[-1].start > recorded[0]:
            spans.append(span_at(spans[-1].start - _TICK, level, zone))
        now, *before = reversed(self._trends_of(spans[::-1], computes))
        passed = self._journal.clock() - now.start
        is_open = passed < now.end - now.start
        cut = None
        if is_open and before:
            end = min(spans[1].start + passed, spans[1].end)
            cut = self._until(spans[1], end, computes)
        return Comparison(
            level=level,
            now=now,
            is_open=is_open,
            last=cut or next((x for x in before[:1] if not x.expired), None),
            is_cut=cut is not None,
            before=tuple(x for x in before if not x.expired),
        )

    def _until(self, span: PeriodSpan, end: datetime, computes: Computed) -> Trend | None:
        """A period up to an instant, to the hour; None of an hour, and where no detail is kept.

        Of the part that the instant is in its own parts are read, as far down as they are kept.
        """
        parts: list[Trend] = []
        cut: list[Trend] = []
        inner = span
        while MADE_FROM[inner.level] is not None and inner.start < end:
            spans = [x for x in smaller_of(inner) if x.start < end]
            found = self._trends_of(spans, computes)
            if any(x.expired for x in found):
                break
            parts, inner = [*parts, *found[:-1]], spans[-1]
            cut = found[-1:]
        parts += cut
        return trend_of(span, merged([x.figures for x in parts])) if cut else None

    def _trends_of(self, spans: Sequence[PeriodSpan], computes: Computed) -> list[Trend]:
        """What is counted in periods of one level that follow one another, oldest first."""
        periods: list[Trend] = []
        with self._journal.database.reading() as conn:
            if spans and conn is not None:
                asked = self._asked(spans)
                rows = conn.run("figures_within", asked)
                stored = {
                    parse_time(start): parse_figures(json.loads(text)) for start, text in rows
                }
                due = self._due_among(conn, asked)
                for span in spans:
                    is_behind = span.start in due
                    figures = stored.get(span.start)
                    if figures is None or (
                        is_behind and (computes == "due" or self._is_open(span))
                    ):
                        periods.append(self._unstored_trend(conn, span, computes))
                    else:
                        periods.append(trend_of(span, figures, is_behind=is_behind))
        return periods

    def _within(self, conn: TimelineRows, span: PeriodSpan) -> Iterator[StoredPeriod]:
        smaller = MADE_FROM[span.level]
        if smaller is None:
            return
        spans = smaller_of(span)
        asked = self._asked(spans)
        rows = map(entry_of, conn.run("shown_rollups", asked))
        stored = {row.start: row for row in rows}
        due = self._due_among(conn, asked)
        for each in spans:
            row = stored.get(each.start)
            if row is not None:
                is_due = each.start in due
                yield StoredPeriod(
                    span=each,
                    state="older" if is_due else "fresh",
                    rollup=row,
                    count=count_of(row),
                    is_behind=is_due,
                )
            elif conn.run("has_shown", each.row).fetchone()[0]:
                yield self._without_rollup(conn, each)

    def _without_rollup(self, conn: TimelineRows, span: PeriodSpan) -> StoredPeriod:
        """A period that has none; one that goes on counts what its smaller ones do."""
        if not self._is_open(span):
            rows = self._rollups.rows
            is_expired = rows.mark_of(conn, span) is None and rows.is_expired(conn, span)
            state: PeriodState = "expired" if is_expired else "unmade"
            return StoredPeriod(span=span, state=state, is_behind=not is_expired)
        if MADE_FROM[span.level] is None:
            asked = {"start": render_time(span.start), "end": render_time(span.end)}
            count = int(conn.run("count_shown", asked).fetchone()[0])
            return StoredPeriod(span=span, state="open", count=count)
        parts = [*self._within(conn, span)]
        return StoredPeriod(
            span=span,
            state="open",
            count=sum(each.count for each in parts),
            is_behind=any(each.is_behind for each in parts),
        )

    def _unstored_trend(self, conn: TimelineRows, span: PeriodSpan, computes: Computed) -> Trend:
        if not has_raw(conn, span):
            return trend_of(span, Figures(), expired=self._rollups.rows.is_expired(conn, span))
        found = self._without_rollup(conn, span)
        if found.state == "open" or (computes == "due" and found.state != "expired"):
            figures = self._rollups.compute_input(span, smaller=computes).figures
            return trend_of(span, figures, is_behind=found.is_behind and computes == "open")
        return trend_of(
            span, Figures(), expired=found.state == "expired", is_behind=found.is_behind
        )

    def _asked(self, spans: Sequence[PeriodSpan]) -> dict[str, Any]:
        """Periods of one level, as the queries name them all."""
        return {
            "thread_id": self._journal.owner,
            "tz": spans[0].zone_name,
            "level": spans[0].number,
            "start": render_time(spans[0].start),
            "end": render_time(spans[-1].end),
        }

    def _is_open(self, span: PeriodSpan) -> bool:
        return is_open(span, self._journal.clock(), self._rollups.grace)

    def _due_among(self, conn: TimelineRows, asked: dict[str, Any]) -> frozenset[datetime]:
        rows = conn.run("dirty_within", asked)
        return frozenset(parse_time(start) for (start,) in rows)


def count_of(entry: TimelineEntry | None) -> int:
    """How many entries a rollup counts; 0 for none."""
    counted = 0 if entry is None else entry.metadata.get("entries", 0)
    return counted if isinstance(counted, int) else 0
