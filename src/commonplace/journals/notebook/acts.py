"""Owns the verbs that write in a notebook, whatever keeps its sections and entries.

Never asks git, a disk or a database: what keeps a notebook gives what these need.
"""

from __future__ import annotations

import os
import shlex
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.core.errors import Conflict, already_superseded
from commonplace.core.ids import key_id, new_id
from commonplace.core.text import well_formed
from commonplace.journals.notebook.format import (
    KEYS,
    TAKEN_BACK,
    CommitMessage,
    apart_from_context,
    entry_message,
    parse_file,
    plain_overview,
    ref_of,
    set_end_message,
    version_of,
)
from commonplace.journals.notebook.names import parse_new_section, parse_section
from commonplace.journals.notebook.sections import OverviewConflict, check_base

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from commonplace.core.redact import Screen
    from commonplace.core.values import Replacement
    from commonplace.journals.notebook.format import NotebookEntry
    from commonplace.journals.notebook.names import SectionAddress
    from commonplace.journals.notebook.ports import WritesNotebook
    from commonplace.journals.notebook.sections import (
        EntryLine,
        Section,
        SectionMoves,
        WrittenEntry,
    )


class NotebookActs(ABC):
    """Writes to one owner's notebook. Thread-safe.

    Its verbs raise Invalid, NotFound, Conflict, Denied or Unavailable where they are refused.

    Args:
        clock: The present, aware.
        random_bytes: Returns so many random bytes.
        screen: What every text goes through that is written.
    """

    def __init__(
        self,
        *,
        owner: str,
        clock: Callable[[], datetime],
        screen: Screen,
        random_bytes: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self.owner = owner
        self.clock = clock
        self.screen = screen
        self._random_bytes = random_bytes

    @property
    @abstractmethod
    def _writer(self) -> WritesNotebook:
        """What writes to it."""

    @abstractmethod
    def read_entry(self, address: str | SectionAddress) -> NotebookEntry:
        """An entry by `path#<entry id>` or `path#hash`. Raises: NotFound where it has expired."""

    @abstractmethod
    def read_kept_entry(self, address: str | SectionAddress) -> NotebookEntry:
        """The same, also where it has expired."""

    @abstractmethod
    def read_section(self, section: str) -> Section:
        """A section's overview, as it is now."""

    @property
    @abstractmethod
    def exists(self) -> bool:
        """Whether there is one to be read."""

    @abstractmethod
    def catch_up(self) -> object:
        """Read what others wrote since, where it is not read each time."""

    @abstractmethod
    def list_by_id(self, entry_id: str) -> list[EntryLine]:
        """The entry with an id, also where it has expired; one by hand is of several sections.

        In git also one that other branches alone hold.
        """

    @abstractmethod
    def find_successor(self, entry_id: str) -> EntryLine | None:
        """The entry that took the place of one, the newest of several."""

    @abstractmethod
    def find_former(self, entry_id: str) -> EntryLine | None:
        """The entry that another names as replaced; None for none, and for an empty id.

        Where it has expired, the one whose place it had taken.
        """

    @abstractmethod
    def find_around(self, entry: NotebookEntry) -> tuple[EntryLine | None, EntryLine | None]:
        """The entries before and after one, in its section."""

    @abstractmethod
    def list_replaced_since(
        self, section: str, *, before: datetime | None = None
    ) -> tuple[Replacement, ...]:
        """Entries of a section that were replaced since its overview was written, newest first.

        before: Only what was written before counts; None for all. Never raises.
        """

    @abstractmethod
    def overview_at(self, section: str) -> datetime:
        """As old as a section's overview counts: when its newest entry was."""

    @abstractmethod
    def overviews_left_by(self, section: str, lines: Sequence[EntryLine]) -> list[str]:
        """The overview of a section as each of some of its entries left it."""

    @abstractmethod
    def _list_expired_successors(self, entry_id: str) -> Sequence[str]:
        """The ids of the entries that took the place of one, and have expired."""

    @abstractmethod
    def _overviews_around(self, entry: NotebookEntry) -> tuple[str, str]:
        """The overview of an entry's section before it was written, and as it left it."""

    @abstractmethod
    def _key_owner(self) -> str:
        """Within what a key of idempotency names one entry."""

    @abstractmethod
    def _wrote(self) -> None:
        """Called after an entry was written."""

    def write(
        self,
        section: str,
        entry: str,
        *,
        overview: str | None = None,
        summary: str | None = None,
        work_context: str | None = None,
        base_version: str | None = None,
        idempotency_key: str | None = None,
        entry_id: str | None = None,
        at: datetime | None = None,
        supersedes: str = "",
        expires: datetime | None = None,
    ) -> WrittenEntry:
        """Add an entry, and put a new overview in place if one is given: both or neither.

        Args:
            section: Where; begun if it is not there.
            entry: What was done or learned.
            overview: Needs `base_version`, unless the section has no overview yet.
            summary: The entry in a line; else its first line.
            work_context: What kind of work it was.
            base_version: The version of the overview that was read.
            idempotency_key: The same key twice is one entry, the first call's; in git in one clone.
            entry_id: The same id twice is one entry; in git in any clone.
            at: Aware, default now; kept in whole seconds.
            supersedes: The id of the entry whose place this one takes.
            expires: When the entry expires, aware; None for never. Kept in whole seconds.

        Raises: also OverviewConflict, with both texts.
        """
        now = self.clock()
        message = entry_message(
            section=self._new_section(section),
            entry_id=entry_id or new_id(at or now, self._random_bytes(10)),
            text=self.screen(entry),
            summary=self.screen.values(summary),
            work_context=self.screen.values(work_context),
            supersedes=supersedes,
            written=None if at is None else now,
            expires=expires,
        )
        base = (base_version or "").strip().lower()
        if overview is not None:
            overview = plain_overview(self.screen(overview))
            if not self.exists:  # what is refused makes no notebook
                check_base(message.section, parse_file(b""), overview, base)
        writer = self._writer
        if entry_id is None and idempotency_key is not None:
            key = key_id(KEYS, self._key_owner(), idempotency_key)
            message = replace(message, entry_id=key)
        written = writer.write(message, at=at or now, overview=overview, base_version=base)
        self._wrote()
        return written

    def supersede(
        self,
        address: str | SectionAddress,
        text: str,
        *,
        section: str = "",
        overview: str | None = None,
        summary: str | None = None,
        work_context: str | None = None,
        base_version: str | None = None,
        expires: datetime | None = None,
    ) -> WrittenEntry:
        """Add an entry in the place of another; both are kept.

        Done twice it is one entry, `repeated`; in git in one clone. Section and work context are
        those of the former where none are given; its end is its own. The rest is as for `write`.
        Raises: also Conflict where another entry has taken its place.
        """
        old = _own(self.read_entry(address))
        text, context = apart_from_context(self.screen(text), work_context or "")
        known = self.find_successor(old.id)
        # One whose successors have expired may be replaced again.
        key = " ".join(["supersedes", old.id, *self._list_expired_successors(old.id)])
        written = self.write(
            section or old.section,
            text,
            overview=overview,
            summary=summary,
            work_context=context or old.work_context or None,
            base_version=base_version,
            # In git once in this clone; what another clone writes in its place comes with a sync.
            idempotency_key=key,
            entry_id=known.id if known else None,
            supersedes=old.id,
            expires=expires,
        )
        if written.repeated and written.entry.text.strip() != well_formed(text).strip():
            raise already_superseded(old.ref, written.entry.ref)
        return written

    def set_end(self, address: str | SectionAddress, expires: datetime | None) -> NotebookEntry:
        """Set when an entry expires, None for never; the entry with it.

        One that has expired is shown again if it is to stay. Where the end is that already,
        nothing is written.
        """
        found = _own(self.read_kept_entry(address))
        end = None if expires is None else expires.replace(microsecond=0)
        if found.expires != end:
            self._writer.set_end(set_end_message(found.section, found.id, end))
        return replace(found, expires=end)

    def take_back(self, address: str | SectionAddress) -> tuple[NotebookEntry, bool]:
        """Show an entry no more, and put back the overview that it replaced: both or neither.

        What it had replaced holds again. The entry is kept: `set_end` brings it back.
        The entry, and whether the overview was put back.
        Raises: also Conflict where another entry has taken its place, or the overview was changed.
        """
        found = _own(self.read_entry(address))
        if later := self.find_successor(found.id):
            raise Conflict(
                f"{found.ref} was replaced since by {later.ref}.",
                hint=f"Read that one: `commonplace open {later.ref}`.",
            )
        message = set_end_message(found.section, found.id, TAKEN_BACK)
        before, made = self._overviews_around(found)
        if before == made:
            self._writer.set_end(message)
            return found, False
        try:
            self._writer.put_overview(message, before, version_of(made))
        except OverviewConflict as exc:
            raise Conflict(
                f"{ref_of(found.section)} was changed since {found.ref} was written with it.",
                hint=f"Let the entry alone go: `commonplace expire {found.ref} in 1 hour`;"
                f" or edit the overview: `commonplace edit {ref_of(found.section)}`.",
            ) from exc
        return found, True

    def bring_back(
        self, address: str | SectionAddress, *, overview: str | None, base_version: str
    ) -> None:
        """Show an entry again that was taken back, with the overview that it brings.

        overview: the whole new one, None for the one that is there; base_version: as for `write`.
        """
        found = _own(self.read_kept_entry(address))
        message = set_end_message(found.section, found.id, None)
        if overview is None:
            self._writer.set_end(message)
        else:
            self._writer.put_overview(message, plain_overview(self.screen(overview)), base_version)

    def replace_overview(
        self, section: str, text: str, *, base_version: str, summary: str = ""
    ) -> tuple[Section, tuple[str, ...]]:
        """Put a new text in place of an overview, without an entry; the old one is kept.

        The section, and sentences on what of the folder was left as it was. A blank text leaves no
        overview; base_version: the one that was read; summary: what git's commit says.
        Raises: also OverviewConflict, with both texts.
        """
        name = parse_section(section)
        said = summary or f"Amend the overview of {name}"
        message = CommitMessage(summary=said, text="", section=name, verb="overview")
        new = plain_overview(self.screen(text))
        notes = self._writer.put_overview(message, new, base_version)
        return self.read_section(name), notes

    def move(self, old: str, new: str, *, below: bool = False) -> SectionMoves:
        """Give a section another name, its entries with it; a folder alone goes with all below it.

        below: the sections below it go along. Raises: also Conflict where a new name is taken.
        """
        before, after = parse_section(old.rstrip("/")), self._new_section(new.rstrip("/"))
        return self._writer.move(before, after, below=below)

    def _new_section(self, text: str) -> str:
        name = parse_new_section(text)
        self.screen.refuse_name(name, "section")
        return name


def _own(entry: NotebookEntry) -> NotebookEntry:
    """An entry of the notebook's own branch: what is written of it goes there. Raises: Conflict."""
    if entry.branches:
        name = entry.branches[0]
        raise Conflict(
            f"{entry.ref} is on the branch {name}, which the notebook is not on.",
            hint=f"Go there first: `commonplace notebook switch {shlex.quote(name)}`; or bring it"
            f" here: `commonplace notebook merge {shlex.quote(name)}`.",
        )
    return entry
