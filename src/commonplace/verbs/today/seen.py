"""What the owner has looked at: up to an instant everything, since then single entries.

And which entries may take the place of which, until that is answered. Holds refs and times, and
never a word of an entry. Never decides what is new.
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

_PAIR = "\t"
"""Stands between the ref of an entry and that of the one whose place it may take."""

MOST_KEPT = 2000
"""Entries of which it is noted one by one that they were seen; of more the latest noted."""

_MOST_ASKED = 200

_LONGEST = 10_000
"""Characters of a name: a form may send more, and each page would read it again."""


class SeenState(Struct, frozen=True, kw_only=True):
    """What was seen.

    Attributes:
        until: Everything before it was, or is taken to be.
        kept: When each entry written since was looked at, by ref, in seconds since 1970.
        asked: The refs of a later entry and of a former one whose place it may take, the newest
            first.
    """

    until: datetime
    kept: Mapping[str, float]
    asked: Sequence[tuple[str, str]] = ()

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
            until = start_of_day(yesterday, self.zone)
        else:
            until = datetime.fromtimestamp(at, UTC)
        return SeenState(
            until=until,
            kept={ref: at for ref, at in known.items() if _PAIR not in ref},
            asked=[_refs_of(pair) for pair in _latest(known, is_pair=True)],
        )

    def keep(self, refs: Sequence[str], now: datetime) -> None:
        """Note that entries were seen. Raises: Unavailable, Denied."""
        until = self.read(now).until.timestamp()
        self._change(
            lambda known: _bounded({_ALL: until, **known, **dict.fromkeys(refs, now.timestamp())}),
        )

    def keep_written(self, refs: Iterable[str], now: datetime) -> None:
        """Note that the owner saw what they wrote; where it cannot be noted, it is new to them.

        An entry of the notebook makes the overview of its section as new as itself.
        now: After it was written.
        """
        seen = {each for ref in refs for each in (ref, overview_of(ref)) if each}
        with suppress(CommonplaceError):
            self.keep([*seen], now)

    def propose(self, later: str, former: str, now: datetime) -> None:
        """Note that an entry may take the place of another; where it cannot be noted, nobody asks.

        Both are refs.
        """
        pair = f"{later}{_PAIR}{former}"
        with suppress(CommonplaceError):
            self._change(lambda known: _bounded({**known, pair: now.timestamp()}))

    def settle(self, later: str, former: str) -> None:
        """Note that it is answered whether it does. Raises: Unavailable, Denied."""
        self.drop([f"{later}{_PAIR}{former}"])

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

    def advance(self, until: datetime) -> None:
        """Note that everything before a later instant was seen, which is not taken back.

        What was noted before that instant is left out. Raises: Unavailable, Denied.
        """
        least = until.timestamp()
        self._change(
            lambda known: {
                **{ref: at for ref, at in known.items() if at >= least},
                _ALL: max(least, known.get(_ALL, least)),
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


def _bounded(known: dict[str, float]) -> dict[str, float]:
    """The same without what was noted longest ago, where that is more than is kept.

    What is too long to be a ref is left out as well.
    """
    known = {name: at for name, at in known.items() if len(name) <= _LONGEST}
    left = [*_latest(known, is_pair=False)[MOST_KEPT:], *_latest(known, is_pair=True)[_MOST_ASKED:]]
    for each in left:
        del known[each]
    return known


def _latest(known: Mapping[str, float], *, is_pair: bool) -> list[str]:
    """The pairs, or the entries by themselves, what was noted last first."""
    names = (name for name in known if name != _ALL and (_PAIR in name) is is_pair)
    return sorted(names, key=lambda name: (-known[name], name))


def _refs_of(pair: str) -> tuple[str, str]:
    later, _, former = pair.partition(_PAIR)
    return later, former
