"""What was written while there was no home comes home: whole, once, and after a kill as well."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.doors.terminal import facts, run
from tests.journals.private.killing import KILL_BEFORE
from tests.journals.private.test_faults import PRELUDE, STEPS
from tests.patience import PATIENCE_S

from commonplace.journals.private.roots import Root, temporary_folder
from commonplace.journals.private.temporary import move_entries

MOVES = (
    PRELUDE
    + KILL_BEFORE
    + """
import shutil
from commonplace.journals.private.roots import Root
from commonplace.journals.private.temporary import move_entries

base, steps = json.loads(sys.argv[1])
for step in itertools.count(1):
    folder = Path(base) / str(step)
    shutil.copytree(Path(base) / "laid", folder / "temporary")
    child = os.fork()
    if child == 0:
        kill_before(step, steps)
        home = Root(path=folder / "home", scope="user", kinds=frozenset({"user"}))
        move_entries(folder / "temporary", home)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        break
print(step)
"""
)


def lay(folder, entries):
    """Files by their paths below a folder, each with vectors and a time of its own."""
    for number, (name, text) in enumerate(entries.items()):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.with_suffix(".embedding").write_text("[]")
        os.utime(file, ns=(number, number))


def entries_in(folder):
    return {str(x.relative_to(folder)): x.read_text() for x in folder.rglob("*.md")}


def user_root(path):
    return Root(path=path, scope="user", kinds=frozenset({"user"}))


def test_a_move_that_is_killed_loses_and_doubles_nothing(tmp_path):
    """Killed before each step in turn: each entry is somewhere whole, and the next move ends it."""
    laid = {f"2026-11-2{n % 2}/10-00-00-00000{n}.md": f"thought {n}\n" for n in range(3)}
    lay(tmp_path / "laid", laid)
    done = subprocess.run(
        [sys.executable, "-c", MOVES, json.dumps([str(tmp_path), STEPS])],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    steps = int(done.stdout)
    assert steps > 30
    for step in range(1, steps + 1):
        temporary, home = tmp_path / str(step) / "temporary", tmp_path / str(step) / "home"
        assert {**entries_in(temporary), **entries_in(home)} == laid
        move_entries(temporary, user_root(home))
        assert entries_in(home) == laid
        assert sorted(x.stat().st_mtime_ns for x in home.rglob("*.md")) == [0, 1, 2]
        assert not temporary.exists()


def test_what_is_there_already_is_neither_doubled_nor_written_over(tmp_path):
    """An entry that is home stays the one; another one of its name gets the next name."""
    one, two = "2026-11-20/10-00-00-000001.md", "2026-11-20/10-00-00-999999.md"
    lay(tmp_path / "temporary", {one: "the same", two: "of the temporary folder"})
    lay(tmp_path / "home", {one: "the same", two: "of the home"})
    move_entries(tmp_path / "temporary", user_root(tmp_path / "home"))
    moved = {"2026-11-20/10-00-00-000000.md": "of the temporary folder"}
    assert entries_in(tmp_path / "home") == {one: "the same", two: "of the home", **moved}


def test_what_another_user_may_have_laid_there_is_left_alone(tmp_path):
    """A link under the name of the folder leads to nothing that is moved; other files stay."""
    lay(tmp_path / "theirs", {"2026-11-20/10-00-00-000001.md": "theirs"})
    (tmp_path / "link").symlink_to(tmp_path / "theirs")
    move_entries(tmp_path / "link", user_root(tmp_path / "root"))
    assert not (tmp_path / "root").exists()
    (tmp_path / "theirs" / "a list.txt").write_text("no entry")
    move_entries(tmp_path / "theirs", user_root(tmp_path / "root"))
    assert [x.name for x in (tmp_path / "theirs").rglob("*")] == ["a list.txt"]


@pytest.mark.usefixtures("no_weights")
def test_what_was_written_without_a_home_is_there_with_one(tmp_path, monkeypatch):
    """Later commands read it, doctor names the folder; once the home can be made it is there."""
    (tmp_path / "no home").touch()
    home = tmp_path / "no home" / "ann"
    monkeypatch.setenv("HOME", str(home))
    ref = facts("private", "write", "the quetzal entry")["ref"]
    temporary = temporary_folder(Path(tempfile.gettempdir()), home)
    assert [x["ref"] for x in facts("private", "list")["items"]] == [ref]
    assert str(temporary) in run("doctor").output
    monkeypatch.setenv("HOME", str(tmp_path / "no home" / "bob"))
    assert facts("private", "list")["items"] == []
    monkeypatch.setenv("HOME", str(home))
    (tmp_path / "no home").unlink()
    assert [x["ref"] for x in facts("private", "list")["items"]] == [ref]
    assert facts("open", ref)["text"].endswith("the quetzal entry\n")
    assert [*home.rglob("*.md")]
    assert not temporary.exists()
    assert str(temporary) not in run("doctor").output
