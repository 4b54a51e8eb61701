"""What forgetting and `doctor` are told of a text in a place that no journal keeps.

Never reads a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


DRAFT = "the draft"
"""What a copy is that lies in the folder of texts that an editor left."""


class TextCopy(Struct, frozen=True, kw_only=True):
    """A copy of what is forgotten, beside the journals.

    Attributes:
        what: What it is, such as `the draft`.
        path: The file; None where it lies in a database.
        erase: Takes the text out of it, or removes it. None for a file that is not touched, or
            that deleting the entry takes it out of.
        left: Why it is not touched, and the next step; empty where it is erased.
    """

    what: str
    path: Path | None
    erase: Callable[[], object] | None = None
    left: str = ""

    @property
    def place(self) -> str:
        """The path of its file; empty where it lies in a database."""
        return "" if self.path is None else str(self.path)

    @property
    def named(self) -> str:
        """What it is, and where."""
        return f"{self.what} {self.place}".rstrip()


class TextLeftover(Struct, frozen=True, kw_only=True):
    """Something that a process which was killed left, and that holds a text."""

    what: str
    clear: Callable[[], object]
