"""Writes beside a person's git: neither undoes the other, and whoever is late is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
from tests.journals.notebook.moments import dies, git_that, started
from tests.journals.notebook.team import Team
from tests.patience import PATIENCE_S, until

from commonplace.core.errors import Conflict, Unavailable
from commonplace.journals.git import index as git_index
from commonplace.journals.notebook.repair import find_problems, repair
from commonplace.journals.notebook.source import NotebookSource


@pytest.fixture(autouse=True)
def _hasty(monkeypatch):
    """A lock is not waited for."""
    monkeypatch.setattr(git_index, "WAIT_S", 0.0)


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
        "from commonplace.journals.notebook.journal import NotebookJournal;"
        "folder, ledger, section, text, overview = sys.argv[1:];"
        "from commonplace.journals.git import index; index.WAIT_S = 0.0;"
        "n = NotebookJournal(Path(folder), ledger=Path(ledger), owner='me', zone=UTC,"
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
    made = notes.write("a", "y")
    assert made.entry_count == 2
    assert "index.lock" in made.notes[0]
    assert "remove the file" in made.notes[0]
    assert str(lock) not in made.notes[0]
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


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_what_a_killed_writer_had_begun_ends_before_the_next_begins(book):
    """Its git may go on without it: the next writer waits for that, then brings up the folder."""
    notes = book.open()
    notes.write("a", "x", overview="Old.")
    base = book.folder.parent
    began, go = base / "began", base / "go"
    os.mkfifo(go)
    slow = f"cat > '{began}.part'; mv '{began}.part' '{began}'; read line < '{go}'; exec $git \"$@\" < '{began}' > /dev/null"
    script = """
notes.write("a", "killed", overview="Killed.", base_version=notes.read_section("a").version)
"""
    writer = started(
        script, book.folder, ledger=base / "one.db", **git_that(base, "fast-import", slow)
    )
    until(began.exists, "the writer's git to have what it is to import")
    writer.kill()
    writer.communicate()
    made = []
    late = threading.Thread(target=lambda: made.append(notes.write("b", "late")))
    late.start()
    late.join(0.3)
    assert late.is_alive()
    go.write_text("on\n")
    late.join(PATIENCE_S)
    assert made[0].notes == ()
    assert [x.summary for x in notes.list_entries("a")] == ["killed", "x"]
    assert (book.folder / "a.md").read_text() == "Killed.\n\n<!-- entry count: 2 -->\n"
    assert book.status() == ""
    assert not (book.folder / ".git" / "index.lock").exists()


def plant(book, *paths: str) -> None:
    """Commit files under any names to the branch, as a teammate's git may bring them."""
    head = book.git("rev-parse", "HEAD").stdout.strip()
    lines = ["commit refs/heads/main", "committer Bob <bob@x.org> 1795395656 +0000"]
    lines += ["data 3", "odd", f"from {head}"]
    lines += [f'M 100644 inline "{path}"\ndata 5\nText\n' for path in paths]
    subprocess.run(
        ["git", "-C", str(book.folder), "fast-import", "--quiet"],
        input="\n".join(lines) + "\n",
        text=True,
        check=True,
    )
    book.git("reset", "-q", "--hard")


def test_a_name_that_cannot_be_said_hides_nothing(book):
    """It is in no list, and not in the index; doctor names it."""
    notes = book.open()
    notes.write("a", "x", overview="Known.")
    odd = (" .md", "notebook:b.md", "c#d.md", "-e.md", " f.md", "g .md", "h/ .md")
    plant(book, *odd, "i j.md")
    assert notes.list_sections() == ["a", "i j"]
    assert [x.id for x in notes.toc()] == ["a", "i j"]
    since = NothingKnown()
    assert {x.doc.scope for x in NotebookSource(notes).scan(since)} == {"a", "i j"}
    assert notes.write("a", "y").entry_count == 2
    found = [x.what for x in find_problems(notes)]
    assert len(found) == 6
    assert found[0] == "' .md' is in no list of sections: it begins or ends with a blank."
    assert found[-1] == "2 more files are in no list of sections."


class NothingKnown:
    """An index that holds nothing yet."""

    mark = None

    def stamps(self, _prefix: str) -> dict[str, str]:
        return {}


def test_a_teammates_folder_1500_deep_stops_nobody(tmp_path):
    """It is synced, it lies in the folder, and is no section; doctor names it."""
    team = Team(tmp_path, people=1)
    try:
        team.write(0, "a", "first", "One.")
        team.sync(0)
        commit = "commit refs/heads/main\ncommitter B <b@x> 1795395656 +0000\ndata 4\ndeep\n"
        file = f'M 100644 inline "{"d/" * 1500}x.md"\ndata 5\nText\n\n'
        subprocess.run(
            ["git", "-C", str(team.bare), "fast-import", "--quiet"],
            input=f"{commit}from {team.head(0)}\n{file}",
            text=True,
            check=True,
        )
        assert team.sync(0).notes == ()
        assert team.git(0, "status", "--porcelain") == ""
        team.write(0, "a", "second", "Two.")
        team.sync(0)
        assert team.notes[0].list_sections() == ["a"]
        assert [x.id for x in team.notes[0].toc(depth=64)] == ["a"]
        (problem,) = find_problems(team.notes[0])
        assert "more than 100 levels" in problem.what
    finally:
        team.close()
        subprocess.run(["rm", "-rf", str(team.place(0))], check=True)


def test_doctor_names_a_stale_lock_and_brings_up_what_a_killed_write_left(book):
    """A lock of git's is named, never removed; ours goes with the repair."""
    notes = book.open()
    version = notes.write("a", "x", overview="Old.").version
    assert [*find_problems(notes)] == []
    lock = book.folder / ".git" / "index.lock"
    lock.touch()
    os.utime(lock, (1_700_000_000, 1_700_000_000))
    (problem,) = find_problems(notes)
    assert (str(lock) in problem.what, problem.hint, problem.repairable) == (
        True,
        f"If no git command runs there, remove it: rm {lock}",
        False,
    )
    assert repair(notes) == []
    assert lock.exists()
    lock.unlink()
    write = 'notes.write("a", "y", overview="New.", base_version=where)'
    ledger = book.folder.parent / "one.db"
    assert dies(write, book.folder, ledger=ledger, at="before index", where=version)
    assert lock.exists()
    os.utime(lock, (1_700_000_000, 1_700_000_000))
    assert [x.repairable for x in find_problems(notes)] == [True, True]
    assert len(repair(notes)) == 2
    assert [*find_problems(notes)] == []
    assert not lock.exists()
    assert book.status() == ""
    assert (book.folder / "a.md").read_text() == "New.\n\n<!-- entry count: 2 -->\n"


def test_a_killed_writers_lock_is_not_let_go_before_the_index_has_followed(book, monkeypatch):
    """A commit that a person tries at that moment would take the overview back."""
    notes = book.open()
    version = notes.write("a", "x", overview="Old.").version
    (book.folder / "other.txt").write_text("mine")
    book.git("add", "other.txt")
    write = 'notes.write("a", "y", overview="New.", base_version=where)'
    ledger = book.folder.parent / "one.db"
    assert dies(write, book.folder, ledger=ledger, at="before index", where=version)
    unlink = os.unlink

    def and_commit(path, **more):
        unlink(path, **more)
        if os.path.basename(path) == "index.lock":
            book.git("commit", "-qm", "Other", check=False)

    monkeypatch.setattr(os, "unlink", and_commit)
    notes.write("b", "z")
    log = book.git("log", "-1", "--grep=Other", "--format=", "--name-only").stdout
    assert log == "other.txt\n"
    assert notes.read_section("a").overview == "New."


def test_what_a_reset_took_back_unasked_is_brought_again(book):
    """`git stash` resets to where the branch was when it began, though we wrote meanwhile."""
    notes = book.open()
    version = notes.write("a", "x", overview="Old.").version
    old = book.git("rev-parse", "HEAD").stdout.strip()
    notes.write("a", "y", overview="New.", base_version=version)
    book.git("update-ref", "-m", "reset: moving to HEAD", "refs/heads/main", old)
    book.git("read-tree", "--reset", "-u", old)
    assert notes.write("b", "z").notes == ()
    section = notes.read_section("a")
    assert (section.overview, section.entry_count) == ("New.", 2)
    assert [x.summary for x in notes.list_entries("a")] == ["y", "x"]
    assert book.status() == ""
    book.git("reset", "-q", "--hard", "HEAD~2")
    notes.write("b", "asked for")
    assert notes.read_section("a").overview == "Old."
