"""Charts as SVG, made on the server: no script, no style of their own; colours are classes.

Law: a chart is never the only place of a figure: the words beside it, or its title, say the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

_WIDTH = 160
_HEIGHT = 8


def shares(parts: Sequence[tuple[str, float]], *, whole: float = 1.0) -> Markup:
    """A bar of parts laid end to end, such as what each leg gave to a score.

    Args:
        parts: A name, which is the class of the part as well, and its share.
        whole: What the full width stands for.
    """
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


class DayCell(NamedTuple):
    """A day of a heatmap: how full it is (0 to 4), what is said of it, and where it leads."""

    day: date
    heat: int
    said: str
    link: str


_SIDE, _STEP, _TOP, _LEFT = 11, 14, 18, 30
_DAYS = ((0, "Mon"), (2, "Wed"), (4, "Fri"))


def heatmap(days: Sequence[DayCell]) -> Markup:
    """Days as squares, a column for each week from Monday on.

    Its days are links for those who point; whoever types or listens has the calendar.

    Args:
        days: One behind the other, the first a Monday.
    """
    drawn: list[Markup] = []
    for place, each in enumerate(days):
        column, row = divmod(place, 7)
        if each.day.day == 1:
            drawn.append(_label(_LEFT + column * _STEP, _TOP - 6, f"{each.day:%b}"))
        drawn.append(
            Markup(
                '<a href="{}" tabindex="-1"><rect class="heat-{}" x="{}" y="{}" width="{}" '
                'height="{}" rx="2"><title>{}</title></rect></a>'
            ).format(
                each.link,
                each.heat,
                _LEFT + column * _STEP,
                _TOP + row * _STEP,
                _SIDE,
                _SIDE,
                each.said,
            )
        )
    drawn += [_label(0, _TOP + row * _STEP + 9, name) for row, name in _DAYS]
    width, height = _LEFT + (len(days) + 6) // 7 * _STEP, _TOP + 7 * _STEP
    return Markup(
        '<svg class="chart heatmap" aria-hidden="true" viewBox="0 0 {} {}" width="{}" height="{}">'
        "{}</svg>"
    ).format(width, height, width, height, Markup("").join(drawn))


def _label(x: float, y: float, text: str) -> Markup:
    return Markup('<text x="{}" y="{}">{}</text>').format(x, y, text)
