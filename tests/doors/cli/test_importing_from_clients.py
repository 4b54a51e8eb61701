"""What the real clients write down is imported as it was said: once, forks and all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.doors.npm import needs_clients
from tests.doors.real_clients import (
    claude_session,
    codex_session,
    gemini_session,
    plain_environment,
    talk,
)
from tests.doors.scripted_model import ScriptedModel
from tests.doors.terminal import facts, run

pytestmark = [*needs_clients, pytest.mark.usefixtures("no_weights")]


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch):
    """Nothing that a client would not hand on."""
    plain_environment(monkeypatch)


@pytest.fixture
def instructions():
    """A project whose instructions each client reads: nobody typed them."""
    for name in ("AGENTS.md", "CLAUDE.md", "GEMINI.md"):
        Path(name).write_text("NOBODY TYPED THIS.\n")


def imported(client):
    """What was imported of a client: who said what, by session, in the order of the files."""
    assert run("import", client).exit_code == 0
    ours = Path.home() / ".local" / "share" / "commonplace" / "users" / "me" / "transcripts"
    paths = sorted((ours / client).rglob("*.jsonl"), key=lambda x: x.stat().st_mtime)
    texts = [path.read_text() for path in paths]
    assert "NOBODY TYPED" not in "".join(texts)
    lines = [[json.loads(line) for line in text.splitlines()] for text in texts]
    return [[(x["role"], x["text"]) for x in each if x["text"]] for each in lines]


def test_sessions_of_claude_code(instructions):
    """Gone on with, forked and compacted: each message is there once."""
    with ScriptedModel() as model:

        def going_on(*flags):
            def with_flags(command, **env):
                return talk([*command, *flags], **env)

            return with_flags

        claude_session(model, "One.")
        claude_session(model, "Two.", talk=going_on("--continue"))
        claude_session(model, "Three.", talk=going_on("--continue", "--fork-session"))
        claude_session(model, "/compact", talk=going_on("--continue"))
    found = sorted(imported("claude-code"), key=len, reverse=True)
    users = [[text for role, text in each if role == "user"] for each in found]
    assert users == [["One.", "Two."], ["Three."]]
    assert all(len(each) == 2 * len(mine) for each, mine in zip(found, users, strict=True))
    assert facts("import", "claude-code")["messages"] == 0


def test_sessions_of_codex(instructions):
    """What was typed and what was answered, and nothing that Codex added."""
    settings = Path.home() / ".codex" / "config.toml"
    settings.parent.mkdir()
    settings.write_text("# of the user\n")
    with ScriptedModel() as model:
        codex_session(model, "One.")
        codex_session(model, "Two.", "resume", "--last")
    [found] = imported("codex")
    assert [text for role, text in found if role == "user"] == ["One.", "Two."]
    assert [role for role, _ in found] == ["user", "assistant"] * 2
    assert facts("import", "codex")["messages"] == 0


def test_sessions_of_gemini(instructions):
    """Its lines write a message several times."""
    with ScriptedModel() as model:
        gemini_session(model, "One.")
    [found] = imported("gemini")
    assert found[0] == ("user", "One.")
    assert [role for role, _ in found] == ["user", "assistant"]
    assert facts("import", "gemini")["messages"] == 0
