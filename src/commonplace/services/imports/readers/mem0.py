"""mem0's memories as JSON: what `get_all` answers, an export, or a list of memories.

An export follows a schema that its user made: it is read as far as it has mem0's own names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commonplace.core.errors import Invalid
from commonplace.core.files import regular_file
from commonplace.core.text import opening
from commonplace.services.imports.entry import ForeignEntry, NotTaken, instant_of, text_in, texts_in
from commonplace.services.imports.json_pieces import JsonPieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime, tzinfo

    from commonplace.services.imports.entry import Read

__all__ = ["find", "read"]

_LISTS = ("results", "memories")
_TEXTS = ("memory", "text", "content")
_WHOSE = ("user_id", "agent_id", "app_id", "run_id")


def find(_home: str, _environ: Mapping[str, str]) -> list[str]:
    """Nowhere: an export lies where its user put it."""
    return []


def read(path: str, *, zone: tzinfo) -> Iterator[Read]:
    """The memories of a file; see the port."""
    with regular_file(path) as file:
        pieces = JsonPieces(file, path)
        if pieces.begins() == "[":
            yield from _listed(pieces, zone)
            return
        if pieces.begins() != "{":
            raise pieces.fault(f"expected an object or a list, found {pieces.kind()}.")
        has_list = False
        for name in pieces.members():
            if name in _LISTS:
                has_list = True
                yield from _listed(pieces, zone)
            elif name == "relations" and pieces.begins() == "[":
                count = sum(1 for _ in pieces.elements())
                if count:
                    yield NotTaken(why="relations of mem0's graph", count=count)
        if not has_list:
            raise Invalid(
                "The file {place} holds no list of memories: neither `results` nor `memories`.",
                hint="Write what `client.get_all(...)` answers into a file as JSON.",
                place=path,
            )


def _listed(pieces: JsonPieces, zone: tzinfo) -> Iterator[Read]:
    for line in pieces.elements():
        yield _memory(pieces.value(), f"line {line}", zone)


def _memory(fields: Any, where: str, zone: tzinfo) -> Read:
    if not isinstance(fields, dict):
        return NotTaken(why="a memory is not an object", where=where)
    text = next((x for x in map(text_in, map(fields.get, _TEXTS)) if x.strip()), "")
    if not text:
        return NotTaken(why="a memory has no text", where=where)
    its_id = text_in(fields.get("id"))
    if not its_id:
        return NotTaken(why="a memory has no id", where=where)
    at: datetime | None = None
    if fields.get("created_at") is not None:
        try:
            at = instant_of(fields["created_at"], zone)
        except ValueError:
            said = opening(str(fields["created_at"]), 40)
            return NotTaken(why="its created_at is not a time", where=f"{where}: {said!r}")
    own = fields.get("metadata")
    whose = {name: fields[name] for name in _WHOSE if isinstance(fields.get(name), str)}
    return ForeignEntry(
        id=its_id,
        text=text,
        at=at,
        where=where,
        kind="memory",
        tags=texts_in(fields.get("categories")),
        metadata={**(own if isinstance(own, dict) else {}), **whose},
        is_dated=at is not None,
    )
