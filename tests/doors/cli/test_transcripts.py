"""Transcripts from a terminal: list, show, search, delete, and let old ones go."""

from __future__ import annotations

import json
import os

import pytest
from tests.doors.terminal import facts, on_terminal, opened_app, run
from tests.journals.transcripts.sessions import said

ONE, TWO = "transcripts:claude-code/5e0c-1", "transcripts:codex/0199-2"


@pytest.fixture(autouse=True)
def kept(words_only):
    """Two sessions of May 2026."""
    app = opened_app()
    store = app.transcripts.store
    store.append(
        "claude-code",
        "5e0c-1",
        [
            said(1, "Why does the build of the reports fail?", cwd="/srv/harbour"),
            said(2, "The lock file is stale.", cwd="/srv/harbour"),
        ],
    )
    store.append("codex", "0199-2", [said(3001, "Rename the login form.", cwd="/srv/web")])
    app.close()


def lines(*words):
    done = run("transcripts", *words)
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


def test_sessions_are_listed_with_their_projects():
    """Newest first, in the common forms."""
    assert lines("list") == [
        f"2026-05-03 02:01  {TWO}  [web] Rename the login form.",
        f"2026-05-01 00:02  {ONE}  [harbour] Why does the build of the reports fail?",
    ]
    assert [x["ref"] for x in facts("transcripts", "list", "2026-05-01")["items"]] == [ONE]
    assert [x["ref"] for x in facts("transcripts", "list", "--in", "web")["items"]] == [TWO]
    assert [json.loads(x)["ref"] for x in lines("list", "--jsonl", "-n", "1")] == [TWO]


@pytest.mark.parametrize("ref", ["2", "5e0c", ONE, f"{ONE}#2"])
def test_a_session_is_shown_in_its_order(ref):
    """By its number in the last list, its id or the beginning of it, or a message of it."""
    lines("list")
    assert lines("show", ref) == [
        f"2026-05-01 00:01  {ONE}#1  user: Why does the build of the reports fail?",
        f"2026-05-01 00:02  {ONE}#2  assistant: The lock file is stale.",
    ]
    assert facts("transcripts", "show", ref)["session"]["ref"] == ONE


def test_a_list_that_is_cut_says_how_it_goes_on():
    """Of sessions, and of what was said in one; with the option that shows the rest."""
    assert lines("list", "-n", "1")[-1] == "More with --start 1"
    assert lines("show", "5e0c", "-n", "1")[-1] == "More with --first 2"
    assert "More" not in lines("list")[-1] + lines("show", "5e0c")[-1]


def test_a_turn_of_tools_alone_names_them():
    """It has no words."""
    app = opened_app()
    turn = said(3, role="assistant", tools=("Bash", "Read"))._replace(text="")
    app.transcripts.store.append("claude-code", "5e0c-1", [turn])
    app.close()
    assert lines("show", "5e0c")[-1].endswith("#3  assistant: (tools: Bash, Read)")


def test_what_was_said_is_searched():
    """It leads to `open`, which shows what was said around it."""
    found = facts("transcripts", "search", "lock", "file")["items"]
    assert found[0]["ref"] == f"{ONE}#1"
    lines("search", "lock", "file")
    assert facts("open", "1")["after"]["ref"] == f"{ONE}#2"
    line = f"2026-05-03 02:01  {TWO}#1  [web] user: Rename the login form."
    assert line in lines("search", "login")


def test_a_session_is_deleted_for_good():
    """Only when that is confirmed; the same by `commonplace delete`."""
    refused = run("transcripts", "delete", "5e0c")
    assert (refused.exit_code, "--yes" in refused.stderr) == (2, True)
    assert facts("transcripts", "delete", "5e0c", "--yes")["messages"] == 2
    assert [x["ref"] for x in facts("transcripts", "list")["items"]] == [TWO]
    assert facts("delete", f"{TWO}#1", "--yes")["act"] == "deleted"
    assert facts("transcripts", "list")["items"] == []
    missing = run("transcripts", "delete", TWO, "--yes")
    assert missing.exit_code == 3


@pytest.mark.skipif(os.name == "nt", reason="a terminal is made with pty")
def test_a_deletion_shows_what_was_said():
    """How the session began, or the message; an id says nothing."""
    for ref in (TWO, f"{TWO}#1"):
        _, _, shown = on_terminal("transcripts", "delete", ref, typed="n\n")
        assert "Rename the login form." in shown.partition("for good?")[0]


def test_a_session_that_is_gone_is_not_found():
    """Though the last list still has its messages, whose refs begin with its own."""
    lines("show", ONE)
    run("transcripts", "delete", ONE, "--yes")
    for ref in (ONE, "5e0c-1"):
        gone = run("transcripts", "show", ref)
        assert (gone.exit_code, "beginning of" in gone.stderr) == (3, False)


def test_what_was_said_cannot_be_edited():
    """The error says why, and what can be done."""
    refused = run("edit", f"{ONE}#1", "Other words.")
    assert refused.exit_code == 2
    assert "What was said is not altered" in refused.stderr


def test_old_sessions_are_let_go():
    """After so many days, once it is confirmed; --dry-run names them."""
    assert facts("transcripts", "retain", "--days", "1", "--dry-run")["refs"] == [TWO, ONE]
    assert run("transcripts", "retain", "--days", "1").exit_code == 2
    assert facts("transcripts", "retain", "--days", "1", "--yes")["messages"] == 3
    assert facts("transcripts", "retain", "--days", "1")["refs"] == []
    assert run("transcripts", "retain").exit_code == 2


def test_what_cron_calls_lets_old_sessions_go(monkeypatch):
    """`rollup --due` keeps to transcripts.retain_days, and says so."""
    assert facts("rollup", "--due")["notes"] == []
    monkeypatch.setenv("COMMONPLACE_TRANSCRIPTS_RETAIN_DAYS", "1")
    assert facts("rollup", "--due")["notes"] == ["Deleted 2 sessions by transcripts.retain_days."]
    assert facts("transcripts", "list")["items"] == []
