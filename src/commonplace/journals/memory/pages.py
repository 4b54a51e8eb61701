"""Owns how a ref of memory is opened: one record whole, as it is now.

Never writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.values import Page
from commonplace.journals.memory.entry import not_found, parse_ref
from commonplace.journals.memory.records import JOURNAL, KINDS, ChatMessage, Todo, former_ref_of

if TYPE_CHECKING:
    from commonplace.journals.memory.ports import MemoryStore


class MemoryPages:
    """A user's memory as the opening of a ref shows it; see `core.ports.OpensRefs`."""

    journal = JOURNAL
    kinds = KINDS
    ref_form = f"{JOURNAL}:<kind>/<id>"

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def place_of(self, scope: str) -> str:
        """Nowhere: no record belongs to a project's folder."""
        return ""

    def read_ref(self, ref: str) -> Page:
        """The record under a ref; see the port. Raises: Invalid, NotFound, Unavailable."""
        kind, ref_id = parse_ref(ref)
        record = self._store.find(kind, ref_id)
        if record is None:
            raise not_found(kind, ref_id)
        after = self._store.find_successor(kind, record.id)
        return Page(
            ref=record.ref,
            journal=JOURNAL,
            scope="",
            kind=kind,
            at=record.at,
            text=record.text,
            author=record.role if isinstance(record, ChatMessage) else "",
            tags=("done",) if isinstance(record, Todo) and record.done else (),
            supersedes=former_ref_of(record),
            superseded_by=after.ref if after else "",
        )
