"""The importers by their names: ours by this table, those of other distributions by entry points.

Never reads what is installed before an importer is asked for that is not ours.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from commonplace.core.plugins import IMPORTERS, Plugin, list_plugins

if TYPE_CHECKING:
    from commonplace.core.importer import Importer

OURS = {
    "jrnl": "commonplace.importers.jrnl",
    "day-one": "commonplace.importers.day_one",
    "obsidian": "commonplace.importers.obsidian",
    "logseq": "commonplace.importers.logseq",
    "server-memory": "commonplace.importers.server_memory",
    "basic-memory": "commonplace.importers.basic_memory",
    "mcp-memory-service": "commonplace.importers.mcp_memory_service",
    "claude-mem": "commonplace.importers.claude_mem",
    "claude-memory": "commonplace.importers.claude_memory",
    "mem0": "commonplace.importers.mem0",
    "activitywatch": "commonplace.importers.activitywatch",
}
"""The module of each, imported when it is used."""


def list_others() -> list[str]:
    """The names of the importers that other distributions add; one of ours cannot be replaced."""
    return [name for name in list_plugins(IMPORTERS) if name not in OURS]


def load_importer(name: str) -> Importer:
    """The importer of a program. Raises: Unavailable where it is not installed, or cannot be."""
    if name in OURS:
        return cast("Importer", import_module(OURS[name]))
    return cast("Importer", Plugin(group=IMPORTERS, name=name).load())
