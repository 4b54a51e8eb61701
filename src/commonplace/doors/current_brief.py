"""The brief of a project now, as the command line shows it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from commonplace.config.quick import read_quick
from commonplace.verbs.brief.project import find_root
from commonplace.verbs.brief.service import BriefQuestion, make_brief

if TYPE_CHECKING:
    from commonplace.app import App
    from commonplace.verbs.brief.service import Brief


def brief_now(
    app: App, folder: str, *, client: str = "", session: str = "", is_cut: bool = False
) -> tuple[Brief, str, bool]:
    """The brief that a session of a folder's project would start with, refreshed before.

    Returns:
        The brief, the project's folder, and whether the settings ask for a brief at all.
    """
    app.brief.refresh()
    quick = read_quick(os.environ, folder)
    root = find_root(quick, folder)
    question = BriefQuestion(root, session=session, client=client, is_cut=is_cut)
    return make_brief(quick, question), root, bool(quick["brief.tokens"])
