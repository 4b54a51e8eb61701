"""The port of the timeline: where one owner's rows are kept, whatever is behind it.

A store runs the timeline's queries by their names in `queries.sql`. Never reads a disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager


class Answered(Protocol):
    """What a query gave: its rows, and what it did."""

    @property
    def rowcount(self) -> int:
        """How many rows it altered."""
        ...

    @property
    def lastrowid(self) -> int | None:
        """The number of what it added."""
        ...

    def fetchone(self) -> Any:
        """The next row; None where there is none."""
        ...

    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        ...

    def __iter__(self) -> Iterator[Any]:
        """The rows that are left."""
        ...


class TimelineRows(Protocol):
    """One use of a store, on one owner's rows."""

    def run(self, query: str, values: Mapping[str, object] = ..., /) -> Answered:
        """Run a query by its name. Raises: Unavailable."""
        ...

    def run_each(self, query: str, values: Iterable[Mapping[str, object]], /) -> object:
        """Run it with each of these values. Raises: Unavailable."""
        ...

    def snapshot(self) -> AbstractContextManager[object]:
        """Have several queries read one state."""
        ...


class TimelineStore(Protocol):
    """What keeps one owner's timeline. Thread-safe; several processes may use one at once.

    What is said to be written is on the disk. A reader sees nothing that has expired.
    """

    @property
    def exists(self) -> bool:
        """Whether anything may have been written."""
        ...

    def reading(self) -> AbstractContextManager[TimelineRows | None]:
        """A use that only reads; None where nothing was ever written. Raises: Unavailable."""
        ...

    def writing(self) -> AbstractContextManager[TimelineRows]:
        """A use in which nobody else writes to this timeline, all of it kept or nothing.

        Raises: Unavailable.
        """
        ...

    def ask(self, query: str, /, **values: object) -> list[tuple[Any, ...]]:
        """The rows of one query; none where nothing was written. Raises: Unavailable."""
        ...

    def is_erasing(self) -> bool:
        """Whether bytes of what was deleted may be left. Raises: Unavailable."""
        ...

    def erase(self) -> None:
        """Leave nothing of what was deleted or altered. Raises: Unavailable."""
        ...

    def compact(self) -> None:
        """Give back what is no longer used, and forget changes of what is gone."""
        ...

    def log(self, **facts: object) -> None:
        """Note what was rolled up, without a text of entries."""
        ...

    def close(self) -> None:
        """Close it; may be called twice."""
        ...


class SharedTimeline(TimelineStore, Protocol):
    """The same in a database that servers share, into which what lies in a file moves."""

    def taking_over(self) -> AbstractContextManager[TimelineRows]:
        """A use that writes, for as long as all of a timeline takes. Raises: Unavailable."""
        ...
