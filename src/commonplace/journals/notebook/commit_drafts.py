"""Owns the commits of a sync: one of our own upkeep, and an entry that is put on another history.

Never alters an entry of others; its author and its time stay with it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.journals.git.commit import CommitDraft
from commonplace.journals.git.history import raw_message, zone_of
from commonplace.journals.notebook.format import (
    CommitMessage,
    compose_message,
    move_message,
    parse_message,
    render_message,
)

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from commonplace.journals.git.history import Commit
    from commonplace.journals.notebook.format import NotebookEntry

_SECTION_LINE = re.compile(rb"^Section:[^\n]*$", re.MULTILINE | re.IGNORECASE)
_UNNAMEABLE = str.maketrans("<>\n\r\0", "     ")


class Signature(Struct, frozen=True, kw_only=True):
    """Who commits, and when.

    Attributes:
        zone: The owner's.
    """

    person: str
    now: datetime
    zone: tzinfo


def entry_draft(
    signature: Signature, commit: Commit, content: bytes, entry: NotebookEntry
) -> CommitDraft:
    """A commit that is the same entry on another history; its files are put there at the end.

    content: the bytes of the commit's object. Its author and his time are as they were.
    """
    said = _named(parse_message(commit.message), entry, raw_message(content))
    author = " ".join(commit.author.translate(_UNNAMEABLE).split()) or "unknown"
    address = "".join(commit.address.translate(_UNNAMEABLE).split()) or "unknown"
    return CommitDraft(
        message=said.replace(b"\0", b""),
        author=f"{author} <{address}>",
        committer=signature.person,
        at=commit.at,
        now=signature.now,
        zone=zone_of(content),
    )


def move_draft(signature: Signature, old: str, new: str) -> CommitDraft:
    """A commit that says of a section's entries that they are under another name now."""
    return maintenance_draft(signature, move_message(old, new))


def maintenance_draft(signature: Signature, message: CommitMessage) -> CommitDraft:
    """A commit of ours with this message, that changes no file yet. Raises: Invalid."""
    return CommitDraft(
        message=render_message(message),
        author=signature.person,
        committer=signature.person,
        at=signature.now,
        now=signature.now,
        zone=signature.zone,
    )


def _named(message: CommitMessage, entry: NotebookEntry, raw: bytes) -> bytes:
    """The message of an entry, which names its section and its id; all else is as it was."""
    if entry.by_hand:
        said = compose_message(replace(message, entry_id=entry.id, section=entry.section))
        return said.encode("utf-8", "replace")
    if message.section == entry.section:
        return raw
    body, sign, last = raw.rstrip(b"\n").rpartition(b"\n\n")
    line = f"Section: {entry.section}".encode()
    if _SECTION_LINE.search(last):
        last = _SECTION_LINE.sub(lambda _: line, last)
    else:
        last = line + b"\n" + last
    return body + sign + last + b"\n"
