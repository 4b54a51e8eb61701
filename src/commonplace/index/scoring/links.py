"""Which of many supersedings lie on the way from some entries to what holds now.

Never reads anything: an index hands it all the links that count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def links_on_the_way(
    links: Iterable[tuple[str, str]], refs: Sequence[str]
) -> list[tuple[str, str]]:
    """The links that lead on from some refs, in the order given; a circle ends by itself.

    Args:
        links: Each former entry with the one that took its place.
        refs: Where to begin.
    """
    known = list(links)
    after: dict[str, list[str]] = {}
    for former, ref in known:
        after.setdefault(former, []).append(ref)
    passed, ahead = set(refs), list(refs)
    while ahead:
        for ref in after.get(ahead.pop(), ()):
            if ref not in passed:
                passed.add(ref)
                ahead.append(ref)
    return [(former, ref) for former, ref in known if former in passed]
