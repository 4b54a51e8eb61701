"""Chronicle's tools over a database of their own, a clock that stands still and an index in memory."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from msgspec.structs import replace
from tests.former_texts import former_in

from commonplace.journals.chronicle.imports import parse_export
from commonplace.journals.chronicle.journal import Author, ChronicleJournal
from commonplace.journals.chronicle.places import ChroniclePlace
from commonplace.journals.chronicle.source import ChronicleSource
from commonplace.journals.chronicle.trust import TrustedLogs
from commonplace.search.filing.filing import Filing
from commonplace.search.finder import Finder
from commonplace.verbs.chronicle.amend import ChronicleAmender
from commonplace.verbs.chronicle.pages import with_pages
from commonplace.verbs.chronicle.service import ChronicleService
from commonplace.verbs.chronicle.trust import allow_log
from commonplace_testing import FrozenClock, HashingEncoder, ReadySlot
from commonplace_testing.in_memory import MemoryIndex

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.core.values import Answer

LOS_ANGELES = ZoneInfo("America/Los_Angeles")
NOW = datetime.fromisoformat("2026-11-21 15:19:45-08:00")
"""A Saturday in week 47. The clocks of Los Angeles fell back on the 1st."""


class ChronicleWorld:
    """One user's chronicle and its tools; `at` may be set on its clock."""

    def __init__(
        self,
        home: Path,
        project: Path,
        *,
        path: Path | None = None,
        slot: ReadySlot | None = None,
        now: datetime = NOW,
        hostname: str = "otter",
        patience_s: float = 0.2,
    ) -> None:
        self.clock = FrozenClock(now)
        self.project = project
        self.path = path or home / "chronicle.db"
        self.chronicle = ChronicleJournal(
            ChroniclePlace(path=self.path, form="tree" if self.path.is_dir() else "database"),
            owner="me",
            zone=LOS_ANGELES,
            clock=self.clock,
            author=Author(hostname=hostname, username="wren", directory=str(project)),
            patience_s=patience_s,
        )
        slot = slot or ReadySlot(HashingEncoder())
        self.index = MemoryIndex().of_owner("me")
        self.filing = Filing(
            index=self.index, sources=[ChronicleSource(self.chronicle)], encoder=slot, holder="test"
        )
        self.service = ChronicleService(
            chronicle=self.chronicle,
            filing=self.filing,
            finder=Finder(index=self.index, encoder=slot, filing=self.filing),
            clock=self.clock,
            zone=LOS_ANGELES,
            project=project,
            folder=project,
            home=home,
            trusted=TrustedLogs(home / "trusted"),
            replaced=lambda _refs: {},
            former=former_in(home, self.clock),
        )
        self.toolset = with_pages(lambda: self.service)

    def __call__(self, tool: str, **arguments: Any) -> Answer:
        """What a tool answers, called as a door calls it."""
        return self.toolset.tool(tool).call(arguments)

    def page(self, name: str) -> str:
        """The text of the resource `chronicle://<name>`."""
        uri = f"chronicle://{name}"
        return next(page for page in self.toolset.resources if page.uri == uri).read()

    def log(self, *entries: tuple[str, str] | tuple[str, str, str]) -> None:
        """Add (time on the local clock or with an offset, message, tags between blanks)."""
        for at, message, *tags in entries:
            instant = datetime.fromisoformat(at)
            if instant.tzinfo is None:
                instant = instant.replace(tzinfo=LOS_ANGELES)
            self.chronicle.add_event(message, at=instant, tags=" ".join(tags).split())

    def log_many(self, *entries: tuple[datetime, str]) -> None:
        """Add (time, message) of many at once, as an export that is imported, and file them."""
        exported = [
            {"id": f"{n:08}-0000-4000-8000-000000000000", "timestamp": at.isoformat(), "message": x}
            for n, (at, x) in enumerate(entries)
        ]
        self.chronicle.import_events(parse_export(json.dumps({"entries": exported})))
        self.filing.catch_up()

    @property
    def amender(self) -> ChronicleAmender:
        """What corrects its entries."""
        return ChronicleAmender(self.service)

    def trust(self) -> None:
        """Allow the project log that the `.chronicle` of the project asks for."""
        allow_log(self.service, None)

    def without_folder(self) -> None:
        """Go on without a project's folder."""
        self.service = replace(self.service, project=None, folder=None)

    def close(self) -> None:
        """Stop the background work and let go of the file."""
        self.filing.close()
        self.chronicle.close()


def messages(answer: Answer) -> list[str]:
    """The messages of the entries in an answer's facts, in their order."""
    return [entry["message"] for entry in answer.facts["entries"]]
