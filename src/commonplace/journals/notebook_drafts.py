"""Owns the commits of a sync: one told again as it was, and one of our own upkeep.

Never alters what somebody wrote; who wrote it, and when, stays with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from commonplace.journals.gitrepo_commit import Draft
from commonplace.journals.gitrepo_history import raw_message, zone_of
from commonplace.journals.notebook_format import Message, compose_message, render_message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, tzinfo

    from commonplace.journals.gitrepo_history import Commit
    from commonplace.journals.notebook_format import Entry

_SECTION_LINE = re.compile(rb"^Section:[^\n]*$", re.MULTILINE | re.IGNORECASE)
_UNNAMEABLE = str.maketrans("<>\n\r\0", "     ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """Who commits what is told again, and when. zone: the owner's."""

    person: str
    now: datetime
    zone: tzinfo


@dataclass(frozen=True, slots=True)
class Told:
    """A commit that is told again, with the bytes of its object."""

    commit: Commit
    content: bytes

    @property
    def raw(self) -> bytes:
        """Its message, byte for byte."""
        return raw_message(self.content)


def told_again(
    told: Told,
    hand: Hand,
    message: bytes,
    *,
    puts: Mapping[str, bytes] | None = None,
    links: Mapping[str, tuple[str, str]] | None = None,
    drops: Sequence[str] = (),
    renames: Mapping[str, str] | None = None,
) -> Draft:
    """A commit that says the same of other files; its author and his time are as they were."""
    commit = told.commit
    author = " ".join(commit.author.translate(_UNNAMEABLE).split()) or "unknown"
    address = "".join(commit.address.translate(_UNNAMEABLE).split()) or "unknown"
    return Draft(
        message=message.replace(b"\0", b""),
        author=f"{author} <{address}>",
        committer=hand.person,
        at=commit.at,
        now=hand.now,
        zone=zone_of(told.content),
        puts=puts or {},
        links=links or {},
        drops=drops,
        renames=renames or {},
    )


def upkeep_draft(
    hand: Hand,
    message: Message,
    *,
    puts: Mapping[str, bytes],
    links: Mapping[str, tuple[str, str]] | None = None,
    drops: Sequence[str] = (),
) -> Draft:
    """A commit of our own, which is no entry."""
    return Draft(
        message=render_message(message),
        author=hand.person,
        committer=hand.person,
        at=hand.now,
        now=hand.now,
        zone=hand.zone,
        puts=puts,
        links=links or {},
        drops=drops,
    )


def named_message(message: Message, entry: Entry, place: str, raw: bytes) -> bytes:
    """The message of an entry, which names its section and its id; all else is as it was."""
    if entry.by_hand:
        said = compose_message(replace(message, entry_id=entry.id, section=place))
        return said.encode("utf-8", "replace")
    if message.section == place:
        return raw
    body, sign, last = raw.rstrip(b"\n").rpartition(b"\n\n")
    line = f"Section: {place}".encode()
    if _SECTION_LINE.search(last):
        last = _SECTION_LINE.sub(lambda _: line, last)
    else:
        last = line + b"\n" + last
    return body + sign + last + b"\n"
