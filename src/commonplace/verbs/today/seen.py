"""What the owner has looked at: up to an instant everything, since then single entries.

Holds refs and times, and never a word of an entry. Never decides what is new.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.clock import day_of, start_of_day
from commonplace.core.errors import CommonplaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import tzinfo

    from commonplace.core.time_book import TimeBook

_CLOCKS_DIFFER = timedelta(minutes=1)

_ALL = ""
"""Stands in place of a ref for the instant up to which everything was seen."""


class SeenState(Struct, frozen=True, kw_only=True):
    """What was seen.

    Attributes:
        until: Everything before it was, or is taken to be.
        kept: When each entry written since was looked at, by ref, in seconds since 1970.
    """

    until: datetime
    kept: Mapping[str, float]

    def has(self, ref: str, at: datetime) -> bool:
        """Whether what is under a ref was looked at after an instant, at which it last changed."""
        return self.kept.get(ref, 0.0) >= at.timestamp()


class SeenMarks(Struct, frozen=True, kw_only=True):
    """Keeps what one owner has seen; safe among threads and processes.

    Attributes:
        prepare: Makes the owner's folder where it is missing.
    """

    book: TimeBook
    prepare: Callable[[], object]
    zone: tzinfo

    def read(self, now: datetime) -> SeenState:
        """What was seen; where nothing ever was, all before yesterday counts as seen.

        So it does where the file says a time that is not over yet, as of a clock that was wrong:
        nothing that is still to be written would be new.
        """
        known = dict(self.book.read())
        at = known.pop(_ALL, None)
        if at is None or not 0 <= at <= (now + _CLOCKS_DIFFER).timestamp():
            yesterday = day_of(now, self.zone) - timedelta(days=1)
            return SeenState(until=start_of_day(yesterday, self.zone), kept=known)
        return SeenState(until=datetime.fromtimestamp(at, UTC), kept=known)

    def keep(self, refs: Sequence[str], now: datetime) -> None:
        """Note that entries were seen. Raises: Unavailable, Denied."""
        until = self.read(now).until.timestamp()
        self._change(
            lambda known: {_ALL: until, **known, **dict.fromkeys(refs, now.timestamp())},
        )

    def keep_written(self, refs: Iterable[str], now: datetime) -> None:
        """Note that the owner saw what they wrote; where it cannot be noted, it is new to them.

        An entry of the notebook makes the overview of its section as new as itself.
        now: After it was written.
        """
        seen = {each for ref in refs for each in (ref, overview_of(ref)) if each}
        with suppress(CommonplaceError):
            self.keep([*seen], now)

    def drop(self, refs: Sequence[str]) -> None:
        """Note that entries are new again. Raises: Unavailable, Denied."""
        gone = set(refs)
        self._change(lambda known: {ref: at for ref, at in known.items() if ref not in gone})

    def keep_until(self, until: datetime, now: datetime) -> None:
        """Note that everything before an instant was seen. Raises: Unavailable, Denied.

        What was kept one by one since the instant before stays noted, so that this one can be taken
        back by naming that one.
        """
        before = min(self.read(now).until, until).timestamp()
        self._change(
            lambda known: {
                **{ref: at for ref, at in known.items() if at >= before},
                _ALL: until.timestamp(),
            }
        )

    def _change(self, change: Callable[[dict[str, float]], dict[str, float]]) -> None:
        self.prepare()
        self.book.change(change)


def is_overview(ref: str) -> bool:
    """Whether a ref is of an overview of the notebook, which stays the same as the text changes."""
    return ref == overview_of(ref)


def overview_of(ref: str) -> str:
    """The ref of the overview of a notebook entry's section; empty for any other journal's."""
    return ref.partition("#")[0] if ref.startswith("notebook:") else ""
