"""The wiring of what asks all journals of an owner at once."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from commonplace.app.cached import locked_cached_property
from commonplace.app.wiring.memory.wiring import memories_of
from commonplace.core.errors import CommonplaceError
from commonplace.core.values import Here

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from commonplace.app.owner_context import JournalWiring, OwnerContext
    from commonplace.core.ports import OpensRefs, Searched
    from commonplace.journals.private.project_copies import GoneNotes
    from commonplace.search.finder import Finder
    from commonplace.verbs.amend import AmendService
    from commonplace.verbs.backup.copies import MadeCopy
    from commonplace.verbs.imports.counts import ImportCounts
    from commonplace.verbs.projects import ProjectService
    from commonplace.verbs.recall.service import RecallService
    from commonplace.verbs.recall.status import RecallStatus
    from commonplace.verbs.recall.tools import RecallTools
    from commonplace.verbs.toolset import Toolset
    from commonplace.verbs.transcripts.safety import Safety

_Read = TypeVar("_Read")


class RecallWiring:
    """What asks all journals at once: its service and its tools."""

    def __init__(
        self,
        context: OwnerContext,
        *,
        journals: Sequence[JournalWiring],
        amend: AmendService,
        project: Callable[[], ProjectService | None],
        sessions: Callable[[], Safety | None],
        imported: Callable[[], ImportCounts],
        last_backup: Callable[[], MadeCopy | None],
        gone: Callable[[], GoneNotes | None],
    ) -> None:
        self._context = context
        self._amend = amend
        self._project = project
        self._sessions = sessions
        self._imported = imported
        self._last_backup = last_backup
        self._gone = gone
        self.wiring = context.wiring
        self._journals = journals

    @property
    def tools(self) -> RecallTools:
        """What asks all journals at once."""
        from commonplace.verbs.recall.tools import RecallTools

        return RecallTools(self.service(), self._amend)

    def service(self) -> RecallService:
        """The verbs over all journals; made again once there is a journal that was not there."""
        with self._context.wiring:
            service = self._service
            known = {*service.journals, *service.lost}
            if any(each.name not in known and each.is_there() for each in self._journals):
                del self.__dict__["_service"]
            return self._service

    @locked_cached_property
    def _service(self) -> RecallService:
        from commonplace.verbs.recall.service import RecallService

        journals: dict[str, OpensRefs] = {}
        lost: dict[str, str] = {}
        for each in self._journals:
            if not each.is_there():
                continue
            try:
                journals[each.name] = each.pages()
            except CommonplaceError as exc:
                lost[each.name] = exc.explained(shows_paths=self._context.shows_paths)
        context = self._context
        finder, index = self._searched()
        return RecallService(
            finder=finder,
            filing=context.filing,
            index=index,
            journals=journals,
            lost=lost,
            encoder=context.shared.encoder_state,
            clock=context.clock,
            zone=context.settings.timezone,
            shows_paths=context.shows_paths,
            here=cache(lambda: self._here(journals.get("private"))),
            find_end=self._amend.find_end,
        )

    def _here(self, private: OpensRefs | None) -> Here | None:
        """The project that is asked from; private: knows the folders of other projects' notes."""
        from commonplace.core.project_folders import find_folders

        context = self._context
        folder = context.settings.work_folder
        if folder is None or context.shared.serves_owners:
            return None
        folders = find_folders(str(folder), str(context.user_home or ""))
        return Here(folders.holds, cache(str if private is None else private.place_of))

    def status(self) -> RecallStatus:
        """The state of all journals, the index and the encoder; never raises for a part."""
        from commonplace.verbs.recall.status import RecallStatus, read_index

        context = self._context
        there: list[str] = []
        lost: dict[str, str] = {}
        for each in self._journals:
            if not each.is_there():
                continue
            there.append(each.name)
            try:
                each.sources()
            except CommonplaceError as exc:
                lost[each.name] = exc.explained(shows_paths=context.shows_paths)
        encoder = context.shared.encoder_state()
        journals, size, trouble = read_index(
            context.filing,
            self._searched()[1],
            encoder.identity,
            there=there,
            lost=lost,
            explained=lambda exc: exc.explained(shows_paths=context.shows_paths),
        )
        # The private journal, if it is that, is named among the journals.
        project = _unless_it_fails(self._project)
        return RecallStatus(
            journals=journals,
            index_bytes=size,
            index_trouble=trouble,
            encoder=encoder,
            project=None if project is None else _unless_it_fails(project.state),
            sessions=_unless_it_fails(self._sessions),
            imported=self._imported().read(),
            last_backup=self._last_backup(),
            gone=_unless_it_fails(self._gone),
            left_out=() if context.shared.serves_owners else context.settings.left_out,
            zone=context.settings.timezone,
        )

    def _searched(self) -> tuple[Finder, Searched]:
        """What finds in all journals: one index, or two where memory has its own."""
        context = self._context
        try:
            both = memories_of(context.shared).with_journals(context)
        except CommonplaceError:
            both = None  # what cannot be opened is named as lost
        return both or (context.service_finder, context.index)

    def toolsets(self) -> Mapping[str, Callable[[], Toolset]]:
        """Its toolsets by name; making one opens nothing."""
        return {"recall": self.toolset, "connector": self.connector}

    def toolset(self) -> Toolset:
        """Its tools; making this opens nothing."""
        from commonplace.verbs.recall.tools import RecallTools

        return RecallTools.toolset(lambda: self.tools, self.status)

    def connector(self) -> Toolset:
        """The two tools that a connector knows; making this opens nothing."""
        from commonplace.verbs.recall.connector import ConnectorTools

        address = self._context.settings.serve.address or ""
        return ConnectorTools.toolset(lambda: ConnectorTools(self.tools, address))


def _unless_it_fails(read: Callable[[], _Read | None]) -> _Read | None:
    """What a part of the status is read as; None where it cannot be."""
    with suppress(CommonplaceError, OSError):
        return read()
    return None
