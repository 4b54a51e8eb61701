"""The words of many docs as blocks of bytes: how a block is written, read, and searched for words.

Never opens a connection: a block is bytes, and where it lies is for the callers.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from commonplace_server.index.transaction import numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from numpy.typing import NDArray
    from psycopg import Cursor

    from commonplace.index.scoring.doc_table import Ids, Mask

MOST_OF_A_WORD = 255
"""How often a word may stand in a doc that is packed: a byte holds the number."""

FIRST, LAST = -(1 << 62), 1 << 62
"""Below and above the number of every doc."""

# Eight such rows fill a page, with their keys. An edit writes a block for each of its words again:
# with 1,800 it put 51 kB into the write-ahead log in place of 33; each entry takes 7 bytes more.
_BLOCK = 900
# A word in more docs has blocks of its own; one in fewer lies whole in one block.
_ALONE_FROM = 100
_POSTING = 10
_HEAD = struct.Struct(">HH")
_SENT = struct.Struct(">ii")


class Block(NamedTuple):
    """A block and its key within a segment; see the table `wb_packed`."""

    is_alone: bool
    term: str
    doc: int
    data: bytes


class Postings(NamedTuple):
    """Words in docs, a row for each word and doc.

    Args:
        terms: The words, each once.
        words: (n,) places among the words.
        docs: (n,) ids.
        body: (n,) how often the word stands in the text.
        dated: (n,) how often in the date.
    """

    terms: Sequence[str]
    words: Ids
    docs: Ids
    body: Ids
    dated: Ids

    def taken(self, mask: Mask | Ids) -> Postings:
        """Some of the rows, of the same words."""
        return Postings(self.terms, *(column[mask] for column in self[1:]))


def blocks_of(postings: Postings) -> Iterator[Block]:
    """These as blocks; a word and a doc may come once."""
    rank = np.empty(len(postings.terms), dtype=np.int64)
    ordered = sorted(range(len(postings.terms)), key=postings.terms.__getitem__)
    rank[ordered] = np.arange(len(ordered))
    rows = postings.taken(np.lexsort((postings.docs, rank[postings.words])))
    counts = np.bincount(rank[rows.words], minlength=len(ordered))
    terms = [postings.terms[place] for place in ordered]
    starts = np.concatenate([[0], np.cumsum(counts)])
    together: list[int] = []
    size = _HEAD.size
    for place in np.flatnonzero(counts):
        if counts[place] > _ALONE_FROM:
            yield from _alone(terms[place], rows, starts[place], starts[place + 1])
            continue
        more = len(terms[place].encode()) + 2 + _POSTING * int(counts[place])
        if together and size + more > _BLOCK:
            yield _together(terms, rows, starts, together)
            together, size = [], _HEAD.size
        together.append(int(place))
        size += more
    if together:
        yield _together(terms, rows, starts, together)


def _alone(term: str, rows: Postings, start: int, end: int) -> Iterator[Block]:
    blocks = -(-(end - start) * _POSTING // _BLOCK)
    for part in np.array_split(np.arange(start, end), blocks):
        some = rows.taken(part)
        yield Block(is_alone=True, term=term, doc=int(some.docs[0]), data=_columns(some))


def _together(terms: Sequence[str], rows: Postings, starts: Ids, places: Sequence[int]) -> Block:
    counts = bytes(int(starts[place + 1] - starts[place]) for place in places)
    part = np.concatenate([np.arange(starts[place], starts[place + 1]) for place in places])
    return _of_several([terms[place] for place in places], counts, _columns(rows.taken(part)))


def _of_several(terms: Sequence[str], counts: bytes, columns: bytes) -> Block:
    words = "\n".join(terms).encode()
    data = _HEAD.pack(len(terms), len(words)) + counts + words + columns
    return Block(is_alone=False, term=terms[0], doc=FIRST, data=data)


def _columns(rows: Postings) -> bytes:
    return b"".join(
        column.astype(kind).tobytes()
        for column, kind in ((rows.docs, ">i8"), (rows.body, "u1"), (rows.dated, "u1"))
    )


def without(block: Block, are_gone: Callable[[Ids], Mask]) -> Block | None:
    """A block without the words of some docs, itself where it has none of them.

    Args:
        block: The block.
        are_gone: Which of these docs are gone.

    Returns:
        None where it has words of no other doc.
    """
    terms, bounds, columns = _read(block)
    gone = are_gone(columns[0])
    if not gone.any():
        return block
    if gone.all():
        return None
    docs, *_ = kept = [column[~gone] for column in columns]
    data = b"".join(column.tobytes() for column in kept)
    if block.is_alone:
        return Block(is_alone=True, term=block.term, doc=int(docs[0]), data=data)
    counts = np.diff(bounds)
    counts -= np.bincount(
        np.searchsorted(bounds, np.flatnonzero(gone), side="right") - 1, minlength=len(counts)
    )
    left = [term for term, count in zip(terms, counts, strict=True) if count]
    return _of_several(left, counts[counts > 0].astype("u1").tobytes(), data)


class _Read(NamedTuple):
    """The words of a block, where the docs of each begin and end, and its columns."""

    terms: Sequence[str]
    bounds: Ids
    columns: tuple[NDArray[Any], ...]


def _read(block: Block) -> _Read:
    data = block.data
    if block.is_alone:
        count = len(data) // _POSTING
        return _Read([block.term], np.array([0, count]), _read_columns(data, 0, count))
    words, size = _HEAD.unpack_from(data)
    at = _HEAD.size + words
    counts = np.frombuffer(data, dtype="u1", count=words, offset=_HEAD.size)
    bounds = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    terms = data[at : at + size].decode().split("\n")
    return _Read(terms, bounds, _read_columns(data, at + size, int(bounds[-1])))


def _read_columns(data: bytes, at: int, count: int) -> tuple[NDArray[Any], ...]:
    return (
        np.frombuffer(data, dtype=">i8", count=count, offset=at),
        np.frombuffer(data, dtype="u1", count=count, offset=at + 8 * count),
        np.frombuffer(data, dtype="u1", count=count, offset=at + 9 * count),
    )


def postings_in(blocks: Iterable[Block]) -> Postings:
    """Everything that some blocks hold."""
    number: dict[str, int] = {}
    parts = [np.empty((4, 0), dtype=np.int64)]
    for block in blocks:
        terms, bounds, columns = _read(block)
        places = [number.setdefault(term, len(number)) for term in terms]
        parts.append(np.array([np.repeat(places, np.diff(bounds)), *columns], dtype=np.int64))
    return Postings([*number], *np.concatenate(parts, axis=1))


def _found_in(sent: bytes | None, terms: Sequence[str], end: str | None = None) -> Ids:
    """(4, n): the place of a word, a doc, and how often the word stands in its text and its date.

    Args:
        sent: What the queries give as `blocks`: for each the number of the word it was found for.
        terms: The words that were asked for, which are numbered from 1.
        end: See `Sent.listed`.
    """
    parts = [np.empty((4, 0), dtype=np.int64)]
    for number, block in _blocks_sent(sent or b"", terms):
        term = terms[number - 1]
        found, bounds, columns = _read(block)
        low = bisect_left(found, term) if not block.is_alone else 0
        if block.is_alone:
            high = 1
        elif end is not None:
            high = bisect_left(found, end)
        else:
            high = low + (low < len(found) and found[low] == term)
        some = slice(int(bounds[low]), int(bounds[high]))
        if some.start < some.stop:
            of_word = np.full(some.stop - some.start, number)
            parts.append(np.array([of_word, *(x[some] for x in columns)], dtype=np.int64))
    return np.concatenate(parts, axis=1)


def _blocks_sent(sent: bytes, terms: Sequence[str]) -> Iterator[tuple[int, Block]]:
    at = 0
    while at < len(sent):
        number, size = _SENT.unpack_from(sent, at)
        at += _SENT.size
        # Of a block of one word the number is below 0.
        term = terms[abs(number) - 1]
        yield (
            abs(number),
            Block(is_alone=number < 0, term=term, doc=FIRST, data=sent[at : at + size]),
        )
        at += size


class IdSpan(NamedTuple):
    """The numbers of the docs of a stretch of time: low <= id < high; its bounds cut in seconds."""

    low: int
    high: int

    @property
    def all_time(self) -> bool:
        """Whether neither bound cuts anything off."""
        return self == ALL_TIME


ALL_TIME = IdSpan(FIRST, LAST)


class Sent(NamedTuple):
    """What was sent of some words: their rows, and the blocks of those that are packed."""

    rows: bytes | None = None
    blocks: bytes | None = None

    @classmethod
    def of(cls, answer: Cursor[tuple[Any, ...]]) -> Sent:
        """As `list_postings` and those like it give them."""
        return cls(*(answer.fetchone() or ()))

    def listed(self, terms: Sequence[str], span: IdSpan, end: str | None = None) -> Ids:
        """(4, n): the number of a word, a doc, how often the word stands in text and in date.

        Args:
            terms: Those that were asked for, as they were.
            span: The ids that were asked for; a block holds others as well.
            end: Where words are asked for by how they begin, the least text above all that do.
        """
        rows = numbers(self.rows, 4)
        return (
            np.concatenate([rows, self.packed(terms, span, end)], axis=1) if self.blocks else rows
        )

    def packed(self, terms: Sequence[str], span: IdSpan, end: str | None = None) -> Ids:
        """The same of those in blocks alone."""
        found = _found_in(self.blocks, terms, end)
        return found[:, (found[1] >= span.low) & (found[1] < span.high)]
