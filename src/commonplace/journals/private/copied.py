"""Owns the text of a private entry that another program had: its file, and whether it changed.

Never reads or writes a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.ids import import_key
from commonplace.core.text import text_hash, well_formed
from commonplace.journals.private.format import (
    EARLIEST,
    LATEST,
    mark_superseded,
    mark_superseding,
    render_file,
    written_line,
)
from commonplace.journals.private.markdown import parse_keys, split_frontmatter
from commonplace.journals.private.write import LARGEST_WRITE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, tzinfo

    from commonplace.journals.private.format import PrivateEntry

FROM = "imported_from"
ID = "imported_id"
_HASH = "imported_hash"
_KIND = "kind"
_TAGS = "tags"
_LONGEST_KEY = 2000


class Copy(Struct, frozen=True, kw_only=True):
    """An entry of another program.

    Attributes:
        program: What had it.
        id: Its id there.
        kind: What it is there; may be empty.
    """

    text: str
    at: datetime
    program: str
    id: str
    kind: str = ""
    tags: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """What differs whenever its text, its kind or its tags do, in more than white space."""
        return _digest(self.text, {_KIND: _one_line(self.kind), _TAGS: self._listed})

    @property
    def _listed(self) -> str:
        return _one_line(", ".join(self.tags))

    def headers(self) -> str:
        """The lines of its frontmatter that name its origin."""
        keys = {
            FROM: self.program,
            ID: _quoted(self.id),
            _HASH: self.digest,
            _KIND: _one_line(self.kind),
            _TAGS: self._listed,
        }
        return "".join(f"{key}: {value}\n" for key, value in keys.items() if value)

    def render(self, at: datetime, zone: tzinfo, *, written: datetime | None = None) -> str:
        """Its file."""
        headers = f"{self.headers()}{written_line(written)}"
        return render_file(self.text.strip("\n"), at, zone, headers)


def updated_text(there: PrivateEntry, copy: Copy, zone: tzinfo) -> str:
    """What another program says now, with the time and the links that its entry has here."""
    text = copy.render(there.at, zone, written=there.written)
    if there.supersedes:
        text = mark_superseding(text, there.supersedes)
    if there.superseded_by:
        text = mark_superseded(text, there.superseded_by)
    return text


def check_copy(copy: Copy) -> str:
    """Why an entry cannot be kept, in words that are the same for all of its kind; else empty."""
    if not copy.text.strip():
        return "there is no text in it"
    if len(well_formed(copy.text).encode()) > LARGEST_WRITE:
        return f"it is longer than {LARGEST_WRITE >> 20} MB"
    if not EARLIEST <= copy.at < LATEST:
        return "the private journal holds the years 1971 to 2199 (--into timeline holds all)"
    return ""


def digest_of_copy(entry: PrivateEntry) -> tuple[str, str]:
    """What a copy said when it was written, and what it says now."""
    frontmatter, body = split_frontmatter(entry.raw)
    keys = parse_keys(frontmatter)
    return keys.get(_HASH, ""), _digest(body, keys)


def key_of_copy(raw: str) -> str:
    """The key that an entry was imported with, by its file; empty for one that was not imported."""
    keys = parse_keys(split_frontmatter(raw)[0])
    program, its_id = keys.get(FROM), keys.get(ID)
    return import_key(program, its_id) if program and its_id else ""


def origin_of(keys: Mapping[str, str]) -> str:
    """The program that had an entry, and its id there, by the keys of its frontmatter."""
    return ", ".join(filter(None, (keys[FROM], keys.get(ID, "")))) if keys.get(FROM) else ""


def _digest(text: str, keys: Mapping[str, str]) -> str:
    return text_hash("\0".join((keys.get(_KIND, ""), keys.get(_TAGS, ""), " ".join(text.split()))))


def _quoted(text: str) -> str:
    """An id in a frontmatter, in quotes where those keep its ends; it is read back as it is."""
    if not text.isprintable() or len(text) > _LONGEST_KEY:
        return _one_line(text)
    if text == text.strip("\"' "):
        return text
    quote = '"' if "'" in text else "'"
    return f"{quote}{text}{quote}"


def _one_line(text: str) -> str:
    """A value of a frontmatter as it is read back: one line, without quotes around it."""
    return " ".join(well_formed(text).split())[:_LONGEST_KEY].strip("\"' ")
