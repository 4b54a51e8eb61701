"""An owner's private journal as a library: what was learned, felt and understood, by headings.

Never mixes owners: each has a folder and an index of their own, and an object is of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec.structs import replace

from commonplace.journal_library import JournalLibrary
from commonplace.journals.private.journal import PrivateEntry
from commonplace.journals.private.source import JOURNAL
from commonplace.library import check_entry_time
from commonplace.verbs.private.service import PrivateService

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from commonplace.app import App
    from commonplace.core.values import Filter, Hit
    from commonplace.journals.private.roots import Kind

Heading: TypeAlias = Literal[
    "feelings",
    "reflections",
    "observations",
    "project_notes",
    "user_context",
    "technical_insights",
    "world_knowledge",
]


class Private(JournalLibrary[PrivateService, PrivateEntry]):
    """The private journal of one owner; see `Library` for how it is opened, and for its verbs.

    Its kinds are `user` and `project`: where this machine's owner stands in a project, project
    notes lie with the project, and all else with the user.
    """

    _journal = JOURNAL
    _kinds = ("user", "project")

    def save_entry(
        self,
        heading: Heading,
        text: str,
        *,
        at: datetime | None = None,
        idempotency_key: str = "",
        supersedes: str = "",
        expires: datetime | None = None,
    ) -> str:
        """Keep a thought under a heading; its ref. Raises: Invalid, Conflict, Unavailable."""
        check_entry_time(at)
        key = idempotency_key or None

        def save() -> str:
            written, _ = self.service.write({heading: text}, at=at, key=key, supersedes=supersedes)
            return written.refs[0]

        return self._save_expiring(expires, save)

    def _service_in(self, app: App) -> PrivateService:
        return app.private.service()

    def _read(self, service: PrivateService, ref: str) -> PrivateEntry:
        return service.journal.read_entry(ref)

    def _newest(
        self, service: PrivateService, within: Filter, limit: int
    ) -> Sequence[PrivateEntry]:
        kind = _kind_of(within.kinds)
        return service.journal.list_entries(limit=limit, kind=kind, within=within.interval)

    def _find(
        self, service: PrivateService, query: str, within: Filter, limit: int
    ) -> tuple[Sequence[Hit], Sequence[str]]:
        kind = _kind_of(within.kinds)
        found = service.find(query, kind=kind, within=replace(within, kinds=()), limit=limit)
        return found.hits, found.notes


def _kind_of(kinds: Sequence[str]) -> Kind:
    match list(kinds):
        case ["user"]:
            return "user"
        case ["project"]:
            return "project"
        case _:
            return "both"
