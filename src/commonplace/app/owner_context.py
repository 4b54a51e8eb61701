"""The wiring of what one owner's journals share: index, encoder, filing, finder, languages.

Knows no journal: whoever inherits it says what is followed.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from commonplace.app.cached import at_first_use, locked_cached_property
from commonplace.app.process import ProcessContext, holder
from commonplace.core.errors import CommonplaceError
from commonplace.core.files import locked, make_folder, may_exist
from commonplace.core.owner_folders import make_owner_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from commonplace.app.languages import Languages
    from commonplace.config.table import Settings
    from commonplace.core.clock import Clock
    from commonplace.core.expiring import Hidden
    from commonplace.core.former_files import FormerFiles
    from commonplace.core.former_texts import FormerTexts, TakesOverFormerTexts
    from commonplace.core.ports import (
        AmendsRefs,
        EncoderSlot,
        OpensRefs,
        OwnerIndex,
        Portable,
        Searched,
        Source,
    )
    from commonplace.core.present import Present
    from commonplace.core.rollups import Lineage
    from commonplace.core.time_book import KeepsTimes, TimeBook, TimeColumn
    from commonplace.core.values import Finding
    from commonplace.db.raw_files import RawFiles
    from commonplace.inference.language.budget import KeepsBudget
    from commonplace.search.filing.filing import Filing
    from commonplace.search.filing.port import FilingPort, Refreshing
    from commonplace.search.finder import Finder
    from commonplace.verbs.brief.keeper import BriefKeeper
    from commonplace.verbs.imports.taking_back import GivesImportsBack
    from commonplace.verbs.today.seen import SeenMarks
    from commonplace.verbs.toolset import Toolset

_log = logging.getLogger(__name__)

_F_co = TypeVar("_F_co", bound="FilingPort", covariant=True)


class JournalWiring(Protocol):
    """The one contract that each journal owes the app; nothing is opened before it is used.

    It is made with the owner's context alone, by `journals.table`'s row. A wiring may inherit it,
    and then need not say that it has nothing to correct, to repair or to close.
    """

    @property
    def name(self) -> str:
        """Its name in the table, with which its refs and its sources begin."""
        ...

    @property
    def title(self) -> str:
        """Its name at the beginning of a sentence."""
        ...

    def toolsets(self) -> Mapping[str, Callable[[], Toolset]]:
        """Its toolsets by name; making one opens nothing."""
        ...

    def is_there(self) -> bool:
        """Whether there may be one; a look at one file or folder."""
        ...

    def pages(self) -> OpensRefs:
        """What opens its refs. Raises: what opening the journal raises."""
        ...

    def sources(self) -> Sequence[Source]:
        """What the index follows. Raises: what finding the journal raises."""
        ...

    def problems(self) -> Iterable[Finding]:
        """What is wrong with it, and what is worth knowing; changes nothing.

        Raises: what opening the journal raises.
        """
        ...

    def repair(self) -> Iterable[str]:
        """Repair what can be repaired without losing anything; a sentence for each thing done.

        Raises: what could not be repaired.
        """
        return ()

    def amender(self) -> AmendsRefs | None:
        """What corrects entries by their refs; None for a journal that is never corrected.

        Raises: what opening the journal raises.
        """
        return None

    def portable(self) -> Portable | None:
        """What exports and imports the journal; None where it cannot be exported.

        Raises: what opening the journal raises.
        """
        return None

    def gives_back(self) -> GivesImportsBack | None:
        """What takes imported entries out of the journal; None where it takes none.

        Raises: what opening the journal raises.
        """
        return None

    def close(self) -> None:
        """Close what is open; may be called twice."""
        return None  # noqa: RET501  else a class that inherits it would be abstract


@runtime_checkable
class FilesTogether(Protocol):
    """A journal some of whose entries lie together in one doc of the index."""

    def entries(self) -> Sequence[Source]:
        """Its sources with each entry by itself. Raises: what finding the journal raises."""
        ...


class SearchStack(Struct, Generic[_F_co], frozen=True, kw_only=True):
    """What files and finds journals of one owner. Who has one followed alone closes its filing."""

    index: OwnerIndex
    filing: _F_co
    finder: Finder


class OwnerContext(ABC):
    """What one owner's journals are wired with. Thread-safe.

    Args:
        shared: What other owners of this process use as well.
        defers_filing: Whether new entries are left to the next search or server to file.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        user_home: Path | None,
        clock: Clock,
        shared: ProcessContext,
        defers_filing: bool = False,
    ) -> None:
        self.settings = settings
        self.user_home = user_home
        self.clock = clock
        self.shared = shared
        self.defers_filing = defers_filing
        self.wiring = threading.RLock()
        """Held while something is made, so that it is made once."""
        self.folder = shared.folder_of(settings.owner)
        """What of this owner is only ours, and lies nowhere else."""
        self.reach = shared.reach_of(settings.owner)
        """What depends on which folders this owner reaches: see `ProcessContext.reach_of`."""

    def make_folder(self, folder: Path) -> None:
        """Make a journal's folder below `self.folder`, which may be missing too.

        Raises: Unavailable, Denied, Invalid.
        """
        make_owner_folder(self.settings.home / "users", self.settings.owner)
        make_folder(folder)

    @property
    def encoder(self) -> EncoderSlot:
        """The encoder's slot; loading begins at its `start`."""
        return self.shared.encoder

    @property
    def shows_paths(self) -> bool:
        """Whether this owner works on this machine, and so may see a path of it."""
        return not self.shared.serves_owners

    @locked_cached_property
    def index(self) -> OwnerIndex:
        """This owner's index."""
        return self.shared.indexes.of_owner(self.settings.owner)

    @locked_cached_property
    def languages(self) -> Languages:
        """The language models of the settings, and what they may spend."""
        return self.languages_of(self.settings.owner)

    def languages_of(self, owner: str) -> Languages:
        """The language models of the settings, where an owner pays for them."""
        from commonplace.app.languages import Languages

        return Languages(
            self.settings,
            open_budget=lambda: self._budget(owner),
            screen=self.shared.screen,
        )

    @locked_cached_property
    def filing(self) -> Filing:
        """What keeps the index behind the journals."""
        from commonplace.search.filing.filing import Filing
        from commonplace.search.policy import LOOK_HOLDS_S

        is_only_ours = self.shared.is_served(self.settings.owner)
        return Filing(
            index=self.index,
            sources=self.sources(),
            others=self._other_sources(),
            encoder=self.encoder,
            holder=holder(),
            quoting=self.quoting(),
            elsewhere=self._indexes_elsewhere,
            observer=self.brief,
            shows_paths=self.shows_paths,
            hidden=self.hidden,
            expire=self.sweep_expired,
            look_holds_s=LOOK_HOLDS_S if is_only_ours else 0.0,
            on_proposal=lambda later, former: self.seen_marks.propose(later, former, self.clock()),
        )

    @locked_cached_property
    def seen_marks(self) -> SeenMarks:
        """What this owner has looked at."""
        from commonplace.core.time_book import SEEN, TimeBook
        from commonplace.verbs.today.seen import SeenMarks

        return SeenMarks(
            book=TimeBook(self.folder, SEEN),
            prepare=lambda: self.make_folder(self.folder),
            zone=self.settings.timezone,
        )

    @contextmanager
    def moving(self, *folders: Path) -> Iterator[None]:
        """Hold what keeps two processes of one home from moving this owner's folders at once.

        Who comes second finds them moved, and misses none that left while it read. Nothing is held
        where none is there: an import has the lock for long. Raises: Unavailable where it is held.
        """
        from commonplace.db.sqlite import BUSY_S

        is_there = any(map(may_exist, folders))
        with locked(self.folder, waits_s=BUSY_S) if is_there else nullcontext():
            yield

    def drop_from_index(self, refs: Sequence[str], owner: str = "") -> None:
        """Take entries that move elsewhere out of the index on this machine.

        owner: another than this context's; empty for this one.
        """
        from commonplace.core.ports import Forgetting

        index = self.shared.indexes.of_owner(owner) if owner else self.index
        if isinstance(index, Forgetting):
            index.forget(refs)

    def _indexes_elsewhere(self, refs: Sequence[str]) -> Iterator[tuple[OwnerIndex, Sequence[str]]]:
        """The indexes of others that may hold some of these refs, with those."""
        from commonplace.core.former_texts import journal_of

        journals = self.shared.common_journals
        if common := [each for each in refs if journal_of(each) in journals]:
            for index in self.shared.indexes_of_others(self.settings.owner):
                yield index, common

    @locked_cached_property
    def expiry_book(self) -> TimeBook:
        """The times at which this owner's entries expire."""
        return self.expiry_book_of(self.settings.owner)

    def expiry_book_of(self, owner: str) -> TimeBook:
        """The times at which the entries of an owner expire."""
        from commonplace.core.time_book import EXPIRING, TimeBook

        times = self._times(owner, "expires_at")
        return TimeBook(self.shared.folder_of(owner), EXPIRING, times)

    @locked_cached_property
    def hidden(self) -> Hidden:
        """What gives the refs of this owner's entries that have expired: no reader may see them."""
        from commonplace.core.expiring import hidden_refs

        return hidden_refs(self.expiry_book, self.clock)

    def hidden_of(self, owner: str) -> Hidden:
        """What gives those of any owner, whether they lie in files or in a database."""
        from commonplace.core.expiring import hidden_refs

        return hidden_refs(self.expiry_book_of(owner), self.clock)

    @locked_cached_property
    def replaced(self) -> TimeBook:
        """The notes of entries that were replaced by one that has expired or been forgotten."""
        return self.replaced_of(self.settings.owner)

    def replaced_of(self, owner: str) -> TimeBook:
        """The notes of an owner's entries that were replaced by one that has gone."""
        from commonplace.core.time_book import REPLACED, TimeBook

        times = self._times(owner, "replaced_at")
        return TimeBook(self.shared.folder_of(owner), REPLACED, times)

    @locked_cached_property
    def former(self) -> FormerTexts:
        """The texts that edits of this owner's entries replaced."""
        return self.former_of(self.settings.owner)

    def former_of(self, owner: str) -> FormerTexts:
        """The texts that edits of an owner's entries replaced."""
        from commonplace.core.former_files import FOLDER, FormerFiles
        from commonplace.core.former_texts import FormerTexts

        return FormerTexts(
            FormerFiles(
                self.shared.folder_of(owner) / FOLDER,
                prepare=lambda: make_owner_folder(self.settings.home / "users", owner),
            ),
            servers=self._former_on_servers(owner),
            keep_days=self.settings.undo.keep_days,
            clock=self.clock,
            is_borne_out=self._is_borne_out,
            shown=self.shared.screen.shown,
            of_others=lambda: self._former_of_others(owner),
            drop_drafts=lambda refs: self._drop_drafts(owner, refs),
        )

    def _former_of_others(self, owner: str) -> list[FormerFiles]:
        """What keeps those of other owners, of the journals that all owners of this home share."""
        from commonplace.core.former_files import FOLDER, FormerFiles

        return [
            FormerFiles(folder / FOLDER, prepare=lambda: None, journals=self.shared.common_journals)
            for folder in self.shared.folders_of_others(owner)
        ]

    def _drop_drafts(self, owner: str, refs: Sequence[str]) -> None:
        """Drop what owners are typing on the page in place of entries of this one, which go."""
        from commonplace.core.former_texts import journal_of
        from commonplace.verbs.today.draft import FOLDER, remove_drafts

        remove_drafts(self.shared.folder_of(owner) / FOLDER, refs)
        common = [ref for ref in refs if journal_of(ref) in self.shared.common_journals]
        for folder in self.shared.folders_of_others(owner) if common else ():
            remove_drafts(folder / FOLDER, common)

    def _is_borne_out(self) -> bool:
        return self.present.is_borne_out()

    @locked_cached_property
    def raw_files(self) -> RawFiles:
        """Opens files whose bytes are read; those of databases stay open until the end."""
        from commonplace.db.raw_files import RawFiles

        return RawFiles()

    @property
    def service_filing(self) -> Filing:
        """The filing for a service: opened at its first use, new entries deferred if asked for."""
        return self.observed(lambda: self.filing)

    def observed(self, open_filing: Callable[[], _F_co], owner: str = "") -> _F_co:
        """A filing, opened at its first use, whose writes the owner's brief hears of.

        owner: another than this context's; empty for this one.
        """
        from commonplace.search.filing.observed import ObservedFiling

        brief = self.brief_of(owner)
        return cast("_F_co", ObservedFiling(open_filing, brief, defers=self.defers_filing))

    @property
    def service_finder(self) -> Finder:
        """What searches this owner's index, opened at its first use."""
        return at_first_use(lambda: self.finder)

    @locked_cached_property
    def finder(self) -> Finder:
        """What searches this owner's index."""
        return self.finder_over(self.index, self.filing)

    def finder_over(self, index: Searched, filing: Refreshing) -> Finder:
        """What searches an index that holds this owner's journals, or some."""
        return self.shared.finder_over(
            index, filing, lineage=self._lineage(), replaced=self.replaced.find, hidden=self.hidden
        )

    def is_in_database(self, journal: str, owner: str = "") -> bool:
        """Whether a journal lies in a database that servers share.

        owner: whose; empty for this context's.
        """
        return journal in self.shared.journals_in_database(owner or self.settings.owner)

    def database_stack(self, journal: str) -> SearchStack[FilingPort] | None:
        """What files and finds a journal in that database; None for one that lies elsewhere."""
        return self._database_stack if self.is_in_database(journal) else None

    @locked_cached_property
    def _database_stack(self) -> SearchStack[FilingPort]:
        """One for all journals of this owner that lie there."""
        stack = self._in_database()
        return replace(stack, finder=self.finder_over(stack.index, stack.filing))

    def filing_for(self, journal: str) -> Filing:
        """The filing for the service of a journal, wherever that lies; see `service_filing`."""
        if not self.is_in_database(journal):
            return self.service_filing
        return cast("Filing", self.observed(lambda: self._database_stack.filing))

    def finder_for(self, journal: str) -> Finder:
        """What searches the index that holds a journal, opened at its first use."""
        if not self.is_in_database(journal):
            return self.service_finder
        return at_first_use(lambda: self._database_stack.finder)

    def alone(
        self, owner: str, source: Source, lineage: Lineage | None = None
    ) -> SearchStack[Filing]:
        """One source of any owner by itself, its words and vectors in that owner's index."""
        from commonplace.search.filing.filing import Filing

        index = self.shared.indexes.of_owner(owner)
        hidden = self.shared.hidden_of(owner, self.clock)
        filing = Filing(
            index=index,
            sources=[source],
            encoder=self.encoder,
            holder=holder(),
            shows_paths=self.shows_paths,
            hidden=hidden,
        )
        finder = self.shared.finder_over(index, filing, lineage=lineage, hidden=hidden)
        return SearchStack(index=index, filing=filing, finder=finder)

    @property
    def is_filing(self) -> bool:
        """Whether anything was filed or asked for so far."""
        return "filing" in self.__dict__

    @property
    def brief(self) -> BriefKeeper:
        """What keeps this owner's brief behind the journals."""
        return self.brief_of("")

    @abstractmethod
    def brief_of(self, owner: str) -> BriefKeeper:
        """What keeps an owner's brief; empty for this one. Of another it only drops lines."""

    @property
    @abstractmethod
    def present(self) -> Present:
        """What judges whether the clock may be believed, before it deletes anything."""

    @abstractmethod
    def sweep_expired(self) -> object:
        """Forget what has expired. Raises: Unavailable where an entry cannot be forgotten."""

    @abstractmethod
    def fed(self) -> Sequence[JournalWiring]:
        """The journals whose entries count in the timeline's rollups."""

    @abstractmethod
    def sources(self) -> list[Source]:
        """What the index follows."""

    @abstractmethod
    def entries(self) -> list[Source]:
        """The same with each entry by itself."""

    @abstractmethod
    def _other_sources(self) -> Sequence[Source]:
        """What is followed aside."""

    @abstractmethod
    def quoting(self) -> Callable[[Sequence[str]], Sequence[str]] | None:
        """What tells which other refs quote those that are forgotten, where something does."""

    @abstractmethod
    def _times(self, owner: str, column: TimeColumn) -> KeepsTimes | None:
        """What keeps such times of an owner where every server sees them; None without one."""

    @abstractmethod
    def _former_on_servers(self, owner: str) -> Mapping[str, Callable[[], TakesOverFormerTexts]]:
        """What keeps former texts of a journal where every server sees them, by its name."""

    @abstractmethod
    def _in_database(self) -> SearchStack[FilingPort]:
        """What files and finds what of this owner lies in a database. Raises: Unavailable."""

    @abstractmethod
    def _budget(self, owner: str) -> KeepsBudget:
        """The tokens that an owner's language models have spent."""

    @abstractmethod
    def _lineage(self) -> Lineage:
        """What tells which summaries an entry went into."""


def found_sources(journals: Iterable[JournalWiring]) -> Iterator[Source]:
    """What the index follows of these; one that cannot even be found is left out, and logged."""
    return _found(journals, lambda each: each.sources())


def found_entries(journals: Iterable[JournalWiring]) -> Iterator[Source]:
    """The same with each entry by itself, for what is done to one entry and not to its doc."""
    return _found(journals, lambda x: x.entries() if isinstance(x, FilesTogether) else x.sources())


def _found(
    journals: Iterable[JournalWiring], sources: Callable[[JournalWiring], Sequence[Source]]
) -> Iterator[Source]:
    for each in journals:
        try:
            yield from sources(each)
        except CommonplaceError as exc:
            _log.warning("%s is left out: %s", each.title, exc)


def lazy_source(journal: JournalWiring, find: Callable[[], Source]) -> Source:
    """A journal's source, followed even if the journal is begun while a server runs."""
    from commonplace.search.filing.lazy_source import LazySource

    return LazySource(journal.name, is_there=journal.is_there, find=find)
