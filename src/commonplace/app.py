"""The wiring: everything one owner uses, made once and only when it is needed.

Nothing below this room imports it; it decides nothing that a room could decide.
"""

from __future__ import annotations

import hashlib
import logging
import os
import random
import socket
import tempfile
import threading
from contextlib import suppress
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import CommonplaceError
from commonplace.core.owners import make_owner_folder, owner_folder
from commonplace.core.retention import parse_retention
from commonplace.core.values import EncoderState
from commonplace.tools.private import PrivateDesk, PrivateTools

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from commonplace.app_languages import Languages
    from commonplace.app_memory import Memories
    from commonplace.config import Settings
    from commonplace.core.ports import EncoderSlot, Index, OpensRefs, OwnerIndex, Source
    from commonplace.inference.models import Missing, Weights
    from commonplace.journals.chronicle import Chronicle
    from commonplace.journals.memory import MemoryJournal
    from commonplace.journals.notebook import Notebook
    from commonplace.journals.private import PrivateJournal
    from commonplace.journals.timeline import TimelineJournal
    from commonplace.journals.timeline_feed import Feeding
    from commonplace.journals.timeline_rollups import Rollups
    from commonplace.search.filing import Filing
    from commonplace.search.finder import Finder
    from commonplace.search.sides import SidedFinder
    from commonplace.tools.chronicle import ChronicleTools
    from commonplace.tools.chronicle_desk import ChronicleDesk
    from commonplace.tools.memory import MemoryTools
    from commonplace.tools.memory_desk import MemoryDesk
    from commonplace.tools.notebook import NotebookTools
    from commonplace.tools.notebook_desk import NotebookDesk
    from commonplace.tools.recall import RecallTools
    from commonplace.tools.recall_desk import RecallDesk
    from commonplace.tools.timeline import TimelineTools
    from commonplace.tools.timeline_desk import TimelineDesk
    from commonplace.tools.toolset import Toolset


_log = logging.getLogger(__name__)

ENCODER_LOAD_S = 600.0
"""The longest that a model may take to be fetched and loaded."""

SWEEP_WAITS_S = 2.0
"""How long the first look at every entry waits for an encoder that is being loaded."""

MERGE_S = 40.0
"""How long a model may merge overviews: many clients give up a call after a minute."""

ENCODER_CLOSE_S = 0.5
"""How long closing waits for a load under way: a process that ends inside one may crash."""


class App:
    """One owner's journals, index, encoder and tools.

    user_home: the user's home folder, None where there is none. Thread-safe. Close it at the end.
    """

    def __init__(
        self, settings: Settings, *, user_home: Path | None, clock: Clock = utc_now
    ) -> None:
        self.settings = settings
        self.user_home = user_home
        self._clock = clock
        self._wiring = threading.RLock()

    @property
    def folder(self) -> Path:
        """What of this owner is only ours: the index, and the keys of retried writes."""
        return self.settings.home / "users" / owner_folder(self.settings.owner)

    def toolsets(self) -> list[Toolset]:
        """The toolsets that the settings ask for; making them opens nothing."""
        made: dict[str, Callable[[], Toolset]] = {
            "private": lambda: self.private.toolset,
            "chronicle": lambda: self.chronicle_tools.toolset,
            "recall": lambda: self.recall_tools.toolset,
            "notebook": lambda: self.notebook_tools.toolset,
            "timeline": lambda: self.timeline_tools.toolset,
            "memory": lambda: self.memory_tools.toolset,
            "memory-write": lambda: self.memory_tools.write_toolset,
        }
        chosen = [made[name]() for name in self.settings.toolsets]
        return [t.read_only() for t in chosen] if self.settings.read_only else chosen

    @cached_property
    def private(self) -> PrivateTools:
        """The private journal's tools."""
        return PrivateTools(desk=self.private_desk)

    def private_desk(self) -> PrivateDesk:
        """What the private journal's tools work with."""
        with self._wiring:
            return self._private_desk

    @cached_property
    def _private_desk(self) -> PrivateDesk:
        self.journal.keep_roots()
        return PrivateDesk(
            journal=self.journal,
            filing=self.filing,
            finder=self.finder,
            clock=self._clock,
            zone=self.settings.timezone,
        )

    @cached_property
    def chronicle_tools(self) -> ChronicleTools:
        """Chronicle's tools."""
        from commonplace.tools.chronicle import ChronicleTools  # noqa: PLC0415  if it is offered

        return ChronicleTools(desk=self.chronicle_desk)

    def chronicle_desk(self) -> ChronicleDesk:
        """What chronicle's tools work with."""
        with self._wiring:
            return self._chronicle_desk

    @cached_property
    def _chronicle_desk(self) -> ChronicleDesk:
        from commonplace.tools.chronicle_desk import ChronicleDesk  # noqa: PLC0415  if it is offered

        return ChronicleDesk(
            chronicle=self.chronicle,
            filing=self.filing,
            finder=self.finder,
            clock=self._clock,
            zone=self.settings.timezone,
            folder=self.settings.project,
            home=self.user_home,
        )

    @cached_property
    def notebook_tools(self) -> NotebookTools:
        """The notebook's tools."""
        from commonplace.tools.notebook import NotebookTools  # noqa: PLC0415  if it is offered

        return NotebookTools(desk=self.notebook_desk)

    def notebook_desk(self) -> NotebookDesk:
        """What the notebook's tools work with."""
        with self._wiring:
            return self._notebook_desk

    @cached_property
    def _notebook_desk(self) -> NotebookDesk:
        from commonplace.search import policy  # noqa: PLC0415  if it is offered
        from commonplace.tools.notebook_desk import NotebookDesk  # noqa: PLC0415  as above

        settings = self.settings
        asked = {
            "context_weight": settings.notebook_context_weight,
            "content_weight": settings.notebook_content_weight,
            "half_life_days": settings.notebook_half_life_days,
            "minimum_salience": settings.notebook_minimum_salience,
        }
        least, most = settings.notebook_min_score, settings.notebook_max_results
        return NotebookDesk(
            notebook=self.notebook,
            filing=lambda: self.filing,
            finder=lambda: self.sided_finder,
            clock=self._clock,
            zone=settings.timezone,
            leaning=policy.Leaning(**{k: x for k, x in asked.items() if x is not None}),
            min_score=policy.NOTEBOOK_FLOOR if least is None else least,
            most=policy.NOTEBOOK_MOST if most is None else int(most),
            is_own=settings.notebook_path is None,
            language=lambda: self.languages.find(better=True, within_s=MERGE_S),
        )

    @cached_property
    def sided_finder(self) -> SidedFinder:
        """What asks the notebook two questions at once."""
        from commonplace.search.sides import SidedFinder  # noqa: PLC0415  as above

        return SidedFinder(finder=self.finder, encoder=self.encoder)

    @cached_property
    def recall_tools(self) -> RecallTools:
        """What asks all journals at once."""
        from commonplace.tools.recall import RecallTools  # noqa: PLC0415  if it is offered

        return RecallTools(desk=self.recall_desk)

    def recall_desk(self) -> RecallDesk:
        """What recall's tools work with; anew once there is a journal that was not there."""
        with self._wiring:
            known = {*self._recall_desk.journals, *self._recall_desk.lost}
            if not known.issuperset(self._pages()):
                del self.__dict__["_recall_desk"]
            return self._recall_desk

    @cached_property
    def _recall_desk(self) -> RecallDesk:
        from commonplace.tools.recall_desk import RecallDesk  # noqa: PLC0415  if it is offered

        journals: dict[str, OpensRefs] = {}
        lost: dict[str, str] = {}
        for name, find in self._pages().items():
            try:
                journals[name] = find()
            except CommonplaceError as exc:
                lost[name] = str(exc)
        return RecallDesk(
            finder=self.finder,
            filing=self.filing,
            index=self.index,
            journals=journals,
            lost=lost,
            encoder=self.encoder_state,
            clock=self._clock,
            zone=self.settings.timezone,
        )

    def _pages(self) -> dict[str, Callable[[], OpensRefs]]:
        """What opens the refs of each journal; a new journal is one more line here."""
        return {
            "private": lambda: self.journal.pages(),  # noqa: PLW0108  opened when called
            "chronicle": lambda: self.chronicle.pages(),  # noqa: PLW0108  as above
            **({"notebook": lambda: self.notebook.pages()} if self._has_notebook() else {}),  # noqa: PLW0108  as above
            **({"timeline": lambda: self.timeline.pages()} if self.has_timeline() else {}),  # noqa: PLW0108  as above
            **({"memory": lambda: self.memory.pages()} if self._has_memory() else {}),  # noqa: PLW0108  as above
        }

    @cached_property
    def chronicle(self) -> Chronicle:
        """Chronicle on its own database, wherever that is."""
        from commonplace.journals.chronicle import Chronicle, author_here  # noqa: PLC0415  as above
        from commonplace.journals.chronicle_places import resolve_chronicle  # noqa: PLC0415  as above

        place = resolve_chronicle(
            db_path=self.settings.chronicle_path,
            config_home=_folder(os.environ.get("XDG_CONFIG_HOME")),
            data_home=_folder(os.environ.get("XDG_DATA_HOME")),
            home=self.user_home,
        )
        return Chronicle(
            place,
            owner=self.settings.owner,
            zone=self.settings.timezone,
            clock=self._clock,
            author=author_here(
                os.environ,
                hostname=socket.gethostname(),
                directory=self.settings.project or _working_folder(),
            ),
            imported=self.folder / "chronicle-import.jsonl",
        )

    @cached_property
    def notebook(self) -> Notebook:
        """The notebook of this owner, there or not."""
        from commonplace.journals.notebook import Notebook  # noqa: PLC0415  as above

        folder = self.settings.notebook_path or self.folder / "notebook"
        place = hashlib.sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()[:8]
        return Notebook(
            folder,
            ledger=self.folder / "ledgers" / f"{place}.db",
            owner=self.settings.owner,
            zone=self.settings.timezone,
            clock=self._clock,
            author=self.settings.notebook_author,
            auto_gc=self.settings.notebook_auto_gc,
        )

    @cached_property
    def timeline(self) -> TimelineJournal:
        """The timeline of this owner, there or not."""
        return self._timeline_of(self.settings.owner)

    @cached_property
    def rollups(self) -> Rollups:
        """What rolls this owner's timeline up."""
        return self._rollups_of(self.timeline, feed=self._feeding)

    @cached_property
    def _feeding(self) -> Feeding | None:
        """What lets entries of other journals count in this owner's rollups."""
        if not self.settings.timeline_feed:
            return None
        from commonplace.journals.timeline_feed import Feeding  # noqa: PLC0415  if it is wanted

        return Feeding(self.timeline, sources=self._fed_sources, openers=self._fed_pages)

    def _fed_sources(self) -> list[Source]:
        fed = self.settings.timeline_feed
        return [x for x in self.sources() if x.name.partition(":")[0] in fed]

    def _fed_pages(self) -> dict[str, OpensRefs]:
        found: dict[str, OpensRefs] = {}
        for name, find in self._pages().items():
            with suppress(CommonplaceError):
                if name in self.settings.timeline_feed:
                    found[name] = find()
        return found

    @cached_property
    def timeline_tools(self) -> TimelineTools:
        """The timeline's tools."""
        from commonplace.tools.timeline import TimelineTools  # noqa: PLC0415  if it is offered

        return TimelineTools(desk=self.timeline_desk)

    def timeline_desk(self) -> TimelineDesk:
        """What the timeline's tools work with."""
        with self._wiring:
            return self._timeline_desk

    @cached_property
    def _timeline_desk(self) -> TimelineDesk:
        from commonplace.tools.timeline_desk import TimelineDesk  # noqa: PLC0415  if it is offered

        return TimelineDesk(
            journal=self.timeline,
            rollups=self.rollups,
            filing=lambda: self.filing,
            finder=lambda: self.finder,
            clock=self._clock,
            retention=parse_retention(self.settings.timeline_retention),
            feeding=self._feeding,
            rolls_up=not self.settings.read_only,
        )

    def timeline_desk_of(self, owner: str) -> TimelineDesk:
        """The timeline of any owner alone, its words and vectors in that owner's index.

        Close its filing and its journal after use. Raises: Invalid for what is no owner.
        """
        from commonplace.core.owners import parse_owner  # noqa: PLC0415  wired when needed
        from commonplace.search.filing import Filing  # noqa: PLC0415  as above
        from commonplace.search.finder import Finder  # noqa: PLC0415  as above
        from commonplace.tools.timeline_desk import TimelineDesk  # noqa: PLC0415  as above

        journal = self._timeline_of(parse_owner(owner))
        index = self.indexes.within(journal.owner)
        filing = Filing(
            index=index, sources=[journal.source()], encoder=self.encoder, holder=_holder()
        )
        finder = Finder(index=index, encoder=self.encoder, filing=filing, lineage=journal)
        return TimelineDesk(
            journal=journal,
            rollups=self._rollups_of(journal),
            filing=lambda: filing,
            finder=lambda: finder,
            clock=self._clock,
            retention=parse_retention(self.settings.timeline_retention),
        )

    @cached_property
    def memories(self) -> Memories:
        """The memories of all users."""
        from commonplace.app_memory import Memories  # noqa: PLC0415  wired when needed

        return Memories(
            self.settings,
            indexes=lambda: self.indexes,
            encoder=lambda: self.encoder,
            holder=_holder,
            clock=self._clock,
        )

    @cached_property
    def memory(self) -> MemoryJournal:
        """This owner's memory, there or not."""
        return self.memories.journal_of(self.settings.owner)

    @cached_property
    def memory_tools(self) -> MemoryTools:
        """Memory's tools."""
        from commonplace.tools.memory import MemoryTools  # noqa: PLC0415  if it is offered

        return MemoryTools(desk=self.memory_desk)

    def memory_desk(self) -> MemoryDesk:
        """What memory's tools work with."""
        with self._wiring:
            return self._memory_desk

    @cached_property
    def _memory_desk(self) -> MemoryDesk:
        return self.memories.desk(
            self.memory,
            filing=lambda: self.filing,
            finder=lambda: self.finder,
            index=lambda: self.index,
        )

    def _has_memory(self) -> bool:
        """Whether there may be one: whoever has none pays a look at one file."""
        offered = {"memory", "memory-write"} & {*self.settings.toolsets}
        return bool(offered) or (self.folder / "memory" / "memory.db").is_file()

    def _awaited_memory(self) -> Source:
        """The memory as the index follows it, even if it is begun while a server runs."""
        from commonplace.search.awaited import Awaited  # noqa: PLC0415  wired when needed

        def find() -> Source:
            return self.memory.source()

        return Awaited("memory", is_there=self._has_memory, find=find)

    def _timeline_of(self, owner: str) -> TimelineJournal:
        from commonplace.journals.timeline import TimelineJournal  # noqa: PLC0415  as above

        users = self.settings.home / "users"
        return TimelineJournal(
            users / owner_folder(owner) / "journal",
            owner=owner,
            zone=self.settings.timezone,
            clock=self._clock,
            prepare=lambda: make_owner_folder(users, owner),
        )

    def _rollups_of(self, journal: TimelineJournal, feed: Feeding | None = None) -> Rollups:
        from commonplace.inference.extract import Extractive  # noqa: PLC0415  wired when needed
        from commonplace.journals.timeline_rollups import Rollups  # noqa: PLC0415  as above

        grace = timedelta(minutes=self.settings.timeline_grace_minutes)
        return Rollups(journal, Extractive(), grace=grace, feed=feed)

    def has_timeline(self) -> bool:
        """Whether there may be one: whoever has none pays a look at one file."""
        offered = "timeline" in self.settings.toolsets
        return offered or (self.folder / "journal" / "journal.db").is_file()

    def _awaited_timeline(self) -> Source:
        """The timeline as the index follows it, even if it is begun while a server runs."""
        from commonplace.search.awaited import Awaited  # noqa: PLC0415  wired when needed

        def find() -> Source:
            return self.timeline.source()

        return Awaited("timeline", is_there=self.has_timeline, find=find)

    def _awaited_notebook(self) -> Source:
        """The notebook as the index follows it, even if it is made while a server runs."""
        from commonplace.search.awaited import Awaited  # noqa: PLC0415  wired when needed

        def find() -> Source:
            return self.notebook.source()

        return Awaited("notebook", is_there=self._has_notebook, find=find)

    def _has_notebook(self) -> bool:
        """Whether there may be one: whoever has none pays a look at one folder."""
        return (self.settings.notebook_path or self.folder / "notebook").is_dir()

    @cached_property
    def journal(self) -> PrivateJournal:
        """The private journal of this owner and this project."""
        from commonplace.journals.private import PrivateJournal  # noqa: PLC0415  as above
        from commonplace.journals.private_roots import resolve_roots  # noqa: PLC0415  as above

        roots = resolve_roots(
            home=self.user_home,
            project=self.settings.project,
            journal_path=_text(self.settings.private_path),
            private_user=_text(self.settings.private_user_path),
            private_journal_path=_text(self.settings.private_both_path),
            temp=_temp_folder(),
        )
        return PrivateJournal(
            roots=roots,
            zone=self.settings.timezone,
            clock=self._clock,
            keys=self.folder / "keys" / "private",
            random_micros=lambda: random.randrange(1000),  # noqa: S311  a file name, no secret
            known=self.folder / "projects",
        )

    @cached_property
    def indexes(self) -> Index:
        """The indexes of all owners on this machine."""
        from commonplace.index.sqlite import SqliteIndex  # noqa: PLC0415  imports numpy

        return SqliteIndex(
            lambda owner: self.settings.home / "users" / owner_folder(owner) / "index"
        )

    @cached_property
    def index(self) -> OwnerIndex:
        """This owner's index."""
        return self.indexes.within(self.settings.owner)

    @cached_property
    def encoder(self) -> EncoderSlot:
        """The encoder's slot; loading begins at its `start`."""
        from commonplace.inference.slot import BackgroundEncoder  # noqa: PLC0415  wired when needed

        return BackgroundEncoder(self.find_weights, home=self.settings.home)

    def find_weights(self) -> Weights | Missing:
        """The weights of the encoder in use; fetched first where the settings allow it."""
        from commonplace.inference.models import (  # noqa: PLC0415  wired when needed
            Missing,
            find_weights,
            read_profile,
        )

        settings = self.settings
        profile = read_profile(settings.encoder_model)
        found = find_weights(profile, home=settings.home, folder=settings.encoder_folder)
        if isinstance(found, Missing) and settings.encoder_auto_download:
            from commonplace.inference.download import fetch  # noqa: PLC0415  wired when needed

            return fetch(profile, settings.home)
        return found

    def encoder_state(self) -> EncoderState:
        """The encoder's name and state, found without loading or fetching anything."""
        from commonplace.inference.models import (  # noqa: PLC0415  wired when needed
            Missing,
            find_weights,
            read_profile,
        )

        settings = self.settings
        profile = read_profile(settings.encoder_model)
        slot = self.__dict__.get("encoder")
        loaded = None if slot is None else slot.get()
        if loaded is not None:
            return EncoderState(name=profile.name, identity=loaded.identity, state="ready")
        found = find_weights(profile, home=settings.home, folder=settings.encoder_folder)
        if isinstance(found, Missing):
            return EncoderState(name=profile.name, identity="", state="missing", why=found.reason)
        if slot is not None and slot.is_loading():
            return EncoderState(
                name=profile.name, identity=found.identity, state="loading", why=slot.reason()
            )
        return EncoderState(name=profile.name, identity=found.identity, state="ready")

    @cached_property
    def languages(self) -> Languages:
        """The language models of the settings, and what they may spend."""
        from commonplace.app_languages import Languages  # noqa: PLC0415  wired when needed

        return Languages(self.settings, folder=self.folder / "llm", clock=self._clock)

    @cached_property
    def finder(self) -> Finder:
        """What searches this owner's index."""
        from commonplace.search.awaited import AwaitedLineage  # noqa: PLC0415  at the first call
        from commonplace.search.finder import Finder  # noqa: PLC0415  as above

        lineage = AwaitedLineage(is_there=self.has_timeline, find=lambda: self.timeline)
        return Finder(index=self.index, encoder=self.encoder, filing=self.filing, lineage=lineage)

    def sources(self) -> list[Source]:
        """What the index follows; a journal that cannot even be found is left out, and logged."""
        sources: list[Source] = []
        wired: dict[str, Callable[[], Sequence[Source]]] = {
            "The private journal": lambda: self.journal.sources(),  # noqa: PLW0108  as above
            "Chronicle": lambda: [self.chronicle.source()],
            "The notebook": lambda: [self._awaited_notebook()],
            "The timeline": lambda: [self._awaited_timeline()],
            "The memory": lambda: [self._awaited_memory()],
        }
        for name, find in wired.items():
            try:
                sources += find()
            except CommonplaceError as exc:
                _log.warning("%s is left out: %s", name, exc)
        return sources

    def _other_sources(self) -> Sequence[Source]:
        """What is followed aside: the roots of this owner's other projects."""
        with suppress(CommonplaceError):
            return self.journal.other_sources()
        return ()

    @cached_property
    def filing(self) -> Filing:
        """What keeps the index behind the journals."""
        from commonplace.search.filing import Filing  # noqa: PLC0415  wired when needed

        return Filing(
            index=self.index,
            sources=self.sources(),
            others=self._other_sources(),
            encoder=self.encoder,
            holder=_holder(),
            quoting=None if self._feeding is None else self._feeding.forget,
        )

    def warm_up(self) -> None:
        """Load the encoder and look at every entry; takes as long as loading does."""
        self.encoder.start()
        with self._wiring:
            filing, finder = self.filing, self.finder
        # A sweep would slow the loading down, and a first search waits for that one.
        self.encoder.get(SWEEP_WAITS_S)
        finder.warm()
        filing.start()
        if self.encoder.get(ENCODER_LOAD_S) is not None:
            filing.wake()

    def settle(self, wait_s: float) -> None:
        """Let vectors that are being made be finished, waiting at most so long."""
        encoder = self.encoder.get() if "encoder" in self.__dict__ else None
        if encoder is not None and "filing" in self.__dict__:
            self.filing.settle(encoder.identity, wait_s)
            self.filing.finish(wait_s)

    def close(self) -> None:
        """Stop the background work and let go of the index; may be called twice."""
        with self._wiring:
            made = self.__dict__
            if "filing" in made:
                self.filing.close()
            if "chronicle" in made:
                self.chronicle.close()
            if "notebook" in made:
                self.notebook.close()
            if "timeline" in made:
                self.timeline.close()
            if "memory" in made:
                self.memory.close()
            if "encoder" in made:
                self.encoder.close(ENCODER_CLOSE_S)
            if "indexes" in made:
                self.indexes.close()


class _Ancestry:
    """The summaries entries went into, once there is a timeline; see `core.rollups.Lineage`."""

    def __init__(self, app: App) -> None:
        self._app = app

    def above(self, refs: Sequence[str]) -> Mapping[str, frozenset[str]]:
        """None at all while there is no timeline."""
        return self._app.timeline.above(refs) if self._app.has_timeline() else {}


def _holder() -> str:
    """This process's name in leases, and one more part for each that it makes."""
    return f"{socket.gethostname()}:{os.getpid()}:{random.getrandbits(32):08x}"


def _temp_folder() -> Path:
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:  # nothing here can be written to; what there is can still be read
        return Path(os.path.abspath(os.sep), "tmp")


def _folder(name: str | None) -> Path | None:
    return Path(name) if name and os.path.isabs(name) else None


def _working_folder() -> Path | None:
    try:
        return Path.cwd()
    except OSError:
        return None


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
