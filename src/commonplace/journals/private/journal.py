"""Owns the private journal: its verbs over the user's and the project's folder of Markdown files.

Never alters a file it was not asked to alter, and never returns what lies outside its folders.
"""

from __future__ import annotations

import contextlib
import heapq
import logging
import os
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from commonplace.core.brief_item import OWN, BriefItem
from commonplace.core.clock import micros
from commonplace.core.errors import CommonplaceError, NotFound, has_changed
from commonplace.core.files import (
    locked,
    remove_file,
    remove_leftovers,
    replace_file,
    sync_folder,
    translated,
)
from commonplace.core.redact import Screen
from commonplace.core.text import well_formed
from commonplace.core.values import Interval
from commonplace.journals.private.copied import key_of_copy, updated_text
from commonplace.journals.private.format import (
    PrivateEntry,
    decode,
    mark_superseded,
    render_thoughts,
    rewritten,
    version_of,
    with_frontmatter,
    without_superseded,
)
from commonplace.journals.private.gitignore import IgnoredDays
from commonplace.journals.private.keys import EntryKeys
from commonplace.journals.private.markdown import split_frontmatter, split_sections
from commonplace.journals.private.note_words import NEVER_TRUSTED, NoteWords
from commonplace.journals.private.places import (
    SCHEME,
    EntryPlace,
    entry_in,
    find_linked,
    is_another_users,
    lexical_place,
    list_day,
    list_days,
    parse_place,
    places_of,
    read_bytes,
    read_entry,
    read_turn,
)
from commonplace.journals.private.project_copies import ProjectCopies
from commonplace.journals.private.project_roots import ProjectRoots
from commonplace.journals.private.roots import FOLDER, project_root
from commonplace.journals.private.superseding import marks_without, refuse_other_text
from commonplace.journals.private.trusted_notes import TrustedNotes
from commonplace.journals.private.write import (
    NewText,
    ThoughtsWritten,
    ThoughtWriter,
    checked_text,
    checked_thoughts,
    refuse_elsewhere,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo
    from pathlib import Path

    from commonplace.core.values import Problem
    from commonplace.journals.private.copied import Copy
    from commonplace.journals.private.places import Whose
    from commonplace.journals.private.recovery import NotesRecovery
    from commonplace.journals.private.roots import Kind, Root, Roots

__all__ = ["PrivateEntry", "PrivateJournal", "ThoughtsWritten"]

_log = logging.getLogger(__name__)

MOST_IN_A_BRIEF = 40
"""How many of a root's entries are read for a brief."""

# A day folder is a local date of whichever zone wrote it, so an entry's instant may lie outside it.
_DAY_MARGIN = timedelta(days=2)


class Notices:
    """Logs what is wrong with a path, once for each path; never a word of an entry."""

    def __init__(self) -> None:
        self._logged: set[str] = set()

    def log(self, path: object, reason: str) -> None:
        """Log one line, unless this path has had its own."""
        if str(path) not in self._logged:
            self._logged.add(str(path))
            _log.warning("%r is passed over: %s", str(path), reason)


class PrivateJournal:
    """Thoughts of one owner, in files that private-journal-mcp reads and writes as well.

    Attributes:
        zone: The owner's.
        known: Where the roots of all projects lie, kept for processes of other projects.
        project_roots: What keeps that.
        former: The roots of the project that are only read: of subfolders, work trees and clones.
        notices: What is passed over, logged once.
        ignored: Which days git ignores: no file is put into any other.
        keys: By which a repeated call makes no second entry.
        copies: Those of the notes of projects, which follow every write, edit and deletion.
        words: Whose word each note is.
    """

    def __init__(
        self,
        *,
        roots: Roots,
        zone: tzinfo,
        clock: Callable[[], datetime],
        keys: Path,
        random_micros: Callable[[], int],
        known: Path | None = None,
        copies: Path | None = None,
        former: Callable[[ProjectRoots], tuple[Root, ...]] | None = None,
        screen: Screen | None = None,
        home: Path | None = None,
        trusted: Path | None = None,
        is_noted: Callable[[str], bool] = lambda _ref: False,
    ) -> None:
        """Open the journal; nothing is made before the first write.

        known, copies and trusted are folders of ours, None for none: of the roots of all projects,
        of copies of their notes, and of which notes of repositories the user trusts. is_noted: see
        `ThoughtWriter`.
        """
        self._screen = screen or Screen()
        self._note = roots.note
        self.project_roots = ProjectRoots(known, roots.hidden)
        self._hidden = roots.hidden
        self.former = former(self.project_roots) if former else ()
        self._roots = (*roots.each(), *self.former)
        self.zone = zone
        self._clock = clock
        self.keys = EntryKeys(keys)
        self.notices = Notices()
        self.ignored = IgnoredDays()
        self.copies = ProjectCopies(copies, clock)
        self.words = NoteWords(TrustedNotes(trusted), home, self.copies.holds)
        self._writer = ThoughtWriter(
            roots=roots.each(),
            zone=zone,
            keys=self.keys,
            ignored=self.ignored,
            random_micros=random_micros,
            copies=self.copies,
            is_noted=is_noted,
        )

    @property
    def note(self) -> str:
        """A sentence for every answer: where it is written without a home, what is refused."""
        links = (x.link() for x in self._roots)
        refused = [
            f"The project's journal is left out: {x} is a symbolic link." for x in links if x
        ]
        return " ".join(filter(None, [self._note, *refused]))

    @property
    def roots(self) -> tuple[Root, ...]:
        """The distinct roots, the user's first, then the project's, then those only read."""
        return self._roots

    def scopes(self, kind: Kind) -> tuple[str, ...]:
        """The scopes that a search of this kind looks at; never empty, which would mean any."""
        return tuple(x.scope for x in self._of_kind(kind))

    @property
    def has_project(self) -> bool:
        """Whether notes on a project lie apart from all else."""
        return any(root.scope != "user" for root in self._roots)

    def _of_kind(self, kind: Kind) -> list[Root]:
        return [x for x in self._roots if kind == "both" or kind in x.kinds]

    def record_project_root(self) -> None:
        """Keep where the project's root lies or will lie, for processes of other projects.

        Never raises. To be called before anything is written: a write does nothing beside it.
        """
        for root in self._roots:
            self.project_roots.record(root)

    @property
    def recovery(self) -> NotesRecovery:
        """What brings back notes of projects that only their copies have."""
        from commonplace.journals.private.recovery import NotesRecovery

        return NotesRecovery(
            copies=self.copies,
            roots=[root for root in self._roots if root.scope != "user"],
            known=self.project_roots,
            ignored=self.ignored,
        )

    def path_of(self, ref: str) -> Path:
        """The absolute path of a ref, there or not. Raises: Invalid, Denied, NotFound."""
        return lexical_place(ref, self._roots).path

    def write(
        self,
        thoughts: Mapping[str, str],
        *,
        at: datetime | None = None,
        idempotency_key: str | None = None,
    ) -> ThoughtsWritten:
        """Write thoughts: `project_notes` to the project's root, all others to the user's.

        Both roots: two files of one time, the user's first. The same key twice is one entry.

        Raises: Invalid, Denied, Unavailable, Conflict; a ref already written is in the message.
        """
        checked = checked_thoughts(self._screen.values(dict(thoughts)))
        written = self._writer.write(checked, at, idempotency_key, now=self._clock())
        entries = {entry.ref: entry for entry in written.entries}
        for ref in written.refs:
            if ref not in entries:  # an earlier call with the key wrote it
                with contextlib.suppress(CommonplaceError):
                    entries[ref] = self.open_written(ref)
        there = tuple(entries[ref] for ref in written.refs if ref in entries)
        return replace(written, entries=there)

    def write_copy(self, copy: Copy, key: str) -> ThoughtsWritten:
        """Write an entry that another program had, screened already, once for each key.

        Raises: Invalid, Denied, Unavailable, Conflict.
        """
        text = NewText(copy.text.strip("\n"), copy.headers())
        return self._writer.write_copy(text, copy.at, key, now=self._clock())

    def plan_file(self, place: EntryPlace, content: bytes, *, at: datetime) -> str:
        """Note where the file of an exported entry is to be; the key that it is known by.

        That of its import, for one that another program had; else its ref.
        Raises: Denied, Unavailable.
        """
        key = key_of_copy(content.decode("utf-8", "replace"))
        if key:
            self.keys.note(key, place.ref, at, done=False)
        return key or place.ref

    def write_file(
        self, place: EntryPlace, content: bytes, *, at: datetime, changed: datetime | None = None
    ) -> bool:
        """Write the file of an exported entry; False where a file of that name exists.

        One that another program had is known from then on, and is not imported again. changed: the
        file's time of change; None for now. Raises: Denied, Unavailable.
        """
        place.root.refuse_link()
        is_new = self._writer.write_file(place, content)
        # Also where the file is there: an import of this export may have been killed between.
        if key := key_of_copy(content.decode("utf-8", "replace")):
            self.keys.note(key, place.ref, at, done=True)
        if is_new and changed is not None:
            at_ns = micros(changed) * 1000
            with translated(place.path), contextlib.suppress(OverflowError):
                os.utime(place.path, ns=(at_ns, at_ns))
        return is_new

    def find_copy(self, key: str) -> PrivateEntry | Literal["never", "deleted here"]:
        """The entry that `write_copy` wrote with a key. Raises: Invalid, Denied, Unavailable."""
        plan = self.keys.find(key)
        if plan is None or not plan.done:
            return "never"
        try:
            return self.open_written(plan.refs[0])
        except NotFound:
            return "deleted here"

    def find_written_copy(self, key: str) -> PrivateEntry | None:
        """The same, also where its process was killed right after it; None where it is gone."""
        plan = self.keys.find(key)
        with contextlib.suppress(NotFound):
            entry = self.open_written(plan.refs[0]) if plan is not None else None
            if plan is None or plan.done or (entry and key_of_copy(entry.raw) == key):
                return entry
        return None

    def find_kept(self, ref: str) -> PrivateEntry | None:
        """A project's note that only our copy has, as where its project is not there.

        Raises: Invalid, Denied, Unavailable.
        """
        for root, copy in self.copies.each():
            if ref.startswith(f"{SCHEME}{root.scope}/"):
                with contextlib.suppress(NotFound):
                    return read_entry(lexical_place(ref, (copy,)), self.zone)
        return None

    def update_copy(self, there: PrivateEntry, copy: Copy) -> PrivateEntry:
        """Put what another program says now in the place of what it said.

        Its time stays, and so does what it replaced here and what replaced it.

        Raises: Denied, NotFound, Unavailable; Conflict where it was changed at this moment.
        """
        return self.edit(there.ref, updated_text(there, copy, self.zone), expected=there.version)

    def find_gone(self, ref: str) -> PrivateEntry | None:
        """A note that its project has lost, and only its copy has; None for any other.

        Raises: Denied, Unavailable.
        """
        place = self.recovery.find_gone(ref)
        return None if place is None else read_entry(place, self.zone)

    def forget_copies(self, refs: Sequence[str]) -> None:
        """Remove the copies of notes of projects. Raises: Denied, Unavailable."""
        self.copies.forget(refs)

    def release_keys(self, keys: Sequence[str]) -> None:
        """Let the keys of entries that are gone write again. Raises: Denied, Unavailable."""
        self.keys.release(keys)

    def read_entry(self, path_or_ref: str) -> PrivateEntry:
        """The entry under a ref or a path; only `.md` files inside a root, all links followed.

        Raises: Invalid, Denied, NotFound, Unavailable; each names the reason.
        """
        return self._read(parse_place(path_or_ref, self._roots))

    def open_written(self, path_or_ref: str) -> PrivateEntry:
        """As `read_entry`, and the entries of the owner's other projects by their refs.

        Of what is corrected, or was just written here: whose word it is is not asked of git, and
        it counts as the owner's.
        """
        with self.copies.naming_gone(path_or_ref):
            return read_entry(self._place(path_or_ref), self.zone)

    def _read(self, place: EntryPlace) -> PrivateEntry:
        return read_entry(place, self.zone, self.words.asked())

    def _place(self, path_or_ref: str) -> EntryPlace:
        """Where an entry lies: in the roots of this project, or in that of one that is known.

        Or of which there is a copy: what an import placed there, before it was ever worked in.
        """
        scope = path_or_ref.removeprefix(SCHEME).partition("/")[0]
        is_known = path_or_ref.startswith(SCHEME) and all(x.scope != scope for x in self._roots)
        other = None
        if is_known:
            other = self.project_roots.find(scope) or self._root_of_copy(scope)
        return parse_place(path_or_ref, (*self._roots, *([other] if other else [])))

    def _root_of_copy(self, scope: str) -> Root | None:
        root = self.copies.root_of(scope)
        if root is None:
            return None
        return project_root(root.path, scope=scope, base=root.path.parent, hidden=self._hidden)

    def list_entries(
        self, *, limit: int, kind: Kind = "both", within: Interval | None = None
    ) -> list[PrivateEntry]:
        """The newest entries inside the interval, newest first; a broken file is passed over."""
        if limit < 1:
            return []
        newest: list[tuple[tuple[datetime, int, str], EntryPlace]] = []
        asked = within or Interval()
        for root, day in self._days_newest_first(self._of_kind(kind)):
            span = _span_of(day)
            full = len(newest) >= limit
            if (full and newest[0][0][0] >= span[1]) or (asked.start and span[1] <= asked.start):
                break
            if asked.end and asked.end <= span[0]:
                continue
            for turn, place in self._turns_of(root, day):
                if asked.holds(turn[0]):
                    heapq.heappush(newest, (turn, place))
                    if len(newest) > limit:
                        heapq.heappop(newest)
        return list(
            self._readable(place for _, place in sorted(newest, key=itemgetter(0), reverse=True))
        )

    def list_newest(self, root: Root, headings: frozenset[str] | None) -> list[BriefItem]:
        """What the owner's newest entries of a root say under some headings, for a brief.

        Of the entries whose files have the latest names; what a later one took the place of is left
        out while that is there. Reads no other file but those of the repository that the user
        trusted once.

        headings: in lower case; None for all of an entry.
        """
        whose = self.words.asked()
        places = (
            place
            for place, _ in self._places_newest_first(root)
            if whose(place, False) != NEVER_TRUSTED  # noqa: FBT003  as `Whose`
        )
        own = (entry for entry in self._readable(places, whose) if entry.word == OWN)
        newest = islice(own, MOST_IN_A_BRIEF)
        holding = (entry for entry in newest if not find_linked(entry.superseded_by, root))
        return list_sections(holding, headings)

    def root_in(self, folder: Path) -> Root | None:
        """The root that is a folder or lies in it; None where there is none."""
        known = (*self._roots, *self.project_roots.each())
        for path in (folder / FOLDER, folder):
            found = next((root for root in known if root.real() == str(path)), None)
            if found is not None:
                return found
        path = folder if folder.name == FOLDER else folder / FOLDER
        if not os.path.isdir(path) or os.path.islink(path):
            return None
        return project_root(path, base=path.parent, hidden=self._hidden)

    def list_from_repository(self, root: Root) -> list[PrivateEntry]:
        """The entries of one root that are a repository's word, the latest names first.

        Opens no other: that took `doctor` a third of its time over notes. A root that can have none
        is not even listed, which took a ninth.
        """
        if self.words.are_own(root):
            return []
        whose = self.words.asked()
        places = (
            place
            for place, owner in self._places_newest_first(root)
            if whose(place, is_another_users(owner))
        )
        return [entry for entry in self._readable(places, whose) if entry.word != OWN]

    def _places_newest_first(self, root: Root) -> Iterator[tuple[EntryPlace, int | None]]:
        return (
            each
            for _, day in self._days_newest_first([root])
            for each in reversed([*self._places_of(root, day)])
        )

    def _days_newest_first(self, roots: Sequence[Root]) -> list[tuple[Root, str]]:
        days: list[tuple[Root, str]] = []
        for root in roots:
            if root.link():  # `note` says so
                continue
            try:
                days += [(root, day) for day in list_days(root)]
            except FileNotFoundError:
                continue
            except OSError as exc:
                self.notices.log(root.path, os.strerror(exc.errno or 0))
        return sorted(days, key=lambda pair: pair[1], reverse=True)

    def _turns_of(
        self, root: Root, day: str
    ) -> Iterator[tuple[tuple[datetime, int, str], EntryPlace]]:
        for place, _ in self._places_of(root, day):
            try:
                yield read_turn(place, self.zone), place
            except CommonplaceError as exc:
                self.notices.log(place.path, exc.message)

    def _places_of(self, root: Root, day: str) -> Iterator[tuple[EntryPlace, int | None]]:
        """The places of a day, each with the number of the system's user whose file it is."""
        try:
            listing = list_day(root, day)
        except OSError as exc:
            self.notices.log(root.path / day, os.strerror(exc.errno or 0))
            return
        for place, name in zip(places_of(root, day, listing), listing.entries, strict=True):
            yield place, listing.owners.get(name)

    def _readable(
        self, places: Iterator[EntryPlace], whose: Whose | None = None
    ) -> Iterator[PrivateEntry]:
        whose = whose or self.words.asked()
        for place in places:
            try:
                yield read_entry(place, self.zone, whose)
            except CommonplaceError as exc:
                self.notices.log(place.path, exc.message)

    def edit(self, ref: str, content: str, *, expected: str | None = None) -> PrivateEntry:
        """Put a new text in place of an entry's whole file, and let its `.embedding` be made again.

        The frontmatter stays when the new text has none. expected: the `version` that was read.
        Raises: Invalid, Denied, NotFound, Unavailable; Conflict when the file is another by now.
        """
        text = checked_text(self._screen(well_formed(content)))
        place = self._place(ref)
        with locked(place.path.parent):
            text = with_frontmatter(text, decode(_current(place, expected)[0]))
            # Before and after: another process may be filing the old text's vector at this moment.
            with self.copies.changing(place):
                remove_file(place.sidecar)
                status = replace_file(place.path, text.encode())
                remove_file(place.sidecar)
        return entry_in(place, text.encode(), status, self.zone, self.words.asked())

    def supersede_by(
        self, ref: str, thoughts: Mapping[str, str], *, at: datetime | None = None
    ) -> tuple[PrivateEntry, ThoughtsWritten]:
        """Write thoughts in the place of an entry; those that belong elsewhere are refused.

        Raises: as `supersede`.
        """
        checked = checked_thoughts(thoughts)
        refuse_elsewhere(checked, self._place(ref).root.kinds)
        return self.supersede(ref, render_thoughts(checked), at=at)

    def supersede(
        self, ref: str, content: str, *, at: datetime | None = None
    ) -> tuple[PrivateEntry, ThoughtsWritten]:
        """Write an entry in the place of another; both stay, and name each other.

        The frontmatter of the former names the new one last: a process that is killed before leaves
        both, and the same call again finds the new one. A frontmatter in `content` is left out.

        Returns: The former as it is now, and what was written.

        Raises: Conflict where another entry has taken its place; Invalid, Denied, NotFound,
        Unavailable.
        """
        text = checked_text(self._screen(split_frontmatter(well_formed(content))[1]))
        place = self._place(ref)
        with locked(place.path.parent):
            now = entry_in(place, *_current(place, None), self.zone)
            later = self._find_linked(now.superseded_by, place.root)
            if later is not None and later.supersedes == place.ref:
                # It replaced this entry, or one between the two that was deleted since.
                refuse_other_text(later, place.ref, text)
                return now, ThoughtsWritten(
                    refs=(later.ref,), at=later.at, entries=(later,), repeated=True
                )
            written = self._writer.write_successor(
                place.root, text, at, place.ref, now=self._clock()
            )
            (successor,) = written.refs
            if written.repeated:
                there = read_entry(parse_place(successor, (place.root,)), self.zone)
                refuse_other_text(there, place.ref, text)
                written = replace(written, entries=(there,))
            # Its `.embedding` stays: what is searched of it is as it was.
            marked = self._rewrite(place, partial(mark_superseded, successor=successor))
        return entry_in(place, *marked, self.zone, self.words.asked()), written

    def delete(self, ref: str, *, expected: str | None = None) -> None:
        """Remove an entry and its `.embedding`, and its day folder when that is empty then.

        What it had replaced names it no more, but for one that is forgotten: that stays replaced.

        Raises: Invalid, Denied, NotFound, Unavailable; Conflict when the file is not `expected`.
        """
        place = self._place(ref)
        folder = place.path.parent
        with locked(folder):
            gone = entry_in(place, *_current(place, expected), self.zone)
        # Other entries' folders are locked one after another, never inside this lock.
        self._close_chain(gone, place.root)
        with locked(folder):
            _current(place, expected)
            with self.copies.changing(place):
                remove_file(place.sidecar)
                remove_file(place.path)
                remove_file(place.sidecar)
            remove_leftovers(folder)
        if folder != place.root.path:
            with contextlib.suppress(OSError):  # others lie in it, or came since
                os.rmdir(folder)
                sync_folder(folder.parent)

    def _close_chain(self, gone: PrivateEntry, root: Root) -> None:
        """Mark the entries beside one that goes; see `marks_without`.

        Done before it goes: after a kill in between the entry is still there, to be deleted again.
        """
        former = self._find_linked(gone.supersedes, root)
        later = self._find_linked(gone.superseded_by, root)
        for ref, mark in marks_without(gone, former, later):
            self._mark(ref, root, mark)

    def find_successor(self, entry: PrivateEntry) -> str:
        """The ref of the entry that its file names in its place, while that is there; else empty.

        Raises: Invalid, Denied, NotFound, Unavailable.
        """
        if not entry.superseded_by:
            return ""
        return find_linked(entry.superseded_by, self._place(entry.ref).root)

    def mark_replaced(self, ref: str, successor: str) -> PrivateEntry:
        """Name in an entry's file which one took its place; empty for none. Raises: as `edit`."""
        place = self._place(ref)
        mark = partial(mark_superseded, successor=successor) if successor else without_superseded
        with locked(place.path.parent):
            marked = self._rewrite(place, mark)
        return entry_in(place, *marked, self.zone, self.words.asked())

    def _find_linked(self, ref: str, root: Root) -> PrivateEntry | None:
        """The entry that a frontmatter names, if it is there; the ref may be of any origin."""
        if not ref.startswith(SCHEME):
            return None
        with contextlib.suppress(CommonplaceError):
            return read_entry(parse_place(ref, (root,)), self.zone)
        return None

    def _mark(self, ref: str, root: Root, mark: Callable[[str], str]) -> None:
        place = parse_place(ref, (root,))
        with locked(place.path.parent):
            self._rewrite(place, mark)

    def _rewrite(
        self, place: EntryPlace, change: Callable[[str], str]
    ) -> tuple[bytes, os.stat_result]:
        """Change the frontmatter of an entry; its file as it is then. The folder is locked."""
        content, status = read_bytes(place)
        if (changed := rewritten(content, change)) != content:
            with self.copies.changing(place):
                return changed, replace_file(place.path, changed)
        return content, status

    def problems(self) -> list[Problem]:
        """What is wrong in the folders now; reads every file, changes nothing."""
        from commonplace.journals.private.repair import find_problems

        return [x for root in self._roots for x in find_problems(root, self.ignored)]

    def repair(self) -> list[str]:
        """Mend what can be mended without touching an entry. Raises: Denied, Unavailable."""
        remove_leftovers(self.keys.folder)
        from commonplace.journals.private.repair import repair_root

        return [x for root in self._roots for x in repair_root(root, self.ignored, self.copies)]


def list_sections(
    entries: Iterable[PrivateEntry], headings: frozenset[str] | None
) -> list[BriefItem]:
    """What entries say under some headings, for a brief; as in `PrivateJournal.list_newest`."""
    return [
        BriefItem(entry.at.timestamp(), text, entry.ref, heading or "note")
        for entry in entries
        for heading, text in split_sections(split_frontmatter(entry.raw)[1])
        if text and (headings is None or heading.lower() in headings)
    ]


def _current(place: EntryPlace, expected: str | None) -> tuple[bytes, os.stat_result]:
    """A file's bytes and status. Raises: Conflict where it is not `expected`."""
    content, status = read_bytes(place)
    if expected is not None and version_of(content) != expected:
        raise has_changed(place.ref)
    return content, status


def _span_of(day: str) -> tuple[datetime, datetime]:
    """The instants that the entries of a day folder lie between, whatever zone named it."""
    named = min(max(date.fromisoformat(day), date(2, 1, 1)), date(9998, 1, 1))
    midnight = datetime(named.year, named.month, named.day, tzinfo=UTC)
    return midnight - _DAY_MARGIN, midnight + timedelta(days=1) + _DAY_MARGIN
