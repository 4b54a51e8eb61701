"""A source that may not be there yet: it is looked for whenever the index asks, and then followed.

Never opens a journal that is not there, and never takes one that is gone for one that is empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
        self._name = name
        self._is_there = is_there
        self._find = find
        self._found: Source | None = None

    @property
    def name(self) -> str:
        """Its name, there or not."""
        return self._name

    def mark(self) -> str:
        """The source's own; empty while it is not there."""
        return self._source().mark() if self._is_there() else ""

    def scan(self, since: Since) -> Iterator[Change]:
        """The source's own changes; none while it is not there: what was filed stays."""
        if self._is_there():
            yield from self._source().scan(since)

    def _source(self) -> Source:
        if self._found is None:
            self._found = self._find()
        return self._found


class LazyLineage:
    """Knows which summaries an entry went into, once its journal is there; see `Lineage`."""

    def __init__(self, *, is_there: Callable[[], bool], find: Callable[[], Lineage]) -> None:
        self._is_there = is_there
        self._find = find

    def above(self, refs: Sequence[str]) -> Mapping[str, frozenset[str]]:
        """The refs of all summaries each of these went into; never raises."""
        return self._find().above(refs) if self._is_there() else {}
