"""Which folder is a project, and which is only where some program happened to start.

Never touches the disk but to resolve links.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path, PurePath, PureWindowsPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SYSTEM_FOLDERS = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr"),
    *("/System", "/Library", "/Applications", "/private/etc"),
)
# Everybody's: a project may lie below them, they are none themselves.
_SHARED_FOLDERS = (
    *("/home", "/media", "/mnt", "/opt", "/srv", "/tmp", "/var", "/var/tmp"),  # noqa: S108  named, not used
    *("/Users", "/Volumes", "/private", "/private/tmp", "/private/var"),
)
_WINDOWS_VARIABLES = ("SystemRoot", "ProgramFiles", "ProgramFiles(x86)", "ProgramData")
_PROGRAMS_OF_HOME = frozenset({"AppData", "Library"})


def find_project(cwd: Path, home: Path | None, environ: Mapping[str, str]) -> Path | None:
    """The working directory as a project; None where it is the system's, programs', or the home.

    A folder that holds the home is none either. home: None where the user has none.
    """
    here = Path(os.path.realpath(cwd))
    top = Path(os.path.realpath(home)) if home else None
    if top is None or top == Path(top.anchor):
        return None if is_system_folder(here, environ) else cwd
    if top.is_relative_to(here):
        return None
    if here.is_relative_to(top):
        programs = here.relative_to(top).parts[0] in _PROGRAMS_OF_HOME
        return None if programs and sys.platform in {"darwin", "win32"} else cwd
    return None if is_system_folder(here, environ) else cwd


def is_system_folder(path: PurePath, environ: Mapping[str, str]) -> bool:
    """Whether an absolute path is a root, belongs to the system, or is shared by all its users."""
    if path == type(path)(path.anchor):
        return True
    if isinstance(path, PureWindowsPath):
        folders = [environ[name] for name in _WINDOWS_VARIABLES if environ.get(name)]
        folders += [f"{path.drive}\\Windows", f"{path.drive}\\Program Files"]
        return any(path.is_relative_to(folder) for folder in folders)
    return str(path) in _SHARED_FOLDERS or any(
        path.is_relative_to(folder) for folder in _SYSTEM_FOLDERS
    )
