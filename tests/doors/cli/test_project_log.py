"""The project log loses the line of what is deleted, edited, forgotten or expired, or is named."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.doors.terminal import facts, opened_app, run

from commonplace.core.errors import Conflict

pytestmark = pytest.mark.usefixtures("no_weights")

SECRET = (
    "the blue door behind the bakery opens with four seven one one,\n  Ann said so\n\nund so weiter"
)
FORMATS = ["markdown", "json", "text"]


def trusted(log_format="markdown", folder="."):
    """A project whose log the user allows; where its logs lie."""
    Path(folder, ".chronicle").write_text(
        f'local_logging = true\nlog_format = "{log_format}"\n', "utf-8"
    )
    assert run("trust", folder).exit_code == 0
    return Path(folder, "logs").absolute()


def holders(text=SECRET):
    """The files of home and project that hold the first words of a text."""
    files = [x for top in (Path.home(), Path.cwd()) for x in top.rglob("*") if x.is_file()]
    return [path for path in files if text.split("\n")[0].encode() in path.read_bytes()]


def forgotten(ref):
    assert facts("forget", ref, "--yes")["clean"]


def deleted(ref):
    assert run("delete", ref, "--yes").exit_code == 0


def undone(_ref):
    assert run("chronicle", "undo", "--yes").exit_code == 0


def expired(ref):
    assert run("expire", ref, "in 5 minutes").exit_code == 0
    book = Path.home() / ".local/share/commonplace/users/me/expiring/entries.json"
    book.write_text(json.dumps({ref: 1.0}))
    run("list")


def edited(ref):
    assert run("edit", ref, "a quiet harbour", "--no-undo").exit_code == 0


@pytest.mark.parametrize("take", [forgotten, deleted, undone, expired, edited])
@pytest.mark.parametrize("log_format", FORMATS)
def test_the_line_goes_with_the_entry(log_format, take):
    """In each format, whatever took it; the lines before and after it stay byte for byte."""
    logs = trusted(log_format)
    run("log", "before", "--at", "2026-03-02 09:30:10")
    ref = facts("log", SECRET, "--tag", "door", "--at", "2026-03-02 09:30:12")["ref"]
    (log,) = logs.iterdir()
    with_line = log.read_bytes()
    assert holders() != []
    take(ref)
    assert holders() == []
    left = log.read_bytes()
    assert with_line.startswith(left) or take is edited
    assert (b"a quiet harbour" in left) == (take is edited)


@pytest.mark.parametrize("log_format", FORMATS)
def test_a_log_that_an_editor_saved_loses_the_line(log_format):
    """With other ends of lines, and none at the end of the file."""
    logs = trusted(log_format)
    run("log", "before")
    ref = facts("log", SECRET, "--tag", "door")["ref"]
    (log,) = logs.iterdir()
    log.write_bytes(log.read_bytes().rstrip(b"\n").replace(b"\n", b"\r\n"))
    deleted(ref)
    assert holders() == []
    assert b"before" in log.read_bytes()


def test_of_two_that_say_the_same_one_line_goes():
    """That of its second; and a log of nothing else is removed."""
    logs = trusted("text")
    refs = [
        facts("log", SECRET, "--at", f"2026-03-02 09:30:{second}")["ref"] for second in (10, 40)
    ]
    deleted(refs[1])
    (log,) = logs.iterdir()
    assert log.read_text().startswith("09:30:10 ")
    assert log.read_text().count("bakery") == 1
    deleted(refs[0])
    assert not log.exists()


def test_an_edit_of_its_day_moves_the_line():
    """To the log of the other day."""
    logs = trusted()
    ref = facts("log", SECRET, "--at", "2026-03-02 09:30")["ref"]
    assert run("chronicle", "edit", ref, "--at", "2026-03-05 09:30").exit_code == 0
    assert [log.name for log in logs.iterdir()] == ["2026-03-05.log"]
    deleted(ref)
    assert holders() == []


def test_a_log_of_another_project_and_zone_is_found(tmp_path, monkeypatch):
    """Deleted elsewhere, after a move; its folder is that of the day there, not here."""
    there = tmp_path / "there"
    there.mkdir()
    logs = trusted(folder=there)
    monkeypatch.setenv("COMMONPLACE_TIMEZONE", "Asia/Kolkata")
    ref = facts("log", SECRET, "--at", "2026-03-02T23:30:00Z", "--project", str(there))["ref"]
    assert [log.name for log in logs.iterdir()] == ["2026-03-03.log"]
    monkeypatch.setenv("COMMONPLACE_TIMEZONE", "UTC")
    deleted(ref)
    assert [*logs.iterdir()] == []


def test_a_log_that_git_tracks_is_named_and_left():
    """By forget, its dry run, delete and edit, with the next step; the proof finds it there."""
    logs = trusted()
    ref = facts("log", SECRET)["ref"]
    (log,) = logs.iterdir()
    git("init", "--quiet")
    git("add", "--force", str(log))
    before = log.read_bytes()
    planned = facts("forget", ref, "--dry-run")["copies"]
    assert [(each["path"], "git tracks it" in each["left"]) for each in planned] == [
        (str(log), True)
    ]
    edit = run("edit", ref, SECRET + ".")
    assert f"The project log {log} still has its line: git tracks it" in edit.output
    other = facts("log", SECRET)["ref"]
    log.write_bytes(before + log.read_bytes().removeprefix(before))
    proof = facts("forget", other, ref, "--yes", code=1)
    assert [each["place"] for each in proof["found"] if not each["refs"]] == [str(log)]
    assert any(str(log) in note for note in proof["notes"])
    assert sum(str(log) in note for note in proof["notes"]) == 1
    assert log.read_bytes().startswith(before)


def test_an_entry_that_changed_since_the_plan_keeps_its_line():
    """Forgetting it is refused, and takes neither its line nor what the edit replaced."""
    logs = trusted()
    ref = facts("log", SECRET)["ref"]
    app = opened_app()
    try:
        service = app.forgetting()
        plan = service.plan([ref])
        assert run("edit", ref, "a quiet harbour").exit_code == 0
        with pytest.raises(Conflict, match="has changed since it was read"):
            service.carry_out(plan)
    finally:
        app.close()
    (log,) = logs.iterdir()
    assert "a quiet harbour" in log.read_text()
    assert run("undo", ref, "--yes").exit_code == 0
    assert "bakery" in log.read_text()


def test_a_log_that_is_no_longer_trusted_is_named_and_left():
    """The user took the permission back: what lies there is theirs."""
    logs = trusted()
    ref = facts("log", SECRET)["ref"]
    run("trust", "--revoke")
    said = run("delete", ref, "--yes")
    assert "is no longer trusted; take the line out yourself" in said.output
    assert holders() == [*logs.iterdir()]


def test_a_log_whose_folder_was_renamed_in_its_file_is_found():
    """What was allowed before a change of `.chronicle` is remembered."""
    logs = trusted()
    ref = facts("log", SECRET)["ref"]
    Path(".chronicle").write_text('local_logging = true\nlog_dir = "elsewhere"\n')
    run("trust")
    deleted(ref)
    assert [*logs.iterdir()] == []


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX's")
def test_a_log_that_cannot_be_written_is_named(plain_permissions):
    """And the entry goes all the same."""
    logs = trusted()
    ref = facts("log", SECRET)["ref"]
    logs.chmod(0o500)
    with plain_permissions():
        said = run("delete", ref, "--yes")
    logs.chmod(0o700)
    assert said.exit_code == 0
    assert "still has its line: Access to the file" in said.output


def git(*words):
    subprocess.run(["git", *words], check=True, capture_output=True)
