"""Which project a brief is of, and by which folders entries may name it.

Never decides what a project is: `core/projects` does.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.config.quick import QuickSettings

MOST_WORK_TREES = 20
"""Each is looked at in 0.1 ms."""


def make_test(
    settings: QuickSettings, project: str, folders: Sequence[str]
) -> Callable[[str], bool]:
    """What tells whether an entry of a folder is of the project: no other one lies in between.

    Args:
        settings: Hold the user's home.
        project: The project's folder.
        folders: All folders that stand for it.
    """
    from commonplace.core.projects import is_apart

    known = dict.fromkeys(folders, True)

    def is_of(path: str) -> bool:
        if path not in known:
            known[path] = any(
                path.startswith(folder.rstrip("/") + "/")
                and not is_apart(path, folder, project, settings.home)
                for folder in folders
            )
        return known[path]

    return is_of


def find_root(settings: QuickSettings, cwd: str) -> str:
    """The project's folder; empty where there is none.

    Args:
        settings: May name the project.
        cwd: The folder that is worked in.
    """
    from commonplace.core.projects import find_project, project_of

    if settings["project"]:
        return project_of(settings["project"], settings.home, settings.environ).root
    return find_project(cwd, settings.home, settings.environ) or ""


def find_folders(settings: QuickSettings, cwd: str) -> tuple[str, tuple[str, ...]]:
    """The project's folder, empty where there is none, and all folders that stand for it.

    Args:
        settings: May name the project.
        cwd: The folder that is worked in.
    """
    from commonplace.core.projects import folders_of, project_of

    if not find_root(settings, cwd):
        return "", ()
    folder = settings["project"] or cwd
    project = project_of(folder, settings.home, settings.environ)
    named = [folder] if os.path.realpath(folder) == project.root else []
    found = [*named, *folders_of(project, settings.home, MOST_WORK_TREES)]
    return project.root, tuple(dict.fromkeys(found))
