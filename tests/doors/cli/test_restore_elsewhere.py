"""A backup restored in another home: what it names of the old home lies in the new one."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from tests.doors.terminal import facts, run

from commonplace.journals.chronicle.trust import path_in_request

pytestmark = pytest.mark.usefixtures("no_weights")


def git(folder, *words):
    done = subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_what_lies_below_the_old_home_lies_below_the_new_one(tmp_path, move_home, monkeypatch):
    """Settings, registers and remotes; what lies elsewhere stays and is named; ann keeps hers."""
    ann = move_home("ann")
    project = ann / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    git(project, "init", "-q")
    (project / ".chronicle").write_text("local_logging = true\n")
    facts("config", "set", "notebook.path", ann / "notes")
    (tmp_path / "logs").mkdir()
    facts("config", "set", "log", tmp_path / "logs" / "cp.log")
    facts("trust")
    note = project / ".private-journal" / "2026-11-20" / "10-00-00-000001.md"
    note.parent.mkdir(parents=True)
    note.write_text("came along")
    git(project, "add", "-f", note)
    facts("trust", "--notes", "--yes")
    facts("private", "write", "hello", "--project-notes", "of the project")
    facts("notebook", "init")
    facts("notebook", "write", "sea", "tides")
    git(ann / "notes", "remote", "add", "origin", str(ann / "remote.git"))
    (project / "export.json").write_text(
        json.dumps(
            {"entries": [{"id": "a-1", "timestamp": "2026-03-01T09:30:00Z", "message": "x"}]}
        )
    )
    facts("chronicle", "import", "export.json")
    facts("backup", tmp_path / "a.zip")
    before = {path: path.read_bytes() for path in (ann / "notes").rglob("*") if path.is_file()}

    bob = move_home("bob")
    monkeypatch.chdir(tmp_path)
    restored = facts("restore", tmp_path / "a.zip")
    assert restored["places"]["notebook"] == str(bob / "notes")
    assert restored["outside"] == [f"the setting log: {tmp_path / 'logs' / 'cp.log'}"]
    assert len(restored["moved"]) == 5
    assert facts("config", "get", "notebook.path")["value"] == str(bob / "notes")
    assert git(bob / "notes", "remote", "get-url", "origin") == str(bob / "remote.git")
    assert before == {p: p.read_bytes() for p in (ann / "notes").rglob("*") if p.is_file()}
    # The project is copied by its owner: then all that named it there names it here.
    os.rename(project, bob / "project")
    monkeypatch.chdir(bob / "project")
    assert facts("trust", "--list")["allowed"][0]["file"] == str(bob / "project" / ".chronicle")
    trusted = {"folder": str(bob / "project" / ".private-journal"), "notes": 1}
    assert facts("trust", "--notes", "--list")["trusted"] == [trusted]
    monkeypatch.chdir(tmp_path)
    found = facts("recall", "project")["items"]
    assert any("of the project" in x["text"] for x in found)
    assert facts("chronicle", "undo", "--yes")["removed"] == 1
    home = bob / ".local" / "share" / "commonplace"
    files = [x for x in home.rglob("*") if x.is_file() and "index" not in x.parts]
    assert [x for x in files if str(ann).encode() in x.read_bytes()] == []


def test_restored_again_it_is_there_already(tmp_path, move_home, monkeypatch):
    """A restore that was killed and is asked again takes what it led elsewhere for what it is."""
    ann = move_home("ann")
    (ann / "project").mkdir()
    monkeypatch.chdir(ann / "project")
    facts("private", "write", "hello", "--project-notes", "of the project")
    facts("config", "set", "log", ann / "cp.log")
    facts("backup", tmp_path / "a.zip")
    move_home("bob")
    monkeypatch.chdir(tmp_path)
    first = facts("restore", tmp_path / "a.zip")
    assert facts("restore", tmp_path / "a.zip")["files"] == first["files"]


def test_in_the_same_home_nothing_is_moved_or_named(tmp_path, move_home):
    """A path outside of the home is then as right as it was."""
    ann = move_home("ann")
    facts("config", "set", "log", tmp_path / "cp.log")
    facts("log", "one")
    facts("backup", tmp_path / "a.zip")
    ann.rename(tmp_path / "away")
    ann.mkdir()
    restored = facts("restore", tmp_path / "a.zip")
    assert (restored["moved"], restored["outside"]) == ([], [])


def test_a_path_that_climbs_out_is_no_path_of_the_home(tmp_path, move_home):
    """It is judged by where it ends."""
    ann = move_home("ann")
    (tmp_path / "elsewhere").mkdir()
    file = ann / ".config" / "commonplace" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'log = "{ann}/../elsewhere/cp.log"\n')
    facts("log", "one")
    facts("backup", tmp_path / "a.zip")
    move_home("bob")
    assert facts("restore", tmp_path / "a.zip")["outside"]
    assert run("config", "get", "log").stdout.strip() == str(tmp_path / "elsewhere" / "cp.log")


def test_two_names_of_one_place_stay_two_files(tmp_path, move_home):
    """A home and the link to it lead to one place: no file is given the name of another."""
    ann = move_home("ann")
    trusted = ann / ".local" / "share" / "commonplace" / "users" / "me" / "trusted"
    trusted.mkdir(parents=True)
    (tmp_path / "link").symlink_to(ann)
    for number, home in enumerate([ann, tmp_path / "link"]):
        asked = {"file": f"{home}/p/.chronicle", "content": "", "allowed": True}
        (trusted / f"{number:032x}").write_text(json.dumps(asked))
    with pytest.MonkeyPatch.context() as linked:
        linked.setenv("HOME", str(tmp_path / "link"))
        facts("backup", tmp_path / "a.zip")

    bob = move_home("bob")
    facts("restore", tmp_path / "a.zip")
    found = (bob / trusted.relative_to(ann)).iterdir()
    files = [json.loads(each.read_bytes())["file"] for each in found]
    assert len(files) == 2
    assert f"{bob}/p/.chronicle" in files


def test_a_file_that_names_no_path_is_left():
    """However deep what it holds is nested."""
    assert path_in_request(b"[" * 1_000_000) == ""
