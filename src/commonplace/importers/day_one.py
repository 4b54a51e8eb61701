"""Day One's export: a zip archive or a folder with a JSON file for each journal, or one such file.

Text alone: pictures, recordings and the weather stay where they are, and are counted.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from commonplace.core.archive import files_in
from commonplace.core.errors import Invalid
from commonplace.core.importer import (
    A_LINK,
    ForeignEntry,
    NotTaken,
    instant_of,
    text_in,
    texts_in,
)
from commonplace.core.json_reader import JsonReader
from commonplace.core.text import opening

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import tzinfo

    from commonplace.core.importer import Into, Read

title = "Day One"
takes = "the archive of its JSON export, the folder in it, or a file of that"
into: Into = "private"

_ATTACHED = {
    "photos": "pictures",
    "videos": "films",
    "audios": "recordings",
    "pdfAttachments": "PDF files",
}
_PLACE = ("placeName", "localityName", "administrativeArea", "country")


def find(_home: str, _environ: Mapping[str, str]) -> list[str]:
    """Nowhere: an export lies where its user put it."""
    return []


def read(path: str, *, zone: tzinfo) -> Iterator[Read]:
    """The entries of all journals of an export; see the port."""
    attached: Counter[str] = Counter()
    has_entries = False
    for name, read_next in _files(path):
        if read_next is None:
            yield NotTaken(why=A_LINK, where=name)
            continue
        for each in _journal(read_next, path, name, zone, attached):
            has_entries = True
            yield each
    for what, count in attached.items():
        yield NotTaken(why=f"{what} of entries", count=count)
    if not has_entries:
        raise Invalid(
            "{place} holds no entries of Day One's.",
            hint="Export as JSON in Day One, then name the archive.",
            place=path,
        )


def _files(path: str) -> Iterator[tuple[str, Callable[[int], bytes] | None]]:
    """The name of each journal's file, and what reads it; None for a link: none is followed."""
    if not os.path.isdir(path):
        yield from files_in(path, _is_journal)
        return
    for name in sorted(os.listdir(path)):
        whole = os.path.join(path, name)
        if not (name.lower().endswith(".json") and os.path.isfile(whole)):
            continue
        if os.path.islink(whole):
            yield name, None
        else:
            yield from files_in(whole, _is_journal)


def _is_journal(name: str) -> bool:
    """Whether a member stands at the top, or in the one folder there, and is no system's own."""
    return name.lower().endswith(".json") and name.count("/") <= 1 and "__MACOSX" not in name


def _journal(
    read_next: Callable[[int], bytes], path: str, name: str, zone: tzinfo, attached: Counter[str]
) -> Iterator[Read]:
    document = JsonReader(read_next, path if path.endswith(name) else f"{path} ({name})")
    journal = os.path.basename(name).removesuffix(".json")
    if document.begins() != "{":
        return
    for member in document.members():
        if member != "entries":
            continue
        for line in document.elements():
            fields = document.value()
            yield _entry(fields, f"{journal} line {line}", journal, zone)
            if isinstance(fields, dict):
                for key, what in _ATTACHED.items():
                    found = fields.get(key)
                    attached[what] += len(found) if isinstance(found, list) else 0
    for what in [what for what, count in attached.items() if not count]:
        del attached[what]


def _entry(fields: Any, where: str, journal: str, zone: tzinfo) -> Read:
    if not isinstance(fields, dict):
        return NotTaken(why="an entry is not an object", where=where)
    its_id = text_in(fields.get("uuid"))
    if not its_id:
        return NotTaken(why="an entry has no uuid", where=where)
    try:
        at = instant_of(fields.get("creationDate"), zone)
    except ValueError:
        said = opening(str(fields.get("creationDate")), 40)
        return NotTaken(why="its creationDate is not a time", where=f"{where}: {said!r}")
    text = text_in(fields.get("text"))
    if not text.strip():
        return NotTaken(why="there is no text in it", where=where)
    place = fields.get("location")
    parts = [text_in(place.get(key)) for key in _PLACE] if isinstance(place, dict) else []
    named = ", ".join(dict.fromkeys(part for part in parts if part))
    starred = ("starred",) if fields.get("starred") is True else ()
    return ForeignEntry(
        id=its_id,
        text=text,
        at=at,
        where=where,
        tags=(*texts_in(fields.get("tags")), *starred),
        metadata={"diary": journal, **({"place": named} if named else {})},
    )
