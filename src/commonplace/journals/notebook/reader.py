"""Owns how a notebook is read: sections, entries and tables of contents, as its branch has them.

Never writes, and never answers from anything but the notebook's local branches.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.core.errors import CommonplaceError, Invalid, NotFound
from commonplace.journals.git.history import parse_commit, read_history
from commonplace.journals.git.repo import find_repository, is_repository
from commonplace.journals.notebook.branches import OtherBranches
from commonplace.journals.notebook.format import (
    NotebookEntry,
    SectionFile,
    entries_of,
    entry_of,
    parse_file,
    parse_message,
    shown_author,
)
from commonplace.journals.notebook.ledger import Ledger
from commonplace.journals.notebook.names import (
    SectionAddress,
    file_of,
    find_section,
    parse_address,
    parse_section,
)
from commonplace.journals.notebook.replaced import commits_that_wrote, replaced_since_overview
from commonplace.journals.notebook.sections import (
    MOST_BACKLINKS,
    Backlinks,
    EntryLine,
    LinkingText,
    Section,
    TocNode,
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
    from collections.abc import Set as AbstractSet
    from datetime import datetime, tzinfo
    from pathlib import Path

    from commonplace.core.values import Replacement
    from commonplace.journals.git.repo import GitRepository
    from commonplace.journals.notebook.links import Link

_HASH_PREFIX = re.compile(r"[0-9a-f]{4,64}")
_ENTRY_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ID_START = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){0,3}[0-9a-f]{1,12}")


class BrokenLink(Struct, frozen=True, kw_only=True):
    """A link that leads nowhere, where it stands, and why: `is not there`."""

    link: Link
    source: LinkingText
    why: str


def entry_at(line: EntryLine, content: bytes) -> NotebookEntry:
    """The entry of a line of the ledger. content: Of its commit, as git keeps it."""
    commit = parse_commit(line.hash, content)
    message = parse_message(commit.message)
    entry = entry_of(commit, message, section=line.section, entry_id=line.id)
    return replace(entry, expires=line.expires, branches=line.branches)


class NotebookReader:
    """One owner's notebook in one git repository, to be read; see `NotebookJournal`.

    names_authors: whether several users write in it, so that each text says who did.

    What reads it raises Invalid for what no notebook has, NotFound for what this one has not, and
    Unavailable or Denied where git or the disk refuses.
    """

    def __init__(
        self,
        folder: Path,
        *,
        ledger: Path,
        zone: tzinfo,
        clock: Callable[[], datetime],
        names_authors: bool = False,
    ) -> None:
        self.folder = folder
        self.zone = zone
        self.clock = clock
        self._names_authors = names_authors
        self._ledger_path = ledger
        self._opening = threading.RLock()
        self._opened: tuple[GitRepository, Ledger] | None = None

    @property
    def exists(self) -> bool:
        """Whether there is a repository in the folder; looks at a file or two."""
        return is_repository(self.folder)

    @property
    def repo(self) -> GitRepository:
        """The repository. Raises: NotFound, with how to make one."""
        return self._open()[0]

    @property
    def ledger(self) -> Ledger:
        """What the history holds, by section, id and hash."""
        return self._open()[1]

    @property
    def branches(self) -> OtherBranches:
        """What the other local branches hold."""
        return OtherBranches(*self._open())

    def close(self) -> None:
        """Close the ledger's file; may be called twice."""
        with self._opening:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened[1].close()

    def _open(self) -> tuple[GitRepository, Ledger]:
        with self._opening:
            if self._opened is None:
                repo = find_repository(self.folder)
                self._opened = (repo, Ledger(repo, self._ledger_path, self.clock))
            return self._opened

    def head_at(self) -> datetime:
        """When the branch's commit was made; the present where it has none."""
        (blob,) = self.repo.read_blobs(self.repo.head().commit, [""])
        return parse_commit(blob.name, blob.content).at if blob else self.clock()

    def overview_at(self, section: str) -> datetime:
        """When a section's newest entry was; of one without any, when the branch's commit was."""
        return self.ledger.newest_at(section) or self.head_at()

    def overview_author(self, section: str) -> str:
        """Who put a section's overview in place, each once; empty where only its owner writes."""
        if not self._names_authors:  # who writes alone waits for no reading of the history
            return ""
        authors = self._authors_of(commits_that_wrote(self.repo, self.ledger, section))
        return ", ".join(dict.fromkeys(filter(None, authors)))

    def read_section(self, section: str) -> Section:
        """A section's overview, as the branch has it."""
        name = parse_section(section)
        head = self.repo.head()
        (blob,) = self.repo.read_blobs(head.commit, [file_of(name)])
        self.ledger.catch_up()
        if blob is None or blob.kind != "blob":
            raise self.no_section(name)
        file = parse_file(blob.content)
        return Section(
            name=name,
            overview=file.overview,
            version=file.version,
            entry_count=self.count(name, file) - self.ledger.count_expired(name),
            last_entry=next(iter(self._named(self.ledger.newest(name))), None),
            author=self.overview_author(name) if file.overview.strip() else "",
        )

    def _named(self, lines: list[EntryLine]) -> list[EntryLine]:
        """Entries in a list, each with its author where several users write."""
        if not self._names_authors:
            return lines
        authors = self._authors_of([line.hash for line in lines])
        return [replace(x, author=y) for x, y in zip(lines, authors, strict=True)]

    def _authors_of(self, commits: Sequence[str]) -> list[str]:
        """The names of those who wrote commits; empty for one whom nobody named."""
        blobs = self.repo.read_objects([*commits]) if commits else []
        read = [parse_commit(x.name, x.content) if x else None for x in blobs]
        return [shown_author(x.author, x.address) if x else "" for x in read]

    def list_replaced_since(
        self, section: str, *, before: datetime | None = None
    ) -> tuple[Replacement, ...]:
        """Entries of a section that were replaced since its overview was written, newest first.

        before: Only what was written before counts; None for all.
        Never raises: an overview is shown without them where its history cannot be read.
        """
        try:
            self.ledger.catch_up()
            return replaced_since_overview(self.repo, self.ledger, section, before=before)
        except CommonplaceError:
            return ()

    def read_entry(self, address: str | SectionAddress) -> NotebookEntry:
        """An entry by `path#<entry id>` or `path#hash`, the section's former names included.

        A hash that a rebase has replaced still leads to its entry while git keeps it.
        Raises: NotFound where it has expired, too.
        """
        found = self.read_kept_entry(address)
        if found.expires is None or found.expires > self.clock():
            return found
        remedy = f"`commonplace forget {found.ref} --rewrite-history`"
        raise no_longer(
            found,
            self.zone,
            kept="git's history",
            remedy=f"Only a person can remove it there: {remedy}",
        )

    def read_kept_entry(self, address: str | SectionAddress) -> NotebookEntry:
        """The same, also where it has expired: the history keeps it."""
        wanted = parse_address(address) if isinstance(address, str) else address
        line = self.find_line(wanted)
        (blob,) = self.repo.read_objects([line.hash])
        if blob is None or blob.kind != "commit":
            raise no_entry(wanted)
        return entry_at(line, blob.content)

    def find_line(self, address: SectionAddress) -> EntryLine:
        """Where an address leads to, also where that has expired."""
        self.ledger.catch_up()
        section = address.section
        names = {section, self.ledger.current_name(section)}
        mark = address.entry.lower()
        lines: list[EntryLine] = []
        if _ENTRY_ID.fullmatch(mark):
            lines = self.ledger.by_id(mark) or (
                self.branches.by_id(mark) if self.branches.catch_up() else []
            )
        elif _ID_START.fullmatch(mark):
            others = self.branches.by_id_start(mark) if self.branches.catch_up() else []
            lines = [*self.ledger.by_id_start(mark), *others]
        elif _HASH_PREFIX.fullmatch(mark):
            others = self.branches.by_hash(mark) if self.branches.catch_up() else []
            lines = [*self.ledger.by_hash(mark), *others] or self._replaced(mark)
        if any(x.branches for x in lines):
            names.update(self.ledger.names_of(section))
        return sole_line(lines, names, address)

    def list_backlinks(self, section: str, entry: NotebookEntry | None = None) -> Backlinks:
        """The texts that link to a section, or to an entry of it; the ledger is caught up.

        A link by a former name counts, unless another section has that name now.
        """
        names = self.ledger.names_of(section)
        if entry is None and len(names) > 1:
            taken = set(self.list_sections()) - {section}
            names = [name for name in names if name not in taken]
        entry_names = (entry.id, entry.hash) if entry else ()
        return self.ledger.list_backlinks(names, entry_names, length=MOST_BACKLINKS)

    def find_broken_links(self) -> Iterator[BrokenLink]:
        """The links that lead nowhere now, with where they stand."""
        self.branches.catch_up()
        sections = set(self.list_sections())
        reasons: dict[Link, str] = {}
        for link, source in self.ledger.list_links():
            if link not in reasons:
                reasons[link] = self._why_broken(link, sections)
            if reasons[link]:
                yield BrokenLink(link=link, source=source, why=reasons[link])

    def _why_broken(self, link: Link, sections: AbstractSet[str]) -> str:
        """Why a link leads nowhere; empty where it leads somewhere."""
        if link.entry:
            try:
                line = self.find_line(SectionAddress(link.section, link.entry))
            except Invalid:
                return "may be several entries"
            except NotFound:
                return "is not there"
            return "has expired" if line.has_expired(self.clock()) else ""
        now = {link.section, self.ledger.current_name(link.section)}
        return "" if now & sections or self.branches.has_section(link.section) else "is not there"

    def _replaced(self, prefix: str) -> list[EntryLine]:
        (blob,) = self.repo.read_objects([prefix])
        if blob is None or blob.kind != "commit":
            return []
        parents = parse_commit(blob.name, blob.content).parents
        commits = read_history(self.repo, blob.name, since=parents)
        ids = {entry.id for commit in commits for entry in entries_of(commit)}
        # Only what a branch holds as well: the rest of what git keeps is not the notebook.
        return [line for entry_id in ids for line in self.ledger.by_id(entry_id)]

    def list_entries(self, section: str, *, start: int = 0, length: int = 10) -> list[EntryLine]:
        """The entries of a section, newest first, those written under its former names included."""
        check_page(start, length)
        name = parse_section(section)
        self.ledger.catch_up()
        found = self.ledger.newest(name, start=start, length=length)
        if not found and not self.ledger.count(name):
            (blob,) = self.repo.read_blobs(self.repo.head().commit, [file_of(name)])
            if blob is None:
                raise self.no_section(name)
        return self._named(found)

    def list_all_entries(
        self, section: str, *, branch: str = "", start: int = 0, length: int = 10
    ) -> list[EntryLine]:
        """The same with the entries that only other local branches hold.

        branch: Only what that one holds. Raises: also NotFound for a branch that is not there.
        """
        on = self.branches.find(branch) if branch.strip() else ""
        if not self.branches.catch_up():
            return self.list_entries(section, start=start, length=length)
        name = parse_section(section)
        if not self.branches.has_section(name):
            self.list_entries(section, start=start, length=length)  # raises where there is none
        return self._named(self.branches.newest(name, branch=on, start=start, length=length))

    def list_sections(self) -> list[str]:
        """Every section that has a file now, by name."""
        files = self.repo.list_files(self.repo.head().commit)
        return sorted(x for path in files if (x := find_section(path)) is not None)

    def read_overviews(self, sections: Sequence[str]) -> dict[str, str]:
        """The overviews of sections that have a file now, by name; one call of git."""
        found = self.repo.read_blobs(self.repo.head().commit, [file_of(x) for x in sections])
        blobs = zip(sections, found, strict=True)
        return {x: parse_file(y.content).overview for x, y in blobs if y and y.kind == "blob"}

    def toc(self, section: str = "", *, depth: int = 1) -> tuple[TocNode, ...]:
        """What lies below a section, or below the root, by name; so many levels of it."""
        check_depth(depth)
        if section.strip():
            return self.node(section, depth=depth).subsections
        self.ledger.catch_up()
        return nodes_below(self.list_sections(), self.ledger.section_counts(), top="", depth=depth)

    def node(self, section: str, *, depth: int) -> TocNode:
        """A section, or a group, with so many levels of what lies below it."""
        name = parse_section(section)
        self.ledger.catch_up()
        counts = self.ledger.section_counts()
        found = find_node(name, self.list_sections(), counts, depth=depth)
        if found is None:
            raise self.no_section(name)
        return found

    def count(self, section: str, file: SectionFile) -> int:
        """How many entries a section has, whose file this is; the ledger is caught up."""
        counted = self.ledger.count(section)
        # A history that is cut off says too little; the file's own count goes on then.
        return max(counted, file.count or 0) if self.repo.is_shallow else counted

    def no_section(self, name: str) -> NotFound:
        """What to raise for a section that is not there: it may have been moved."""
        return no_section(name, self.ledger.current_name(name))
