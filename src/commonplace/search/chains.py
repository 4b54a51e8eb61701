"""What took the place of what: entries found again by the refs that they supersede.

Never ranks: it asks the index which docs supersede others, and when those were.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from commonplace.core.ports import DatesRefs, FollowsChains
from commonplace.core.values import Asked, ChainLink, Filter, superseding_tag
from commonplace.search import policy as numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from commonplace.core.ports import Searched
    from commonplace.core.values import Doc

_AT_ONCE = 100
"""How many docs one search takes beyond those asked for, since several may have replaced one."""


def newest_of(
    index: Searched, refs: Sequence[str], *, before: datetime | None = None
) -> dict[str, Doc]:
    """The doc that holds in place of each ref; a ref that was not replaced is missing.

    Where several replaced one entry, as after a sync, the newest counts.

    before: Only what was written before this counts; None for what holds now.
    """
    if not refs or not isinstance(index, FollowsChains):
        return {}
    after = dict(index.links_from(list(dict.fromkeys(refs)), before=before))
    if not after:
        return {}
    ends = {ref: end for ref in refs if (end := _end_of(after, ref))}
    formers = {successor: former for former, successor in after.items()}
    docs = _successors(index, list({formers[end] for end in ends.values()}), before)
    return {ref: docs[end] for ref, end in ends.items() if end in docs}


def _end_of(after: dict[str, str], ref: str) -> str:
    """The last entry of the chain that a ref begins; empty where it was not replaced.

    In a circle, which only other programs write, the newest entry holds.

    after: The successor of each entry that was replaced, older successors first.
    """
    passed, newest = {ref: 0}, ref
    while (later := after.get(newest, "")) and later not in passed:
        passed[later] = len(passed)
        newest = later
    if later:
        circle = {each for each, place in passed.items() if place >= passed[later]}
        newest = next(each for each in reversed(after.values()) if each in circle)
    return "" if newest == ref else newest


def gone_links(times: Mapping[str, float], refs: Sequence[str]) -> dict[str, ChainLink]:
    """The link to an entry that replaced a ref's and is gone; refs without one are missing.

    times: When entries were replaced by one that is gone, in seconds since 1970, by ref.
    """
    known = ((ref, times[ref]) for ref in refs if ref in times)
    return {ref: ChainLink(ref="", at=datetime.fromtimestamp(at, UTC)) for ref, at in known}


def dates_of(index: Searched, refs: Sequence[str]) -> dict[str, datetime]:
    """When these entries were, by ref; none for one that is gone."""
    return dict(index.dates_of(refs)) if refs and isinstance(index, DatesRefs) else {}


def _successors(index: Searched, refs: Sequence[str], before: datetime | None) -> dict[str, Doc]:
    """The docs that replaced the entries of these refs, by the docs' own refs."""
    if not refs:
        return {}
    found = index.candidates(
        Asked(
            words="",
            vector=lambda: None,
            identity="",
            where=Filter(tags=tuple(superseding_tag(ref) for ref in refs), written_before=before),
            limit=_AT_ONCE + len(refs),
            weighing=numbers.WEIGHING,
            newest=True,
        )
    )
    keys = found.keys.tolist()
    docs = found.read(keys) if keys else {}
    return {doc.ref: doc for doc in docs.values()}
