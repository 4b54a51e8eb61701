"""Real servers over one home and one project, and what must hold of their folders afterwards."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from tests.doors.raw_server import RawServer
from tests.proof.commands import Commands
from tests.proof.faults import Faults
from tests.proof.verbs import Nursery

from commonplace.app import App
from commonplace.config.settings import read_settings

if TYPE_CHECKING:
    from pathlib import Path

    from commonplace.core.ports import EncoderSlot


class World:
    """One home and one project on disk, and the processes that use them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.project = folder / "project"
        self.user_root = self.home / ".private-journal"
        self.project_root = self.project / ".private-journal"
        self.env = {
            "TZ": "UTC",
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local" / "share"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
            "TMPDIR": str(folder / "temp"),
        }
        for name in ("home", "project", "temp"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self._running = ExitStack()

    def server(self, *flags, env=None, cwd=None) -> RawServer:
        """A server that has answered its handshake."""
        server = self._running.enter_context(
            RawServer(*flags, cwd=cwd or self.project, env={**self.env, **(env or {})})
        )
        server.handshake()
        return server

    def app(self, encoder: EncoderSlot | None = None) -> App:
        """What a command of the terminal works with, in this process; with its own encoder."""
        app = App(
            read_settings(environ={**os.environ, **self.env}, cwd=self.project, home=self.home),
            user_home=self.home,
            encoder=encoder,
        )
        self._running.callback(app.close)
        return app

    @property
    def index(self) -> Path:
        """The owner's index file, wherever the settings put it."""
        return self.app().folder / "index" / "index.db"

    def entries(self) -> list[Path]:
        """Every entry in both roots."""
        roots = (self.user_root, self.project_root)
        return sorted(path for root in roots for path in root.rglob("*.md"))

    def temps(self) -> list[Path]:
        """Every file that an interrupted write left."""
        everything = [*self.home.rglob("*"), *self.project.rglob("*")]
        return [path for path in everything if path.name.endswith(".tmp")]

    def problems(self) -> list[str]:
        """What doctor would say of the journal and the index."""
        app = self.app()
        found = [*app.private.journal.problems(), *app.index.problems()]
        return [problem.what for problem in found]

    def close(self) -> None:
        self._running.close()


def refs_in(text: str) -> list[str]:
    """The refs that an answer to a write names."""
    return re.findall(r"private:\S+/\d{4}-\d\d-\d\d/\S+", text)


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    yield world
    world.close()


@pytest.fixture(scope="module")
def shared_world(tmp_path_factory):
    """One home and one project for all tests of a module."""
    world = World(tmp_path_factory.mktemp("world"))
    yield world
    world.close()


@pytest.fixture
def faults(tmp_path):
    return Faults(tmp_path / "faults")


@pytest.fixture(scope="module")
def shared_faults(tmp_path_factory):
    """Faults for the processes that all tests of a module use."""
    return Faults(tmp_path_factory.mktemp("faults") / "plan")


@pytest.fixture(scope="module")
def shared_commands(shared_faults, tmp_path_factory):
    """Runs commands that `shared_faults` may kill; no model takes their time."""
    weights = str(tmp_path_factory.mktemp("no weights"))
    started = Commands({**shared_faults.env, "COMMONPLACE_ENCODER_FOLDER": weights})
    yield started
    started.close()


@pytest.fixture(scope="module")
def nursery(shared_faults):
    """Where the processes of verbs come from, which `shared_faults` may kill."""
    made = Nursery(shared_faults.env)
    yield made
    made.close()
