"""A home and a project that the tests of one module share, for servers that they only ask."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


@dataclass(frozen=True)
class SharedWorld:
    """Folders of a module, and the variables that lead a process there.

    There are no weights unless `env` is changed: what is found there is found by words.

    Attributes:
        folder: Where everything lies.
        env: The variables; what is given here holds unless one of the folders' has its name.
    """

    folder: Path
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        home, temp, weights = self.home, self.folder / "temp", self.folder / "no weights"
        for each in (home, self.project, temp, weights):
            each.mkdir()
        self.env.update(
            {
                "HOME": str(home),
                "USERPROFILE": str(home),
                "APPDATA": str(home / "AppData" / "Roaming"),
                "LOCALAPPDATA": str(home / "AppData" / "Local"),
                "XDG_CONFIG_HOME": str(home / ".config"),
                "XDG_DATA_HOME": str(home / ".local" / "share"),
                "XDG_CACHE_HOME": str(home / ".cache"),
                "XDG_STATE_HOME": str(home / ".local" / "state"),
                "TMPDIR": str(temp),
                "COMMONPLACE_ENCODER_FOLDER": str(weights),
                "COMMONPLACE_TIMEZONE": "UTC",
            }
        )

    @property
    def home(self) -> Path:
        """The home folder."""
        return self.folder / "home"

    @property
    def project(self) -> Path:
        """The project in which servers start."""
        return self.folder / "project"

    def enter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Have the test itself stand in this world."""
        for name, value in self.env.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(self.project)
