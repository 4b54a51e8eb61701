"""One project for a repository: what is shared, what stays apart, and what was there before."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from tests.doors.terminal import facts, run
from tests.repositories import add_work_tree, git, make_repository

from commonplace.core.clock import utc_now


@pytest.fixture
def home():
    """The user's home folder."""
    return Path.home()


@pytest.fixture
def app(home):
    """A repository in the home."""
    return make_repository(home / "app")


@pytest.fixture
def at(monkeypatch):
    """Goes to a folder, and gives it back."""

    def go(folder):
        monkeypatch.chdir(folder)
        return folder

    return go


def note(text):
    """Write a note of the project; the path of its file."""
    return Path(facts("private", "write", "--project-notes", text)["paths"][0])


def put_entry(folder, name, text):
    """An entry of another program, or of the time before, in a folder's own journal."""
    date = f"{utc_now() - timedelta(days=2):%Y-%m-%d}"  # a list shows the last 30 days
    day = folder / ".private-journal" / date
    day.mkdir(parents=True, mode=0o700)
    (day / f"{name}.md").write_text(f"---\ntitle: x\ndate: {date}\n---\n\n{text}\n")


def texts(*words):
    """What a command lists, by its first words."""
    return {item["text"].strip().splitlines()[-1] for item in facts(*words)["items"]}


def journals_read():
    """The journals that status says are read as well."""
    return [Path(path) for path in facts("status")["project"]["also_read"]]


def test_a_note_written_in_a_work_tree_outlives_it(app, home, at, small_weights):
    """It lies in the main work tree, and is listed and found from there and from any subfolder."""
    tree = add_work_tree(app, home / "feature")
    at(tree / "src")
    assert note("The cache is cold at night.").is_relative_to(app / ".private-journal")
    at(app / "src" / "deep")
    git(app, "worktree", "remove", tree)
    assert texts("private", "list", "--type", "project") == {"The cache is cold at night."}
    assert len(facts("private", "search", "cache")["items"]) == 1
    assert git(app, "status", "--porcelain") == ""


def test_what_is_logged_in_a_work_tree_is_of_the_project(app, home, at):
    """Chronicle names the repository, wherever in it the work was done."""
    at(add_work_tree(app, home / "feature") / "src")
    assert facts("log", "fixed it")["directory"] == str(app)


def test_journals_from_before_are_read_and_named(app, home, at, small_weights):
    """Of a subfolder and of a work tree, known or not, from wherever in the project one asks."""
    tree = add_work_tree(app, home / "feature")
    put_entry(app / "src", "10-00-00-000001", "the subfolder's harbour")
    put_entry(tree, "10-00-00-000002", "the work tree's harbour")
    at(app / "src" / "deep")
    assert texts("private", "list") == {"the subfolder's harbour", "the work tree's harbour"}
    assert len(facts("private", "search", "harbour", "--type", "project")["items"]) == 2
    refs = [item["ref"] for item in facts("recall", "harbour")["items"]]
    assert len(refs) == 2
    for ref in refs:
        assert "harbour" in run("open", ref).stdout
    # By now it is known, so that it need not lie on the way.
    for folder in (app, tree):
        at(folder)
        assert texts("private", "list") == {"the subfolder's harbour", "the work tree's harbour"}
        assert journals_read() == [app / "src" / ".private-journal", tree / ".private-journal"]
    assert note("new").is_relative_to(app / ".private-journal")
    assert f"also read: {tree / '.private-journal'}" in run("status").stdout


def test_journals_of_others_are_not_among_them(app, home, at, small_weights):
    """A submodule's, an isolated folder's, a nested repository's and a link's."""
    nested = make_repository(app / "nested")
    put_entry(nested, "10-00-00-000001", "nested")
    alone = app / "src"
    (alone / ".commonplace.toml").write_text('project = "here"')
    put_entry(alone, "10-00-00-000002", "alone")
    (app / "docs").mkdir()
    put_entry(home / "secret", "10-00-00-000003", "secret")
    (app / "docs" / ".private-journal").symlink_to(home / "secret" / ".private-journal")
    for folder, seen in ((nested, "nested"), (alone / "deep", "alone")):
        at(folder)
        assert texts("private", "list") == {seen}
        assert journals_read() == []
    for folder in (app, app / "docs"):
        at(folder)
        assert texts("private", "list") == set()
        assert journals_read() == []


def test_an_isolated_folder_keeps_its_own_journal(app, at):
    """Its notes are not the repository's, and status says why."""
    alone = app / "src"
    (alone / ".commonplace.toml").write_text('project = "here"')
    at(alone / "deep")
    assert note("mine").is_relative_to(alone / ".private-journal")
    assert f"Project  {alone}, a project by itself" in run("project").stdout
    at(app)
    assert texts("private", "list", "--type", "project") == set()


def test_a_named_folder_is_of_its_repository_too(app, home, at):
    """Clients name the folder that they opened."""
    at(home)
    shown = facts("project", "--project", app / "src")
    assert (shown["root"], shown["folder"]) == (str(app), str(app / "src"))


def test_a_clone_is_offered_and_never_assumed(app, home, at, small_weights):
    """Until the user joins it; then both write to one place, and what was there is still read."""
    clone = home / "a clone"
    git(home, "clone", "-q", app, clone)
    at(app)
    note("from the first")
    at(clone)
    note("from the clone")
    assert texts("private", "list", "--type", "project") == {"from the clone"}
    offer = f"commonplace project --join {app}"
    assert offer in run("status").stdout
    assert facts("status")["project"]["clones"] == [str(app)]
    joined = run("project", "--join", app)
    assert f"a part of the project {app}" in joined.stdout, joined.output
    assert texts("private", "list") == {"from the first", "from the clone"}
    assert note("from both").is_relative_to(app / ".private-journal")
    shown = facts("project")
    assert (shown["root"], shown["joined"], shown["clones"]) == (str(app), [str(clone)], [])
    assert run("project", "--join", app).exit_code == 4
    assert run("project", "--leave").exit_code == 0
    assert texts("private", "list", "--type", "project") == {"from the clone"}
    assert run("project", "--leave").exit_code == 3
    assert [x for x in os.listdir(app / ".git") if x.startswith("commonplace")] == []


def test_other_repositories_are_not_offered(app, home, at):
    """Another first commit, a history that was cut off, and one without any commit."""
    make_repository(home / "other")
    git(home, "clone", "-q", "--depth", "1", f"file://{app}", home / "shallow")
    (home / "empty").mkdir()
    git(home / "empty", "init", "-q")
    for name in ("other", "shallow", "empty"):
        at(home / name)
        note("x")
    at(app)
    assert facts("project")["clones"] == []
    at(home / "shallow")
    assert facts("project")["clones"] == []


def test_the_offer_runs_nothing_that_a_repository_names(app, home, at):
    """Neither repository's configuration has a program run."""
    clone = home / "clone"
    git(home, "clone", "-q", app, clone)
    ran = home / "ran"
    script = home / "script"
    script.write_text(f"#!/bin/sh\ntouch {ran}\n")
    script.chmod(0o755)
    for each in (app, clone):
        at(each)
        note("x")
        for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "core.alternateRefsCommand"):
            git(each, "config", key, script)
        (each / ".git" / "hooks").mkdir(exist_ok=True)
        (each / ".git" / "hooks" / "post-index-change").symlink_to(script)
    ran.unlink(missing_ok=True)
    assert facts("project")["clones"] == [str(app)]
    assert not ran.exists()


def test_what_cannot_be_joined_is_said(app, home, at):
    """A folder without a repository, and one that says it is alone."""
    clone = home / "clone"
    git(home, "clone", "-q", app, clone)
    at(clone)
    done = run("project", "--join", home)
    assert (done.exit_code, "is not in a git repository" in done.stderr) == (2, True)
    assert run("project", "--join", clone).exit_code == 4
    assert run("project", "--join", app, "--leave").exit_code == 2
    (clone / ".commonplace.toml").write_text('project = "here"')
    assert run("project", "--join", app).exit_code == 4
    at(home)
    assert "No project is known here" in run("project").stderr
