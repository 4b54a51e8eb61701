"""A repository in any state works, or says exactly what to do."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess

import pytest
from tests.journals.notebook.moments import hurry, started
from tests.patience import PATIENCE_S

from commonplace.core.errors import Conflict, Denied, Invalid, NotFound, Unavailable
from commonplace.journals.git.commit import render_person
from commonplace.journals.git.repo import find_repository, is_repository


def head(book, folder=None):
    """The head as git itself tells it."""
    return book.git("rev-parse", "HEAD", folder=folder).stdout.strip()


def test_the_head_is_read_without_git(book, monkeypatch):
    """Unborn, loose and packed; of a branch with a slash too."""
    notes = book.open()
    assert notes.repo.head().branch == "refs/heads/main"
    assert notes.repo.head().commit == ""
    notes.write("a", "x")
    book.git("switch", "-q", "-c", "topic/one")
    expected = head(book)
    loose = notes.repo.head()
    book.git("pack-refs", "--all", "--prune")
    with monkeypatch.context() as without:
        without.setattr(subprocess, "Popen", None)
        assert loose == notes.repo.head()
    assert (loose.branch, loose.commit) == ("refs/heads/topic/one", expected)


def test_a_branch_name_that_stands_for_another(book):
    """Git is asked where its files do not say."""
    notes = book.open()
    notes.write("a", "x")
    book.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    book.git("symbolic-ref", "HEAD", "refs/heads/alias")
    assert notes.repo.head().commit == head(book)


def test_a_worktree_is_a_notebook_too(book, tmp_path):
    """With its own branch; what it writes leaves the first one's folder alone."""
    notes = book.open()
    notes.write("a", "x")
    book.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    other = book.open(tmp_path / "other")
    assert other.write("a", "y").entry_count == 2
    assert (tmp_path / "other" / "a.md").read_text() == "<!-- entry count: 2 -->\n"
    assert book.git("status", "--porcelain", folder=tmp_path / "other").stdout == ""
    assert notes.read_section("a").entry_count == 1
    shutil.rmtree(book.folder / ".git" / "worktrees")
    with pytest.raises(Unavailable, match="worktree repair"):
        find_repository(tmp_path / "other")


def test_a_bare_repository_has_no_files(book, tmp_path):
    """Reading and writing work."""
    book.git("init", "-q", "--bare", "-b", "main", str(tmp_path / "bare"), folder=tmp_path)
    notes = book.open(tmp_path / "bare")
    assert notes.write("a", "x", overview="Known.").entry_count == 1
    assert notes.read_section("a").overview == "Known."
    assert not list((tmp_path / "bare").rglob("*.md"))


def test_a_shallow_clone_counts_on(book, tmp_path):
    """From the count in the file, as the history says too little."""
    notes = book.open()
    for text in "xyz":
        notes.write("a", text)
    book.git(
        "clone",
        "-q",
        "--depth",
        "1",
        f"file://{book.folder}",
        str(tmp_path / "clone"),
        folder=tmp_path,
    )
    clone = book.open(tmp_path / "clone")
    assert clone.read_section("a").entry_count == 3
    assert clone.write("a", "w").entry_count == 4
    assert [x.summary for x in clone.list_entries("a")] == ["w", "z"]


@pytest.mark.parametrize(
    ("make", "message", "hint"),
    [
        (["checkout", "-q", "--detach"], "is on no branch", "switch main"),
        (["merge", "-q", "side"], "in the middle of a merge", "merge --continue"),
        (["rebase", "-q", "side"], "in the middle of a rebase", "rebase --abort"),
        (["cherry-pick", "side"], "in the middle of a cherry-pick", "cherry-pick --abort"),
        (["bisect", "start"], "in the middle of a bisection", "bisect reset"),
    ],
)
def test_nothing_is_written_into_the_middle_of_something(book, make, message, hint):
    """Reading goes on; the next step is told with the repository's folder."""
    notes = book.open()
    notes.write("a", "x")
    book.git("switch", "-q", "-c", "side")
    book.commit("side", a="side")
    book.git("switch", "-q", "main")
    book.commit("main", a="main")
    book.git(*make, check=False)
    with pytest.raises(Conflict) as told:
        notes.write("b", "y")
    assert message in told.value.located
    assert hint in told.value.located_hint
    assert str(book.folder) in told.value.located
    assert notes.list_entries("a")


def test_a_command_that_is_told_can_be_typed(book, tmp_path):
    """Wherever the notebook lies."""
    notes = book.open(tmp_path / "my notes; all")
    notes.write("a", "x")
    book.git("checkout", "-q", "--detach", folder=notes.folder)
    with pytest.raises(Conflict) as told:
        notes.write("a", "y")
    command = told.value.located_hint.partition(": ")[2].removesuffix(".")
    assert shlex.split(command) == ["git", "-C", str(notes.folder), "switch", "main"]


def test_a_stale_lock_of_the_branch_is_named(book, monkeypatch):
    """Nothing is written; the next step is told."""
    hurry(monkeypatch)
    notes = book.open()
    notes.write("a", "x")
    lock = book.folder / ".git" / "refs" / "heads" / "main.lock"
    lock.touch()
    with pytest.raises(Unavailable, match="if none runs, remove") as told:
        notes.write("a", "y")
    assert str(lock) in str(told.value)
    lock.unlink()
    assert notes.write("a", "z").entry_count == 2
    assert not [x for x in os.listdir(book.folder / ".git") if "crash" in x]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives a folder away")
def test_another_users_repository(book):
    """Git's own rule holds, and so does what the user told git of it."""
    notes = book.open()
    notes.write("a", "x")
    for path in (book.folder, book.folder / ".git"):
        os.chown(path, 12345, 12345)
    with pytest.raises(Denied) as told:
        book.open().read_section("a")
    assert told.value.located_hint.endswith(
        f"git config --global --add safe.directory {book.folder}"
    )
    book.git("config", "--global", "--add", "safe.directory", str(book.folder))
    assert book.open().write("a", "y").entry_count == 2


def test_without_git_the_next_step_is_told(tmp_path):
    """What is missing, and what to install; no empty folder is left, which every forgetting met."""
    folder, ledger = tmp_path / "notebook", tmp_path / "one.db"
    without = started("notes.init()", folder, ledger=ledger, PATH=str(tmp_path))
    _, said = without.communicate(timeout=PATIENCE_S)
    assert (without.returncode, "Unavailable: The git command is not there" in said) == (1, True)
    assert not folder.exists()
    assert "Install git 2.36 or newer" in said


@pytest.mark.design("001-54")
def test_who_commits(book):
    """The setting, else whom git knows, else the standing author; a bad setting is refused."""
    notes = book.open()
    assert notes.write("a", "x").entry.address == "journal@localhost"
    book.git("config", "--global", "user.name", "Global")
    book.git("config", "--global", "user.email", "g@x.org")
    assert book.open().write("a", "x").entry.author == "Global"
    book.git("config", "user.name", "Local <Name>\n")
    assert book.open().write("a", "x").entry.author == "Local Name"
    with pytest.raises(Invalid):
        book.open(author="nobody").write("a", "x")
    for bad in ["", "a", "<a@b>", "a <>", "a <b", "a <b\nc>", "a <b<c>>"]:
        with pytest.raises(Invalid):
            render_person(bad)


def test_a_folder_inside_a_repository_is_no_notebook(book):
    """Only the folder itself counts, never a repository around it."""
    notes = book.open()
    notes.write("d/a", "x")
    assert is_repository(book.folder)
    assert not is_repository(book.folder / "d")
    with pytest.raises(NotFound):
        find_repository(book.folder / "d")
    inner = book.open(book.folder / "inner")
    inner.write("b", "y")
    assert inner.list_sections() == ["b"]
    shutil.rmtree(book.folder / "inner")


@pytest.mark.parametrize("left", ["", "HEAD.lock", "HEAD", "HEAD config.lock", "HEAD config"])
def test_what_a_killed_init_left_is_no_repository_and_is_made_whole(book, left):
    """What lies there after each step of git's, its folder for objects last; by the next write."""
    git_dir = book.folder / ".git"
    (git_dir / "refs" / "heads").mkdir(parents=True)
    for name in left.split():
        (git_dir / name).write_text("ref: refs/heads/main\n" if name == "HEAD" else "")
    assert not is_repository(book.folder)
    with pytest.raises(NotFound, match="no notebook"):
        find_repository(book.folder)
    book.open().write("a", "x")
    assert book.git("fsck").returncode == 0
    assert len(head(book)) == 40


def test_an_existing_repository_is_adopted_as_it_is(book, tmp_path):
    """Its history is read, its own settings stay."""
    book.git("init", "-q", "-b", "trunk", str(book.folder), folder=tmp_path)
    book.commit("work_context: old form\n\n# Old\n\nText.", a="Overview.")
    before = (book.folder / ".git" / "config").read_bytes()
    notes = book.open()
    (line,) = notes.list_entries("a")
    assert (line.summary, notes.read_entry(f"a#{line.hash}").work_context) == ("Old", "old form")
    notes.write("a", "New.")
    assert (book.folder / ".git" / "config").read_bytes() == before


def test_repositories_named_by_sha256(book, tmp_path):
    """The other format of git's names."""
    book.git(
        "init", "-q", "-b", "main", "--object-format=sha256", str(book.folder), folder=tmp_path
    )
    notes = book.open()
    notes.write("a", "x")
    made = notes.write("a", "y")
    assert (len(made.entry.hash), made.entry_count, made.notes) == (64, 2, ())
    assert book.status() == ""
