"""Backends by name: where each is, and what to say when what it needs is not installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from commonplace.core.errors import Unavailable


class Backend(NamedTuple):
    """A class or function, as `module:name`, and the extra it needs; empty for none."""

    target: str
    extra: str = ""

    def load(self) -> Any:
        """It, imported now. Raises: Unavailable where its extra is not installed."""
        module, _, name = self.target.partition(":")
        try:
            return getattr(import_module(module), name)
        except ImportError as exc:
            if not self.extra:
                raise
            raise Unavailable(
                f"{exc.name or 'A library'} is not installed.",
                hint=f"Install commonplace-memory[{self.extra}].",
            ) from exc


MEMORIES = {
    "files": Backend("commonplace.app.wiring.memory.files:FileMemories"),
    "postgres": Backend(
        "commonplace.app.wiring.memory.postgres:PostgresMemories", extra="postgres"
    ),
}
"""Where the memories of all users are kept."""

POSTGRES = {
    "migrate": Backend("commonplace.app.wiring.memory.schema:migrate", extra="postgres"),
    "open_worker": Backend("commonplace.app.wiring.memory.postgres:open_worker", extra="postgres"),
    "open_servers": Backend("commonplace.app.wiring.memory.servers:open_servers", extra="postgres"),
    "claim_home": Backend("commonplace.app.wiring.memory.servers:claim_home", extra="postgres"),
    "update_nearest": Backend(
        "commonplace.app.wiring.memory.nearest:update_nearest", extra="postgres"
    ),
    "updating_nearest": Backend(
        "commonplace.app.wiring.memory.nearest:updating_nearest", extra="postgres"
    ),
}
"""What is done to a database of memories aside from using it."""

VECTORS = {
    "numpy": Backend("commonplace.index.sqlite.meaning:Meaning"),
    "chroma": Backend("commonplace.index.chroma:open_meaning", extra="chroma"),
}
"""What finds the nearest vectors in an index on disk: each is called with its folder and queries.

Which index there is follows from where a journal is: a database brings its own, see MEMORIES.
"""
