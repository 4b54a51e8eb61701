"""Snapshots: what the SDK answers before any journal is needed, for one installation and settings.

Law: a snapshot serves only the very key it was made for. The key names all that the answers depend
on; where that would take long to find out there is no key, and the SDK itself answers. Imports
nothing but small builtins: the front reads it before it answers.
"""

from __future__ import annotations

import json
import os
import sys

from commonplace.config.quick import data_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

TESTED_SDK = "2.3"
"""The minor version of the SDK whose sessions the front is tested to open as the SDK does."""

FOLDER = "snapshots"
MOST_SNAPSHOTS = 40

_FORMAT = 1
_DISTRIBUTIONS = ("commonplace_memory", "mcp", "mcp_types", "pydantic", "pydantic_core")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PROJECT_FILE = ".commonplace.toml"
_OTHERS = 0o077
ENV_PREFIXES = ("COMMONPLACE_", "PYTHON")
ENV_NAMES = frozenset(
    {
        *("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
        *("TZ", "JOURNAL_PATH", "PRIVATE_JOURNAL_PATH", "CHRONICLE_DB_PATH"),
        *("WB_RAG_K", "WB_RAG_MIN_SCORE", "WB_RECENCY_ALPHA", "WB_EMBED_MODEL"),
    }
)


def start_key(argv: Sequence[str], environ: Mapping[str, str] = os.environ) -> str | None:
    """Name all that the first answers of `commonplace mcp` depend on.

    Args:
        argv: The words after `mcp`.
        environ: The environment variables.

    Returns:
        The key, in which files of settings count by path, times and size, and by their absence;
        None where it cannot be known.
    """
    try:
        files = _settings_files(argv, environ)
        installed = _installed()
        code = sorted(_code(_PACKAGE))
    except OSError:
        return None
    if files is None or installed is None:
        return None
    named = sorted(x for x in environ if x in ENV_NAMES or x.startswith(ENV_PREFIXES))
    environment = {name: environ[name] for name in named}
    python = [sys.version, sys.flags.optimize]
    return json.dumps([_FORMAT, python, installed, code, [*argv], environment, files])


def read_argv(key: str) -> list[str]:
    """The words after `mcp` of a key."""
    return [str(word) for word in json.loads(key)[4]]


def read_snapshot(key: str, environ: Mapping[str, str] = os.environ) -> dict[str, Any] | None:
    """Read the snapshot of a key; None where there is none, or another user could have made it."""
    path = snapshot_path(key, environ)
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as file:
            state = os.fstat(descriptor)
            if os.name != "nt" and (state.st_uid != os.geteuid() or state.st_mode & _OTHERS):
                return None
            found = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("key") == key else None


def snapshot_path(key: str, environ: Mapping[str, str] = os.environ) -> str:
    """The path of a key's snapshot, whether or not there is one."""
    from zlib import crc32

    return os.path.join(snapshot_folder(environ), f"{crc32(key.encode()):08x}.json")


def snapshot_folder(environ: Mapping[str, str] = os.environ) -> str:
    """The folder of the snapshots: in COMMONPLACE_HOME, else in the default home.

    A home that is set in a file does not count: reading TOML takes longer than all of the front.
    """
    home = environ.get("COMMONPLACE_HOME", "")
    if not os.path.isabs(home):
        home = os.path.join(data_folder(environ), "commonplace")
    return os.path.join(home, FOLDER)


def user_files(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Every path where the user's own settings may lie, on any system."""
    user = os.path.expanduser("~")
    folders = [
        environ.get("XDG_CONFIG_HOME", ""),
        environ.get("LOCALAPPDATA", ""),
        os.path.join(user, ".config"),
        os.path.join(user, "Library", "Application Support"),
        os.path.join(user, "AppData", "Local"),
    ]
    return [os.path.join(x, "commonplace", "config.toml") for x in folders if os.path.isabs(x)]


def _installed() -> list[tuple[str, int]] | None:
    """The folders that name what is installed; None without an SDK of the tested minor version."""
    found: list[tuple[str, str, int]] = []
    for folder in dict.fromkeys(sys.path):
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            what, _, version = name.removesuffix(".dist-info").partition("-")
            if name.endswith(".dist-info") and what in _DISTRIBUTIONS:
                if what == "mcp" and not f"{version}.".startswith(f"{TESTED_SDK}."):
                    return None
                path = os.path.join(folder, name)
                found.append((what, path, os.stat(path).st_mtime_ns))
    if {what for what, _, _ in found} != set(_DISTRIBUTIONS):
        return None
    return sorted((path, changed) for _, path, changed in found)


def _code(folder: str) -> Iterator[tuple[str, int, int]]:
    """Every file of the package: what a model reads is in them, and may change at any time."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _code(entry.path)
            else:
                state = entry.stat()
                yield entry.path[len(_PACKAGE) :], state.st_mtime_ns, state.st_size


def _settings_files(argv: Sequence[str], environ: Mapping[str, str]) -> list[Any] | None:
    """The files of settings that exist, and for a project's files the folder they were found from.

    None where only `config` can tell where they would be.
    """
    home = os.path.expanduser("~")
    project = _named_project(argv, environ)
    config = environ.get("XDG_CONFIG_HOME", "")
    if (
        not os.path.isabs(home)
        or not os.path.isabs(project)
        or (config and not os.path.isabs(config))
    ):
        return None
    found = [state for path in user_files(environ) if (state := _state(path))]
    here, top = os.path.realpath(project), os.path.realpath(home)
    projects = []
    while True:
        state = _state(os.path.join(here, _PROJECT_FILE))
        projects += [state] if state else []
        if here in {top, os.path.dirname(here)}:
            break
        here = os.path.dirname(here)
    return [*found, project, *projects] if projects else found


def _named_project(argv: Sequence[str], environ: Mapping[str, str]) -> str:
    """What --project or COMMONPLACE_PROJECT name, as it is written; else the working folder."""
    project = environ.get("COMMONPLACE_PROJECT") or os.getcwd()
    for number, word in enumerate(argv):
        if word.startswith("--p"):
            name, sign, value = word.partition("=")
            if name != "--project":
                return ""
            project = value if sign else "".join(argv[number + 1 : number + 2])
    return project


def _state(path: str) -> tuple[str, int, int, int, int] | None:
    try:
        state = os.stat(path)
    except OSError:
        return None
    return path, state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_uid
