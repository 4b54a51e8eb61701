"""Real clients, each with a scripted model in place of its own: no account, no network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.doors.npm import CLIENTS
from tests.doors.scripted_model import PLUGIN_PREFIX, PREFIX
from tests.patience import PATIENCE_S

QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "IS_SANDBOX": "1",
    "MCP_TIMEOUT": str(int(PATIENCE_S * 1000)),
}
TOOLS = ("recall", "open_ref", "process_thoughts")


def plain_environment(monkeypatch):
    """As Codex hands on few variables, so do all here."""
    for name in [x for x in os.environ if x.startswith(("XDG_", "PYTHON"))]:
        monkeypatch.delenv(name)
    for name in ("USERPROFILE", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.delenv(name)


def start(command, **env):
    """A client that runs beside us, with our command on its path."""
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.Popen(
        [str(word) for word in command],
        env={**os.environ, "PATH": beside, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def talk(command, *, is_err_said=False, **env):
    """What a client says to its user in the end; of some, what it says on stderr too."""
    client = start(command, **env)
    out, err = client.communicate(timeout=PATIENCE_S)
    assert client.returncode == 0, out + err
    return out + err if is_err_said else out


def claude(*words):
    """A command of Claude Code that needs no model."""
    return talk([CLIENTS / "claude", *words], **QUIET)


def claude_session(model, task, *, talk=talk):
    """One session of Claude Code as it is set up; `talk` runs it."""
    allowed = ",".join(prefix + tool for prefix in (PREFIX, PLUGIN_PREFIX) for tool in TOOLS)
    account = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none"}
    command = [CLIENTS / "claude", "-p", task, "--allowedTools", allowed]
    return talk(command, **QUIET, **account)


def codex(*words):
    """A command of Codex that needs no model."""
    return talk([CLIENTS / "codex", *words])


def codex_session(model, task, *flags, talk=talk):
    """One session of Codex as it is set up, with this model; `talk` runs it."""
    file = Path.home() / ".codex" / "config.toml"
    held = file.read_text().partition("# the end of the model\n")[2] or file.read_text()
    file.write_text(
        f"""\
model = "scripted"
model_provider = "scripted"
sandbox_mode = "read-only"
approval_policy = "never"

[model_providers.scripted]
name = "scripted"
base_url = "{model.url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
# the end of the model
{held}"""
    )
    return talk(
        [CLIENTS / "codex", "exec", "--skip-git-repo-check", *flags, task], SCRIPTED_KEY="none"
    )


GEMINI = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_API_KEY": "none"}


def gemini(*words):
    """A command of Gemini CLI that needs no model, in a folder that is trusted."""
    return talk([CLIENTS / "gemini", *words], is_err_said=True, **GEMINI)


def gemini_settings():
    """An account in the settings of Gemini CLI, which it needs before a session."""
    file = Path.home() / ".gemini" / "settings.json"
    held = json.loads(file.read_text()) if file.exists() else {}
    held["security"] = {"auth": {"selectedType": "gemini-api-key"}}
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(held))


def gemini_session(model, task):
    """One session of Gemini CLI as it is set up, in which it asks for nothing."""
    gemini_settings()
    command = [CLIENTS / "gemini", "--approval-mode", "yolo", "-m", "gemini-2.5-flash", "-p", task]
    return talk(command, **GEMINI, GOOGLE_GEMINI_BASE_URL=model.url)
