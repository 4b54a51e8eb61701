"""A source that may not be there yet: it is looked for whenever the index asks, and then followed.

Never opens a journal that is not there, and asks nothing but the source once it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.ports import CountsEntries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from commonplace.core.ports import Source
    from commonplace.core.rollups import Lineage
    from commonplace.core.values import Change, Since


class LazySource:
    """A source whose journal may appear later: until then it has a name and no entries.

    Args:
        is_there: A check of a file or two that never raises.
        find: Opens the source once it is there.
    """

    cheap_mark = True
    exact_mark = True

    def __init__(
        self, name: str, *, is_there: Callable[[], bool], find: Callable[[], Source]
    ) -> None:
        self.name = name
        self._is_there = is_there
        self._find = find
        self._found: Source | None = None

    def mark(self) -> str:
        """The source's own; empty until it is there."""
        source = self._found or self._look()
        return source.mark() if source is not None else ""

    def scan(self, since: Since) -> Iterator[Change]:
        """The source's own changes; none until it is there."""
        source = self._found or self._look()
        return iter(()) if source is None else source.scan(since)

    def count(self, since: Since) -> tuple[int, int]:
        """The source's own count; none until it is there."""
        counts: object = self._found or self._look()
        return counts.count(since) if isinstance(counts, CountsEntries) else (0, 0)

    def _look(self) -> Source | None:
        if self._is_there():
            self._found = self._find()
        return self._found


class LazyLineage:
    """Knows which summaries an entry went into, once its journal is there; see `Lineage`."""

    def __init__(self, *, is_there: Callable[[], bool], find: Callable[[], Lineage]) -> None:
        self._is_there = is_there
        self._find = find
        self._found: Lineage | None = None

    def above(self, refs: Sequence[str]) -> Mapping[str, frozenset[str]]:
        """The refs of all summaries each of these went into; never raises."""
        if self._found is None and self._is_there():
            self._found = self._find()
        return {} if self._found is None else self._found.above(refs)
