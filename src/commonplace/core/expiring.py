"""What no reader may see because it has expired, and how it is seen to be forgotten.

Never reads a file: `core.time_book` holds the times. Imports nothing heavy: every command uses it.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    from commonplace.core.clock import Clock
    from commonplace.core.time_book import TimeBook

    Hidden: TypeAlias = Callable[[], frozenset[str]]
    """Gives the refs of the entries that no reader may see now. Raises: Unavailable."""

PENDING = ("forgetting", "pending.json")
"""The file in an owner's folder that notes what a process is forgetting; it stays if that dies."""

FORMER_HISTORY = "notebook:@former-history"
"""Stands in place of a ref for the notebook's former branches, which `forget` keeps for a while."""


_NONE: frozenset[str] = frozenset()
_REVEALED: ContextVar[bool] = ContextVar("revealed", default=False)
_LEAVES_REPLACED: ContextVar[bool] = ContextVar("_LEAVES_REPLACED", default=False)


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
