"""What Claude Code notes by itself: the Markdown files in the `memory` folder of each project.

`MEMORY.md` is an index of the others, or, from an earlier time, holds the notes itself.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from commonplace.core.errors import Invalid
from commonplace.core.importer import ForeignEntry, NotTaken
from commonplace.importers.formats.notes import note_paths, read_note

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import tzinfo

    from commonplace.core.importer import Into, Read
    from commonplace.importers.formats.notes import Note

title = "Claude Code's memory"
takes = "a `memory` folder of Claude Code's, or one that holds such"
into: Into = "timeline"

_INDEX = "MEMORY.md"
_LINK = re.compile(r"[-*][ \t]+.*\[[^\]]*\]\([^)]+\.md\).*")


def find(home: str, environ: Mapping[str, str]) -> list[str]:
    """The `memory` folders of all projects."""
    own = environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    return list(_folders(own))


def read(path: str, *, zone: tzinfo) -> Iterator[Read]:  # noqa: ARG001  no time is in it
    """The notes of a `memory` folder, of all in a folder of Claude's, or one note; see the port."""
    if os.path.isfile(path):
        yield _entry(path, os.path.dirname(path))
        return
    found = [path] if os.path.basename(path) == "memory" else [*_folders(path)]
    if not found:
        raise Invalid(
            "The folder {place} holds no memory of Claude Code's.",
            hint="Name a folder such as ~/.claude/projects/PROJECT/memory.",
            place=path,
        )
    for folder in found:
        for each in note_paths(folder):
            yield _entry(each, folder)


def _folders(own: str) -> Iterator[str]:
    """The `memory` folders in Claude's own folder, in its `projects`, or of one project."""
    projects = os.path.join(own, "projects")
    base = projects if os.path.isdir(projects) else own
    names: list[str] = []
    with suppress(OSError):
        names = sorted(os.listdir(base))
    named = [own, *(os.path.join(base, name) for name in names)]
    for folder in dict.fromkeys(named):
        memory = os.path.join(folder, "memory")
        if os.path.isdir(memory) and any(note_paths(memory)):
            yield memory


def _entry(path: str, folder: str) -> Read:
    note = read_note(path, folder)
    if isinstance(note, NotTaken):
        return note
    if not note.body:
        return NotTaken(why="there is no text in it", where=note.name)
    if note.name == _INDEX and _is_index(note):
        return NotTaken(why="an index of the other files", where=note.name)
    project = os.path.basename(os.path.dirname(os.path.abspath(folder)))
    others = note.properties_but("description", "type", "name")
    about = note.keys.get("description", "")
    return ForeignEntry(
        id=f"{project}/{note.name}",
        text=note.body if not about or about in note.body else f"{about}\n\n{note.body}",
        at=note.changed,
        where=f"{project}/{note.name}",
        kind=note.keys.get("type", "note"),
        metadata={
            "projects": [project],
            "name": note.keys.get("name", note.name),
            **({"properties": others} if others else {}),
        },
        is_dated=False,
        read_as=note.read_as,
    )


def _is_index(note: Note) -> bool:
    """Whether nothing but links to other notes stands in it, beside headings."""
    lines = [line.strip() for line in note.body.splitlines()]
    said = [line for line in lines if line and not line.startswith("#")]
    return bool(said) and all(_LINK.fullmatch(line) for line in said)
