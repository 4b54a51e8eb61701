"""How much one user may keep in a database: what it is told, and what it says where that is over.

Counts nothing: the tables do, in the transaction of each change; see the migration `kept`.
"""

from __future__ import annotations

from typing import NamedTuple

from commonplace.core.errors import Denied

REFUSED = "CP001"
"""The state by which the database refuses what would be over it."""


class Quota(NamedTuple):
    """The most that one user may keep; 0 for any number."""

    entries: int = 0
    bytes: int = 0

    def __str__(self) -> str:
        """As the database takes it."""
        return f"{self.entries} {self.bytes}"


class OverQuota(Denied):
    """What a user would keep is over the quota, and nothing of it was written."""

    @classmethod
    def of(cls, detail: str) -> OverQuota:
        """The error for what the database counted.

        detail: how many entries and bytes there would be, would be new, and may be at most.
        """
        entries, size, more_entries, more_size, most_entries, most_size = map(int, detail.split())
        is_number = more_entries > 0 and 0 < most_entries < entries
        there, more, most, what = (
            (entries, more_entries, most_entries, "entries")
            if is_number
            else (size, more_size, most_size, "bytes")
        )
        return cls(
            f"Nothing was written: {there - more:,} of at most {most:,} {what} are kept already,"
            f" and this would add {more:,}.",
            hint="Delete or forget what is not needed, or ask who runs the server for more"
            f" (serve.most_{what}).",
        )
