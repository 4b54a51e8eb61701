"""A transaction of many owners, which sees the rows of one at a time.

Opens none and ends none: `database` does.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_Connection = TypeVar("_Connection")


class OfMany(Generic[_Connection]):
    """A transaction of one owner after another.

    Args:
        conn: Its connection.
        turn_to: Has the transaction see the rows of an owner alone from there on.
    """

    def __init__(self, conn: _Connection, turn_to: Callable[[_Connection, str], None]) -> None:
        self.conn = conn
        self._turn_to = turn_to
        self._seen = ""  # whose rows it sees
        self._within = ""  # whose turn it is

    @contextmanager
    def turned_to(self, owner: str) -> Iterator[None]:
        """The turn of an owner, whose rows alone it sees; inside of another's that one goes on."""
        before, self._within = self._within, owner
        self._see(owner)
        try:
            yield
        finally:
            self._within = before
        if before:
            self._see(before)

    def _see(self, owner: str) -> None:
        if owner != self._seen:
            self._turn_to(self.conn, owner)
            self._seen = owner
