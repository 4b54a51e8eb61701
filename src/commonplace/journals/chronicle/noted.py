"""Adds entries of an import to a storage of chronicle's, and notes which of them are new.

Never adds an entry whose id is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.journals.chronicle.event import JOURNAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.core.import_notes import NotesImport
    from commonplace.journals.chronicle.database import ChronicleDatabase
    from commonplace.journals.chronicle.event import Event, EventDraft
    from commonplace.journals.chronicle.markdown_tree import ChronicleTree


def add_noted(
    store: ChronicleDatabase | ChronicleTree, drafts: Sequence[EventDraft], noting: NotesImport
) -> int:
    """Write entries, less those whose id is taken; how many were written. Raises: as `add_all`."""
    there = {event.id for event in store.get_many([draft.id for draft in drafts])}
    noting.put_planned(
        {f"{JOURNAL}:{x.id}": store.stamp_for(x) for x in drafts if x.id not in there}
    )
    added: dict[str, str] = {}

    def note(event: Event) -> None:
        added[event.ref] = event.stamp

    count = store.add_all(drafts, on_added=note)
    noting.put_added(added)
    return count
