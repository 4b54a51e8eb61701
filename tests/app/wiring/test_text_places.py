"""The table of places: what anybody writes lies in one of them, and every writer is named."""

from __future__ import annotations

import ast
import json
import re
import tempfile
from pathlib import Path

import pytest
from tests.doors.hooks.hook_process import run_hook
from tests.doors.hooks.transcripts import write_transcript
from tests.doors.terminal import on_terminal, opened_app, run

import commonplace
import commonplace_chroma
import commonplace_server
from commonplace.app.wiring.text_places import PLACES
from commonplace.verbs.today.draft import DraftText

PLANTED = "ochre zebrafinch counts eleven velvet umbrellas"
SOURCES = {
    "": Path(commonplace.__file__).parent,
    "commonplace_server.": Path(commonplace_server.__file__).parent,
    "commonplace_chroma.": Path(commonplace_chroma.__file__).parent,
}
"""Our packages, with what the names of their modules begin with here."""

NO_TEXT = {
    "doors.hooks.moved": "paths of projects",
    "app.restore": "the settings of a backup, to be read as this user's",
    "commonplace_server.grants.records": "hashes of tokens, and what programs call themselves",
    "commonplace_server.json_file": "what its callers write, each of which is named here",
    "commonplace_server.postgres.database": "a connection to Postgres",
    "commonplace_server.postgres.hosts": "a connection to Postgres",
    "commonplace_server.postgres.migrate": "a connection to Postgres",
    "commonplace_server.tokens": "hashes of tokens, and their names",
    "commonplace_server.wiring.nearest": "a connection to Postgres",
    "commonplace_server.wiring.servers": "the id of a home",
    "config.settings": "settings",
    "core.files": "what all others write files with",
    "core.plain_files": "what all others add to files with",
    "core.owner_folders": "the name of an owner",
    "core.present": "a time",
    "core.redact": "the key of the marks of secrets",
    "core.time_book": "refs and times",
    "doors.cli.acts": "refs and versions of what was written in a terminal",
    "doors.cli.short_refs": "refs of the last list",
    "doors.demos.timeline": "entries of the demo, in a home of its own",
    "doors.hooks.prompt": "refs that a session was told",
    "doors.last_examination": "what doctor found: paths and refs",
    "doors.setup.file_changes": "settings of clients",
    "doors.setup.timer": "what the system runs, and when",
    "doors.stdio.prompt_listener": "a socket",
    "index.scoring.stems": "in memory alone",
    "index.sqlite.damage": "in memory alone",
    "index.sqlite.priority": "a lock",
    "inference.encoder.cached_file": "weights",
    "inference.encoder.download": "weights",
    "inference.encoder.hashes": "hashes of weights",
    "inference.encoder.hub": "weights",
    "inference.encoder.package_index": "the name and hash of a package",
    "inference.language.budget": "tokens spent",
    "journals.chronicle.trust": "paths and hashes of files of settings",
    "journals.chronicle.words": "in memory alone",
    "journals.git.portable": "a stream of commits, in a file without a name, gone with its process",
    "journals.git.repo": "an id of a clone",
    "journals.git.rewriting": "commits of a rewriting, in a file without a name, gone with its process",
    "journals.git.run": "what git says of an error, in a file without a name, gone with its process",
    "journals.notebook.forget": "names of commits",
    "journals.private.copy_record": "paths, times and numbers of folders",
    "journals.private.gitignore": "a .gitignore",
    "journals.private.keys": "refs, by hashes of keys",
    "journals.private.project_roots": "paths of projects",
    "journals.private.trusted_notes": "paths and hashes of notes",
    "journals.transcripts.copy_queue": "paths of sessions",
    "verbs.backup.copies": "paths of copies",
    "verbs.container": "what backups and exports are written with",
    "verbs.export.service": "the hash of an export that is being imported",
    "verbs.forgetting.service": "refs and versions",
    "verbs.imports.records": "refs, paths of sessions, hashes of ids in other programs and of entries",
    "verbs.imports.counts": "numbers",
    "verbs.projects": "paths of projects",
}
"""Modules that write no text of an entry under a name that stays, and what they write instead."""

CALLS = frozenset(
    "JsonFile LogFile add_line NamedTemporaryFile TemporaryDirectory TemporaryFile connect copy2 copyfile"
    " mkdtemp mkstemp open_draft publish_new replace_file scratch_folder scratch_folder_aside temp_file write_archive"
    " write_bytes write_derived write_new write_text".split()
)


NAMED = re.compile(rf"O_CREAT|\b(?:open|fdopen|{'|'.join(CALLS)})\(")
"""What a module's text has where it calls one: the others are not taken apart."""


def _is_written_with(call):
    name = getattr(call.func, "id", getattr(call.func, "attr", ""))
    if name in CALLS:
        return True
    if name not in {"open", "fdopen"}:
        return False
    modes = [*call.args[:2], *(each.value for each in call.keywords if each.arg == "mode")]
    texts = [x.value for mode in modes for x in ast.walk(mode) if isinstance(x, ast.Constant)]
    return any(
        set(x) & set("wax+") and set(x) <= set("rwxabt+") for x in texts if isinstance(x, str)
    )


def modules():
    """The name of each module of ours, and its file."""
    for before, folder in SOURCES.items():
        for path in folder.rglob("*.py"):
            yield before + ".".join(path.relative_to(folder).with_suffix("").parts), path


def writers():
    """The modules that open a file for writing, or a database."""
    for name, path in sorted(modules()):
        text = path.read_text("utf-8")
        nodes = ast.walk(ast.parse(text)) if NAMED.search(text) else ()
        if any(
            (isinstance(each, ast.Attribute) and each.attr == "O_CREAT")
            or (isinstance(each, ast.Call) and _is_written_with(each))
            for each in nodes
        ):
            yield name


def test_every_writer_is_named():
    """A module that opens files for writing is one of a row, or holds no text for a reason."""
    named = {each for row in PLACES for each in row.writers}
    found = {*writers()}
    assert sorted(found - named - NO_TEXT.keys()) == []
    assert sorted(NO_TEXT.keys() - found) == []
    assert sorted(named & NO_TEXT.keys()) == []
    assert sorted(named - dict(modules()).keys()) == []


def holders(*folders):
    """The files in these folders whose bytes hold the planted text."""
    for folder in folders:
        for path in Path(folder).rglob("*"):
            if path.is_file() and not path.is_symlink() and PLANTED.encode() in path.read_bytes():
                yield path


def rows_of(path):
    """The names of the rows that a file lies in."""
    app = opened_app()
    try:
        owner = app.text_places().owner
        return {row.name for row in PLACES if any(map(path.is_relative_to, row.paths(owner)))}
    finally:
        app.close()


@pytest.fixture
def stranger(tmp_path):
    """A folder of files that are not ours: what is imported, and where the user has copies."""
    folder = tmp_path / "outside"
    folder.mkdir()
    diary = {"type": "entity", "name": "Ada", "entityType": "x", "observations": [PLANTED]}
    (folder / "memory.jsonl").write_text(json.dumps(diary) + "\n")
    editor = folder / "editor"
    editor.write_text(f'#!/bin/sh\necho "{PLANTED}" > "$1"; exit 1\n')
    editor.chmod(0o700)
    return folder


def _everything(folder):
    """Every verb that writes, each with the planted text."""
    yield "log", PLANTED, "--tag", "one"
    yield "log", "--supersedes", "-1", f"{PLANTED} again"
    yield "edit", "-1", "another text"
    yield "private", "write", PLANTED
    yield "private", "write", "--project-notes", PLANTED
    yield "notebook", "write", "boats", PLANTED
    yield "notebook", "write", "boats", "They float.", "--overview", PLANTED
    yield "timeline", "add", PLANTED, "--at", "2026-03-02 09:30"
    yield "memory", "save", "todo", PLANTED
    yield "import", "server-memory", str(folder / "memory.jsonl")
    yield "rollup", "--due"
    yield "recall", "zebrafinch"
    yield ("list",)
    yield ("status",)
    yield ("doctor",)
    yield "expire", "-1", "2100-01-01"
    yield "export", str(folder / "export")
    yield "export", str(folder / "export.zip")
    yield "chronicle", "export", "--output", str(folder / "chronicle.md")
    yield "backup", str(folder / "backup.zip")


def test_whatever_is_written_lies_in_a_row(no_weights, stranger):
    """After every verb, and one whose editor failed, no file elsewhere holds the text."""
    Path(".chronicle").write_text("local_logging = true\n")
    assert run("trust").exit_code == 0
    run_hook("stop", transcript_path=str(write_transcript("s-1", 3, text=PLANTED)))
    for words in _everything(stranger):
        done = run(*words)
        assert done.exit_code == 0 or words == ("doctor",), (words, done.output)
    app = opened_app()
    app.page_draft().keep(DraftText(text=PLANTED))
    app.page_draft().of_entry("chronicle:1", "edit").keep(DraftText(text=PLANTED))
    app.close()
    failing = {"EDITOR": str(stranger / "editor"), "VISUAL": ""}
    assert on_terminal("private", "write", env=failing)[0] != 0
    clients = Path.home() / ".claude"
    places = [*holders(Path.home(), Path.cwd(), tempfile.gettempdir())]
    found = {path: rows_of(path) for path in places if not path.is_relative_to(clients)}
    assert [str(path) for path, rows in found.items() if not rows] == []
    assert {name for rows in found.values() for name in rows} == {
        "brief",
        "chronicle",
        "copies of the notes of projects",
        "drafts",
        "drafts of the page",
        "former texts",
        "index",
        "ledgers",
        "memory",
        "notebook",
        "private journal",
        "private journals of projects",
        "project logs",
        "timeline",
        "transcripts",
    }
