"""Obsidian's vaults: each Markdown file an entry, a daily note at its day.

Where the vault says in which folder and under which names daily notes lie, that counts.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.files import regular_file
from commonplace.core.importer import NotTaken
from commonplace.importers.formats.notes import note_paths, read_note
from commonplace.importers.formats.vaults import DAY_NAME, day_form, day_in, entry_of

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping
    from datetime import tzinfo

    from commonplace.core.importer import Into, Read

title = "Obsidian"
takes = "the vault's folder, or one in it"
into: Into = "private"

_LARGEST_SETTINGS = 1024 * 1024


def find(_home: str, _environ: Mapping[str, str]) -> list[str]:
    """Nowhere: a vault may lie anywhere."""
    return []


def read(path: str, *, zone: tzinfo) -> Iterator[Read]:
    """The notes of a vault or of a folder in one; see the port."""
    if not os.path.isdir(path):
        raise Invalid("{place} is not a folder.", hint="Name the vault's folder.", place=path)
    vault = _vault_of(path)
    form = _form_of(vault)
    found = 0
    for each in note_paths(path):
        found += 1
        name = os.path.relpath(each, vault).replace(os.sep, "/")
        day = day_in(name.removesuffix(".md"), form)
        note = read_note(each, path)
        if isinstance(note, NotTaken):
            yield note
        elif "excalidraw-plugin" in note.keys:
            yield NotTaken(why="a drawing of Excalidraw's", where=note.name)
        else:
            yield entry_of(note, zone, day=day)
    if not found:
        raise Invalid(
            "The folder {place} holds no Markdown note.",
            hint="Name the vault's folder.",
            place=path,
        )


def _vault_of(path: str) -> str:
    """The vault that a folder is, or lies in; the folder itself where there is none."""
    folder = os.path.abspath(path)
    while not os.path.isdir(os.path.join(folder, ".obsidian")):
        above = os.path.dirname(folder)
        if above == folder:
            return path
        folder = above
    return folder


def _form_of(vault: str) -> re.Pattern[str]:
    """How the vault names its daily notes; years, months and days with hyphens by default."""
    settings = _settings(os.path.join(vault, ".obsidian", "daily-notes.json"))
    form, folder = settings.get("format"), settings.get("folder")
    if not (isinstance(form, str) and form.strip()):
        return DAY_NAME
    return day_form(form, folder if isinstance(folder, str) else "")


def _settings(path: str) -> dict[str, Any]:
    try:
        with regular_file(path) as file:
            found = json.loads(file.read(_LARGEST_SETTINGS))
    except (CommonplaceError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
