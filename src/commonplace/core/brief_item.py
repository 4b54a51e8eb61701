"""One line that a brief may show, as journals give it.

Imports nothing: a hook reads the journals for a brief in a few milliseconds.
"""

from __future__ import annotations


class BriefItem:
    """What was written once, when, and the ref that opens it.

    Args:
        at: Seconds since 1970.
        text: As it was written, or the beginning of it.
        ref: Its address.
        kind: `event`, `note`, `todo`, `session`, or a heading of the private journal.
        tags: Of an event.
    """

    __slots__ = ("at", "kind", "ref", "tags", "text")

    def __init__(
        self, at: float, text: str, ref: str, kind: str, tags: tuple[str, ...] = ()
    ) -> None:
        self.at = at
        self.text = text
        self.ref = ref
        self.kind = kind
        self.tags = tags
