"""Owns how records of memory are read: one whole under its ref, and the newest open to-dos.

Never writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.brief_item import BriefItem
from commonplace.core.values import Page
from commonplace.journals.memory.entry import not_found, parse_ref
from commonplace.journals.memory.records import JOURNAL, KINDS, ChatMessage, Todo, former_ref_of

if TYPE_CHECKING:
    from collections.abc import Iterator

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


MOST_TODOS = 10

_AT_ONCE = 50
_MOST_READ = 500
"""How many of the newest to-dos are looked at, done or not."""


def list_newest(store: MemoryStore) -> list[BriefItem]:
    """The newest to-dos that are not done and that no later one replaced, newest first.

    Raises: Unavailable.
    """
    replaced: set[str] = set()
    items: list[BriefItem] = []
    for todo in _todos(store):
        replaced.add(todo.supersedes)
        if not todo.done and todo.title and todo.id not in replaced:
            items.append(BriefItem(todo.at.timestamp(), todo.title, todo.ref, todo.kind))
        if len(items) == MOST_TODOS:
            break
    return items


def _todos(store: MemoryStore) -> Iterator[Todo]:
    cursor = ""
    for _ in range(_MOST_READ // _AT_ONCE):
        page = store.list_records("todo", limit=_AT_ONCE, cursor=cursor)
        yield from (record for record in page.records if isinstance(record, Todo))
        cursor = page.cursor
        if not cursor:
            return
