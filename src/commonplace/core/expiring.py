"""When entries expire: one small file for each owner, for the entries of all journals.

Holds refs and times, and never a word of an entry. Imports nothing heavy: every command reads it.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar

from commonplace.core.errors import Unavailable
from commonplace.core.time_book import TimeBook, path_of, read_times

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import TypeAlias

    from commonplace.core.clock import Clock

    Hidden: TypeAlias = Callable[[], frozenset[str]]
    """Gives the refs of the entries that no reader may see now. Raises: Unavailable."""

    from commonplace.core.times_elsewhere import KeepsTimes

FOLDER = "expiring"
PENDING = ("forgetting", "pending.json")
"""The file in an owner's folder that notes what a process is forgetting; it stays if that dies."""

FORMER_HISTORY = "notebook:@former-history"
"""Stands in place of a ref for the notebook's former branches, which `forget` keeps for a while."""


def read_expiring(owner_folder: str | os.PathLike[str]) -> dict[str, float]:
    """When each entry expires, in seconds since 1970, by its ref; empty where there is no file.

    Raises: Unavailable where the file is damaged or cannot be read: no expired entry may be shown.
    """
    path = path_of(owner_folder, FOLDER)
    try:
        return read_times(path)
    except (OSError, ValueError) as exc:
        raise Unavailable(
            f"{path}, which says when entries expire, cannot be read.",
            hint="Restore it from a backup, or remove it: then nothing expires.",
        ) from exc


def expiry_book(owner_folder: Path, elsewhere: KeepsTimes | None = None) -> TimeBook:
    """The book of an owner that says when entries expire. elsewhere: see `TimeBook`."""
    return TimeBook(owner_folder, FOLDER, read_expiring, elsewhere)


_NONE: frozenset[str] = frozenset()
_REVEALED: ContextVar[bool] = ContextVar("revealed", default=False)


def nothing_hidden() -> frozenset[str]:
    """No ref: for a journal whose entries never expire."""
    return _NONE


@contextmanager
def revealed() -> Iterator[None]:
    """Let this thread see what has expired, to forget it or to let it stay."""
    token = _REVEALED.set(True)
    try:
        yield
    finally:
        _REVEALED.reset(token)


def is_revealed() -> bool:
    """Whether this thread sees what has expired, as it is forgetting: it begins no more of that."""
    return _REVEALED.get()


def hidden_refs(book: TimeBook, clock: Clock) -> Hidden:
    """What gives the refs of entries whose time has come and that are not yet forgotten.

    Every journal asks it at every reading, so that no door shows such an entry.
    """

    def refs() -> frozenset[str]:
        now = clock().timestamp()
        return _NONE if _REVEALED.get() else frozenset(book.list_due_here(now))

    return refs


def put_journal(book: TimeBook, journal: str, times: Mapping[str, float]) -> None:
    """Put these times in the place of all that the book has of a journal. Raises: Unavailable."""
    begins = f"{journal}:"
    book.change(
        lambda known: {
            **{x: at for x, at in known.items() if not x.startswith(begins) or x == FORMER_HISTORY},
            **times,
        }
    )
