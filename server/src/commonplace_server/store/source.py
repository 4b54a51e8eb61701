"""Owns how a journal on Postgres is followed: what of it changed, and what an index holds of it.

Never writes, and knows no journal's format.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from commonplace.core.errors import CommonplaceError
from commonplace.core.values import Drop, Put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from commonplace.core.values import Change, Doc, Since

_AT_ONCE = 500


class KeepsEntries(Protocol):
    """One user's entries of one journal; each has a ref, and a stamp that changes with it."""

    def mark(self) -> str:
        """A token that changes with every change; reads no entry."""
        ...

    def changed_since(self, mark: str | None) -> list[str] | None:
        """The ids of all that changed after a mark; None for a mark that says not."""
        ...

    def get_many(self, identities: Sequence[str]) -> Sequence[Any]:
        """The entries with just these ids that there are, in no order."""
        ...

    def list_all(self) -> Iterable[Any]:
        """All entries; few are held in memory."""
        ...


class SharedSource:
    """One user's entries of one journal on Postgres; see `core.ports.Source`.

    Args:
        journal: Its name.
        doc_of: What the index holds of an entry.
    """

    cheap_mark = False
    exact_mark = True

    def __init__(self, journal: str, store: KeepsEntries, doc_of: Callable[[Any], Doc]) -> None:
        self.name = journal
        self._store = store
        self._doc_of = doc_of

    def mark(self) -> str:
        """How often its entries changed; see the port."""
        try:
            return self._store.mark()
        except CommonplaceError as exc:
            return f"unreadable {exc.message}"

    def docs_of(self, identities: Sequence[str]) -> Mapping[str, Doc]:
        """What the index is to hold of those of these ids that there are, by their ids."""
        found = self._store.get_many(identities)
        return {entry.ref.removeprefix(f"{self.name}:"): self._doc_of(entry) for entry in found}

    def scan(self, since: Since) -> Iterator[Change]:
        """Puts and drops of what changed since, the last change first; else of all that differs."""
        changed = self._store.changed_since(since.mark)
        if changed is None:
            yield from self._everything(since)
            return
        ids = iter(changed)
        while batch := list(islice(ids, _AT_ONCE)):
            found = {entry.ref: entry for entry in self._store.get_many(batch)}
            for ref in (f"{self.name}:{each}" for each in batch):
                known, entry = since.stamps(ref).get(ref), found.get(ref)
                if entry is not None and known != entry.stamp:
                    yield Put(self._doc_of(entry))
                elif entry is None and known is not None:
                    yield Drop(ref)

    def _everything(self, since: Since) -> Iterator[Change]:
        """Puts of what is new or altered, then drops; reads every entry."""
        known = since.stamps(f"{self.name}:")
        seen: set[str] = set()
        for entry in self._store.list_all():
            seen.add(entry.ref)
            if known.get(entry.ref) != entry.stamp:
                yield Put(self._doc_of(entry))
        yield from (Drop(ref) for ref in sorted(known.keys() - seen))
