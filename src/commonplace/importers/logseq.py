"""Logseq's graphs of Markdown files: journals at their days, and pages.

Never reads the copies that Logseq keeps for safety, and no graph in its database.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.files import regular_file
from commonplace.core.importer import NotTaken
from commonplace.importers.formats.notes import note_paths, read_note
from commonplace.importers.formats.vaults import day_form, day_in, entry_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import tzinfo

    from commonplace.core.importer import Into, Read
    from commonplace.importers.formats.notes import Note

title = "Logseq"
takes = "the graph's folder, or its folder `journals`"
into: Into = "private"

_SETTING = re.compile(
    r'^(?!\s*;).*?:(journal/file-name-format|journals-directory|pages-directory)\s+"([^"]*)"',
    re.MULTILINE,
)
_LARGEST_SETTINGS = 1024 * 1024
# Logseq's letters of a form, in those of Moment.js.
_LETTERS = {
    "yyyy": "YYYY",
    "yy": "YY",
    "EEEE": "dddd",
    "EEE": "ddd",
    "E": "ddd",
    "do": "Do",
    "dd": "DD",
    "d": "D",
}
_LETTER = re.compile("yyyy|yy|EEEE|EEE|E|do|dd|d|[^a-zA-Z]+|[a-zA-Z]")
_PROPERTY = re.compile(r"(?:- +)?([\w-]{1,64}):: *(.*)")


def find(_home: str, _environ: Mapping[str, str]) -> list[str]:
    """Nowhere: a graph may lie anywhere."""
    return []


def read(path: str, *, zone: tzinfo) -> Iterator[Read]:
    """The journals and pages of a graph, or of its folder `journals` alone; see the port."""
    is_journals = os.path.basename(os.path.abspath(path)) == "journals"
    graph = os.path.dirname(os.path.abspath(path)) if is_journals else path
    settings = _settings(graph)
    journals = settings.get("journals-directory") or "journals"
    pages = settings.get("pages-directory") or "pages"
    letters = _LETTER.findall(settings.get("journal/file-name-format") or "yyyy_MM_dd")
    form = day_form("".join(_LETTERS.get(x, x) for x in letters), journals)
    folders = [os.path.join(graph, name) for name in (journals, *(() if is_journals else (pages,)))]
    there = [folder for folder in folders if os.path.isdir(folder)]
    if not there:
        raise Invalid(
            "The folder {place} holds no graph of Logseq's: neither `journals` nor `pages`.",
            hint="Name the graph's folder; export a graph in a database as Markdown first.",
            place=path,
        )
    for folder in there:
        for each in note_paths(folder):
            note = read_note(each, graph)
            yield note if isinstance(note, NotTaken) else _entry(note, form, zone)
        others = sum(name.endswith(".org") for _, _, names in os.walk(folder) for name in names)
        if others:
            yield NotTaken(why="a file in Org mode", where=os.path.basename(folder), count=others)


def _entry(note: Note, form: re.Pattern[str], zone: tzinfo) -> Read:
    """Its properties are lines of its text already: they stay there, and say its date and tags."""
    own = dict(note.keys)
    for line in note.body.splitlines():
        found = _PROPERTY.fullmatch(line.strip())
        if found is None:
            break
        if found[2]:
            own.setdefault(found[1].lower(), found[2])
    if "tags" in own:
        names = (name.strip().strip("#[]").strip() for name in own["tags"].split(","))
        own["tags"] = ",".join("-".join(name.split()) for name in names)
    name = unquote(note.name.removesuffix(".md"))
    title = own.get("title") or name.rpartition("/")[2].replace("___", "/")
    return entry_of(replace(note, keys=own), zone, day=day_in(name, form), title=title)


def _settings(graph: str) -> dict[str, str]:
    try:
        with regular_file(os.path.join(graph, "logseq", "config.edn")) as file:
            text = file.read(_LARGEST_SETTINGS).decode("utf-8", "replace")
    except CommonplaceError:
        return {}
    return {name: value.strip("/") for name, value in _SETTING.findall(text)}
