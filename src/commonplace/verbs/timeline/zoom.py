"""The way down from a period to each raw entry: what lies in it, level by level.

Only reads; what is not rolled up yet stands in its place all the same.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from commonplace.core.clock import period, period_key
from commonplace.core.text import body_of, first_words
from commonplace.journals.timeline.due_periods import MADE_FROM
from commonplace.journals.timeline.entry import JOURNAL, LEVELS, RAW
from commonplace.journals.timeline.feed import list_fed
from commonplace.journals.timeline.stored import count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.clock import Level
    from commonplace.core.values import Interval, Page
    from commonplace.journals.timeline.due_periods import PeriodSpan
    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.journal import TimelineJournal
    from commonplace.journals.timeline.stored import PeriodState, StoredPeriod, StoredRollups

MOST_LINES = 400
"""Lines of a way down that goes as far as it may; where there would be more it ends higher up."""

MOST_READ = 20_000
MOST_SHOWN = 2_000
"""Of raw entries the newest so many are looked at where a page is all that is shown of them."""

_PAGE = 1000


class PeriodNode(Struct, frozen=True, kw_only=True):
    """One step: a period, or an entry in an hour (level None).

    Attributes:
        count: Raw entries it stands for.
        lost: Those of them to which no step below it leads, since they are no longer kept.
        more: Whether steps below it are not shown.
        state: What is stored of a period that `steps_down` read.
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

    def cut(self, depth: int) -> PeriodNode:
        """The same with so many steps below it."""
        if not depth:
            return replace(self, down=(), more=self.more or bool(self.down))
        return replace(self, down=tuple(node.cut(depth - 1) for node in self.down))

    @property
    def is_cut(self) -> bool:
        """Whether more lies below it than is shown."""
        return self.more or any(node.is_cut for node in self.down)

    def lines_to(self, depth: int) -> int:
        """How many lines it takes with so many steps below it, itself left out."""
        return sum(1 + node.lines_to(depth - 1) for node in self.down) if depth else 0


def steps_down(
    journal: TimelineJournal,
    stored: StoredRollups,
    period: StoredPeriod,
    *,
    depth: int,
    most_lines: int,
) -> tuple[PeriodNode, int]:
    """As `way_down`, for a page: also how many steps down it goes before it has too many lines.

    Only what is shown is read, whatever is due: of a period without a summary nothing is counted,
    and of the last step `lost` is not known; no period has its text. Of an hour the newest entries
    are read that fit.
    """
    below: dict[PeriodSpan, list[StoredPeriod] | list[PeriodNode]] = {}
    steps = [period]
    lines = 0
    for reached in range(depth):
        found: dict[PeriodSpan, list[StoredPeriod] | list[PeriodNode]] = {}
        for each in steps:
            leaves = each.span.level == "hour"
            found[each.span] = (
                _leaves_of(journal, each, most_lines) if leaves else stored.list_within(each.span)
            )
            lines += len(found[each.span])
            if reached and lines > most_lines:
                return _page_node(journal, period, below, most_lines), reached
        below |= found
        steps = [x for step in found.values() for x in step if not isinstance(x, PeriodNode)]
    return _page_node(journal, period, below, most_lines), depth


def _leaves_of(journal: TimelineJournal, hour: StoredPeriod, most: int) -> list[PeriodNode]:
    """The newest entries of an hour, oldest first."""
    interval = hour.span.interval
    listed = journal.list_entries(interval, level=0, types=(RAW,), limit=min(most, _PAGE))
    fed = list_fed(journal, interval, most=most)
    rollup = hour.rollup if hour.state in {"fresh", "older"} else None
    return [*_leaves(journal, rollup, listed.entries[::-1], fed)][-most:]


def _page_node(
    journal: TimelineJournal,
    period: StoredPeriod,
    below: Mapping[PeriodSpan, Sequence[StoredPeriod | PeriodNode]],
    most_lines: int,
) -> PeriodNode:
    """A period with the steps below it that were read."""
    span, is_read = period.span, period.span in below
    down = tuple(
        each if isinstance(each, PeriodNode) else _page_node(journal, each, below, most_lines)
        for each in below.get(span, ())
    )
    there = sum(node.count for node in down)
    count = max(period.count, there)
    more = not is_read or (span.level == "hour" and len(down) >= most_lines)
    is_whole = not (more or period.is_behind or any(node.is_behind for node in down))
    made = period.rollup if period.state in {"fresh", "older"} else None
    return PeriodNode(
        level=span.level,
        key=period_key(span.start, span.level, journal.zone),
        at=span.start,
        ref="" if made is None else made.ref,
        text="",
        count=count,
        lost=count - there if is_whole else 0,
        more=more,
        state=period.state,
        is_behind=period.is_behind,
        down=down,
    )


def way_down(
    journal: TimelineJournal, level: Level, interval: Interval, *, depth: int | None = None
) -> PeriodNode:
    """A period with what lies in it, so many steps down, else as many as a page of lines holds.

    Roll up what is due before. Of very many entries the newest 20,000 are steps; what is older
    ends at its hours.
    """
    kept: dict[int, list[TimelineEntry]] = {}
    unread: set[int] = set()
    for number in _numbers(level):
        lines = sum(len(each) for each in kept.values())
        if number and depth is None and lines > MOST_LINES:
            kept[number] = []
            unread.add(number)
            continue
        most = MOST_SHOWN if depth is None else MOST_READ
        kept[number], is_whole = _read(journal, interval, number, most)
        if not is_whole:
            unread.add(number)
    since = kept[0][0].at if 0 in unread and kept[0] else None
    kept[0] = [entry for entry in kept[0] if entry.entry_type == RAW]
    way = _StepBuilder(journal, since, unread, list_fed(journal, interval, most=MOST_READ))
    found = way.node(level, interval, kept)
    return found.cut(deepest(found) if depth is None else depth)


def _numbers(level: Level) -> list[int]:
    """The numbers of a level and of those that it is made from, down to raw entries."""
    numbers: list[int] = []
    each: Level | None = level
    while each is not None:
        numbers.append(LEVELS.index(each) + 1)
        each = MADE_FROM[each]
    return [*numbers, 0]


def _read(
    journal: TimelineJournal, interval: Interval, number: int, most: int
) -> tuple[list[TimelineEntry], bool]:
    """What is stored of one level and begins in a span, oldest first; whether that is all."""
    found: list[TimelineEntry] = []
    cursor = ""
    while len(found) < (most if not number else MOST_READ):
        page = journal.list_entries(interval, level=number, limit=_PAGE, cursor=cursor)
        found += page.entries
        cursor = page.cursor
        if not cursor:
            break
    inside = (x for x in found if interval.holds(x.start if number else x.at))
    return sorted(inside, key=lambda x: (x.at, x.seq)), not cursor


class _StepBuilder:
    """Builds the steps from what was read of a period.

    Args:
        journal: Whose periods they are.
        since: Where raw entries that were read begin; None where all were.
        unread: Levels of which not all was read.
        fed: What other journals add, oldest first.
    """

    def __init__(
        self,
        journal: TimelineJournal,
        since: datetime | None,
        unread: set[int],
        fed: Sequence[tuple[datetime, str]],
    ) -> None:
        self._fed = fed
        self._journal = journal
        self._zone = journal.zone
        self._since = since
        self._unread = unread

    def node(
        self,
        level: Level,
        interval: Interval,
        kept: Mapping[int, list[TimelineEntry]],
    ) -> PeriodNode:
        """A period and what lies below it.

        Args:
            level: Of the period.
            interval: Its span.
            kept: What lies in it, by level.
        """
        assert interval.start is not None
        number = LEVELS.index(level) + 1
        mine = next((x for x in kept.get(number, ()) if x.start == interval.start), None)
        inside = {
            n: [x for x in each if interval.holds(x.start if n else x.at)]
            for n, each in kept.items()
        }
        smaller = MADE_FROM[level]
        fed = self._fed_in(interval)
        if smaller is None:
            down = tuple(_leaves(self._journal, mine, inside[0], fed))
        else:
            pieces = _pieces(smaller, inside, [at for at, _ in fed], self._zone)
            down = tuple(self.node(smaller, each, inside) for each in pieces)
        there = sum(node.count for node in down)
        count = max(count_of(mine), there)
        if smaller is None:
            is_read = self._since is None or interval.start >= self._since
        else:
            is_read = LEVELS.index(smaller) + 1 not in self._unread
        return PeriodNode(
            level=level,
            key=period_key(interval.start, level, self._zone),
            at=interval.start,
            ref="" if mine is None else mine.ref,
            text="" if mine is None else first_words(mine.content),
            count=count,
            lost=count - there if is_read else 0,
            more=not is_read and count > there,
            down=down,
        )

    def _fed_in(self, interval: Interval) -> Sequence[tuple[datetime, str]]:
        assert interval.start is not None
        low = bisect_left(self._fed, (interval.start, ""))
        if interval.end is None:
            return self._fed[low:]
        return self._fed[low : bisect_left(self._fed, (interval.end, ""))]


def _pieces(
    level: Level, inside: Mapping[int, list[TimelineEntry]], fed: Sequence[datetime], zone: tzinfo
) -> list[Interval]:
    """The periods of a level in which anything lies, oldest first."""
    stored = [x.start for n in _numbers(level) if n for x in inside.get(n, ()) if count_of(x)]
    starts = [*stored, *(x.at for x in inside[0]), *fed]
    found = {period(at, level, zone) for at in starts}
    return sorted(found, key=lambda x: x.start or starts[0])


def _leaves(
    journal: TimelineJournal,
    hour: TimelineEntry | None,
    entries: Sequence[TimelineEntry],
    fed: Sequence[tuple[datetime, str]],
) -> Iterator[PeriodNode]:
    """The raw entries of an hour, and what other journals gave to it: their refs alone.

    fed: what they add now; an hour that is rolled up knows what it was made from.
    """
    for entry in entries:
        text = first_words(entry.content)
        yield PeriodNode(level=None, key="", at=entry.at, ref=entry.ref, text=text)
    if hour is None:
        for at, ref in fed:
            yield PeriodNode(level=None, key="", at=at, ref=ref, text="")
        return
    whole = journal.find(hour.id) if count_of(hour) > len(entries) else None
    for name in () if whole is None else whole.sources:
        if ":" in name:
            yield PeriodNode(level=None, key="", at=hour.start, ref=name, text="")


def with_others(node: PeriodNode, read: Callable[[str], Page | None]) -> PeriodNode:
    """The same with the time and the first words of what other journals gave.

    read: opens a ref of another journal; None for what cannot be opened now.
    """
    if node.level is None and not node.ref.startswith(f"{JOURNAL}:"):
        page = read(node.ref)
        if page is None:
            return node
        return replace(node, at=page.at, text=first_words(body_of(page.text)))
    down = tuple(with_others(each, read) for each in node.down)
    if node.level == "hour":
        down = tuple(sorted(down, key=lambda each: each.at))
    return replace(node, down=down)


def deepest(node: PeriodNode) -> int:
    """How many steps down a page of lines can hold."""
    depth = 1
    while depth < len(LEVELS) and node.lines_to(depth + 1) <= MOST_LINES:
        depth += 1
    return depth
