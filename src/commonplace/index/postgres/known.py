"""What a process remembers of the docs of a user in Postgres, kept in step by a change number.

Never ahead of the transaction it is read in, and never more than so many docs of all users.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from commonplace.core.clock import micros
from commonplace.core.text import fold_name
from commonplace.db.postgres.text_lists import Texts
from commonplace.index.postgres.docs import terms_of
from commonplace.index.postgres.transaction import Longs, numbers
from commonplace.index.scoring.doc_order import followed
from commonplace.index.scoring.doc_table import COLUMNS, roll_of
from commonplace.index.sqlite.docs import SECOND_BITS, Shelf, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from psycopg import Cursor

    from commonplace.core.values import Filter, Interval
    from commonplace.index.postgres.transaction import Asking
    from commonplace.index.scoring.doc_table import DocTable, Ids, Mask
    from commonplace.index.scoring.stems import Stem

REMEMBERED_DOCS = 2_000_000
"""Docs that a process remembers, of all users together; 48 bytes each."""

REMEMBERED_OWNERS = 5_000

FIRST, LAST = -(1 << 62), 1 << 62
"""Below and above the number of every doc."""

_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class KnownDocs:
    """The docs of one user as of one change. name: distinguishes these rows from others made later.

    spreads: in how many docs a word stood, and among how many that was counted.
    """

    name: str
    change: int
    roll: DocTable
    shelves: Mapping[int, Shelf]
    spreads: dict[Stem, tuple[int, int]] = field(default_factory=dict)


NOTHING = KnownDocs("", 0, roll_of(np.empty((len(COLUMNS), 0), dtype=np.int64)), {})


class Remembered:
    """What is known of each user, those last asked about. Thread-safe."""

    def __init__(self, *, docs: int = REMEMBERED_DOCS, owners: int = REMEMBERED_OWNERS) -> None:
        self._docs = docs
        self._owners = owners
        self._lock = threading.Lock()
        self._known: OrderedDict[str, KnownDocs] = OrderedDict()
        self._held = 0

    def of(self, owner: str) -> KnownDocs:
        """What was known of a user at the last search; NOTHING at first."""
        with self._lock:
            known = self._known.get(owner, NOTHING)
            if known is not NOTHING:
                self._known.move_to_end(owner)
            return known

    def keep(self, owner: str, known: KnownDocs) -> None:
        """Remember it, and evict the users who were not asked about for the longest.

        An older one as well: after a failover the database may have gone back.
        """
        with self._lock:
            before = self._known.get(owner)
            self._held += len(known.roll) - (0 if before is None else len(before.roll))
            self._known[owner] = known
            self._known.move_to_end(owner)
            while len(self._known) > self._owners or (
                self._held > self._docs and len(self._known) > 1
            ):
                self._held -= len(self._known.popitem(last=False)[1].roll)

    def clear(self) -> None:
        """Forget all users."""
        with self._lock:
            self._known.clear()
            self._held = 0


def ask_known(asking: Asking, known: KnownDocs, *, model: str) -> Cursor[tuple[Any, ...]]:
    """Ask what came since, and what there is of a model."""
    return asking.ask("read_known", seen=known.change, model=model)


def brought_up(asking: Asking, row: tuple[Any, ...], known: KnownDocs) -> KnownDocs | None:
    """What is known after an answer to `ask_known`; None where too little was known to follow."""
    name, change, pruned, rows, dropped, shelves = row[:6]
    if known.change and (known.name != name or not pruned <= known.change <= change):
        return None
    if known.change == change:
        return known
    fresh, gone = numbers(rows, len(COLUMNS)), numbers(dropped, 1)[0]
    roll = roll_of(fresh)
    if len(known.roll):
        roll = followed(known.roll, np.union1d(fresh[0], gone), fresh, partial(_refs, asking))
    added = {number: _shelf(on) for number, *on in shelves or ()}
    return KnownDocs(name, change, roll, {**known.shelves, **added}, known.spreads)


def _refs(asking: Asking, ids: Sequence[int]) -> dict[int, str]:
    return dict(asking.ask("list_refs", ids=Longs(ids)).fetchall())


def _shelf(on: Sequence[Any]) -> Shelf:
    journal, scope, kind, author, headings = on
    return Shelf(journal, scope, kind, author, tuple(headings))


class IdSpan(NamedTuple):
    """The numbers of the docs of a stretch of time: low <= id < high; its bounds cut in seconds."""

    low: int
    high: int

    @property
    def all_time(self) -> bool:
        """Whether neither bound cuts anything off."""
        return self == (FIRST, LAST)


def span_of(within: Interval) -> IdSpan:
    """The span of an interval, to the second. Raises: Invalid for a bound without a time zone."""
    low = FIRST if within.start is None else micros(within.start) // _SECOND_US << SECOND_BITS
    high = LAST if within.end is None else -(-micros(within.end) // _SECOND_US) << SECOND_BITS
    return IdSpan(low, high)


@dataclass(frozen=True, slots=True, eq=False)
class DocsInReach:
    """The docs a search may look at, their span, and whether no doc at all is left out."""

    roll: DocTable
    span: IdSpan
    is_whole: bool


def reach_of(asking: Asking, known: KnownDocs, within: Filter) -> DocsInReach:
    """What a filter means for these docs. Raises: Invalid for a bound without a time zone."""
    span = span_of(within.within)
    roll = known.roll if span.all_time else known.roll.between(*span)
    masks = [*_timed(roll, within.within), *_tagged(asking, roll, within)]
    shelves = [number for number, on in known.shelves.items() if _lets_in(within, on)]
    if len(shelves) < len(known.shelves):
        masks.append(np.isin(roll.shelves, np.array(shelves, dtype=np.int64)))
    if masks:
        roll = roll.taken(np.logical_and.reduce(masks))
    return DocsInReach(roll, span, len(roll) == len(known.roll))


def _timed(roll: DocTable, within: Interval) -> Iterator[Mask]:
    """What bounds inside a second let in: there rows lie as they came."""
    if within.start is not None and micros(within.start) % _SECOND_US:
        yield roll.at_us >= micros(within.start)
    if within.end is not None and micros(within.end) % _SECOND_US:
        yield roll.at_us < micros(within.end)


def _lets_in(within: Filter, on: Shelf) -> bool:
    return (
        _is_among(on.journal, within.journals)
        and _is_among(on.kind, within.kinds)
        and _is_among(on.scope, within.scopes)
        and (not within.headings or _has_heading(on, within.headings))
    )


def _is_among(name: str, wanted: Sequence[str]) -> bool:
    return not wanted or name in {plain(each) for each in wanted}


def _has_heading(on: Shelf, wanted: Sequence[str]) -> bool:
    held = [plain(fold_name(heading)) for heading in on.headings]
    return any(plain(fold_name(part)) in heading for part in wanted for heading in held)


def _tagged(asking: Asking, roll: DocTable, within: Filter) -> Iterator[Mask]:
    """What the tags of a filter let in."""
    if within.tags:
        yield np.isin(roll.ids, _bearing(asking, within.tags))
    for tag in within.required_tags:
        yield np.isin(roll.ids, _bearing(asking, (tag,)))
    if within.excluded_tags:
        yield ~np.isin(roll.ids, _bearing(asking, within.excluded_tags))


def _bearing(asking: Asking, tags: Sequence[str]) -> Ids:
    """The docs that bear any of these tags."""
    asked = {"terms": Texts(terms_of(tags)), "low": FIRST, "high": LAST}
    ((sent,),) = asking.ask("list_postings", **asked).fetchall()
    docs: Ids = numbers(sent, 4)[1]
    return docs
