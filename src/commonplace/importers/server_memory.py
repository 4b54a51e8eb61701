"""server-memory's graph: a file with a line of JSON for each entity and each relation.

An entity with its observations is an entry, and so is a relation: what the graph joins lies
anywhere in the file, and the file may be of any size.
"""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.core.errors import Invalid
from commonplace.core.importer import ForeignEntry, NotTaken
from commonplace.core.text import opening
from commonplace.importers.formats.decoding import from_utf8, opened_as_utf8

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import tzinfo

from commonplace.core.importer import Into, Read

title = "server-memory"
takes = "its memory.json, or memory.jsonl"
into: Into = "timeline"

_LONGEST_LINE = 16 * 1024 * 1024
_MOST_TORN = 20
"""So many torn records of a line are gone past: finding one may take as long as all of it."""
_DECODER = json.JSONDecoder()
_BEGINS = re.compile(r'\{\s*"type"\s*:')
_SOLID = re.compile(r"\S")
_NAMES = ("memory.jsonl", "memory.json")


def find(_home: str, environ: Mapping[str, str]) -> list[str]:
    """The file that the server's own variable names; by itself it lies in the server's package."""
    path = environ.get("MEMORY_FILE_PATH", "")
    return [path] if path and os.path.isfile(path) else []


def read(path: str, *, zone: tzinfo) -> Iterator[Read]:  # noqa: ARG001  no time is in it
    """The entities and relations of a graph; the time of its file is that of all. See the port."""
    if os.path.isdir(path):
        named = [os.path.join(path, name) for name in _NAMES]
        path = next((each for each in named if os.path.isfile(each)), named[-1])
    with opened_as_utf8(path) as file:
        at = datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
        number, known = 0, 0
        while line := file.readline(_LONGEST_LINE + 1):
            number += 1
            where = f"line {number}"
            if len(line) > _LONGEST_LINE:
                yield NotTaken(why="a line is longer than 16 MB", where=where)
                while line and not line.endswith(b"\n"):
                    line = file.readline(_LONGEST_LINE)
                continue
            if not line.strip():
                continue
            found = list(_records(line, where, at))
            known += sum(isinstance(each, ForeignEntry) for each in found)
            if not known and number == 1:
                raise Invalid(
                    "The file {place}, line 1, is not of a server-memory graph:"
                    f" {opening(line.decode('utf-8', 'replace').strip(), 60)!r}.",
                    hint="Name the server's memory.json, which has an object on each line.",
                    place=path,
                )
            yield from found


def _records(line: bytes, where: str, at: datetime) -> Iterator[Read]:
    """The records of a line: a writer that was killed leaves a torn one, or no end of the line."""
    text, read_as = from_utf8(line)
    begins, torn = _SOLID.search(text), 0
    while begins is not None:
        try:
            fields, ends = _DECODER.raw_decode(text, begins.start())
        except (ValueError, RecursionError):
            # A record may stand whole behind a torn one.
            found = _BEGINS.search(text, begins.end()) if torn < _MOST_TORN else None
            torn, ends = torn + 1, found.start() if found else len(text)
            yield NotTaken(why="a line is not JSON", where=where)
        else:
            each = _entry(fields, where, at)
            yield replace(each, read_as=read_as) if isinstance(each, ForeignEntry) else each
        begins = _SOLID.search(text, ends)


def _entry(fields: Any, where: str, at: datetime) -> Read:
    if not isinstance(fields, dict):
        return NotTaken(why="a line is not an object", where=where)
    match fields.get("type"):
        case "entity":
            return _entity(fields, where, at)
        case "relation":
            return _relation(fields, where, at)
    return NotTaken(why="a line is neither an entity nor a relation", where=where)


def _entity(fields: dict[str, Any], where: str, at: datetime) -> Read:
    name, kind, said = (fields.get(key) for key in ("name", "entityType", "observations"))
    if not (isinstance(name, str) and name.strip() and isinstance(kind, str)):
        return NotTaken(why="an entity has no name or no entityType that is text", where=where)
    if not (isinstance(said, list) and all(isinstance(each, str) for each in said)):
        return NotTaken(why="the observations of an entity are not a list of texts", where=where)
    head = f"{name} ({kind})" if kind.strip() else name
    text = "\n".join([head, *(f"- {each}" for each in said)])
    return ForeignEntry(
        id=f"entity {name}",
        text=text,
        at=at,
        where=where,
        kind="entity",
        tags=(kind,) if kind.strip() else (),
        is_dated=False,
    )


def _relation(fields: dict[str, Any], where: str, at: datetime) -> Read:
    parts = [fields.get(key) for key in ("from", "relationType", "to")]
    if not all(isinstance(part, str) and part.strip() for part in parts):
        return NotTaken(why="a relation has no from, relationType or to", where=where)
    return ForeignEntry(
        id=f"relation {json.dumps(parts, ensure_ascii=False)}",
        text=" ".join(
            str(part).replace("_", " ") if n == 1 else str(part) for n, part in enumerate(parts)
        ),
        at=at,
        where=where,
        kind="relation",
        is_dated=False,
    )
