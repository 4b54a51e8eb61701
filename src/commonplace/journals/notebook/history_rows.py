"""Owns what the ledger holds of a history: its commits as rows of entries, ends, moves and merges.

Pure; never asks git.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from commonplace.journals.notebook.format import entries_of, move_of, parse_message, set_end_of
from commonplace.journals.notebook.links import entry_links

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from commonplace.journals.git.history import Commit

NEVER = 1 << 62
"""Stands for no end; `ledger.sql` has the same number."""


class MoveRow(Struct, frozen=True):
    """A commit that gives a section another name; no entry."""

    old: str
    new: str


class MergeRow(Struct, frozen=True):
    """A commit that brings two histories together; no entry."""


class EndRow(Struct, frozen=True):
    """A commit that says when an entry expires; no entry itself."""

    id: str
    hash: str
    at: int
    expires: int


HistoryRow: TypeAlias = "MoveRow | MergeRow | EndRow | dict[str, Any]"


class MovedRows:
    """The moves of a whole history, and which of them lie below each of its commits.

    What was written beside a move, on another branch, is moved as well once both are merged; what
    was written after it, under a name that a move has freed, is not.
    """

    def __init__(self) -> None:
        self._moves: list[MoveRow] = []
        self._below: dict[str, int] = {}  # a bit for each move; no commit without one is kept

    def rows_of(self, commit: Commit) -> Iterator[HistoryRow]:
        """The rows of the next commit, oldest first, with the names that moves beside it gave."""
        below = 0
        for parent in commit.parents:
            below |= self._below.get(parent, 0)
        for row in rows_of(commit):
            if isinstance(row, MoveRow):
                below |= 1 << len(self._moves)
                self._moves.append(row)
            elif isinstance(row, dict) and below != (1 << len(self._moves)) - 1:
                for number, move in enumerate(self._moves):
                    if row["section"] == move.old and not below >> number & 1:
                        row["section"] = move.new
            yield row
        if below:
            self._below[commit.hash] = below


def rows_of(commit: Commit) -> Iterator[HistoryRow]:
    """The rows of a commit, each of its entries with the links of its text."""
    if len(commit.parents) > 1:
        yield MergeRow()
    message = parse_message(commit.message)
    if move := move_of(message):
        yield MoveRow(*move)
    if end := set_end_of(message):
        yield EndRow(end[0], commit.hash, int(commit.at.timestamp()), _seconds(end[1]))
    for entry in entries_of(commit, message):
        yield {
            "id": entry.id,
            "named": entry.section,
            "section": entry.section,
            "hash": entry.hash,
            "at": int(entry.at.timestamp()),
            "summary": entry.summary.encode("utf-8", "replace").decode(),
            "supersedes": entry.supersedes,
            "own_end": _seconds(entry.expires),
            "links": entry_links(entry.summary, entry.text),
        }


def _seconds(end: datetime | None) -> int:
    return NEVER if end is None else int(end.timestamp())
