"""One line that a brief may show, as journals give it.

Imports nothing: a hook reads the lines of a brief in a few milliseconds.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

OWN = "own"
"""The word of a line that the owner, or a program of the owner's, wrote."""

REPOSITORY = "repository"
"""The word of what came with a repository, or of what another user of the system owns."""

CLIENT = "client"
"""The word of what a client noted by itself, in a file of its own."""


PRIVATE = "private"
"""The tag of a line that may quote any heading of the private journal."""

UNASKED_HEADINGS = {"user": "user context", "project": "project notes"}
"""The one heading of each root of that journal, in lower case, that may be given unasked."""


class BriefItem:
    """What was written once, when, and the ref that opens it.

    Args:
        text: As it was written, or the beginning of it.
        kind: `event`, `note`, `todo`, `session`, `turn`, `day`, `week`, or a heading of the private
            journal.
        tags: Of an event; `PRIVATE`.
        expires: When it expires, in seconds since 1970; None for never.
        word: Whose word it is: `OWN` or `REPOSITORY`.
    """

    __slots__ = ("at", "expires", "kind", "ref", "tags", "text", "word")

    def __init__(
        self,
        at: float,
        text: str,
        ref: str,
        kind: str,
        tags: tuple[str, ...] = (),
        *,
        expires: float | None = None,
        word: str = OWN,
    ) -> None:
        self.at = at
        self.text = text
        self.ref = ref
        self.kind = kind
        self.tags = tags
        self.expires = expires
        self.word = word

    @property
    def journal(self) -> str:
        """The journal that it stands in."""
        return self.ref.partition(":")[0]

    @property
    def instant(self) -> datetime | None:
        """When it was written, aware UTC; None where no time is known, or none of the calendar."""
        from datetime import UTC, datetime

        try:
            return datetime.fromtimestamp(self.at, UTC) if self.at else None
        except (ValueError, OverflowError, OSError):
            return None
