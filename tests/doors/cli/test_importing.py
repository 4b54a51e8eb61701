"""`commonplace import`: says first what it takes, takes it once, and it is found."""

from __future__ import annotations

import json
import zipfile

import pytest
from tests.doors.terminal import facts, on_terminal, run
from tests.journals.transcripts.originals import (
    add_lines,
    claude_line,
    clock,
    codex_message,
    codex_meta,
    write_lines,
)

pytestmark = pytest.mark.usefixtures("no_weights")

KEY = b"AK" + b"IAIOSFODNN7EXAMPLE"


@pytest.fixture
def session(tmp_path):
    """A session of Claude Code's; its file."""
    path = tmp_path / "home" / ".claude" / "projects" / "-p" / "s1.jsonl"
    answer = claude_line("The harbour is quiet.", role="assistant", second=2)
    write_lines(path, claude_line("How is the harbour?", second=1), answer)
    return path


@pytest.fixture
def rollout(tmp_path):
    """A session of Codex's; its file."""
    path = tmp_path / "home" / ".codex" / "sessions" / "rollout-1.jsonl"
    write_lines(path, codex_meta("c1"), codex_message("Bake bread."))
    return path


def test_it_says_first_what_it_takes(session):
    """On stderr, so that what it took is all of stdout."""
    done = run("import", "claude-code")
    assert done.exit_code == 0, done.output
    assert done.stdout == ("Claude Code: imported 2 messages of 1 session, 2026-11-22.\n")
    size = session.stat().st_size / 1000
    assert done.stderr == (
        f"Claude Code: 2 messages of 1 session, 2026-11-22; {size:.1f} kB to read.\n"
    )
    again = run("import", "claude-code")
    assert (again.stdout, again.stderr) == ("Claude Code: nothing new.\n", "")


def test_what_was_imported_is_found(session):
    """By its words, with its ref; and again what came later."""
    run("import", "claude-code")
    found = facts("recall", "harbour")["items"]
    assert [x["ref"] for x in found] == ["transcripts:claude-code/s1#1"]
    question = "Where are the herrings of last year kept now?"
    add_lines(session, claude_line(question, second=9))
    run("import", "claude-code")
    assert facts("recall", "herrings")["items"][0]["ref"] == "transcripts:claude-code/s1#3"


def test_a_dry_run_takes_nothing(session, tmp_path):
    """And says the same, as text and as JSON."""
    done = run("import", "claude-code", "--dry-run")
    assert done.stdout.startswith("Claude Code: 2 messages of 1 session, 2026-11-22; ")
    printed = facts("import", "claude-code", "--dry-run")
    assert (printed["dry_run"], printed["messages"]) == (True, 2)
    assert printed["items"] == [
        {
            "client": "claude-code",
            "messages": 2,
            "sessions": 1,
            "first": clock(1),
            "last": clock(2),
            "bytes": session.stat().st_size,
            "unknown": 0,
            "broken": 0,
            "left_out": [],
            "failed": [],
        }
    ]
    assert not [*tmp_path.rglob("transcripts/*")]
    assert facts("import", "claude-code")["dry_run"] is False


def test_all_clients_of_the_machine(session, rollout):
    """One line for each that has sessions."""
    done = run("import", "--all")
    assert done.stdout.splitlines() == [
        "Claude Code: imported 2 messages of 1 session, 2026-11-22.",
        "Codex: imported 1 message of 1 session, 2026-11-22.",
    ]
    assert done.exit_code == 0


def test_nothing_on_the_machine():
    """Of all clients that is an answer; of the one that was named it is not found."""
    assert run("import", "--all").stdout == "No sessions were found.\n"
    done = run("import", "codex")
    assert done.exit_code == 3
    assert done.stderr.startswith("Error: No sessions of Codex were found on this machine.")


def test_what_is_skipped_is_said(session):
    """Lines that are broken, lines of an unknown kind by its name, at once and later; each once."""
    with session.open("ab") as file:
        file.write(b'{"type"\n{"type": "hologram"}\n{"type": "%s"}\n' % KEY)
    broken = "Left out of Claude Code's sessions, as it cannot be read: 1 line or part."
    unknown = "Left out of Claude Code's sessions, being of a kind that is not known: 3 lines or parts (2 hol"
    done = run("import", "claude-code")
    assert f"Note: {broken}" in done.stdout
    assert "1 hologram" in done.stdout
    assert KEY.decode() not in done.stdout
    with session.open("ab") as file:
        file.write(b'{"type": "hologram"}\n')
    printed = facts("import", "claude-code")["items"][0]
    assert printed["left_out"] == [{"why": "unknown", "kind": "hologram", "count": 1}]
    for command in ("status", "doctor"):
        shown = run(command).stdout
        assert broken in shown
        assert f"{unknown}ogram, 1 [secret: AWS access key" in shown
        assert KEY.decode() not in shown
    session.write_bytes(session.read_bytes().partition(b'{"type"\n')[0])
    run("import", "claude-code")
    assert "Left out" not in run("status").stdout


def test_an_export_is_named(tmp_path):
    """As the archive that is sent."""
    said = {"uuid": "m1", "sender": "human", "text": "How?", "created_at": clock(1)}
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "conversations.json", json.dumps([{"uuid": "c1", "chat_messages": [said]}])
        )
    assert run("import", "claude-ai").exit_code == 2
    done = run("import", "claude-ai", path)
    assert done.stdout == "Claude.ai: imported 1 message of 1 session, 2026-11-22.\n"


def test_a_client_or_all_is_named(session):
    """Not both; with neither they are listed."""
    assert "  claude-code " in run("import").stdout
    for words in (("import", "claude-code", "--all"), ("import", "word")):
        assert run(*words).exit_code == 2


def test_since_leaves_older_sessions_out(session):
    """A phrase, as everywhere; it can be imported later."""
    assert (
        run("import", "claude-code", "--since", "2100-01-01").stdout == "No sessions were found.\n"
    )
    ahead = ("import", "claude-code", "--when", "since 2100-01-01")
    assert run(*ahead).stdout == "No sessions were found.\n"
    for words in (("--since", "no time"), ("--when", "no time"), ("--when", "2020")):
        assert run("import", "claude-code", *words).exit_code == 2
    assert run("import", "claude-code").stdout.startswith("Claude Code: imported 2 messages")


def test_what_is_kept_of_tools_is_set(session, monkeypatch):
    """And of sub-agents."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    agent = claude_line("Look around.", isSidechain=True, second=4)
    add_lines(session, claude_line("", role="assistant", content=[call], second=3), agent)
    assert facts("import", "claude-code", "--dry-run")["messages"] == 3
    monkeypatch.setenv("COMMONPLACE_TRANSCRIPTS_TOOLS", "none")
    assert facts("import", "claude-code", "--dry-run")["messages"] == 2
    monkeypatch.setenv("COMMONPLACE_TRANSCRIPTS_TOOLS", "all")
    monkeypatch.setenv("COMMONPLACE_TRANSCRIPTS_SUBAGENTS", "yes")
    assert facts("import", "claude-code", "--dry-run")["messages"] == 5


def test_a_terminal_sees_a_bar(session):
    """And the answer below it."""
    code, answer, shown = on_terminal("import", "claude-code")
    assert (code, answer) == (0, "Claude Code: imported 2 messages of 1 session, 2026-11-22.\n")
    assert "Counting messages" in shown
    assert "bytes" in shown


def test_the_list_says_whose_sessions_are_on_this_machine(session, rollout):
    """As files, without reading one."""
    write_lines(session.with_name("s2.jsonl"), claude_line("And the tide?", second=1))
    listed = [" ".join(line.split()) for line in run("import").stdout.splitlines()]
    assert {"claude-code Claude Code: 2 files here", "codex Codex: 1 file here"} < {*listed}
    assert facts("import")["originals"] == {"claude-code": 2, "codex": 1}
