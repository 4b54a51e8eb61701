"""The wiring of what corrects entries of any journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.services.amend import AmendService

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.app.context import JournalWiring


class AmendWiring:
    """What corrects entries by their refs; a journal is opened once a ref names it."""

    def __init__(self, journals: Sequence[JournalWiring]) -> None:
        self._service = AmendService(amenders={each.name: each.amender for each in journals})

    def service(self) -> AmendService:
        """The verbs that correct an entry, for tools, command line and library."""
        return self._service
