"""Branches as people use them: made, gone to and merged, beside what a person edits."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime

import pytest
from tests.journals.notebook.moments import at

from commonplace.core.errors import Conflict, Invalid, NotFound
from commonplace.journals.notebook.branching import Branching
from commonplace.journals.notebook.conflicts import Clashes
from commonplace.journals.notebook.forget import NotebookHistory
from commonplace.journals.notebook.format import version_of
from commonplace.journals.notebook.journal import NotebookJournal
from commonplace.journals.notebook.sync import list_half_made
from commonplace.journals.notebook.work_tree import WorkTree
from commonplace_testing import FrozenClock


@pytest.fixture
def book(tmp_path):
    """A notebook whose section `api` has an overview."""
    made = NotebookJournal(
        tmp_path / "notebook",
        ledger=tmp_path / "ledgers" / "ledger.db",
        owner="me",
        zone=UTC,
        clock=FrozenClock(datetime(2026, 11, 22, 12, tzinfo=UTC)),
        author="Wren Fox <wren@example.org>",
    )
    made.init()
    made.write("api", "REST it is.", overview="# API\n\nREST.\n\n# Errors\n\nPlain.")
    yield made
    made.close()
    assert git(made, "fsck", "--strict", "--no-dangling") == ""


def git(book, *words, check=True):
    """What a command of git's prints in the notebook."""
    command = ["git", "-C", str(book.folder), "-c", "user.name=W", "-c", "user.email=w@x", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or not check, done.stderr
    return done.stdout.strip()


def overview(book, text, *, section="api"):
    """Write an overview over the one that is there."""
    now = book.read_section(section).overview
    book.write(section, f"Now: {text}", overview=text, base_version=version_of(now))


def summaries(book, section="api"):
    """What the own branch has of a section."""
    return [line.summary for line in book.list_entries(section)]


def test_branches_are_listed_with_the_own_one_marked(book):
    """By name, each with its last commit."""
    branching = Branching(book)
    branching.create("idea")
    listed = [(x.name, x.is_own, x.summary) for x in branching.list_all()]
    assert listed == [("idea", False, "REST it is."), ("main", True, "REST it is.")]
    assert git(book, "branch", "--format=%(refname:short)").split() == ["idea", "main"]


def test_a_branch_begins_where_it_is_asked_to(book):
    """At another branch, or at a commit."""
    branching = Branching(book)
    first = book.repo.head().commit
    book.write("api", "More.")
    assert branching.create("then", start=first) == first
    assert branching.create("later", start="main") == book.repo.head().commit
    with pytest.raises(NotFound, match="no branch or commit"):
        branching.create("never", start="nowhere")


@pytest.mark.parametrize("name", ["a b", "-d", "a..b", "HEAD", "", "x.lock"])
def test_what_git_takes_for_no_name_is_refused(book, name):
    """And nothing is made."""
    with pytest.raises(Invalid, match="no name for a branch"):
        Branching(book).create(name)
    assert [x.name for x in Branching(book).list_all()] == ["main"]


@pytest.mark.parametrize("name", ["é" * 101, "x" * 10_000, "d/" * 400 + "e"])
def test_a_name_that_no_file_could_have_is_refused(book, name):
    """Git's own refusal spoke of a lock that nobody held."""
    with pytest.raises(Invalid, match="too long for a branch"):
        Branching(book).create(name)
    Branching(book).create("x" * 200)


def test_a_branch_is_made_and_gone_to_by_its_full_name(book):
    """And one that plain git named so, within the folder of branches, by that."""
    branching = Branching(book)
    branching.create("refs/heads/idea")
    assert git(book, "branch", "--format=%(refname)").split()[0] == "refs/heads/idea"
    branching.switch("refs/heads/idea")
    git(book, "branch", "refs/heads/inner")
    branching.switch("refs/heads/inner")
    assert book.repo.head().branch == "refs/heads/refs/heads/inner"


@pytest.mark.parametrize("name", ["main", "main/idea"])
def test_a_name_that_is_taken_is_refused(book, name):
    """Nor is a branch made where another one is in the way."""
    with pytest.raises(Conflict, match="a branch main already"):
        Branching(book).create(name)


@pytest.mark.design("001-63")
def test_the_folder_goes_along_to_another_branch(book):
    """Its files, git's index and what git remembers of where it was."""
    branching = Branching(book)
    branching.create("idea")
    assert branching.switch("idea") == ()
    book.write("web/forms", "Forms post.")
    overview(book, "GraphQL.")
    branching.switch("main")
    assert not (book.folder / "web").exists()
    assert "REST" in (book.folder / "api.md").read_text()
    assert git(book, "status", "--porcelain") == ""
    git(book, "switch", "-q", "-")
    assert book.repo.head().branch == "refs/heads/idea"
    assert "GraphQL" in (book.folder / "api.md").read_text()


def test_an_edit_that_a_switch_would_change_is_kept(book):
    """Nothing is done then; an edit of a file that is the same on both goes along."""
    branching = Branching(book)
    branching.create("idea")
    overview(book, "REST, versioned.")
    (book.folder / "api.md").write_text("mine")
    with pytest.raises(Conflict, match=r"not committed: api\.md"):
        branching.switch("idea")
    assert book.repo.head().branch == "refs/heads/main"
    assert (book.folder / "api.md").read_text() == "mine"
    git(book, "checkout", "-q", "api.md")
    (book.folder / "notes.txt").write_text("mine")
    branching.switch("idea")
    assert (book.folder / "notes.txt").read_text() == "mine"


def test_a_switch_that_is_cut_off_is_gone_on_with(book, monkeypatch):
    """The notebook is on the branch by then, and the next write brings its folder there."""
    branching = Branching(book)
    branching.create("idea")
    overview(book, "REST, versioned.")
    with monkeypatch.context() as killed:
        killed.setattr(WorkTree, "_update_files", _killed)
        with pytest.raises(KeyboardInterrupt):
            branching.switch("idea")
    assert book.repo.head().branch == "refs/heads/idea"
    book.write("web", "Forms post.")
    assert "versioned" not in (book.folder / "api.md").read_text()
    assert git(book, "status", "--porcelain") == ""


def _killed(*_words):
    raise KeyboardInterrupt


def test_a_branch_of_another_work_tree_is_not_gone_to(book, tmp_path):
    """Two folders on one branch would undo each other's work."""
    git(book, "worktree", "add", "-q", "-b", "idea", str(tmp_path / "tree"))
    with pytest.raises(Conflict, match="checked out in"):
        Branching(book).switch("idea")


def test_what_is_on_no_branch_is_named_when_it_is_left(book):
    """With the command that keeps it."""
    git(book, "switch", "-q", "--detach")
    git(book, "commit", "-q", "--allow-empty", "-m", "Aside")
    (note,) = Branching(book).switch("main")
    assert "is on no branch now" in note


@pytest.mark.design("001-64")
def test_a_merge_brings_entries_and_overviews_of_both(book):
    """What each changed in its own place stands; the commit's first parent is the own branch."""
    branching = Branching(book)
    branching.create("idea")
    branching.switch("idea")
    overview(book, "# API\n\nREST.\n\n# Errors\n\nProblem+json.")
    book.write("web", "Forms post.")
    branching.switch("main")
    overview(book, "# API\n\nREST, versioned.\n\n# Errors\n\nPlain.")
    ours = book.repo.head().commit
    merged = branching.merge("idea")
    assert (merged.received, merged.conflicts, merged.notes) == (2, (), ())
    section = book.read_section("api")
    assert section.overview == "# API\n\nREST, versioned.\n\n# Errors\n\nProblem+json."
    assert section.entry_count == 3
    assert summaries(book, "web") == ["Forms post."]
    assert git(book, "rev-parse", "HEAD^") == ours
    assert git(book, "log", "-1", "--format=%s") == "Merge branch 'idea'"
    assert git(book, "status", "--porcelain") == ""
    assert list_half_made(book.repo) == []
    again = branching.merge("idea")
    assert again.before == again.now == merged.now


def test_a_merge_of_what_only_went_on_moves_the_branch_alone(book):
    """As git does; no commit is made for it."""
    branching = Branching(book)
    branching.create("idea")
    branching.switch("idea")
    book.write("api", "GraphQL?")
    there = book.repo.head().commit
    branching.switch("main")
    assert branching.merge("idea").now == there == book.repo.head().commit


def test_overviews_that_both_branches_changed_wait_as_at_a_sync(book):
    """The merged one stands, the own one waits, and either can be taken."""
    branching = Branching(book)
    branching.create("idea")
    branching.switch("idea")
    overview(book, "GraphQL.")
    branching.switch("main")
    overview(book, "REST, versioned.")
    assert branching.merge("idea").conflicts == ("api",)
    assert book.read_section("api").overview == "GraphQL."
    (clash,) = Clashes(book).list_open()
    assert (clash.ours, clash.theirs) == ("REST, versioned.", "GraphQL.")
    Clashes(book).settle(clash, clash.ours)
    assert book.read_section("api").overview == "REST, versioned."
    assert Clashes(book).list_open() == []
    assert git(book, "for-each-ref", "refs/commonplace") == ""


def test_a_merge_over_an_edit_is_refused(book):
    """The file that a person is at stays, and so does the branch."""
    branching = Branching(book)
    branching.create("idea")
    branching.switch("idea")
    overview(book, "GraphQL.")
    branching.switch("main")
    before = book.repo.head()
    (book.folder / "api.md").write_text("mine")
    with pytest.raises(Conflict, match="to merge would change them too"):
        branching.merge("idea")
    assert book.repo.head() == before
    assert (book.folder / "api.md").read_text() == "mine"


def test_a_write_while_a_merge_is_made_is_no_persons_edit(book, monkeypatch):
    """The merge is made anew, over what another process has written to the same section."""
    branching = Branching(book, sleep=[].append)
    branching.create("idea")
    branching.switch("idea")
    book.write("api", "GraphQL?")
    branching.switch("main")
    book.write("api", "REST.")
    at(monkeypatch, "fast-import", lambda: book.write("api", "Late."))
    assert branching.merge("idea").received == 1
    assert {*summaries(book)} == {"REST it is.", "GraphQL?", "REST.", "Late."}
    assert "<!-- entry count: 4 -->" in (book.folder / "api.md").read_text()
    assert git(book, "status", "--porcelain") == ""


def test_a_history_of_its_own_is_not_merged(book):
    """As git refuses it; the hint has git's own command."""
    tree = git(book, "rev-parse", "main^{tree}")
    git(book, "branch", "apart", git(book, "commit-tree", tree, "-m", "Apart"))
    with pytest.raises(Conflict, match="history of its own") as refused:
        Branching(book).merge("apart")
    assert "--allow-unrelated-histories apart" in refused.value.hint


def test_a_merge_follows_a_move_of_either_side(book):
    """What the branch wrote under the old name is under the new one."""
    branching = Branching(book)
    branching.create("idea")
    branching.switch("idea")
    book.write("api", "GraphQL?")
    branching.switch("main")
    book.move("api", "http")
    branching.merge("idea")
    assert summaries(book, "http") == ["GraphQL?", "REST it is."]


def test_an_entry_of_another_branch_is_forgotten_there(book, tmp_path):
    """No branch, no ledger and no list has a word of it."""
    branching = Branching(book)
    branching.create("idea")
    branching.switch("idea")
    written = book.write("api", "The secret word is xylophone.")
    branching.switch("main")
    assert {x.branches for x in book.list_all_entries("api")} == {(), ("idea",)}
    NotebookHistory(book).forget([written.entry.ref], lambda content: content, keep_until=None)
    assert [x.summary for x in book.list_all_entries("api")] == ["REST it is."]
    book.close()
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"xylophone" not in path.read_bytes(), path
    assert "xylophone" not in git(book, "log", "--all", "--format=%B")


def test_branches_are_read_however_git_keeps_them(book):
    """Packed, in folders, and as a link to another branch."""
    git(book, "branch", "a/b/c")
    git(book, "pack-refs", "--all")
    git(book, "branch", "loose")
    here = {x: book.repo.head().commit for x in ("refs/heads/a/b/c", "refs/heads/loose")}
    assert book.repo.branches() == {**here, "refs/heads/main": book.repo.head().commit}
    git(book, "symbolic-ref", "refs/heads/link", "refs/heads/loose")
    assert book.repo.branches().keys() == {*here, "refs/heads/main", "refs/heads/link"}


def test_a_branch_whose_name_is_no_unicode_is_gone_to_and_merged(book):
    """Git takes any bytes for a name; it is called as the list shows it."""
    book.write("api", "On main.")
    commit = git(book, "rev-parse", "HEAD")
    odd = os.path.join(os.fsencode(book.repo.common_dir), b"refs", b"heads", b"caf\xe9")
    with open(odd, "w") as file:
        file.write(f"{commit}\n")
    branching = Branching(book)
    (shown,) = (branch.name for branch in branching.list_all() if branch.name != "main")
    assert branching.switch(shown) == ()
    book.write("api", "On the odd one.")
    branching.switch("main")
    assert branching.merge(shown).received == 1
