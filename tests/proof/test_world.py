"""Homes, projects and folders as they come: none, unwritable, shared, and filled by other programs."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from tests.doors.terminal import run
from tests.patience import until

from commonplace_testing import HashingEncoder, ReadySlot

GOLDEN = Path(__file__).parent.parent / "golden" / "private-journal"
VERSIONS = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())


def test_without_a_home_every_answer_names_the_folder_used_instead(world, tmp_path, no_weights):
    """A home that cannot be made: a closed folder under the temp directory, said each time."""
    temp = world.folder / "temp"
    (tmp_path / "file").touch()
    env = {
        "HOME": str(tmp_path / "file" / "home"),
        "COMMONPLACE_HOME": str(tmp_path / "own"),
    }
    server = world.server(env=env)
    server.call("process_thoughts", {"feelings": "a quiet harbour"})
    (entry,) = temp.rglob("*.md")
    root = entry.parents[1]
    assert root.name.startswith(f"private-journal-{os.getuid()}-")
    for name, arguments in (
        ("process_thoughts", {"feelings": "another"}),
        ("search_journal", {"query": "harbour"}),
        ("list_recent_entries", {}),
        ("read_recent_entries", {}),
        ("read_journal_entry", {"path": str(entry)}),
    ):
        text = server.text(name, arguments)
        assert f"Note: There is no home folder to write to: the journal is kept in {root}" in text
        assert "COMMONPLACE_PRIVATE_USER" in text
    assert root.stat().st_mode & 0o777 == 0o700


def test_the_home_itself_is_no_project(world, no_weights):
    """Started in the home folder: project notes go to the user's journal, and one entry is one."""
    server = world.server(cwd=world.home)
    server.call("process_thoughts", {"project_notes": "a note", "feelings": "a thought"})
    assert {path.parents[1] for path in world.entries()} == {world.user_root}
    listed = server.call("list_recent_entries", {"type": "both"})["structuredContent"]["entries"]
    assert len(listed) == len({entry["ref"] for entry in listed}) == len(world.entries())


def test_one_folder_for_both_is_one_journal(world, tmp_path, no_weights):
    """PRIVATE_JOURNAL_PATH names both roots: each entry appears once, under either type."""
    folder = tmp_path / "both"
    server = world.server(env={"PRIVATE_JOURNAL_PATH": str(folder)})
    server.call(
        "process_thoughts", {"project_notes": "harbour note", "feelings": "harbour thought"}
    )
    assert world.entries() == []
    paths = {str(path) for path in folder.rglob("*.md")}
    for kind in ("user", "project", "both"):
        hits = server.call("search_journal", {"query": "harbour", "type": kind})
        found = [hit["path"] for hit in hits["structuredContent"]["results"]]
        assert sorted(found) == sorted(paths)


@pytest.mark.parametrize("version", VERSIONS)
def test_entries_of_the_reference_are_found_and_left_as_they_are(world, version):
    """The golden folders: listed, found by meaning and by words, not a byte of them changed."""
    shutil.copytree(GOLDEN / version / "home" / "private-journal", world.user_root)
    shutil.copytree(GOLDEN / version / "proj" / "private-journal", world.project_root)
    files = [path for root in (world.user_root, world.project_root) for path in root.rglob("*.*")]
    before = {path: path.read_bytes() for path in files}
    app = world.app(ReadySlot(HashingEncoder()))
    listed = app.private.service().list_recent_entries(days=36500, limit=100).facts
    assert listed["count"] == len(world.entries())
    app.filing.catch_up()
    for path in world.entries():
        body = re.sub(r"\A---\n.*?\n---\n", "", path.read_text(), flags=re.DOTALL)
        words = re.findall(r"[^\W\d_]{5,}", re.sub(r"^## .*$", "", body, flags=re.MULTILINE))
        if not words:
            continue
        query = " ".join(words[:12])
        facts = app.private.service().search_journal(query=query, limit=100, explain=True).facts
        assert facts["notes"] == []
        assert {hit["path"]: hit["by"] for hit in facts["results"]}[str(path)] == "both"
    app.close()
    assert {path: path.read_bytes() for path in before} == before


def test_an_edit_in_place_that_keeps_the_folders_time_is_found(world, no_weights):
    """An editor writes into the file itself: the next search after the sweep's interval sees it."""
    server = world.server()
    server.call("process_thoughts", {"feelings": "about walnuts"})
    (path,) = world.entries()
    day = path.parent.stat()
    path.write_text(path.read_text().replace("walnuts", "almonds, freshly roasted"))
    os.utime(path.parent, ns=(day.st_atime_ns, day.st_mtime_ns))

    def finds(word):
        facts = server.call("search_journal", {"query": word, "floor": 1})["structuredContent"]
        return bool(facts["results"])

    until(lambda: finds("almonds"), "the edit to be found")
    assert not finds("walnuts")


def test_the_terminal_and_the_server_see_each_other(world, no_weights):
    """What one writes the other finds, edits and deletes, at once and for good."""
    server = world.server()

    def terminal(*words):
        done = run("private", *words)
        assert done.exit_code == 0, done.output
        return done.stdout

    assert "recorded" in terminal("write", "about hazelnuts", "--category", "feelings")
    (path,) = world.entries()
    assert str(path) in server.text("search_journal", {"query": "hazelnuts"})
    server.call("process_thoughts", {"feelings": "about chestnuts"})
    assert "chestnuts" in terminal("search", "chestnuts")
    terminal("edit", str(path), "## Feelings\n\nabout pistachios")
    assert str(path) in server.text("search_journal", {"query": "pistachios", "floor": 1})
    terminal("delete", str(path), "--yes")
    assert "No relevant" in server.text("search_journal", {"query": "pistachios", "floor": 1})
    assert len(world.entries()) == 1
