"""An owner's transcripts as a library: what was said in sessions with assistants, word for word.

Never mixes owners: each has files and an index of their own, and an object is of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.values import Page
from commonplace.journal_library import JournalLibrary
from commonplace.journals.transcripts.message import JOURNAL, KIND, NOTE
from commonplace.library import check_limit, interval_of
from commonplace.search import policy
from commonplace.verbs.answers import WEAK
from commonplace.verbs.transcripts.service import TranscriptService

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from commonplace.app import App
    from commonplace.core.values import Filter, Hit
    from commonplace.journals.transcripts.message import SessionSummary
    from commonplace.verbs.transcripts.service import SessionRead


class Transcripts(JournalLibrary[TranscriptService, Page]):
    """The transcripts of one owner; see `Library` for how it is opened, and for its verbs.

    Hooks of clients and imports write them: what was said can be deleted, but neither be altered
    nor expire by itself. Where nothing fits, a search gives what is nearest, and its notes say so.
    Its kinds are `turn` and `note`, which is what a client noted by itself.
    """

    _journal = JOURNAL
    _kinds = (KIND, NOTE)

    def sessions(
        self,
        *,
        project: str = "",
        client: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 100,
    ) -> Sequence[SessionSummary]:
        """Sessions with a message in a time, the one that went on last first. Raises: Invalid.

        Args:
            project: Only those held in this folder, by its path or its name; blank for any.
            client: Only those held in this client: `claude-code`, say; blank for any.
            since: Not before this aware instant.
            until: Before this aware instant.
            limit: The most that are listed.
        """
        check_limit(limit)
        return self.service.find_sessions(
            when="",
            project=project,
            client=client,
            limit=limit,
            start=0,
            interval=interval_of(since, until),
        ).sessions

    def session(self, ref: str, *, first: int = 0, limit: int = 100) -> SessionRead:
        """What was said in a session, in its order.

        Args:
            ref: Of the session or of a message in it, or the session's id.
            first: The number of the first message; 0 for the beginning, or around the message.
            limit: How many messages at the most; `next_first` is where to go on.

        Raises:
            Invalid, NotFound, Unavailable.
        """
        check_limit(limit)
        return self.service.read_part(ref.strip(), first=first, limit=limit)

    def _service_in(self, app: App) -> TranscriptService:
        return app.transcripts.service()

    def _read(self, service: TranscriptService, ref: str) -> Page:
        return self._app.transcripts.pages().read_ref(ref)

    def _find(
        self, service: TranscriptService, query: str, within: Filter, limit: int
    ) -> tuple[Sequence[Hit], Sequence[str]]:
        from commonplace.search.finder import SearchQuestion

        found = self._app.finder_for(self._journal).find(
            SearchQuestion(
                text=query,
                where=within,
                limit=limit,
                floor=policy.RECALL_FLOOR,
                policy=policy.RECALL,
            )
        )
        notes = list(found.notes)
        if found.hits and policy.is_weak(found.chance):
            notes.insert(0, WEAK)
        return found.hits, notes
