"""Where settings lie: the user's own file, and the files of projects from a folder upward.

Never decides what a setting means. Imports `os` alone: a hook looks here at each prompt.
"""

from __future__ import annotations

import os
import sys

from commonplace.core import PROJECT_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LARGEST = 1 << 20
"""In bytes: what is read of such a file."""

RECALL_VARIABLE = "COMMONPLACE_HOOKS_RECALL"


def data_folder(environ: Mapping[str, str]) -> str:
    """The folder in which programs of this user keep their files."""
    user = os.path.expanduser("~")
    if os.path.isabs(environ.get("XDG_DATA_HOME", "")):
        return environ["XDG_DATA_HOME"]
    if sys.platform == "darwin":
        return os.path.join(user, "Library", "Application Support")
    if sys.platform == "win32":
        return environ.get("LOCALAPPDATA") or os.path.join(user, "AppData", "Local")
    return os.path.join(user, ".local", "share")


def user_settings_file(environ: Mapping[str, str]) -> str:
    """The user's own settings file, whether or not it is there."""
    if os.path.isabs(environ.get("XDG_CONFIG_HOME", "")):
        folder = environ["XDG_CONFIG_HOME"]
    elif sys.platform in {"darwin", "win32"}:
        folder = data_folder({**environ, "XDG_DATA_HOME": ""})
    else:
        folder = os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(folder, "commonplace", "config.toml")


def project_files(folder: str | os.PathLike[str], home: str) -> list[tuple[str, bool]]:
    """The project's files from a folder upward, each with whether only the user can write it.

    Args:
        folder: Where to begin.
        home: The user's home folder, above which none is looked for; empty where there is none.
    """
    found = []
    here, top = os.path.realpath(folder), os.path.realpath(home) if home else ""
    while True:
        path = os.path.join(here, PROJECT_FILE)
        if os.path.isfile(path):
            found.append((path, here == top))
        if here in {top, os.path.dirname(here)}:
            return found
        here = os.path.dirname(here)


def may_recall(environ: Mapping[str, str]) -> bool:
    """Whether `hooks.recall` may be on; True in doubt.

    Looks for the word in what may set it, and parses nothing: a hook asks this at each prompt.
    """
    if environ.get(RECALL_VARIABLE):
        return True
    from commonplace.core.plain_files import open_regular

    for path in (user_settings_file(environ), os.path.expanduser(f"~/{PROJECT_FILE}")):
        try:
            with open_regular(path) as file:
                if b"recall" in file.read(LARGEST):
                    return True
        except FileNotFoundError:
            continue
        except OSError:  # reading the settings says what is wrong
            return True
    return False
