"""A repository whose configuration, hooks and attributes try to run programs runs none."""

from __future__ import annotations

import os
import stat

import pytest

from commonplace.core.errors import Unavailable
from commonplace.core.values import Since
from commonplace.journals.notebook.pages import NotebookPages
from commonplace.journals.notebook.source import NotebookSource


@pytest.fixture
def trap(tmp_path):
    """A program that leaves a mark when anybody runs it, and the mark."""
    program, mark = tmp_path / "trap", tmp_path / "sprung"
    program.write_text(f"#!/bin/sh\necho sprung >> {mark}\ncat\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program, mark


CONFIG = """
[core]
    fsmonitor = {trap}
    hooksPath = {hooks}
    sshCommand = {trap}
    gitProxy = {trap}
    pager = {trap}
    editor = {trap}
    askPass = {trap}
    alternateRefsCommand = {trap}
    attributesFile = {attributes}
    autocrlf = true
    worktree = {elsewhere}
[filter "evil"]
    clean = {trap}
    smudge = {trap}
    process = {trap}
    required = true
[diff]
    external = {trap}
[diff "evil"]
    command = {trap}
    textconv = {trap}
    cachetextconv = true
[merge "evil"]
    driver = {trap} %O
[gpg]
    program = {trap}
[commit]
    gpgSign = true
[log]
    showSignature = true
[user]
    signingKey = x
[credential]
    helper = !{trap}
[gc]
    auto = 1
    recentObjectsHook = {trap}
[protocol "ext"]
    allow = always
[remote "origin"]
    url = ext::{trap}
    uploadpack = {trap}
    promisor = true
    partialclonefilter = blob:none
    fetch = +refs/heads/*:refs/remotes/origin/*
[extensions]
    partialClone = origin
[interactive]
    diffFilter = {trap}
[alias]
    log = !{trap}
    cat-file = !{trap}
[pager]
    log = {trap}
    cat-file = {trap}
[sequence]
    editor = {trap}
[trailer "x"]
    command = {trap}
"""

HOOKS = (
    *("pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"),
    *("post-checkout", "post-merge", "pre-auto-gc", "fsmonitor-watchman", "prepare-commit-msg"),
)


@pytest.fixture
def hostile(book, trap, tmp_path):
    """A notebook with two entries, then everything that can name a program names the trap."""
    notes = book.open()
    notes.write("a", "x", overview="Known.")
    notes.write("d/b", "y")
    program, _ = trap
    hooks = book.folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    attributes = tmp_path / "attributes"
    attributes.write_text("* filter=evil diff=evil merge=evil\n")
    names = {"trap": program, "hooks": hooks, "attributes": attributes, "elsewhere": tmp_path}
    config = book.folder / ".git" / "config"
    before = config.read_text()
    config.write_text(before.replace("version = 0", "version = 1") + CONFIG.format(**names))
    for name in HOOKS:
        os.symlink(program, hooks / name)
    (book.folder / ".git" / "info").mkdir(exist_ok=True)
    for place in (book.folder / ".gitattributes", book.folder / ".git" / "info" / "attributes"):
        place.write_text("* filter=evil diff=evil merge=evil text eol=crlf\n")
    yield notes
    config.write_text(before)
    for name in HOOKS:
        os.unlink(hooks / name)


def test_no_verb_runs_a_program(book, hostile, trap, tmp_path, monkeypatch):
    """Nor does what the environment names; nothing is written outside the notebook's folder."""
    program, mark = trap
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_SSH", "GIT_SSH_COMMAND"):
        monkeypatch.setenv(name, str(program))
    for name in ("GIT_ASKPASS", "SSH_ASKPASS", "PAGER", "EDITOR", "GIT_PROXY_COMMAND"):
        monkeypatch.setenv(name, str(program))
    for name, value in {
        "GIT_DIR": tmp_path,
        "GIT_WORK_TREE": tmp_path,
        "GIT_CONFIG_COUNT": "1",
    }.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(program))
    notes = hostile
    fresh = book.open()
    for each in (notes, fresh):
        made = each.write("a", "z", overview="More.", base_version=each.read_section("a").version)
        assert made.notes == ()
        each.write("new/c", "w")
        each.read_entry(f"a#{made.entry.hash}")
        each.list_entries("a")
        each.toc(depth=3)
        NotebookPages(each).read_ref(made.entry.ref)
        list(NotebookSource(each).scan(Since(mark=None, stamps=lambda _: {})))
        list(NotebookSource(each).scan(Since(mark=made.entry.hash, stamps=lambda _: {})))
        assert each.repo.identity() == ""
    fresh.move("new/c", "moved")
    assert not mark.exists(), mark.read_text()
    assert (book.folder / "a.md").read_text() == "More.\n\n<!-- entry count: 3 -->\n"
    assert not list(tmp_path.glob("*.md"))


def test_a_missing_object_is_not_fetched(book, hostile, trap):
    """Wherever the configuration says it could be had from."""
    _, mark = trap
    head = hostile.repo.head().commit
    (blob,) = hostile.repo.read_blobs(head, ["a.md"])
    lost = book.folder / ".git" / "objects" / blob.name[:2] / blob.name[2:]
    kept = lost.read_bytes()
    lost.unlink()
    assert hostile.repo.read_blobs(head, ["a.md"]) == [None]
    with pytest.raises(Unavailable, match="lacks an object"):
        hostile.write("a", "Nothing is written over what cannot be read.")
    assert not mark.exists()
    lost.write_bytes(kept)


@pytest.mark.parametrize(
    "mark",
    [
        "--output=/tmp/x",
        "-1",
        "HEAD~1",
        "@{u}",
        ":/x",
        "main^{/x}",
        "a:b",
        "$(id)",
        "`id`",
        "%H",
        "refs/heads/main",
    ],
)
def test_no_text_is_a_revision_or_an_option(hostile, mark):
    """Only ids and hashes name entries."""
    from commonplace.core.errors import Invalid, NotFound

    with pytest.raises((NotFound, Invalid)):
        hostile.read_entry(f"a#{mark}")
