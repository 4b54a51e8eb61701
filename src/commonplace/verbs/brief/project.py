"""Which project a hook is asked for.

Never decides what a project is: `core/projects` does.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from commonplace.config.quick import QuickSettings
    from commonplace.core.project_folders import ProjectFolders


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


def find_folders_of(settings: QuickSettings, cwd: str) -> ProjectFolders | None:
    """The project with all folders that stand for it; None where there is none.

    Args:
        settings: May name the project.
        cwd: The folder that is worked in.
    """
    from commonplace.core.project_folders import find_folders
    from commonplace.core.projects import may_have_project

    named = settings["project"]
    if not named and not may_have_project(cwd, settings.home, settings.environ):
        return None
    return find_folders(named or cwd, settings.home, settings.environ)
