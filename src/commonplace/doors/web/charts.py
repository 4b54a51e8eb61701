"""Charts as SVG, made on the server: no script, no style of their own; colours are classes.

Law: a chart is never the only place of a figure: the words beside it, or its title, say the same.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime

_WIDTH = 160
_HEIGHT = 8


def shares(parts: Sequence[tuple[str, float]], *, whole: float = 1.0) -> Markup:
    """A bar of parts laid end to end, such as what words and meaning gave to a score."""
    said = ", ".join(f"{name} {share:.2f}" for name, share in parts)
    drawn = []
    at = 0.0
    for name, share in parts:
        width = min(max(share, 0.0) / whole * _WIDTH, _WIDTH - at)
        drawn.append(
            Markup('<rect class="share-{}" x="{:.1f}" y="0" width="{:.1f}" height="{}"/>').format(
                name, at, width, _HEIGHT
            )
        )
        at += width
    return Markup(
        '<svg class="chart shares" role="img" aria-label="{}" viewBox="0 0 {} {}" '
        'width="{}" height="{}"><rect class="share-rest" width="{}" height="{}"/>{}</svg>'
    ).format(said, _WIDTH, _HEIGHT, _WIDTH, _HEIGHT, _WIDTH, _HEIGHT, Markup("").join(drawn))


def day_in_full(day: date) -> str:
    """A day in words: `Monday, 23 November 2026`."""
    return f"{day:%A}, {day.day} {day:%B} {day.year}"


_SIDE, _STEP, _TOP, _LEFT = 11, 14, 18, 30
_DAYS = ((0, "Mon"), (2, "Wed"), (4, "Fri"))
_SHADES = 4


def shades(counts: Sequence[int]) -> list[int]:
    """The shade of each part: 0 for none, else 1 to 4, its quartile of those that have something.

    So one busy day takes no colour from the others; parts of one count have one shade.
    """
    some = sorted(count for count in counts if count)

    def shade(count: int) -> int:
        middle = (bisect_left(some, count) + bisect_right(some, count)) / 2
        return 1 + min(int(_SHADES * middle / len(some)), _SHADES - 1)

    return [shade(count) if count else 0 for count in counts]


def heatmap(first: date, counts: Sequence[int], link: str) -> Markup:
    """Days as squares, a column for each week from Monday on, as dark as they are full.

    Its days are links for a mouse; a keyboard or a screen reader has those of the calendar.

    Args:
        first: The first day.
        counts: The entries of that day and of each after it.
        link: The address of a day, less its key.
    """
    drawn: list[Markup] = []
    base = escape(link)
    for place, (count, shade) in enumerate(zip(counts, shades(counts), strict=True)):
        day = first + timedelta(days=place)
        column, row = divmod(first.weekday() + place, 7)
        if day.day == 1:
            drawn.append(_label(_LEFT + column * _STEP, _TOP - 6, f"{day:%b}"))
        # The first page waits for a year of these: f-strings are 8 times as fast.
        drawn.append(
            Markup(  # noqa: S704  every value that is not a number or a date is escaped above
                f'<a href="{base}{day.isoformat()}" tabindex="-1"><rect class="heat-{shade:d}" '
                f'x="{_LEFT + column * _STEP}" y="{_TOP + row * _STEP}" width="{_SIDE}" '
                f'height="{_SIDE}" rx="2"><title>{day_in_full(day)}: {count:,}</title></rect></a>'
            )
        )
    drawn += [_label(0, _TOP + row * _STEP + 9, name) for row, name in _DAYS]
    columns = (first.weekday() + len(counts) + 6) // 7
    width, height = _LEFT + columns * _STEP, _TOP + 7 * _STEP
    return Markup(
        '<svg class="chart heatmap" aria-hidden="true" viewBox="0 0 {} {}" width="{}" height="{}">'
        "{}</svg>"
    ).format(width, height, width, height, Markup("").join(drawn))


def _label(x: float, y: float, text: str) -> Markup:
    return Markup('<text x="{}" y="{}">{}</text>').format(x, y, text)


class Bar(NamedTuple):
    """A bar: its height, its tooltip and its link."""

    value: float
    said: str
    link: str = ""


class Dot(NamedTuple):
    """A point of a line: its time, its height, its tooltip and its link."""

    at: datetime
    value: float
    said: str
    link: str = ""


_PLOT_WIDTH, _PLOT_HEIGHT, _PLOT_TOP, _PLOT_LEFT = 600, 120, 14, 56
_FRAME = _PLOT_LEFT + _PLOT_WIDTH, _PLOT_TOP + _PLOT_HEIGHT + 22
_BAR_GAP = 0.15


def bars(values: Sequence[Bar], *, first: str, last: str) -> Markup:
    """A bar chart whose axis begins at 0; the page has a table with the same values."""
    most = max((each.value for each in values), default=0) or 1
    step = _PLOT_WIDTH / max(len(values), 1)
    drawn = [_grid(0, most)]
    for place, each in enumerate(values):
        height = each.value / most * _PLOT_HEIGHT
        bar = Markup(
            '<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}">'
            "<title>{}</title></rect>"
        ).format(
            _PLOT_LEFT + (place + _BAR_GAP / 2) * step,
            _PLOT_TOP + _PLOT_HEIGHT - height,
            step * (1 - _BAR_GAP),
            height,
            each.said,
        )
        drawn.append(_linked(each.link, bar))
    return _plot(drawn, first, last)


def line(points: Sequence[Dot], *, first: str, last: str) -> Markup:
    """A line chart of one or more points, oldest first; the page has their values in a table."""
    low, high = min(each.value for each in points), max(each.value for each in points)
    span, length = high - low, points[-1].at - points[0].at
    places = [
        (
            _PLOT_LEFT + (_PLOT_WIDTH * ((each.at - points[0].at) / length) if length else 0),
            _PLOT_TOP + _PLOT_HEIGHT * (1 - ((each.value - low) / span if span else 0.5)),
        )
        for each in points
    ]
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    drawn = [_grid(low, high), Markup('<polyline class="line" points="{}"/>').format(joined)]
    for (x, y), each in zip(places, points, strict=True):
        dot = Markup(
            '<circle class="bar" cx="{:.1f}" cy="{:.1f}" r="3"><title>{}</title></circle>'
        ).format(x, y, each.said)
        drawn.append(_linked(each.link, dot))
    return _plot(drawn, first, last)


def _linked(link: str, drawn: Markup) -> Markup:
    """A shape with a link for the mouse; the table has the same link for the keyboard."""
    return Markup('<a href="{}" tabindex="-1">{}</a>').format(link, drawn) if link else drawn


def _grid(low: float, high: float) -> Markup:
    """The grid lines of the lowest and the highest value, each with its label."""
    bottom = _PLOT_TOP + _PLOT_HEIGHT
    lines = [_label(0, _PLOT_TOP + 4, f"{high:,.6g}")]
    if low != high:
        lines.append(_label(0, bottom + 4, f"{low:,.6g}"))
    lines += [
        Markup('<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
            _PLOT_LEFT, _FRAME[0], y, y
        )
        for y in (_PLOT_TOP, bottom)
    ]
    return Markup("").join(lines)


def _plot(drawn: Sequence[Markup], first: str, last: str) -> Markup:
    width, height = _FRAME
    ends = [_label(_PLOT_LEFT, height - 3, first)]
    if last != first:
        ends.append(
            Markup('<text x="{}" y="{}" text-anchor="end">{}</text>').format(
                width, height - 3, last
            )
        )
    return Markup(
        '<svg class="chart" aria-hidden="true" viewBox="0 0 {} {}" width="{}" height="{}">{}</svg>'
    ).format(width + 6, height, width + 6, height, Markup("").join([*drawn, *ends]))
