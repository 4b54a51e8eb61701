"""Several indexes of one owner searched as one: one weighing over what they all hold.

Never files anything, and never lets an index that fails take the others along.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

import numpy as np

from commonplace.core.errors import CommonplaceError
from commonplace.core.ports import Succeeding
from commonplace.core.values import Counts
from commonplace.index.scoring.doc_table import COLUMNS, roll_of
from commonplace.index.scoring.score import Measured, Posting, candidates_of, top

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from commonplace.core.values import Asked, Candidates, Doc, Tally
    from commonplace.index.scoring.doc_table import DocTable, Figures, Ids
    from commonplace.index.scoring.stems import Stem

_T = TypeVar("_T")

_log = logging.getLogger(__name__)

_LEFT_OUT = "An index is left out: %s"


@runtime_checkable
class Measures(Protocol):
    """An index of one owner that hands over what it would weigh."""

    def counts(self, identity: str) -> Counts:
        """How much is held, and how much waits for this encoder."""
        ...

    def tally(self, identity: str) -> list[Tally]:
        """The same of each journal."""
        ...

    def measured(self, asked: Asked) -> Measured:
        """What there is to be weighed. Raises: Unavailable, Invalid."""
        ...


class JointIndex:
    """What answers a search as one index that held all docs of these would.

    Words are weighed by how common they are in all of them, and the best of each leg are the best
    of all. A session, and a ref, lie in one of them. Of docs of one instant those of the first
    index come first. others: asked as well; one that fails is left out and logged: whoever files
    into it has told the reader.
    """

    def __init__(self, first: Measures, *others: Measures) -> None:
        self._first = first
        self._others = others

    def candidates(self, asked: Asked) -> Candidates:
        """The best of both legs and around them; see `core.ports.OwnerIndex`."""
        asked = replace(asked, vector=cache(asked.vector))
        parts = self._of_each(lambda each: each.measured(asked))
        if len(parts) == 1:
            return candidates_of(parts[0], asked)
        return candidates_of(joined([parts[0], *(_spared(each) for each in parts[1:])]), asked)

    def counts(self, identity: str) -> Counts:
        """How much all of them hold, and how much waits for this encoder."""
        found = self._of_each(lambda each: each.counts(identity))
        return Counts(
            docs=sum(each.docs for each in found),
            pending=sum(each.pending for each in found),
            bytes=sum(each.bytes for each in found),
        )

    def tally(self, identity: str) -> list[Tally]:
        """How much is held of each journal, each of which lies in one of them."""
        found = self._of_each(lambda each: each.tally(identity))
        return sorted((each for tallies in found for each in tallies), key=lambda x: x.journal)

    def former(self, identity: str) -> str:
        """Whose vectors answer while those of this encoder are made; see `Succeeding`."""
        found = self._of_each(
            lambda each: each.former(identity) if isinstance(each, Succeeding) else ""
        )
        return next(filter(None, found), "")

    def _of_each(self, ask: Callable[[Measures], _T]) -> list[_T]:
        told = [ask(self._first)]
        for each in self._others:
            try:
                told.append(ask(each))
            except CommonplaceError as exc:
                _log.warning(_LEFT_OUT, exc)
        return told


class _Spared:
    """What is still asked of an index after it measured; it may fail then too.

    After its first failure it is not asked again: nobody is to wait for it several times.
    """

    def __init__(self, measured: Measured) -> None:
        self._measured = measured
        self._is_out = False

    def of(self, ids: Ids) -> Figures:
        """The best chunk of each doc, NaN for one that has none."""
        found = self._ask(lambda: self._measured.near.of(ids))
        return np.full(len(ids), np.nan, dtype=np.float32) if found is None else found

    def nearest(self, limit: int) -> Ids:
        """The ids of the docs with the best chunks."""
        found = self._ask(lambda: self._measured.near.nearest(limit))
        return np.empty(0, dtype=np.int64) if found is None else found

    def read(self, keys: Sequence[int]) -> Mapping[int, Doc]:
        """The docs of some ids."""
        return self._ask(lambda: self._measured.read(keys)) or {}

    def _ask(self, ask: Callable[[], _T]) -> _T | None:
        if self._is_out:
            return None
        try:
            return ask()
        except CommonplaceError as exc:
            self._is_out = True
            _log.warning(_LEFT_OUT, exc)
            return None


def _spared(measured: Measured) -> Measured:
    spared = _Spared(measured)
    return replace(measured, near=spared, read=spared.read)


def joined(parts: Sequence[Measured]) -> Measured:
    """What several indexes measured, as one would have; ids and shelves bear a part's number."""
    count = len(parts)
    columns = np.concatenate([_numbered(each.roll, i, count) for i, each in enumerate(parts)], 1)
    order = np.argsort(columns[1], kind="stable")
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    starts = np.cumsum([0, *(len(each.roll) for each in parts)])
    of_part = [places[start:stop] for start, stop in pairwise(starts.tolist())]
    return Measured(
        roll=roll_of(columns[:, order]),
        postings=_postings(parts, of_part),
        near=_JointNearness(parts),
        authors=_shelved([each.authors for each in parts]),
        kinds=_shelved([each.kinds for each in parts]),
        read=_reading([each.read for each in parts]),
    )


def _numbered(roll: DocTable, part: int, parts: int) -> Ids:
    columns = np.stack([np.asarray(getattr(roll, name), dtype=np.int64) for name in COLUMNS])
    # Hashes among them may wrap around: two of one owner still never meet.
    columns[0] = columns[0] * parts + part
    columns[2] = columns[2] * parts + part
    columns[3] = np.where(columns[3] == 0, 0, columns[3] * parts + part)
    return columns


def _shelved(names: Sequence[Mapping[int, str]]) -> dict[int, str]:
    joint: dict[int, str] = {}
    for part, by_shelf in enumerate(names):
        shelves = np.array(list(by_shelf), dtype=np.int64) * len(names) + part
        joint |= zip(shelves.tolist(), by_shelf.values(), strict=True)
    return joint


def _postings(parts: Sequence[Measured], of_part: Sequence[Ids]) -> dict[Stem, Posting]:
    """Of the words that every part lets tell; of all, where there is none such."""
    named = [{*each.postings} for each in parts]
    stems = [stem for each in parts for stem in each.postings]
    told = dict.fromkeys(stem for stem in stems if all(stem in each for each in named))
    return {
        stem: _merged(
            [
                (each.postings[stem], places)
                for each, places in zip(parts, of_part, strict=True)
                if stem in each.postings
            ]
        )
        for stem in told or dict.fromkeys(stems)
    }


def _merged(found: Sequence[tuple[Posting, Ids]]) -> Posting:
    places = np.concatenate([mine[posting.places] for posting, mine in found])
    order = np.argsort(places, kind="stable")
    body = np.concatenate([posting.body for posting, _ in found])
    dated = np.concatenate([posting.dated for posting, _ in found])
    return Posting(places[order], body[order], dated[order])


class _JointNearness:
    """How near the docs of several parts are."""

    def __init__(self, parts: Sequence[Measured]) -> None:
        self._near = [each.near for each in parts]

    def of(self, ids: Ids) -> Figures:
        """The best chunk of each doc, NaN for one that has none."""
        count = len(self._near)
        found = np.full(len(ids), np.nan, dtype=np.float32)
        for part, near in enumerate(self._near):
            mine = np.flatnonzero(ids % count == part)
            if len(mine):
                found[mine] = near.of(ids[mine] // count)
        return found

    def nearest(self, limit: int) -> Ids:
        """The ids of the docs with the best chunks, of all parts."""
        count = len(self._near)
        ids = np.concatenate(
            [near.nearest(limit) * count + part for part, near in enumerate(self._near)]
        )
        ids = np.sort(ids.astype(np.int64))
        return ids[top(self.of(ids), limit)]


def _reading(
    reads: Sequence[Callable[[Sequence[int]], Mapping[int, Doc]]],
) -> Callable[[Sequence[int]], Mapping[int, Doc]]:
    def read(keys: Sequence[int]) -> dict[int, Doc]:
        docs: dict[int, Doc] = {}
        for part, one in enumerate(reads):
            mine = [key // len(reads) for key in keys if key % len(reads) == part]
            if mine:
                docs |= {key * len(reads) + part: doc for key, doc in one(mine).items()}
        return docs

    return read
