"""A project with all folders that stand for it, and which paths lie in it.

Never decides what a project is: `projects` does. Imports next to nothing: a hook uses it.
"""

from __future__ import annotations

import os

from commonplace.core.projects import folders_of, is_apart, project_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_WORK_TREES = 20
"""Each is looked at in 0.1 ms."""


class ProjectFolders:
    """A project, by all the folders that entries of it may name."""

    __slots__ = ("_home", "_known", "folders", "root")

    def __init__(self, root: str, folders: tuple[str, ...], home: str = "") -> None:
        self.root = root
        self.folders = folders
        self._home = home
        self._known = dict.fromkeys(folders, True)

    def holds(self, path: str) -> bool:
        """Whether a folder is of the project: one of its own or below, no other in between."""
        if path not in self._known:
            self._known[path] = any(
                path.startswith(folder.rstrip("/") + "/")
                and not is_apart(path, folder, self.root, self._home)
                for folder in self.folders
            )
        return self._known[path]


def find_folders(folder: str, home: str, environ: Mapping[str, str] = os.environ) -> ProjectFolders:
    """The project of a folder, with the folder as it was named and all work trees and clones."""
    project = project_of(folder, home, environ)
    named = [folder] if os.path.realpath(folder) == project.root else []
    found = [*named, *folders_of(project, home, MOST_WORK_TREES)]
    return ProjectFolders(project.root, tuple(dict.fromkeys(found)), home)
