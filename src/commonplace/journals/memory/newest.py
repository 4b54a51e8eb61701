"""The newest to-dos that are not done, as a brief tells of them.

Never reads the store itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.brief_item import BriefItem
from commonplace.journals.memory.records import Todo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.journals.memory.ports import MemoryStore

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
