"""The real clients with our plugins: installed from this repository, and two sessions.

A scripted model on loopback stands in for theirs; nothing else is ours but what the plugin brings.
"""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.doors.npm import needs_clients
from tests.doors.real_clients import (
    allowed_claude_session,
    claude,
    codex,
    codex_session,
    gemini,
    gemini_session,
    own_uvx,
    plain_environment,
    start,
)
from tests.doors.scripted_model import DONE, Call, ScriptedModel, call

from commonplace.doors.cli import main
from commonplace.doors.setup.packaged import list_skills

pytestmark = needs_clients

REPOSITORY = Path(__file__).parents[3]
PLUGINS = REPOSITORY / "plugins"
ASKED = "The harbour gate jams at low tide. Look after it."
OPEN = "TODO: grease the hinge of the harbour gate."
TRUSTED = "--dangerously-bypass-hook-trust"
YOLO = ("--approval-mode", "yolo")


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch, tmp_path):
    """Nothing that a client would not hand on, a home that is no temporary folder to Codex, a uvx."""
    plain_environment(monkeypatch)
    own_uvx(monkeypatch, tmp_path / "bin")


def transcripts(client):
    """What we kept of a client's sessions: their messages, by the session."""
    ours = Path.home() / ".local" / "share" / "commonplace" / "users" / "me"
    kept = ours / "transcripts" / client
    return {
        path.stem: [json.loads(line) for line in path.read_text().splitlines()]
        for path in sorted(kept.rglob("*.jsonl"))
    }


def said(messages):
    """Who said what, in a line each; a message of tools alone has no text."""
    return [f"{x['role']}: {x['text']}" for x in messages if x.get("text")]


def install_in_claude():
    """As a user does, from a checkout."""
    claude("plugin", "validate", REPOSITORY)
    claude("plugin", "validate", PLUGINS / "claude-code")
    claude("plugin", "marketplace", "add", REPOSITORY)
    claude("plugin", "install", "commonplace@commonplace")


def install_in_codex():
    """Likewise; a tool of a server must be allowed by the user."""
    codex("plugin", "marketplace", "add", REPOSITORY)
    codex("plugin", "add", "commonplace@commonplace")
    file = Path.home() / ".codex" / "config.toml"
    allowed = '[plugins."commonplace@commonplace".mcp_servers.commonplace]\n'
    mode = 'default_tools_approval_mode = "approve"\n'
    file.write_text(f"{file.read_text()}\n{allowed}{mode}")


def trusting_codex_session(model, task, **how):
    """As one whose user trusted our hooks."""
    return codex_session(model, task, TRUSTED, **how)


CLIENTS = pytest.mark.parametrize(
    ("client", "install", "session"),
    [
        ("claude-code", install_in_claude, allowed_claude_session),
        ("codex", install_in_codex, trusting_codex_session),
    ],
)


@CLIENTS
def test_the_next_session_knows_what_one_wrote_and_said(client, install, session):
    """Written by a tool, said by user and model: in the brief, in the transcript, in recall."""
    install()
    with ScriptedModel(call("process_thoughts", project_notes=OPEN)) as model:
        assert DONE in session(model, ASKED)
    assert "Thoughts recorded" in model.given[0]
    for skill, _ in list_skills():
        assert skill in model.asked[0]
    ((first, messages),) = transcripts(client).items()
    assert said(messages) == [f"user: {ASKED}", f"assistant: {DONE}"]

    def ref(results):
        return {"ref": re.search(r"`(s:[0-9a-f]{8}) ", "\n".join(results))[1]}

    script = (call("recall", query="What was said of the harbour gate?"), Call("open_ref", ref))
    with ScriptedModel(*script) as model:
        assert DONE in session(model, "What is left to do?")
    brief = re.search(r"<commonplace-brief>.*?</commonplace-brief>", model.asked[0], re.DOTALL)
    assert OPEN.removeprefix("TODO: ") in brief[0]
    assert f"transcripts:{client}/{first}#" in model.given[1]
    assert ASKED in model.given[1]
    kept = transcripts(client)
    assert len(kept) == 2
    assert said(kept[first]) == said(messages)
    (second,) = kept.keys() - {first}
    assert said(kept[second]) == ["user: What is left to do?", f"assistant: {DONE}"]


def test_gemini_runs_the_extension():
    """Listed, connected, briefed; its session is kept, and without the brief that it began with."""
    gemini("extensions", "validate", PLUGINS / "gemini")
    gemini("extensions", "install", "--consent", PLUGINS / "gemini")
    assert re.search(
        r"commonplace .*uvx commonplace-memory mcp \(stdio\) - Connected", gemini("mcp", "list")
    )
    with ScriptedModel(call("process_thoughts", project_notes=OPEN)) as model:
        assert DONE in gemini_session(model, ASKED, *YOLO)
    assert "Thoughts recorded" in model.given[0]
    for skill, _ in list_skills():
        assert skill in model.asked[0]
    with ScriptedModel() as model:
        assert DONE in gemini_session(model, "What is left to do?", *YOLO)
    assert OPEN.removeprefix("TODO: ") in model.asked[0]
    assert sorted(map(said, transcripts("gemini").values())) == [
        [f"user: {ASKED}", f"assistant: {DONE}"],
        ["user: What is left to do?", f"assistant: {DONE}"],
    ]


@CLIENTS
def test_a_session_that_is_killed_is_known_to_the_next(client, install, session):
    """Kill -9 in the middle of a turn: what was written stays, what was said is found."""
    install()
    clients = []

    def run(command, **env):
        clients.append(start(command, **env))
        return clients[0].communicate()[0]

    def kill(_results):
        os.killpg(clients[0].pid, signal.SIGKILL)
        return {"query": "anything"}

    with ScriptedModel(call("process_thoughts", project_notes=OPEN), Call("recall", kill)) as model:
        session(model, ASKED, talk=run)
    assert clients[0].returncode == -signal.SIGKILL
    with ScriptedModel(call("recall", query="What was said of the harbour gate?")) as model:
        assert DONE in session(model, "What is left to do?")
    assert OPEN.removeprefix("TODO: ") in model.asked[0]
    assert ASKED in model.given[0]
    assert sorted(map(said, transcripts(client).values())) == [
        [f"user: {ASKED}"],
        ["user: What is left to do?", f"assistant: {DONE}"],
    ]


def test_the_plugin_is_left_by_uninstalling_it():
    """And `setup` brings the same from then on, until it takes it out."""
    install_in_claude()
    claude("plugin", "uninstall", "commonplace@commonplace")
    assert "is set up for" in CliRunner().invoke(main, ["setup", "claude-code"]).output
    with ScriptedModel(call("process_thoughts", project_notes=OPEN)) as model:
        assert DONE in allowed_claude_session(model, ASKED)
    assert [said(each) for each in transcripts("claude-code").values()] == [
        [f"user: {ASKED}", f"assistant: {DONE}"]
    ]
    with ScriptedModel() as model:
        assert DONE in allowed_claude_session(model, "What is left to do?")
    assert OPEN.removeprefix("TODO: ") in model.asked[0]
    kept = transcripts("claude-code")
    assert CliRunner().invoke(main, ["setup", "claude-code", "--remove"]).exit_code == 0
    assert "commonplace" not in claude("mcp", "list")
    with ScriptedModel() as model:
        allowed_claude_session(model, "Once more.")
    assert transcripts("claude-code") == kept
