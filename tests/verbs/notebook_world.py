"""The notebook's tools over a git repository of their own and an index in memory."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.former_texts import former_in

from commonplace.journals.notebook.journal import NotebookJournal
from commonplace.journals.notebook.source import NotebookSource
from commonplace.search import policy
from commonplace.search.filing.filing import Filing
from commonplace.search.finder import Finder
from commonplace.search.two_questions import TwoQuestionFinder
from commonplace.verbs.notebook.service import NotebookService
from commonplace_testing import FrozenClock, HashingEncoder, ReadySlot
from commonplace_testing.in_memory import MemoryIndex

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.core.values import Answer

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


class NotebookWorld:
    """One user's notebook and its tools; `connect` is another connection to the same one."""

    def __init__(
        self, folder: Path, *, slot: ReadySlot | None = None, made: bool = True, **settings: Any
    ) -> None:
        self.clock = FrozenClock(NOW)
        self.notebook = NotebookJournal(
            folder / "notebook",
            ledger=folder / "ledger.db",
            owner="me",
            zone=UTC,
            clock=self.clock,
            author="Wren Fox <wren@example.org>",
            is_own=settings.get("is_own", False),
        )
        if made:
            self.notebook.init()
        slot = slot or ReadySlot(HashingEncoder())
        self.index = index = MemoryIndex().of_owner("me")
        self.filing = Filing(
            index=index, sources=[NotebookSource(self.notebook)], encoder=slot, holder="test"
        )
        finder = TwoQuestionFinder(
            finder=Finder(index=index, encoder=slot, filing=self.filing), encoder=slot
        )
        self._settings = {
            "notebook": self.notebook,
            "filing": lambda: self.filing,
            "finder": lambda: finder,
            "clock": self.clock,
            "zone": UTC,
            "weights": policy.TwoQuestionWeights(),
            "min_score": policy.NOTEBOOK_FLOOR,
            "most": 100,
            "former": former_in(folder, self.clock),
            **settings,
        }
        self.service = NotebookService(**self._settings)
        self.toolset = NotebookService.toolset(lambda: self.service)

    def connect(self):
        """Another connection: it has read nothing."""
        service = NotebookService(**self._settings)
        toolset = NotebookService.toolset(lambda: service)
        return lambda tool, **arguments: toolset.tool(tool).call(arguments)

    def __call__(self, tool: str, **arguments: Any) -> Answer:
        """What a tool answers, called as a door calls it."""
        return self.toolset.tool(f"journal_{tool}").call(arguments)

    def write(self, path: str, entry: str, *, days_ago: float = 0, **rest: Any) -> str:
        """An entry written so long ago; its id."""
        self.clock.advance(-days_ago * 86_400)
        try:
            return self("write", path=path, entry=entry, **rest).facts["id"]
        finally:
            self.clock.advance(days_ago * 86_400)

    def close(self) -> None:
        """Stop the background work and let go of the files; git finds nothing wrong in them."""
        self.filing.close()
        self.notebook.close()
        if self.notebook.exists:
            git = ["git", "-C", str(self.notebook.folder)]
            said = subprocess.run(
                [*git, "fsck", "--strict", "--no-dangling"], capture_output=True, check=False
            )
            assert (said.returncode, said.stdout) == (0, b""), said
