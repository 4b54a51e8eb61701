"""What a prompt should hold of a user's memory: preferences, then what fits a question, fenced.

Decides nothing about ranking: the search does.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from commonplace.core.clock import render_instant
from commonplace.journals.memory.entry import searchable_text
from commonplace.journals.memory.records import KINDS, PREFERENCES_ID, ref_of
from commonplace.verbs.context import ContextBlocks, check_budget
from commonplace.verbs.memory.finding import MemoryQuestion

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo

    from commonplace.journals.memory.records import Record
    from commonplace.verbs.context import Context
    from commonplace.verbs.memory.service import MemoryService

_HITS = 12
# The share of a budget that the preferences may take at the most.
_PREFERENCES = 0.25


def assemble(service: MemoryService, question: str, *, budget_tokens: int) -> Context:
    """Put the preferences and the best records for a question into one text.

    Args:
        service: Of one user.
        question: What is asked; blank for the newest records.
        budget_tokens: Four bytes each.

    Raises:
        Invalid: The budget is too small, or the question too long.
        Unavailable.
    """
    check_budget(budget_tokens)
    blocks = ContextBlocks(budget_tokens)
    preferences = service.store.find("preference", PREFERENCES_ID)
    zone, notes = service.read_zone()
    if preferences is not None:
        _put(blocks, preferences, zone, share=_PREFERENCES)
    if not question.strip():
        for record in heapq.nlargest(_HITS, _newest(service), key=lambda each: each.at):
            _put(blocks, record, zone)
        return blocks.context(interval=None, notes=notes)
    found = service.search(MemoryQuestion(text=question, top_k=_HITS))
    for hit in found.hits:
        _put(blocks, hit.entry, zone)
    # The search says of the zone what was said above.
    return blocks.context(interval=found.interval, notes=found.notes)


def _put(blocks: ContextBlocks, record: Record, zone: tzinfo, *, share: float = 1.0) -> None:
    ref = ref_of(record.kind, record.id)
    label = f"{ref} {render_instant(record.at, zone)}"
    blocks.put(ref, record.text, label=label, share=share)


def _newest(service: MemoryService) -> Iterator[Record]:
    """The newest of each kind; what is never found, such as a draft, is left out."""
    for kind in KINDS:
        records = service.list_records(kind, limit=_HITS).records
        yield from (each for each in records if kind != "preference" and searchable_text(each))
