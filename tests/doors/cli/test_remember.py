"""`commonplace remember`: what is told to the sessions that come."""

from __future__ import annotations

import os
import subprocess

import pytest
from tests.doors.terminal import facts, on_screen, run

from commonplace.core.projects import CHRONICLE_FILE

FRIDAYS = "we deploy on Fridays"


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    """A folder of that name, which is worked in."""

    def enter(name, *, is_repository):
        folder = tmp_path / name
        folder.mkdir()
        if is_repository:
            subprocess.run(["git", "init", "-q", folder], check=True)
        monkeypatch.chdir(folder)
        return folder

    return enter


def told():
    """What a session that starts here is told, by part."""
    return [(each["part"], each["text"]) for each in facts("brief")["items"]]


def test_the_next_session_of_the_project_is_told(in_folder):
    """In a repository it is a convention of that project, and stands in no other one's brief.

    It is no deed: `when` does not count it.
    """
    acme = in_folder("acme", is_repository=True)
    done = run("remember", FRIDAYS)
    assert (done.exit_code, done.stderr) == (0, "")
    first, ref = done.stdout.splitlines()
    assert first == f"Sessions of acme are told: {FRIDAYS}"
    assert ref.startswith("private:project@")
    assert told() == [("decided", f"Convention: {FRIDAYS}")]
    assert facts("when", "last deploy")["items"] == []
    in_folder("zenith", is_repository=True)
    assert told() == []
    assert str(acme) != os.getcwd()


@pytest.mark.parametrize(
    ("is_repository", "words"), [(False, []), (True, ["--everywhere"])], ids=["folder", "asked"]
)
def test_the_sessions_of_every_project_are_told(in_folder, is_repository, words):
    """Where nothing marks a project, and where that is asked for."""
    in_folder("acme", is_repository=is_repository)
    said = facts("remember", FRIDAYS, *words)
    assert (said["project"], said["text"], said["journal"]) == ("", FRIDAYS, "private")
    in_folder("zenith", is_repository=True)
    assert told() == [("preferred", FRIDAYS)]


def test_the_sessions_below_a_chronicle_file_are_told(in_folder):
    """It marks a project; a folder of that name marks none."""
    plain = in_folder("acme", is_repository=False)
    (plain / CHRONICLE_FILE).mkdir()
    assert facts("remember", FRIDAYS)["project"] == ""
    marked = in_folder("zenith", is_repository=False)
    (marked / CHRONICLE_FILE).touch()
    assert facts("remember", FRIDAYS)["project"] == os.path.realpath(marked)


def test_all_that_was_said_is_told(in_folder):
    """Not its first sentence, or line, alone."""
    in_folder("acme", is_repository=True)
    said = f"{FRIDAYS}. Never on Mondays.\nAsk Bo."
    run("remember", said)
    assert told() == [("decided", f"Convention: {said}")]


def test_it_is_taken_back_and_replaced(in_folder):
    """As what any command wrote."""
    in_folder("acme", is_repository=True)
    run("remember", FRIDAYS)
    run("remember", "we deploy on Mondays", "--supersedes", "-1")
    assert told() == [("decided", "Convention: we deploy on Mondays")]
    run("undo", "--yes")
    assert told() == [("decided", f"Convention: {FRIDAYS}")]


def test_nothing_to_remember_is_an_error(in_folder):
    """With the code of a usage error, and nothing is written."""
    in_folder("acme", is_repository=True)
    assert run("remember", " ").exit_code == 2
    assert told() == []


@pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty")
def test_a_terminal_shows_who_is_told(in_folder):
    """And a short ref, which leads back to it."""
    in_folder("acme", is_repository=True)
    first, ref = on_screen("remember", FRIDAYS).splitlines()
    assert first == f"Sessions of acme are told: {FRIDAYS}"
    assert FRIDAYS in facts("open", ref)["text"]
