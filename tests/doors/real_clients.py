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
}
TOOLS = ("recall", "open_ref", "process_thoughts")


def plain_environment(monkeypatch):
    """As Codex hands on few variables, so do all here."""
    for name in [x for x in os.environ if x.startswith(("XDG_", "PYTHON"))]:
        monkeypatch.delenv(name)
    for name in ("USERPROFILE", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.delenv(name)


def own_uvx(monkeypatch, folder):
    """A uvx for what starts our plugins, before a real one, which would look for the package."""
    uvx = folder / "uvx"
    folder.mkdir()
    # What uvx would install is the package of this repository, which is installed here.
    program = Path(sys.executable).with_name("commonplace-memory")
    uvx.write_text(f"""#!/bin/sh\n[ "$1" = --offline ] && shift\n[ "$1" = {program.name} ] || exit 1
shift\nexec {program} "$@"\n""")
    uvx.chmod(0o755)
    before_a_real_one = [str(folder), str(program.parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(before_a_real_one))


def start(command, **env):
    """A client that runs beside us, with our command on its path."""
    ours, path = str(Path(sys.executable).parent), os.environ["PATH"]
    beside = path if ours in path.split(os.pathsep) else f"{ours}{os.pathsep}{path}"
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


def claude_session(model, task, *flags, talk=talk):
    """One session of Claude Code as it is set up; `talk` runs it."""
    account = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "none"}
    return talk([CLIENTS / "claude", "-p", task, *flags], **QUIET, **account)


def allowed_claude_session(model, task, *flags, talk=talk):
    """The same, with some tools of ours allowed, whether they came by `setup` or the plugin."""
    allowed = ",".join(prefix + tool for prefix in (PREFIX, PLUGIN_PREFIX) for tool in TOOLS)
    return claude_session(model, task, "--allowedTools", allowed, *flags, talk=talk)


def codex(*words):
    """A command of Codex that needs no model."""
    return talk([CLIENTS / "codex", *words])


def codex_session(model, task, *flags, talk=talk):
    """One session of Codex as it is set up, with this model; `talk` runs it."""
    settings = {
        "model": "scripted",
        "model_provider": "scripted",
        "sandbox_mode": "read-only",
        "approval_policy": "never",
        "model_providers.scripted.name": "scripted",
        "model_providers.scripted.base_url": f"{model.url}/v1",
        "model_providers.scripted.wire_api": "responses",
        "model_providers.scripted.env_key": "SCRIPTED_KEY",
        "model_providers.scripted.request_max_retries": 0,
        "model_providers.scripted.stream_max_retries": 0,
    }
    given = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
    command = [CLIENTS / "codex", "exec", "--skip-git-repo-check", *given, *flags, task]
    return talk(command, SCRIPTED_KEY="none")


GEMINI = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_API_KEY": "none"}


def gemini(*words):
    """A command of Gemini CLI that needs no model, in a folder that is trusted."""
    return talk([CLIENTS / "gemini", *words], is_err_said=True, **GEMINI)


def gemini_settings():
    """An account in the settings of Gemini CLI, which it needs before a session."""
    file = Path.home() / ".gemini" / "settings.json"
    held = json.loads(file.read_text()) if file.exists() else {}
    if "security" in held:
        return
    held["security"] = {"auth": {"selectedType": "gemini-api-key"}}
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(held))


def gemini_session(model, task, *flags, talk=talk):
    """One session of Gemini CLI as it is set up; `talk` runs it."""
    gemini_settings()
    command = [CLIENTS / "gemini", "-m", "gemini-2.5-flash", *flags, "-p", task]
    return talk(command, **GEMINI, GOOGLE_GEMINI_BASE_URL=model.url)


OPENCODE = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
}


def opencode_session(model, task, *flags, talk=talk):
    """One session of OpenCode as it is set up; `talk` runs it."""
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": f"{model.url}/v1", "apiKey": "none"},
        "models": {"scripted": {"name": "scripted", "limit": {"context": 50_000, "output": 1_000}}},
    }
    settings = {"model": "scripted/scripted", "provider": {"scripted": provider}}
    command = [CLIENTS / "opencode", "run", *flags, *task.split()]  # one word would be quoted
    return talk(command, **OPENCODE, OPENCODE_CONFIG_CONTENT=json.dumps(settings))
