"""Trends of the timeline as lines of text.

Pure: never asks a journal or a clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.clock import local_date
from commonplace.core.fence import visible_line
from commonplace.core.rollups import last_named, numbers_of, ranked, render_numbers
from commonplace.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from commonplace.core.clock import Level
    from commonplace.core.rollups import Figures
    from commonplace.journals.timeline.comparison import Comparison
    from commonplace.journals.timeline.trends import Trends

_BAR = 24
_NAMES_SHOWN = 10
_WIDEST = len("productivity score")
_WHOLE_FROM = 1000


def comparison_lines(found: Comparison) -> Iterator[str]:
    """A period beside the last one and the mean, and what gains speed or stands still."""
    now, last = found.now.key, "" if found.last is None else found.last.key
    yield compared_title(found)
    if not last:
        return
    width = max(len(now), len(last), 7)
    yield f"{'':{_WIDEST}}  {now:>{width}}  {last:>{width}}  {'MEAN':>{width}}"
    for row in found.rows:
        cells = "".join(f"  {render_number(x):>{width}}" for x in (row.now, row.last, row.mean))
        yield f"{row.name.replace('_', ' '):{_WIDEST}}{cells}  {row.arrow}".rstrip()
    yield from (visible_line(line) for line in course_lines(found))


def compared_level(trends: Trends, *, is_auto: bool) -> Level:
    """Which periods are compared where trends are shown: where nobody chose days, weeks of them."""
    days = is_auto and trends.level == "day" and len(trends.periods) > 1
    return "week" if days else trends.level


def compared_title(found: Comparison) -> str:
    """What is compared with what."""
    if found.last is None:
        return f"{found.now.key}: nothing is kept of the period before it to compare it with."
    state = " so far" if found.is_open else ""
    same = " up to the same time" if found.is_cut else ""
    mean = "the one before" if found.mean_of == 1 else f"the {found.mean_of} before"
    return f"{found.now.key}{state} beside {found.last.key}{same}, and the mean of {mean}"


def course_lines(found: Comparison) -> Iterator[str]:
    """What gains speed or stands still: all of it, then the projects of each course."""
    courses, judged = found.courses, found.judged
    by_course: dict[str, list[str]] = {}
    for name, course in courses.items():
        by_course.setdefault(course, []).extend([name] if name else [])
    if judged is not None and "" in courses:
        yield f"Course, by {judged.key} against those before: {courses['']}"
    yield from (f"{label.capitalize()}: {', '.join(x)}" for label, x in by_course.items() if x)


def render_number(value: float | None) -> str:
    """A number in four figures, or whole: `7.25`, `12,345`; empty for none."""
    if value is None:
        return ""
    is_whole = abs(value) >= _WHOLE_FROM or not value % 1
    return f"{value:,.0f}" if is_whole else f"{value:,.4g}"


def trend_lines(found: Trends, zone: tzinfo) -> Iterator[str]:
    """What was counted in each period, and in all of them."""
    most = max(1, *(x.figures.entries for x in found.periods))
    width = max(len(x.key) for x in found.periods)
    yield f"{'PERIOD':{width}}  ENTRIES  HOURS"
    for each in found.periods:
        if each.expired:
            yield f"{each.key:{width}}  expired"
            continue
        entries, hours = each.figures.entries, each.figures.hours
        bar = "▇" * -(-entries * _BAR // most)
        yield f"{each.key:{width}}  {entries:>7,}  {hours:>5,}  {bar}".rstrip()
    yield f"{'all':{width}}  {found.total.entries:>7,}  {found.total.hours:>5,}"
    if gone := sum(x.expired for x in found.periods):
        what = counted(gone, found.level, f"{found.level}s")
        yield f"Expired: {what}, which a larger period still counts."
    yield from _total_lines(found.total, zone)


def _total_lines(total: Figures, zone: tzinfo) -> Iterator[str]:
    """The numbers that entries carried, the names that they counted, and what they named."""
    if numbers := render_numbers(numbers_of(total)):
        yield f"Figures: {visible_line(numbers)}"
    for label, counts in (("Projects", total.projects), ("Tags", total.tags)):
        if counts:
            names = ", ".join(f"{x} ({counts[x]:,})" for x in ranked(counts, _NAMES_SHOWN))
            yield f"{label}: {visible_line(names)}"
    for label, named in (("Milestones", total.milestones), ("Blockers", total.blockers)):
        if named:
            yield f"{label}:"
            for name, at in last_named(named, _NAMES_SHOWN):
                yield f"• [{local_date(at, zone).isoformat()}] {visible_line(name)}"
            if len(named) > _NAMES_SHOWN:
                yield f"• and {len(named) - _NAMES_SHOWN} more"
