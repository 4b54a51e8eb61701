"""Backends by name: where each is, and which are other distributions'."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from commonplace.core.plugins import BACKENDS, Plugin

if TYPE_CHECKING:
    from collections.abc import Mapping


class Backend(NamedTuple):
    """A class or function of this package, as `module:name`."""

    target: str

    def load(self) -> Any:
        """It, imported now."""
        module, _, name = self.target.partition(":")
        return getattr(import_module(module), name)


MEMORIES: Mapping[str, Backend | Plugin] = {
    "files": Backend("commonplace.app.wiring.memory.files:FileMemories"),
    "postgres": Plugin(BACKENDS, "postgres", extra="server"),
}
"""Where the memories of all users are kept."""

VECTORS: Mapping[str, Backend | Plugin] = {
    "numpy": Backend("commonplace.index.sqlite.meaning:Meaning"),
    "chroma": Plugin(BACKENDS, "chroma", extra="chroma"),
}
"""What finds the nearest vectors in an index on disk: each is called with its folder and queries.

Which index there is follows from where a journal is: a database brings its own, see MEMORIES.
"""
