"""What a session begins with is what its settings offer, however they were given."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cases import cases
from tests.doors.terminal import serving

from commonplace.app import App
from commonplace.config.settings import read_settings, user_file
from commonplace.doors.mcp_offer import McpOffer
from commonplace.doors.stdio.built_lists import find_quick_start
from commonplace.journals.table import TOOLSETS


def offered(flags):
    """What the app of all settings offers, and whether it is loaded before the first call."""
    settings = read_settings(flags=flags, cwd=Path.cwd(), home=Path.home())
    app = App(settings, user_home=Path.home())
    toolsets = app.toolsets()
    app.close()
    return McpOffer(toolsets).lists, settings.preload


def at_once(*words):
    """What a session of these words begins with, without the settings; None where it needs them."""
    found = find_quick_start(words, os.environ, str(Path.cwd()))
    if found is None:
        return None
    assert (found.lists, found.preload) == offered(found.flags)
    return found


@pytest.mark.parametrize("toolsets", [*TOOLSETS, "all"])
def test_each_toolset_begins_with_what_it_offers(toolsets):
    """With its tools that write and without."""
    assert at_once("--toolsets", toolsets)
    assert at_once(f"--toolsets={toolsets}", "--read-only", "--structured")


@pytest.mark.parametrize("first", TOOLSETS)
def test_toolsets_together_begin_with_what_they_offer(first):
    """Any two in any order, and all of them: no app is opened for it."""
    for second in TOOLSETS:
        assert at_once("--toolsets", f"{first}, {second}")
    assert at_once("--toolsets", ",".join([first, *TOOLSETS]), "--read-only")


@cases(
    "environ",
    [
        {},
        {"COMMONPLACE_TOOLSETS": " notebook "},
        {"COMMONPLACE_READ_ONLY": "yes", "COMMONPLACE_PRELOAD": "0"},
        {"COMMONPLACE_DATABASE_URL": "postgresql://nowhere/x", "COMMONPLACE_OWNER": "ann"},
        {"COMMONPLACE_HOOKS_RECALL": "1", "COMMONPLACE_STRUCTURED": "1"},
        {"COMMONPLACE_PROJECT": "/"},
    ],
)
def test_the_environment_has_its_say(monkeypatch, environ):
    """In what is offered; settings of anything else change nothing of it."""
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert at_once()


def test_the_name_of_a_served_user_begins_nothing(monkeypatch, no_weights):
    """Nor that of a space: the settings are read first, which are refused."""
    with serving("ann"):
        assert at_once()
    for owner in ("ann", "space:team"):
        monkeypatch.setenv("COMMONPLACE_OWNER", owner)
        assert at_once() is None


def test_the_users_file_has_its_say():
    """Below the words of the command."""
    path = user_file()
    path.parent.mkdir(parents=True)
    path.write_text('toolsets = ["chronicle"]\npreload = false\n')
    assert len(at_once().lists["tools"]) < len(at_once("--toolsets", "all").lists["tools"])


@cases(
    ("words", "project", "environ"),
    [
        ((), 'toolsets = "private"\n', {}),
        ((), "read_only = true\n", {}),
        (("--toolsets", "private,nonsense"), "", {}),
        (("--toolsets", "private,all"), "", {}),
        (("--toolsets", "nonsense"), "", {}),
        (("--help",), "", {}),
        (("--toolsets",), "", {}),
        (("--toolsets=",), "", {}),
        (("--toolsets", ""), "", {}),
        ((), "", {"COMMONPLACE_READ_ONLY": "perhaps"}),
        ((), "", {"COMMONPLACE_TOOLSETS": ","}),
    ],
)
def test_what_only_the_settings_can_tell_is_left_to_them(monkeypatch, words, project, environ):
    """A project that offers less, and whatever is not valid."""
    folder = Path.cwd() / "narrow"
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    (folder / ".commonplace.toml").write_text(project)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert at_once(*words) is None


@cases("content", ["", "{}", json.dumps({"chosen": {}})])
def test_lists_that_cannot_be_read_are_left_to_the_settings(monkeypatch, tmp_path, content):
    """A package that was built without them serves all the same."""
    (tmp_path / "lists.json").write_text(content)
    monkeypatch.setattr("commonplace.doors.stdio.built_lists.FILE", str(tmp_path / "lists.json"))
    assert at_once() is None
