"""Wires Today: one owner's recall, sessions, briefs and what waits. Opens what it is asked for."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.core.errors import CommonplaceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.app.owner_context import OwnerContext
    from commonplace.app.wiring.notebook import NotebookWiring
    from commonplace.app.wiring.private import PrivateWiring
    from commonplace.app.wiring.recall import RecallWiring
    from commonplace.app.wiring.transcripts import TranscriptWiring
    from commonplace.verbs.brief.service import Brief
    from commonplace.verbs.today.service import TodayService

MOST_PROJECTS = 12
"""Projects whose brief is shown; each takes a few milliseconds."""


class TodayWiring(Struct, frozen=True, kw_only=True):
    """What Today is made from."""

    context: OwnerContext
    recall: RecallWiring
    private: PrivateWiring
    notebook: NotebookWiring
    transcripts: TranscriptWiring

    def service(self) -> TodayService:
        """The verbs of Today. Raises: Unavailable."""
        from commonplace.verbs.today.service import TodayService

        return TodayService(
            recall=self.recall.service(),
            sessions=self.transcripts.service() if self.transcripts.is_there() else None,
            seen=self.context.seen_marks,
            root_of=self._root_of,
            brief_of=self._brief_of,
            projects=self._projects,
            clashes=self._clashes,
            gone=self._gone,
            unsafe=self._unsafe,
        )

    def _root_of(self, folder: str) -> str:
        """The project's folder; on a server nothing is known of folders but their names."""
        if not self.context.shows_paths:
            return folder
        from commonplace.core.projects import project_of

        return project_of(folder, self.context.user_home).root

    def _projects(self) -> Sequence[str]:
        """The project that is worked in, then the others of which a brief is kept."""
        if not self.context.shows_paths or not self.context.settings.brief.tokens:
            return ()
        from commonplace.verbs.brief.kept import BriefFiles

        folder = self.context.settings.work_folder
        here = "" if folder is None else self._root_of(str(folder))
        files = BriefFiles(self.context.folder)
        if files.read(here) is None:
            self.context.brief.refresh()
        with suppress(OSError):
            others = [x for x in files.list_roots() if x != here and os.path.isdir(x)]
            return [here, *others][:MOST_PROJECTS]
        return [here]

    def _brief_of(self, project: str) -> tuple[Brief, int] | None:
        from commonplace.config.quick import read_quick
        from commonplace.verbs.brief.service import BriefQuestion, make_brief

        quick = read_quick(os.environ, project or str(self.context.settings.home))
        most = quick["brief.tokens"]
        if os.path.realpath(quick.owner_folder) != os.path.realpath(self.context.folder):
            return None  # the environment names another owner than this one
        return (make_brief(quick, BriefQuestion(project)), most) if most else None

    def _clashes(self) -> Sequence[str]:
        """The sections that wait; none where the notebook cannot be read: `doctor` says why."""
        if self.notebook.is_there():
            with suppress(CommonplaceError):
                return [x.section for x in self.notebook.service().list_clashes()]
        return ()

    def _gone(self) -> Sequence[str]:
        if self.context.settings.project is None or not self.context.shows_paths:
            return ()
        said = self.private.notice()
        return (said,) if said else ()

    def _unsafe(self) -> Sequence[str]:
        with suppress(CommonplaceError, OSError):
            safety = self.transcripts.safety()
            if safety is not None and safety.waiting:
                return (safety.sentence,)
        return ()
