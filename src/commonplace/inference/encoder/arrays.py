"""Owns weights that were published as the arrays of an `.npz`, for a graph that names them.

Never runs what a file holds: an array of Python objects is refused.
"""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from commonplace.core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.lib.npyio import NpzFile
    from numpy.typing import NDArray

SUFFIX = ".npz"

TABLE = "table"
"""The table of the words' vectors."""

# An array by itself is no context, and other files fail in what reads them.
_BROKEN = (EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile, zlib.error)


def read_arrays(path: Path, names: Sequence[str]) -> list[NDArray[Any]]:
    """The arrays of these names, in 0.3 s for 79 MB that are packed into 30.

    `TABLE` is put together of its parts, `q1` to `qn`: its row r lies in part r mod n, so that a
    row tells by what it is scaled. Raises: Invalid, OSError, MemoryError.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            return [_table(held) if name == TABLE else held[name] for name in names]
    except _BROKEN as exc:
        raise Invalid(
            "The weights in {place} are broken: they are no whole arrays.",
            hint="Run `commonplace model fetch`.",
            place=path.parent,
        ) from exc


def _table(held: NpzFile) -> NDArray[Any]:
    """One part at a time, so that no more than one lies in memory twice."""
    parts = sum(name[:1] == "q" and name[1:].isdecimal() for name in held.files)
    rows, width = held["q1"].shape
    table = np.empty((rows * parts, width), held["q1"].dtype)
    for number in range(parts):
        table[number::parts] = held[f"q{number + 1}"]
    return table
