"""Records a session of each client that is installed, with words of ours and a scripted model.

    .venv/bin/python -m tests.doors.recorded.record [CODEX-OF-BEFORE]

Writes what the clients wrote, beside this file, without their own texts, names or paths of this
machine. CODEX-OF-BEFORE is a `codex` up to 0.148, whose session the newest forks by copying it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.doors.npm import CLIENTS
from tests.doors.real_clients import GEMINI, QUIET, opencode_session
from tests.doors.scripted_model import ScriptedModel

PLACE = Path(__file__).parent
SAID = {
    "Where do we keep the walrus lists?": "In the blue folder.",
    "And the heron lists?": "In the green one.",
    "Put the walrus lists away.": "They are in the cellar.",
}
"""What is typed, with what is answered; the last of them in a fork."""

_LONGEST = 100
_TAG = re.compile(r"<([\w ]+)")
_MOST_ITEMS = 4
_REQUEST = "api-request"
_FOLDERS = {
    "claude-code": ".claude/projects",
    "codex": ".codex/sessions",
    "gemini": ".gemini/tmp",
    "opencode": ".local/share/opencode",
}
_TABLES = ("session", "message", "part", "session_v2", "session_message")


class Answering(ScriptedModel):
    """Answers the last of our questions that it is sent; anything else with `ok`."""

    def answer(self, asked: dict[str, Any]) -> str:
        """What is said to a request."""
        sent = json.dumps(asked)
        return next((y for x, y in reversed(SAID.items()) if x in sent), "ok")

    def messages(self, asked):
        """In the Messages API."""
        for event in super().messages({**asked, "tools": []}):
            if event["type"] == "content_block_delta":
                event["delta"]["text"] = self.answer(asked)
            yield event

    def responses(self, asked):
        """In the Responses API."""
        for event in super().responses(asked):
            if item := event.get("item"):
                item["content"][0]["text"] = self.answer(asked)
            yield event

    def generate_content(self, asked):
        """In Gemini's API."""
        found = super().generate_content(asked)
        found["candidates"][0]["content"]["parts"] = [{"text": self.answer(asked)}]
        return found

    def chat_completions(self, asked):
        """In the Chat Completions API; the second question is answered after a call of a tool."""
        last = asked["messages"][-1]
        is_call = asked.get("tools") and last["role"] == "user" and [*SAID][1] in json.dumps(last)
        function = {"name": "bash", "arguments": '{"command": "ls", "description": "List"}'}
        call = {"index": 0, "id": "call_0", "type": "function", "function": function}
        for chunk in super().chat_completions(asked):
            (choice,) = chunk["choices"]
            if choice["finish_reason"]:
                choice["finish_reason"] = "tool_calls" if is_call else "stop"
            elif is_call:
                choice["delta"] = {"role": "assistant", "tool_calls": [call]}
            else:
                choice["delta"]["content"] = self.answer(asked)
            yield chunk


def cleaned(value: Any, home: str) -> Any:
    """A value of a line without what is the client's, or this machine's."""
    if isinstance(value, dict):
        if str(value.get("type")).startswith(_REQUEST):
            value = {key: value[key] for key in ("type", "sessionId", "timestamp") if key in value}
        return {key: cleaned(each, home) for key, each in value.items()}
    if isinstance(value, list):
        return [cleaned(each, home) for each in value[:_MOST_ITEMS]]
    if not isinstance(value, str) or value in {*SAID, *SAID.values()}:
        return value
    if tag := _TAG.match(value):  # by which it is known that nobody typed it
        return f"<{tag[1]}>…</{tag[1]}>"
    text = value.replace(home[1:], "home/ann")  # OpenCode has it without the slash too
    text = text.replace(re.sub("[^A-Za-z0-9]", "-", home), "-home-ann")
    return "…" if re.search(r"\s", text) or len(text) > _LONGEST else text


def cleaned_sql(path: Path, home: str) -> str:
    """The tables of sessions of a database, as SQL that builds them again."""
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(":memory:")) as target:
        tables = dict(source.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
        for name in [x for x in _TABLES if x in tables]:
            target.execute(tables[name])
            for row in source.execute(f"SELECT * FROM {name}"):
                kept = [cleaned_column(value, home) for value in row]
                target.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(kept))})", kept)
        return "".join(f"{line}\n" for line in target.iterdump())


def cleaned_column(value: Any, home: str) -> Any:
    """A value of a row, which may be JSON, without what is the client's, or this machine's."""
    if isinstance(value, str) and value.startswith(("{", "[")):
        return json.dumps(cleaned(json.loads(value), home), ensure_ascii=False)
    return cleaned(value, home)


def keep(client: str, home: Path, name: str) -> None:
    """Put what a client wrote beside this file."""
    source, target = home / _FOLDERS[client], PLACE / name
    shutil.rmtree(target, ignore_errors=True)
    for path in sorted(source.rglob("*")):
        place = target / cleaned(str(path.relative_to(source)), str(home))
        if path.suffix == ".jsonl":
            lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            text = "".join(
                json.dumps(cleaned(x, str(home)), ensure_ascii=False) + "\n" for x in lines
            )
        elif path.suffix == ".db":
            place, text = place.with_suffix(".sql"), cleaned_sql(path, str(home))
        elif path.name == ".project_root":
            text = cleaned(path.read_text("utf-8"), str(home))
        else:
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")


class Machine:
    """A home with a folder to work in, whose clients ask a model of ours."""

    def __init__(self, home: Path, url: str) -> None:
        self.home = home
        self.project = home / "shop"
        self.project.mkdir()
        (home / ".codex").mkdir()
        (home / ".gemini").mkdir()
        (home / ".codex" / "config.toml").write_text(
            'model = "scripted"\nmodel_provider = "scripted"\nsandbox_mode = "read-only"\n'
            f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{url}/v1"\n'
            'wire_api = "responses"\nenv_key = "SCRIPTED_KEY"\n'
        )
        auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        (home / ".gemini" / "settings.json").write_text(json.dumps(auth))
        self._env = {
            **QUIET,
            **GEMINI,
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "SCRIPTED_KEY": "none",
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": url,
        }

    def run(self, *words: object, **env: str) -> None:
        """One command of a client."""
        command = [str(word) for word in words]
        done = subprocess.run(
            command,
            cwd=self.project,
            env={**self._env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stdout} {done.stderr}"

    def talk(self, command: list[object], **env: str) -> None:
        """The same, as the sessions of real clients are run."""
        self.run(*command, **env)

    def codex_session(self) -> str:
        """The id of the first session of Codex."""
        first = min((self.home / ".codex" / "sessions").rglob("*.jsonl"), key=lambda x: x.name)
        return "-".join(first.stem.split("-")[-5:])


def main() -> None:
    """Record them all."""
    first, second, forked = SAID
    codex = [CLIENTS / "codex", "exec", "--skip-git-repo-check"]
    for name in ("claude-code", "codex", "codex-copied", "gemini", "opencode"):
        with Answering() as model, tempfile.TemporaryDirectory() as folder:
            machine = Machine(Path(folder).resolve(), model.url)
            if name == "claude-code":
                claude = [CLIENTS / "claude", "-p"]
                machine.run(*claude, first)
                machine.run(*claude, "--continue", second)
                machine.run(*claude, "--continue", "--fork-session", forked)
            elif name == "gemini":
                gemini = [CLIENTS / "gemini", "-m", "gemini-2.5-flash", "-p"]
                machine.run(*gemini, first)
            elif name == "opencode":
                for question, *flags in (
                    (first,),
                    (second, "--continue"),
                    (forked, "--continue", "--fork"),
                ):
                    opencode_session(model, question, *flags, talk=machine.talk)
            elif name == "codex" or sys.argv[1:]:
                begun = codex if name == "codex" else [sys.argv[1], *codex[1:]]
                machine.run(*begun, first)
                machine.run(*begun, "resume", "--last", second)
                machine.run(*codex, "fork", machine.codex_session(), forked)
            else:
                continue
            keep(name.removesuffix("-copied"), machine.home, name)


if __name__ == "__main__":
    main()
