"""Several indexes of one owner searched as one: their candidates, to be ranked together.

Never files anything, and never lets an index that fails take the others along.
"""

from __future__ import annotations

import logging
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, retried
from commonplace.core.ports import (
    CountsJournals,
    CountsKinds,
    DatesRefs,
    FindsShortRefs,
    FollowsChains,
    ListsScopes,
    NamesPreviousEncoder,
)
from commonplace.core.values import Candidates, Counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from commonplace.core.ports import Searched
    from commonplace.core.values import Asked, Doc, DocCount, Numbers

_T = TypeVar("_T")

_log = logging.getLogger(f"commonplace.{__name__}")


class MergedIndex:
    """Answers a search with the candidates of several indexes, oldest first.

    Ranking divides words and meaning by the maximum over all. A word weighs by how common it is in
    the index that it stands in: of 1,600 questions to journals and chats in two indexes, that found
    as many answers among the first ten (R@10 .833 and .835) as one BM25 over both (.833 and .833).

    Args:
        first: Its failure is the search's.
        others: Asked as well; one that fails is left out and logged, and the candidates say so.
        journals: Which lie in those.
    """

    faster_than_encoding = False

    def __init__(self, first: Searched, *others: Searched, journals: Sequence[str] = ()) -> None:
        self._first = first
        named = ", ".join(journals) or "a part of what there is"
        self._unsearched = f"Not searched, since its index gives no answer now: {named}."
        self._others = others

    def candidates(self, asked: Asked) -> Candidates:
        """The best of each index, and around them; see `core.ports.OwnerIndex`."""
        asked = replace(asked, vector=cache(asked.vector))
        parts = list(self._of_each(lambda each: each.candidates(asked)))
        missed = [self._unsearched] if len(parts) <= len(self._others) else []
        if len(parts) == 1:
            return replace(parts[0], missed=missed)
        newest = asked.limit if asked.newest else None
        return _merged(parts, newest=newest, missed=missed, unsearched=self._unsearched)

    def counts(self, identity: str) -> Counts:
        """How much all of them hold, and how much waits for this encoder."""
        found = list(self._of_each(lambda each: each.counts(identity)))
        return Counts(
            docs=sum(each.docs for each in found),
            pending=sum(each.pending for each in found),
        )

    def bytes_on_disk(self) -> int:
        """The size of the files of all of them."""
        return sum(self._of_each(lambda each: each.bytes_on_disk()))

    def count_by_kind(self, identity: str) -> list[DocCount]:
        """How much is held of each kind of docs of each journal, which lies in one of them."""
        found = self._of_each(
            lambda each: each.count_by_kind(identity) if isinstance(each, CountsKinds) else []
        )
        return sorted((x for kinds in found for x in kinds), key=lambda x: (x.journal, x.kind))

    def count_by_journal(self) -> dict[str, int]:
        """How much is held of each journal, which lies in one of them."""
        found = self._of_each(
            lambda each: each.count_by_journal() if isinstance(each, CountsJournals) else {}
        )
        return {journal: count for counts in found for journal, count in counts.items()}

    def scopes(self) -> list[tuple[str, str]]:
        """Where the docs of all of them were written."""
        found = self._of_each(lambda each: each.scopes() if isinstance(each, ListsScopes) else [])
        return sorted({scope for scopes in found for scope in scopes})

    def dates_of(self, refs: Sequence[str]) -> dict[str, datetime]:
        """When the docs of some refs were, each of which lies in one of them."""
        found = self._of_each(
            lambda each: each.dates_of(refs) if isinstance(each, DatesRefs) else {}
        )
        return {ref: at for dates in found for ref, at in dates.items()}

    def refs_behind(self, number: int) -> list[str]:
        """The refs of a short form, of all of them."""
        found = self._of_each(
            lambda each: each.refs_behind(number) if isinstance(each, FindsShortRefs) else ()
        )
        return [ref for refs in found for ref in refs]

    def links_from(
        self, refs: Sequence[str], *, before: datetime | None = None
    ) -> list[tuple[str, str]]:
        """The links of the chains that refs begin, from each index; a chain is in one index."""
        found = self._of_each(
            lambda each: (
                each.links_from(refs, before=before) if isinstance(each, FollowsChains) else []
            )
        )
        return [link for links in found for link in links]

    def previous_encoder(self, identity: str) -> str:
        """Whose vectors answer while those of this encoder are made; see the port."""
        found = self._of_each(
            lambda each: (
                each.previous_encoder(identity) if isinstance(each, NamesPreviousEncoder) else ""
            )
        )
        return next(filter(None, found), "")

    def _of_each(self, ask: Callable[[Searched], _T]) -> Iterator[_T]:
        yield ask(self._first)
        for each in self._others:
            try:
                yield retried(partial(ask, each))
            except CommonplaceError as exc:
                _log.warning("An index is left out: %s", exc)


def _merged(
    parts: Sequence[Candidates], *, newest: int | None, missed: list[str], unsearched: str
) -> Candidates:
    """The candidates of all parts, oldest first, or the newest so many; a key is a row."""
    order = np.argsort(np.concatenate([each.at_us for each in parts]), kind="stable")
    if newest is not None:
        order = order[max(len(order) - newest, 0) :]

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(each, name) for each in parts])[order]

    authors = tuple(sorted({name for each in parts for name in each.authors}))
    kinds = tuple(sorted({name for each in parts for name in each.kinds}))
    scopes = tuple(sorted({name for each in parts for name in each.scopes}))
    return Candidates(
        keys=np.arange(len(order)),
        words=column("words"),
        matched=column("matched"),
        covered=column("covered"),
        similarity=column("similarity"),
        nearness=column("nearness"),
        at_us=column("at_us"),
        timed=column("timed"),
        lengths=column("lengths"),
        author=np.concatenate([_renumbered(x.author, x.authors, authors) for x in parts])[order],
        authors=authors,
        kind=np.concatenate([_renumbered(x.kind, x.kinds, kinds) for x in parts])[order],
        kinds=kinds,
        scope=np.concatenate([_renumbered(x.scope, x.scopes, scopes) for x in parts])[order],
        scopes=scopes,
        read=_Reader(parts, order, lambda: missed.append(unsearched)).read,
        missed=missed,
    )


def _renumbered(places: Numbers, names: Sequence[str], all_names: Sequence[str]) -> Numbers:
    """Places in some names as places in all names; -1 stays."""
    renumbered = np.array([*map(all_names.index, names), -1], dtype=np.int64)
    return renumbered[places]


class _Reader:
    """Reads docs by their row among merged candidates. A part that fails is not asked again."""

    def __init__(
        self, parts: Sequence[Candidates], order: Numbers, note_missed: Callable[[], None]
    ) -> None:
        self._note_missed = note_missed
        self._parts = dict(enumerate(parts))
        self._part = np.repeat(np.arange(len(parts)), [len(each.keys) for each in parts])[order]
        self._keys = np.concatenate([each.keys for each in parts])[order]

    def read(self, rows: Sequence[int]) -> Mapping[int, Doc]:
        """The docs of some rows; of an index that fails there are none."""
        docs: dict[int, Doc] = {}
        for number, part in list(self._parts.items()):
            row_of = {int(self._keys[row]): row for row in rows if self._part[row] == number}
            if not row_of:
                continue
            try:
                found = retried(partial(part.read, list(row_of)))
                docs |= {row_of[key]: doc for key, doc in found.items()}
            except CommonplaceError as exc:
                if number == 0:
                    raise
                del self._parts[number]
                self._note_missed()
                _log.warning("An index is left out: %s", exc)
        return docs
