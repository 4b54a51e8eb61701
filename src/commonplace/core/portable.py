"""The items that an export holds of a journal, each with its ref, its time and what it replaced.

Reads and writes nothing. Each journal's own items inherit from these, and say how people read them.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  a struct reads it at run time
from datetime import datetime  # noqa: TC003  a struct reads it at run time

from msgspec import Struct


class PortableItem(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One entry as an export holds it.

    Attributes:
        ref: Its address; an export has each once.
        at: When it happened, aware.
        supersedes: The ref of the entry whose place it took; empty for none.
        superseded_by: The ref of the entry that took its place; empty for none.
        expires: When it is to be forgotten; None for never.
    """

    ref: str
    at: datetime
    supersedes: str = ""
    superseded_by: str = ""
    expires: datetime | None = None

    @property
    def id(self) -> str:
        """Its ref without the name of the journal."""
        return self.ref.partition(":")[2]

    def page_text(self) -> str:
        """The text that a page shows of it."""
        raise NotImplementedError

    def page_facts(self) -> Mapping[str, str]:
        """What else a page shows of it, by name; a blank value is left out."""
        return {}


class PortableSummary(PortableItem, frozen=True, kw_only=True):
    """A summary made from entries; no import reads it, since it is made again from them."""

    level: str
    until: datetime
    zone: str
    text: str
    made_from: tuple[str, ...] = ()
    made_by: str = ""

    def page_text(self) -> str:
        """The summary."""
        return self.text

    def page_facts(self) -> Mapping[str, str]:
        """Its level, and what it was made from."""
        return {"Summary of": f"one {self.level}", "Made from": ", ".join(self.made_from)}
