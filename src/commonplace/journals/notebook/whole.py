"""Owns a notebook whole, as it is carried between git and a database.

Pure; never asks git, a disk or a database.
"""

from __future__ import annotations

from datetime import datetime  # noqa: TC003  a struct reads it at run time
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from commonplace.journals.notebook.format import NotebookEntry
from commonplace.journals.notebook.merge import merge

if TYPE_CHECKING:
    from collections.abc import Sequence


class PastOverview(Struct, frozen=True):
    """An overview as it is or once was.

    Attributes:
        at: When it was written.
        entry_id: Of the entry that it came with; empty for none.
        author, address: Who put it in place, as git has them; empty where that is not known.
    """

    section: str
    text: str
    at: datetime
    entry_id: str = ""
    author: str = ""
    address: str = ""


Step: TypeAlias = "NotebookEntry | PastOverview"
"""An entry, or an overview that was put in place, under the name that its section has now."""


class WholeNotebook(Struct, frozen=True, kw_only=True):
    """All of a notebook.

    Attributes:
        steps: In the order in which they were written; an overview after the entry it came with.
        moves: A former name of a section with the next one, in their order.
        mark: What no other state of a repository has: its commit. Empty where it is not known.
    """

    steps: Sequence[Step]
    moves: Sequence[tuple[str, str]]
    mark: str = ""

    @property
    def entries(self) -> list[NotebookEntry]:
        """Its entries, in the order of their writing."""
        return [step for step in self.steps if isinstance(step, NotebookEntry)]

    @property
    def overviews(self) -> dict[str, list[PastOverview]]:
        """What the overview of each section was, the last of it as it is now."""
        found: dict[str, list[PastOverview]] = {}
        for step in self.steps:
            if isinstance(step, PastOverview):
                found.setdefault(step.section, []).append(step)
        return found


def joined(there: Sequence[str], come: Sequence[str]) -> str:
    """The overview of a section that two notebooks have, of which neither loses a line.

    there, come: what it was in each, the last as it is now.
    """
    if come[-1] in there or not come[-1].strip():
        return there[-1]
    if there[-1] in come or not there[-1].strip():
        return come[-1]
    return merge(come[-1], there[-1]).text
