"""A project is a repository or a folder where somebody works, not where a program was started."""

from __future__ import annotations

import ntpath
import os
import posixpath
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cases import cases
from tests.repositories import add_work_tree, git, make_repository

from commonplace.core import PROJECT_FILE
from commonplace.core.project_folders import find_folders
from commonplace.core.projects import (
    CHRONICLE_FILE,
    CLONES,
    JOINED,
    find_project,
    git_folder_of,
    is_system_folder,
    project_of,
    work_trees,
)


@pytest.fixture
def home(tmp_path):
    """The user's home folder."""
    return tmp_path / "home"


@pytest.fixture
def app(home):
    """A repository in the home."""
    return make_repository(home / "app")


def root_of(folder, home):
    """The project's root as a path."""
    return Path(find_project(folder, home, {}))


@cases(
    ("path", "system"),
    [
        ("/", True),
        ("/usr", True),
        ("/usr/share/app", True),
        ("/System/Volumes", True),
        ("/Applications/Claude.app/Contents", True),
        ("/tmp", True),
        ("/tmp/work", False),
        ("/dev/disk", True),
        ("/dev/shm", True),
        ("/dev/shm/work", False),
        ("/home", True),
        ("/home/ann/work", False),
        ("/usrlocal", False),
        ("/workspace", False),
        ("/opt/project", False),
    ],
)
def test_system_folders_of_unix(path, system):
    """Folders of the system with all below them, shared folders alone."""
    assert is_system_folder(path, {}, posixpath) is system


@cases(
    ("path", "system"),
    [
        ("C:\\", True),
        ("D:\\", True),
        ("C:\\Windows\\System32", True),
        ("c:\\windows", True),
        ("E:\\Win\\System32", True),
        ("C:\\Program Files\\App", True),
        ("C:\\work", False),
        ("C:\\Users\\ann\\work", False),
    ],
)
def test_system_folders_of_windows(path, system):
    """Roots of drives, Windows wherever it lies, programs; case does not count."""
    assert is_system_folder(path, {"SystemRoot": "E:\\Win"}, ntpath) is system


def test_a_folder_outside_of_any_repository_is_the_project(tmp_path, home):
    """An ordinary folder below the home, and one elsewhere; not what lies above them."""
    work = home / "work" / "deep"
    work.mkdir(parents=True)
    assert root_of(work, home) == work
    assert root_of(tmp_path / "elsewhere", home) == tmp_path / "elsewhere"


def test_the_home_and_what_holds_it_are_no_projects(tmp_path, home):
    """Notes about everything belong to the user, not to a project; links are seen through."""
    (tmp_path / "link").symlink_to(home)
    for folder in (home, tmp_path / "link", tmp_path):
        assert find_project(folder, home, {}) is None


def test_without_a_real_home_only_the_system_is_left_out():
    """Containers run with no home, or with / as home."""
    for home in (None, "/"):
        assert find_project("/workspace", home, {}) == "/workspace"
        assert find_project("/usr/lib", home, {}) is None


def test_subfolders_share_the_project_of_their_repository(app, home):
    """However deep, whether or not they are there, and through a link to them."""
    (home / "link").symlink_to(app / "src")
    for folder in (app, app / "src" / "deep", app / "src" / "not yet", home / "link", app / ".git"):
        assert root_of(folder, home) == app


def test_work_trees_share_the_project_of_the_main_one(app, home):
    """Inside of it or elsewhere; with paths relative to it, as newer git writes them; moved too."""
    inside = add_work_tree(app, app / "trees" / "inside")
    outside = add_work_tree(app, home / "outside")
    for folder in (inside, outside, outside / "src" / "deep"):
        assert root_of(folder, home) == app
    assert {*work_trees(str(app / ".git"))} == {str(inside), str(outside)}
    found = project_of(outside / "src", home, {})
    assert (found.tree, found.git) == (str(outside), str(app / ".git"))
    moved = home / "moved"
    git(app, "worktree", "move", outside, moved)
    assert root_of(moved, home) == app
    admin = app / ".git" / "worktrees" / "outside"
    (moved / ".git").write_text(f"gitdir: {os.path.relpath(admin, moved)}\n")
    (admin / "gitdir").write_text(f"{os.path.relpath(moved / '.git', admin)}\n")
    assert root_of(moved, home) == app


def test_work_trees_of_a_bare_repository_share_it(app, home):
    """Beside it, or in a folder whose `.git` names it: none of them may be deleted with notes."""
    bare = home / "bare.git"
    git(home, "clone", "-q", "--bare", app, bare)
    assert root_of(add_work_tree(bare, home / "beside"), home) == bare
    assert root_of(add_work_tree(bare, bare / "within"), home) == bare
    assert root_of(bare, home) == bare
    around = home / "around"
    around.mkdir()
    git(home, "clone", "-q", "--bare", app, around / ".bare")
    (around / ".git").write_text("gitdir: ./.bare\n")
    assert root_of(add_work_tree(around, around / "feature") / "src", home) == around
    assert root_of(around, home) == around


def test_a_submodule_is_a_project_of_its_own(app, home):
    """With its work trees, and not its superproject's; nor is a repository inside of another."""
    outer = make_repository(home / "outer")
    git(outer, "submodule", "add", "-q", app, "libs/app")
    submodule = outer / "libs" / "app"
    assert root_of(submodule / "src", home) == submodule
    assert root_of(add_work_tree(submodule, home / "of-submodule"), home) == submodule
    assert root_of(outer / "libs", home) == outer
    nested = make_repository(outer / "nested")
    assert root_of(nested / "src", home) == nested


def test_a_repository_whose_folder_lies_elsewhere_is_one_by_itself(home):
    """Only its configuration, which is not read, would say where its main work tree is."""
    (home / "apart").mkdir()
    git(home / "apart", "init", "-q", "--separate-git-dir", home / "apart.git")
    git(home / "apart", "commit", "-q", "--allow-empty", "-m", "first")
    other = add_work_tree(home / "apart", home / "other")
    assert (root_of(home / "apart", home), root_of(other, home)) == (home / "apart", other)


@pytest.mark.parametrize(
    "content",
    [
        b"gitdir: {app}/.git",
        b"gitdir: {app}/.git/worktrees/real",
        b"gitdir: {app}/.git/worktrees",
        b"gitdir: {app}",
        b"gitdir: nowhere",
        b"gitdir: .",
        b"gitdir: ",
        b"gitdir: {app}/.git/worktrees/real\0",
        b"gitdir: {app}\n/.git/worktrees/real\n",
        b"gitdir: " + b"/" * 5000,
        b"gitdir: " + b"x/" * 2_000_000,
        b"gitdir: \xff\xfe",
        b"",
        b"nonsense",
    ],
)
def test_a_git_file_leads_nowhere_but_where_it_is_known(app, home, content):
    """A folder from elsewhere does not become another project's by naming its repository."""
    add_work_tree(app, home / "real")
    lure = home / "lure"
    lure.mkdir()
    (lure / ".git").write_bytes(content.replace(b"{app}", os.fsencode(app)))
    found = project_of(lure, home, {})
    assert (found.root, found.git) == (str(lure), "")


def test_a_repository_that_was_brought_along_joins_no_other(app, home):
    """Its own folders may say what they like, by links too: the other does not know of it."""
    lure = home / "lure"
    admin = lure / "bare" / "worktrees" / "lure"
    admin.mkdir(parents=True)
    (lure / ".git").write_text(f"gitdir: {admin}\n")
    (admin / "gitdir").write_text(f"{lure / '.git'}\n")
    (admin / "commondir").write_text(f"{app / '.git'}\n")
    assert root_of(lure, home) == lure
    shutil.rmtree(lure / "bare")
    (lure / "bare").symlink_to(app / ".git")
    assert root_of(lure, home) == lure
    (lure / ".git").unlink()
    (lure / ".git").symlink_to(app / ".git")
    assert root_of(lure, home) == lure
    (lure / ".git").unlink()
    shutil.copytree(app / ".git", lure / ".git")
    (lure / ".git" / "commondir").write_text(f"{app / '.git'}\n")
    assert (root_of(lure, home), project_of(lure, home, {}).git) == (lure, "")


def test_links_in_a_circle_and_pipes_end(home):
    """Nothing waits, and nothing is raised."""
    for name, make in {"circle": lambda file: file.symlink_to(file), "pipe": os.mkfifo}.items():
        folder = home / name
        folder.mkdir()
        make(folder / ".git")
        make(folder / PROJECT_FILE)
        assert root_of(folder, home) == folder


def test_an_empty_git_folder_is_passed_over_as_git_does(app, home):
    """Sandboxes put one in the way."""
    (app / "src" / ".git").mkdir()
    assert root_of(app / "src" / "deep", home) == app


def test_a_home_under_git_makes_no_project_of_the_home(home):
    """Dotfiles: neither a folder below nor a work tree elsewhere writes into the home."""
    make_repository(home)
    (home / "notes").mkdir()
    tree = add_work_tree(home, home / "tree")
    assert find_project(home, home, {}) is None
    assert root_of(home / "notes", home) == home / "notes"
    assert root_of(tree / "src", home) == tree


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives files away")
def test_a_repository_of_another_user_takes_in_no_folder(app, home):
    """What is written in a folder of ours is not put into theirs."""
    os.chown(app / ".git", 65534, 65534)
    assert root_of(app / "src", home) == app / "src"


@pytest.mark.parametrize(
    ("text", "isolated"),
    [
        ('project = "here"\n', True),
        ('timezone = "UTC"\nproject = "here"  # mine\n[private]\npath = "x"\n', True),
        ("\ufeffproject = 'here'", True),
        ('project = "there"', False),
        ('[private]\nproject = "here"', False),
        ('project = ["here"]', False),
        ('project = "here', False),
        ('project = "here"\n' + "x = " + "[" * 9000, False),
        ('project = "here"\n' + "# \n" * 600_000, False),
        ('project = "here"\n\0', False),
        ("", False),
    ],
)
def test_a_folder_says_that_it_is_a_project_by_itself(app, home, text, isolated):
    """By one key of its file; one that is broken or huge says nothing."""
    (app / "src" / PROJECT_FILE).write_text(text, "utf-8")
    found = project_of(app / "src" / "deep", home, {})
    assert (Path(found.root), found.isolated) == (app / "src" if isolated else app, isolated)


def test_a_chronicle_file_marks_a_project_outside_of_any_repository(app, home):
    """From any folder below it, the nearest one; a repository, above or below, goes before it."""
    work = home / "work"
    (work / "a" / "deep").mkdir(parents=True)
    make_repository(work / "repo")
    for folder in (work, app / "src", work / "repo" / "src"):
        (folder / CHRONICLE_FILE).write_text("any words")
    assert [root_of(work / x, home) for x in ("", "a/deep", "not yet")] == [work, work, work]
    assert root_of(work / "repo" / "src", home) == work / "repo"
    assert root_of(app / "src" / "deep", home) == app
    (work / "a" / CHRONICLE_FILE).touch()
    assert root_of(work / "a" / "deep", home) == work / "a"
    here = find_folders(str(work / "b"), str(home))
    assert [here.holds(str(work / x)) for x in ("b", "c/d", "a", "a/deep", "repo")] == [
        *(True, True, False, False, False)
    ]


def test_only_a_plain_file_of_the_users_own_marks_a_project(home):
    """No folder, link, pipe or file in the home; nothing of another user, nor in their folder."""
    work = home / "work"
    (work / "deep").mkdir(parents=True)
    marks = work / CHRONICLE_FILE
    for make in (
        marks.mkdir,
        lambda: marks.symlink_to(home / CHRONICLE_FILE),
        lambda: os.mkfifo(marks),
    ):
        make()
        (home / CHRONICLE_FILE).touch()
        assert root_of(work / "deep", home) == work / "deep"
        marks.rmdir() if marks.is_dir() else marks.unlink()
    marks.touch()
    assert root_of(work / "deep", home) == work
    for other in (marks, work) if os.name != "nt" and os.geteuid() == 0 else ():
        os.chown(other, 65534, 65534)
        assert root_of(work / "deep", home) == work / "deep"
        os.chown(other, 0, 0)


def test_a_clone_is_a_project_by_itself_until_both_say_otherwise(app, home):
    """A file that came with a folder names the other alone; the user joins them in both."""
    clone = home / "clone"
    git(home, "clone", "-q", app, clone)
    assert root_of(clone, home) == clone
    (clone / ".git" / JOINED).write_text(f"{app}\n")
    assert root_of(clone, home) == clone
    (app / ".git" / CLONES).write_text(f"/another\n{clone}\n")
    assert root_of(clone / "src", home) == app
    tree = add_work_tree(clone, home / "tree-of-clone")
    assert root_of(tree, home) == app
    shutil.copytree(clone, home / "copy")
    assert root_of(home / "copy", home) == home / "copy"


def test_git_folders_are_found_for_what_is_a_repository_alone(app, home):
    """A main work tree and a bare repository; not a linked one, a subfolder or a plain folder."""
    git(home, "clone", "-q", "--bare", app, home / "bare.git")
    tree = add_work_tree(app, home / "tree")
    assert git_folder_of(str(app)) == str(app / ".git")
    assert git_folder_of(str(home / "bare.git")) == str(home / "bare.git")
    assert [git_folder_of(str(x)) for x in (tree, app / "src", home)] == ["", "", ""]


def test_it_is_light():
    """Hooks and the start of a session ask it before anything else is imported."""
    script = (
        "import sys; before = {*sys.modules}; import commonplace.core.projects; "
        "print(*({*sys.modules} - before))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert {*run.stdout.split()} - {"itertools"} == {
        "__future__",
        "commonplace",
        "commonplace.core",
        "commonplace.core.projects",
    }
