"""What took the place of what: entries found again by the refs that they supersede.

Never ranks: it asks the index which docs supersede others, and when those were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.ports import DatesRefs
from commonplace.core.values import Asked, Filter, superseding_tag
from commonplace.search import policy as numbers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from commonplace.core.ports import Searched
    from commonplace.core.values import Doc

_LONGEST = 100
"""Links that are followed from one entry to the newest; a circle, made by hand, ends there."""


def newest_of(
    index: Searched, refs: Sequence[str], *, before: datetime | None = None
) -> dict[str, Doc]:
    """The doc that holds in the place of each ref; a ref that holds itself is missing.

    before: Only what was written before counts; None for what holds now.
    """
    taken: dict[str, Doc] = {}
    ahead = list(dict.fromkeys(refs))
    for _ in range(_LONGEST):
        found = _successors(index, ahead, before)
        new = {ref: doc for ref, doc in found.items() if ref not in taken}
        taken |= new
        ahead = [doc.ref for doc in new.values() if doc.ref not in taken]
        if not ahead:
            break
    return {ref: _last(ref, taken) for ref in refs if ref in taken}


def dates_of(index: Searched, docs: Sequence[Doc]) -> dict[str, datetime]:
    """When the entries were that these docs supersede, by ref; none for one that is gone."""
    refs = [doc.supersedes for doc in docs if doc.supersedes]
    return dict(index.dates_of(refs)) if refs and isinstance(index, DatesRefs) else {}


def _successors(index: Searched, refs: Sequence[str], before: datetime | None) -> dict[str, Doc]:
    if not refs:
        return {}
    found = index.candidates(
        Asked(
            words="",
            vector=lambda: None,
            identity="",
            where=Filter(tags=tuple(superseding_tag(ref) for ref in refs), written_before=before),
            limit=_LONGEST + len(refs),
            weighing=numbers.WEIGHING,
            newest=True,
        )
    )
    keys = found.keys.tolist()
    docs = found.read(keys) if keys else {}
    # Oldest first: of several, which a sync may bring, the newest is the one.
    return {docs[key].supersedes: docs[key] for key in keys if key in docs}


def _last(ref: str, taken: dict[str, Doc]) -> Doc:
    passed, doc = {ref}, taken[ref]
    while doc.ref in taken and doc.ref not in passed:
        passed.add(doc.ref)
        doc = taken[doc.ref]
    return doc
