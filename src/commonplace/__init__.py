"""Commonplace: the memory of AI assistants, in files you own.

The names below are the library's public face. Each is imported when it is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own costs 5 ms of a session that begins
if TYPE_CHECKING:
    from typing import Any

    from commonplace.app import App
    from commonplace.chronicle import Chronicle
    from commonplace.config.settings import read_settings
    from commonplace.config.table import Settings
    from commonplace.core.errors import (
        CommonplaceError,
        Conflict,
        Denied,
        Internal,
        Invalid,
        NotFound,
        Unavailable,
    )
    from commonplace.core.values import Answer
    from commonplace.library import Library
    from commonplace.memory import Memory
    from commonplace.notebook import Notebook
    from commonplace.private import Private
    from commonplace.timeline import Timeline
    from commonplace.transcripts import Transcripts

__all__ = [
    "Answer",
    "App",
    "Chronicle",
    "CommonplaceError",
    "Conflict",
    "Denied",
    "Internal",
    "Invalid",
    "Library",
    "Memory",
    "NotFound",
    "Notebook",
    "Private",
    "Settings",
    "Timeline",
    "Transcripts",
    "Unavailable",
    "read_settings",
]

_ROOMS = {
    "Answer": "core.values",
    "App": "app",
    "Chronicle": "chronicle",
    "Library": "library",
    "Memory": "memory",
    "Notebook": "notebook",
    "Private": "private",
    "Settings": "config.table",
    "Timeline": "timeline",
    "Transcripts": "transcripts",
    "read_settings": "config.settings",
}


def __getattr__(name: str) -> Any:
    """A public name, imported now."""
    if name not in __all__:
        raise AttributeError(f"module 'commonplace' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"commonplace.{_ROOMS.get(name, 'core.errors')}"), name)
