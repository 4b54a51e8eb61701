"""Chronicle's entries are looked for where chronicle itself would look."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from commonplace.core.errors import Invalid
from commonplace.journals.chronicle.places import ChroniclePlace, resolve_chronicle


@pytest.fixture
def home(tmp_path) -> Path:
    """A home of its own."""
    return tmp_path / "home"


def _configure(home: Path, content: object) -> None:
    path = home / ".config" / "chronicle" / "config.json"
    path.parent.mkdir(parents=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")


@pytest.mark.design("004-42")
def test_without_settings_it_is_the_database_of_convention(home):
    """`~/.local/share/chronicle/chronicle.db`, there or not, and nothing is made."""
    found = resolve_chronicle(home=home)
    assert found == ChroniclePlace(
        path=home / ".local/share/chronicle/chronicle.db", form="database"
    )
    assert not (home / ".local").exists()


@pytest.mark.design("004-44")
def test_our_own_setting_comes_first(home, tmp_path):
    """A file is a database, a folder is a tree; `~` is the home."""
    _configure(home, {"backend": "markdown", "data_dir": "/elsewhere"})
    named = tmp_path / "log.db"
    assert resolve_chronicle(db_path=named, home=home) == ChroniclePlace(
        path=named, form="database"
    )
    (tmp_path / "tree").mkdir()
    assert resolve_chronicle(db_path=tmp_path / "tree", home=home).form == "tree"
    assert resolve_chronicle(db_path=Path("~/a.db"), home=home).path == home / "a.db"


@pytest.mark.parametrize(
    ("config", "path", "form"),
    [
        ({}, ".local/share/chronicle/chronicle.db", "database"),
        ({"backend": "sqlite"}, ".local/share/chronicle/chronicle.db", "database"),
        ({"backend": "sqlite", "data_dir": "~/logs"}, "logs/chronicle.db", "database"),
        ({"backend": "markdown"}, ".local/share/chronicle", "tree"),
        ({"backend": "markdown", "data_dir": "~/logs"}, "logs", "tree"),
        ({"backend": None, "data_dir": None}, ".local/share/chronicle/chronicle.db", "database"),
    ],
)
def test_chronicles_own_settings_are_followed(home, config, path, form):
    """Its backend and data_dir, each with the default that chronicle gives it."""
    _configure(home, config)
    assert resolve_chronicle(home=home) == ChroniclePlace(path=home / path, form=form)


def test_the_xdg_folders_are_followed(home, tmp_path):
    """Both may be moved, also where there is no home."""
    (tmp_path / "c" / "chronicle").mkdir(parents=True)
    (tmp_path / "c" / "chronicle" / "config.json").write_text('{"backend": "markdown"}')
    found = resolve_chronicle(config_home=tmp_path / "c", data_home=tmp_path / "d", home=None)
    assert found == ChroniclePlace(path=tmp_path / "d" / "chronicle", form="tree")


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"backend": "charm"}',
        '{"data_dir": 5}',
        '{"data_dir": "logs"}',
        "\0",
        "[" * 9999,
    ],
)
def test_settings_that_cannot_be_meant_are_named(home, content):
    """The message names the file or the path, the hint the way around it."""
    _configure(home, content)
    with pytest.raises(Invalid) as caught:
        resolve_chronicle(home=home)
    assert "CHRONICLE_DB_PATH" in caught.value.hint
    assert "config.json" in str(caught.value)


def test_settings_that_are_a_pipe_are_named(home):
    """They are not waited for."""
    _configure(home, "{}")
    (file,) = home.rglob("config.json")
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(Invalid, match="is not a file"):
        resolve_chronicle(home=home)


def test_without_any_home_the_variable_is_asked_for():
    """There is nowhere to guess."""
    with pytest.raises(Invalid, match="CHRONICLE_DB_PATH"):
        resolve_chronicle(home=None)
