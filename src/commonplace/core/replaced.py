"""Which entries were replaced by one that is gone: one small file for each owner, for all journals.

Holds refs and times, and never a word of an entry. Imports nothing heavy: every command reads it.
"""

from __future__ import annotations

from commonplace.core.time_book import TimeBook, path_of, read_times

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from pathlib import Path

    from commonplace.core.ports import KeepsTimes

FOLDER = "replaced"


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
