"""The wiring of recall, which asks all journals of an owner at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.app.lazy import made_once
from commonplace.core.errors import CommonplaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from commonplace.app.context import JournalWiring, OwnerContext
    from commonplace.core.ports import OpensRefs, Searched
    from commonplace.search.finder import Finder
    from commonplace.services.recall.service import RecallService
    from commonplace.tools.recall.tools import RecallTools
    from commonplace.tools.toolset import Toolset


class RecallWiring:
    """What asks all journals at once: its service and its tools."""

    def __init__(self, own: OwnerContext, *, journals: Sequence[JournalWiring]) -> None:
        self._own = own
        self.wiring = own.wiring
        self._journals = journals

    @made_once
    def tools(self) -> RecallTools:
        """What asks all journals at once."""
        from commonplace.tools.recall.tools import RecallTools

        return RecallTools(service=self.service)

    def service(self) -> RecallService:
        """The verbs over all journals; made again once there is a journal that was not there."""
        with self._own.wiring:
            known = {*self._service.journals, *self._service.lost}
            if not known.issuperset(each.name for each in self._there()):
                del self.__dict__["_service"]
            return self._service

    @made_once
    def _service(self) -> RecallService:
        from commonplace.services.recall.service import RecallService

        journals: dict[str, OpensRefs] = {}
        lost: dict[str, str] = {}
        for each in self._there():
            try:
                journals[each.name] = each.pages()
            except CommonplaceError as exc:
                lost[each.name] = exc.explained(shows_paths=not self._own.is_served)
        own = self._own
        finder, index = self._searched()
        return RecallService(
            finder=finder,
            filing=own.filing,
            index=index,
            journals=journals,
            lost=lost,
            encoder=own.shared.encoder_state,
            clock=own.clock,
            zone=own.settings.timezone,
            shows_paths=not own.is_served,
            left_out=() if own.is_served else own.settings.left_out,
        )

    def _searched(self) -> tuple[Finder, Searched]:
        """What finds in all journals: in two indexes as in one, where memory has its own."""
        from commonplace.index.scoring.joint import JointIndex, Measures
        from commonplace.search.filing.joint import JointFiling

        own = self._own
        try:
            beside = own.shared.memories.beside(own)
        except CommonplaceError:
            beside = None  # what cannot be opened is named as lost
        if beside is None:
            return own.finder, own.index
        assert isinstance(own.index, Measures)
        assert isinstance(beside.index, Measures)
        joint = JointIndex(own.index, beside.index)
        return own.finder_over(joint, JointFiling(own.filing, beside.filing)), joint

    def _there(self) -> list[JournalWiring]:
        return [each for each in self._journals if each.is_there()]

    def toolsets(self) -> Mapping[str, Callable[[], Toolset]]:
        """Its toolsets by name; making one opens nothing."""
        return {"recall": lambda: self.tools.toolset}
