"""Owns the notebook of a served user, whose sections and entries a database keeps.

Never asks git. What only git can do - branches, a sync, a history that is rewritten - is not here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NoReturn

from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.redact import Screen
from commonplace.journals.notebook.acts import NotebookActs
from commonplace.journals.notebook.docs import doc_of_entry, doc_of_overview
from commonplace.journals.notebook.names import SectionAddress, parse_address, parse_section
from commonplace.journals.notebook.sections import (
    MOST_BACKLINKS,
    EntryLine,
    check_depth,
    check_page,
    find_node,
    no_entry,
    no_longer,
    no_section,
    nodes_below,
    sole_line,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime, tzinfo

    from commonplace.core.values import Doc, Replacement
    from commonplace.journals.notebook.format import NotebookEntry
    from commonplace.journals.notebook.ports import (
        DatedOverview,
        NotebookStore,
        PlacedEntry,
        WritesNotebook,
    )
    from commonplace.journals.notebook.sections import (
        Backlinks,
        Section,
        TocNode,
    )
    from commonplace.journals.notebook.whole import WholeNotebook

_AT_ONCE = 200
_MARK = re.compile(r"[0-9a-f][0-9a-f-]{3,63}")


class SharedNotebook(NotebookActs):
    """One owner's notebook in a database that servers share; see `NotebookActs`.

    What reads it raises Invalid for what no notebook has, NotFound for what this one has not, and
    Unavailable or Denied where the database refuses.
    """

    def __init__(
        self,
        store: NotebookStore,
        *,
        owner: str,
        zone: tzinfo,
        clock: Callable[[], datetime],
        screen: Screen | None = None,
    ) -> None:
        super().__init__(owner=owner, clock=clock, screen=screen or Screen())
        self.zone = zone
        self._store = store

    @property
    def in_git(self) -> None:
        """None: a database keeps it."""
        return

    def require_git(self, what: str) -> NoReturn:
        """Refuse what only git can do: `branches`, `sync`. Raises: Invalid."""
        raise Invalid(
            f"The notebook of a served user lies in the server's database, which has no {what}.",
            hint="Take it out as a repository of your own: `commonplace export`, then import it"
            " there.",
        )

    @property
    def exists(self) -> bool:
        """Always: it is begun by its first entry."""
        return True

    def close(self) -> None:
        """Nothing is held: the connections are shared by all users."""

    def catch_up(self) -> None:
        """Nothing: the database is asked each time."""

    def read_section(self, section: str) -> Section:
        """A section's overview, as it is now."""
        name = parse_section(section)
        found = self._store.find_section(name)
        if found is None:
            raise self.no_section(name)
        return found

    def list_replaced_since(
        self, section: str, *, before: datetime | None = None
    ) -> tuple[Replacement, ...]:
        """Entries of a section that were replaced since its overview was written, newest first.

        before: Only what was written before counts; None for all.
        Never raises: an overview is shown without them where they cannot be read.
        """
        try:
            return self._store.list_replaced_since(section, before=before)
        except CommonplaceError:
            return ()

    def read_entry(self, address: str | SectionAddress) -> NotebookEntry:
        """An entry by `path#<entry id>` or `path#hash`, the section's former names included.

        Raises: NotFound where it has expired, too.
        """
        found = self.read_kept_entry(address)
        if found.expires is None or found.expires > self.clock():
            return found
        raise no_longer(
            found,
            self.zone,
            kept="the database",
            remedy=f"Remove it there: `commonplace forget {found.ref}`",
        )

    def read_kept_entry(self, address: str | SectionAddress) -> NotebookEntry:
        """The same, also where it has expired, until it is swept."""
        wanted = parse_address(address) if isinstance(address, str) else address
        found = self._store.find_entry(self.find_line(wanted).id)
        if found is None:
            raise no_entry(wanted)
        return found

    def find_line(self, address: SectionAddress) -> EntryLine:
        """Where an address leads to, also where that has expired."""
        mark = address.entry.lower()
        names = {address.section, self._store.current_name(address.section)}
        lines = self._store.find_lines(mark, names) if _MARK.fullmatch(mark) else []
        return sole_line(lines, names, address)

    def list_backlinks(self, section: str, entry: NotebookEntry | None = None) -> Backlinks:
        """The texts that link to a section, or to an entry of it.

        A link by a former name counts, unless another section has that name now.
        """
        names = self._store.names_of(section)
        if entry is None and len(names) > 1:
            taken = set(self.list_sections()) - {section}
            names = [name for name in names if name not in taken]
        entry_names = [x for x in (entry.id, entry.hash) if x] if entry else []
        return self._store.list_backlinks(names, entry_names, length=MOST_BACKLINKS)

    def list_entries(self, section: str, *, start: int = 0, length: int = 10) -> list[EntryLine]:
        """The entries of a section, newest first, those written under its former names included."""
        check_page(start, length)
        name = parse_section(section)
        found = self._store.newest(name, start=start, length=length)
        if not found and self._store.find_section(name) is None:
            raise self.no_section(name)
        return found

    def list_all_entries(
        self, section: str, *, branch: str = "", start: int = 0, length: int = 10
    ) -> list[EntryLine]:
        """The same: there are no branches. Raises: also Invalid for a branch."""
        if branch.strip():
            self.require_git("branches")
        return self.list_entries(section, start=start, length=length)

    def list_sections(self) -> list[str]:
        """Every section that there is now, by name."""
        return self._store.list_sections()

    def read_overviews(self, sections: Sequence[str]) -> dict[str, str]:
        """The overviews of those of these sections that there are, by name."""
        return self._store.read_overviews(sections)

    def list_overviews(self) -> list[DatedOverview]:
        """Every overview as it is now, blank ones too, by section."""
        return self._store.read_dated(None)

    def toc(self, section: str = "", *, depth: int = 1) -> tuple[TocNode, ...]:
        """What lies below a section, or below the root, by name; so many levels of it."""
        check_depth(depth)
        if section.strip():
            return self.node(section, depth=depth).subsections
        counts = self._store.section_counts()
        return nodes_below(self.list_sections(), counts, top="", depth=depth)

    def node(self, section: str, *, depth: int) -> TocNode:
        """A section, or a group, with so many levels of what lies below it."""
        name = parse_section(section)
        counts = self._store.section_counts()
        found = find_node(name, self.list_sections(), counts, depth=depth)
        if found is None:
            raise self.no_section(name)
        return found

    def no_section(self, name: str) -> CommonplaceError:
        """What to raise for a section that is not there: it may have been moved."""
        return no_section(name, self._store.current_name(name))

    def list_by_id(self, entry_id: str) -> list[EntryLine]:
        """The entry with an id; see `NotebookActs`."""
        found = self._store.find_entry(entry_id)
        return [] if found is None else [_line_of(found)]

    def find_successor(self, entry_id: str) -> EntryLine | None:
        """The entry that took the place of one, the newest of several."""
        return self._store.find_successor(entry_id)

    def find_former(self, entry_id: str) -> EntryLine | None:
        """The entry that another names as replaced; see `NotebookActs`."""
        return self._store.find_former(entry_id) if entry_id else None

    def find_around(self, entry: NotebookEntry) -> tuple[EntryLine | None, EntryLine | None]:
        """The entries before and after one, in its section."""
        return self._store.find_around(entry.section, entry.id)

    def overview_at(self, section: str) -> datetime:
        """When a section's newest entry was; of one without any, when it was written."""
        found = self._store.read_dated([section])
        return found[0].at if found else self.clock()

    def overviews_left_by(self, section: str, lines: Sequence[EntryLine]) -> list[str]:
        """The overview of a section as each of some of its entries left it."""
        found = self._store.overviews_left_by(section, [line.id for line in lines])
        return [found.get(line.id, "") for line in lines]

    def mark(self) -> str:
        """A token that changes with every change; reads no text."""
        return self._store.mark()

    def changed_since(self, mark: str | None) -> list[str] | None:
        """What changed after a mark, as `section` or `section#id`; None for one that says not."""
        return self._store.changed_since(mark)

    def get_many(self, identities: Sequence[str]) -> list[Doc]:
        """What the index holds of those of these `section` and `section#id` that there are."""
        entries = [each for each in identities if "#" in each]
        sections = [each for each in identities if "#" not in each]
        docs = map(self._doc_of, self._store.read_placed(entries) if entries else ())
        return [*docs, *(self._overviews(sections) if sections else ())]

    def list_all(self) -> Iterator[Doc]:
        """What the index holds of all entries and overviews; few are held in memory."""
        after = 0
        while placed := self._store.list_placed(after, _AT_ONCE):
            yield from map(self._doc_of, placed)
            after = placed[-1].place
        yield from self._overviews(None)

    def _doc_of(self, placed: PlacedEntry) -> Doc:
        return doc_of_entry(
            placed.entry,
            section=placed.entry.section,
            former=placed.former,
            turn=placed.place,
            zone=self.zone,
        )

    def _overviews(self, sections: Sequence[str] | None) -> Iterator[Doc]:
        for each in self._store.read_dated(sections):
            if each.text.strip():
                yield doc_of_overview(
                    each.section,
                    each.text,
                    at=each.at,
                    written=each.written,
                    zone=self.zone,
                    author=each.author,
                )

    def read_whole(self) -> WholeNotebook:
        """All of it but what has expired."""
        return self._store.read_whole()

    def take_over(self, whole: WholeNotebook) -> None:
        """Add all of a notebook that lay elsewhere; see the port."""
        self._store.take_over(whole)

    def drop_context(self, address: SectionAddress) -> None:
        """Take the work context out of an entry, for good."""
        self._store.drop_context(self.find_line(address).id)

    def forget(self, addresses: Sequence[str | SectionAddress]) -> set[str]:
        """Remove entries, also those that have expired; the ids of those that were there."""
        return self._store.forget([self.read_kept_entry(x).id for x in addresses])

    def erase_versions(
        self, sections: Sequence[str], cut: Callable[[str], str], *, current: bool
    ) -> int:
        """Erase a text from what overviews are and were; see the port."""
        return self._store.erase_versions(sections, cut, current=current)

    @property
    def _writer(self) -> WritesNotebook:
        return self._store

    def _wrote(self) -> None:
        """Nothing follows: a database cleans up after itself."""

    def _key_owner(self) -> str:
        return self.owner

    def _list_expired_successors(self, entry_id: str) -> Sequence[str]:
        return self._store.list_expired_successors(entry_id)

    def _overviews_around(self, entry: NotebookEntry) -> tuple[str, str]:
        return self._store.overviews_around(entry)


def _line_of(entry: NotebookEntry) -> EntryLine:
    return EntryLine(
        id=entry.id,
        section=entry.section,
        hash=entry.hash,
        at=entry.at,
        summary=entry.summary,
        expires=entry.expires,
    )
