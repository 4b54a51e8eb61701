"""The seam where another vector store takes the place of our own matrix in an index on disk.

Only the port lives here: `meaning` is the side of the index, `store` that of Chroma.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from commonplace.core.values import Vector
    from commonplace.index.scoring.doc_table import Ids


@runtime_checkable
class ListsVectors(Protocol):
    """A vector store that can say what it holds, so that `doctor` finds what it lost."""

    def list_ids(self) -> Ids:
        """The ids of all vectors in the folder, in any order; what was lost is no error.

        Raises: Unavailable.
        """
        ...


class VectorStore(Protocol):
    """The vectors of one encoder of one owner, kept in a folder of their own to find the nearest.

    The truth stays in the tables of the index: what a store loses is given to it again, and cosines
    are computed from the tables, so a store only says which vectors are worth looking at.

    The index owes: no other call in any process while one writes or seeks (`mark`, `close` aside),
    float32 vectors of length 1 and of one number of dimensions, ids that are never used twice, and
    the same call again where a process died in the midst of one.
    A store owes: an owner's vectors in this folder and nowhere else, nothing sent anywhere, and
    CommonplaceError for whatever its library raises. Threads may share it.
    """

    def mark(self) -> str:
        """The mark of the last change on the disk, by whichever process; empty for none.

        What another process changed is seen from now on.
        """
        ...

    def put(self, ids: Ids, vectors: Vector, *, mark: str) -> None:
        """Add vectors, in place of those with the same ids; the mark is kept only once they are.

        Args:
            ids: (n,).
            vectors: (n, dimensions).
            mark: What `mark` gives from now on.
        """
        ...

    def drop(self, ids: Ids, *, mark: str) -> None:
        """Leave out vectors, of which some may never have been there; then keep the mark."""
        ...

    def nearest(self, query: Vector, limit: int, *, among: Ids | None) -> Ids:
        """The ids of the vectors with the highest product with a query; limit or fewer.

        among: only these count, each of which is there; None for all. A filter comes before the
        best are taken: where `limit` of `among` are there, `limit` come back.
        """
        ...

    def clear(self) -> None:
        """Remove every vector and the mark, so that no byte of them stays; heals what is broken."""
        ...

    def close(self) -> None:
        """Release files and memory until the next use; may be called twice."""
        ...
