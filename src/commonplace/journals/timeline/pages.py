"""Owns how a ref of the timeline is opened: an entry, its neighbours, the way up and down.

Never writes: a rollup that is due is shown as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commonplace.core.clock import parse_time, render_time
from commonplace.core.errors import Invalid
from commonplace.core.text import first_words, opening
from commonplace.core.values import EntryPreview, Page
from commonplace.journals.timeline.entry import FACT, JOURNAL, TYPES, author_of, names_of, ref_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from commonplace.journals.timeline.entry import TimelineEntry
    from commonplace.journals.timeline.journal import TimelineJournal

_LONGEST_ID = 300


class TimelinePages:
    """Opens the refs of a timeline for people and models; see `core.ports.OpensRefs`.

    Args:
        journal: The timeline.
        find_open: Computes the rollup of a period that goes on, by its id; None for any other.
    """

    journal = JOURNAL
    kinds = (*TYPES, FACT)
    ref_form = f"{JOURNAL}:<id>"

    def __init__(
        self,
        journal: TimelineJournal,
        find_open: Callable[[str], TimelineEntry | None] = lambda _: None,
    ) -> None:
        self._journal = journal
        self._find_open = find_open

    def place_of(self, scope: str) -> str:
        """Nowhere: no entry belongs to a project's folder."""
        return ""

    def read_ref(self, ref: str) -> Page:
        """The entry under a ref; see the port. Raises: Invalid, NotFound, Unavailable."""
        entry_id = _parse_ref(ref)
        entry = self._find_open(entry_id) or self._journal.read(entry_id)
        return Page(
            ref=entry.ref,
            journal=JOURNAL,
            scope="",
            kind=entry.entry_type,
            at=entry.at,
            text=entry.content,
            author=author_of(entry.metadata, self._journal.owner),
            tags=names_of(entry.metadata, "tags"),
            before=None if entry.level else self._neighbour("neighbour_before", entry),
            after=None if entry.level else self._neighbour("neighbour_after", entry),
            rollup=self._preview(entry.parent_id),
            sources=self._sources(entry),
            supersedes=entry.supersedes,
            superseded_by=self._journal.find_successor(entry),
            origin=_origin(entry.metadata),
        )

    def _neighbour(self, query: str, entry: TimelineEntry) -> EntryPreview | None:
        rows = self._journal.database.ask(query, timestamp=render_time(entry.at), seq=entry.seq)
        for entry_id, timestamp, content in rows:
            return _preview(entry_id, timestamp, content)
        return None

    def _preview(self, entry_id: str | None) -> EntryPreview | None:
        found = self._journal.database.ask("by_id", id=entry_id) if entry_id else ()
        return next((_preview(row[1], row[5], row[3]) for row in found), None)

    def _sources(self, entry: TimelineEntry) -> tuple[EntryPreview, ...]:
        """What a rollup was made from: entries that are kept, and refs of other journals."""
        found = []
        if entry.partial:  # stored nowhere, and its links neither
            return tuple(x for x in map(self._preview, entry.sources) if x is not None)
        for source, name, timestamp, *_ in self._journal.database.ask("links", rollup=entry.seq):
            if source < 0 and isinstance(name, str):
                found.append(EntryPreview(ref=name, at=parse_time(timestamp), text=""))
            elif isinstance(name, str) and timestamp:
                found += [x for x in (self._preview(name),) if x is not None]
        return tuple(found)


def _origin(metadata: Mapping[str, Any]) -> str:
    program, its_id = metadata.get("imported_from"), metadata.get("imported_id")
    named = f", {opening(its_id, _LONGEST_ID)}" if isinstance(its_id, str) else ""
    return f"{program}{named}" if isinstance(program, str) else ""


def _preview(entry_id: str, timestamp: str, content: str) -> EntryPreview:
    return EntryPreview(ref=ref_of(entry_id), at=parse_time(timestamp), text=first_words(content))


def _parse_ref(ref: str) -> str:
    name, _, entry_id = ref.partition(":")
    if name != JOURNAL or not entry_id or len(entry_id) > _LONGEST_ID:
        raise Invalid(
            f"Invalid ref: {opening(ref, 100)!r}.", hint=f"Refs look like {TimelinePages.ref_form}."
        )
    return entry_id
