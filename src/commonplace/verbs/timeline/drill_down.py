"""The way down from a period to each raw entry: what lies in it, level by level.

Only reads; what is not rolled up yet stands in its place all the same.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.clock import period_key
from commonplace.core.errors import CommonplaceError
from commonplace.core.text import body_of, first_words
from commonplace.journals.timeline.entry import JOURNAL, RAW
from commonplace.journals.timeline.feed import list_fed
from commonplace.journals.timeline.journal import MOST_LISTED
from commonplace.journals.timeline.period_reader import count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from commonplace.core.clock import Level
    from commonplace.core.ports import OpensRefs
    from commonplace.journals.timeline.due_periods import PeriodSpan
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.journal import TimelineJournal
    from commonplace.journals.timeline.period_reader import (
        PeriodReader,
        PeriodState,
        StoredPeriod,
    )


class PeriodNode(Struct, frozen=True, kw_only=True):
    """One step: a period, or an entry in an hour (level None).

    Attributes:
        count: Raw entries it stands for.
        lost: Those of them to which no step below it leads, since they are no longer kept; 0 of a
            period whose steps are not shown.
        more: Whether steps below it are not shown.
        state: What is stored of a period.
        is_behind: Whether there are entries of it that `count` may not know.
    """

    level: Level | None
    key: str
    at: datetime
    ref: str
    text: str
    count: int = 1
    lost: int = 0
    more: bool = False
    state: PeriodState = "fresh"
    is_behind: bool = False
    down: tuple[PeriodNode, ...] = field(default=())

    @property
    def is_cut(self) -> bool:
        """Whether more lies below it than is shown."""
        return self.more or any(node.is_cut for node in self.down)


def drill_down(
    journal: TimelineJournal,
    reader: PeriodReader,
    period: StoredPeriod,
    *,
    depth: int,
    most_lines: int,
) -> PeriodNode:
    """A period with the steps below it, as many as there are before it is too long.

    Only what is shown is read, whatever is due: of a period without a summary nothing is counted.
    Of an hour the newest entries are read that fit.
    """
    below: dict[PeriodSpan, Sequence[StoredPeriod | PeriodNode]] = {}
    steps = [period]
    lines = 0
    for reached in range(depth):
        found: dict[PeriodSpan, Sequence[StoredPeriod | PeriodNode]] = {}
        for each in steps:
            has_entries = each.span.level == "hour"
            found[each.span] = (
                _newest_entries(journal, each, most_lines)
                if has_entries
                else reader.list_within(each.span)
            )
            lines += len(found[each.span])
            if reached and lines > most_lines:
                return _node(period, below, most_lines)
        below |= found
        steps = [x for step in found.values() for x in step if not isinstance(x, PeriodNode)]
    return _node(period, below, most_lines)


def _newest_entries(journal: TimelineJournal, hour: StoredPeriod, most: int) -> list[PeriodNode]:
    """The newest entries of an hour, and the refs of what other journals add, oldest first.

    An hour that is rolled up knows what it was made from.
    """
    entries: list[TimelineEntry] = []
    interval, cursor = hour.span.interval, ""
    while len(entries) < most:
        limit = min(most - len(entries), MOST_LISTED)
        page = journal.list_entries(interval, level=0, types=(RAW,), limit=limit, cursor=cursor)
        entries += page.entries
        if not (cursor := page.cursor):
            break
    nodes = [
        PeriodNode(level=None, key="", at=x.at, ref=x.ref, text=first_words(x.content))
        for x in reversed(entries)
    ]
    rollup = _summary_of(hour)
    if rollup is None:
        fed = list_fed(journal, interval, most=most)
    elif count_of(rollup) > len(entries) and (whole := journal.find(rollup.id)) is not None:
        fed = [(rollup.start, name) for name in whole.sources if ":" in name]
    else:
        fed = []
    nodes += [PeriodNode(level=None, key="", at=at, ref=ref, text="") for at, ref in fed]
    return nodes[-most:]


def _summary_of(period: StoredPeriod) -> TimelineEntry | None:
    return period.rollup if period.state in {"fresh", "older"} else None


def _node(
    period: StoredPeriod,
    below: Mapping[PeriodSpan, Sequence[StoredPeriod | PeriodNode]],
    most_lines: int,
) -> PeriodNode:
    """A period with the steps below it that were read."""
    span, is_read = period.span, period.span in below
    down = tuple(
        each if isinstance(each, PeriodNode) else _node(each, below, most_lines)
        for each in below.get(span, ())
    )
    there = sum(node.count for node in down)
    count = max(period.count, there)
    more = not is_read or (span.level == "hour" and len(down) >= most_lines)
    is_whole = not (more or period.is_behind or any(node.is_behind for node in down))
    rollup = _summary_of(period)
    return PeriodNode(
        level=span.level,
        key=period_key(span.start, span.level, span.zone),
        at=span.start,
        ref="" if rollup is None else rollup.ref,
        text="" if rollup is None else first_words(rollup.content),
        count=count,
        lost=count - there if is_whole else 0,
        more=more,
        state=period.state,
        is_behind=period.is_behind,
        down=down,
    )


def with_others(node: PeriodNode, openers: Callable[[], Mapping[str, OpensRefs]]) -> PeriodNode:
    """The same with the time and the first words of what other journals add, as far as it opens."""
    journal = node.ref.partition(":")[0]
    if node.level is None and journal != JOURNAL:
        with suppress(CommonplaceError):
            if opener := openers().get(journal):
                page = opener.read_ref(node.ref)
                return replace(node, at=page.at, text=first_words(body_of(page.text)))
        return node
    down = tuple(with_others(each, openers) for each in node.down)
    if node.level == "hour":
        down = tuple(sorted(down, key=lambda each: each.at))
    return replace(node, down=down)
