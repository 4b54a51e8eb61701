"""How far the tables of an index reach, how far a matrix file does, and whose vectors it holds.

Needs no numpy: what files, counts or erases knows of vectors no more than this.
"""

from __future__ import annotations

from typing import NamedTuple

# A matrix file is written again when this many vectors lie beside it, and a share of its own rows.
TAIL_LEAST, TAIL_SHARE = 1000, 0.125
DEAD_LEAST, DEAD_SHARE = 100, 0.1


class EncoderRow(NamedTuple):
    """An encoder as the tables know it."""

    id: int
    identity: str
    dimensions: int


class Binding(NamedTuple):
    """What a matrix file belongs to: an index by its name, an encoder, and its numbers a vector."""

    name: str
    identity: str
    dimensions: int


class Watermark(NamedTuple):
    """The last vector and the last drop that are taken in."""

    vector: int
    drop: int


class Watermarks(NamedTuple):
    """How far the tables reach, and the matrix file noted for an encoder, if any."""

    name: str
    pruned: int
    newest: Watermark
    file: str | None
    rows: int
    reached: Watermark

    @property
    def is_worn(self) -> bool:
        """Whether the matrix file lacks so much, or holds so much that is gone, that it is due."""
        added = self.newest.vector - self.reached.vector
        gone = self.newest.drop - self.reached.drop
        return added > TAIL_LEAST + self.rows * TAIL_SHARE or (
            self.file is not None and gone > DEAD_LEAST + self.rows * DEAD_SHARE
        )
