"""The table of programs whose entries can be brought in: a row for each, its reader at first use.

Never reads a file.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from msgspec import Struct

if TYPE_CHECKING:
    from commonplace.services.imports.entry import ForeignReader

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
        package = "commonplace.services.imports.readers"
        return cast("ForeignReader", import_module(f"{package}.{self.module}"))


PROGRAMS: dict[str, Program] = {
    "jrnl": Program(
        title="jrnl",
        takes="its journal file or folder, or what `jrnl --format json` printed",
        into="private",
        module="jrnl",
    ),
    "server-memory": Program(
        title="server-memory",
        takes="its memory.json, or memory.jsonl",
        into="timeline",
        module="server_memory",
    ),
}
"""Diaries go into the private journal; what assistants kept, and activity, into the timeline."""
