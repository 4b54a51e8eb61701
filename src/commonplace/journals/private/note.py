"""Owns an entry that is no file: what a database keeps of it, and the entry that it is.

Never reads or writes anything.
"""

from __future__ import annotations

import os
from datetime import datetime  # noqa: TC003  a struct reads it at run time
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import Denied, Invalid
from commonplace.core.text import opening
from commonplace.journals.private.format import (
    EPOCH,
    PrivateEntry,
    decode,
    entry_at,
    parse_entry,
    version_of,
    written_of,
)
from commonplace.journals.private.markdown import (
    SUPERSEDED_BY,
    SUPERSEDES,
    parse_frontmatter,
)
from commonplace.journals.private.places import SCHEME, SUFFIX, refuse_malformed

if TYPE_CHECKING:
    from datetime import tzinfo

USER = "user"
"""The scope of what is no project's."""

_HINT = "Use a ref that a search or a list has shown."


class PrivateNote(Struct, frozen=True, kw_only=True):
    """An entry as its file would be.

    Attributes:
        content: The file's bytes.
        at: The entry's time.
        changed: When the file was last changed, if that alone gives the entry its time.
        project: The root that it lies in, as an export names it; empty for the user's own.
    """

    ref: str
    content: bytes
    at: datetime
    changed: datetime | None = None
    project: str = ""

    @property
    def id(self) -> str:
        """The ref without the journal's name."""
        return self.ref.removeprefix(SCHEME)

    @property
    def scope(self) -> str:
        """`user`, or `project@` and eight hex digits."""
        return self.id.partition("/")[0]


def note_of(
    ref: str, content: bytes, *, changed: datetime, zone: tzinfo, project: str = ""
) -> PrivateNote:
    """What is kept of a file. changed: its time of change."""
    keys = parse_frontmatter(decode(content))
    *_, day, stem = ["", *ref.partition("/")[2].split("/")]
    first, at = (entry_at(keys, day, stem, each, zone) for each in (EPOCH, changed))
    return PrivateNote(
        ref=ref,
        content=content,
        at=at,
        changed=None if first == at else changed,
        project=project,
    )


def entry_of(note: PrivateNote, zone: tzinfo) -> PrivateEntry:
    """The entry that a note is; its path is that below a root."""
    raw = decode(note.content)
    parsed, version = parse_entry(raw), version_of(note.content)
    return PrivateEntry(
        ref=note.ref,
        scope=note.scope,
        path=Path(note.id.partition("/")[2] + SUFFIX),
        at=note.at,
        headings=parsed.headings,
        text=parsed.text,
        raw=raw,
        stamp=version,
        version=version,
        supersedes=parsed.frontmatter.get(SUPERSEDES, ""),
        superseded_by=parsed.frontmatter.get(SUPERSEDED_BY, ""),
        written=written_of(parsed.frontmatter, zone),
    )


def parse_ref(text: str) -> str:
    """The ref that a ref, or a path below the user's root, names. Raises: Invalid, Denied."""
    refuse_malformed(text)
    shown = repr(opening(text, 200))
    if text.startswith(SCHEME):
        scope, _, relative = text.removeprefix(SCHEME).partition("/")
        if not scope or not relative:
            raise Invalid(f"{shown} is not a ref of the private journal.", hint=_HINT)
        return text.removesuffix(SUFFIX)
    if not text.endswith(SUFFIX):
        raise Invalid(f"{shown} is not a {SUFFIX} file.", hint=_HINT)
    if os.path.isabs(text):
        raise Denied(f"{shown} lies outside the journal's folders.", hint=_HINT)
    return f"{SCHEME}{USER}/{text.removesuffix(SUFFIX)}"
