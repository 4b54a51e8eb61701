"""Moves words from the rows that writes add into blocks, and takes those of docs that leave out.

Never changes what a search finds; callers hold the transaction, and the user's row of `wb_index`.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from commonplace_server.index.packed import (
    FIRST,
    LAST,
    MOST_OF_A_WORD,
    Block,
    Postings,
    blocks_of,
    postings_in,
    without,
)
from commonplace_server.index.transaction import Blobs, Longs, OwnerTransaction, numbers
from commonplace_server.postgres.text_lists import Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from commonplace.index.scoring.doc_table import Ids, Mask


class PackSizes(Struct, frozen=True, kw_only=True):
    """What is packed together.

    Args:
        least: No fewer docs are packed.
        share: Nor fewer than one in so many of a segment's, all of whose blocks are written again.
        segment: Docs of a segment; one of more than twice as many is divided.
        at_once: Docs that are packed in one transaction, for which other changes of the same user's
            docs wait, and which is to end within its deadline where texts are long.
        halved: Likewise docs whose vectors are halved.
    """

    least: int = 16
    share: int = 16
    segment: int = 4_096
    at_once: int = 1_024
    halved: int = 100

    def after(self, tries: int) -> PackSizes:
        """Fewer docs at once where that took too long: a quarter each time."""
        less = 2 * (tries - 1)
        at_once, halved = max(self.least, self.at_once >> less), max(1, self.halved >> less)
        return replace(self, at_once=at_once, halved=halved)


SIZES = PackSizes()

# Of more docs each block is read, and not looked through.
_FEW = 16


class _Placed(NamedTuple):
    """A block of a segment, which begins at its low."""

    low: int
    block: Block


def drop_packed(tx: OwnerTransaction, packed: Sequence[int], ids: Sequence[int]) -> None:
    """The packed words of some docs leave. packed: where the segments begin."""
    if packed and ids:
        lows = {_segment_of(packed, each) for each in ids}
        are_gone = partial(_are_in, np.array(ids, dtype=np.int64))
        _drop(tx, lows, are_gone, ids if len(ids) <= _FEW else None)


def _are_in(gone: Ids, docs: Ids) -> Mask:
    # Most often it is one doc that is edited, of which numpy's own way costs ten times as much.
    return docs == gone[0] if len(gone) == 1 else np.isin(docs, gone)


def drop_stray_packed(
    tx: OwnerTransaction, packed: Sequence[int], spans: Sequence[tuple[int, int]]
) -> None:
    """The packed words leave of docs that are lost, as far as their ids lie in some spans."""
    if not packed:
        return
    for low, high in spans:
        ((sent,),) = tx.query("list_ids", low=low, high=high).fetchall()
        there = numbers(sent, 1)[0]
        # Where many entries came at once some segments lie wholly inside a second.
        segments = packed[bisect_right(packed, low) - 1 : bisect_right(packed, high - 1)]
        _drop(tx, segments, _strays(low, high, there), None)


def _strays(low: int, high: int, there: Ids) -> Callable[[Ids], Mask]:
    return lambda docs: (docs >= low) & (docs < high) & ~np.isin(docs, there)


def _segment_of(packed: Sequence[int], doc: int) -> int:
    return packed[bisect_right(packed, doc) - 1]


def _drop(
    tx: OwnerTransaction,
    lows: Iterable[int],
    are_gone: Callable[[Ids], Mask],
    ids: Sequence[int] | None,
) -> None:
    """What is gone leaves the blocks of some segments. ids: all that are, where they are few."""
    before, after = [], []
    for each in _find(tx, lows, ids):
        left = without(each.block, are_gone)
        if left is not each.block:
            before.append(each)
            after += [] if left is None else [_Placed(each.low, left)]
    if before:
        tx.query("drop_packed", **_keys(before))
        _add(tx, after)


def _find(
    tx: OwnerTransaction, lows: Iterable[int], ids: Sequence[int] | None = None
) -> list[_Placed]:
    asked = {"lows": Longs(sorted(lows)), "all": ids is None, "ids": Longs(ids or ())}
    rows = tx.query("find_packed", **asked).fetchall()
    return [_Placed(low, Block(*block)) for low, *block in rows]


def _keys(placed: Sequence[_Placed]) -> dict[str, object]:
    return {
        "lows": Longs([each.low for each in placed]),
        "alone": Longs([each.block.is_alone for each in placed]),
        "terms": Texts([each.block.term for each in placed]),
        "docs": Longs([each.block.doc for each in placed]),
    }


def _add(tx: OwnerTransaction, placed: Sequence[_Placed]) -> None:
    if placed:
        tx.query("add_packed", data=Blobs([each.block.data for each in placed]), **_keys(placed))


def pack_some(tx: OwnerTransaction, after: int, sizes: PackSizes) -> int | None:
    """Pack words of docs from an id on, those of one segment; where to go on, None at the end.

    Those of too few docs stay rows. One doc's words are all rows, or all packed.
    """
    tx.plan_for_all()
    row = tx.query("hold_packed").fetchone()
    if row is None:
        return None
    (packed,) = row
    segments = packed or [FIRST]
    place = bisect_right(segments, after) - 1
    low, high = segments[place], [*segments, LAST][place + 1]
    asked = {"low": max(low, after), "high": high, "most": MOST_OF_A_WORD, "limit": sizes.at_once}
    fresh = _postings_of(tx.query("list_unpacked", **asked).fetchall())
    docs = np.unique(fresh.docs)
    full = len(docs) == sizes.at_once
    following = int(docs[-1]) + 1 if full else high if high < LAST else None
    if len(docs) < sizes.least:
        return following  # as of most users each day, of whom no more is read
    ((sent,),) = tx.query("list_ids", low=low, high=high).fetchall()
    there = numbers(sent, 1)[0]
    if not full and len(docs) < len(there) // sizes.share:
        return following
    held = postings_in(x.block for x in _find(tx, [low] if packed else []))
    # Of what was lost no word is kept; of a doc that is there again, those that it has now.
    held = held.taken(np.isin(held.docs, there) & ~np.isin(held.docs, docs))
    together = _joined(held, fresh.taken(np.isin(fresh.docs, there)))
    lows = _segments(low, together.docs, sizes.segment)
    kept = [*segments[:place], *lows, *segments[place + 1 :]]
    tx.query("drop_segments", low=low, packed=Longs(kept))
    for part, end in zip(lows, [*lows[1:], high], strict=True):
        some = together.taken((together.docs >= part) & (together.docs < end))
        _add(tx, [_Placed(part, block) for block in blocks_of(some)])
    tx.query("drop_words", ids=Longs(docs))
    tx.query("keep_segments", packed=Longs(kept))
    return following


def _postings_of(rows: Sequence[tuple[str, bytes]]) -> Postings:
    parts = [numbers(sent, 3) for _, sent in rows]
    counts = [part.shape[1] for part in parts]
    columns = np.concatenate([np.empty((3, 0), dtype=np.int64), *parts], axis=1)
    return Postings([term for term, _ in rows], np.repeat(np.arange(len(rows)), counts), *columns)


def _joined(one: Postings, other: Postings) -> Postings:
    number = {term: place for place, term in enumerate(one.terms)}
    places = np.array(
        [number.setdefault(term, len(number)) for term in other.terms], dtype=np.int64
    )
    renamed = (places[other.words], *other[2:])
    columns = (np.concatenate(pair) for pair in zip(one[1:], renamed, strict=True))
    return Postings([*number], *columns)


def _segments(low: int, docs: Ids, most: int) -> list[int]:
    """Where the segments begin into which these docs go, the first of them at a low."""
    held = np.unique(docs)
    if len(held) <= 2 * most:
        return [low]
    parts = np.array_split(held, len(held) // most)
    return [low, *(int(part[0]) for part in parts[1:])]
