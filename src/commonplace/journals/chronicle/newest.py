"""The newest entries of a project, as a brief tells of them.

Never reads the storage itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.core.brief_item import BriefItem
from commonplace.journals.chronicle.event import KIND

if TYPE_CHECKING:
    from commonplace.core.project_folders import ProjectFolders
    from commonplace.journals.chronicle.journal import Chronicle

MOST_EVENTS = 200


def list_newest(chronicle: Chronicle, project: ProjectFolders) -> list[BriefItem]:
    """The newest entries of a project that no later one took the place of, newest first."""
    return [
        BriefItem(event.at.timestamp(), event.message, event.ref, KIND, tuple(event.own_tags))
        for event in chronicle.list_newest(project, limit=MOST_EVENTS)
    ]
