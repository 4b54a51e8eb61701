"""The most memory that Python's objects take while something runs, whatever ran before it."""

from __future__ import annotations

import tracemalloc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def peak_memory() -> Iterator[Callable[[], int]]:
    """Measure what is allocated within; the value, called afterwards, is the most bytes at once."""
    peak = 0
    tracemalloc.start()
    try:
        yield lambda: peak
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
