"""The wiring of the brief: what keeps it behind an owner's journals, and of which project it is."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.app.cached import locked_cached_property

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from commonplace.app.owner_context import JournalWiring, OwnerContext
    from commonplace.app.wiring.private import PrivateWiring
    from commonplace.core.project_folders import ProjectFolders
    from commonplace.verbs.brief.keeper import BriefKeeper


class BriefWiring:
    """What keeps the briefs of one owner, and drops lines of the briefs of others."""

    def __init__(
        self, context: OwnerContext, *, journals: Sequence[JournalWiring], private: PrivateWiring
    ) -> None:
        self._context = context
        self._journals = journals
        self._private = private
        self.wiring = context.wiring

    def keeper_of(self, owner: str) -> BriefKeeper:
        """What keeps an owner's brief, empty for this one.

        Of another owner, and of one who is served, nothing is kept: what is deleted is taken out of
        what that owner's own commands have kept.
        """
        if owner in {"", self._context.settings.owner}:
            return self._own
        return self._keeper(self._context.shared.folder_of(owner))

    def close(self) -> None:
        """Stop its background work; may be called twice."""
        if "_own" in self.__dict__:
            self._own.close()

    @locked_cached_property
    def _own(self) -> BriefKeeper:
        context = self._context
        shared, owner = context.shared, context.settings.owner
        has_sessions = not shared.serves_owners and not shared.is_served(owner)
        is_kept = has_sessions and context.settings.brief.tokens > 0
        others = partial(shared.folders_of_others, owner)
        return self._keeper(context.folder, self._journals if is_kept else (), others)

    def _keeper(
        self,
        folder: Path,
        journals: Sequence[JournalWiring] = (),
        others: Callable[[], Iterable[Path]] = tuple,
    ) -> BriefKeeper:
        from commonplace.verbs.brief.keeper import BriefKeeper, ReadsBrief
        from commonplace.verbs.brief.kept import BriefFiles

        context = self._context
        common = context.shared.common_journals
        return BriefKeeper(
            BriefFiles(folder, prepare=lambda made: context.make_folder(Path(made))),
            others=lambda: [BriefFiles(each, journals=common) for each in others()],
            journals={each.name: each for each in journals if isinstance(each, ReadsBrief)},
            project=self._project,
            project_at=self._project_at,
            screen=context.shared.screen.shown,
            ends=context.expiry_book.find,
            replaced=context.replaced.find,
            notice=self._private.notice,
            now=lambda: context.clock().timestamp(),
            aside=not context.defers_filing,
        )

    def _project(self) -> ProjectFolders | None:
        folder = self._context.settings.work_folder
        return None if folder is None else self._project_at("", str(folder))

    def _project_at(self, journal: str, scope: str) -> ProjectFolders | None:
        """The project of a folder, or of the part of a journal that lies in one."""
        from commonplace.core.project_folders import find_folders

        private = self._private
        if journal == private.name and private.is_of_project(scope):
            return self._project()  # wherever the project keeps it
        folder = private.pages().place_of(scope) if journal == private.name else scope
        if not os.path.isabs(folder):
            return None
        return find_folders(folder, str(self._context.user_home or ""))
