"""Vectors in rows, as they lie in memory and in a matrix file: which are nearest, and how near.

Never trusts a file: one that is torn, foreign or changed underneath is not there. With it a cold
search of 10,000 docs takes 22 ms of the processor, without it, from the tables, 63.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from commonplace.index.sqlite.watermarks import Watermark

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from commonplace.core.values import Vector
    from commonplace.index.scoring.doc_table import Ids
    from commonplace.index.sqlite.row_filter import RowFilter
    from commonplace.index.sqlite.watermarks import Binding

# magic, version, dimensions, rows, last vector, last drop, index name, encoder, sum of the body;
# then the crc32 of all that.
_HEADER = struct.Struct("<8sIIQqq16s16sQ")
_CRC = struct.Struct("<I")
_HEADER_BYTES = 128
_MAGIC, _VERSION = b"cmnplmtx", 1
_WORD = 8

# Gathering a row costs ten times what passing over it in order costs.
_GATHER = 10
_BLOCK = 4096
_BLOCK_BYTES = 1 << 20


class Rows(Struct, frozen=True):
    """Vectors in rows, with the docs they belong to.

    Args:
        ids: (n,) of the vectors.
        docs: (n,) ids of their docs.
        facets: (n,) numbers of the docs' facets.
        matrix: (n, dimensions).
        ordered: Whether rows lie in the order of their docs, so that a span of time is a slice.
        alive: (n,) whether a row is still in the tables; None for all.
    """

    ids: Ids
    docs: Ids
    facets: Ids
    matrix: Vector
    ordered: bool
    alive: NDArray[np.bool_] | None = None

    def similarities(self, query: Vector, row_filter: RowFilter) -> tuple[Ids, Vector]:
        """The docs of the rows let in and their cosines; a doc stands once for each chunk."""
        start, stop = 0, len(self.docs)
        if self.ordered:
            start, stop = np.searchsorted(self.docs, [row_filter.low, row_filter.high]).tolist()
        docs, matrix = self.docs[start:stop], self.matrix[start:stop]
        mask = self._mask(start, stop, row_filter)
        if mask is None:
            return docs, _products(matrix, query)
        chosen = np.flatnonzero(mask)
        if len(chosen) * _GATHER < len(docs):
            return docs[chosen], _products(matrix[chosen], query)
        return docs[chosen], _products(matrix, query)[chosen]

    def _mask(self, start: int, stop: int, row_filter: RowFilter) -> NDArray[np.bool_] | None:
        docs = self.docs[start:stop]
        mask = row_filter.mask(docs, self.facets[start:stop])
        masks = [] if mask is None else [mask]
        if self.alive is not None:
            masks.append(self.alive[start:stop])
        if not self.ordered and not row_filter.all_time:
            masks.append((docs >= row_filter.low) & (docs < row_filter.high))
        return np.logical_and.reduce(masks) if masks else None


def _products(matrix: Vector, query: Vector) -> Vector:
    """The product of each row with a vector, in this thread alone.

    `matrix @ query` is no faster where memory is the bound, and its threads go on spinning for
    25 ms after it: on two cores that takes a third from the encoder and from everybody else.
    """
    products: Vector = np.einsum("ij,j->i", matrix, query)
    return products


def write_matrix(path: Path, parts: Sequence[Rows], binding: Binding, reached: Watermark) -> int:
    """Write the living rows in the order of their docs, durably.

    The name must be new: what is under it counts only once the caller has noted it.

    Returns:
        How many rows.

    Raises:
        OSError: The file cannot be written.
    """
    living = [
        (part, np.arange(len(part.ids)) if part.alive is None else np.flatnonzero(part.alive))
        for part in parts
    ]
    docs = np.concatenate([part.docs[rows] for part, rows in living])
    order = np.argsort(docs, kind="stable")
    ids = np.concatenate([part.ids[rows] for part, rows in living])[order]
    facets = np.concatenate([part.facets[rows] for part, rows in living])[order]
    matrix = _in_order([(part.matrix, rows) for part, rows in living], order, binding.dimensions)
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(bytes(_HEADER_BYTES))
            total = 0
            for block in [ids, docs[order], facets, *matrix]:
                raw = np.ascontiguousarray(block).tobytes()
                raw += bytes(-len(raw) % _WORD)
                total = (total + _sum(np.frombuffer(raw, dtype="<u8"))) % (1 << 64)
                file.write(raw)
            file.seek(0)
            file.write(_header(binding, reached, len(ids), total))
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise
    return len(ids)


def read_matrix(path: Path, binding: Binding) -> tuple[Rows, Watermark] | None:
    """Map a matrix file, reading it through once; None for any that is not whole and ours."""
    try:
        # Read before it is mapped: a bad sector fails a read, and kills a process that maps it.
        read = _sum_of_body(path)
        mapped = np.asarray(np.memmap(path, dtype=np.uint8, mode="r"))
    except (OSError, ValueError):
        return None
    head = mapped[:_HEADER_BYTES].tobytes()
    if len(head) < _HEADER_BYTES:
        return None
    *_, dimensions, rows, last_vector, last_drop, _, _, total = _HEADER.unpack_from(head)
    reached = Watermark(last_vector, last_drop)
    if head != _header(binding, reached, rows, total) or dimensions != binding.dimensions:
        return None
    body = mapped[_HEADER_BYTES:]
    padded = -(-4 * rows * dimensions // _WORD) * _WORD
    if len(body) != 3 * _WORD * rows + padded or read != total:
        return None
    numbers = body[: 3 * _WORD * rows].view("<i8")
    matrix = body[3 * _WORD * rows :][: 4 * rows * dimensions].view("<f4")
    return (
        Rows(
            ids=numbers[:rows],
            docs=numbers[rows : 2 * rows],
            facets=numbers[2 * rows :],
            matrix=matrix.reshape(rows, dimensions),
            ordered=True,
        ),
        reached,
    )


def _in_order(
    sources: Sequence[tuple[Vector, Ids]], order: Ids, dimensions: int
) -> Iterable[Vector]:
    """Blocks of the rows of several matrices, laid end to end and put in order."""
    ends = np.cumsum([0, *(len(rows) for _, rows in sources)])
    # An even number of rows keeps every block whole in 8-byte words.
    for start in range(0, len(order), _BLOCK):
        places = order[start : start + _BLOCK]
        block = np.empty((len(places), dimensions), dtype="<f4")
        for (matrix, rows), low, high in zip(sources, ends[:-1], ends[1:], strict=True):
            here = (places >= low) & (places < high)
            block[here] = matrix[rows[places[here] - low]]
        yield block


def _header(binding: Binding, reached: Watermark, rows: int, total: int) -> bytes:
    encoder = hashlib.sha256(binding.identity.encode()).hexdigest()[:16].encode()
    head = _HEADER.pack(
        _MAGIC,
        _VERSION,
        binding.dimensions,
        rows,
        reached.vector,
        reached.drop,
        binding.name.encode()[:16],
        encoder,
        total,
    )
    return (head + _CRC.pack(zlib.crc32(head))).ljust(_HEADER_BYTES, b"\0")


def _sum_of_body(path: Path) -> int:
    """The sum of what lies in a file behind its header. Raises: OSError."""
    total = 0
    with open(path, "rb", buffering=0) as file:
        file.seek(_HEADER_BYTES)
        # What is cut in the midst of a word is not whole by its length.
        while raw := file.read(_BLOCK_BYTES):
            whole = raw[: len(raw) // _WORD * _WORD]
            total = (total + _sum(np.frombuffer(whole, dtype="<u8"))) % (1 << 64)
    return total


def _sum(words: NDArray[np.uint64]) -> int:
    return int(np.add.reduce(words, dtype=np.uint64))
