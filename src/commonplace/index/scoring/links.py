"""Selects the supersedings that lead from some entries to the newest of their chains.

Never reads an index: the index passes all the links that count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def links_on_the_way(
    links: Iterable[tuple[str, str]], refs: Sequence[str]
) -> list[tuple[str, str]]:
    """The links (former, successor) of the chains that refs begin; a circle is given once."""
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
