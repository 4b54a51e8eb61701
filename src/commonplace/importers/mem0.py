"""mem0's memories as JSON: what `get_all` answers, an export, or a list of memories.

An export follows a schema that its user made: it is read as far as it has mem0's own names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commonplace.core.errors import Invalid
from commonplace.core.importer import ForeignEntry, NotTaken, instant_of, text_in, texts_in
from commonplace.core.json_reader import JsonReader
from commonplace.core.text import opening, text_hash
from commonplace.importers.formats.decoding import opened_as_utf8

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from datetime import datetime, tzinfo

    from commonplace.core.importer import Into, Read

title = "mem0"
takes = "what `get_all` answers, or an export, as a JSON file"
into: Into = "timeline"

_LISTS = ("results", "memories")
_TEXTS = ("memory", "data", "text", "content")
_KEPT = ("user_id", "agent_id", "app_id", "run_id", "expiration_date")
_FIELDS = frozenset({"id", "created_at", "metadata", "categories", "next", *_TEXTS, *_KEPT})


def find(_home: str, _environ: Mapping[str, str]) -> list[str]:
    """Nowhere: an export lies where its user put it."""
    return []


def read(path: str, *, zone: tzinfo) -> Iterator[Read]:
    """The memories of a file: of a list, of pages one after another, or of lines; see the port."""
    with opened_as_utf8(path) as file:
        document = JsonReader(file.read, path)
        has_memories = False
        while sign := document.begins():
            if sign == "[":
                has_memories = True
                yield from _listed(document, zone)
            elif sign == "{":
                has_memories = (yield from _page(document, zone)) or has_memories
            else:
                raise document.fault(f"expected an object or a list, found {document.kind()}.")
        if not has_memories:
            raise Invalid(
                "The file {place} holds no list of memories: neither `results` nor `memories`.",
                hint="Write what `client.get_all(...)` answers into a file as JSON.",
                place=path,
            )


def _page(document: JsonReader, zone: tzinfo) -> Generator[Read, None, bool]:
    """The memories of an object: those it lists, or itself. Returns: Whether it is either."""
    fields: dict[str, Any] = {}
    is_list, where = False, f"line {document.line}"
    for name in document.members():
        if name in _LISTS and document.begins() == "[":
            is_list = True
            yield from _listed(document, zone)
        elif name == "relations" and document.begins() == "[":
            count = sum(1 for _ in document.elements())
            if count:
                yield NotTaken(why="relations of mem0's graph", count=count)
        elif name in _FIELDS:
            fields[name] = document.value()
    if is_list:
        if text_in(fields.get("next")):
            yield NotTaken(why="a page that comes next (get it from mem0, then import it too)")
        return True
    if not fields.keys() & {"id", *_TEXTS}:
        return False
    yield _memory(fields, where, zone)
    return True


def _listed(document: JsonReader, zone: tzinfo) -> Iterator[Read]:
    for line in document.elements():
        value, where = document.value(), f"line {line}"
        fields = value if isinstance(value, dict) else {}
        pages = [fields[name] for name in _LISTS if isinstance(fields.get(name), list)]
        for page in pages:
            for each in page:
                yield _memory(each, where, zone)
        if not pages:
            yield _memory(value, where, zone)


def _memory(fields: Any, where: str, zone: tzinfo) -> Read:
    if not isinstance(fields, dict):
        return NotTaken(why="a memory is not an object", where=where)
    text = next((x for x in map(text_in, map(fields.get, _TEXTS)) if x.strip()), "")
    if not text:
        return NotTaken(why="a memory has no text", where=where)
    its_id = fields.get("id")
    if isinstance(its_id, bool) or not isinstance(its_id, (str, int)) or its_id == "":
        # An export follows a schema of its user's, which may have none.
        its_id = f"text {text_hash(text)}"
    at: datetime | None = None
    if fields.get("created_at") is not None:
        try:
            at = instant_of(fields["created_at"], zone)
        except ValueError:
            said = opening(str(fields["created_at"]), 40)
            return NotTaken(why="its created_at is not a time", where=f"{where}: {said!r}")
    own = fields.get("metadata")
    kept = {name: fields[name] for name in _KEPT if isinstance(fields.get(name), str)}
    return ForeignEntry(
        id=str(its_id),
        text=text,
        at=at,
        where=where,
        kind="memory",
        tags=texts_in(fields.get("categories")),
        metadata={**(own if isinstance(own, dict) else {}), **kept},
        is_dated=at is not None,
    )
