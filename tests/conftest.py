"""What every test stands on: a home of its own, and none of the machine's settings."""

from __future__ import annotations

import os

import pytest

from commonplace.config import SETTINGS

CLIENT_NAMES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "EDITOR", "VISUAL")


@pytest.fixture(autouse=True)
def own_world(tmp_path, monkeypatch):
    """Point every home and folder at tmp_path, stand in a project there, scrub our variables."""
    listed = {setting.env for setting in SETTINGS}
    for name in [*os.environ]:
        if name in listed or name.startswith("COMMONPLACE_") or name in CLIENT_NAMES:
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    project = tmp_path / "project"
    home.mkdir()
    project.mkdir()
    for name, folder in {
        "HOME": home,
        "USERPROFILE": home,
        "APPDATA": home / "AppData" / "Roaming",
        "LOCALAPPDATA": home / "AppData" / "Local",
        "XDG_CONFIG_HOME": home / ".config",
        "XDG_DATA_HOME": home / ".local" / "share",
        "XDG_CACHE_HOME": home / ".cache",
        "XDG_STATE_HOME": home / ".local" / "state",
    }.items():
        monkeypatch.setenv(name, str(folder))
    monkeypatch.chdir(project)
