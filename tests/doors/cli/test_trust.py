"""`commonplace trust`: what it allows, what it refuses, and what it says of it."""

from __future__ import annotations

import json
import os

import pytest
from click.testing import CliRunner

from commonplace.doors.cli import main

pytestmark = pytest.mark.usefixtures("no_weights")


@pytest.fixture
def project(tmp_path):
    """A project whose `.chronicle` asks for a log."""
    (tmp_path / "project" / ".chronicle").write_text("local_logging = true\n")
    return tmp_path / "project"


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_a_log_is_written_between_trust_and_revoke(project):
    """Allowed, listed with its mode, taken back; the log that is there stays."""
    assert "`commonplace trust`" in run("log", "one").stdout
    before = os.umask(0o022)
    try:
        said = run("trust")
    finally:
        os.umask(before)
    assert said.exit_code == 0, said.stderr
    assert str(project / "logs" / "YYYY-MM-DD.log") in said.stdout
    assert "mode 0644 under your umask: other users of this machine can read them" in said.stdout
    assert "`commonplace trust`" not in run("log", "two").stdout
    assert str(project / ".chronicle") in run("trust", "--list").stdout
    assert run("trust", "--revoke", project).exit_code == 0
    run("log", "three")
    (log,) = (project / "logs").iterdir()
    assert [word in log.read_text() for word in ("one", "two", "three")] == [False, True, False]
    assert run("trust", "--list").stdout == "No repository is allowed a log.\n"
    assert run("trust", "--revoke").exit_code == 3


def test_a_project_can_be_named_by_its_folder_or_its_file(project, tmp_path, monkeypatch):
    """From anywhere; the answer's facts name the file, the folder of the logs and their mode."""
    monkeypatch.chdir(tmp_path / "home")
    facts = json.loads(run("trust", project, "--json").stdout)
    assert facts["file"] == str(project / ".chronicle")
    assert facts["folder"] == str(project / "logs")
    assert run("trust", project / ".chronicle").exit_code == 0


@pytest.mark.parametrize(
    ("config", "code", "says"),
    [
        (None, 3, "No file .chronicle lies in"),
        ("", 2, "asks for no project log"),
        ("local_logging = maybe", 2, "No project log was written"),
        ('local_logging = true\nlog_dir = "../out"', 1, "leads out of its folder"),
        ('local_logging = true\nlog_dir = ".git/refs/heads"', 1, "leads into git's own folder"),
    ],
)
def test_what_cannot_be_allowed(project, config, code, says):
    """The reason is named, and nothing is remembered."""
    (project / ".chronicle").unlink()
    if config is not None:
        (project / ".chronicle").write_text(config)
    done = run("trust")
    assert (done.exit_code, says in done.stderr) == (code, True), done.stderr
    assert run("trust", "--list").stdout == "No repository is allowed a log.\n"


def test_where_no_project_is_known_its_folder_is_asked_for(tmp_path, monkeypatch):
    """In the home itself nothing is guessed; --list with a folder is a mistake that is named."""
    monkeypatch.chdir(tmp_path / "home")
    assert "commonplace trust PATH" in run("trust").stderr
    assert run("trust", "x", "--list").exit_code == 2


def test_doctor_tells_of_the_project_log(project):
    """Before it is allowed how to allow it, afterwards where it lies and who can read it."""
    assert f"asks for a project log at {project / 'logs'}" in run("doctor").stdout
    run("trust")
    assert f"Entries are also written to {project / 'logs'}." in run("doctor").stdout
