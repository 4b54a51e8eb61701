"""The JSON of every command: all that has --json is called, so that a new command cannot escape."""

from __future__ import annotations

import json

import click
import pytest
from tests.doors.cli.json_page import EXPLAINED, PROMISES, broken
from tests.doors.terminal import SHAPE, opened_app, run
from tests.journals.transcripts.sessions import said

from commonplace.doors.cli import main

MARK = "\u202e"
"""Turns what follows it around, where a terminal is handed it as it is."""

FIRST = {
    "private write": ["a", f"quiet{MARK}", "harbour"],
    "chronicle add": [f"left{MARK} the harbour", "-t", f"s{MARK}ea"],
    "log": ["yesterday: reached the harbour"],
    "remember": [f"moor{MARK} in the harbour"],
    "notebook init": [],
    "notebook write": ["sea/tides", f"high{MARK} in the harbour"],
    "timeline add": [f"sailed{MARK} from the harbour", "-t", f"s{MARK}ea"],
    "timeline profile": ["A", "sailor."],
    "memory save": ["todo", "--title", f"paint{MARK} the harbour"],
}
"""What is written before the others have anything to show."""

READING = {
    "recall": ["harbour"],
    "list": [],
    "last": ["3"],
    "open": ["-1"],
    "private list": [],
    "private read": ["-1"],
    "private search": ["harbour"],
    "chronicle list": [],
    "chronicle search": ["harbour", "--explain"],
    "chronicle tags": [],
    "when": ["harbour", "--explain"],
    "notebook log": ["sea/tides"],
    "notebook read": ["-1"],
    "notebook search": ["harbour", "--explain"],
    "notebook toc": [],
    "notebook branch": [],
    "notebook conflicts": [],
    "timeline range": [],
    "timeline search": ["harbour", "--explain"],
    "timeline show": [],
    "timeline context": ["harbour"],
    "timeline trends": [],
    "memory list": ["todo"],
    "memory search": ["harbour", "--explain"],
    "memory stats": [],
    "transcripts list": [],
    "transcripts show": ["transcripts:codex/1"],
    "transcripts search": ["harbour"],
    "today": [],
    "todo": [],
    "brief": [],
    "project": [],
    "recover": [],
    "status": [],
    "doctor": [],
    "model status": [],
    "rollup": ["--status"],
    "tokens list": [],
    "trust": ["--list"],
    "config get": ["owner"],
    "config path": [],
    "config show": [],
    "completion": ["bash"],
    "version": [],
    "setup": ["codex", "--print"],
}

LAST = {
    "edit": ["-1", "left the port", "--yes"],
    "private edit": ["-1", "a storm", "--yes"],
    "chronicle edit": ["-1", "-t", "+port", "--yes"],
    "notebook switch": ["idea", "--create"],
    "notebook merge": ["main"],
    "notebook move": ["sea/tides", "sea/tide"],
    "notebook import-json": ["journal.json"],
    "chronicle import": ["export.json"],
    "chronicle upgrade": [],
    "undo": ["--yes"],
    "chronicle undo": ["--yes"],
    "chronicle delete": ["-1", "--yes"],
    "private delete": ["-1", "--yes"],
    "import": ["claude-ai", "conversations.json"],
    "timeline import-memories": ["memories.jsonl"],
    "timeline delete": ["-1", "--yes"],
    "memory delete": ["todo", "-1", "--yes"],
    "delete": ["-1", "--yes"],
    "forget": ["-1", "--dry-run"],
    "expire": [],
    "transcripts retain": ["--days", "9000", "--yes"],
    "transcripts delete": ["transcripts:codex/1", "--yes"],
    "reindex": [],
    "tokens create": ["--user", "ann"],
    "config set": ["owner", "ann"],
    "config unset": ["owner"],
}

REFUSED = {
    "notebook sync": [],
    "notebook resolve": ["sea/tide", "--ours"],
    "memory migrate": [],
    "memory worker": ["--once"],
    "model fetch": ["no-such"],
    "model use": ["no-such"],
    "tokens revoke": ["no-such"],
    "config edit": [],
    "serve": ["--port", "none"],
    "web": ["--port", "none"],
}
"""What needs a server, a remote, a terminal or the network is refused, in the shape of errors."""

VERBATIM = {"private read", "notebook read"}
"""In a pipe they print what was written as it is, which may go into a file."""

OF_THEIR_OWN = {"chronicle export", "timeline demo", "export", "backup", "restore"}
"""Chronicle's own export, which chronicle reads; a year in a home of its own, and what needs an empty
home, tested there."""


def commands_with(option):
    """The names of all commands that have an option, by walking from the outermost command."""

    def walk(command, names):
        if isinstance(command, click.Group):
            inside = click.Context(command)
            for name in command.list_commands(inside):
                yield from walk(command.get_command(inside, name), [*names, name])
        if any(option in each.opts for each in command.params):
            yield " ".join(names)

    return {*walk(main, [])}


LISTS = commands_with("--jsonl")


def faults(name, words):
    """What is wrong with the JSON that a command prints, a line each."""
    done = run(*name.split(), *words, "--json")
    if done.exit_code and not done.stdout:  # `doctor` found something, and says it
        return [f"{name}: exit {done.exit_code}: {done.stderr[:300]}"]
    try:
        printed = json.loads(done.stdout)
    except ValueError:
        return [f"{name}: not JSON: {done.stdout[:200]}"]
    found = [f"{name}: {error.message[:300]}" for error in SHAPE.iter_errors(printed)]
    found += broken(" ".join([name, *map(str, words)]), printed)
    if "--explain" in words:
        plain = run(*name.split(), *(x for x in words if x != "--explain"), "--json").stdout
        for item in json.loads(plain)["items"]:
            found += [f"{name}: {x} without --explain" for x in EXPLAINED & item.keys()]
        of_two_questions = {"by", "work_context_score", "content_score"}
        wanted = of_two_questions if name == "notebook search" else EXPLAINED
        for item in printed["items"]:
            found += [f"{name}: no {x} with --explain" for x in wanted - item.keys()]
    if name in READING and name in LISTS:
        lines = [json.loads(x) for x in run(*name.split(), *words, "--jsonl").stdout.splitlines()]
        found += [f"{name}: {x.message[:300]}" for each in lines for x in SHAPE.iter_errors(each)]
        for item in (*printed.get("items", [{}]), *lines):
            if missing := {"ref", "at", "text", "journal"} - item.keys():
                found.append(f"{name}: an item without {sorted(missing)}: {[*item]}")
    return found


def test_every_command_is_listed_here():
    """A new command with --json is to be called below, and to be described on the page."""
    listed = {*FIRST, *READING, *LAST, *REFUSED, *OF_THEIR_OWN}
    assert listed == commands_with("--json")
    described = {name for name in listed if any(f"{x} ".startswith(f"{name} ") for x in PROMISES)}
    assert listed - described == {*REFUSED, "chronicle export", "timeline demo"}


def test_what_forget_and_copies_print(no_weights, tmp_path):
    """As the page promises: of a deed, of a backup, an export and what is restored of them."""
    run("log", "left the harbour")
    run("log", "saw the lighthouse")
    backup, export = tmp_path / "a.zip", tmp_path / "b.zip"
    found = faults("forget", ["--yes", "-1"])
    found += faults("backup", [backup]) + faults("export", [export])
    (tmp_path / "home").rename(tmp_path / "old home")
    (tmp_path / "home").mkdir()
    found += faults("restore", [backup])
    assert found == []


@pytest.fixture
def session(no_weights):
    """What was said to an assistant."""
    app = opened_app()
    app.transcripts.store.append("codex", "1", [said(1, f"Where{MARK} is the harbour?", cwd="/x")])
    app.close()


@pytest.fixture
def files(tmp_path):
    """What the imports read."""
    event = {"id": "a-1", "timestamp": "2026-03-01T09:30:00Z", "message": "far"}
    memory = {"type": "fact", "content": "far", "created_at": "2026-03-01T09:30:00Z"}
    said = {"uuid": "m", "sender": "human", "text": "far", "created_at": "2026-03-01T09:30:00Z"}
    for name, text in {
        "conversations.json": json.dumps([{"uuid": "c", "chat_messages": [said]}]),
        "export.json": json.dumps({"entries": [event]}),
        "journal.json": json.dumps({"sections": {}}),
        "memories.jsonl": json.dumps(memory) + "\n",
    }.items():
        (tmp_path / "project" / name).write_text(text)


def test_what_every_command_prints_has_the_documented_shape(session, files, monkeypatch):
    """In a home where each journal has something; an item of a list is an entry with its ref."""
    monkeypatch.setenv("EDITOR", "true")  # which changes nothing
    found = [x for name, words in FIRST.items() for x in faults(name, words)]
    found += [x for name, words in READING.items() for x in faults(name, words)]
    for name, words in READING.items():  # as text, for people
        if name not in VERBATIM and MARK in run(*name.split(), *words).stdout:
            found.append(f"{name}: a sign that turns text around is printed as it is")
    found += [x for name, words in LAST.items() for x in faults(name, words)]
    for name, words in REFUSED.items():
        done = run(*name.split(), *words, "--json")
        error = json.loads(done.stderr.splitlines()[-1]) if done.exit_code else {}
        if {*error} != {"code", "message", "hint"} or done.stdout:
            found.append(f"{name}: exit {done.exit_code}: {done.output[:300]}")
    assert "\n".join(found) == ""


def test_lists_as_lines_end_with_an_error_in_json_as_well():
    """A program that reads lines reads the error as a line too."""
    done = run("chronicle", "list", "--limit", "0", "--jsonl")
    assert (done.exit_code, done.stdout) == (2, "")
    assert json.loads(done.stderr.splitlines()[-1])["code"] == "invalid"
