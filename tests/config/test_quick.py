"""What a hook and the start of `mcp` read of the settings is what every command reads."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
from tests.cases import cases

from commonplace.config.quick import QUICK, read_quick, user_settings_file
from commonplace.config.settings import read_settings, render_setting, user_file
from commonplace.config.table import SETTINGS
from commonplace.core.errors import Invalid
from commonplace.core.owner_folders import owner_folder


def both():
    """The quick values and those of the whole table, as JSON holds them."""
    quick = read_quick(os.environ, str(Path.cwd()))
    whole = read_settings(environ=os.environ, cwd=Path.cwd(), home=Path.home())
    table = {x.key: render_setting(x.read(whole)) for x in SETTINGS if x.key in QUICK}
    found = {key: render_setting(value) for key, value in quick.values.items()}
    for key in ("project", "timezone"):  # where nothing is named, each finds its own
        if found[key] is None:
            del found[key], table[key]
    return found, table


def test_variables_and_defaults_are_those_of_the_table():
    """Of each setting that a hook needs."""
    table = {x.key: x.env for x in SETTINGS}
    assert {key: env for key, (env, _, _) in QUICK.items()} == {key: table[key] for key in QUICK}
    quick, whole = both()
    assert quick == whole


@cases(
    "environ",
    [
        {"COMMONPLACE_HOME": "~/kept", "JOURNAL_PATH": "notes", "COMMONPLACE_OWNER": "ann"},
        {"COMMONPLACE_BRIEF_TOKENS": "300", "COMMONPLACE_BRIEF_PARTS": "open, last"},
        {"COMMONPLACE_BRIEF_PARTS": "none", "COMMONPLACE_BRIEF_PRIVATE": "all"},
        {"COMMONPLACE_TIMEZONE": "Asia/Tokyo", "COMMONPLACE_TRANSCRIPTS_CAPTURE": "No"},
        {"COMMONPLACE_TRANSCRIPTS_TOOLS": "ALL", "COMMONPLACE_TRANSCRIPTS_SUBAGENTS": "1"},
        {"COMMONPLACE_TOOLSETS": "recall, private,,recall", "COMMONPLACE_READ_ONLY": "Yes"},
        {"COMMONPLACE_PRELOAD": "0"},
        {"PRIVATE_JOURNAL_PATH": "/x/../y", "CHRONICLE_DB_PATH": "db", "COMMONPLACE_LOG": "l"},
    ],
)
def test_the_environment_is_read_alike(monkeypatch, environ):
    """Paths from the working folder, lists with commas, words for yes and no."""
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    quick, whole = both()
    assert quick == whole


USER = """
home = "elsewhere"
timezone = "Asia/Tokyo"
[brief]
tokens = 200
parts = ["open"]
[private]
user_path = "~/mine"
"""


@pytest.mark.parametrize("user", ["", USER, USER + '[llm]\nmodel = "x"\n'])
@pytest.mark.parametrize(
    ("folder", "project"),
    [
        ("", ""),
        ("project", '[private]\npath = "notes/journal"\n'),
        ("project", 'timezone = "Europe/Berlin"\n'),
        ("home", "[brief]\ntokens = 7\n"),
    ],
)
def test_files_are_read_alike(tmp_path, monkeypatch, user, folder, project):
    """The user's, and those of the project and of the home above it."""
    inside = tmp_path / "home" / "project"
    inside.mkdir()
    monkeypatch.chdir(inside)
    if user:
        path = user_file()
        path.parent.mkdir(parents=True)
        path.write_text(user)
    if project:
        place = inside if folder == "project" else tmp_path / "home"
        (place / ".commonplace.toml").write_text(project)
    quick, whole = both()
    assert quick == whole


@cases(
    "text",
    [
        'home = "/tmp/x"\n',
        "[brief]\nprivate = 'all'\n",
        '[private]\npath = "../other"\n',
        '[private]\npath = "."\n',
        "[private]\nuser_path = '/x'\n",
        "not toml",
    ],
)
def test_a_project_s_file_moves_nothing(text):
    """A stranger may have written it: what it may not set, or not there, is as if it were not."""
    before = read_quick(os.environ, str(Path.cwd())).values
    Path(".commonplace.toml").write_text(text)
    assert read_quick(os.environ, str(Path.cwd())).values == before


@cases(
    ("name", "value"),
    [
        ("COMMONPLACE_BRIEF_TOKENS", "-1"),
        ("COMMONPLACE_BRIEF_TOKENS", "100000"),
        ("COMMONPLACE_BRIEF_PRIVATE", "everything"),
        ("COMMONPLACE_TRANSCRIPTS_TOOLS", "some"),
        ("COMMONPLACE_TRANSCRIPTS_CAPTURE", "perhaps"),
    ],
)
def test_a_value_that_is_not_valid_is_refused(monkeypatch, name, value):
    """A hook then does nothing, rather than something else than was meant."""
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match="is not valid"):
        _ = read_quick(os.environ, str(Path.cwd())).values


WRONG = ["5", "true", "1e400", "nan", str(10**400), '"\\u0000"', '" "', "[5]", "[[[]]]", "{a = 1}"]
WRONG += ["2026-11-27", "[]", '["(", "x"]', '"[[[["', '"perhaps"']


@pytest.mark.parametrize("key", QUICK)
def test_a_wrong_value_fails_what_needs_it_and_nothing_else(key):
    """Of whatever type; what the table refuses is refused, and all else is as it was."""
    before = read_quick(os.environ, str(Path.cwd())).values
    path = user_file()
    path.parent.mkdir(parents=True)
    for value in WRONG:
        path.write_text(f"{key} = {value}\n")
        quick = read_quick(os.environ, str(Path.cwd()))
        others = {x: quick[x] for x in QUICK if x != key}
        assert others == {x: y for x, y in before.items() if x != key}, value
        try:
            read_settings(environ=os.environ, cwd=Path.cwd(), home=Path.home())
        except Invalid:
            # Names that are none only the table knows.
            if key not in ("toolsets", "timezone", "owner", "project") or not isinstance(
                tomllib.loads(f"x = {value}")["x"], (str, list)
            ):
                with pytest.raises(ValueError, match="is not valid"):
                    _ = quick[key]


def test_the_user_s_file_is_where_the_table_looks():
    """One place, found two ways."""
    assert user_settings_file(os.environ) == str(user_file())


@cases("owner", ["me", "ann", "con", "Ann", "a b", "annabel", "ü" * 80])
def test_an_owner_s_folder_is_where_the_app_has_it(monkeypatch, owner):
    """Also for names that no folder can bear."""
    monkeypatch.setenv("COMMONPLACE_OWNER", owner)
    users = Path(read_quick(os.environ, str(Path.cwd()))["home"]) / "users"
    assert read_quick(os.environ, str(Path.cwd())).owner_folder == str(users / owner_folder(owner))
