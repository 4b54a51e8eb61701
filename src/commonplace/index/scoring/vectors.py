"""What a vector must be before an index takes it: its shape, its numbers and its length.

Never stores and never compares: it only lets through or refuses.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from commonplace.core.errors import Invalid

if TYPE_CHECKING:
    from commonplace.core.values import Encoded, Vector

_LENGTH_ERROR = 1e-2
_ENCODE_AGAIN = "Encode the text again with one encoder."


def checked_passages(encoded: Encoded, dimensions: int | None) -> Vector:
    """The vectors of a doc as (chunks, dimensions) float32; dimensions None takes any number.

    Raises: Invalid for another shape, not one vector a span, NaN, infinity, a length other than 1.
    """
    vectors = np.ascontiguousarray(encoded.vectors, dtype=np.float32)
    if vectors.ndim != 2 or not vectors.size:  # noqa: PLR2004  a matrix has two dimensions
        raise Invalid(f"Vectors of shape {vectors.shape} for {encoded.ref}.", hint=_ENCODE_AGAIN)
    if len(vectors) != len(encoded.spans):
        raise Invalid(
            f"{len(vectors)} vectors for {len(encoded.spans)} spans of {encoded.ref}.",
            hint="Give one vector for each span.",
        )
    error = float(np.abs(np.linalg.norm(vectors, axis=1) - 1.0).max())
    _check(vectors.shape[1], error, dimensions, f"for {encoded.ref}")
    return vectors


def checked_query(vector: Vector, dimensions: int | None) -> Vector:
    """The vector of a question as (dimensions,) float32. Raises: Invalid, as above."""
    query = np.ascontiguousarray(vector, dtype=np.float32)
    if query.ndim != 1:
        raise Invalid(f"A question's vector of shape {query.shape}.", hint="Give one vector.")
    error = abs(math.sqrt(query.dot(query)) - 1.0)
    _check(len(query), error, dimensions, "of a question")
    return query


def _check(size: int, error: float, dimensions: int | None, whose: str) -> None:
    """size: Numbers of each vector. error: How far the length of one is from 1, at most."""
    if dimensions is not None and size != dimensions:
        raise Invalid(f"A vector {whose} has {size} numbers, not {dimensions}.", hint=_ENCODE_AGAIN)
    # NaN compares false, so this refuses it together with infinity and zero.
    if not error <= _LENGTH_ERROR:
        raise Invalid(f"A vector {whose} is not of length 1.", hint=_ENCODE_AGAIN)
