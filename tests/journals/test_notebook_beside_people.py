"""Writes beside a person's git: neither undoes the other, and whoever is late is refused."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from commonplace.core.errors import Conflict, Unavailable
from commonplace.journals import gitrepo_index


@pytest.fixture(autouse=True)
def _hasty(monkeypatch):
    """A lock is not waited for."""
    monkeypatch.setattr(gitrepo_index, "WAIT_S", 0.0)


def script(book, name: str, line: str) -> str:
    """A shell script that does one thing with the notebook's folder at hand."""
    path = book.folder.parent / name
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
    return str(path)


def writing(book, section: str, text: str, overview: str) -> str:
    """A command line with which another process of ours writes."""
    program = (
        "import sys; from pathlib import Path; from datetime import UTC, datetime;"
        "from commonplace.journals.notebook import Notebook;"
        "folder, ledger, section, text, overview = sys.argv[1:];"
        "n = Notebook(Path(folder), ledger=Path(ledger), owner='me', zone=UTC,"
        " clock=lambda: datetime.now(UTC));"
        "n.write(section, text, overview=overview, base_version=n.read_section(section).version)"
    )
    words = (str(book.folder), str(book.folder.parent / "w.db"), section, text, overview)
    quoted = " ".join(f"'{x}'" for x in words)
    return f'env -u GIT_INDEX_FILE -u GIT_DIR {sys.executable} -c "{program}" {quoted}'


def test_a_plain_commit_after_a_write_reverts_nothing(book):
    """What a person staged before a write is committed after it, and nothing else."""
    notes = book.open()
    notes.write("a", "x", overview="Old.")
    (book.folder / "other.txt").write_text("mine")
    book.git("add", "other.txt")
    version = notes.read_section("a").version
    notes.write("a", "y", overview="New.", base_version=version)
    book.git("commit", "-qm", "Other")
    assert notes.read_section("a").overview == "New."
    assert book.git("show", "--format=", "--name-only", "HEAD").stdout == "other.txt\n"
    assert book.status() == ""


def test_a_write_within_a_persons_commit_makes_that_commit_fail(book):
    """Git read the index, we wrote, git refuses to move the branch; said again, both are there."""
    notes = book.open()
    notes.write("a", "x", overview="Old.")
    (book.folder / "other.txt").write_text("mine")
    book.git("add", "other.txt")
    editor = script(book, "editor", f'{writing(book, "a", "y", "New.")} && echo Other > "$1"')
    refused = book.git("commit", check=False, GIT_EDITOR=editor)
    assert refused.returncode != 0
    assert "cannot lock ref 'HEAD'" in refused.stderr
    assert notes.read_section("a").overview == "New."
    book.git("commit", "-qm", "Other")
    assert notes.read_section("a").overview == "New."
    assert book.git("show", "--format=", "--name-only", "HEAD").stdout == "other.txt\n"
    assert book.status() == ""


def test_a_persons_command_that_holds_the_index_refuses_an_overview(book):
    """`commit -a` holds it while the message is typed: nothing is written, and nothing is lost."""
    notes = book.open()
    notes.write("a", "x", overview="Old.")
    (book.folder / "a.md").write_text("By hand.\n")
    editor = script(book, "editor", f'{writing(book, "a", "y", "New.")} 2> said; echo Mine > "$1"')
    book.git("commit", "-qa", GIT_EDITOR=editor)
    said = (book.folder / "said").read_text()
    assert "index.lock is there" in said
    section = notes.read_section("a")
    assert (section.overview, section.entry_count) == ("By hand.", 2)


def test_a_stale_lock_lets_an_entry_through_and_nothing_falls_behind(book):
    """An entry changes no file then; an overview and a new section are refused, with the lock."""
    notes = book.open()
    version = notes.write("a", "x", overview="Old.").version
    lock = book.folder / ".git" / "index.lock"
    lock.touch()
    assert notes.write("a", "y").entry_count == 2
    with pytest.raises(Unavailable, match=r"remove .*index\.lock"):
        notes.write("a", "z", overview="New.", base_version=version)
    with pytest.raises(Unavailable):
        notes.write("b", "z")
    lock.unlink()
    assert book.status() == ""
    (book.folder / "other.txt").write_text("mine")
    book.git("add", "other.txt")
    book.git("commit", "-qm", "Other")
    assert notes.list_sections() == ["a"]
    assert notes.write("a", "z", overview="New.", base_version=version).entry_count == 3
    assert (book.folder / "a.md").read_text() == "New.\n\n<!-- entry count: 3 -->\n"
    assert [x.summary for x in book.open().list_entries("a")] == ["z", "y", "x"]


def test_an_overview_is_not_written_over_what_a_person_is_at(book):
    """Edited, staged, removed or not added yet: the next commit there would undo it."""
    notes = book.open()
    version = notes.write("a", "x", overview="Old.").version
    path = book.folder / "a.md"
    for prepare in (
        lambda: path.write_text("I am typing"),
        lambda: book.git("add", "a.md"),
        lambda: book.git("restore", "--worktree", "--source=HEAD", "a.md"),
        lambda: book.git("rm", "-qf", "a.md"),
    ):
        prepare()
        with pytest.raises(Conflict, match=r"not committed: a\.md"):
            notes.write("a", "y", overview="New.", base_version=version)
    book.git("restore", "--staged", "--worktree", "a.md")
    (book.folder / "b.md").write_text("Mine, not added.")
    with pytest.raises(Conflict, match=r"not committed: b\.md"):
        notes.write("b", "y", overview="New.")
    assert notes.write("a", "y", overview="New.", base_version=version).notes == ()
    assert (book.folder / "b.md").read_text() == "Mine, not added."


def test_a_command_that_read_the_index_before_and_wrote_it_after(book):
    """Git itself does: the next write finds that the index fell behind, and brings it up."""
    notes = book.open()
    version = notes.write("a", "x", overview="Old.").version
    index = book.folder / ".git" / "index"
    before = index.read_bytes()
    notes.write("a", "y", overview="New.", base_version=version)
    index.write_bytes(before)
    assert book.status() == "MM a.md\n"
    notes.write("b", "z")
    assert book.status() == ""
    assert book.git("show", ":a.md").stdout == "New.\n\n<!-- entry count: 2 -->\n"


def test_what_a_person_takes_back_stays_so(book):
    """The text of before, in the folder and staged, is a person's own doing."""
    notes = book.open()
    version = notes.write("a", "x", overview="Old.").version
    notes.write("a", "y", overview="New.", base_version=version)
    book.git("checkout", "-q", "HEAD~1", "--", "a.md")
    notes.write("b", "z")
    assert book.status() == "M  a.md\n"
    assert (book.folder / "a.md").read_text() == "Old.\n\n<!-- entry count: 1 -->\n"


@pytest.mark.skipif(os.name == "nt", reason="modes")
def test_a_file_that_may_be_run_stays_so(book):
    """In the tree, in the index and in the folder; a mode that was staged as well."""
    notes = book.open()
    version = notes.write("d/a", "x", overview="Old.").version
    notes.write("b", "x")
    path = book.folder / "d" / "a.md"
    path.chmod(0o755)
    book.git("commit", "-qam", "It runs")
    notes.write("d/a", "y", overview="New.", base_version=version)
    assert book.git("ls-tree", "HEAD", "d/a.md").stdout.startswith("100755")
    assert os.access(path, os.X_OK)
    notes.move("d/a", "c")
    assert book.git("ls-tree", "HEAD", "c.md").stdout.startswith("100755")
    assert os.access(book.folder / "c.md", os.X_OK)
    assert book.status() == ""
    book.git("update-index", "--chmod=+x", "b.md")
    notes.write("b", "y")
    assert book.git("ls-files", "-s", "b.md").stdout.startswith("100755")


_STOPPED = """
from commonplace.journals import gitrepo_run
gitrepo_run._git = lambda: where
notes = opened()
notes.write("a", "killed", overview="Killed.", base_version=notes.read_section("a").version)
"""


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_what_a_killed_writer_had_begun_ends_before_the_next_begins(book):
    """Its git may go on without it: the next writer waits for that, then brings up the folder."""
    from tests.journals.notebook_killed import _BEFORE

    notes = book.open()
    notes.write("a", "x", overview="Old.")
    ledger = book.folder.parent / "one.db"
    began, go = (book.folder.parent / x for x in ("began", "go"))
    git = script(
        book,
        "git-that-waits",
        f"""case "$*" in *fast-import*) ;; *) exec {shutil.which("git")} "$@";; esac
cat > '{began}.part'; mv '{began}.part' '{began}'
while [ ! -e '{go}' ]; do sleep 0.02; done
exec {shutil.which("git")} "$@" < '{began}' > /dev/null""",
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", _BEFORE + _STOPPED, str(book.folder), str(ledger), git]
    )
    _until(began.exists)
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    with subprocess.Popen(["sh", "-c", f"sleep 0.3; touch '{go}'"]):
        made = notes.write("b", "late")
    assert made.notes == ()
    assert [x.summary for x in notes.list_entries("a")] == ["killed", "x"]
    assert (book.folder / "a.md").read_text() == "Killed.\n\n<!-- entry count: 2 -->\n"
    assert book.status() == ""
    assert not (book.folder / ".git" / "index.lock").exists()


def _until(holds) -> None:
    for _ in range(3000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("It did not happen.")
