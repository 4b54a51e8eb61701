"""The wiring of the private journal."""

from __future__ import annotations

import logging
import os
import random
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.app.cached import locked_cached_property
from commonplace.app.wiring.memory.wiring import shared_of
from commonplace.core.errors import CommonplaceError
from commonplace.core.files import is_leftover, may_exist, remove_leftovers
from commonplace.core.scratch import system_temp_folder
from commonplace.core.text import counted, counted_entries
from commonplace.core.values import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from commonplace.app.owner_context import OwnerContext
    from commonplace.core.brief_item import BriefItem
    from commonplace.core.clock import Clock
    from commonplace.core.ports import Portable, Source
    from commonplace.core.project_folders import ProjectFolders
    from commonplace.core.values import Finding
    from commonplace.journals.private.journal import PrivateJournal
    from commonplace.journals.private.pages import PrivatePages
    from commonplace.journals.private.ports import SharedThoughts, ThoughtStore
    from commonplace.journals.private.project_copies import GoneNotes
    from commonplace.journals.private.recovery import NotesRecovery
    from commonplace.journals.private.roots import Root, Roots
    from commonplace.journals.private.shared import SharedPrivatePages
    from commonplace.verbs.imports.taking_back import GivesImportsBack
    from commonplace.verbs.private.amend import PrivateAmender
    from commonplace.verbs.private.service import PrivateService
    from commonplace.verbs.toolset import Toolset

_log = logging.getLogger(__name__)

NOTES = "notes"
"""The folder of an owner that holds the copies of the notes of projects."""
_PROJECTS = "projects"
TRUSTED = "trusted-notes"
"""The folder of an owner that says which notes of repositories the user trusts."""


class PrivateWiring:
    """The private journal of one owner and one project, and its verbs."""

    name = "private"
    title = "The private journal"

    def __init__(self, context: OwnerContext) -> None:
        self._context = context
        self.wiring = context.wiring
        self._has_looked = False
        self._announced: GoneNotes | None = None
        self._records: list[tuple[int, int]] = []

    @property
    def is_shared(self) -> bool:
        """Whether it lies in a database that servers share."""
        return self._context.is_in_database(self.name)

    @locked_cached_property
    def journal(self) -> ThoughtStore:
        """The private journal of this owner and this project, wherever its entries are.

        What a served user has in files from the time before the database moves into it.
        Raises: Unavailable, for a database too.
        """
        return self._shared_store if self.is_shared else self.files

    @locked_cached_property
    def _shared_store(self) -> SharedThoughts:
        from commonplace.journals.private.shared import move_notes

        context, files = self._context, self.files
        store = shared_of(context.shared).private_of(context.settings.owner, context.clock)
        with context.moving(files.roots[0].path, context.reach / NOTES, files.keys.folder):
            move_notes(files, store, unfile=context.drop_from_index)
        return store

    @locked_cached_property
    def files(self) -> PrivateJournal:
        """The private journal of this owner and this project in files; there or not."""
        from commonplace.journals.private.former_roots import find_former_roots
        from commonplace.journals.private.journal import PrivateJournal

        context, settings, roots = self._context, self._context.settings, self._roots
        try:
            self._move_what_was_left()
        except CommonplaceError as exc:  # `doctor` says so, and the next process tries again
            _log.warning("Some entries could not be moved from a temporary folder: %s", exc)
        return PrivateJournal(
            roots=roots,
            zone=settings.timezone,
            clock=context.clock,
            keys=context.reach / "keys" / "private",
            random_micros=lambda: random.randrange(1000),  # noqa: S311  a file name, no secret
            known=context.reach / _PROJECTS,
            copies=context.reach / NOTES,
            screen=context.shared.screen,
            home=context.user_home,
            trusted=context.reach / TRUSTED,
            is_noted=self._is_noted,
            former=None
            if settings.work_folder is None
            else partial(
                find_former_roots, roots, folder=settings.work_folder, home=context.user_home
            ),
        )

    def _is_noted(self, ref: str) -> bool:
        """Whether an end is noted of it. A write does not fail where that cannot be read."""
        with suppress(CommonplaceError):
            return bool(self._context.expiry_book.find([ref]))
        return False

    @locked_cached_property
    def _roots(self) -> Roots:
        from commonplace.journals.private.roots import resolve_roots

        settings = self._context.settings
        found = resolve_roots(
            home=self._context.user_home,
            project=settings.project,
            journal_path=_text(settings.private.path),
            journal_base=settings.project_folders.get("private.path"),
            private_user=_text(settings.private.user_path),
            private_journal_path=_text(settings.private.both_path),
            temp=system_temp_folder(),
        )
        return replace(found, hidden=self._context.hidden)

    def _move_what_was_left(self) -> None:
        """Move what was written without a home into it. Raises: Denied, Unavailable."""
        if self._roots.left is not None and os.path.lexists(self._roots.left):
            from commonplace.journals.private.temporary import move_entries

            move_entries(self._roots.left, self._roots.each()[0])

    @property
    def temporary(self) -> tuple[Path, ...]:
        """The folders beside the roots that may hold entries written without a home."""
        from commonplace.journals.private.roots import temporary_folder

        if self._context.user_home is None or not self._context.shows_paths:
            return ()
        homeless = temporary_folder(system_temp_folder(), None)
        found = (self._roots.left, homeless)
        return tuple(x for x in found if x is not None and os.path.lexists(x))

    def service(self) -> PrivateService:
        """The private journal's verbs."""
        return self._service

    @locked_cached_property
    def _service(self) -> PrivateService:
        from commonplace.verbs.private.service import PrivateService

        context = self._context
        if not self.is_shared:
            self.files.record_project_root()
            if not self._has_looked:
                self.gone()
        return PrivateService(
            journal=self.journal,
            filing=context.filing_for(self.name),
            finder=context.finder_for(self.name),
            clock=context.clock,
            zone=context.settings.timezone,
            former=context.former,
            shows_paths=context.shows_paths and not self.is_shared,
        )

    def gone(self) -> GoneNotes | None:
        """What is gone of this project's notes; what was restored of them is put back by this."""
        return self.files.recovery.gone()

    def notice(self) -> str:
        """What a session must know of this project's notes: that some are gone; else nothing."""
        with suppress(CommonplaceError):  # `doctor` names what is wrong
            recovery = self.files.recovery
            return self._said_of(recovery.copies.gone(recovery.roots, looks=False))
        return ""

    def notes_on_gone(self) -> Sequence[str]:
        """What an answer says of this project's notes that are gone: the first, and after a change.

        The folders are looked at once; what comes later is noticed by searches. Never raises.
        """
        if self._context.settings.project is None:
            return ()
        from commonplace.journals.private.copy_record import RECORD

        records = [_state_of(x / RECORD) for x in _list_folder(self._context.reach / NOTES)]
        if not records or (self._has_looked and records == self._records):
            return ()
        self._records = records
        with self.wiring, suppress(CommonplaceError):  # `doctor` names what is wrong
            recovery = self.files.recovery
            is_first, self._has_looked = not self._has_looked, True
            gone = (
                recovery.gone() if is_first else recovery.copies.gone(recovery.roots, looks=False)
            )
            if gone is not None and gone != self._announced:
                self._announced = gone
                return (self._said_of(gone),)
        return ()

    def _said_of(self, gone: GoneNotes | None) -> str:
        if gone is None:
            return ""
        from commonplace.verbs.private.recovery import gone_sentence

        return gone_sentence(gone, self._context.settings.timezone)

    def brief_headings(self, reach: str) -> Mapping[str, frozenset[str] | None]:
        """The headings that a model may be given unasked, by scope.

        None stands for every heading. Where one folder serves as both journals nobody can tell
        whose notes are in it, and only what the user prefers is given.

        reach: what `brief.private` says.
        """
        if reach == "none":
            return {}
        own = (root for root in self.files.roots if root not in self.files.former)
        return {root.scope: self._headings(reach, root.scope) for root in own}

    def brief_items(self, project: ProjectFolders | None) -> Sequence[BriefItem] | None:
        """What the newest entries say under the headings that a brief may hold, newest first.

        None for another project whose journal is not known; `project` None is the user's own
        journal.
        """
        if self.is_shared:
            return self._shared_items() if project is None else ()
        root = self._root_of(project)
        if root is None:
            return None if project is not None and not self._is_here(project) else ()
        reach = self._context.settings.brief.private
        headings = self._headings(reach, root.scope)
        return () if reach == "none" else self.files.list_newest(root, headings)

    def _shared_items(self) -> Sequence[BriefItem]:
        from commonplace.journals.private.journal import MOST_IN_A_BRIEF, list_sections

        reach, journal = self._context.settings.brief.private, self.journal
        newest = () if reach == "none" else journal.list_entries(limit=MOST_IN_A_BRIEF, kind="user")
        holding = (entry for entry in newest if not journal.find_successor(entry))
        return list_sections(holding, self._headings(reach, "user"))

    def _headings(self, reach: str, scope: str) -> frozenset[str] | None:
        from commonplace.core.brief_item import UNASKED_HEADINGS

        return None if reach == "all" else frozenset({UNASKED_HEADINGS[scope.partition("@")[0]]})

    def is_of_project(self, scope: str) -> bool:
        """Whether a scope is the journal of the project that is worked in."""
        own = (root for root in self.files.roots if root not in self.files.former)
        return scope != "user" and any(root.scope == scope for root in own)

    def _is_here(self, project: ProjectFolders) -> bool:
        here = self._context.settings.project
        return here is not None and os.path.realpath(here) == project.root

    def _root_of(self, project: ProjectFolders | None) -> Root | None:
        """The root of a project's own journal; for None the user's."""
        from commonplace.journals.private.roots import FOLDER, project_digest

        own = [root for root in self.files.roots if root not in self.files.former]
        if project is None or self._is_here(project):
            begins = "user" if project is None else "project"
            return next((root for root in own if root.scope.startswith(begins)), None)
        digest = project_digest(Path(project.root, FOLDER))
        return self.files.project_roots.find(f"project@{digest}")

    def toolsets(self) -> Mapping[str, Callable[[], Toolset]]:
        """Its toolsets by name; making one opens nothing."""
        return {"private": self.toolset}

    def toolset(self) -> Toolset:
        """Its tools; making this opens nothing."""
        from commonplace.verbs.private.service import PrivateService

        return PrivateService.toolset(self.service)

    def is_there(self) -> bool:
        """Always: it is made at the first write."""
        return True

    def pages(self) -> PrivatePages | SharedPrivatePages:
        """What opens its refs."""
        from commonplace.journals.private.pages import PrivatePages
        from commonplace.journals.private.shared import SharedPrivatePages

        if self.is_shared:
            return SharedPrivatePages(self._shared_store)
        return PrivatePages(self.files)

    def is_away(self, ref: str) -> bool:
        """Whether an entry is private, and the folder it lies in is not there."""
        return ref.startswith(f"{self.name}:") and self.pages().is_away(ref)

    def amender(self) -> PrivateAmender:
        """What corrects its entries."""
        from commonplace.verbs.private.amend import PrivateAmender

        return PrivateAmender(self.service())

    def gives_back(self) -> GivesImportsBack:
        """What takes imported entries out of it."""
        from commonplace.verbs.imports.giving_back import FromPrivate

        return FromPrivate(self.amender())

    def portable(self) -> Portable | None:
        """What exports and imports the journal."""
        from commonplace.journals.private.portable import PortablePrivate
        from commonplace.journals.private.shared import PortableSharedPrivate

        if self.is_shared:
            return PortableSharedPrivate(self._shared_store)
        return PortablePrivate(self.files, self._context.user_home)

    def sources(self) -> Sequence[Source]:
        """What the index on this machine follows; one in a database has an outbox."""
        return () if self.is_shared else self.entries()

    def entries(self) -> Sequence[Source]:
        """What the timeline and forgetting follow."""
        return self._sources

    @locked_cached_property
    def _sources(self) -> Sequence[Source]:
        from commonplace.journals.private.source import sources_of

        if self.is_shared:
            return [shared_of(self._context.shared).private_source(self._shared_store)]
        return sources_of(self.files)

    def other_sources(self) -> Sequence[Source]:
        """What is followed aside: the roots of this owner's other projects."""
        from commonplace.journals.private.source import other_sources_of

        with suppress(CommonplaceError):
            return other_sources_of(self.files)
        return ()

    def gone_source(self) -> Source:
        """The notes that only their copies have: no index follows them."""
        from commonplace.journals.private.source import GoneNotesSource

        return GoneNotesSource(self.files, self._context.hidden)

    def problems(self) -> Iterator[Finding]:
        """What is wrong with its files, where its roots lie, and what killed writes left."""
        if self.is_shared:
            return
        for root in self.files.roots:
            state = "" if may_exist(root.path) else ", not made yet"
            if not state and not os.access(root.path, os.W_OK):
                state = ", which cannot be written to"
            yield f"{' and '.join(sorted(root.kinds, reverse=True))}: {root.path}{state}"
        if self.files.note:
            yield self.files.note
        yield from self._left_behind()
        if gone := self.gone():
            said, _, hint = self._said_of(gone).partition("; ")
            yield Problem(what=f"{said}.", hint=hint)
        for trouble in self.files.recovery.troubles():
            yield Problem(what=trouble, hint="Check the disk of the home, then try again.")
        if count := sum(len(self.files.list_from_repository(x)) for x in self.files.roots):
            yield (
                f"{counted(count, 'note', 'notes')} in the private journals of this project came"
                " with the repository and are not taken for yours: see `commonplace trust --notes`."
            )
        for folder, count in self._leftovers():
            yield f"{folder} holds {counted(count, 'leftover', 'leftovers')} of interrupted writes."
        yield from self.files.problems()

    def repair(self) -> Iterator[str]:
        """Make sidecars again, empty the temporary folder, and remove what killed writes left."""
        if self.is_shared:
            return
        self._move_what_was_left()
        yield from self.files.repair()
        for folder, _ in list(self._leftovers()):
            removed = remove_leftovers(folder)
            if removed:
                what = counted(removed, "leftover", "leftovers")
                yield f"Removed {what} of killed writes from {folder}."

    def _left_behind(self) -> Iterator[Finding]:
        """The entries in temporary folders, which no list shows."""
        from commonplace.journals.private.temporary import count_entries

        for folder in self.temporary:
            count = count_entries(folder)
            if not count:
                continue
            what = (
                f"{folder} holds {counted_entries(count)} written while the home could not be used"
            )
            if folder == self._roots.left:
                hint = f"Repair moves it all into {self._roots.user}."
                yield Problem(what=f"{what}.", hint=hint, repairable=True)
            else:
                yield f"{what}, which no list shows: move its folders into {self._roots.user}."

    def _leftovers(self) -> Iterator[tuple[Path, int]]:
        folders = [self._context.reach / "keys" / "private"]
        copies = [x for x in _list_folder(self._context.reach / NOTES) if x.is_dir()]
        folders += [*copies, *(day for x in copies for day in _list_folder(x) if day.is_dir())]
        for root in (x for x in self.files.roots if x.link() is None):
            folders += [root.path, *(x for x in _list_folder(root.path) if x.is_dir())]
        for folder in folders:
            count = sum(map(is_leftover, _list_names(folder)))
            if count:
                yield folder, count

    def close(self) -> None:
        """Nothing is held open."""


def recoveries_in(home: Path, clock: Clock) -> Iterator[tuple[Path, NotesRecovery]]:
    """Each owner's folder in our home, with what follows and brings back the notes of projects."""
    from commonplace.journals.private.gitignore import IgnoredDays
    from commonplace.journals.private.project_copies import ProjectCopies
    from commonplace.journals.private.project_roots import ProjectRoots
    from commonplace.journals.private.recovery import NotesRecovery

    for folder in _list_folder(home / "users"):
        recovery = NotesRecovery(
            copies=ProjectCopies(folder / NOTES, clock),
            roots=(),
            known=ProjectRoots(folder / _PROJECTS),
            ignored=IgnoredDays(),
        )
        yield folder, recovery


def _state_of(file: Path) -> tuple[int, int]:
    """What differs once a file was replaced."""
    try:
        found = os.stat(file)
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_ino


def _list_folder(folder: Path) -> list[Path]:
    """What lies in a folder, by name; nothing where it cannot be read."""
    return [folder / name for name in sorted(_list_names(folder))]


def _list_names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
