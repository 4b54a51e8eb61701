"""The doc table: every doc of an index in the order of its time, in columns, with its neighbours.

Never reads a database and never weighs words or vectors; it knows only which docs are neighbours.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct

from commonplace.core.clock import bounds_us

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from commonplace.core.values import Interval, Weighing

    Ids = NDArray[np.int64]
    Mask = NDArray[np.bool_]
    Figures = NDArray[np.float32]

_ABOVE_ALL = 2**63 - 1
"""No facet has this number: what is sought beyond the last of them meets it."""
COLUMNS = ("ids", "at_us", "facets", "sessions", "lengths", "timed")


class Lending(NamedTuple):
    """Which docs lend context to some docs.

    Args:
        places: (m, k) places of the docs that lend.
        weights: (m, k), 0 where none does.
    """

    places: Ids
    weights: Figures


class DocTable(Struct, frozen=True, eq=False, dict=True):
    """Docs as columns of one length, by (time, turn, ref); a row's number is its place.

    Args:
        ids: As in the database.
        at_us: Microseconds since the epoch.
        facets: Numbers of facets, as in the database.
        sessions: Numbers of sessions; 0 for a doc that stands alone.
        lengths: Words.
        timed: Whether the text names a time.
    """

    ids: Ids
    at_us: Ids
    facets: Ids
    sessions: Ids
    lengths: Ids
    timed: Mask

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def _by_id(self) -> tuple[Ids, Ids]:
        """The ids in order, and the place of each."""
        order = np.argsort(self.ids, kind="stable")
        return self.ids[order], order

    @cached_property
    def _line(self) -> tuple[Ids, Ids, Ids]:
        """Places session by session; where in that line each stands; words before each there."""
        line = np.argsort(self.sessions, kind="stable")
        spots = np.empty(len(line), dtype=np.int64)
        spots[line] = np.arange(len(line))
        lengths = self.lengths[line]
        return line, spots, np.cumsum(lengths) - lengths

    def places_of(self, ids: Ids) -> Ids:
        """The place of each id, -1 for one that is not here."""
        if not len(self.ids):
            return np.full(len(ids), -1, dtype=np.int64)
        ordered, places = self._by_id
        found = ordered.searchsorted(ids)
        found[found == len(ordered)] = 0
        return np.where(ordered[found] == ids, places[found], -1)

    def bears(self, facets: Sequence[int]) -> Mask:
        """Whether each doc has one of these facets."""
        # `np.isin` takes five times as long for the docs of a small user.
        ordered = np.array([*sorted(facets), _ABOVE_ALL], dtype=np.int64)
        mask: Mask = ordered[ordered.searchsorted(self.facets)] == self.facets
        return mask

    def places_between(self, interval: Interval) -> Ids:
        """The places of the docs whose time lies in an interval."""
        return np.arange(*np.searchsorted(self.at_us, bounds_us(interval)), dtype=np.int64)

    def relative_lengths(self, weighing: Weighing) -> Figures:
        """The length of each doc over the mean of its kind, where a short one counts as longer."""
        least = np.array([weighing.shortest, weighing.shortest_turn])[self.is_turn]
        lengths = np.maximum(self.lengths, least)
        means = np.bincount(self.is_turn, lengths, 2) / np.maximum(self.populations, 1)
        relative: Figures = (lengths / means[self.is_turn]).astype(np.float32)
        return relative

    @cached_property
    def is_turn(self) -> Ids:
        """1 for each turn of a conversation, 0 for each doc that stands alone."""
        is_turn: Ids = (self.sessions != 0).astype(np.int64)
        return is_turn

    @cached_property
    def populations(self) -> Ids:
        """(2,) how many docs stand alone, and how many are turns of a conversation."""
        return np.bincount(self.is_turn, minlength=2)

    def between(self, low: int, high: int) -> DocTable:
        """The table of the docs with low <= id < high, as if there were no others.

        Both bounds cut between seconds, where ids and (time, turn, ref) have one order.
        """
        ordered, _ = self._by_id
        start, stop = np.searchsorted(ordered, [low, high]).tolist()
        return DocTable(*(getattr(self, name)[start:stop] for name in COLUMNS))

    def taken(self, chosen: Ids | slice) -> DocTable:
        """The table of the docs at some places, in order, as if there were no others."""
        return DocTable(*(getattr(self, name)[chosen] for name in COLUMNS))

    def around(self, places: Ids, reach: int) -> Ids:
        """Some places in order, with those up to `reach` before and after each in its session."""
        if not self.populations[1]:
            return places
        steps = np.arange(-reach, reach + 1)
        others, is_there = self._stepped(places, steps)
        return np.unique(others[is_there])

    def lending(self, places: Ids, weighing: Weighing) -> Lending:
        """Which docs lend context to each of these places, and how much.

        The weight falls with the words that lie between two entries and half the length of the one
        that lends: a long one lends next to nothing. Source: context kernel of configuration A.
        """
        side = weighing.side
        if not side or not self.populations[1]:
            nothing = np.empty((len(places), 0), dtype=np.int64)
            return Lending(nothing, nothing.astype(np.float32))
        steps = np.array([*range(-side, 0), *range(1, side + 1)], dtype=np.int64)
        others, is_there = self._stepped(places, steps)
        _, spots, before = self._line
        mine, theirs = spots[places][:, None], spots[others]
        lengths = self.lengths[others]
        precedes = steps < 0
        start = np.where(
            precedes, before[theirs] + lengths, before[mine] + self.lengths[places][:, None]
        )
        end = np.where(precedes, before[mine], before[theirs])
        distance = (end - start) + lengths / 2
        share = np.where(precedes, weighing.before, weighing.after)
        # Where no doc is there is no distance: a long entry's own would be far below zero.
        weights = share * np.exp(-np.maximum(distance, 0.0) / weighing.scale)
        weights = np.maximum(weights, np.where(steps == 1, weighing.following, 0.0))
        weights[~is_there | (weights < weighing.least)] = 0.0
        return Lending(others, weights.astype(np.float32))

    def _stepped(self, places: Ids, steps: Ids) -> tuple[Ids, Mask]:
        """The places so many steps along the session, and whether there is one."""
        line, spots, _ = self._line
        if not len(line):
            nothing = np.empty((len(places), len(steps)), dtype=np.int64)
            return nothing, nothing.astype(np.bool_)
        sought = spots[places][:, None] + steps
        is_there = (sought >= 0) & (sought < len(line))
        others = line[np.clip(sought, 0, len(line) - 1)]
        mine = self.sessions[places][:, None]
        is_there &= (self.sessions[others] == mine) & ((mine != 0) | (steps == 0))
        return others, is_there


def doc_table_of(columns: Ids) -> DocTable:
    """The doc table of (columns, n) numbers, in the order of `COLUMNS` and of (time, turn, ref)."""
    ids, at_us, facets, sessions, lengths, timed = columns
    return DocTable(ids, at_us, facets, sessions, lengths, timed.astype(np.bool_))
