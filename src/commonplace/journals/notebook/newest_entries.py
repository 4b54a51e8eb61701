"""Owns the newest entries of one section, read from git alone while the ledger is blank.

Never walks through other sections' commits where git keeps filters of changed paths, and never
guesses: a section's former names are those that its moves name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.journals.git.history import read_newest
from commonplace.journals.git.run import LONG_TIMEOUT_S
from commonplace.journals.notebook.format import entries_of, parse_message
from commonplace.journals.notebook.ledger import EntryLine
from commonplace.journals.notebook.names import file_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from commonplace.journals.git.repo import GitRepository

_MORE = 8


def newest_entries(
    repo: GitRepository, head: str, section: str, *, start: int, length: int, now: datetime
) -> list[EntryLine]:
    """Entries of a section, those under its former names included, in the order of the history.

    An entry whose commit changed no file is not seen: the ledger knows those. None are given where
    one of them has expired, or a later commit says when any entry does: then only the ledger knows.

    Args:
        repo: The notebook's.
        head: The commit that the branch is at.
        section: As it is called now.
        start: How many of the newest to pass over.
        length: How many at most.
        now: The present.

    Raises:
        Unavailable, Denied.
    """
    if not head or _has_set_ends(repo, head):
        return []
    found = list(_entries(repo, head, section, start + length + _MORE))
    if any(line.has_expired(now) for line in found):
        return []
    return found[start : start + length]


def _has_set_ends(repo: GitRepository, head: str) -> bool:
    """Whether any commit says of an entry before it when that expires."""
    asked = ["log", "--max-count=1", "--format=%H", "--fixed-strings", "--grep=Expires-Entry: "]
    ran = repo.git.run([*asked, "--end-of-options", head], timeout_s=LONG_TIMEOUT_S)
    return bool(ran.out.strip())


def _entries(repo: GitRepository, head: str, section: str, most: int) -> Iterator[EntryLine]:
    seen: set[str] = set()
    named, at = section, head
    while at:
        commits = read_newest(repo, at, file_of(named), most=most)
        at = ""
        for commit in commits:
            message = parse_message(commit.message)
            if message.verb == "move" and message.section == named:
                named, at = message.moved_from, next(iter(commit.parents), "")
                break
            for entry in entries_of(commit, message):
                if entry.section == named and entry.id not in seen:
                    seen.add(entry.id)
                    yield EntryLine(
                        id=entry.id,
                        section=section,
                        hash=entry.hash,
                        at=entry.at,
                        summary=entry.summary,
                        expires=entry.expires,
                    )
