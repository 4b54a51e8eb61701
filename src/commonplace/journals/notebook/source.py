"""Owns how the index follows the notebook: its mark, its entries and its overviews.

Never writes to the repository, and never logs an entry's text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.core.digest import sha256_hex
from commonplace.core.errors import CommonplaceError
from commonplace.core.files import may_hold
from commonplace.core.values import Drop, Put, superseding_tags
from commonplace.journals.git.history import read_history
from commonplace.journals.git.trees import compare_trees
from commonplace.journals.notebook.docs import doc_of_entry, doc_of_overview
from commonplace.journals.notebook.format import (
    JOURNAL,
    branch_tags,
    entries_of,
    parse_file,
    parse_message,
    ref_of,
    set_end_of,
    written_of,
)
from commonplace.journals.notebook.names import SectionAddress, file_of, find_section
from commonplace.journals.notebook.reader import entry_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from commonplace.core.values import Change, Doc, Since
    from commonplace.journals.git.history import Commit
    from commonplace.journals.notebook.format import NotebookEntry
    from commonplace.journals.notebook.reader import NotebookReader
    from commonplace.journals.notebook.sections import EntryLine, WrittenEntry

_AT_ONCE = 200
_UNREADABLE = "unreadable"
_ELSEWHERE = "branch "
"""Begins the stamp of an entry that only other branches hold: a hash follows."""


class NotebookSource:
    """One notebook, as the index follows it.

    Args:
        notebook: What is followed.
        note_ends: Called before a change is handed over that may expire, so that what sweeps
            expired entries knows of it no later than the index.
    """

    cheap_mark = True
    """Its mark reads two small files of git's."""
    exact_mark = True

    def __init__(
        self, notebook: NotebookReader, *, note_ends: Callable[[], object] = lambda: None
    ) -> None:
        self._notebook = notebook
        self._note_ends = note_ends

    @property
    def name(self) -> str:
        """`notebook`."""
        return JOURNAL

    def mark(self) -> str:
        """The commit the branch is at, how many entries have expired, where other branches are.

        Empty where there is nothing of these.
        """
        try:
            if not self._notebook.exists:
                return ""
            head, others = self._notebook.repo.head().commit, self._notebook.branches.mark()
            ledger = self._notebook.ledger if head or others else None
            expired = ledger.count_expired() if ledger is not None and ledger.exists else 0
            if others and ledger is not None and ledger.exists:
                others = f"{others} {self._notebook.branches.count_expired() or ''}".strip()
        except CommonplaceError as exc:
            return f"{_UNREADABLE} {exc.message}"
        return f"{head} {expired or ''} {others}".rstrip()

    def count(self, since: Since) -> tuple[int, int]:
        """How many entries the branch shows, and how many of them are filed. Raises: as `scan`."""
        ledger, known = self._notebook.ledger, since.stamps(f"{JOURNAL}:")
        ledger.catch_up()
        filed = sum("#" in ref and not x.startswith(_ELSEWHERE) for ref, x in known.items())
        return ledger.total() - ledger.count_expired(), filed

    def scan(self, since: Since) -> Iterator[Change]:
        """Puts of the entries that came since, newest first, then of overviews; drops of the gone.

        One stream of git's history. Where the branch was rewritten, what lies in the old history
        alone is looked at as well. Where the two share nothing, or a section was moved, all of it
        is read, and what differs from the stamps is handed over. Entries that have expired are
        dropped. Raises: Unavailable, Denied.
        """
        if not may_hold(self._notebook.folder):
            return  # a notebook that is gone is not one without entries
        repo = self._notebook.repo
        head = self._notebook.ledger.catch_up()
        self._note_ends()
        mark, expired, others = _parts(since.mark or "")
        if mark.isalnum() and head and (common := repo.merge_base(mark, head)):
            gone = _Commits([] if common == mark else list(read_history(repo, mark, since=head)))
            left = [x for commit in gone for x in self._docs(commit)]
            come = _Commits(read_history(repo, head, since=mark, order="newest"))
            for doc in (x for commit in come for x in self._docs(commit)):
                if since.stamps(doc.ref).get(doc.ref) != doc.stamp:
                    yield Put(doc)
            if not (come.moved or gone.moved):
                is_moved = common != mark or come.merged or others != _parts(self.mark())[2]
                elsewhere = self._list_elsewhere() if is_moved else {}
                for ref in (doc.ref for doc in left):  # those that are nowhere else in the history
                    is_there = self._notebook.ledger.by_id(ref.rpartition("#")[2])
                    if not is_there and ref not in elsewhere and since.stamps(ref).get(ref):
                        yield Drop(ref)
                # What a merge made of both sides, or a person in it, neither side's commits say.
                paths = compare_trees(repo, mark, head)
                changed = {x for path in paths if (x := find_section(path)) is not None}
                touched = sorted(changed | come.touched | gone.touched)
                yield from self._overviews(head, touched, since, come.written)
                ends = come.ends | gone.ends
                if ends or expired != str(self._notebook.ledger.count_expired() or ""):
                    yield from self._ended(ends, since)
                if is_moved:
                    yield from self._elsewhere(elsewhere, since)
                return
        yield from self._everything(head, since)

    def _everything(self, head: str, since: Since) -> Iterator[Change]:
        known = since.stamps(f"{JOURNAL}:")
        seen: set[str] = set()
        written: dict[str, datetime] = {}
        if head:
            commits = _Commits(read_history(self._notebook.repo, head, order="newest"))
            for commit in commits:
                for doc in self._docs(commit):
                    if known.get(doc.ref) != doc.stamp:
                        yield Put(doc)
                    seen.add(doc.ref)
            written = commits.written
        files = self._notebook.repo.list_files(head)
        names = sorted(x for path in files if (x := find_section(path)) is not None)
        for start in range(0, len(names), _AT_ONCE):
            for overview in self._read(head, names[start : start + _AT_ONCE], written):
                if overview is None:
                    continue
                if known.get(overview.ref) != overview.stamp:
                    yield Put(overview)
                seen.add(overview.ref)
        elsewhere = self._list_elsewhere()
        yield from (Drop(ref) for ref in sorted(known.keys() - seen - elsewhere.keys()))
        yield from self._elsewhere(elsewhere, since)

    def _list_elsewhere(self) -> dict[str, tuple[EntryLine, Sequence[str]]]:
        """By their refs the entries that only other branches hold, each with its doc's tags.

        What one of them replaced counts only among them: on the notebook's branch that holds still.
        """
        self._notebook.branches.catch_up()
        found = self._notebook.branches.list_all()
        refs = {line.id: line.ref for line, _ in found}
        return {
            line.ref: (
                line,
                (*superseding_tags(refs.get(former, "")), *branch_tags(line.branches)),
            )
            for line, former in found
        }

    def _elsewhere(
        self, held: Mapping[str, tuple[EntryLine, Sequence[str]]], since: Since
    ) -> Iterator[Change]:
        """Puts of the entries of other branches that differ, drops of those that are on none."""
        known = since.stamps(f"{JOURNAL}:")
        stamps = {
            ref: _ELSEWHERE + sha256_hex("\n".join((line.hash, line.section, *tags)).encode())[:16]
            for ref, (line, tags) in held.items()
        }
        wanted = [ref for ref, stamp in stamps.items() if known.get(ref) != stamp]
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            blobs = self._notebook.repo.read_objects([held[ref][0].hash for ref in some])
            for ref, blob in zip(some, blobs, strict=True):
                line, tags = held[ref]
                if blob is not None:
                    entry = entry_at(line, blob.content)
                    doc = entry_doc(self._notebook, entry, section=line.section)
                    yield Put(replace(doc, tags=tuple(tags), stamp=stamps[ref]))
        for ref, stamp in known.items():
            if stamp.startswith(_ELSEWHERE) and ref not in held:
                lines = self._notebook.ledger.by_id(ref.rpartition("#")[2])
                if all(line.ref != ref for line in lines):
                    yield Drop(ref)

    def _ended(self, ends: Iterable[str], since: Since) -> Iterator[Change]:
        """Drops of what has expired; puts of what is shown again, and of what replaced the former.

        ends: the ids of the entries whose ends were set or taken back.
        """
        ledger = self._notebook.ledger
        over = ledger.list_expired()
        yield from (Drop(line.ref) for line in over if since.stamps(line.ref).get(line.ref))
        ids = [*ends, *(line.id for line in over)]
        successors = (found for x in ids if (found := ledger.find_successor(x)) is not None)
        lines = [line for entry_id in ends for line in ledger.by_id(entry_id)]
        for line in {x.ref: x for x in (*lines, *successors)}.values():
            if not line.has_expired(self._notebook.clock()):
                entry = self._notebook.read_kept_entry(SectionAddress(line.section, line.id))
                doc = entry_doc(self._notebook, entry, section=line.section)
                if since.stamps(doc.ref).get(doc.ref) != doc.stamp:
                    yield Put(doc)

    def _docs(self, commit: Commit) -> Iterator[Doc]:
        """The docs of a commit's entries, but for those that have expired."""
        for entry in entries_of(commit):
            if place := self._notebook.ledger.shown_section(entry.id, entry.section):
                yield entry_doc(self._notebook, entry, section=place)

    def _overviews(
        self, head: str, names: Sequence[str], since: Since, written: Mapping[str, datetime]
    ) -> Iterator[Change]:
        for name, doc in zip(names, self._read(head, names, written), strict=True):
            ref = ref_of(name)
            known = since.stamps(ref).get(ref)
            if doc is not None and doc.stamp != known:
                yield Put(doc)
            elif doc is None and known is not None:
                yield Drop(ref)

    def _read(
        self, head: str, names: Sequence[str], written: Mapping[str, datetime]
    ) -> list[Doc | None]:
        blobs = self._notebook.repo.read_blobs(head, [file_of(x) for x in names])
        found: list[Doc | None] = []
        for name, blob in zip(names, blobs, strict=True):
            text = parse_file(blob.content).overview if blob and blob.kind == "blob" else ""
            doc = overview_doc(self._notebook, name, text, written=written.get(name))
            found.append(doc if text.strip() else None)
        return found


def _parts(mark: str) -> tuple[str, str, str]:
    """The commit, the number of expired entries and the other branches that a mark names."""
    head, expired, others = [*mark.split(" ", 2), "", ""][:3]
    return head, expired, others


class _Commits:
    """Commits, read once; remembers which sections they touched, and when.

    It remembers as well whether a section was moved, whether one of them is a merge, and the
    entries of those that say when an entry expires.
    """

    def __init__(self, commits: Iterable[Commit]) -> None:
        self._commits = commits
        self.touched: set[str] = set()
        self.written: dict[str, datetime] = {}
        self.moved = self.merged = False
        self.ends: set[str] = set()

    def __iter__(self) -> Iterator[Commit]:
        for commit in self._commits:
            message = parse_message(commit.message)
            self.moved = self.moved or message.verb == "move"
            self.merged = self.merged or len(commit.parents) > 1
            if end := set_end_of(message):
                self.ends.add(end[0])
            touched = {x for t in commit.touched if (x := find_section(t.path)) is not None}
            self.touched |= touched
            at = written_of(message) or commit.at
            for name in touched:
                self.written[name] = max(at, self.written.get(name, at))
            yield commit


def entry_doc(notebook: NotebookReader, entry: NotebookEntry, *, section: str) -> Doc:
    """What the index holds of an entry, under the section it is in now."""
    former = notebook.ledger.find_former(entry.supersedes)
    return doc_of_entry(
        entry,
        section=section,
        former=former.ref if former else "",
        turn=notebook.ledger.number_of(entry.id),
        zone=notebook.zone,
    )


def overview_doc(
    notebook: NotebookReader, section: str, text: str, *, written: datetime | None = None
) -> Doc:
    """What the index holds of a section's overview.

    written: When the section was last written to; None for the newest commit of all.
    """
    return doc_of_overview(
        section,
        text,
        at=notebook.overview_at(section),
        written=written or notebook.head_at(),
        zone=notebook.zone,
        author=notebook.overview_author(section) if text.strip() else "",
    )


def changes_of(notebook: NotebookReader, written: WrittenEntry) -> list[Change]:
    """What the index should hold after a write: the entry, and the overview if there is one."""
    entry, overview = written.entry, written.overview
    changes: list[Change] = [Put(entry_doc(notebook, entry, section=entry.section))]
    if overview.strip():
        at = entry.written or entry.at
        changes.append(Put(overview_doc(notebook, entry.section, overview, written=at)))
    return changes
