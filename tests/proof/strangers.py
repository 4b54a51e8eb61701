"""What a stranger's repository may bring along: each case is laid out, and names what must be said.

A step is a method of `Stranger` with its words; `after` steps are done after the files were
committed, for what git does not carry: the content of `.git`, pipes, other users' files.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

SECRET = "the platypus keeps a diary"
"""What the user writes."""
THEIRS = "somebody else keeps this to themselves"
"""What lies in journals that are not the project's."""

LINK = "is a symbolic link"
KEPT_OUT = "now keeps your notes out"
REFUSED = "A project's file is not trusted so far"
NO_LOG = "No project log was written"
ASKS = "asks for a project log"

ROOT = ".private-journal"
OLD = f"{ROOT}/2026-01-03/10-00-00-000000.md"
TODAY = f"{ROOT}/{{today}}"
TOML = ".commonplace.toml"
LONG = pytest.mark.long


class Case(NamedTuple):
    """One repository. says: what the answers must hold; reads: whether entries are its own."""

    name: str
    says: str
    lay: list[tuple[str, ...]]
    reads: bool = False
    needs_root: bool = False
    marks: Any = ()


def settings(name: str, text: str, says: str = REFUSED) -> Case:
    """A repository with a settings file."""
    return Case(name, says, [("put", TOML, text)])


def log(name: str, log_dir: str, says: str, *more: tuple[str, ...]) -> Case:
    """A repository that asks for a project log somewhere."""
    text = f'local_logging = true\nlog_dir = "{log_dir}"\n'
    return Case(name, says, [("put", ".chronicle", text), *more])


TRAPS = """
[core]
    fsmonitor = {trap}
    hooksPath = {outside}
    pager = {trap}
    editor = {trap}
    sshCommand = {trap}
    gitProxy = {trap}
    attributesFile = {outside}/attributes
[filter "evil"]
    clean = {trap}
    smudge = {trap}
    process = {trap}
    required = true
[diff]
    external = {trap}
[alias]
    check-ignore = !{trap}
[credential]
    helper = !{trap}
[gc]
    auto = 1
"""

CASES = [
    # Links in place of the root, or on the way to it.
    Case(
        "root is a link into a public folder",
        LINK,
        [("put", "public/x", ""), ("link", ROOT, "public")],
    ),
    Case("root is a link out of the repository", LINK, [("link", ROOT, "{outside}")]),
    Case("root is a link to another project's", LINK, [("link", ROOT, "{other}/.private-journal")]),
    Case("root is a link to the user's own", LINK, [("link", ROOT, "{home}/.private-journal")]),
    Case("root is a relative link upward", LINK, [("link", ROOT, "../../outside")]),
    Case("root is a link to nothing", LINK, [("link", ROOT, "{outside}/nothing")]),
    Case("root is a link to itself", LINK, [("link", ROOT, ROOT)]),
    Case("root is a link to the repository", LINK, [("link", ROOT, ".")]),
    Case("root is a link into git", LINK, [("link", ROOT, ".git/refs/heads")]),
    Case("root is a link to a link", LINK, [("link", "a", "{outside}"), ("link", ROOT, "a")]),
    Case("root is a link to a device", LINK, [("link", ROOT, "/dev/zero")]),
    Case("today is a link", LINK, [("link", TODAY, "{outside}/2026-01-02")], reads=False),
    Case("a past day is a link", LINK, [("link", f"{ROOT}/2026-01-02", "{outside}/2026-01-02")]),
    Case(
        "an entry is a link",
        "is not a plain file",
        [("link", OLD, "{outside}/2026-01-02/10-00-00-000000.md")],
    ),
    Case(
        "private.path behind a link that stays inside",
        LINK,
        [
            ("put", "public/x", ""),
            ("link", "docs", "public"),
            ("put", TOML, "private.path = 'docs/a'"),
        ],
    ),
    Case(
        "private.path behind a link out",
        REFUSED,
        [("link", "docs", "{outside}"), ("put", TOML, "private.path = 'docs/a'")],
    ),
    Case(
        "settings are a link to settings elsewhere",
        REFUSED,
        [("put", "{outside}/c.toml", "log = '{outside}/log'"), ("link", TOML, "{outside}/c.toml")],
    ),
    # Rules with which git would add what is written.
    Case("root says !*", KEPT_OUT, [("put", f"{ROOT}/.gitignore", "!*\n")]),
    Case("root has days and no rules", KEPT_OUT, [("put", OLD, "published")], reads=True),
    Case("root has empty rules", KEPT_OUT, [("put", f"{ROOT}/.gitignore", "")]),
    Case(
        "root says * and takes entries back",
        KEPT_OUT,
        [("put", f"{ROOT}/.gitignore", "*\n!*/\n!*.md\n")],
    ),
    Case(
        "root says * with a carriage return", "recorded", [("put", f"{ROOT}/.gitignore", "*\r\n")]
    ),
    Case(
        "vectors are taken back",
        KEPT_OUT,
        [("put", f"{ROOT}/.gitignore", "*\n!*/\n!*.embedding\n")],
    ),
    Case(
        "the repository takes the root back",
        KEPT_OUT,
        [("put", f"{ROOT}/.gitignore", "!*\n"), ("put", ".gitignore", f"!{ROOT}/\n!{ROOT}/**\n")],
    ),
    Case(
        "today takes itself back",
        "came with the project",
        [
            ("put", f"{ROOT}/.gitignore", "!*\n"),
            ("put", f"{TODAY}/.gitignore", "!*\n"),
            ("put", ".gitignore", f"!{ROOT}/\n!{ROOT}/**\n"),
        ],
    ),
    Case(
        "today takes entries back",
        "came with the project",
        [
            ("put", f"{TODAY}/.gitignore", "\n*\n!*.md\n"),
            ("put", f"{ROOT}/.gitignore", "!*\n"),
            ("put", ".gitignore", f"!{ROOT}/\n!{ROOT}/**\n"),
        ],
    ),
    Case(
        "rules are a link",
        KEPT_OUT,
        [("put", "rules", "*\n"), ("put", OLD, "x"), ("link", f"{ROOT}/.gitignore", "../rules")],
        reads=True,
    ),
    Case(
        "private.path is a folder of the repository",
        KEPT_OUT,
        [
            ("put", "notes/2026-01-03/10-00-00-000000.md", "x"),
            ("put", TOML, "private.path = 'notes'"),
        ],
        reads=True,
    ),
    Case(
        "private.path is a folder with signs of rules",
        KEPT_OUT,
        [
            ("put", "a [b]/.gitignore", "!*\n"),
            ("put", TOML, "private.path = 'a [b]'"),
        ],
    ),
    # Settings that would widen, redirect or send.
    settings("asks for more toolsets", "toolsets = 'all'", "which only you can add"),
    settings("asks for no tools at all", "toolsets = ['memory-write']", "which only you can add"),
    settings("moves the log", "log = 'log'"),
    settings("moves the home", "home = 'home'"),
    settings("moves the user's journal", "private.user_path = 'notes'"),
    settings("moves both journals", "private.both_path = 'notes'"),
    settings("moves chronicle", "chronicle.path = 'c.db'"),
    settings("moves the notebook", "notebook.path = 'notes'"),
    settings("feeds the timeline", "timeline.feed = 'private'"),
    settings("shares with a model", "private.share_with_llm = true"),
    settings("names a model's server", "llm.url = 'http://127.0.0.1:9'"),
    settings("names a database", "database.url = 'postgresql://example.org/x'"),
    settings("names weights", "encoder.folder = 'weights'"),
    settings("names another owner", "owner = 'ann'"),
    settings("private.path in git", "private.path = '.git/refs/heads'"),
    settings("private.path is the project", "private.path = '.'"),
    settings("private.path above", "private.path = '../../outside'"),
    settings("nested settings", "x = " + "[" * 50_000, "nested too deeply"),
    settings("broken settings", "toolsets = [", "is not valid TOML"),
    # Project logs.
    log("log beside the code", "logs", ASKS),
    log("log in git", ".git/refs/heads", "leads into git's own folder"),
    log("log above", "../../outside", "leads out of its folder"),
    log("log at a whole path", "{outside}", "leads out of its folder"),
    log("log in the home", "~/x", "leads out of its folder"),
    log("log through a link", "docs/x", LINK, ("link", "docs", "{outside}")),
    log("log into the private root", ROOT, ASKS),
    Case(
        "log config is a link",
        ASKS,
        [("put", "c", "local_logging = true"), ("link", ".chronicle", "c")],
    ),
    Case("log config is broken", NO_LOG, [("put", ".chronicle", "local_logging = tru")]),
    Case("log config is nested", NO_LOG, [("put", ".chronicle", "x = " + "[" * 20_000)]),
    Case(
        "log config of another user above",
        "belongs to another user",
        [
            ("put", "{shared}/.chronicle", 'local_logging = true\nlog_dir = "."\n'),
            ("odd", "{shared}/.chronicle", "another user's"),
        ],
        needs_root=True,
    ),
    # What an archive carries and a clone does not.
    Case(
        "git's configuration names programs",
        KEPT_OUT,
        [
            ("put", f"{ROOT}/.gitignore", "!*\n"),
            ("put", ".gitattributes", "* -text\n"),
            ("after", "put", "{outside}/attributes", "* filter=evil diff=evil\n"),
            ("after", "append", ".git/config", TRAPS),
        ],
    ),
    Case(
        "git's work tree is elsewhere",
        KEPT_OUT,
        [
            ("put", f"{ROOT}/.gitignore", "!*\n"),
            ("after", "append", ".git/config", "[core]\n\tworktree = {outside}\n"),
        ],
    ),
    Case(
        "git's own list is a link",
        KEPT_OUT,
        [
            ("put", f"{ROOT}/.gitignore", "!*\n"),
            ("put", "{outside}/list", "kept\n"),
            ("after", "remove", ".git/info/exclude"),
            ("after", "link", ".git/info/exclude", "{outside}/list"),
        ],
    ),
    Case(
        "git's own list takes the root back",
        KEPT_OUT,
        [
            ("put", f"{ROOT}/.gitignore", "!*\n"),
            ("after", "put", ".git/info/exclude", f"/{ROOT}/\n!/{ROOT}/\n"),
        ],
    ),
    # Odd kinds of files.
    Case("root is a file", "is not a folder", [("put", ROOT, "x")]),
    Case("root is a pipe", "is not a folder", [("after", "odd", ROOT, "pipe")]),
    Case("root is a socket", "is not a folder", [("after", "odd", ROOT, "socket")]),
    Case("today is a file", "is not a folder", [("put", TODAY, "x")]),
    Case("an entry is a pipe", "is not a plain file", [("after", "odd", OLD, "pipe")], reads=True),
    Case(
        "an entry is huge",
        "is too large to be read",
        [("after", "odd", OLD, "huge")],
        reads=True,
        marks=LONG,
    ),
    Case("settings are a pipe", "", [("after", "odd", TOML, "pipe")]),
    Case("settings are a folder", "", [("after", "odd", TOML, "folder")]),
    Case("settings are huge", "is larger than 1 MB", [("after", "odd", TOML, "huge")]),
    Case("settings cannot be read", "is refused", [("after", "odd", TOML, "closed")]),
    Case("log config is a pipe", "", [("after", "odd", ".chronicle", "pipe")]),
    Case("log config is huge", NO_LOG, [("after", "odd", ".chronicle", "huge")]),
]
