"""The clients whose transcripts are copied: a row for each, in strings.

Imports no client before it is asked for: a hook needs one of them.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

CLIENTS: dict[str, str] = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "opencode": "OpenCode",
    "claude-ai": "Claude.ai",
    "chatgpt": "ChatGPT",
}
"""What each client is called, by the name with which refs of its sessions begin."""

LINE_CLIENTS = ("claude-code", "codex")
"""Those that append a line for each message; the others keep documents, read whole if changed."""

EXPORTED = ("claude-ai", "chatgpt")
"""Those of which this machine has nothing but an export that the user asked for."""

FOLDERS = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude", ("projects",)),
    "codex": ("CODEX_HOME", ".codex", ("sessions", "archived_sessions")),
    "gemini": ("GEMINI_CLI_HOME", "", (os.path.join(".gemini", "tmp"),)),
}
"""Clients that keep a file a session: the variable that names a place, the usual one, folders."""


def session_folders(name: str, home: str, environ: Mapping[str, str]) -> list[str]:
    """Where a client of `FOLDERS` keeps the sessions of this machine's user, there or not."""
    variable, place, folders = FOLDERS[name]
    root = environ.get(variable) or os.path.join(home, place)
    return [os.path.join(root, folder) for folder in folders]


def memory_folder(name: str, home: str, environ: Mapping[str, str]) -> str:
    """Where Claude Code or Codex keeps what it notes: below each project's, or in one folder."""
    folder = session_folders(name, home, environ)[0]
    return folder if name == "claude-code" else os.path.join(os.path.dirname(folder), "memories")


def list_session_folders(home: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where all clients keep a file for each session, there or not; as `session_folders`."""
    return tuple(x for name in FOLDERS for x in session_folders(name, home, environ))


def find_original(path: str) -> str:
    """A session's file, where it lies if not where its client said; the path where it is nowhere.

    In a worktree Claude Code names a folder that it never makes: the file lies in the folder of
    another of its projects, under the same name.
    """
    if os.path.isfile(path):
        return path
    folder, name = os.path.split(path)
    try:
        with os.scandir(os.path.dirname(folder)) as entries:
            others = [os.path.join(x.path, name) for x in entries if x.is_dir()]
        return max(filter(os.path.isfile, others), key=os.path.getmtime, default=path)
    except OSError:  # there is no such folder, or the file went while we looked
        return path


def load_client(name: str) -> Any:
    """The module of a client: a `LineClient` or a `DocumentClient`, see `clients.parsing`."""
    from importlib import import_module

    return import_module(f"{__name__}.{name.replace('-', '_')}")
