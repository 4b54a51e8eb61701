"""basic-memory's folder: Markdown notes with frontmatter, observations and relations.

A note is an entry, as it stands there; its relations and what else its frontmatter says are kept
beside it by their names.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from commonplace.core.importer import ForeignEntry, NotTaken
from commonplace.importers.formats.notes import note_paths, read_at, read_note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import tzinfo

    from commonplace.core.importer import Into, Read
    from commonplace.importers.formats.notes import Note

title = "basic-memory"
takes = "the folder of a project, or a note in it"
into: Into = "timeline"

_TIMES = ("created", "created_at", "date")
_CHECKBOX = re.compile(r"[-*][ \t]+\[[ xX-]\]")
_OBSERVATION = re.compile(r"[-*][ \t]+\[[^\[\]]{1,60}\][ \t]+(.*)")
_RELATION = re.compile(r"[-*][ \t]+(?:([^\[\]]{1,80}?)[ \t]+)?\[\[([^\[\]]{1,300})\]\]")
_TAG = re.compile(r"(?<![\w#])#([\w/-]{1,60})")
_MOST_RELATIONS = 200


def find(home: str, environ: Mapping[str, str]) -> list[str]:
    """The folder of the main project."""
    path = environ.get("BASIC_MEMORY_HOME") or os.path.join(home, "basic-memory")
    return [path] if os.path.isdir(path) else []


def read(path: str, *, zone: tzinfo) -> Iterator[Read]:
    """The notes of a folder, or one note; see the port."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    for each in note_paths(path) if os.path.isdir(path) else (path,):
        note = read_note(each, folder)
        if isinstance(note, NotTaken):
            yield note
        elif not note.body:
            yield NotTaken(why="there is no text in it", where=note.name)
        else:
            yield _entry(note, zone)


def _entry(note: Note, zone: tzinfo) -> Read:
    at, month_first, said, is_dated = note.changed, None, "", False
    named = next((key for key in _TIMES if key in note.keys), "")
    if named:
        try:
            (at, month_first, said), is_dated = read_at(note, named, zone), True
        except ValueError as exc:
            return NotTaken(why=f"its {named} is not a time", where=f"{note.name}: {exc}")
    title = note.keys.get("title", "")
    others = note.properties_but("title", "type", "permalink", "tags", named)
    relations: list[str] = []
    tags = [*note.lists.get("tags", ())]
    tags += [] if tags else [x.strip() for x in note.keys.get("tags", "").split(",")]
    for line in note.body.splitlines():
        plain = line.strip()
        if _OBSERVATION.fullmatch(plain) and not _CHECKBOX.match(plain):
            tags += _TAG.findall(plain)
        elif (relation := _RELATION.match(plain)) and len(relations) < _MOST_RELATIONS:
            relations.append(f"{relation[1] or 'links to'} {relation[2]}")
    return ForeignEntry(
        id=note.keys.get("permalink") or note.name,
        text=note.titled(title),
        at=at,
        where=note.name,
        kind=note.keys.get("type", "note"),
        tags=tuple(dict.fromkeys(tag.removeprefix("#") for tag in tags if tag.strip("# "))),
        metadata={
            "file": note.name,
            **({"relations": relations} if relations else {}),
            **({"properties": others} if others else {}),
        },
        is_dated=is_dated,
        month_first=month_first,
        said=said,
        read_as=note.read_as,
    )
