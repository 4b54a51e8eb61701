"""Which project a brief is of, and by which folders entries may name it.

Never decides what a project is: `core/projects` does.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from commonplace.config.quick import QuickSettings


def find_folders(settings: QuickSettings, cwd: str) -> tuple[str, tuple[str, ...]]:
    """The project's folder, empty where there is none, and all folders that stand for it.

    Args:
        settings: May name the project.
        cwd: The folder that is worked in.
    """
    named = settings["project"]
    from pathlib import Path

    from commonplace.core.projects import find_project

    if named:
        root: str | None = named
    else:
        found = find_project(
            Path(cwd), Path(settings.home) if settings.home else None, settings.environ
        )
        root = str(found) if found else None
    if root is None:
        return "", ()
    return root, tuple(dict.fromkeys([root, os.path.realpath(root)]))
