"""The one shape of all JSON that commands print; `docs/json.md` describes it.

Pure: renames what the tools answer, and leaves nothing of it out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = 1
"""Raised when a name changes its meaning or goes; a new name is no new version."""

_LISTS = (
    "results",
    "entries",
    "records",
)
_SAME = {
    "ref": ("ref",),
    "at": ("at", "timestamp", "created_at"),
    "text": ("text", "message", "excerpt", "content", "snippet", "body", "summary", "title"),
}
"""Each common name, and what the tools of single journals call the same thing, best first."""

_PARTS = {"body", "summary", "title"}
"""These say more than `text` alone: they stay beside it."""


def shaped(facts: Mapping[str, Any], *, journal: str = "", items: str = "") -> dict[str, Any]:
    """The facts of an answer under the common names.

    Args:
        facts: As a tool answers them.
        journal: Whose ids they are, where they have ids alone.
        items: Which of them is the list, where it goes by a name of its own.

    Returns:
        `schema_version`, then what is about one entry or the list `items`, then all else as it is.
    """
    rest = {**facts, **facts.get("payload", {})}
    rest.pop("payload", None)
    name = items or next((name for name in _LISTS if _is_list_of_objects(rest.get(name))), "")
    made: dict[str, Any] = {"schema_version": VERSION}
    if name:
        made["items"] = [_named(each, journal) for each in rest.pop(name)]
    return made | _named(rest, journal)


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _named(facts: Mapping[str, Any], journal: str) -> dict[str, Any]:
    rest = dict(facts)
    if journal and "ref" not in rest and "id" in rest:
        rest["ref"] = f"{journal}:{rest['id']}"
    made = {}
    for name, others in _SAME.items():
        found = next((other for other in others if isinstance(rest.get(other), str)), "")
        if found:
            made[name] = rest[found] if found in _PARTS else rest.pop(found)
    if "ref" in made and "journal" not in rest:
        made["journal"] = made["ref"].partition(":")[0]
    # Where another spelling of a common name is left, it means something else and keeps its name.
    return {**made, **{key: value for key, value in rest.items() if key not in made}}
