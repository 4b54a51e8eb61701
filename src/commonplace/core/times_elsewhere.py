"""The port of what keeps times of entries in place of a file of the owner's: see `time_book`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class KeepsTimes(Protocol):
    """A journal on a server that keeps times of its entries itself: when they expire, for one.

    So every process sees them, on whichever machine. Times are in seconds since 1970, by ref.
    """

    def covers(self, ref: str) -> bool:
        """Whether an entry is of this journal; asks no server."""
        ...

    def read_times(self, refs: Sequence[str] | None = None) -> Mapping[str, float]:
        """The times of those of these entries that have one, or all. Raises: Unavailable."""
        ...

    def list_due(self, now: float) -> Sequence[str]:
        """The refs of entries whose time has come, the oldest first. Raises: Unavailable."""
        ...

    def keep_times(self, times: Mapping[str, float]) -> None:
        """Set times, in place of any earlier ones. Raises: Unavailable."""
        ...

    def take_over(self, times: Mapping[str, float]) -> Sequence[str]:
        """Set times that were kept elsewhere, unless one is there that is later.

        Returns:
            Which entries it has, or had: what it never had is not set.

        Raises:
            Unavailable.
        """
        ...

    def drop_times(self, refs: Sequence[str]) -> None:
        """Remove the times of entries. Raises: Unavailable."""
        ...
