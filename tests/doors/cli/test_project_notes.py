"""The notes of projects: in every backup and export, and put back where their project is."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import zipfile

import pytest
from tests.doors.terminal import facts, run

pytestmark = pytest.mark.usefixtures("no_weights")


@pytest.fixture
def homes(tmp_path, monkeypatch, move_home):
    """What has the next commands run in a new or former home, outside of every project."""

    def at(name):
        monkeypatch.chdir(tmp_path)
        return move_home(name)

    return at


@pytest.fixture
def work_in(monkeypatch):
    """What has the next commands run in a folder, which is made, and may be made a repository."""

    def at(folder, *, git=True):
        folder.mkdir(parents=True, exist_ok=True)
        if git and not (folder / ".git").exists():
            in_git(folder, "init", "-q")
        monkeypatch.chdir(folder)
        return folder

    return at


def in_git(folder, *words):
    who = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
    subprocess.run(["git", "-C", folder, *who, *words], check=True, capture_output=True)


def note(text, *words):
    """Write a note about the project at hand; its ref."""
    return facts("private", "write", "", "--project-notes", text, *words)["refs"][-1]


def notes_in(folder):
    """The texts of the notes that a project's folder holds."""
    found = sorted((folder / ".private-journal").glob("*/*.md"))
    return [path.read_text().rsplit("\n\n", 1)[-1].strip() for path in found]


def test_a_backup_holds_the_notes_of_every_project(tmp_path, homes, work_in):
    """A restore puts them back into the projects that are there, with their times, for you alone."""
    ann = homes("ann")
    for name in ("tides", "moons"):
        work_in(ann / name)
        note(f"about {name}")
    before = {path: path.read_bytes() for path in ann.glob("*/.private-journal/*/*.md")}
    homes("ann")
    assert facts("backup", tmp_path / "all.zip")["not_included"] == []
    shutil.rmtree(ann / ".local")
    for name in ("tides", "moons"):
        shutil.rmtree(ann / name / ".private-journal")
    shutil.rmtree(ann / "moons")
    restored = facts("restore", tmp_path / "all.zip")
    assert restored["projects"] == [str(ann / "tides" / ".private-journal")]
    there = {path: path.read_bytes() for path in ann.glob("*/.private-journal/*/*.md")}
    assert there == {path: text for path, text in before.items() if "tides" in path.parts}
    assert {path.stat().st_mode & 0o777 for path in there} == {0o600}
    # The other is kept until its project is opened.
    work_in(ann / "moons")
    assert [x["text"].strip() for x in facts("private", "list")["items"]] == ["about moons"]
    assert notes_in(ann / "moons") == ["about moons"]


def test_they_are_led_to_another_home(tmp_path, homes, work_in):
    """With the links among them, and when they expire; nothing there names the old home."""
    ann = homes("ann")
    work_in(ann / "tides")
    former = note("low at seven")
    note("low at eight", "--supersedes", former)
    ending = note("until noon", "--expires", "in 2 days")
    homes("ann")
    facts("backup", tmp_path / "all.zip")
    bob = homes("bob")
    work_in(bob / "tides")
    restored = facts("restore", tmp_path / "all.zip")
    assert restored["projects"] == [str(bob / "tides" / ".private-journal")]
    found = {x["text"].strip(): x for x in facts("private", "list")["items"]}
    assert found.keys() == {"low at seven", "low at eight", "until noon"}
    later = facts("open", found["low at eight"]["ref"])
    assert later["supersedes"] == found["low at seven"]["ref"] != former
    assert facts("expire")["items"][0]["ref"] == found["until noon"]["ref"] != ending
    assert [
        path
        for path in bob.rglob("*")
        if path.is_file() and "index" not in path.parts and str(ann).encode() in path.read_bytes()
    ] == []


def test_a_project_outside_of_the_home_is_named_once(tmp_path, homes, work_in):
    """As one that notes were put back into, not as a path that was left as it is."""
    homes("ann")
    work_in(tmp_path / "tides")
    note("low at seven")
    facts("backup", tmp_path / "all.zip")
    shutil.rmtree(tmp_path / "tides" / ".private-journal")
    homes("bob")
    restored = facts("restore", tmp_path / "all.zip")
    root = str(tmp_path / "tides" / ".private-journal")
    assert (restored["projects"], [x for x in restored["outside"] if root in x]) == ([root], [])


def test_a_restore_that_put_them_back_can_be_repeated(tmp_path, homes, work_in):
    """What is there is not written again, whatever the notes say by then."""
    ann = homes("ann")
    work_in(ann / "tides")
    note("low at seven")
    facts("backup", tmp_path / "all.zip")
    bob = homes("bob")
    work_in(bob / "tides")
    facts("restore", tmp_path / "all.zip")
    (path,) = (bob / "tides").glob(".private-journal/*/*.md")
    path.write_text("changed by hand")
    assert facts("restore", tmp_path / "all.zip")["projects"] == []
    assert path.read_text() == "changed by hand"


def test_an_export_holds_them_too(tmp_path, homes, work_in):
    """An import has them in their project, and exports the same lines again."""
    work_in(homes("ann") / "tides")
    former = note("low at seven")
    note("low at eight", "--supersedes", former)
    work_in(homes("ann") / "moons")
    note("full on friday")
    homes("ann")
    assert facts("export", tmp_path / "all")["journals"]["private"] == 3
    page = "".join(x.read_text() for x in (tmp_path / "all/private").glob("*.md"))
    assert "- Project: ~/tides/.private-journal" in page
    bob = homes("bob")
    work_in(bob / "tides")
    assert facts("import", tmp_path / "all")["new"]["private"] == 3
    assert notes_in(bob / "tides") == ["low at seven", "low at eight"]
    newest = facts("private", "list")["items"][0]
    assert facts("open", newest["ref"])["supersedes"].startswith(newest["ref"].partition("/")[0])
    work_in(bob / "moons")
    assert [x["text"].strip() for x in facts("private", "list")["items"]] == ["full on friday"]
    homes("bob")
    facts("export", tmp_path / "again")
    lines = [(tmp_path / x / "private/entries.jsonl").read_text() for x in ("all", "again")]
    digests = [re.sub(r"project@\w{8}", "project@", x) for x in lines]
    assert digests[0] == digests[1]


def test_what_git_holds_stays_with_git(tmp_path, homes, work_in):
    """A note in git's index or HEAD is the repository's: left out of a backup, and named."""
    ann = homes("ann")
    project = work_in(ann / "tides")
    note("of our own")
    for number, stage in enumerate(("index", "HEAD")):
        path = project / ".private-journal" / f"2026-01-0{number + 1}" / "10-00-00-000000.md"
        path.parent.mkdir()
        path.write_text(f"## Project Notes\n\nof the {stage}\n")
        in_git(project, "add", "-f", str(path))
        if stage == "index":
            in_git(project, "commit", "-qm", "one")
            in_git(project, "rm", "-q", "--cached", str(path))
    for command, made in (("backup", "all.zip"), ("export", "all.export.zip")):
        assert facts(command, tmp_path / made)["not_included"] == [
            f"{project / '.private-journal'}: 2 notes that its git repository holds itself."
        ]
        with zipfile.ZipFile(tmp_path / made) as archive:
            held = b"".join(archive.read(name) for name in archive.namelist())
        assert (b"of our own" in held, b"of the index" in held, b"of the HEAD" in held) == (
            True,
            False,
            False,
        )


def test_a_hostile_backup_writes_into_no_folder_that_is_no_project(tmp_path, homes, work_in):
    """Neither the home, nor a folder in a project, nor through a link, nor under another name."""
    ann = homes("ann")
    work_in(ann / "tides")
    note("low at seven")
    facts("backup", tmp_path / "all.zip")
    bob = homes("bob")
    work_in(bob / "tides" / "inner", git=False)
    in_git(bob / "tides", "init", "-q")
    os.symlink(bob, bob / "tides" / ".private-journal")
    targets = [bob, bob / "tides" / "inner", bob / "tides", tmp_path / "bob" / "tides" / "x"]
    for number, target in enumerate(targets):
        made, name = tmp_path / f"{number}.zip", ".private-journal" if number < 3 else "notes"
        with zipfile.ZipFile(tmp_path / "all.zip") as old, zipfile.ZipFile(made, "w") as new:
            texts = {x: old.read(x) for x in old.namelist()}
            record = next(x for x in texts if x.endswith("copy.json"))
            said = json.loads(texts[record]) | {"path": str(target / name)}
            texts[record] = json.dumps(said).encode()
            manifest = json.loads(texts["manifest.json"])
            for each in manifest["files"]:
                each["size"] = len(texts[each["name"]])
                each["sha256"] = hashlib.sha256(texts[each["name"]]).hexdigest()
            texts["manifest.json"] = json.dumps(manifest).encode()
            for each, text in texts.items():
                new.writestr(each, text)
        shutil.rmtree(bob / ".local", ignore_errors=True)
        assert facts("restore", made)["projects"] == []
        assert [*bob.glob("2026*")] == [*(bob / "tides" / "inner").iterdir()] == []


def test_what_was_forgotten_is_in_no_copy(tmp_path, homes, work_in):
    """An edit, a deletion and `forget` take the text out of the copy in the home at once."""
    ann = homes("ann")
    work_in(ann / "tides")
    words = "ochre zebrafinch counts eleven velvet umbrellas by the harbour wall at dawn"
    refs = [note(f"{words} {number}") for number in range(3)]
    facts("backup", tmp_path / "all.zip")
    facts("edit", refs[0], "nothing of it")
    facts("delete", refs[1], "--yes")
    done = facts("forget", refs[2], "--yes")
    assert (done["clean"], done["found"]) == (True, [])
    assert [
        path for path in ann.rglob("*") if path.is_file() and words.encode() in path.read_bytes()
    ] == []
    assert run("private", "list").output.count("nothing of it") == 1
