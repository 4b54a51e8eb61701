"""The table of programs whose entries can be brought in: a row for each, its reader at first use.

Never reads a file.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from msgspec import Struct

if TYPE_CHECKING:
    from commonplace.core.importer import ForeignReader

Into: TypeAlias = Literal["private", "timeline"]


class Program(Struct, frozen=True, kw_only=True):
    """A program whose entries can be brought in.

    Attributes:
        title: As its users call it.
        takes: What PATH is, for people.
        into: The journal that fits.
        module: That reads it, below `readers`.
    """

    title: str
    takes: str
    into: Into
    module: str

    @property
    def reader(self) -> ForeignReader:
        """What reads it."""
        package = "commonplace.importers"
        return cast("ForeignReader", import_module(f"{package}.{self.module}"))


PROGRAMS: dict[str, Program] = {
    "jrnl": Program(
        title="jrnl",
        takes="its journal file or folder, or what `jrnl --format json` wrote",
        into="private",
        module="jrnl",
    ),
    "day-one": Program(
        title="Day One",
        takes="the archive of its JSON export, the folder in it, or a file of that",
        into="private",
        module="day_one",
    ),
    "obsidian": Program(
        title="Obsidian",
        takes="the vault's folder, or one in it",
        into="private",
        module="obsidian",
    ),
    "logseq": Program(
        title="Logseq",
        takes="the graph's folder, or its folder `journals`",
        into="private",
        module="logseq",
    ),
    "server-memory": Program(
        title="server-memory",
        takes="its memory.json, or memory.jsonl",
        into="timeline",
        module="server_memory",
    ),
    "basic-memory": Program(
        title="basic-memory",
        takes="the folder of a project, or a note in it",
        into="timeline",
        module="basic_memory",
    ),
    "mcp-memory-service": Program(
        title="mcp-memory-service",
        takes="its sqlite_vec.db",
        into="timeline",
        module="mcp_memory_service",
    ),
    "claude-mem": Program(
        title="claude-mem",
        takes="its claude-mem.db",
        into="timeline",
        module="claude_mem",
    ),
    "claude-memory": Program(
        title="Claude Code's memory",
        takes="a `memory` folder of Claude Code's, or one that holds such",
        into="timeline",
        module="claude_memory",
    ),
    "mem0": Program(
        title="mem0",
        takes="what `get_all` answers, or an export, as a JSON file",
        into="timeline",
        module="mem0",
    ),
    "activitywatch": Program(
        title="ActivityWatch",
        takes="the JSON file of its export",
        into="timeline",
        module="activitywatch",
    ),
}
"""Diaries go into the private journal; what assistants kept, and activity, into the timeline."""
