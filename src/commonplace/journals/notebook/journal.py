"""Owns the notebook: sections whose files hold what is understood now, entries that are commits.

Never says "written" before the branch holds it, and never loses what other people wrote there.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.core.errors import Conflict, already_superseded
from commonplace.core.ids import key_id, new_id
from commonplace.core.redact import Screen
from commonplace.core.text import well_formed
from commonplace.journals.git.commit import render_person
from commonplace.journals.git.history import parse_commit
from commonplace.journals.git.repo import init_repository
from commonplace.journals.notebook.commit_drafts import Signature
from commonplace.journals.notebook.format import (
    DEFAULT_AUTHOR,
    KEYS,
    TAKEN_BACK,
    CommitMessage,
    NotebookEntry,
    entry_message,
    parse_file,
    parse_message,
    plain_overview,
    ref_of,
    set_end_message,
    version_of,
)
from commonplace.journals.notebook.ledger import EntryLine
from commonplace.journals.notebook.names import file_of, parse_new_section, parse_section
from commonplace.journals.notebook.reader import NotebookReader, Section
from commonplace.journals.notebook.toc import TocNode
from commonplace.journals.notebook.upkeep import RepositoryUpkeep, tidy
from commonplace.journals.notebook.write import (
    EntryRequest,
    NotebookWriter,
    OverviewConflict,
    SectionMoves,
    WrittenEntry,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, tzinfo
    from pathlib import Path

    from commonplace.journals.notebook.names import SectionAddress

__all__ = [
    "DEFAULT_AUTHOR",
    "EntryLine",
    "Notebook",
    "NotebookEntry",
    "OverviewConflict",
    "Section",
    "SectionMoves",
    "TocNode",
    "WrittenEntry",
]


class Notebook(NotebookReader):
    """One owner's notebook in one git repository. Thread-safe; several processes may write.

    Args:
        folder: Its work tree, there or not.
        ledger: A file of ours, derived from the history.
        owner: Whose it is.
        zone: The owner's.
        clock: The present, aware.
        author: Of commits, as `Name <address>`; None for the user that git knows.
        auto_gc: Pack the repository in the background when it is due.
        random_bytes: Returns so many random bytes.
        screen: What every text goes through that is written.
    """

    def __init__(
        self,
        folder: Path,
        *,
        ledger: Path,
        owner: str,
        zone: tzinfo,
        clock: Callable[[], datetime],
        author: str | None = None,
        auto_gc: bool = True,
        random_bytes: Callable[[int], bytes] = os.urandom,
        screen: Screen | None = None,
    ) -> None:
        super().__init__(folder, ledger=ledger, zone=zone, clock=clock)
        self.owner = owner
        self._author = author
        self._random_bytes = random_bytes
        self._upkeep = RepositoryUpkeep() if auto_gc else None
        self._person = ""
        self.screen = screen or Screen()

    def init(self) -> Path:
        """Make the repository, or take the one that is there as it is; the folder it lies in.

        Raises: Unavailable, Denied, Invalid.
        """
        return init_repository(self.folder).folder

    @property
    def person(self) -> str:
        """Who commits, as `Name <address>`. Raises: Invalid where the setting cannot be meant."""
        if not self._person:
            self._person = render_person(self._author or self.repo.identity() or DEFAULT_AUTHOR)
        return self._person

    def signature(self) -> Signature:
        """Who commits, now. Raises: as `person`."""
        return Signature(person=self.person, now=self.clock(), zone=self.zone)

    def tidy(self) -> None:
        """Pack the repository now; it is done in the background when many objects lie loose.

        Raises: Unavailable, Denied, NotFound.
        """
        tidy(self.repo)

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
        """Add an entry, and put a new overview in place if one is given; the branch moves once.

        Args:
            section: Where; begun if it is not there.
            entry: What was done or learned.
            overview: Needs `base_version`, unless the section has no overview yet.
            summary: The entry in a line; else its first line.
            work_context: What kind of work it was.
            base_version: The version of the overview that was read.
            idempotency_key: The same key twice in one clone is one entry: the first call's.
            entry_id: The same id twice in any clone is one entry.
            at: Aware, default now; kept in whole seconds.
            supersedes: The id of the entry whose place this one takes.
            expires: When the entry expires, aware; None for never. Kept in whole seconds.

        Raises:
            OverviewConflict with both texts, Conflict, Invalid, Denied, Unavailable, NotFound.
        """
        name, now = self._new_section(section), self.clock()
        noted, at = (None if at is None else now), at or now
        if entry_id is None and idempotency_key is not None:
            # In another clone the same key is another write.
            entry_id = key_id(KEYS, f"{self.owner} {self.repo.clone_id()}", idempotency_key)
        message = entry_message(
            section=name,
            entry_id=entry_id or new_id(at, self._random_bytes(10)),
            text=self.screen(entry),
            summary=self.screen.values(summary),
            work_context=self.screen.values(work_context),
            supersedes=supersedes,
            written=noted,
            expires=expires,
        )
        request = EntryRequest(
            section=name,
            message=message,
            yours=None if overview is None else plain_overview(self.screen(overview)),
            base_version=(base_version or "").strip().lower(),
            at=at,
            is_keyed=bool(entry_id),
        )
        written = NotebookWriter(self, self.signature).write(request)
        if self._upkeep is not None:
            self._upkeep.start_if_due(self.repo)
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
        """Add an entry in the place of another; both stay in the history.

        Args:
            address: Of the entry that no longer holds: `path#<entry id>` or `path#hash`.
            text: Of the new one.
            section: Empty for that of the former.
            overview: As for `write`.
            summary: As for `write`.
            work_context: None for that of the former.
            base_version: As for `write`.
            expires: As for `write`; the former's end is its own.

        Returns:
            The new entry; the one that is there, `repeated`, where this was done before.

        Raises:
            Conflict: Another entry has taken its place.
            Invalid, NotFound, Denied, Unavailable.
        """
        old, text = self.read_entry(address), self.screen(text)
        known = self.ledger.find_successor(old.id)
        # One whose successors have expired may be replaced again.
        key = " ".join(["supersedes", old.id, *self.ledger.list_expired_successors(old.id)])
        written = self.write(
            section or old.section,
            text,
            overview=overview,
            summary=summary,
            work_context=work_context or old.work_context or None,
            base_version=base_version,
            # In this clone once; what another clone writes in its place comes with a sync.
            idempotency_key=key,
            entry_id=known.id if known else None,
            supersedes=old.id,
            expires=expires,
        )
        if written.repeated and written.entry.text.strip() != well_formed(text).strip():
            raise already_superseded(old.ref, written.entry.ref)
        return written

    def set_end(self, address: str | SectionAddress, expires: datetime | None) -> NotebookEntry:
        """Set when an entry expires, None for never, by a commit of its own; the entry with it.

        One that has expired is shown again if it is to stay. Where the end is that already,
        nothing is written. Raises: as `read_kept_entry`; Conflict, Denied.
        """
        found = self.read_kept_entry(address)
        end = None if expires is None else expires.replace(microsecond=0)
        if found.expires != end:
            message = set_end_message(found.section, found.id, end)
            NotebookWriter(self, self.signature).set_end(message)
        return replace(found, expires=end)

    def take_back(self, address: str | SectionAddress) -> tuple[NotebookEntry, bool]:
        """Show an entry no more, by a commit that puts back the overview that it replaced.

        What it had replaced holds again. The history keeps it: `set_end` brings it back.

        Returns:
            The entry, and whether the overview was put back.

        Raises:
            Conflict: Another entry has taken its place, or the overview was changed since.
            Invalid, NotFound, Denied, Unavailable.
        """
        found = self.read_entry(address)
        if later := self.ledger.find_successor(found.id):
            raise Conflict(
                f"{found.ref} was replaced since by {later.ref}.",
                hint=f"Read that one: `commonplace open {later.ref}`.",
            )
        message = set_end_message(found.section, found.id, TAKEN_BACK)
        before, made = self._overviews_around(found)
        if before == made:
            NotebookWriter(self, self.signature).set_end(message)
            return found, False
        try:
            NotebookWriter(self, self.signature).put_overview(message, before, version_of(made))
        except OverviewConflict as exc:
            raise Conflict(
                f"{ref_of(found.section)} was changed since {found.ref} was written with it.",
                hint=f"Let the entry alone go: `commonplace expire {found.ref} in 1 hour`;"
                f" or edit the overview: `commonplace edit {ref_of(found.section)}`.",
            ) from exc
        return found, True

    def bring_back(
        self, address: str | SectionAddress, *, overview: str | None, base_version: str
    ) -> NotebookEntry:
        """Show an entry again that was taken back, with the overview that it brings.

        Args:
            address: Of the entry.
            overview: The whole new overview; None for the one that is there.
            base_version: The version of the overview that was read; empty for none.

        Raises:
            OverviewConflict with both texts, Conflict, NotFound, Invalid, Denied, Unavailable.
        """
        found = self.read_kept_entry(address)
        message = set_end_message(found.section, found.id, None)
        writer = NotebookWriter(self, self.signature)
        if overview is None:
            writer.set_end(message)
        else:
            writer.put_overview(message, plain_overview(self.screen(overview)), base_version)
        return replace(found, expires=None)

    def _overviews_around(self, entry: NotebookEntry) -> tuple[str, str]:
        """The overview of an entry's section before its commit, and as that left it."""
        (blob,) = self.repo.read_objects([entry.hash])
        if blob is None:
            return "", ""
        commit = parse_commit(entry.hash, blob.content)
        path = file_of(parse_message(commit.message).section or entry.section)
        parent = commit.parents[0] if commit.parents else ""
        files = [self.repo.read_blobs(each, [path])[0] for each in (parent, entry.hash)]
        before, made = ("" if x is None else parse_file(x.content).overview for x in files)
        return before, made

    def replace_overview(
        self, section: str, text: str, *, base_version: str, summary: str = ""
    ) -> tuple[Section, tuple[str, ...]]:
        """Put a new text in place of an overview, without an entry; the history keeps the old one.

        Args:
            section: Whose.
            text: The whole new overview; blank leaves none.
            base_version: The version that was read.
            summary: What the commit says; else that the overview was amended.

        Returns:
            The section, and sentences on what of the folder was left as it was.

        Raises:
            OverviewConflict with both texts, NotFound, Invalid, Denied, Unavailable.
        """
        name = parse_section(section)
        message = CommitMessage(
            summary=summary or f"Amend the overview of {name}",
            text="",
            section=name,
            verb="overview",
        )
        notes = NotebookWriter(self, self.signature).put_overview(
            message, plain_overview(self.screen(text)), base_version
        )
        return self.read_section(name), notes

    def move(self, old: str, new: str, *, below: bool = False) -> SectionMoves:
        """Give a section another name, its entries with it; a folder alone goes with all below it.

        below: the sections below it go along.
        Raises: Invalid, NotFound, Conflict where a new name is taken, Denied, Unavailable.
        """
        before, after = parse_section(old.rstrip("/")), self._new_section(new.rstrip("/"))
        return NotebookWriter(self, self.signature).move(before, after, below=below)

    def _new_section(self, text: str) -> str:
        name = parse_new_section(text)
        self.screen.refuse_name(name, "section")
        return name
