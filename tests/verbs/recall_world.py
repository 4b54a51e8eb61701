"""Recall's tools over an app in folders of its own, with a clock that stands still and no model."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from commonplace.app import App
from commonplace.config.settings import read_settings
from commonplace_testing import FrozenClock, HashingEncoder, ReadySlot

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.core.ports import Encoder
    from commonplace.core.values import Answer

NOW = datetime.fromisoformat("2026-11-21 15:19:45-08:00")
"""A Saturday, in Los Angeles."""

ALL = "private,chronicle,notebook,timeline,memory,memory-write,recall"
"""The toolsets of every journal but transcripts."""


class RecallWorld:
    """One user with a home and projects; each app is a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model: Encoder = HashingEncoder()
        self.home = folder / "home"
        self.clock = FrozenClock(NOW)
        self._apps: list[App] = []

    @property
    def chronicle_path(self) -> Path:
        """Where chronicle's database is made."""
        return self.home / ".local" / "share" / "chronicle" / "chronicle.db"

    def open(self, project: str = "project", *, model: bool = True, **environ: str) -> App:
        """An app in a project, with an encoder that hashes words, or with none."""
        where = self.folder / project
        where.mkdir(exist_ok=True)
        environ = {"COMMONPLACE_TIMEZONE": "America/Los_Angeles", **environ}
        environ |= {"XDG_DATA_HOME": str(self.home / ".local" / "share")}
        settings = read_settings(environ=environ, cwd=where, home=self.home)
        slot = ReadySlot(self.model if model else None)
        app = App(settings, user_home=self.home, clock=self.clock, encoder=slot)
        self._apps.append(app)
        return app

    def close(self) -> None:
        """Close every app."""
        for app in self._apps:
            app.close()


def ask(app: App, tool: str, **arguments: Any) -> Answer:
    """What a tool of any toolset answers, called as a door calls it."""
    toolset = next(each for each in app.toolsets() if tool in {x.name for x in each.tools})
    return toolset.tool(tool).call(arguments)


def refs(answer: Answer) -> list[str]:
    """The refs of what was recalled, best first."""
    return [hit["ref"] for hit in answer.facts["results"]]
