"""Which entries were replaced by one that is gone: one small file for each owner, for all journals.

Holds refs and times, and never a word of an entry. Imports nothing heavy: every command reads it.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar

from commonplace.core.time_book import TimeBook, path_of, read_times

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

    from commonplace.core.times_elsewhere import KeepsTimes

FOLDER = "replaced"

_LEAVES_REPLACED: ContextVar[bool] = ContextVar("_LEAVES_REPLACED", default=False)


@contextmanager
def leaving_replaced() -> Iterator[None]:
    """Delete entries inside it so that what they had replaced does not hold again."""
    token = _LEAVES_REPLACED.set(True)
    try:
        yield
    finally:
        _LEAVES_REPLACED.reset(token)


def leaves_replaced() -> bool:
    """Whether what an entry had replaced stays replaced once it is deleted, as it is forgotten."""
    return _LEAVES_REPLACED.get()


def read_replaced(owner_folder: str | os.PathLike[str]) -> dict[str, float]:
    """When each entry was replaced, in seconds since 1970, by its ref.

    Empty where there is no file, or it cannot be read: entries are then shown as if they held.
    """
    try:
        return read_times(path_of(owner_folder, FOLDER))
    except (OSError, ValueError):
        return {}


def replaced_book(owner_folder: Path, elsewhere: KeepsTimes | None = None) -> TimeBook:
    """The book of an owner that says when entries were replaced by one that is gone now.

    An entry that is replaced once more stays in it: it is still replaced if that one is deleted.
    elsewhere: see `TimeBook`.
    """
    return TimeBook(owner_folder, FOLDER, read_replaced, elsewhere)
