"""Charts as SVG, made on the server: no script, no style of their own; colours are classes.

Law: a chart is never the only place of a figure: the words beside it, or its title, say the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Sequence

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
