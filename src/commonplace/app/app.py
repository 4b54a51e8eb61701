"""One owner's journals, index, encoder and tools, as `journals.table` lists them.

Nothing below this room imports it; it decides nothing that a room could decide.
"""

from __future__ import annotations

import os
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from commonplace.app.backends import Backend
from commonplace.app.cached import locked_cached_property
from commonplace.app.owner_context import OwnerContext, found_entries, found_sources
from commonplace.app.process import ENCODER_LOAD_S, ProcessContext
from commonplace.app.wiring.brief import BriefWiring
from commonplace.app.wiring.memory.wiring import (
    budget_of,
    former_on_servers,
    shared_of,
    times_of,
)
from commonplace.app.wiring.recall import RecallWiring
from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import CommonplaceError, Invalid
from commonplace.core.expiring import PENDING, is_revealed
from commonplace.core.ports import AsksTogether, FindsShortRefs
from commonplace.core.refs import short_number
from commonplace.core.spaces import at_work, author_at_work, writer_at_work
from commonplace.core.values import NOTHING_KNOWN, Put
from commonplace.journals.table import JOURNALS, PARTS, TOOLSETS
from commonplace.verbs.amend import AmendService
from commonplace.verbs.selection import select_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    from commonplace.app.owner_context import JournalWiring, SearchStack
    from commonplace.app.wiring.chronicle import ChronicleWiring
    from commonplace.app.wiring.memory.wiring import MemoryWiring
    from commonplace.app.wiring.notebook import NotebookWiring
    from commonplace.app.wiring.private import PrivateWiring
    from commonplace.app.wiring.text_places import TextPlaces
    from commonplace.app.wiring.timeline import TimelineWiring
    from commonplace.app.wiring.transcripts import TranscriptWiring
    from commonplace.config.table import Settings
    from commonplace.core.former_texts import TakesOverFormerTexts
    from commonplace.core.ports import EncoderSlot, Source
    from commonplace.core.present import Present
    from commonplace.core.rollups import Lineage
    from commonplace.core.scratch import ScratchFolders
    from commonplace.core.time_book import KeepsTimes, TimeColumn, TimesWithin
    from commonplace.core.values import Answer
    from commonplace.inference.language.budget import KeepsBudget
    from commonplace.search.filing.port import FilingPort
    from commonplace.verbs.backup.copies import Copies
    from commonplace.verbs.brief.keeper import BriefKeeper
    from commonplace.verbs.export.service import ExportService
    from commonplace.verbs.forgetting.expiry import ExpiryService
    from commonplace.verbs.forgetting.service import ForgettingService
    from commonplace.verbs.imports.counts import ImportCounts
    from commonplace.verbs.imports.records import ImportRecords
    from commonplace.verbs.imports.service import ForeignImport
    from commonplace.verbs.imports.taking_back import GivesImportsBack, ImportTakingBack
    from commonplace.verbs.projects import ProjectService
    from commonplace.verbs.recall.prompt import PromptService
    from commonplace.verbs.timeline.commands import TimelineCommands
    from commonplace.verbs.today.draft import PageDraft
    from commonplace.verbs.today.service import TodayService
    from commonplace.verbs.toolset import Tool, Toolset

SWEEP_WAITS_S = 2.0
"""How long the first look at every entry waits for an encoder that is being loaded."""


WITHOUT_MEMORY = frozenset(x for row in JOURNALS if row.name != "memory" for x in row.toolsets)
"""The toolsets whose answers show nothing of memory; the groups of commands bear the same names."""

_FOLDERS = ("directory", "cwd")
"""What entries call the folder that they were written in."""


class App(OwnerContext):
    """One owner's journals, index, encoder and tools. Thread-safe. Close it at the end.

    Args:
        encoder: In place of the one that the settings name.
        shared: What other owners use as well, closed by its maker; else the app has its own.
        defers_filing: Whether new entries are left to the next search or server to file.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        user_home: Path | None,
        clock: Clock = utc_now,
        encoder: EncoderSlot | None = None,
        shared: ProcessContext | None = None,
        defers_filing: bool = False,
    ) -> None:
        super().__init__(
            settings,
            user_home=user_home,
            clock=clock,
            shared=shared or ProcessContext(settings, encoder=encoder),
            defers_filing=defers_filing,
        )
        self._is_alone = shared is None
        self._pending = os.path.join(self.folder, *PENDING)
        made: dict[str, Any] = {row.name: Backend(row.wiring).load()(self) for row in JOURNALS}
        self.journals: tuple[JournalWiring, ...] = tuple(made.values())
        self.amend = AmendService(
            amenders={each.name: each.amender for each in self.journals},
            ref_of_path=lambda path: self.recall.service().ref_of_path(path),
            book=self.expiry_book,
            zone=self.settings.timezone,
            former=self.former,
        )
        self.recall = RecallWiring(
            self,
            journals=self.journals,
            amend=self.amend,
            project=self.project,
            sessions=made["transcripts"].safety,
            imported=self.imported,
            last_backup=lambda: self.copies().last_backup() if self.shows_paths else None,
            gone=made["private"].gone,
        )
        self._briefs = BriefWiring(self, journals=self.journals, private=made["private"])
        # By name and type, for the doors of each.
        self.private: PrivateWiring = made["private"]
        self.chronicle: ChronicleWiring = made["chronicle"]
        self.notebook: NotebookWiring = made["notebook"]
        self.timeline: TimelineWiring = made["timeline"]
        self.memory: MemoryWiring = made["memory"]
        self.transcripts: TranscriptWiring = made["transcripts"]

    def toolsets(self) -> list[Toolset]:
        """The toolsets that the settings ask for; making them opens nothing."""
        chosen = [self.toolset(name) for name in self.settings.toolsets]
        return [t.read_only() for t in chosen] if self.settings.read_only else chosen

    @locked_cached_property
    def tools(self) -> Mapping[str, Tool]:
        """The tools of those toolsets by name, made once: a server asks for one at each call."""
        return {tool.name: tool for each in self.toolsets()[::-1] for tool in each.tools}

    def toolset(self, name: str) -> Toolset:
        """The toolset of a name in the table, whether or not the settings ask for it."""
        asks_database = name not in WITHOUT_MEMORY or name in self._shared_names
        within: TimesWithin = "all" if asks_database else "file"
        return self._made(name).prepared(
            together=self._together,
            before=lambda: self._prepare(self.finish_forgetting(within=within)),
            before_writes=lambda: self._prepare(self.sweep_expired(within=within)),
            names_behind=self.names_behind,
            expiring=self.write_expiring,
        )

    @locked_cached_property
    def _shared_names(self) -> frozenset[str]:
        """The toolsets of the journals that lie in a database."""
        shared = self.shared.journals_in_database(self.settings.owner)
        return frozenset(x for row in JOURNALS if row.name in shared for x in row.toolsets)

    def _together(self) -> AbstractContextManager[None]:
        """One transaction for what a call asks of a database, unless it waits for a model."""
        if self.settings.database.url is None or self.encoder.get() is None:
            return nullcontext()
        with suppress(CommonplaceError):  # what cannot be opened is named as lost
            if isinstance(store := self.memory.journal, AsksTogether):
                return store.together()
        return nullcontext()

    def _prepare(self, notes: Sequence[str]) -> Sequence[str]:
        """The notes for a tool's answer: on what was forgotten before it, and on what is gone."""
        return (*notes, *self.private.notes_on_gone())

    def toolsets_with(self, tool: str) -> list[str]:
        """The names of the toolsets that have a tool of this name, offered or not; opens nothing.

        Those that are made of others are left out.
        """
        return [
            name
            for name in TOOLSETS
            if name not in PARTS
            and any(tool in (x.name, *x.aliases) for x in self._made(name).tools)
        ]

    def names_behind(self, text: str) -> str:
        """The ref, tag or place that a text names: as a short ref, or with marks for secrets.

        Raises: Invalid where a short ref is that of two entries; Unavailable.
        """
        if (number := short_number(text)) is not None:
            return self._ref_behind(number) or text
        return self.shared.screen.names_behind(text, self._names())

    def _ref_behind(self, number: int) -> str:
        service = self.recall.service()
        refs: Sequence[str] = ()
        # A journal is asked for what the index does not hold under a ref of its own.
        for each in (service.index, *service.journals.values()):
            if not refs and isinstance(each, FindsShortRefs):
                refs = each.refs_behind(number)
        if len(refs) > 1:
            raise Invalid(
                f"Two entries share this short ref: {refs[0]} and {refs[1]}.",
                hint="Give one of these.",
            )
        return refs[0] if refs else ""

    def _names(self) -> Iterator[str]:
        """The refs, tags and folders of all entries, as the journals themselves have them."""
        for journal in self.journals:
            with suppress(CommonplaceError):  # another journal may have the name
                portable = journal.portable() if journal.is_there() else None
                for item in () if portable is None else portable.export_items(None):
                    yield item.ref
                    yield from (getattr(item, name, "") for name in _FOLDERS)
                    yield from getattr(item, "tags", ())
        for source in self.sources():
            with suppress(CommonplaceError):
                for change in source.scan(NOTHING_KNOWN):
                    if isinstance(change, Put):
                        yield from (change.doc.ref, change.doc.scope)

    def _made(self, name: str) -> Toolset:
        made = dict(self.recall.toolsets())
        for each in self.journals:
            made |= each.toolsets()
        if name not in PARTS:
            return made[name]()
        return select_tools(name, [made[part]() for part in PARTS[name]])

    def project(self) -> ProjectService | None:
        """The verbs of the project that this owner works in; None where there is none."""
        from commonplace.verbs.projects import ProjectService

        folder = self.settings.work_folder
        if folder is None or self.shared.serves_owners:
            return None
        journal = self.private.files
        return ProjectService(
            folder=folder,
            home=self.user_home,
            journals=tuple(root.path for root in journal.former),
            known=tuple(root.path.parent for root in journal.project_roots.each()),
        )

    def forgetting(self) -> ForgettingService:
        """What forgets entries, and proves it; for people, and no tool of a model's."""
        from commonplace.app.wiring.forgetting import ForgettingWiring

        return ForgettingWiring(
            context=self,
            amend=self.amend,
            private=self.private,
            chronicle=self.chronicle,
            notebook=self.notebook,
            timeline=self.timeline,
            transcripts=self.transcripts,
            memory=self.memory,
            places=self.text_places(),
            book=self.expiry_book,
        ).service()

    def text_places(self) -> TextPlaces:
        """Every place where a text of this owner's is written."""
        from commonplace.app.wiring.text_places import TextOwner, TextPlaces

        return TextPlaces(
            owner=TextOwner(
                context=self,
                private=self.private,
                chronicle=self.chronicle,
                notebook=self.notebook,
                copies=self.copies(),
            )
        )

    def brief_of(self, owner: str) -> BriefKeeper:
        """What keeps an owner's brief, empty for this one; see `BriefWiring.keeper_of`."""
        return self._briefs.keeper_of(owner)

    def exporting(self) -> ExportService:
        """The service that exports this owner's journals, and imports an export into them."""
        from commonplace.verbs.export.service import ExportService

        return ExportService(
            {each.name: each.portable for each in self.journals},
            owner=self.settings.owner,
            folder=self.folder,
            prepare=lambda: self.make_folder(self.folder),
            zone=self.settings.timezone,
            screen=self.shared.screen,
            book=self.expiry_book,
            seen=self.seen_marks.book,
            scratch_folders=self.scratch_folders,
        )

    @property
    def scratch_folders(self) -> ScratchFolders:
        """Where what is prepared is, or is noted, until it has its name."""
        from commonplace.core.scratch import FOLDER, ScratchFolders

        return ScratchFolders(folder=self.settings.home / FOLDER)

    def today(self) -> TodayService:
        """What makes Today for this owner; see `verbs.today`."""
        from commonplace.app.wiring.today import TodayWiring

        return TodayWiring(
            context=self,
            recall=self.recall,
            private=self.private,
            notebook=self.notebook,
            transcripts=self.transcripts,
        ).service()

    def page_draft(self) -> PageDraft:
        """What is being typed on the page."""
        from commonplace.verbs.today.draft import FOLDER, PageDraft

        folder = self.folder / FOLDER
        return PageDraft(
            folder=folder, prepare=lambda: self.make_folder(folder), member=author_at_work()
        )

    def copies(self) -> Copies:
        """The list of the backups and exports that were made of this home."""
        from commonplace.verbs.backup.copies import Copies

        return Copies(self.settings.home, self.clock)

    @locked_cached_property
    def expiring(self) -> ExpiryService:
        """The service that lets entries expire."""
        from commonplace.verbs.forgetting.expiry import ExpiryService

        return ExpiryService(
            book=self.expiry_book,
            forgetting=self.forgetting,
            ends=self.notebook.ends,
            is_away=lambda ref: self.private.is_away(ref) or self.notebook.ends.is_away(ref),
            unfile=self._unfile,
            hide_after=self.brief.set_end,
            present=self.present,
            clock=self.clock,
            zone=self.settings.timezone,
        )

    def _unfile(self, refs: Sequence[str]) -> None:
        """Remove all that we hold of entries whose folder is away."""
        self.service_filing.forget(refs)
        self.private.journal.forget_copies(refs)

    def write_expiring(self, phrase: str, write: Callable[[datetime], Answer]) -> Answer:
        """Run a tool's write, and note when what it wrote expires; its answer says when.

        write: is called with that time, which the notebook writes into the entry itself.
        Raises: as `write`; Invalid where the phrase names no future time, and nothing is written.
        """
        from commonplace.core.clock import render_instant

        at = self.expiring.read_time(phrase)
        answer = write(at)
        if not answer.written:
            return answer  # an earlier call wrote it, and it is deleted since
        writer = writer_at_work()
        for ref in answer.written:
            # Another member may have written it before, by the same key or in the same place.
            if writer and self.recall.service().open_ref(ref).author != writer:
                return answer.noting(["Another member wrote it, and says when it expires."])
            self.expiring.end_new(ref, at)
        return answer.noting([f"It expires {render_instant(at, self.settings.timezone)}."])

    @locked_cached_property
    def present(self) -> Present:
        """What judges whether the clock may be believed, before it deletes anything."""
        from commonplace.config.settings import user_home
        from commonplace.core.present import Present
        from commonplace.core.time_book import EXPIRING
        from commonplace.journals.transcripts.clients import list_session_folders

        home = user_home()
        return Present(
            clock=self.clock,
            zone=self.settings.timezone,
            note=self.folder / EXPIRING / "present.json",
            home=home,
            deep=() if home is None else list_session_folders(str(home), os.environ),
            ours=lambda: list(self._own_places()),
        )

    def _own_places(self) -> Iterator[Path]:
        """What we write to, wherever it lies."""
        yield self.settings.home
        with suppress(CommonplaceError):
            journal = self.private.files
            yield from (root.path for root in (*journal.roots, *journal.project_roots.each()))
        with suppress(CommonplaceError):
            yield self.chronicle.journal.path
        yield self.notebook.repository.folder

    def finish_forgetting(self, *, within: TimesWithin = "all") -> Sequence[str]:
        """Finish what a killed process was forgetting; returns notes on it.

        With it what is due on a server that keeps memories. Every door calls it before it answers;
        where there is nothing, it looks at one file.

        Args:
            within: "file" where the answer may show no memory; then no server is asked.

        Raises:
            Unavailable: An entry cannot be forgotten.
        """
        if is_revealed():
            return ()  # what is being forgotten brings the index up to date
        # Who set an end, or began to forget, might: whoever calls next only comes to finish it.
        with at_work(None):
            if within == "all" and self.settings.database.url is not None:
                self.expiring.sweep_elsewhere()
            if not os.path.exists(self._pending):
                return ()
            return self.forgetting().resume()

    def sweep_expired(self, *, within: TimesWithin = "all") -> Sequence[str]:
        """Forget what has expired, if the clock may be believed, and finish earlier forgetting.

        Called before a write, and before the index is brought up to date. Where nothing is due, it
        looks at two files. Returns notes. Raises: Unavailable where an entry cannot be forgotten.
        """
        notes = self.finish_forgetting(within=within)
        with suppress(CommonplaceError):  # a folder that is closed holds up no answer
            self.former.sweep(within=within)
        if not is_revealed() and self.expiry_book.list_due_here(self.clock().timestamp()):
            with at_work(None):
                notes = (*notes, *self.expiring.sweep())
        return notes

    def imported(self) -> ImportCounts:
        """What counts the entries that were ever imported from other programs."""
        from commonplace.verbs.imports.counts import ImportCounts

        return ImportCounts(self.folder, self.clock)

    def foreign_import(self, environ: Mapping[str, str]) -> ForeignImport:
        """What imports the entries of other programs. environ: the environment they run in."""
        from commonplace.verbs.imports.journals import IntoPrivate, IntoTimeline
        from commonplace.verbs.imports.service import ForeignImport

        return ForeignImport(
            {
                "private": lambda: IntoPrivate(
                    self.private.journal, self.shared.screen, self.clock
                ),
                "timeline": lambda: IntoTimeline(self.timeline.journal, self.clock),
            },
            counts=self.imported(),
            zone=self.settings.timezone,
            home=str(self.user_home or ""),
            environ=environ,
        )

    def import_records(self) -> ImportRecords:
        """What each import added."""
        from commonplace.verbs.imports.records import ImportRecords

        return ImportRecords(self.folder, self.clock)

    def import_taking_back(self, record_id: str) -> ImportTakingBack:
        """What takes back an import. Raises: NotFound where it is no longer known."""
        from commonplace.verbs.imports.taking_back import ImportTakingBack

        records = self.import_records()
        return ImportTakingBack(
            records.open(record_id),
            records.others(record_id),
            self.gives_back,
            reopen=self.exporting().reopen,
        )

    def gives_back(self, journal: str) -> GivesImportsBack:
        """What takes imported entries out of a journal. Raises: Invalid for one that takes none."""
        for each in self.journals:
            if each.name == journal and (found := each.gives_back()) is not None:
                return found
        raise Invalid(
            f"What was imported into {journal} cannot be taken back.", hint="Delete it there."
        )

    def timeline_commands(self) -> TimelineCommands:
        """The timeline's verbs for people, which no model is offered."""
        from commonplace.verbs.timeline.commands import TimelineCommands

        return TimelineCommands(
            self.timeline.service(),
            model_texts=lambda: self.languages.model_texts(self.timeline.rollups),
            others=lambda: self.recall.service().journals,
        )

    def prompts(self) -> PromptService:
        """What answers one prompt, with no more of the private journal than a brief holds.

        What was said in sessions is left out: this one's own words would fit best.
        """
        from commonplace.verbs.recall.prompt import PromptService

        self.finish_forgetting()
        reach = self.settings.brief.private
        left_out = {self.private.name, self.transcripts.name}
        if reach != "all" and self.private.name in self.settings.timeline.feed:
            left_out.add(self.timeline.name)  # its summaries are made of every heading
        return PromptService(
            recall=self.recall.service(),
            journals=tuple(each.name for each in self.journals if each.name not in left_out),
            private=self.private.brief_headings(reach),
            screen=self.shared.screen.shown,
        )

    def fed(self) -> Sequence[JournalWiring]:
        """The journals whose entries count in the timeline's rollups, as the settings name them."""
        return [each for each in self.journals if each.name in self.settings.timeline.feed]

    def sources(self) -> list[Source]:
        """What the index follows; a journal that cannot even be found is left out, and logged."""
        return list(found_sources(self.journals))

    def entries(self) -> list[Source]:
        """The same with each entry by itself, also one that the index holds with others."""
        return list(found_entries(self.journals))

    def warm_up(self) -> None:
        """Make the brief, load the encoder and look at every entry; takes as long as loading does.

        What killed processes left of a copy goes first. At the end a thread begins that rolls the
        timeline up; a server of many owners has a scheduler for it.
        """
        self.scratch_folders.clear()
        with suppress(CommonplaceError):  # of notes that are gone the next session is told
            self.private.gone()
        self.brief.refresh()
        self.encoder.start()
        if not self.sources() and not self.shared.has_index(self.settings.owner):
            return  # all lies in a database
        # A sweep would slow the loading down, and a first search waits for that one.
        self.encoder.get(SWEEP_WAITS_S)
        self.finder.warm()
        self.filing.start()
        if self.encoder.get(ENCODER_LOAD_S) is not None:
            self.filing.wake()
        if not self.shared.serves_owners:
            self.timeline.begin_rolling_up()

    def settle(self, wait_s: float) -> None:
        """Let vectors that are being made and what is being erased be finished; never raises.

        Whatever the index says to it: what was written before stands, and its answer with it.
        """
        if not self.is_filing:
            return
        encoder = self.encoder.get() if self.shared.uses_encoder else None
        if encoder is not None:
            with suppress(CommonplaceError):  # the answer has said it
                self.filing.settle(encoder.identity, wait_s)
        self.filing.finish(wait_s)

    def close(self) -> None:
        """Stop the background work and close every file; may be called twice."""
        # Outside of the lock: what these wait for may make something.
        self._briefs.close()
        self.timeline.stop_rolling_up()
        with self.wiring:
            if self.is_filing:
                self.filing.close()
            for each in self.journals:
                each.close()
            if self._is_alone:
                self.shared.close()
            else:
                self.shared.close_idle(self.settings.owner)
            if "raw_files" in self.__dict__:
                self.raw_files.close()

    def _other_sources(self) -> Sequence[Source]:
        return self.private.other_sources()

    def quoting(self) -> Callable[[Sequence[str]], Sequence[str]] | None:
        """What tells which other refs quote those that are forgotten, where something does."""
        feeding = self.timeline.feeding
        return None if feeding is None else feeding.forget

    def _times(self, owner: str, column: TimeColumn) -> KeepsTimes | None:
        return times_of(self.shared, owner, column)

    def _former_on_servers(self, owner: str) -> Mapping[str, Callable[[], TakesOverFormerTexts]]:
        return former_on_servers(self.shared, owner)

    def _in_database(self) -> SearchStack[FilingPort]:
        return shared_of(self.shared).of_owner(self)

    def _budget(self, owner: str) -> KeepsBudget:
        return budget_of(self.shared, owner, self.clock)

    def _lineage(self) -> Lineage:
        return self.timeline.lineage()
