"""Folders that cannot be used: what is written is said to be, and every answer names the folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.doors.terminal import facts, hits, run, write

PAGE = Path(__file__).parents[3] / "docs" / "where-is-my-data.md"
READS = [
    ("recall", "harbour"),
    ("private", "search", "harbour"),
    ("chronicle", "search", "harbour"),
]


@pytest.fixture
def home():
    """The folder of what is only ours."""
    return Path.home() / ".local" / "share" / "commonplace"


@pytest.fixture
def index(home, small_weights):
    """The folder of the index, after one entry about a harbour."""
    write("We met at the harbour.")
    hits("harbour")  # files it
    return home / "users" / "me" / "index"


def _closed(index):
    index.chmod(0)


def _file_in_the_way(index):
    index.rename(index.with_name("old"))
    index.write_text("not a folder")


def _closed_above(index):
    index.parent.chmod(0)


def _closed_home(index):
    index.parents[2].chmod(0)


FAULTS = [_closed, _file_in_the_way, _closed_above, _closed_home]


@pytest.fixture(params=FAULTS)
def broken(index, request, plain_permissions):
    """The index, in a folder that cannot be used."""
    request.param(index)
    with plain_permissions():
        yield index
    for folder in reversed(index.parents[:4]):
        folder.chmod(0o700)


def test_what_is_written_is_said_to_be_recorded(broken):
    """Truth is whole, so the answer is that; the next search says what is wrong with the index."""
    for command in (("private", "write", "A second."), ("log", "A second.")):
        done = run(*command)
        assert done.exit_code == 0, done.output
        assert str(broken) not in done.output
    assert len(list(Path.home().glob(".private-journal/*/*.md"))) == 2
    assert facts("private", "list")["count"] == 2


def test_reads_name_the_folder_and_doctor_finds_it(broken):
    """Lists work, a search says why it cannot, and doctor counts it among the problems."""
    for command in READS:
        done = run(*command)
        assert done.exit_code in {1, 2}
        assert "Internal error" not in done.stderr
        assert str(broken) in done.stderr
    assert str(broken) in facts("status")["index"]["trouble"]
    for flags in ((), ("--repair",)):
        problems = facts("doctor", *flags, code=1)["problems"]
        assert any(each["where"] == "index" and str(broken) in each["what"] for each in problems)
        assert all(each["hint"] for each in problems)


PLACES = ["CHRONICLE_DB_PATH", "COMMONPLACE_HOME", "PRIVATE_JOURNAL_PATH", "COMMONPLACE_LOG"]


@pytest.mark.parametrize("place", ["/proc/nope/a.db", "file", "dangling", "loop", "file/below"])
@pytest.mark.parametrize("name", PLACES)
def test_a_place_that_cannot_be_is_named(name, place, tmp_path, monkeypatch, words_only):
    """Each setting that names a place: what is written there fails by name, or is written."""
    (tmp_path / "file").write_text("")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "far")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    path = str(tmp_path / place)
    monkeypatch.setenv(name, path)
    for command in (
        ("log", "A message."),
        ("private", "write", "A thought."),
        ("recall", "harbour"),
    ):
        done = run(*command)
        assert "Internal error" not in done.output, command
        named = any(name in done.stderr for name in (path, "/proc/nope", "nowhere"))
        assert done.exit_code == 0 or named, done.output
    for command in (("status",), ("doctor",)):
        assert "Internal error" not in run(*command).output, command


def test_a_log_that_is_a_pipe_is_refused(tmp_path, monkeypatch):
    """Nobody reads it, so that opening it would wait for ever."""
    os.mkfifo(tmp_path / "log")
    monkeypatch.setenv("COMMONPLACE_LOG", str(tmp_path / "log"))
    done = run("private", "list")
    assert done.exit_code == 2
    assert str(tmp_path / "log") in done.stderr


@pytest.mark.parametrize("home", ["", "relative/home"])
def test_a_home_that_is_none_is_refused_by_name(home, monkeypatch, words_only):
    """An empty HOME would mean the root of the disk: nothing is written there."""
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", home)
    before = set(os.listdir("/"))
    done = run("private", "write", "A thought.")
    assert set(os.listdir("/")) == before
    assert done.exit_code == 2
    assert "HOME" in done.stderr


def test_the_page_names_whatever_commands_keep_in_our_folder(home, tmp_path, small_weights):
    """Where is my data: each file and folder of ours, and of an owner's."""
    diary = tmp_path / "memory.jsonl"
    diary.write_text(
        '{"type": "entity", "name": "Ada", "entityType": "x", "observations": ["y"]}\n'
    )
    write("We met at the harbour: the key is AKIA2E0A8F3B244C9986.")
    for words in (
        ("log", "sailed"),
        ("log", "--supersedes", "-1", "sailed far"),
        ("expire", "-1", "2100-01-01"),
        ("delete", "-1", "--yes"),
        ("notebook", "write", "boats", "They float."),
        ("timeline", "add", "Moored."),
        ("memory", "save", "todo", "Paint the boat"),
        ("import", "server-memory", str(diary)),
        ("recall", "boat"),
        ("list",),
        ("doctor",),
        ("tokens", "create", "--user", "ann"),
        ("export", str(tmp_path / "out")),
        ("backup", str(tmp_path / "out.zip")),
    ):
        done = run(*words)
        assert done.exit_code == 0 or words == ("doctor",), done.stderr
    kept = {path.name for folder in (home, home / "users" / "me") for path in folder.iterdir()}
    named = " ".join(re.findall(r"`([^`]+)`", PAGE.read_text("utf-8")))
    assert sorted(name for name in kept if not re.search(rf"(?<![\w.-]){name}\b", named)) == []


def test_the_home_as_a_project_shows_the_user_s_entries_once(no_weights):
    """Its journal is the user's own, and no second one of the project."""
    ref = write("a quiet harbour")
    home = str(Path.home())
    for words in (("list",), ("private", "list"), ("private", "search", "harbour")):
        assert [item["ref"] for item in facts(*words, "--project", home)["items"]] == [ref]
