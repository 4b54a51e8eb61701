"""What an export holds of a journal: items, each by its ref and time, and what it replaced.

Reads and writes nothing. A journal's own items inherit from the one here, and say how they read.
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
        at: When it was, aware.
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
        """What it says, for people."""
        raise NotImplementedError

    def page_facts(self) -> Mapping[str, str]:
        """What else is to be known of it, by name, for people."""
        return {}


class PortableSummary(PortableItem, frozen=True, kw_only=True):
    """What was made from entries, and is made again from them: no import reads it.

    Attributes:
        level: hour, day, week, month or year.
        until: The end of its period, which `at` begins; itself no part of it.
        zone: That cut the period.
        text: The summary.
        made_from: The refs of what it was made from.
        made_by: What wrote it: the name of a model, or of our own way.
    """

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
