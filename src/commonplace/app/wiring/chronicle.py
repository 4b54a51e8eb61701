"""The wiring of chronicle."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.app.lazy import made_once
from commonplace.core.files import may_exist

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from commonplace.app.context import OwnerContext
    from commonplace.core.ports import OpensRefs, Source
    from commonplace.core.values import Finding
    from commonplace.journals.chronicle.journal import Author, Chronicle
    from commonplace.journals.chronicle.source import ChronicleSource
    from commonplace.services.chronicle.service import ChronicleService
    from commonplace.tools.chronicle.tools import ChronicleTools
    from commonplace.tools.toolset import Toolset


class ChronicleWiring:
    """Chronicle on its own database, its service and its tools."""

    name = "chronicle"
    title = "Chronicle"

    def __init__(self, own: OwnerContext) -> None:
        self._own = own
        self.wiring = own.wiring

    @made_once
    def journal(self) -> Chronicle:
        """Chronicle on its own database, wherever that is."""
        from commonplace.journals.chronicle.journal import Chronicle
        from commonplace.journals.chronicle.places import resolve_chronicle

        own, settings = self._own, self._own.settings
        place = resolve_chronicle(
            db_path=settings.chronicle.path,
            config_home=_folder(os.environ.get("XDG_CONFIG_HOME")),
            data_home=_folder(os.environ.get("XDG_DATA_HOME")),
            home=own.user_home,
        )
        return Chronicle(
            place,
            owner=settings.owner,
            zone=settings.timezone,
            clock=own.clock,
            author=self._author(),
            imported=own.reach / "chronicle-import.jsonl",
        )

    def _author(self) -> Author:
        """Who logs: nothing of the server's surroundings where another user is served."""
        from commonplace.journals.chronicle.journal import author_here

        own, owner = self._own, self._own.settings.owner
        if own.is_served and owner != own.shared.settings.owner:
            return author_here({"USER": owner}, hostname="", directory=None)
        here = None if own.is_served else own.settings.project or _working_folder()
        return author_here(os.environ, hostname=socket.gethostname(), directory=here)

    @made_once
    def tools(self) -> ChronicleTools:
        """Chronicle's tools."""
        from commonplace.tools.chronicle.tools import ChronicleTools

        return ChronicleTools(service=self.service)

    def service(self) -> ChronicleService:
        """Chronicle's verbs."""
        return self._service

    @made_once
    def _service(self) -> ChronicleService:
        from commonplace.journals.chronicle.trust import TrustedLogs
        from commonplace.services.chronicle.service import ChronicleService

        own = self._own
        return ChronicleService(
            chronicle=self.journal,
            filing=own.filing,
            finder=own.finder,
            clock=own.clock,
            zone=own.settings.timezone,
            folder=own.settings.project,
            home=own.user_home,
            trusted=TrustedLogs(own.reach / "trusted"),
        )

    def toolsets(self) -> Mapping[str, Callable[[], Toolset]]:
        """Its toolsets by name; making one opens nothing."""
        return {"chronicle": lambda: self.tools.toolset}

    def is_there(self) -> bool:
        """Always: it is made at the first write."""
        return True

    def pages(self) -> OpensRefs:
        """What opens its refs."""
        from commonplace.journals.chronicle.open import ChroniclePages

        return ChroniclePages(self.journal)

    def sources(self) -> Sequence[Source]:
        """What the index follows."""
        return [self._source]

    @made_once
    def _source(self) -> ChronicleSource:
        from commonplace.journals.chronicle.source import ChronicleSource

        return ChronicleSource(self.journal)

    def problems(self) -> Iterator[Finding]:
        """What is wrong with its files, where they lie, and whether a project log is written."""
        from commonplace.tools.chronicle.trust import log_state

        path = self.journal.path
        yield f"{path}{'' if may_exist(path) else ', not made yet'}"
        yield from self.journal.problems()
        yield from filter(None, [log_state(self.service())])

    def repair(self) -> Iterable[str]:
        """Repair what can be repaired of its database or its folder."""
        return self.journal.repair()

    def close(self) -> None:
        """Close the database."""
        if "journal" in self.__dict__:
            self.journal.close()


def _folder(name: str | None) -> Path | None:
    return Path(name) if name and os.path.isabs(name) else None


def _working_folder() -> Path | None:
    try:
        return Path.cwd()
    except OSError:
        return None
