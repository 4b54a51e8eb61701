"""What of the private journal a brief may hold, by `brief.private`.

Pure functions; a hook asks them of each line, whatever it was kept under.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from commonplace.core.brief_item import BriefItem

JOURNAL = "private"

HEADINGS = {"user": "user context", "project": "project notes"}
"""The one heading of each root, in lower case, that a model may be given unasked."""


def is_preference(item: BriefItem) -> bool:
    """Whether a line says what the user prefers."""
    return _scope_of(item) == "user" and item.kind.lower() == HEADINGS["user"]


def within_reach(items: Iterable[BriefItem], reach: str) -> list[BriefItem]:
    """The lines that may leave the private journal.

    Args:
        items: Lines of it.
        reach: What `brief.private` says: `notes`, `all` or `none`.
    """
    if reach == "none":
        return []
    return [x for x in items if reach == "all" or x.kind.lower() == HEADINGS.get(_scope_of(x))]


def _scope_of(item: BriefItem) -> str:
    """`user` or `project`."""
    return item.ref.removeprefix(f"{JOURNAL}:").partition("/")[0].partition("@")[0]
