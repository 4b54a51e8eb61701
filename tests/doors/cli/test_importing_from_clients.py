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
)
from tests.doors.scripted_model import DONE, ScriptedModel, call
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
        claude_session(model, "One.")
        claude_session(model, "Two.", "--continue")
        claude_session(model, "Three.", "--continue", "--fork-session")
        claude_session(model, "/compact", "--continue")
    found = sorted(imported("claude-code"), key=len, reverse=True)
    users = [[text for role, text in each if role == "user"] for each in found]
    assert users == [["One.", "Two."], ["Three."]]
    assert all(len(each) == 2 * len(mine) for each, mine in zip(found, users, strict=True))
    assert facts("import", "claude-code")["messages"] == 0


def test_sessions_of_codex(instructions):
    """What was typed and what was answered, and nothing that Codex added."""
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


class _Reading(ScriptedModel):
    """Has the client's own shell read a file, then says that it is done."""

    def messages(self, asked):
        names = [x["name"] for x in asked.get("tools", [])]
        self._hear(asked, {})
        is_first = "Bash" in names and not self.given
        tool = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
        block = tool if is_first else {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": DONE}
        if is_first:
            delta = {"type": "input_json_delta", "partial_json": '{"command": "cat .env"}'}
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
        message |= {"model": asked["model"], "stop_reason": None, "usage": usage}
        yield {"type": "message_start", "message": message}
        yield {"type": "content_block_start", "index": 0, "content_block": block}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        reason = {"stop_reason": "tool_use" if is_first else "end_turn"}
        yield {"type": "message_delta", "delta": reason, "usage": usage}
        yield {"type": "message_stop"}

    def responses(self, asked):
        for event in super().responses(asked):
            item = event.get("item", {})
            if item.get("type") == "function_call":
                del item["namespace"]
            yield event


def test_a_tree_of_sessions_is_taken_once_and_without_a_secret():
    """Said first, taken, safe, found; not taken again, nor what was deleted."""
    secret = "planted-in-what-a-tool-put-out"
    Path(".env").write_text(f"PASSWORD={secret}\n")
    for number in range(6):
        with _Reading(call("exec_command", cmd="cat .env")) as model:
            if number % 3:
                codex_session(model, f"Look at case {number}.", "-s", "danger-full-access")
            else:
                claude_session(model, f"Look at case {number}.", "--allowedTools", "Bash")
            assert secret in model.given[-1]
    assert "0 sessions safe, 6 not yet" in run("status").stdout
    planned = facts("import", "--all", "--dry-run")["messages"]
    assert facts("import", "--all")["messages"] == planned >= 12
    assert facts("import", "--all")["messages"] == 0
    assert "6 sessions safe." in run("status").stdout
    found = facts("transcripts", "search", "case 4")["items"]
    [ref] = [x["ref"].partition("#")[0] for x in found if "Look at case 4." in x["text"]]
    assert "Look at case 5." in run("brief").stdout
    facts("transcripts", "delete", ref, "--yes")
    assert facts("import", "--all")["messages"] == 0
    assert run("transcripts", "show", ref).exit_code == 3
    ours = Path.home() / ".local" / "share" / "commonplace"
    files = [path for path in ours.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert [path for path in files if secret.encode() in path.read_bytes()] == []
