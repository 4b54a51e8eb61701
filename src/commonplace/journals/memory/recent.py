"""The to-dos of memory that are not done, read without opening memory.

Never writes, and imports next to nothing: a hook asks it within its few milliseconds.
"""

from __future__ import annotations

from commonplace.core.brief_item import BriefItem
from commonplace.db.glance import glance

# The newest to-dos of a user that are not done.
_OPEN_TODOS = """
SELECT id, CAST(strftime('%s', created_at) AS INTEGER), substr(title, 1, 500)
FROM wb_todo WHERE done = 0 AND user_id = :owner ORDER BY created_at DESC, id DESC LIMIT :limit
"""


def list_open_todos(database: str, owner: str, *, limit: int) -> list[BriefItem]:
    """The newest to-dos of an owner that are not done, newest first.

    Args:
        database: The path of the owner's memory.
        owner: Whose they are.
        limit: The most of them.
    """
    rows = glance(database, _OPEN_TODOS, {"owner": owner, "limit": limit})
    return [
        BriefItem(float(at or 0), str(title), f"memory:todo/{name}", "todo")
        for name, at, title in rows
        if title
    ]
