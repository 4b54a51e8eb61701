"""The wiring of transcripts."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from commonplace.app.cached import locked_cached_property
from commonplace.app.wiring.memory.wiring import shared_of
from commonplace.core.files import may_exist
from commonplace.core.values import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from commonplace.app.owner_context import OwnerContext
    from commonplace.core.brief_item import BriefItem
    from commonplace.core.ports import AmendsRefs, OpensRefs, Portable, Source
    from commonplace.core.project_folders import ProjectFolders
    from commonplace.core.values import Doc, Finding
    from commonplace.journals.transcripts.client_memory import ClientMemory
    from commonplace.journals.transcripts.exchanges import Exchange, Turn
    from commonplace.journals.transcripts.ports import SessionStore, SharedTranscripts
    from commonplace.journals.transcripts.store import TranscriptStore
    from commonplace.verbs.imports.taking_back import GivesImportsBack
    from commonplace.verbs.toolset import Toolset
    from commonplace.verbs.transcripts.safety import Safety
    from commonplace.verbs.transcripts.service import TranscriptService


_log = logging.getLogger(__name__)


class TranscriptWiring:
    """The transcripts of one owner, their service and their tools."""

    name = "transcripts"
    title = "Transcripts"

    def __init__(self, context: OwnerContext) -> None:
        self._context = context
        self.wiring = context.wiring
        self._folder = context.folder / self.name

    @property
    def is_shared(self) -> bool:
        """Whether they lie in a database that servers share."""
        return self._context.is_in_database(self.name)

    @locked_cached_property
    def store(self) -> SessionStore:
        """What keeps them, wherever that is. Raises: Unavailable, for a database too.

        What a served user has in files from the time before the database moves into it.
        """
        return self._shared_store if self.is_shared else self.files

    @locked_cached_property
    def _shared_store(self) -> SharedTranscripts:
        from commonplace.journals.transcripts.moving import move_sessions

        context = self._context
        store = shared_of(context.shared).transcripts_of(context.settings.owner, context.clock)
        with context.moving(self._folder):
            move_sessions(store, self.files, unfile=context.drop_from_index)
        return store

    @locked_cached_property
    def files(self) -> TranscriptStore:
        """The files, there or not; first what hooks left to copy is copied, some of it at least."""
        from commonplace.journals.transcripts.store import TranscriptStore

        store = TranscriptStore(
            str(self._folder),
            screen=self._context.shared.screen,
            clock=lambda: self._context.clock().timestamp(),
        )
        settings = self._context.settings.transcripts
        if settings.capture and not self.is_shared and self.is_kept():
            from commonplace.journals.transcripts.clients.parsing import Kept
            from commonplace.journals.transcripts.copy_queue import copy_queued

            kept = Kept(tools=settings.tools, subagents=settings.subagents)
            try:
                copy_queued(store, kept=kept, now=self._context.clock().timestamp())
            except OSError as exc:
                _log.warning("What hooks left to copy is not copied: %s", type(exc).__name__)
        return store

    def service(self) -> TranscriptService:
        """The verbs of transcripts."""
        return self._service

    @locked_cached_property
    def _service(self) -> TranscriptService:
        from commonplace.verbs.transcripts.service import TranscriptService

        context = self._context
        return TranscriptService(
            store=self.store,
            filing=context.filing_for(self.name),
            clock=context.clock,
            zone=context.settings.timezone,
            present=context.present,
            retain_days=context.settings.transcripts.retain_days,
            shows_paths=context.shows_paths,
        )

    def safety(self) -> Safety | None:
        """How the sessions of this machine's user stand; None for another owner than that user.

        Raises: Unavailable where what is kept cannot be read.
        """
        from commonplace.verbs.transcripts.safety import (
            NO_SESSIONS,
            clients_with_sessions,
            read_safety,
        )

        context = self._context
        if context.user_home is None or not context.shows_paths or self.is_shared:
            return None
        home = str(context.user_home)
        if not self.is_kept() and not clients_with_sessions(home, os.environ):
            return NO_SESSIONS
        return read_safety(
            self.files,
            home=home,
            environ=os.environ,
            now=context.clock().timestamp(),
            subagents=context.settings.transcripts.subagents,
        )

    def toolsets(self) -> Mapping[str, Callable[[], Toolset]]:
        """Its toolset by name; making it opens nothing."""
        return {self.name: self._toolset}

    def _toolset(self) -> Toolset:
        from commonplace.verbs.transcripts.service import TranscriptService

        return TranscriptService.toolset(self.service)

    def brief_items(self, project: ProjectFolders | None) -> Sequence[BriefItem]:
        """The newest sessions of a project, and what was said in them; none without one.

        A user whose sessions lie in a database has no project.
        """
        from commonplace.journals.transcripts.newest import list_newest

        if project is None or self.is_shared or not self.is_kept():
            return ()
        return list_newest(self.files, project)

    @locked_cached_property
    def memory(self) -> ClientMemory | None:
        """What clients note by themselves; None for another owner than this machine's user."""
        from commonplace.journals.transcripts.client_memory import ClientMemory
        from commonplace.journals.transcripts.clients import memory_folder

        context = self._context
        if context.user_home is None or not context.shows_paths:
            return None
        home, followed = str(context.user_home), context.settings.transcripts.client_memory
        # Where they are no longer followed, the source stays, and drops what was filed.
        claude, codex = (
            memory_folder(name, home, os.environ) if followed else ""
            for name in ("claude-code", "codex")
        )
        return ClientMemory(claude, codex, context.shared.screen.shown)

    def is_kept(self) -> bool:
        """Whether anything was kept of what was said; a database would have to be asked."""
        return self.is_shared or may_exist(self._folder)

    def is_there(self) -> bool:
        """Whether anything was kept, or a client has notes of its own."""
        return self.is_kept() or (self.memory is not None and self.memory.is_there())

    def pages(self) -> OpensRefs:
        """What opens its refs."""
        from commonplace.journals.transcripts.pages import TranscriptPages

        return TranscriptPages(self.store, self.memory)

    def amender(self) -> AmendsRefs:
        """What deletes by refs."""
        from commonplace.verbs.transcripts.amend import TranscriptAmender

        return TranscriptAmender(self.service(), self.memory)

    def gives_back(self) -> GivesImportsBack:
        """What takes imported entries out of it."""
        from commonplace.verbs.imports.giving_back import FromTranscripts

        return FromTranscripts(self.service())

    def portable(self) -> Portable | None:
        """What exports and imports the journal."""
        from commonplace.journals.transcripts.portable import PortableTranscripts, SessionFiles

        into = self._shared_store if self.is_shared else SessionFiles(self.files.folder)
        return PortableTranscripts(self.store, into)

    def sources(self) -> Sequence[Source]:
        """What the index on this machine follows; what lies in a database has an outbox.

        Even if the first session is kept while a server runs.
        """
        from commonplace.journals.transcripts.exchanges import in_exchanges

        return () if self.is_shared else self._followed(in_exchanges)

    def entries(self) -> Sequence[Source]:
        """The same with each message by itself, also one that the index holds with others.

        The timeline and forgetting follow these.
        """
        if self.is_shared:
            return [shared_of(self._context.shared).transcripts_source(self._shared_store)]
        from commonplace.journals.transcripts.exchanges import each_alone

        return self._followed(each_alone)

    def read_exchanges(self, refs: Collection[str]) -> Iterator[Doc]:
        """The messages of what the index holds under these refs, each by itself."""
        from commonplace.journals.transcripts.source import read_exchanges

        return read_exchanges(self.store, refs, self._context.settings.timezone)

    def _followed(self, together: Callable[[Iterable[Turn]], Iterable[Exchange]]) -> list[Source]:
        """together: Which turns of a session are one doc."""
        from commonplace.search.filing.lazy_source import LazySource

        def find() -> Source:
            from commonplace.journals.transcripts.source import TranscriptSource

            return TranscriptSource(self.files, self._context.settings.timezone, together)

        said = LazySource(self.name, is_there=self.is_kept, find=find)
        return [said, *([] if self.memory is None else [self.memory])]

    def problems(self) -> Iterator[Finding]:
        """Where they lie, and what of the files is not as it should be; changes nothing."""
        if self.is_shared:
            return
        yield f"{self._folder}{'' if self.is_kept() else ', not made yet'}"
        safety = self.safety()
        yield from safety.sentences if safety else ()
        if not self.is_kept():
            return
        state = self.files.check()
        for path, count in state.broken.items():
            yield Problem(
                what=f"{path} has {count} broken lines, which are passed over.",
                hint="Correct them in an editor, or take them out.",
            )
        for path in state.twice:
            yield Problem(
                what=f"{path} is a second file of its session, and is passed over.",
                hint="Move it away.",
            )
        if state.unread:
            yield Problem(
                what=f"{state.unread} sessions are other than their catalog knows them.",
                hint="Run `commonplace doctor --repair`.",
                repairable=True,
            )
        for path in state.open_to_others:
            yield Problem(
                what=f"{path} can be read by others.",
                hint="Run `commonplace doctor --repair`.",
                repairable=True,
            )

    def repair(self) -> Iterator[str]:
        """Make the catalog again where it differs, and close what others can read."""
        if self.is_shared or not self.is_kept():
            return
        state = self.files.check()
        for path in state.open_to_others:
            os.chmod(path, 0o700 if os.path.isdir(path) else 0o600)
            yield f"Closed {path} to others."
        if state.unread:
            self.files.remake_catalog()
            yield "Made the catalog of transcripts again from its files."

    def close(self) -> None:
        """Close the catalog."""
        if "files" in self.__dict__:
            self.files.close()
